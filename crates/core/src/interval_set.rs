//! Sets of intervals as people write them: a key, a coarser key, a comma list, `yesterday`, `-3`, from–to.
//!
//! Pure: everything relative takes `as_of`. Both ends of a range are included, as in tickets; the half-open instants are
//! the caller's to echo.

use crate::grain::Grain;
use crate::interval::Interval;
use crate::key_error::KeyError;
use crate::read_key::parse_date;
use crate::schedule::{Partition, Schedule};
use crate::time::{Timestamp, civil};

/// Most intervals of one call.
pub const MOST: usize = 100_000;

/// The partitions of a comma list, in the order of their intervals, each once.
///
/// # Errors
/// [`SetError`] for the first part that names nothing.
pub fn parse(schedule: &Schedule, text: &str, as_of: Timestamp) -> Result<Vec<Partition>, SetError> {
    let mut found = Vec::new();
    for part in text.split(',') {
        add(&mut found, part_of(schedule, part.trim(), as_of)?.collect(schedule)?)?;
    }
    Ok(in_order(found))
}

/// The partitions of several texts together.
///
/// # Errors
/// As [`parse`].
pub fn parse_all<'a>(
    schedule: &Schedule,
    texts: impl IntoIterator<Item = &'a str>,
    as_of: Timestamp,
) -> Result<Vec<Partition>, SetError> {
    let mut found = Vec::new();
    for text in texts {
        add(&mut found, parse(schedule, text, as_of)?)?;
    }
    Ok(in_order(found))
}

/// The partitions from one key to another, both included. Either may be coarse: `2026-03` starts with its first day and
/// ends with its last.
///
/// # Errors
/// [`SetError`] also where the range runs backwards or is too long.
pub fn range(schedule: &Schedule, from: &str, to: &str, as_of: Timestamp) -> Result<Vec<Partition>, SetError> {
    let (first, last) = (part_of(schedule, from.trim(), as_of)?.span(), part_of(schedule, to.trim(), as_of)?.span());
    if first.start() >= last.end() || first.start() > last.start() {
        return Err(SetError::Backwards { from: from.to_owned(), to: to.to_owned() });
    }
    let span = Interval::new(first.start(), last.end())
        .map_err(|_| SetError::Backwards { from: from.to_owned(), to: to.to_owned() })?;
    Part::Span(span).collect(schedule)
}

/// What one word of a set stands for.
enum Part {
    One(Partition),
    Span(Interval),
}

impl Part {
    const fn span(&self) -> Interval {
        match self {
            Self::One(partition) => partition.interval,
            Self::Span(span) => *span,
        }
    }

    fn collect(self, schedule: &Schedule) -> Result<Vec<Partition>, SetError> {
        match self {
            Self::One(partition) => Ok(vec![partition]),
            Self::Span(span) => {
                let found: Vec<Partition> = schedule.partitions(span).take(MOST + 1).collect();
                if found.len() > MOST { Err(SetError::TooMany) } else { Ok(found) }
            }
        }
    }
}

fn add(found: &mut Vec<Partition>, more: Vec<Partition>) -> Result<(), SetError> {
    found.extend(more);
    if found.len() > MOST { Err(SetError::TooMany) } else { Ok(()) }
}

fn in_order(mut found: Vec<Partition>) -> Vec<Partition> {
    found.sort_by_key(|partition| partition.interval.start());
    found.dedup_by_key(|partition| partition.interval.start());
    found
}

fn part_of(schedule: &Schedule, text: &str, as_of: Timestamp) -> Result<Part, SetError> {
    if text.is_empty() {
        return Err(SetError::Empty);
    }
    if let Some((from, to)) = text.split_once("..") {
        return Err(SetError::Dots { from: from.to_owned(), to: to.trim_start_matches('=').to_owned() });
    }
    let none = || SetError::OutOfRange { text: text.to_owned() };
    if text == "yesterday" {
        let date = schedule.zone().date(as_of).yesterday().map_err(|_| none())?;
        return dates(schedule, date, date.tomorrow().map_err(|_| none())?, text);
    }
    if let Some(back) =
        text.strip_prefix('-').filter(|digits| !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit()))
    {
        let back: u32 = back.parse().map_err(|_| none())?;
        if back == 0 || usize::try_from(back).is_ok_and(|back| back > MOST) {
            return Err(none());
        }
        let mut partition = schedule.partition_at(as_of).ok_or_else(none)?;
        for _ in 0..back {
            partition = schedule.previous(&partition).ok_or_else(none)?;
        }
        return Ok(Part::One(partition));
    }
    if let Some(part) = coarser(schedule, text)? {
        return Ok(part);
    }
    schedule.partition_for_key(text).map(Part::One).map_err(SetError::Key)
}

