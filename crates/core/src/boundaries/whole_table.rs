//! The one partition of a pipeline of grain `table`.

use crate::interval::Interval;
use crate::interval_key::IntervalKey;
use crate::schedule::Partition;
use crate::time::{Timestamp, civil};

/// Its key.
pub(crate) const KEY: &str = "table";
/// `0001-01-01T00:00:00Z`.
const FIRST_SECOND: i64 = -62_135_596_800;
/// `9999-12-30T22:00:00Z`, the last second that the time library holds; PostgreSQL's calendar goes on for long.
const LAST_SECOND: i64 = 253_402_207_200;

/// All of time.
pub(crate) fn partition() -> Option<Partition> {
    let bound = |second| Timestamp::from_second(second).ok();
    let interval = Interval::new(bound(FIRST_SECOND)?, bound(LAST_SECOND)?).ok()?;
    Some(Partition { key: IntervalKey::new(KEY.to_owned()), interval, target_date: civil::date(1, 1, 1) })
}
