//! A cron expression, read strictly: which local times it names.
//!
//! The library reads the fields and says which days match. Where in time a local tick lies, and what a clock change
//! does to it, is decided by `boundaries::cron_ticks`: the library's own search skips or fails around some changes.

use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;
use std::time::Duration;

use croner::parser::{CronParser, Seconds, Year};

use crate::time::civil::{self, DateTime};

/// Five fields: minute, hour, day of the month, month, weekday.
///
/// Where day of the month and weekday are both restricted, a day matches when either does: `0 0 1 * 1` ticks on every
/// first of a month **and** on every Monday.
#[derive(Clone)]
pub struct CronPattern {
    text: Arc<str>,
    days: Arc<croner::Cron>,
    /// The minutes of a matching day, counted from midnight; sorted, never empty.
    minutes: Arc<[u16]>,
    both_passes: bool,
}

/// Names for whole expressions.
const ALIASES: [(&str, &str); 7] = [
    ("@yearly", "0 0 1 1 *"),
    ("@annually", "0 0 1 1 *"),
    ("@monthly", "0 0 1 * *"),
    ("@weekly", "0 0 * * 0"),
    ("@daily", "0 0 * * *"),
    ("@midnight", "0 0 * * *"),
    ("@hourly", "0 * * * *"),
];
const FIELDS: [&str; 5] = ["minute", "hour", "day of the month", "month", "weekday"];
const VALUES: [&str; 5] = ["0 to 59", "0 to 23", "1 to 31", "1 to 12, or JAN to DEC", "0 to 7, or SUN to SAT"];
const MONTHS: [&str; 12] = ["JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC"];
const WEEKDAYS: [&str; 7] = ["SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT"];

/// The longest wait between two ticks is 40 years: a fifth Monday of a February, over a century without a leap day.
const YEARS_SEARCHED: i16 = 41;

impl CronPattern {
    /// Reads five fields, or one of `@hourly`, `@daily`, `@weekly`, `@monthly`, `@yearly`.
    ///
    /// Beside numbers, lists, ranges and steps: names of months and weekdays, `L` (last day, or last such weekday of the
    /// month), `W` (nearest working day) and `#` (n-th such weekday of the month).
    ///
    /// # Errors
    /// [`CronError`]: unreadable, or it never ticks.
    pub fn parse(text: &str) -> Result<Self, CronError> {
        let shown = || text.to_owned();
        let upper = text.trim().to_ascii_uppercase();
        let alias = ALIASES.iter().find(|(name, _)| name.eq_ignore_ascii_case(&upper));
        let expanded = alias.map_or(upper.as_str(), |(_, fields)| fields);
        if expanded.starts_with('@') {
            return Err(CronError::Name { text: shown() });
        }
        let fields: Vec<&str> = expanded.split_ascii_whitespace().collect();
        if fields.len() != FIELDS.len() {
            return Err(CronError::Fields { text: shown(), found: fields.len() });
        }
        for (place, field) in fields.iter().enumerate() {
            let read = check_field(place, field).and_then(|()| alone(place, field));
            read.map_err(|why| CronError::Field { text: shown(), field: place, why })?;
        }
        let canonical = fields.join(" ");
        let days = library(&canonical).map_err(|why| CronError::Unreadable { text: shown(), why })?;
        let minutes: Vec<u16> = (0..24_u16)
            .flat_map(|hour| (0..60_u16).map(move |minute| (hour, minute)))
            .filter(|(hour, minute)| {
                let matches = |found: Result<bool, _>| found.unwrap_or(false);
                matches(days.pattern.hour_match(u32::from(*hour)))
                    && matches(days.pattern.minute_match(u32::from(*minute)))
            })
            .map(|(hour, minute)| hour * 60 + minute)
            .collect();
        let both_passes = fields[..2].iter().any(|field| field.contains(['*', '/']));
        let pattern = Self { text: canonical.into(), days: Arc::new(days), minutes: minutes.into(), both_passes };
        // a leap year's start, so that the 29th of February is met in every case
        match pattern.next_local(civil::datetime(2000, 1, 1, 0, 0, 0, 0), true) {
            Some(_) => Ok(pattern),
            None => Err(CronError::Never { text: shown() }),
        }
    }

    /// The five fields, upper case, one space between them.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// True where all ticks are at midnight, so that the intervals are whole local dates.
    pub fn is_at_midnight(&self) -> bool {
        *self.minutes == [0]
    }