/// `2026-03-24` on an hourly pipeline, `2026-W13`, `2026-03`, `2026-Q1`, `2026`.
fn coarser(schedule: &Schedule, text: &str) -> Result<Option<Part>, SetError> {
    let digits = |part: &str, width: usize| part.len() == width && part.bytes().all(|b| b.is_ascii_digit());
    let out = || SetError::OutOfRange { text: text.to_owned() };
    let first_of = |year: i16, month: i8| civil::Date::new(year, month, 1).map_err(|_| out());
    let months = |year: i16, month: i16, count: i16| -> Result<Part, SetError> {
        let next = month - 1 + count;
        let narrow = |value: i16| i8::try_from(value).map_err(|_| out());
        dates(schedule, first_of(year, narrow(month)?)?, first_of(year + next / 12, narrow(next % 12 + 1)?)?, text)
    };
    if schedule.grain() == Grain::Hour && text.len() == 10 && text.split('-').count() == 3 {
        let date = parse_date(text, schedule.grain()).map_err(SetError::Key)?;
        return dates(schedule, date, date.tomorrow().map_err(|_| out())?, text).map(Some);
    }
    if digits(text, 4) {
        return months(text.parse().map_err(|_| out())?, 1, 12).map(Some);
    }
    let Some((year, rest)) = text.split_once('-').filter(|(year, _)| digits(year, 4)) else { return Ok(None) };
    let year: i16 = year.parse().map_err(|_| out())?;
    if digits(rest, 2) {
        let month: i16 = rest.parse().map_err(|_| out())?;
        return if (1..=12).contains(&month) { months(year, month, 1).map(Some) } else { Err(out()) };
    }
    if let Some(quarter) = rest.strip_prefix('Q').filter(|quarter| digits(quarter, 1)) {
        let quarter: i16 = quarter.parse().map_err(|_| out())?;
        return if (1..=4).contains(&quarter) { months(year, quarter * 3 - 2, 3).map(Some) } else { Err(out()) };
    }
    if let Some(week) = rest.strip_prefix('W').filter(|week| digits(week, 2)) {
        let week: i8 = week.parse().map_err(|_| out())?;
        let monday = civil::ISOWeekDate::new(year, week, civil::Weekday::Monday).map_err(|_| out())?.date();
        let after = monday.checked_add(jiff::Span::new().days(7)).map_err(|_| out())?;
        return dates(schedule, monday, after, text).map(Some);
    }
    Ok(None)
}

fn dates(schedule: &Schedule, from: civil::Date, to: civil::Date, text: &str) -> Result<Part, SetError> {
    schedule.span_of_dates(from, to).map(Part::Span).ok_or_else(|| SetError::OutOfRange { text: text.to_owned() })
}

