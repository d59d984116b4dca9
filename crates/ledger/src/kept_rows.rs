//! What the ledger knows of rows that were replaced and kept: which publish replaced them, where they are, and until when.

use thrice_core::time::Timestamp;

use crate::error::LedgerError;
use crate::ledger::Ledger;
use crate::pipeline::PipelineCut;
use crate::stored_time::{MaybeMoment, Moment, moment};

/// A receipt with where the rows that it replaced are kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeptReceipt {
    /// The run.
    pub attempt_id: i64,
    /// Its number within the partition.
    pub attempt_no: i32,
    /// What it says about the rows, in the ledger's word.
    pub kind: String,
    /// How it wrote them, in the ledger's word.
    pub strategy: String,
    /// Rows of the partition afterwards.
    pub row_count: i64,
    /// Their checksum.
    pub checksum: String,
    /// Hash of the code that they are the result of.
    pub code_hash: Option<Vec<u8>>,
    /// When, on the database's clock.
    pub published_at: Timestamp,
    /// Where the rows that it replaced were kept; `None`: nowhere.
    pub history_relation: Option<String>,
    /// Until when; `None` beside a relation: they are gone.
    pub history_expires_at: Option<Timestamp>,
}

/// Kept rows whose time is over.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExpiredHistory {
    /// The table that holds them.
    pub relation: String,
    /// The runs that replaced them.
    pub attempts: Vec<i64>,
    /// Partitions they are of.
    pub partitions: i64,
}

impl Ledger {
    /// The receipts of one partition, newest first; none where it was never published.
    pub async fn receipts_of(
        &self,
        cut: &PipelineCut,
        interval_start: Timestamp,
    ) -> Result<Vec<KeptReceipt>, LedgerError> {
        let (pipeline_id, epoch, start) = (cut.pipeline_id, cut.interval_epoch, moment(interval_start));
        Ok(sqlx::query_file_as!(KeptReceipt, "sql/receipts_of.sql", pipeline_id, epoch, start as _)
            .fetch_all(&self.pool)
            .await?)
    }

    /// Kept rows whose time is over, of all pipelines.
    pub async fn expired_history(&self) -> Result<Vec<ExpiredHistory>, LedgerError> {
        Ok(sqlx::query_file_as!(ExpiredHistory, "sql/expired_history.sql").fetch_all(&self.pool).await?)
    }
}
