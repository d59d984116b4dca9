//! Where the intervals of each grain begin. One file a question; all grains tile time in every zone.

pub(crate) mod cron_ticks;
pub(crate) mod day;
pub(crate) mod hours_and_minutes;
pub(crate) mod period;
pub(crate) mod week;
pub(crate) mod whole_table;

use crate::time::{Timestamp, civil};

/// One nanosecond earlier.
pub(crate) fn just_before(at: Timestamp) -> Option<Timestamp> {
    at.checked_sub(jiff::SignedDuration::from_nanos(1)).ok()
}

/// Keys have four digits for the year.
pub(crate) fn has_key(date: civil::Date) -> bool {
    (1..=9999).contains(&date.year())
}
