//! Runs for people: lists, one partition in detail, and staging that nobody owns any more.

use serde_json::Value;
use sqlx::types::Uuid;
use thrice_core::time::{Timestamp, civil};

use crate::calendar::PartitionRow;
use crate::error::LedgerError;
use crate::ledger::Ledger;
use crate::stored_time::{Day, MaybeMoment, Moment, moment};

/// The finest step of time that the database keeps.
const ONE_MICROSECOND: i64 = 1;

/// One run with its receipt's counts. Words of the ledger (`status`, `trigger`, …) are as they stand there.
#[derive(Debug, Clone)]
#[expect(missing_docs, reason = "the columns of the ledger, by their own names")]
pub struct RunRow {
    pub attempt_id: i64,
    pub partition_id: i64,
    pub pipeline_name: String,
    pub interval_key: String,
    pub interval_start: Timestamp,
    pub interval_end: Timestamp,
    pub target_date: civil::Date,
    pub run_id: String,
    pub attempt_no: i32,
    pub token: i64,
    pub status: String,
    pub trigger: String,
    pub actor: Value,
    pub reason: Option<String>,
    pub backfill_id: Option<String>,
    pub revisit: Option<i32>,
    pub worker_id: Option<Uuid>,
    pub code_hash: Option<Vec<u8>>,
    pub stage_mode: Option<String>,
    pub resumed_from: Option<i64>,
    pub output_partition: Option<String>,
    pub input_manifest_uri: Option<String>,
    pub staged_rows: Option<i64>,
    pub row_count: Option<i64>,
    pub checksum: Option<String>,
    pub failure_class: Option<String>,
    pub sqlstate: Option<String>,
    pub error_code: Option<String>,
    pub error_message: Option<String>,
    pub timings: Value,
    pub started_at: Timestamp,
    pub staged_at: Option<Timestamp>,
    pub validated_at: Option<Timestamp>,
    pub finished_at: Option<Timestamp>,
    pub receipt_kind: Option<String>,
    pub rows_deleted: Option<i64>,
    pub rows_inserted: Option<i64>,
    pub rows_updated: Option<i64>,
    /// Old rows against new ones, as the publish counted them.
    pub comparison: Option<Value>,
    /// Until when the rows that the publish replaced are kept; `None`: they are not.
    pub history_expires_at: Option<Timestamp>,
}

/// What a check found, as stored.
#[derive(Debug, Clone)]
pub struct CheckResultRow {
    /// When it ran, in the ledger's word.
    pub phase: String,
    /// Its name.
    pub check_name: String,
    /// What its failure means, in the ledger's word.
    pub severity: String,
    /// Did it pass?
    pub passed: bool,
    /// The figure it saw, as decimal text.
    pub observed: Option<String>,
    /// What it wanted.
    pub expected: Option<Value>,
}

/// One partition, all its runs in their order, and the checks of the last one.
#[derive(Debug, Clone)]
pub struct PartitionDetail {
    /// The partition.
    pub partition: PartitionRow,
    /// Its runs.
    pub runs: Vec<RunRow>,
    /// What the checks of its last run found.
    pub last_checks: Vec<CheckResultRow>,
}

/// A table in schema `thrice_staging` that no open run owns.
#[derive(Debug, Clone, PartialEq)]
pub struct StagingLeft {
    /// Its name inside the schema, unquoted.
    pub relation: String,
    /// The newest run that named it; `None`: no run did.
    pub attempt_id: Option<i64>,
    /// The run's partition.
    pub partition_id: Option<i64>,
    /// The run's pipeline.
    pub pipeline_id: Option<i32>,
    /// The run's end, in the ledger's word.
    pub status: Option<String>,
    /// Why it failed, in the ledger's word.
    pub failure_class: Option<String>,
    /// When it ended.
    pub finished_at: Option<Timestamp>,
    /// How long ago, in seconds on the database's clock.
    pub seconds_since_end: Option<f64>,
}

impl Ledger {
    /// The newest `most` runs, of one pipeline or of all, from `since` on.
    pub async fn runs(
        &self,
        pipeline: Option<&str>,
        since: Option<Timestamp>,
        most: i64,
    ) -> Result<Vec<RunRow>, LedgerError> {
        let since = since.map(moment);
        Ok(sqlx::query_file_as!(RunRow, "sql/runs.sql", pipeline, since as _, most).fetch_all(&self.pool).await?)
    }

    /// The runs of a partition, from its first.
    pub async fn runs_of(&self, partition_id: i64) -> Result<Vec<RunRow>, LedgerError> {
        Ok(sqlx::query_file_as!(RunRow, "sql/runs_of_partition.sql", partition_id).fetch_all(&self.pool).await?)
    }

    /// What the checks of a run found.
    pub async fn checks_of(&self, attempt_id: i64) -> Result<Vec<CheckResultRow>, LedgerError> {
        Ok(sqlx::query_file_as!(CheckResultRow, "sql/checks_of_run.sql", attempt_id).fetch_all(&self.pool).await?)
    }

    /// Rows of the published partitions nearest before one, nearest first, `most` of them.
    pub async fn rows_published_before(&self, partition_id: i64, most: i64) -> Result<Vec<i64>, LedgerError> {
        let counts = sqlx::query_file_scalar!("sql/rows_published_before.sql", partition_id, most);
        Ok(counts.fetch_all(&self.pool).await?)
    }

    /// One partition in detail. `None`: it has never been claimed.
    pub async fn partition_detail(
        &self,
        pipeline_id: i32,
        interval_epoch: i32,
        interval_start: Timestamp,
    ) -> Result<Option<PartitionDetail>, LedgerError> {
        let just_after = Timestamp::from_microsecond(interval_start.as_microsecond() + ONE_MICROSECOND)
            .map_err(LedgerError::unreadable)?;
        let Some(partition) = self.partitions(pipeline_id, interval_epoch, interval_start, just_after).await?.pop()
        else {
            return Ok(None);
        };
        let runs = self.runs_of(partition.partition_id).await?;
        let last_checks = match partition.last_attempt_id {
            Some(attempt_id) => self.checks_of(attempt_id).await?,
            None => Vec::new(),
        };
        Ok(Some(PartitionDetail { partition, runs, last_checks }))
    }

    /// Staging tables that no open run owns, of one pipeline or of all; without a pipeline also those that no run ever named.
    pub async fn staging_left_behind(&self, pipeline_id: Option<i32>) -> Result<Vec<StagingLeft>, LedgerError> {
        Ok(sqlx::query_file_as!(StagingLeft, "sql/staging_left_behind.sql", pipeline_id).fetch_all(&self.pool).await?)
    }
}