    /// The time after midnight at which it ticks, where it does so once on every day: then it was most likely meant to
    /// say when a day is due, and not where one begins.
    pub fn daily_at(&self) -> Option<Duration> {
        let [minute] = *self.minutes else { return None };
        self.text.ends_with(" * * *").then(|| Duration::from_secs(u64::from(minute) * 60))
    }

    /// True where minute or hour have `*` or `/`: such a pattern goes by the passing of time, so it skips a gap of the
    /// clock and ticks in both passes of a repeated hour. Any other names fixed times of the day: each ticks once a day,
    /// after the gap where it was skipped and in the first pass where it comes twice.
    pub(crate) const fn ticks_in_both_passes(&self) -> bool {
        self.both_passes
    }

    /// The first local tick after `from`, or from it on where `inclusive`.
    pub(crate) fn next_local(&self, from: DateTime, inclusive: bool) -> Option<DateTime> {
        let first_minute = minute_of_day(from) + u16::from(!inclusive || from.time() > minute_start(from));
        let last_year = from.year().saturating_add(YEARS_SEARCHED);
        let (mut date, mut from_minute) = (from.date(), first_minute);
        while date.year() <= last_year {
            if !self.month_matches(date) {
                date = date.last_of_month().tomorrow().ok()?;
            } else if let Some(minute) = self
                .minutes
                .get(self.minutes.partition_point(|minute| *minute < from_minute))
                .filter(|_| self.day_matches(date))
            {
                return at_minute(date, *minute);
            } else {
                date = date.tomorrow().ok()?;
            }
            from_minute = 0;
        }
        None
    }

    /// The last local tick at or before `at`.
    pub(crate) fn last_local(&self, at: DateTime) -> Option<DateTime> {
        let first_year = at.year().saturating_sub(YEARS_SEARCHED);
        let (mut date, mut up_to) = (at.date(), minute_of_day(at));
        while date.year() >= first_year {
            if !self.month_matches(date) {
                date = date.first_of_month().yesterday().ok()?;
            } else if let Some(before) = self
                .minutes
                .partition_point(|minute| *minute <= up_to)
                .checked_sub(1)
                .filter(|_| self.day_matches(date))
            {
                return at_minute(date, *self.minutes.get(before)?);
            } else {
                date = date.yesterday().ok()?;
            }
            up_to = u16::MAX;
        }
        None
    }

    fn month_matches(&self, date: civil::Date) -> bool {
        self.days.pattern.month_match(date.month().unsigned_abs().into()).unwrap_or(false)
    }

    fn day_matches(&self, date: civil::Date) -> bool {
        let weekday =
            croner::time::Weekday::from_days_from_sunday(date.weekday().to_sunday_zero_offset().unsigned_abs().into());
        self.days
            .pattern
            .day_match(
                date.year().into(),
                date.month().unsigned_abs().into(),
                date.day().unsigned_abs().into(),
                weekday,
            )
            .unwrap_or(false)
    }
}

fn minute_of_day(at: DateTime) -> u16 {
    u16::from(at.hour().unsigned_abs()) * 60 + u16::from(at.minute().unsigned_abs())
}

fn minute_start(at: DateTime) -> civil::Time {
    civil::time(at.hour(), at.minute(), 0, 0)
}

fn at_minute(date: civil::Date, minute: u16) -> Option<DateTime> {
    let (hour, minute) = (i8::try_from(minute / 60).ok()?, i8::try_from(minute % 60).ok()?);
    Some(date.at(hour, minute, 0, 0))
}

/// The library's reading of five fields.
fn library(fields: &str) -> Result<croner::Cron, String> {
    let parser = CronParser::builder().seconds(Seconds::Disallowed).year(Year::Disallowed).build();
    parser.parse(fields).map_err(|error| error.to_string())
}

/// Whether the library takes one field, with every value in the others: it does not say which field it refuses.
fn alone(place: usize, field: &str) -> Result<(), String> {
    let mut fields = ["*"; FIELDS.len()];
    if let Some(here) = fields.get_mut(place) {
        *here = field;
    }
    let outside = |_| format!("{field:?} is no {}: {}", FIELDS[place.min(4)], VALUES[place.min(4)]);
    library(&fields.join(" ")).map(drop).map_err(outside)
}

