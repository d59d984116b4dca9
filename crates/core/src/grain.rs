//! How long a pipeline's data intervals are.

use std::fmt;

use crate::clock_step::ClockStep;
use crate::cron_pattern::CronPattern;
use crate::text::did_you_mean;
use crate::time::civil::{self, Weekday};

/// The length of a data interval, aligned to the local wall clock of the pipeline's zone.
///
/// Text, as the pipeline file and the ledger have it, comes from [`Display`](fmt::Display): `15 minutes`, `hour`,
/// `6 hours`, `day`, `week`, `week from sunday`, `month`, `quarter`, `year`, `table`, `cron 0 3 * * *`.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Grain {
    /// N minutes or N hours that divide a day, counted from local midnight.
    Clock(ClockStep),
    /// From one change of the local hour to the next; a local hour that comes twice is two intervals.
    Hour,
    /// One local date: 23, 24 or 25 hours, or what the zone makes of it.
    Day,
    /// Seven local dates, from the given weekday on.
    Week(Weekday),
    /// One calendar month.
    Month,
    /// Three calendar months: January to March, and so on.
    Quarter,
    /// One calendar year.
    Year,
    /// The whole table: one partition with the key `table`.
    Table,
    /// From one tick of a cron expression to the next.
    Cron(CronPattern),
}

/// The words of grains without a number.
const WORDS: [&str; 7] = ["hour", "day", "week", "month", "quarter", "year", "table"];

impl Grain {
    /// Reads `hour`, `day`, `week`, `month`, `quarter`, `year`, `table`, `N minutes` or `N hours`. A week starts on
    /// Monday; [`Grain::week_from`] has the others. A cron expression has a key of its own and its own reader,
    /// [`CronPattern::parse`].
    ///
    /// # Errors
    /// [`GrainError`] with the word that was meant, where there is one.
    pub fn parse(text: &str) -> Result<Self, GrainError> {
        match text {
            "hour" => return Ok(Self::Hour),
            "day" => return Ok(Self::Day),
            "week" => return Ok(Self::Week(Weekday::Monday)),
            "month" => return Ok(Self::Month),
            "quarter" => return Ok(Self::Quarter),
            "year" => return Ok(Self::Year),
            "table" => return Ok(Self::Table),
            _ => {}
        }
        let counted = text.split_once(' ').and_then(|(count, unit)| {
            let digits = !count.is_empty() && count.bytes().all(|b| b.is_ascii_digit()) && !count.starts_with('0');
            let count: u32 = count.parse().ok().filter(|count| digits && *count > 0)?;
            match unit {
                "minutes" => Some(count),
                "hours" => count.checked_mul(60),
                _ => None,
            }
        });
        let Some(minutes) = counted else {
            return Err(GrainError::Unknown { text: text.to_owned(), nearest: nearest(text) });
        };
        let word = name_of_minutes(minutes);
        match (u16::try_from(minutes).ok().and_then(ClockStep::from_minutes), word) {
            (Some(step), word) if word == text => Ok(Self::Clock(step)),
            (Some(_), write) => Err(GrainError::OtherWord { text: text.to_owned(), write }),
            (None, write) if matches!(minutes, 60 | 1440) => {
                Err(GrainError::OtherWord { text: text.to_owned(), write })
            }
            (None, _) => {
                let around = ClockStep::around(minutes).into_iter().map(|step| name_of_minutes(u32::from(step)));
                Err(GrainError::Uneven { text: text.to_owned(), around: around.collect() })
            }
        }
    }

    /// Weeks that start on another day than Monday, by its English name in lower case.
    ///
    /// # Errors
    /// [`GrainError::UnknownWeekday`].
    pub fn week_from(weekday: &str) -> Result<Self, GrainError> {
        WEEKDAYS.iter().find(|(name, _)| *name == weekday).map(|(_, day)| Self::Week(*day)).ok_or_else(|| {
            GrainError::UnknownWeekday {
                text: weekday.to_owned(),
                nearest: did_you_mean(weekday, WEEKDAYS.iter().map(|(name, _)| *name)),
            }
        })
    }

    /// True where an interval covers whole local dates, so that `:interval_date` and date columns make sense: a day and
    /// longer, and a cron expression that only ticks at midnight.
    pub fn is_whole_dates(&self) -> bool {
        match self {
            Self::Day | Self::Week(_) | Self::Month | Self::Quarter | Self::Year => true,
            Self::Cron(pattern) => pattern.is_at_midnight(),
            Self::Clock(_) | Self::Hour | Self::Table => false,
        }
    }

    /// What a key of this grain looks like.
    pub const fn key_form(&self) -> &'static str {
        match self {
            Self::Clock(step) if step.is_whole_hours() => "2026-03-24T00",
            Self::Clock(_) | Self::Cron(_) => "2026-03-24T00:00",
            Self::Hour => "2026-03-24T05",
            Self::Day => "2026-03-24",
            Self::Week(_) => "2026-W13",
            Self::Month => "2026-03",
            Self::Quarter => "2026-Q1",
            Self::Year => "2026",
            Self::Table => "table",
        }
    }
}

const WEEKDAYS: [(&str, Weekday); 7] = [
    ("monday", Weekday::Monday),
    ("tuesday", Weekday::Tuesday),
    ("wednesday", Weekday::Wednesday),
    ("thursday", Weekday::Thursday),
    ("friday", Weekday::Friday),
    ("saturday", Weekday::Saturday),
    ("sunday", Weekday::Sunday),
];

