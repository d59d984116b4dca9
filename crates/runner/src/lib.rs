//! Walks one data interval from claim to receipt: claim → start → stage or adopt → validate → publish → receipt →
//! clean-up, with resume, bounded retry, and resolution of an unknown COMMIT.
//!
//! ```no_run
//! use std::time::Duration;
//! use thrice_core::actor::Actor;
//! use thrice_ledger::Ledger;
//! use thrice_runner::{Job, Outcome, RunRequest, Runner, RunnerOptions, Silent, Trigger};
//! use thrice_sql_publish::CancellationToken;
//!
//! # async fn example(settings: thrice_connect::ConnectionSettings, job: Job) -> Result<(), Box<dyn std::error::Error>> {
//! let ledger = Ledger::open(&settings).await?;
//! let options = RunnerOptions {
//!     host: "build-7".to_owned(),
//!     os_pid: std::process::id(),
//!     lease_ttl: Duration::from_secs(60),
//!     actor: Actor::default(),
//!     resolve_wait: Duration::from_secs(60),
//! };
//! let mut runner = Runner::open(ledger, settings, options).await?;
//! let day = job.schedule.partition_for_key("2026-03-24")?;
//! let Ok(prepared) = runner.prepare(job, &day, &CancellationToken::new(), &mut Silent).await else { return Ok(()) };
//! let as_of = "2026-03-25T02:10:00+09:00".parse()?;
//! let report = runner.run_partition(&prepared, &day, &RunRequest::new(Trigger::Manual, as_of), &mut Silent).await;
//! match report.outcome {
//!     Outcome::Published(done) | Outcome::Unchanged(done) => println!("{} rows {}", done.rows.total, done.checksum),
//!     Outcome::Unknown(problem) => println!("run it again, it asks the ledger first: {}", problem.what),
//!     Outcome::Failed(problem) | Outcome::Refused(problem) | Outcome::Held(problem) => println!("{}", problem.what),
//! }
//! # Ok(())
//! # }
//! ```
//!
//! This crate holds no loop over partitions and prints nothing. It publishes nothing that was not validated: the types
//! of [`thrice_core::run`] carry that.

mod adopt_existing_rows;
mod attempt;
mod claim;
mod difference;
mod examine_checks;
pub mod failpoints;
mod failure;
mod guarding;
mod job;
mod patience;
mod prepare;
mod problem;
mod publish;
mod report;
mod request;
mod resume;
mod rollback;
mod run_partition;
mod runner;
mod source_checks;
mod spent_staging;
mod stage;
mod swap;
mod validate;
mod way_out;

pub use adopt_existing_rows::Adoption;
pub use difference::Against;
pub use job::{Job, Limits, Param};
pub use prepare::{Examined, Examiner, NotPrepared, Prepared, keep_definition, may_register, recut};
pub use problem::{of_connect as problem_of_connect, of_ledger as problem_of_ledger, of_publish as problem_of_publish};
pub use report::{Done, Edited, Outcome, PartitionReport, Problem, Progress, RowCounts, Silent, Step, StepTimes};
pub use request::{RunRequest, Trigger};
pub use resume::{Swept, staging_for_nobody};
pub use rollback::{Rollback, history_is_forgotten};
pub use runner::{Runner, RunnerOptions};
pub use spent_staging::staging_is_unused;