/// What the library reads more freely than people mean it.
fn check_field(place: usize, field: &str) -> Result<(), String> {
    let name = FIELDS.get(place).copied().unwrap_or_default();
    let words: &[&str] = match place {
        3 => &MONTHS,
        4 => &WEEKDAYS,
        _ => &[],
    };
    for item in field.split(',') {
        let (range, step) = item.split_once('/').map_or((item, None), |(range, step)| (range, Some(step)));
        if range.is_empty() {
            return Err(format!("the {name} {field:?} lacks a value"));
        }
        if let Some(step) = step {
            if step.parse::<u16>().is_ok_and(|step| step > 0) && !step.starts_with('+') {
                if range != "*" && !range.contains('-') {
                    return Err(format!("a step needs * or a range before it: */{step} or {range}-…/{step}"));
                }
            } else {
                return Err(format!("{step:?} in {field:?} is no step"));
            }
        }
        // words, taken whole: the library replaces them wherever they stand
        for word in range.split(|c: char| !c.is_ascii_alphabetic()).filter(|word| !word.is_empty()) {
            let special = match place {
                2 => matches!(word, "L" | "W" | "LW"),
                4 => word == "L",
                _ => false,
            };
            if !special && !words.contains(&word) {
                return Err(format!("{word:?} is no {name}"));
            }
        }
        let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '*' | '-' | '?' | '#');
        if let Some(other) = range.chars().find(|c| !plain(*c) || (*c == '?' && place < 2) || (*c == '#' && place != 4))
        {
            return Err(format!("{other:?} does not belong into the {name}"));
        }
    }
    Ok(())
}

impl PartialEq for CronPattern {
    fn eq(&self, other: &Self) -> bool {
        self.text == other.text
    }
}

impl Eq for CronPattern {}

impl Hash for CronPattern {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.text.hash(state);
    }
}

impl fmt::Debug for CronPattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "CronPattern({})", self.text)
    }
}