fn weekday_name(day: civil::Weekday) -> &'static str {
    WEEKDAYS.iter().find(|(_, known)| *known == day).map_or("monday", |(name, _)| name)
}

/// The one spelling of a number of minutes.
fn name_of_minutes(minutes: u32) -> String {
    match minutes {
        60 => "hour".to_owned(),
        1440 => "day".to_owned(),
        _ if minutes.is_multiple_of(60) => format!("{} hours", minutes / 60),
        _ => format!("{minutes} minutes"),
    }
}

/// What was meant by `daily`, `1 day`, `1h`, `15min`, `Day`.
fn nearest(text: &str) -> Option<String> {
    const MEANT: [(&str, &str); 9] = [
        ("hourly", "hour"),
        ("daily", "day"),
        ("weekly", "week"),
        ("monthly", "month"),
        ("quarterly", "quarter"),
        ("yearly", "year"),
        ("annually", "year"),
        ("full", "table"),
        ("minute", "1 minutes"),
    ];
    let lower = text.trim().to_lowercase();
    if let Some((_, word)) = MEANT.iter().find(|(other, _)| *other == lower) {
        return Some((*word).to_owned());
    }
    let digits = lower.bytes().take_while(u8::is_ascii_digit).count();
    let (count, unit) = lower.split_at(digits);
    let per_unit = match unit.trim() {
        "m" | "min" | "mins" | "minute" | "minutes" => Some(1),
        "h" | "hr" | "hrs" | "hour" | "hours" => Some(60),
        "d" | "day" | "days" => Some(1440),
        _ => None,
    };
    if let (Ok(count), Some(per_unit)) = (count.parse::<u32>(), per_unit) {
        let minutes = u16::try_from(count.checked_mul(per_unit)?).ok()?;
        let is_grain = matches!(minutes, 60 | 1440) || ClockStep::from_minutes(minutes).is_some();
        return is_grain.then(|| name_of_minutes(u32::from(minutes)));
    }
    did_you_mean(&lower, WORDS).map(str::to_owned)
}

impl fmt::Display for Grain {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Clock(step) => step.fmt(f),
            Self::Hour => f.write_str("hour"),
            Self::Day => f.write_str("day"),
            Self::Week(Weekday::Monday) => f.write_str("week"),
            Self::Week(day) => write!(f, "week from {}", weekday_name(*day)),
            Self::Month => f.write_str("month"),
            Self::Quarter => f.write_str("quarter"),
            Self::Year => f.write_str("year"),
            Self::Table => f.write_str("table"),
            Self::Cron(pattern) => write!(f, "cron {pattern}"),
        }
    }
}

/// A grain that cannot be had.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum GrainError {
    /// Minutes or hours of which a day does not hold a whole number.
    #[error("{text:?} does not divide a day evenly; {} do", around.join(" and "))]
    Uneven {
        /// What was written.
        text: String,
        /// The nearest that do, shorter first.
        around: Vec<String>,
    },
    /// A length that has another name: one length, one spelling.
    #[error("{text:?} is written {write:?}")]
    OtherWord {
        /// What was written.
        text: String,
        /// The name it has.
        write: String,
    },
    /// No weekday.
    #[error("{text:?} is not a day of the week")]
    UnknownWeekday {
        /// What was written.
        text: String,
        /// The day that may have been meant.
        nearest: Option<&'static str>,
    },
    /// No grain at all.
    #[error("{text:?} is not a grain")]
    Unknown {
        /// What was written.
        text: String,
        /// What may have been meant.
        nearest: Option<String>,
    },
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_grain_is_read_as_it_is_written() {
        for text in [
            "1 minutes",
            "5 minutes",
            "90 minutes",
            "hour",
            "6 hours",
            "day",
            "week",
            "month",
            "quarter",
            "year",
            "table",
        ] {
            assert_eq!(Grain::parse(text).unwrap().to_string(), text);
        }
        assert_eq!(Grain::week_from("sunday").unwrap().to_string(), "week from sunday");
        assert_eq!(Grain::week_from("monday"), Grain::parse("week"));
        assert!(matches!(Grain::week_from("sun"), Err(GrainError::UnknownWeekday { .. })));
    }

    #[test]
    fn one_length_has_one_spelling() {
        for (text, write) in
            [("60 minutes", "hour"), ("1 hours", "hour"), ("24 hours", "day"), ("120 minutes", "2 hours")]
        {
            assert_eq!(Grain::parse(text), Err(GrainError::OtherWord { text: text.into(), write: write.into() }));
        }
        let uneven = Grain::parse("7 minutes").unwrap_err().to_string();
        assert_eq!(uneven, "\"7 minutes\" does not divide a day evenly; 6 minutes and 8 minutes do");
        for text in ["5 hours", "48 hours", "100 minutes", "4294967295 minutes"] {
            assert!(matches!(Grain::parse(text), Err(GrainError::Uneven { .. })), "{text}");
        }
    }

    #[test]
    fn what_is_no_grain_is_told_what_was_meant() {
        for (text, meant) in [
            ("daily", Some("day")),
            ("1 day", Some("day")),
            ("Day", Some("day")),
            ("1h", Some("hour")),
            ("15min", Some("15 minutes")),
            ("quater", Some("quarter")),
            ("36h", None),
            ("", None),
            ("0 minutes", None),
            ("-1 day", None),
            ("99999999999 hours", None),
        ] {
            let expected = GrainError::Unknown { text: text.into(), nearest: meant.map(str::to_owned) };
            assert_eq!(Grain::parse(text), Err(expected), "{text}");
        }
    }
}
