//! The rows of runs: their beginning, their steps, and every end but the publish.

use std::time::Duration;

use serde_json::Value;
use sqlx::types::Uuid;
use thrice_core::actor::Actor;
use thrice_core::failure_class::FailureClass;
use thrice_core::time::Timestamp;

use crate::claim::Claim;
use crate::error::{ErrorKind, LedgerError};
use crate::ledger::Ledger;
use crate::stored_time::{MaybeMoment, Moment};
use crate::vocabulary::{CheckPhase, CheckSeverity, StageMode, Trigger};

/// A run that begins under a claim.
#[derive(Debug, Clone)]
pub struct NewRun<'a> {
    /// The claim it works under.
    pub claim: &'a Claim,
    /// The worker that holds the claim.
    pub worker: Uuid,
    /// What made it start.
    pub trigger: Trigger,
    /// Who asked.
    pub actor: &'a Actor,
    /// Why, in the person's words.
    pub reason: Option<&'a str>,
    /// Hash of the code it runs.
    pub code_hash: Option<&'a [u8]>,
    /// Where its result waits for the publish.
    pub stage_mode: StageMode,
    /// The run whose staging it takes over.
    pub resumed_from: Option<i64>,
    /// The session that will do its work.
    pub backend_pid: Option<i32>,
    /// The backfill it belongs to.
    pub backfill_id: Option<&'a str>,
    /// Which revisit of a published partition it is.
    pub revisit: Option<i32>,
}

/// A run that has begun.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StartedRun {
    /// Its number in the whole ledger.
    pub attempt_id: i64,
    /// Its number among the runs of its partition, from 1.
    pub attempt_no: i32,
    /// A uuid of version 7, for other systems.
    pub run_id: String,
    /// When, on the database's clock.
    pub started_at: Timestamp,
}

/// The result of a run, staged. The data plane writes this itself ([`crate::data_plane::MARK_STAGED`]) where it stages in a transaction.
#[derive(Debug, Clone, Default)]
pub struct StagedRun<'a> {
    /// The run.
    pub attempt_id: i64,
    /// The claim's token.
    pub token: i64,
    /// The table's name inside schema `thrice_staging`, unquoted.
    pub staging_relation: Option<&'a str>,
    /// How many rows.
    pub rows: i64,
    /// Their checksum.
    pub checksum: &'a str,
    /// Where the list of inputs is kept.
    pub input_manifest_uri: Option<&'a str>,
}

/// What one check found.
#[derive(Debug, Clone, serde::Serialize)]
pub struct CheckRow {
    /// When it ran.
    pub phase: CheckPhase,
    /// Its name, unique within the phase of the run.
    pub check_name: String,
    /// What its failure means.
    pub severity: CheckSeverity,
    /// Did it pass?
    pub passed: bool,
    /// The figure it saw, as decimal text.
    pub observed: Option<String>,
    /// What it wanted.
    pub expected: Option<Value>,
    /// Keys of rows that failed it. Row values: leave out unless the user asked to keep them.
    pub sample_keys: Option<Value>,
}

/// The end of a run that published nothing.
#[derive(Debug, Clone)]
pub struct Failure<'a> {
    /// The partition.
    pub partition_id: i64,
    /// The run.
    pub attempt_id: i64,
    /// The claim's token.
    pub token: i64,
    /// Why it failed.
    pub class: FailureClass,
    /// The server's code, if a server's error was the cause.
    pub sqlstate: Option<&'a str>,
    /// The code that people look up.
    pub error_code: Option<&'a str>,
    /// What happened. Must be free of row values and secrets: it is stored and shown.
    pub message: &'a str,
    /// When it may be tried again by itself; `None`: not by itself.
    pub retry_after: Option<Duration>,
}

/// What [`Ledger::fail`] could do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FailOutcome {
    /// The run is ended now. False: it had ended before, or it has published.
    pub ended: bool,
    /// The partition is free now. False: it has another owner.
    pub released: bool,
    /// When it is taken again by itself.
    pub retry_at: Option<Timestamp>,
}

/// A run of an earlier claim, found open and ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OpenRun {
    /// Its number in the whole ledger.
    pub attempt_id: i64,
    /// Its number among the runs of its partition.
    pub attempt_no: i32,
    /// Its uuid.
    pub run_id: String,
    /// The state it was found in, in the ledger's word.
    pub status: String,
    /// Where its result was kept.
    pub stage_mode: Option<String>,
    /// The staging table.
    pub staging_relation: Option<String>,
    /// Rows that were staged.
    pub staged_rows: Option<i64>,
    /// Their checksum.
    pub staged_checksum: Option<String>,
    /// When they were staged.
    pub staged_at: Option<Timestamp>,
    /// Hash of the code it ran.
    pub code_hash: Option<Vec<u8>>,
    /// Its token.
    pub token: i64,
    /// It has a receipt. False is final: it can never publish.
    pub published: bool,
}

