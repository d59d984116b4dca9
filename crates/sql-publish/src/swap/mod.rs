//! Swaps: a table is prepared beside the target, and a publish lets it take the place of the interval's partition.
//!
//! `examine` says whether a target can be swapped at all, `interval` which partition is the interval, `shape` what the new
//! table needs so that nothing of the old one is lost, [`prepare`](mod@prepare) makes it in transactions of its own, and
//! `publish` does what a publish of a swap does besides its steps.

pub(crate) mod examine;
pub(crate) mod interval;
pub mod prepare;
pub(crate) mod publish;
pub(crate) mod shape;

pub use interval::IntervalPartition;
