//! Closing and reopening partitions: by hand with a reason, and by the late-data policy when its time is over.

use thrice_core::actor::Actor;
use thrice_core::reason::Reason;
use thrice_core::time::Timestamp;

use crate::error::LedgerError;
use crate::ledger::Ledger;
use crate::pipeline::PipelineCut;
use crate::stored_time::{Moment, moments};

impl Ledger {
    /// Closes published partitions, named by the starts of their intervals, and tells who did it and why. Answers with
    /// those that were open before. Waits for a publish that is under way.
    ///
    /// # Errors
    /// [`crate::ErrorKind::Permission`] where the role is no operator.
    pub async fn close_partitions(
        &self,
        cut: &PipelineCut,
        starts: &[Timestamp],
        actor: &Actor,
        reason: &Reason,
    ) -> Result<Vec<Timestamp>, LedgerError> {
        let (starts, reason) = (moments(starts.iter().copied()), reason.as_str());
        let asked = serde_json::to_value(actor).map_err(LedgerError::unreadable)?;
        let rows = sqlx::query_file!("sql/close.sql", cut.pipeline_id, cut.interval_epoch, starts as _, asked, reason)
            .fetch_all(&self.pool)
            .await?;
        Ok(rows.into_iter().map(|row| row.interval_start.into()).collect())
    }

    /// Reopens partitions, and tells who did it and why: the policy does not close them again before their next publish.
    ///
    /// # Errors
    /// [`crate::ErrorKind::Permission`] where the role is no operator.
    pub async fn reopen_partitions(
        &self,
        cut: &PipelineCut,
        starts: &[Timestamp],
        actor: &Actor,
        reason: &Reason,
    ) -> Result<Vec<Timestamp>, LedgerError> {
        let (starts, reason) = (moments(starts.iter().copied()), reason.as_str());
        let asked = serde_json::to_value(actor).map_err(LedgerError::unreadable)?;
        let rows = sqlx::query_file!("sql/reopen.sql", cut.pipeline_id, cut.interval_epoch, starts as _, asked, reason)
            .fetch_all(&self.pool)
            .await?;
        Ok(rows.into_iter().map(|row| row.interval_start.into()).collect())
    }

    /// Closes partitions that the late-data policy says are over, but for those that were reopened since their last
    /// receipt and those that somebody works on. Answers with how many.
    pub async fn close_by_policy(
        &self,
        cut: &PipelineCut,
        starts: &[Timestamp],
        actor: &Actor,
    ) -> Result<i64, LedgerError> {
        let starts = moments(starts.iter().copied());
        let asked = serde_json::to_value(actor).map_err(LedgerError::unreadable)?;
        let row = sqlx::query_file!("sql/close_by_policy.sql", cut.pipeline_id, cut.interval_epoch, starts as _, asked)
            .fetch_one(&self.pool)
            .await?;
        Ok(row.closed)
    }

    /// The starts of partitions that were reopened since their newest receipt.
    pub async fn reopened(&self, cut: &PipelineCut) -> Result<Vec<Timestamp>, LedgerError> {
        let rows =
            sqlx::query_file!("sql/reopened.sql", cut.pipeline_id, cut.interval_epoch).fetch_all(&self.pool).await?;
        Ok(rows.into_iter().map(|row| row.interval_start.into()).collect())
    }
}
