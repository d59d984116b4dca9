//! Where the intervals of each grain begin. One file a grain; all of them tile time in every zone.

pub(crate) mod day;
pub(crate) mod hour;

use crate::time::Timestamp;

/// One nanosecond earlier.
pub(crate) fn just_before(at: Timestamp) -> Option<Timestamp> {
    at.checked_sub(jiff::SignedDuration::from_nanos(1)).ok()
}
