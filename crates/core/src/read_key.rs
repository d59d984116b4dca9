//! Reading of key text, strictly: which stretch of the calendar or which local time a text names, whatever the pipeline.

use crate::boundaries::whole_table;
use crate::grain::Grain;
use crate::interval_key::parse_offset;
use crate::time::civil::{self, Date};
use crate::time::offset_text;

/// What a text names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Written {
    Table,
    Year(i16),
    Quarter(i16, i8),
    Month(i16, i8),
    /// ISO year and week.
    Week(i16, i8),
    Date(Date),
    Time(LocalTime),
}

/// `2026-03-24T05`, `2026-03-24T05:15`, with or without seconds and offset.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct LocalTime {
    pub(crate) date: Date,
    pub(crate) hour: i8,
    pub(crate) minute: Option<i8>,
    pub(crate) second: Option<i8>,
    /// Seconds east of Greenwich.
    pub(crate) offset: Option<i32>,
}

/// Why a text names nothing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Unread {
    /// Not the form of any key.
    Form,
    /// The form is right, the calendar has no such thing: what, and why.
    NoSuch(&'static str, String),
    /// An hour or a minute that no clock shows.
    NoSuchHour,
    /// The calendar of keys ends before it.
    OutOfRange,
}

impl Written {
    /// What it is, with its article.
    pub(crate) const fn name(&self) -> &'static str {
        match self {
            Self::Table => "the whole table",
            Self::Year(_) => "a year",
            Self::Quarter(..) => "a quarter",
            Self::Month(..) => "a month",
            Self::Week(..) => "a week",
            Self::Date(_) => "a day",
            Self::Time(LocalTime { minute: None, .. }) => "an hour",
            Self::Time(_) => "a time of the day",
        }
    }

    /// True where keys of the grain look like this.
    pub(crate) const fn is_key_of(&self, grain: &Grain) -> bool {
        match (grain, self) {
            (Grain::Clock(step), Self::Time(time)) => time.minute.is_some() != step.is_whole_hours(),
            (Grain::Hour, Self::Time(time)) => time.minute.is_none(),
            (Grain::Cron(_), Self::Time(time)) => time.minute.is_some(),
            (Grain::Day, Self::Date(_))
            | (Grain::Week(_), Self::Week(..))
            | (Grain::Month, Self::Month(..))
            | (Grain::Quarter, Self::Quarter(..))
            | (Grain::Year, Self::Year(_))
            | (Grain::Table, Self::Table) => true,
            _ => false,
        }
    }

    /// True where it stands for the intervals of the grain that it holds.
    pub(crate) const fn is_coarser_than(&self, grain: &Grain) -> bool {
        let length = match self {
            Self::Table => return false,
            // an hour of which the minutes could be keys of their own
            Self::Time(LocalTime { minute: None, offset: None, .. }) => 1,
            Self::Time(_) => 0,
            Self::Date(_) => 2,
            Self::Week(..) => 3,
            Self::Month(..) => 4,
            Self::Quarter(..) => 5,
            Self::Year(_) => 6,
        };
        let own = match grain {
            Grain::Clock(step) if step.minutes() < 60 => 0,
            Grain::Cron(_) => 0,
            Grain::Clock(_) | Grain::Hour => 1,
            Grain::Day => 2,
            Grain::Week(_) => 3,
            Grain::Month => 4,
            Grain::Quarter => 5,
            Grain::Year | Grain::Table => return false,
        };
        length > own
    }

    /// The local dates it covers: the first, and the first after. `None` for a time, a table, and past the calendar.
    pub(crate) fn dates(&self) -> Option<(Date, Date)> {
        let months = |year: i16, month: i8, count: i64| {
            let first = Date::new(year, month, 1).ok()?;
            Some((first, first.checked_add(jiff::Span::new().months(count)).ok()?))
        };
        match *self {
            Self::Year(year) => months(year, 1, 12),
            Self::Quarter(year, quarter) => months(year, quarter * 3 - 2, 3),
            Self::Month(year, month) => months(year, month, 1),
            Self::Week(year, week) => {
                let monday = civil::ISOWeekDate::new(year, week, civil::Weekday::Monday).ok()?.date();
                Some((monday, monday.checked_add(jiff::Span::new().days(7)).ok()?))
            }
            Self::Date(date) => Some((date, date.tomorrow().ok()?)),
            Self::Time(_) | Self::Table => None,
        }
    }
}

impl LocalTime {
    /// The wall clock it names; minutes and seconds that are not written are 0.
    pub(crate) fn datetime(&self) -> civil::DateTime {
        self.date.at(self.hour, self.minute.unwrap_or(0), self.second.unwrap_or(0), 0)
    }
}

/// Reads a key of any grain.
pub(crate) fn read(text: &str) -> Result<Written, Unread> {
    if text == whole_table::KEY {
        return Ok(Written::Table);
    }
    if let Some((date, time)) = text.split_once('T') {
        return read_time(date, time);
    }
    if let Some(year) = digits(text, 4) {
        return year_in_range(year).map(Written::Year);
    }
    let fields: Vec<&str> = text.split('-').collect();
    match fields.as_slice() {
        [year, rest] => {
            let year = digits(year, 4).ok_or(Unread::Form)?;
            if let Some(week) = rest.strip_prefix('W').and_then(|week| digits(week, 2)) {
                let year = year_in_range(year)?;
                let most = civil::date(year, 12, 28).iso_week_date().week();
                let week = narrow(week);
                return if (1..=most).contains(&week) {
                    Ok(Written::Week(year, week))
                } else {
                    Err(Unread::NoSuch("a week", format!("{year:04} has the weeks 01 to {most}")))
                };
            }
            if let Some(quarter) = rest.strip_prefix('Q').and_then(|quarter| digits(quarter, 1)) {
                let (year, quarter) = (year_in_range(year)?, narrow(quarter));
                return if (1..=4).contains(&quarter) {
                    Ok(Written::Quarter(year, quarter))
                } else {
                    Err(Unread::NoSuch("a quarter", "a year has 4 quarters".to_owned()))
                };
            }
            let month = digits(rest, 2).ok_or(Unread::Form)?;
            let (year, month) = (year_in_range(year)?, narrow(month));
            if (1..=12).contains(&month) {
                Ok(Written::Month(year, month))
            } else {
                Err(Unread::NoSuch("a month", "a year has 12 months".to_owned()))
            }
        }
        _ => read_date(text).map(Written::Date),
    }
}