impl fmt::Display for CronPattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// A text that is no cron expression.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CronError {
    /// Not five fields.
    #[error("{text:?} has {found} fields; a cron expression has five: minute, hour, day of the month, month, weekday")]
    Fields {
        /// What was written.
        text: String,
        /// How many fields it has.
        found: usize,
    },
    /// A field that cannot be read.
    #[error("{text:?} is not a cron expression: {why}")]
    Field {
        /// What was written.
        text: String,
        /// Which field, from 0.
        field: usize,
        /// What is wrong.
        why: String,
    },
    /// A name for a whole expression that nobody knows.
    #[error(
        "{text:?} is not a cron expression: of such names there are @hourly, @daily, @weekly, @monthly and @yearly"
    )]
    Name {
        /// What was written.
        text: String,
    },
    /// Fields that can be read one by one, and not together.
    #[error("{text:?} is not a cron expression: {why}")]
    Unreadable {
        /// What was written.
        text: String,
        /// What the library says.
        why: String,
    },
    /// No day matches.
    #[error("{text:?} never comes: no year has such a day")]
    Never {
        /// What was written.
        text: String,
    },
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn refused(text: &str) -> String {
        CronPattern::parse(text).unwrap_err().to_string()
    }

    #[test]
    fn an_expression_has_one_spelling() {
        for (text, canonical) in [
            ("@daily", "0 0 * * *"),
            ("  0  3 * jan-mar mon ", "0 3 * JAN-MAR MON"),
            ("*/15 0-4,8-12 L * 5#2", "*/15 0-4,8-12 L * 5#2"),
            ("0 0 15W * ?", "0 0 15W * ?"),
        ] {
            assert_eq!(CronPattern::parse(text).unwrap().as_str(), canonical);
        }
        assert!(CronPattern::parse("@daily").unwrap().is_at_midnight());
        assert!(!CronPattern::parse("0 0,12 * * *").unwrap().is_at_midnight());
        let daily_at = |text: &str| CronPattern::parse(text).unwrap().daily_at().map(|time| time.as_secs());
        assert_eq!(daily_at("10 2 * * *"), Some(7800));
        assert_eq!((daily_at("10 2 * * MON"), daily_at("10 2,14 * * *")), (None, None));
    }

    #[test]
    fn faults_are_named() {
        assert_eq!(
            refused("10 25 * *"),
            "\"10 25 * *\" has 4 fields; a cron expression has five: minute, hour, day of the month, month, weekday"
        );
        assert_eq!(refused("0 0 31 4 *"), "\"0 0 31 4 *\" never comes: no year has such a day");
        assert_eq!(refused("0 0 30 2 *"), "\"0 0 30 2 *\" never comes: no year has such a day");
        assert_eq!(
            refused("0/10 * * * *"),
            "\"0/10 * * * *\" is not a cron expression: a step needs * or a range before it: */10 or 0-…/10"
        );
        assert_eq!(refused("10 25 * * *"), "\"10 25 * * *\" is not a cron expression: \"25\" is no hour: 0 to 23");
        let field = |text: &str| match CronPattern::parse(text) {
            Err(CronError::Field { field, .. }) => Some(field),
            _ => None,
        };
        assert_eq!(field("60 * * * *"), Some(0));
        assert_eq!(field("* * * 13 *"), Some(3));
        assert_eq!(field("0 0 MON * *"), Some(2));
        assert_eq!(field("0 0 31 4 *"), None, "each field can be read");
        assert_eq!(refused("0 0 MON * *"), "\"0 0 MON * *\" is not a cron expression: \"MON\" is no day of the month");
        for text in [
            "",
            "@reboot",
            "@daily x",
            "0 0 * * MONDAY",
            "60 * * * *",
            "* 24 * * *",
            "* * 32 * *",
            "* * * 13 *",
            "* * * * 8",
            "/5 * * * *",
            "*/0 * * * *",
            "*/x * * * *",
            "1,,2 * * * *",
            "5-1 * * * *",
            "0 0 * * +1",
            "0 0 * * * *",
            "? * * * *",
            "한글 * * * *",
        ] {
            assert!(CronPattern::parse(text).is_err(), "{text}");
        }
    }

    #[test]
    fn day_of_month_and_weekday_are_joined_by_or() {
        let pattern = CronPattern::parse("0 12 1 * MON").unwrap();
        let mut local = civil::datetime(2026, 6, 28, 0, 0, 0, 0);
        let mut days = vec![];
        for _ in 0..4 {
            local = pattern.next_local(local, false).unwrap();
            days.push((local.month(), local.day()));
        }
        assert_eq!(days, [(6, 29), (7, 1), (7, 6), (7, 13)]);
    }

    fn field(values: std::ops::RangeInclusive<u8>) -> impl Strategy<Value = String> {
        let one = values.clone();
        prop_oneof![
            3 => Just("*".to_owned()),
            3 => one.prop_map(|value| value.to_string()),
            1 => (values.clone(), values.clone()).prop_map(|(a, b)| format!("{}-{}", a.min(b), a.max(b))),
            1 => (values.clone(), values.clone()).prop_map(|(a, b)| format!("{a},{b}")),
            1 => (2_u8..9).prop_map(|step| format!("*/{step}")),
            1 => (values.clone(), values, 2_u8..9).prop_map(|(a, b, step)| format!("{}-{}/{step}", a.min(b), a.max(b))),
        ]
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]
        /// Against the library's own search over local times, which knows no clock changes there.
        #[test]
        fn local_ticks_are_those_of_the_library(
            minute in field(0..=59), hour in field(0..=23), day in field(1..=28), month in field(1..=12), weekday in field(0..=7),
            at in 0_i32..40_000, second in 0_i8..60,
        ) {
            let text = format!("{minute} {hour} {day} {month} {weekday}");
            let pattern = CronPattern::parse(&text).unwrap();
            let from = civil::date(1990, 1, 1).checked_add(jiff::Span::new().days(at)).unwrap().at(13, 30, second, 0);
            for inclusive in [false, true] {
                let theirs = pattern.days.find_next_occurrence(&from, inclusive).unwrap();
                prop_assert_eq!(pattern.next_local(from, inclusive), Some(theirs), "{} from {}", text, from);
            }
            let theirs = pattern.days.find_previous_occurrence(&from, true).unwrap();
            prop_assert_eq!(pattern.last_local(from), Some(theirs), "{} up to {}", text, from);
        }

        #[test]
        fn any_text_is_read_or_refused(text in r"\PC{0,20}|([0-9*/,#LWA-Z?+-]{1,5} ){4}[0-9*/,#LWA-Z?+-]{1,5}") {
            if let Ok(pattern) = CronPattern::parse(&text) {
                prop_assert_eq!(CronPattern::parse(pattern.as_str()), Ok(pattern.clone()));
            }
        }
    }
}
