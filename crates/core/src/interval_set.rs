//! Sets of intervals as people write them: a key, a coarser key, a comma list, `yesterday`, `-3`, from–to.
//!
//! A coarser key stands for the intervals that begin in it, weeks for those whose fourth day does: `2026-03` for the days of March, a date for its hours,
//! `2026` for its weeks (those whose keys say 2026). Pure: everything relative takes `as_of`. Both ends of a range are
//! included, as in tickets; the half-open instants are the caller's to echo.

use crate::boundaries::hours_and_minutes::Blocks;
use crate::find_partition::{find_written, other_grain, refuse};
use crate::grain::Grain;
use crate::interval::Interval;
use crate::interval_key::IntervalKey;
use crate::key_error::KeyError;
use crate::read_key::{LocalTime, Written, read};
use crate::schedule::{Partition, Schedule};
use crate::time::{Timestamp, civil};

/// Most intervals of one call.
pub const MOST: usize = 100_000;

/// The partitions of a comma list, in the order of their intervals, each once.
///
/// # Errors
/// [`SetError`] for the first part that names nothing, and where there are more than [`MOST`].
pub fn parse(schedule: &Schedule, text: &str, as_of: Timestamp) -> Result<Vec<Partition>, SetError> {
    parse_all(schedule, [text], as_of)
}

/// The partitions of several comma lists together.
///
/// # Errors
/// As [`parse`].
pub fn parse_all<'a>(
    schedule: &Schedule,
    texts: impl IntoIterator<Item = &'a str>,
    as_of: Timestamp,
) -> Result<Vec<Partition>, SetError> {
    let mut found = Vec::new();
    for part in texts.into_iter().flat_map(|text| text.split(',')) {
        found.extend(part_of(schedule, part.trim(), as_of)?.collect(schedule, part.trim())?);
        if found.len() > MOST {
            found = in_order(found);
            limit(&found)?;
        }
    }
    Ok(in_order(found))
}

/// The partitions from one key to another, both included. Either may be coarse: `2026-03` starts with its first day and
/// ends with its last.
///
/// # Errors
/// [`SetError`] also where the range runs backwards or is too long.
pub fn range(schedule: &Schedule, from: &str, to: &str, as_of: Timestamp) -> Result<Vec<Partition>, SetError> {
    let (first, last) = (part_of(schedule, from.trim(), as_of)?, part_of(schedule, to.trim(), as_of)?);
    let backwards = || SetError::Backwards { from: from.to_owned(), to: to.to_owned() };
    let (Some((first, _)), Some((begin, last))) = (first.ends(), last.ends()) else { return Err(backwards()) };
    if first.start() > begin.start() {
        return Err(backwards());
    }
    let span = Interval::new(first.start(), last.end()).map_err(|_| backwards())?;
    Part::Spans(vec![span]).collect(schedule, from.trim())
}

/// What one word of a set stands for.
enum Part {
    One(Partition),
    /// The intervals that begin in these spans, which are in order; never empty.
    Spans(Vec<Interval>),
}

impl Part {
    /// The first instant of it, and the first after it.
    fn ends(&self) -> Option<(Interval, Interval)> {
        match self {
            Self::One(partition) => Some((partition.interval, partition.interval)),
            Self::Spans(spans) => Some((*spans.first()?, *spans.last()?)),
        }
    }

    fn collect(self, schedule: &Schedule, text: &str) -> Result<Vec<Partition>, SetError> {
        let spans = match self {
            Self::One(partition) => return Ok(vec![partition]),
            Self::Spans(spans) => spans,
        };
        let found: Vec<Partition> =
            spans.into_iter().flat_map(|span| schedule.starting_in(span)).take(MOST + 1).collect();
        if found.is_empty() {
            return Err(SetError::Nothing { text: text.to_owned(), grain: schedule.grain().clone() });
        }
        limit(&found)?;
        Ok(found)
    }
}

/// Refuses more than [`MOST`], of partitions in order.
fn limit(found: &[Partition]) -> Result<(), SetError> {
    match (found.get(MOST - 1), found.get(MOST)) {
        (Some(last), Some(next)) => Err(SetError::TooMany { last: last.key.clone(), next: next.key.clone() }),
        _ => Ok(()),
    }
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
        return written(schedule, text, &Written::Date(date));
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
    let suits = |meant: &Written, grain: &Grain| meant.is_key_of(grain) || meant.is_coarser_than(grain);
    let meant = read(text).map_err(|unread| SetError::Key(refuse(schedule, text, unread, suits)))?;
    written(schedule, text, &meant)
}

/// A key of the grain, or the intervals of something coarser.
fn written(schedule: &Schedule, text: &str, meant: &Written) -> Result<Part, SetError> {
    if meant.is_key_of(schedule.grain()) || !meant.is_coarser_than(schedule.grain()) {
        return if text == "yesterday" && !meant.is_key_of(schedule.grain()) {
            Err(SetError::Key(other_grain(schedule, text, meant)))
        } else {
            find_written(schedule, text, meant).map(Part::One).map_err(SetError::Key)
        };
    }
    let out = || SetError::OutOfRange { text: text.to_owned() };
    let never = || SetError::Key(KeyError::NeverWas { text: text.to_owned(), zone: schedule.zone().name().to_owned() });
    if let Written::Time(time) = meant {
        let passes = passes(schedule, time);
        return if passes.is_empty() { Err(never()) } else { Ok(Part::Spans(passes)) };
    }
    let (from, to) = meant.dates().ok_or_else(out)?;
    match schedule.span_of_dates(from, to) {
        Some(span) => Ok(Part::Spans(vec![span])),
        None if is_skipped(schedule, from, to) => Err(never()),
        None => Err(out()),
    }
}

