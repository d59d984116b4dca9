//! Where a day, a week, a month, a quarter and a year begin: with the first instant of their first local date.
//!
//! A period whose start the zone skipped begins at its first existing instant; a date that the zone skipped altogether
//! is a day that has no interval.

use crate::boundaries::{day, has_key, week};
use crate::interval_key::IntervalKey;
use crate::schedule::Partition;
use crate::time::civil::{Date, Weekday};
use crate::time::{Timestamp, Zone};

/// A number of whole local dates.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Period {
    Day,
    Week(Weekday),
    Months(i8),
}

/// One calendar month.
pub(crate) const MONTH: Period = Period::Months(1);
/// Three calendar months.
pub(crate) const QUARTER: Period = Period::Months(3);
/// Twelve calendar months.
pub(crate) const YEAR: Period = Period::Months(12);

impl Period {
    /// The first date of the period that holds `date`.
    fn first_date(self, date: Date) -> Option<Date> {
        match self {
            Self::Day => Some(date),
            Self::Week(starts) => week::first_date(date, starts),
            Self::Months(count) => {
                let month = (date.month() - 1) / count * count + 1;
                Date::new(date.year(), month, 1).ok()
            }
        }
    }

    /// The first date of the period after the one that starts at `first`.
    pub(crate) fn next_date(self, first: Date) -> Option<Date> {
        let span = jiff::Span::new();
        let span = match self {
            Self::Day => span.days(1),
            Self::Week(_) => span.days(7),
            Self::Months(count) => span.months(i64::from(count)),
        };
        first.checked_add(span).ok()
    }

    fn key(self, first: Date) -> Option<IntervalKey> {
        let (year, month) = (first.year(), first.month());
        let text = match self {
            Self::Day => first.to_string(),
            Self::Week(_) => {
                let (year, week) = week::number(first)?;
                if !(1..=9999).contains(&year) {
                    return None;
                }
                format!("{year:04}-W{week:02}")
            }
            Self::Months(1) => format!("{year:04}-{month:02}"),
            Self::Months(3) => format!("{year:04}-Q{}", (month + 2) / 3),
            Self::Months(_) => format!("{year:04}"),
        };
        Some(IntervalKey::new(text))
    }

    /// The period that contains `at`.
    pub(crate) fn at(self, zone: &Zone, at: Timestamp) -> Option<Partition> {
        let mut first = self.first_date(zone.date(at))?;
        // after a clock went back over midnight the wall shows the old date, but the new one has begun
        while day::first_instant(zone, self.next_date(first)?)? <= at {
            first = self.next_date(first)?;
        }
        while day::first_instant(zone, first)? > at {
            first = self.first_date(first.yesterday().ok()?)?;
        }
        self.starting(zone, first)
    }

    /// The period that starts with a local date; `None` where the zone skipped all of it, and outside the calendar.
    pub(crate) fn starting(self, zone: &Zone, first: Date) -> Option<Partition> {
        if !has_key(first) {
            return None;
        }
        let interval = day::span(zone, first, self.next_date(first)?)?;
        Some(Partition { key: self.key(first)?, interval, target_date: first })
    }
}
