//! Which number a week has: that of the ISO week that holds its fourth day, and so most of its days.
//!
//! For weeks from Monday this is ISO 8601 itself. Weeks that start on another day get each ISO number exactly once, in
//! order, so that the keys still round-trip and sort. As in ISO 8601, a week belongs to the month, quarter and year that
//! hold its Thursday, which is the year in its number.

use crate::time::civil::{Date, ISOWeekDate, Weekday};

/// Days from the start of a week to the day that decides its number.
const TO_FOURTH_DAY: i64 = 3;

/// The first date of the week that holds `date`.
pub(crate) fn first_date(date: Date, starts: Weekday) -> Option<Date> {
    let into_week = i64::from(date.weekday().since(starts));
    days_later(date, -into_week)
}

/// ISO year and week of the week that starts at `first`.
pub(crate) fn number(first: Date) -> Option<(i16, i8)> {
    let iso = days_later(first, TO_FOURTH_DAY)?.iso_week_date();
    Some((iso.year(), iso.week()))
}

/// The first date of the week with a number; `None` where the year has no such week.
pub(crate) fn numbered(year: i16, week: i8, starts: Weekday) -> Option<Date> {
    // the fourth day is a Monday to Sunday of that ISO week: the one that lies three days after `starts`
    let fourth = starts.wrapping_add(TO_FOURTH_DAY);
    days_later(ISOWeekDate::new(year, week, fourth).ok()?.date(), -TO_FOURTH_DAY)
}

/// The start of the first week whose Thursday is `date` or later.
pub(crate) fn first_belonging_to(date: Date, starts: Weekday) -> Option<Date> {
    let earliest = days_later(date, -i64::from(Weekday::Thursday.since(starts)))?;
    let first = first_date(earliest, starts)?;
    if first == earliest { Some(first) } else { days_later(first, 7) }
}

fn days_later(date: Date, days: i64) -> Option<Date> {
    date.checked_add(jiff::Span::new().days(days)).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::time::civil::date;

    #[test]
    fn every_week_has_one_number_and_every_number_one_week() {
        for starts in Weekday::Sunday.cycle_forward().take(7) {
            let mut first = first_date(date(1999, 12, 1), starts).unwrap();
            let mut before = number(first).unwrap();
            while first.year() < 2031 {
                assert_eq!(first.weekday(), starts);
                let (year, week) = number(first).unwrap();
                assert_eq!(numbered(year, week, starts), Some(first), "{starts:?} {first}");
                first = first.checked_add(jiff::Span::new().days(7)).unwrap();
                let next = number(first).unwrap();
                assert!(next > before, "{starts:?}: {next:?} after {before:?}");
                before = next;
            }
        }
    }

    #[test]
    fn a_week_belongs_to_the_month_that_holds_its_thursday() {
        // and the year of that Thursday is the one in its number, whichever day weeks start on
        for starts in Weekday::Sunday.cycle_forward().take(7) {
            for year in 1990..2040 {
                let first = first_belonging_to(date(year, 1, 1), starts).unwrap();
                assert_eq!(number(first), Some((year, 1)), "{starts:?}");
            }
        }
        // Thursday 2026-01-01: its week belongs to 2026 although it starts in December
        assert_eq!(first_belonging_to(date(2026, 1, 1), Weekday::Monday), Some(date(2025, 12, 29)));
        assert_eq!(first_belonging_to(date(2027, 1, 1), Weekday::Monday), Some(date(2027, 1, 4)));
        assert_eq!(number(date(2025, 12, 29)), Some((2026, 1)));
        // a week from Sunday shares its number with the ISO week of its Monday
        assert_eq!(number(date(2026, 3, 22)), Some((2026, 13)));
        assert_eq!(numbered(2026, 13, Weekday::Sunday), Some(date(2026, 3, 22)));
        assert_eq!(numbered(2025, 53, Weekday::Monday), None);
    }
}
