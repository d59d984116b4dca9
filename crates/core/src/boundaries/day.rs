//! Where a day begins: at the first instant of its local date, which is later than midnight where the clocks skipped
//! midnight, and the first of two where it comes twice.

use crate::interval::Interval;
use crate::time::{Timestamp, Zone, civil};

/// The first instant of a local date; where the zone skipped the date, of the next one. `None` after the last instant
/// that the time library holds.
pub(crate) fn first_instant(zone: &Zone, date: civil::Date) -> Option<Timestamp> {
    zone.first_instant_at_or_after(date.to_datetime(civil::Time::midnight()))
}

/// The span from the start of one local date to the start of another, the latter excluded. `None` where it holds no
/// time, and at the ends of the calendar.
pub(crate) fn span(zone: &Zone, from: civil::Date, to: civil::Date) -> Option<Interval> {
    Interval::new(first_instant(zone, from)?, first_instant(zone, to)?).ok()
}
