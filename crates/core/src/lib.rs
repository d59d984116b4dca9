//! The decisions of thrice, without any IO: which data intervals a pipeline has, which of them are due, what state a
//! run may enter, whether a failure is tried again, and what a partition's status is.
//!
//! The crate knows no database, no clock and no async runtime: the time is an argument, and so is what the ledger says.
//! Every answer can therefore be tested, and asked again for any moment.
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
//!
//! # Where to find what
//!
//! | question | module |
//! |---|---|
//! | Which data intervals are there, and what are they called? | [`schedule`], [`grain`], [`clock_step`], [`cron_pattern`], [`interval`], [`interval_key`] |
//! | A text is no key of this pipeline: what to type instead? | [`key_error`] |
//! | Which intervals does `2026-03`, `yesterday` or a comma list name? | [`interval_set`] |
//! | Which of them may run now, and why not the others? | [`due`] |
//! | When is a published partition made again, and from when on does it stand? | [`late_policy`] |
//! | What are an interval's bounds in the target's column? | [`column_bounds`] |
//! | What may a run do next? | [`run`] as types, [`run_state`] as stored |
//! | An error came back: again, never, or first find out what happened? | [`retry`], [`failure_class`], [`sqlstate`] |
//! | Where does a partition stand? Why, and what would change it? | [`partition_status`], [`why`] |
//! | Which code does a fault have? | [`code`] |
//! | SQL names, durations, reasons, actors, text for people | [`identifier`], [`duration`], [`reason`], [`actor`], [`text`] |
//!
//! # Intervals
//!
//! An interval is half-open, `[start, end)`, in absolute time. Its boundaries are the instants at which the wall clock of
//! the pipeline's zone is aligned to the grain, so intervals follow each other without gap and without overlap, whatever
//! the clocks do:
//!
//! * A day starts at the first instant of its local date, and so do a week, a month, a quarter and a year with their
//!   first date. Where midnight was skipped that is later than 00:00; a date that was skipped altogether has no interval.
//! * An hour, or a part of an hour, starts when the wall clock enters it. What comes twice is two intervals, and the key
//!   of each carries its offset. A shift of half an hour, as on Lord Howe Island, starts no hour by itself: it makes one
//!   of 90 minutes in autumn and one of 30 in spring.
//! * Six hours start when the wall clock shows a multiple of six, or jumps over one. An hour that comes again in their
//!   middle makes them longer.
//! * With a cron expression an interval goes from tick to tick. Fixed times of the day tick once: after the gap that
//!   swallowed them, in the first of two passes. Patterns with `*` or `/` in minute or hour skip the gap and tick in both
//!   passes.
//! * A whole table has one partition.
//!
//! Weeks are numbered as ISO 8601 does, by the year and week that hold most of their days, on whichever day they start.
//!
//! ```
//! use thrice_core::{Grain, Schedule, Zone};
//!
//! let hours = Schedule::new(Grain::Hour, Zone::named("America/New_York")?);
//! let first = hours.partition_for_key("2026-11-01T01-04:00")?;
//! let second = hours.next(&first).unwrap();
//! assert_eq!(second.key.as_str(), "2026-11-01T01-05:00");
//! assert_eq!(first.interval.end(), second.interval.start());
//!
//! let days = Schedule::new(Grain::Day, Zone::named("America/New_York")?);
//! assert_eq!(days.partition_for_key("2026-11-01")?.interval.seconds(), 25 * 3600);
//!
//! let island = Schedule::new(Grain::Hour, Zone::named("Australia/Lord_Howe")?);
//! assert_eq!(island.partition_for_key("2024-04-07T01")?.interval.seconds(), 90 * 60);
//! assert_eq!(island.partition_for_key("2024-10-06T02")?.interval.seconds(), 30 * 60);
//!
//! let weeks = Schedule::new(Grain::week_from("sunday")?, Zone::named("America/New_York")?);
//! let week = weeks.partition_at("2026-03-24T12:00:00Z".parse()?).unwrap();
//! assert_eq!((week.key.as_str(), week.target_date.to_string().as_str()), ("2026-W13", "2026-03-22"));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Late data
//!
//! ```
//! use thrice_core::due::{CatchUp, DuePolicy};
//! use thrice_core::late_policy::{LatePolicy, Maturity, Published, Revisits};
//! use thrice_core::{Grain, Schedule, Zone};
//!
//! let schedule = Schedule::new(Grain::Day, Zone::named("Asia/Seoul")?);
//! let due = DuePolicy {
//!     start: "2026-03-01T00:00:00+09:00".parse()?,
//!     end: None,
//!     delay: std::time::Duration::from_secs(7800),
//!     catch_up: CatchUp::All,
//! };
//! // made again with the next day and the third after it; final from the first of them on, closed by the second
//! let policy = LatePolicy::new(Revisits::List(vec![1, 3]), Some(1), Some(3))?;
//! let day = schedule.partition_for_key("2026-03-24")?;
//! let at = "2026-03-26T02:10:00+09:00".parse()?;
//! let published = Published::default();
//! assert_eq!(policy.maturity(&schedule, &due, &day, published, at), Maturity::Provisional);
//! assert_eq!(policy.revisits_due(&schedule, &due, &day, published, at), [1]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Failures
//!
//! The server's code and the side effect decide, never the text of a message. After a COMMIT that was not answered there
//! is one answer only:
//!
//! ```
//! use thrice_core::retry::{Circumstances, Decision, SideEffect, decide};
//! use thrice_core::sqlstate::SqlState;
//!
//! let lost = Circumstances { connection_lost: true, ..Circumstances::default() };
//! assert_eq!(decide(None, SideEffect::CommitSent, lost), Decision::Resolve);
//!
//! let deadlock = decide(SqlState::parse("40P01"), SideEffect::None, Circumstances::default());
//! assert!(matches!(deadlock, Decision::Fail { class, .. } if class.is_retried()));
//! ```

pub mod actor;
mod boundaries;
pub mod clock_step;
pub mod code;
pub mod column_bounds;
pub mod cron_pattern;
pub mod due;
pub mod duration;
pub mod failure_class;
mod find_partition;
pub mod grain;
pub mod identifier;
pub mod interval;
pub mod interval_key;
pub mod interval_set;
pub mod key_error;
pub mod late_policy;
pub mod partition_status;
pub mod publish_strategy;
mod read_key;
pub mod reason;
pub mod reserved_schema;
pub mod retry;
pub mod revisits_to_run;
pub mod run;
pub mod run_state;
pub mod schedule;
pub mod sql_constant;
pub mod sqlstate;
mod suggest_key;
pub mod text;
pub mod time;
mod usual_length;
pub mod why;

pub use grain::Grain;
pub use identifier::{Identifier, TableName};
pub use interval::Interval;
pub use interval_key::IntervalKey;
pub use reserved_schema::ReservedSchema;
pub use schedule::{Partition, Schedule};
pub use time::Zone;
