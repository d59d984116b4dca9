//! Owns schema `thrice`: migrations, claims, worker leases, receipts, resolution, operators' queries.
//!
//! The ledger says who may work on a partition, and proves who has. Three things carry it: a *fencing token* on each partition that
//! only grows, a *receipt* that is written in the transaction that moves the rows, and *leases* that tell the living from the dead.
//! A lease says when a partition may be taken over; only the token decides who can publish.
//!
//! ```no_run
//! use std::time::Duration;
//! use thrice_connect::ConnectionSettings;
//! use thrice_ledger::{Ledger, WorkerLease};
//!
//! # async fn example(settings: &ConnectionSettings) -> Result<(), thrice_ledger::LedgerError> {
//! let ledger = Ledger::open(settings).await?;
//! ledger.migrate().await?;
//! let worker = WorkerLease::register(&ledger, "build-7", 4711, Duration::from_secs(60)).await?;
//! for pipeline in ledger.pipelines().await? {
//!     println!("{} writes {}", pipeline.pipeline_name, pipeline.target);
//! }
//! worker.close().await?;
//! # Ok(())
//! # }
//! ```
//!
//! Every statement is a file in `sql/`, one statement each, checked when this crate is compiled against what `/.sqlx` says about it.
//! After a change of a statement or a migration, with an empty database:
//!
//! ```sh
//! for file in crates/ledger/migrations/*.sql; do psql -1 -v ON_ERROR_STOP=1 -f "$file" "$DATABASE_URL"; done
//! touch crates/ledger/src/lib.rs && SQLX_OFFLINE=false SQLX_OFFLINE_DIR="$PWD/.sqlx" cargo check -p thrice-ledger
//! ```
//!
//! (`rm .sqlx/query-*.json` first, so that nothing stale stays.) The statements of [`data_plane`] run on another driver, inside the
//! transaction that moves the rows; a test prepares every file on both drivers.

pub mod data_plane;

mod calendar;
mod claim;
mod closing;
mod error;
mod health;
mod history;
mod kept_rows;
mod ledger;
mod migrate;
mod pipeline;
mod receipt;
mod recut;
mod resolve;
mod run;
mod stored_time;
mod vocabulary;
mod worker_lease;

pub use calendar::PartitionRow;
pub use claim::{Claim, ClaimRequest, Holder};
pub use error::{ErrorKind, LedgerError, RecordedCut};
pub use health::{ClaimOf, OpenOutcome};
pub use history::{CheckResultRow, PartitionDetail, RunRow, StagingLeft};
pub use kept_rows::{ExpiredHistory, KeptReceipt};
pub use ledger::Ledger;
pub use migrate::MigrationInfo;
pub use pipeline::{CodeVersion, PipelineCut, PipelineRecord, PipelineRow, PipelineSummary, TargetOwner};
pub use receipt::{PublishTail, Receipt};
pub use recut::Recut;
pub use resolve::{Resolution, StillOpen, UnknownRun, resolve};
pub use run::{
    AdoptableStaging, CheckRow, FailOutcome, Failure, MarkedUnknown, NewRun, OpenRun, StagedRun, StartedRun,
};
pub use vocabulary::{CheckPhase, CheckSeverity, ReceiptKind, StageMode, Trigger, UnknownWord};
pub use worker_lease::{LostLease, WorkerLease};

pub use sqlx::types::Uuid;
