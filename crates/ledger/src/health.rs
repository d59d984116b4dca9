//! What a look at the ledger's health asks: privileges, open outcomes, claims of the dead; and how such a claim is ended.

use std::time::Duration;

use sqlx::types::Uuid;
use thrice_core::time::Timestamp;

use crate::error::LedgerError;
use crate::ledger::Ledger;
use crate::resolve::UnknownRun;
use crate::stored_time::{MaybeMoment, Moment};

/// A run whose COMMIT was sent and not answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OpenOutcome {
    /// Its number in the whole ledger.
    pub attempt_id: i64,
    /// The partition.
    pub partition_id: i64,
    /// Its number among the runs of its partition.
    pub attempt_no: i32,
    /// The token it tried to publish with.
    pub token: i64,
    /// The session that sent the COMMIT.
    pub backend_pid: Option<i32>,
    /// The pipeline.
    pub pipeline_name: String,
    /// The partition's key.
    pub interval_key: String,
    /// When it began.
    pub started_at: Timestamp,
}

/// A partition that a worker has claimed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClaimOf {
    /// The partition.
    pub partition_id: i64,
    /// The claim's token.
    pub token: i64,
    /// The pipeline.
    pub pipeline_name: String,
    /// The partition's key.
    pub interval_key: String,
    /// Since when.
    pub claimed_at: Option<Timestamp>,
    /// The worker's host.
    pub host: Option<String>,
    /// The worker's process.
    pub os_pid: Option<i32>,
    /// The run that has not ended under this claim.
    pub attempt_id: Option<i64>,
    /// Its number among the runs of its partition.
    pub attempt_no: Option<i32>,
    /// The session that did its work.
    pub backend_pid: Option<i32>,
}

impl ClaimOf {
    /// Its open run as [`crate::resolve`] wants it.
    pub fn open_run(&self) -> Option<UnknownRun> {
        Some(UnknownRun {
            partition_id: self.partition_id,
            attempt_id: self.attempt_id?,
            attempt_no: self.attempt_no?,
            token: self.token,
            backend_pid: self.backend_pid,
            xid: None,
        })
    }
}

impl Ledger {
    /// Statements that would give this session's role what a worker needs and it lacks. Empty: it lacks nothing.
    pub async fn missing_privileges(&self) -> Result<Vec<String>, LedgerError> {
        let rows = sqlx::query_file!("sql/missing_privileges.sql").fetch_all(&self.pool).await?;
        Ok(rows.into_iter().map(|row| row.grant).collect())
    }

    /// Whether the role `thrice_worker` of [`Ledger::grants_sql`] exists.
    pub async fn has_worker_role(&self) -> Result<bool, LedgerError> {
        Ok(sqlx::query_file!("sql/worker_role.sql").fetch_one(&self.pool).await?.exists)
    }

    /// Runs whose outcome is open, the oldest `most`.
    pub async fn open_outcomes(&self, most: i64) -> Result<Vec<OpenOutcome>, LedgerError> {
        Ok(sqlx::query_file_as!(OpenOutcome, "sql/open_outcomes.sql", most).fetch_all(&self.pool).await?)
    }

    /// What these workers have claimed.
    pub async fn claims_of(&self, workers: &[Uuid]) -> Result<Vec<ClaimOf>, LedgerError> {
        Ok(sqlx::query_file_as!(ClaimOf, "sql/claims_of.sql", workers).fetch_all(&self.pool).await?)
    }

    /// Ends a claim without a run: raises the fence, so that its holder can begin nothing, and frees the partition.
    /// False: the claim was not there any more.
    ///
    /// # Errors
    /// SQLSTATE 55P03 where another session holds the partition for longer than `patience`.
    pub async fn release_claim(&self, partition_id: i64, token: i64, patience: Duration) -> Result<bool, LedgerError> {
        let mut transaction = self.pool.begin().await?;
        sqlx::query("select set_config('lock_timeout', $1, true)")
            .bind(format!("{}ms", patience.as_millis()))
            .execute(&mut *transaction)
            .await?;
        let freed = sqlx::query_file!("sql/barrier.sql", partition_id, token).fetch_optional(&mut *transaction).await?;
        transaction.commit().await?;
        Ok(freed.is_some())
    }
}