/// Whether a stretch of dates has both its ends and no time between them.
fn is_skipped(schedule: &Schedule, from: civil::Date, to: civil::Date) -> bool {
    let exists = |date: civil::Date| {
        schedule.zone().first_instant_at_or_after(date.to_datetime(civil::Time::midnight())).is_some()
    };
    exists(from) && exists(to)
}

/// The passes of a local hour: none where it was skipped, two where it comes twice.
fn passes(schedule: &Schedule, time: &LocalTime) -> Vec<Interval> {
    let (zone, hours) = (schedule.zone(), Blocks::of_minutes(60));
    let hour = u16::from(time.hour.unsigned_abs());
    let starts = hours.starts_of(zone, (time.date, hour));
    starts.into_iter().filter_map(|start| hours.at(zone, start)).map(|partition| partition.interval).collect()
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
    #[error("more than {MOST} intervals; split the set: the first {MOST} end with {last}, go on from {next}")]
    TooMany {
        /// The last key of a first call.
        last: IntervalKey,
        /// The first key of the next.
        next: IntervalKey,
    },
    /// A stretch of the calendar in which no interval begins.
    #[error("no interval of grain {grain} begins in {text}")]
    Nothing {
        /// What was written.
        text: String,
        /// The pipeline's grain.
        grain: Grain,
    },
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

    fn grain(text: &str) -> Grain {
        Grain::parse(text).unwrap()
    }

    #[test]
    fn a_coarse_key_is_what_begins_in_it() {
        let counts = |grain: Grain, zone, texts: &[&str]| -> Vec<usize> {
            let schedule = schedule(grain, zone);
            texts.iter().map(|text| keys(&schedule, text).unwrap().len()).collect()
        };
        let new_york = "America/New_York";
        let texts = ["2026-11-01", "2026-11-01T00", "2026-11-01T01", "2026-03-08T01", "2026-03-08"];
        assert_eq!(counts(grain("15 minutes"), new_york, &texts), [100, 4, 8, 4, 92]);
        assert_eq!(counts(grain("6 hours"), new_york, &["2026-11-01", "2026-11-01T06"]), [4, 1]);
        assert_eq!(counts(grain("month"), new_york, &["2026", "2026-Q2", "2026-02"]), [12, 3, 1]);
        let cron = Grain::Cron(crate::cron_pattern::CronPattern::parse("0 3,15 * * *").unwrap());
        assert_eq!(counts(cron, new_york, &["2026-03-08", "2026-03-08T03", "2026-03"]), [2, 1, 62]);
    }

    #[test]
    fn a_week_belongs_to_the_month_and_year_of_its_thursday() {
        let weeks = schedule(grain("week"), "Asia/Seoul");
        let year = keys(&weeks, "2026").unwrap();
        assert_eq!((year.len(), year[0].as_str(), year[52].as_str()), (53, "2026-W01", "2026-W53"));
        let by_month: Vec<String> =
            (1..=12).flat_map(|month| keys(&weeks, &format!("2026-{month:02}")).unwrap()).collect();
        assert_eq!(by_month, year);
        let sundays = schedule(Grain::week_from("sunday").unwrap(), "Asia/Seoul");
        assert_eq!(keys(&sundays, "2026").unwrap(), year);
        assert_eq!(range(&weeks, "2026-W01", "2026-W53", Timestamp::UNIX_EPOCH).unwrap().len(), 53);
    }

    #[test]
    fn what_the_grain_cannot_answer_is_refused() {
        let said = |schedule: &Schedule, text| keys(schedule, text).unwrap_err().to_string();
        let month = schedule(Grain::Month, "Asia/Seoul");
        assert_eq!(
            said(&month, "yesterday"),
            "yesterday is a day, which is not an interval of a pipeline of grain month"
        );
        assert_eq!(
            said(&month, "2026-W13"),
            "2026-W13 is a week, which is not an interval of a pipeline of grain month"
        );
        let apia = schedule(Grain::Hour, "Pacific/Apia");
        assert_eq!(said(&apia, "2011-12-30"), "2011-12-30 never was in Pacific/Apia: the clocks skipped it");
        let cron = Grain::Cron(crate::cron_pattern::CronPattern::parse("0 0 1 * *").unwrap());
        let monthly = schedule(cron, "Asia/Seoul");
        assert_eq!(said(&monthly, "2026-03-24"), "no interval of grain cron 0 0 1 * * begins in 2026-03-24");
        assert_eq!(keys(&monthly, "2026-03").unwrap(), ["2026-03-01T00:00"]);
        let table = schedule(Grain::Table, "Asia/Seoul");
        assert_eq!(keys(&table, "table").unwrap(), ["table"]);
        assert!(keys(&table, "2026").is_err() && keys(&table, "-1").is_err() && keys(&table, "yesterday").is_err());
        let day = schedule(Grain::Day, "Asia/Seoul");
        assert!(
            matches!(keys(&day, "2026-3"), Err(SetError::Key(KeyError::WrongForm { write: Some(write), .. })) if write == "2026-03")
        );
        assert!(keys(&day, &vec!["2026"; 300].join(",")).unwrap().len() == 365, "the same year 300 times is one year");
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
        let refused = range(&day, "0001", "9998", now).unwrap_err().to_string();
        assert_eq!(
            refused,
            "more than 100000 intervals; split the set: the first 100000 end with 0274-10-16, go on from 0274-10-17"
        );
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
