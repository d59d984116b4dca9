//! The staged rows are what the interval already holds: nothing is written but the receipt.

use super::{PublishPlan, ReadBack, Writes};

/// The plan without a statement. The interval is still read back and compared, so rows that somebody edited since
/// their receipt are noticed.
pub fn plan(strategy: &'static str) -> PublishPlan {
    PublishPlan {
        strategy,
        steps: Vec::new(),
        writes: Writes::Nothing,
        kept_as: None,
        swap: None,
        reads_back: ReadBack::Interval,
    }
}