/// Reads `2026-03-24`, strictly.
fn read_date(text: &str) -> Result<Date, Unread> {
    let fields: Vec<&str> = text.split('-').collect();
    let &[year, month, day] = fields.as_slice() else { return Err(Unread::Form) };
    let (Some(year), Some(month), Some(day)) = (digits(year, 4), digits(month, 2), digits(day, 2)) else {
        let long = year.len() > 4 && fields.concat().bytes().all(|b| b.is_ascii_digit());
        return Err(if long { Unread::OutOfRange } else { Unread::Form });
    };
    let no_such = |why: &str| Unread::NoSuch("a day", why.to_owned());
    if year == 0 {
        return Err(no_such("there is no year 0"));
    }
    if !(1..=12).contains(&month) {
        return Err(no_such("a year has 12 months"));
    }
    Date::new(year, narrow(month), narrow(day)).map_err(|_| {
        let last = civil::date(year, narrow(month), 1).days_in_month();
        no_such(&format!("{year:04}-{month:02} has {last} days"))
    })
}

/// Reads date and time of `2026-03-24T05:15-04:00`.
fn read_time(date: &str, time: &str) -> Result<Written, Unread> {
    let date = read_date(date)?;
    let (clock, offset) = match time.find(['+', '-']) {
        // one offset, one spelling: neither -05:00:00 nor -00:00
        Some(at) => {
            let offset = time.get(at..).unwrap_or_default();
            (time.get(..at), Some(parse_offset(offset).filter(|seconds| offset_text(*seconds) == offset)))
        }
        None => (Some(time), None),
    };
    let offset = offset.map(|offset| offset.ok_or(Unread::Form)).transpose()?;
    let fields: Vec<Option<i16>> = clock.unwrap_or_default().split(':').map(|field| digits(field, 2)).collect();
    let (hour, minute, second) = match *fields.as_slice() {
        [Some(hour)] => (hour, None, None),
        [Some(hour), Some(minute)] => (hour, Some(minute), None),
        [Some(hour), Some(minute), Some(second)] => (hour, Some(minute), Some(second)),
        _ => return Err(Unread::Form),
    };
    if hour > 23 || minute.is_some_and(|minute| minute > 59) || second.is_some_and(|second| second > 59) {
        return Err(Unread::NoSuchHour);
    }
    let (hour, minute, second) = (narrow(hour), minute.map(narrow), second.map(narrow));
    Ok(Written::Time(LocalTime { date, hour, minute, second, offset }))
}

fn year_in_range(year: i16) -> Result<i16, Unread> {
    if year == 0 { Err(Unread::NoSuch("a year", "there is no year 0".to_owned())) } else { Ok(year) }
}

/// A number of exactly so many digits, at most four.
fn digits(text: &str, width: usize) -> Option<i16> {
    if text.len() == width && text.bytes().all(|b| b.is_ascii_digit()) { text.parse().ok() } else { None }
}

/// Of a number of two digits.
fn narrow(value: i16) -> i8 {
    i8::try_from(value).unwrap_or(i8::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_form_is_read() {
        let time = |minute, second, offset| {
            Ok(Written::Time(LocalTime { date: civil::date(2026, 11, 1), hour: 1, minute, second, offset }))
        };
        for (text, meant) in [
            ("table", Ok(Written::Table)),
            ("2026", Ok(Written::Year(2026))),
            ("2026-Q1", Ok(Written::Quarter(2026, 1))),
            ("2026-03", Ok(Written::Month(2026, 3))),
            ("2026-W53", Ok(Written::Week(2026, 53))),
            ("2026-03-24", Ok(Written::Date(civil::date(2026, 3, 24)))),
            ("2026-11-01T01", time(None, None, None)),
            ("2026-11-01T01:30", time(Some(30), None, None)),
            ("2026-11-01T01:30:15-04:00", time(Some(30), Some(15), Some(-4 * 3600))),
            ("2026-11-01T01+00:44:30", time(None, None, Some(2670))),
        ] {
            assert_eq!(read(text), meant, "{text}");
        }
    }

    #[test]
    fn what_is_no_key_is_told_apart_from_what_the_calendar_lacks() {
        for text in [
            "",
            "2026-3",
            "2026-03-24 05",
            "26-03-24",
            "2026-Q",
            "2026-W1",
            "T05",
            "2026-03-24T5",
            "한글",
            "tables",
            "2026-11-01T01-05:00:00",
            "2026-11-01T01-00:00",
        ] {
            assert_eq!(read(text), Err(Unread::Form), "{text}");
        }
        for text in ["2026-13", "2026-Q5", "2025-W53", "2026-W00", "0000", "0000-W01", "2026-02-30", "0000-01-01"] {
            assert!(matches!(read(text), Err(Unread::NoSuch(..))), "{text}");
        }
        assert_eq!(read("2026-03-24T24"), Err(Unread::NoSuchHour));
        assert_eq!(read("2026-03-24T05:60"), Err(Unread::NoSuchHour));
        assert_eq!(read("10000-01-01"), Err(Unread::OutOfRange));
    }
}
