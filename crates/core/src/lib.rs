//! The decisions of thrice, without any IO: which data intervals a pipeline has, which of them are due, what state a
//! run may enter, whether a failure is tried again, and what a partition's status is.
//!
//! The crate knows no database, no clock and no async runtime: the time is an argument, and so is what the ledger says.
//!
//! ```
//! use thrice_core::due::{CatchUp, DuePolicy};
//! use thrice_core::grain::Grain;
//! use thrice_core::schedule::Schedule;
//! use thrice_core::time::Zone;
//!
//! let schedule = Schedule::new(Grain::Day, Zone::named("Asia/Seoul")?);
//! let policy = DuePolicy {
//!     start: "2026-03-20T00:00:00+09:00".parse()?,
//!     end: None,
//!     delay: std::time::Duration::from_secs(2 * 3600),
//!     catch_up: CatchUp::Newest(2),
//! };
//! let as_of = "2026-03-25T02:10:00+09:00".parse()?;
//! let due: Vec<String> = policy.to_run(&schedule, as_of, |_| false).iter().map(|p| p.key.to_string()).collect();
//! assert_eq!(due, ["2026-03-24", "2026-03-23"]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

pub mod actor;
pub mod code;
pub mod due;
pub mod duration;
pub mod failure_class;
pub mod grain;
pub mod identifier;
pub mod interval;
pub mod interval_bounds;
pub mod interval_key;
pub mod interval_set;
pub mod partition_status;
pub mod reason;
pub mod retry;
pub mod run;
pub mod run_state;
pub mod schedule;
pub mod sqlstate;
pub mod text;
pub mod time;

pub use grain::Grain;
pub use identifier::{Identifier, TableName};
pub use interval::Interval;
pub use interval_key::IntervalKey;
pub use schedule::{Partition, Schedule};
pub use time::Zone;