/// A staging that a new run may take over, if table, rows, checksum and code are still the same.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AdoptableStaging {
    /// The run that staged it.
    pub attempt_id: i64,
    /// Its number among the runs of its partition.
    pub attempt_no: i32,
    /// The table.
    pub staging_relation: String,
    /// Rows that were staged.
    pub staged_rows: i64,
    /// Their checksum.
    pub staged_checksum: String,
    /// Hash of the code that made them.
    pub code_hash: Option<Vec<u8>>,
    /// When they were staged.
    pub staged_at: Timestamp,
}

/// Did the ledger learn that an outcome is unknown?
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MarkedUnknown {
    /// Seen from here the run has not ended.
    pub open: bool,
    /// Its row says `unknown` now. False although open: the publish itself still holds the row.
    pub marked: bool,
}

impl Ledger {
    /// Ends the runs that earlier claims of the partition left open, and says which of them had published after all.
    ///
    /// `below` is the token of the caller's claim: the claim has waited for everyone before it, so that the answer is final.
    /// To be asked after every claim.
    pub async fn open_runs_end(&self, partition_id: i64, below: i64) -> Result<Vec<OpenRun>, LedgerError> {
        Ok(sqlx::query_file_as!(OpenRun, "sql/outcome.sql", partition_id, below).fetch_all(&self.pool).await?)
    }

    /// The newest staging of the partition that a run with a passing failure left behind, if nothing was published since.
    pub async fn adoptable(&self, partition_id: i64) -> Result<Option<AdoptableStaging>, LedgerError> {
        Ok(sqlx::query_file_as!(AdoptableStaging, "sql/adoptable.sql", partition_id).fetch_optional(&self.pool).await?)
    }

    /// Begins a run; its number follows the partition's last one.
    ///
    /// # Errors
    /// [`ErrorKind::Fenced`] where the claim is no longer this worker's.
    pub async fn start_run(&self, run: &NewRun<'_>) -> Result<StartedRun, LedgerError> {
        let actor = serde_json::to_value(run.actor).map_err(LedgerError::unreadable)?;
        sqlx::query_file_as!(
            StartedRun,
            "sql/start_run.sql",
            run.claim.partition_id,
            run.claim.token,
            run.worker,
            run.trigger.as_str(),
            actor,
            run.reason,
            run.code_hash,
            run.stage_mode.as_str(),
            run.resumed_from,
            run.backend_pid,
            run.backfill_id,
            run.revisit
        )
        .fetch_optional(&self.pool)
        .await?
        .ok_or_else(|| LedgerError::new(ErrorKind::Fenced, "the partition has been given to another worker since"))
    }

    /// The run's result is staged; for stagings that were adopted, or made without SQL.
    ///
    /// # Errors
    /// [`ErrorKind::WrongState`] where the run is not `started`.
    pub async fn mark_staged(&self, staged: &StagedRun<'_>) -> Result<(), LedgerError> {
        sqlx::query_file!(
            "sql/mark_staged.sql",
            staged.attempt_id,
            staged.token,
            staged.staging_relation,
            staged.rows,
            staged.checksum,
            staged.input_manifest_uri
        )
        .fetch_one(&self.pool)
        .await?;
        Ok(())
    }

    /// Keeps what the checks of a run found that goes no further.
    pub async fn record_checks(&self, attempt_id: i64, checks: &[CheckRow]) -> Result<(), LedgerError> {
        let results = serde_json::to_value(checks).map_err(LedgerError::unreadable)?;
        sqlx::query_file!("sql/record_checks.sql", attempt_id, results).execute(&self.pool).await?;
        Ok(())
    }

    /// The checks have passed, with these results. `timings` is an object of phase names and milliseconds; the publish
    /// adds its own.
    ///
    /// # Errors
    /// [`ErrorKind::WrongState`] where the run is not `staged`.
    pub async fn mark_validated(
        &self,
        attempt_id: i64,
        token: i64,
        timings: &Value,
        checks: &[CheckRow],
    ) -> Result<(), LedgerError> {
        let results = serde_json::to_value(checks).map_err(LedgerError::unreadable)?;
        let done = sqlx::query_file!("sql/mark_validated.sql", attempt_id, token, timings, results)
            .execute(&self.pool)
            .await?;
        if done.rows_affected() == 1 {
            return Ok(());
        }
        Err(LedgerError::new(ErrorKind::WrongState, "the run is not staged, so it cannot be validated"))
    }

    /// The COMMIT of the run's publish was sent and not answered. Does not wait for it: [`crate::resolve`] does.
    pub async fn mark_unknown(&self, attempt_id: i64, token: i64) -> Result<MarkedUnknown, LedgerError> {
        Ok(sqlx::query_file_as!(MarkedUnknown, "sql/mark_unknown.sql", attempt_id, token).fetch_one(&self.pool).await?)
    }

    /// Ends a run without a receipt and frees its partition, unless that has another owner by now.
    pub async fn fail(&self, failure: &Failure<'_>) -> Result<FailOutcome, LedgerError> {
        Ok(sqlx::query_file_as!(
            FailOutcome,
            "sql/fail.sql",
            failure.partition_id,
            failure.attempt_id,
            failure.token,
            failure.class.as_str(),
            failure.sqlstate,
            failure.error_code,
            failure.message,
            failure.retry_after.map(|after| after.as_secs_f64())
        )
        .fetch_one(&self.pool)
        .await?)
    }
}
