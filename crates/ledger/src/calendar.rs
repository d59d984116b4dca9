//! One pipeline's partitions over a range, with everything that their status is derived from, in one query.

use sqlx::types::Uuid;
use thrice_core::time::{Timestamp, civil};

use crate::error::LedgerError;
use crate::ledger::Ledger;
use crate::pipeline::PipelineCut;
use crate::stored_time::{Day, MaybeMoment, Moment, moment};

/// A partition that has been claimed at least once, its receipt and its last run.
#[derive(Debug, Clone)]
pub struct PartitionRow {
    /// Its number in the ledger.
    pub partition_id: i64,
    /// Where its interval begins.
    pub interval_start: Timestamp,
    /// Where its interval ends; not part of it.
    pub interval_end: Timestamp,
    /// Its key.
    pub interval_key: String,
    /// The interval's first day, in the pipeline's zone.
    pub target_date: civil::Date,
    /// The newest token handed out.
    pub token: i64,
    /// Grows with every change of content or closing.
    pub version: i64,
    /// The worker that has it now.
    pub claimed_by: Option<Uuid>,
    /// Since when.
    pub claimed_at: Option<Timestamp>,
    /// Runs of the current retry budget.
    pub attempts_used: i32,
    /// It is not taken by itself before this instant.
    pub retry_at: Option<Timestamp>,
    /// When it was closed.
    pub closed_at: Option<Timestamp>,
    /// The newest receipt.
    pub current_attempt_id: Option<i64>,
    /// The receipt whose rows are in the target.
    pub data_attempt_id: Option<i64>,
    /// What the newest receipt says, in the ledger's word.
    pub receipt_kind: Option<String>,
    /// Rows of the partition by the newest receipt.
    pub row_count: Option<i64>,
    /// Their checksum.
    pub checksum: Option<String>,
    /// Hash of the code behind the newest receipt.
    pub receipt_code_hash: Option<Vec<u8>>,
    /// Which revisit the newest receipt is of.
    pub revisit: Option<i32>,
    /// When the newest receipt was written.
    pub published_at: Option<Timestamp>,
    /// When the rows in the target were written.
    pub data_published_at: Option<Timestamp>,
    /// The last run.
    pub last_attempt_id: Option<i64>,
    /// Its number.
    pub last_attempt_no: Option<i32>,
    /// Its state, in the ledger's word.
    pub last_status: Option<String>,
    /// Why it failed, in the ledger's word.
    pub last_failure_class: Option<String>,
    /// The server's code for it.
    pub last_sqlstate: Option<String>,
    /// The code that people look up.
    pub last_error_code: Option<String>,
    /// What happened.
    pub last_error_message: Option<String>,
    /// Hash of the code it ran.
    pub last_code_hash: Option<Vec<u8>>,
    /// When it began.
    pub last_started_at: Option<Timestamp>,
    /// When it ended.
    pub last_finished_at: Option<Timestamp>,
}

impl PartitionRow {
    /// A worker is at it, or the outcome of its last run is not known.
    pub fn is_running(&self) -> bool {
        self.claimed_by.is_some() || self.last_status.as_deref() == Some("unknown")
    }
}

impl Ledger {
    /// The partitions of a pipeline whose intervals start in `[from, to)`, in their order. Partitions that were never claimed have no row.
    pub async fn partitions(
        &self,
        pipeline_id: i32,
        interval_epoch: i32,
        from: Timestamp,
        to: Timestamp,
    ) -> Result<Vec<PartitionRow>, LedgerError> {
        self.rows((pipeline_id, interval_epoch), from, Some(to), false).await
    }

    /// Stretches of published partitions without a gap, from an instant on, that nobody works on and whose last run did
    /// not fail: half-open, in their order. What else there is from then on is in [`Ledger::unsettled`].
    pub async fn published_stretches(
        &self,
        cut: &PipelineCut,
        from: Timestamp,
    ) -> Result<Vec<(Timestamp, Timestamp)>, LedgerError> {
        let from = moment(from);
        let edges = sqlx::query_file!("sql/published_stretches.sql", cut.pipeline_id, cut.interval_epoch, from as _)
            .fetch_all(&self.pool)
            .await?;
        let (mut stretches, mut begun) = (Vec::new(), None);
        for edge in edges {
            if edge.first {
                begun = Some(edge.interval_start.into());
            }
            if edge.last
                && let Some(begun) = begun.take()
            {
                stretches.push((begun, edge.interval_end.into()));
            }
        }
        Ok(stretches)
    }

    /// Where the partitions of those stretches begin, in their order.
    pub async fn published_starts(&self, cut: &PipelineCut, from: Timestamp) -> Result<Vec<Timestamp>, LedgerError> {
        let from = moment(from);
        let found = sqlx::query_file!("sql/published_starts.sql", cut.pipeline_id, cut.interval_epoch, from as _)
            .fetch_one(&self.pool)
            .await?;
        let starts =
            found.starts.into_iter().map(|at| Timestamp::from_microsecond(at).map_err(LedgerError::unreadable));
        starts.collect()
    }

    /// The partitions whose intervals start at an instant or later and that are in no published stretch: claimed, failed,
    /// not published.
    pub async fn unsettled(&self, cut: &PipelineCut, from: Timestamp) -> Result<Vec<PartitionRow>, LedgerError> {
        self.rows((cut.pipeline_id, cut.interval_epoch), from, None, true).await
    }

    async fn rows(
        &self,
        (pipeline_id, epoch): (i32, i32),
        from: Timestamp,
        to: Option<Timestamp>,
        unsettled: bool,
    ) -> Result<Vec<PartitionRow>, LedgerError> {
        let (from, to) = (moment(from), to.map(moment));
        Ok(sqlx::query_file_as!(PartitionRow, "sql/calendar.sql", pipeline_id, epoch, from as _, to as _, unsettled)
            .fetch_all(&self.pool)
            .await?)
    }
}