/// A text that names no set of intervals.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SetError {
    /// Nothing between two commas.
    #[error("an interval is missing")]
    Empty,
    /// Not a key.
    #[error(transparent)]
    Key(KeyError),
    /// A range with dots: which end is meant is a guess.
    #[error("{from}..{to} does not say whether its end is included; write --from {from} --to {to}, both included")]
    Dots {
        /// Text before the dots.
        from: String,
        /// Text after them.
        to: String,
    },
    /// From after to.
    #[error("the range runs backwards: {from} is after {to}")]
    Backwards {
        /// The first key.
        from: String,
        /// The last key.
        to: String,
    },
    /// Over the limit.
    #[error("more than {MOST} intervals; split the range")]
    TooMany,
    /// Outside the calendar.
    #[error("{text:?} lies outside the calendar")]
    OutOfRange {
        /// What was written.
        text: String,
    },
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::time::Zone;
    use proptest::prelude::*;

    fn schedule(grain: Grain, zone: &str) -> Schedule {
        Schedule::new(grain, Zone::named(zone).unwrap())
    }

    fn keys(schedule: &Schedule, text: &str) -> Result<Vec<String>, SetError> {
        let now = "2026-03-26T12:00:00+09:00".parse().unwrap();
        parse(schedule, text, now).map(|found| found.iter().map(|p| p.key.to_string()).collect())
    }

    #[test]
    fn coarse_keys_are_their_days_and_hours() {
        let day = schedule(Grain::Day, "Asia/Seoul");
        assert_eq!(keys(&day, "2026-02").unwrap().len(), 28);
        assert_eq!(keys(&day, "2024").unwrap().len(), 366);
        assert_eq!(keys(&day, "2026-Q1").unwrap().len(), 90);
        assert_eq!(
            keys(&day, "2026-W13").unwrap(),
            ["2026-03-23", "2026-03-24", "2026-03-25", "2026-03-26", "2026-03-27", "2026-03-28", "2026-03-29"]
        );
        assert_eq!(keys(&day, "2026-03-02, 2026-03-01,2026-03-02").unwrap(), ["2026-03-01", "2026-03-02"]);
        let hour = schedule(Grain::Hour, "America/New_York");
        assert_eq!(keys(&hour, "2026-11-01").unwrap().len(), 25);
        assert_eq!(keys(&hour, "2026-03-08").unwrap().len(), 23);
    }

    #[test]
    fn relative_words_go_by_the_pipelines_zone() {
        let seoul = schedule(Grain::Day, "Asia/Seoul");
        assert_eq!(keys(&seoul, "yesterday").unwrap(), ["2026-03-25"]);
        assert_eq!(keys(&seoul, "-3").unwrap(), ["2026-03-23"]);
        let honolulu = schedule(Grain::Day, "Pacific/Honolulu");
        assert_eq!(keys(&honolulu, "yesterday").unwrap(), ["2026-03-24"]);
        assert!(keys(&seoul, "-0").is_err());
    }

    #[test]
    fn ranges_include_both_ends() {
        let day = schedule(Grain::Day, "Asia/Seoul");
        let now = "2026-03-26T12:00:00+09:00".parse().unwrap();
        assert_eq!(range(&day, "2026-03-24", "2026-03-24", now).unwrap().len(), 1);
        assert_eq!(range(&day, "2026-02", "2026-03-02", now).unwrap().len(), 30);
        assert!(matches!(range(&day, "2026-03-24", "2026-03-20", now), Err(SetError::Backwards { .. })));
        assert_eq!(range(&day, "0001", "9998", now), Err(SetError::TooMany));
    }

    #[test]
    fn what_is_no_set_is_refused_with_the_way_to_write_it() {
        let day = schedule(Grain::Day, "Asia/Seoul");
        for text in ["2026-06-01..2026-06-07", "2026-06-01..=2026-06-07"] {
            assert_eq!(keys(&day, text), Err(SetError::Dots { from: "2026-06-01".into(), to: "2026-06-07".into() }));
        }
        for text in ["", "2026-03-01,", "2026-13", "2026-Q5", "2026-W60", "99999-01-01", "today", "2026-02-30"] {
            assert!(keys(&day, text).is_err(), "{text}");
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]
        #[test]
        fn a_set_is_read_or_refused_and_comes_ordered(text in r"\PC{0,16}|(20[12][0-9](-(0[1-9]|W[0-5][0-9]|Q[1-4])(-[0-3][0-9])?)?|-[0-9]{1,2}|yesterday|,|\.\.=?){1,4}") {
            for grain in [Grain::Day, Grain::Hour] {
                let schedule = schedule(grain, "America/New_York");
                if let Ok(found) = parse(&schedule, &text, "2026-11-02T12:00:00Z".parse().unwrap()) {
                    prop_assert!(found.windows(2).all(|pair| pair[0].interval.end() <= pair[1].interval.start()));
                }
            }
        }

        #[test]
        fn a_range_has_its_ends_and_no_hole(from in 0_i64..4000, days in 0_i64..40) {
            let schedule = schedule(Grain::Hour, "Australia/Lord_Howe");
            let date = |day: i64| civil::date(2020, 1, 1).checked_add(jiff::Span::new().days(day)).unwrap().to_string();
            let found = range(&schedule, &date(from), &date(from + days), Timestamp::UNIX_EPOCH).unwrap();
            let (first, last) = (&found[0], &found[found.len() - 1]);
            prop_assert_eq!(first.target_date.to_string(), date(from));
            prop_assert_eq!(last.target_date.to_string(), date(from + days));
            prop_assert!(found.windows(2).all(|pair| pair[0].interval.end() == pair[1].interval.start()));
        }
    }
}
