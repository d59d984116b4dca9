//! A new cut of time for a pipeline that has published: asked for by a person, with a reason.

use thrice_core::actor::Actor;
use thrice_core::reason::Reason;

use crate::error::LedgerError;
use crate::ledger::Ledger;
use crate::pipeline::PipelineRecord;

/// What became of the cut before.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Recut {
    /// The grain of the partitions that keep the old epoch.
    pub old_grain: String,
    /// The zone that cut them.
    pub old_time_zone: String,
    /// The epoch that partitions belong to from now on.
    pub interval_epoch: i32,
    /// How many partitions of the old epoch have a receipt.
    pub published: i64,
    /// How many partitions somebody was working on: those runs publish nothing.
    pub shut_out: u64,
}

impl Ledger {
    /// Opens a new epoch of a pipeline's partitions with the grain and the zone of its definition now. What was published
    /// keeps its receipts under the old epoch, and its rows stay in the target, where no receipt of the new epoch accounts
    /// for them. Runs of the old epoch that are under way publish nothing any more.
    ///
    /// [`Ledger::register_pipeline`] does the same by itself as long as nothing is published. `None`: the ledger does not
    /// know the pipeline.
    ///
    /// # Errors
    /// [`crate::ErrorKind::TargetChanged`] where the table is another one, too: a cut is of one table.
    /// [`crate::ErrorKind::Permission`] where the role is neither operator nor worker.
    pub async fn recut_pipeline(
        &self,
        record: &PipelineRecord<'_>,
        actor: &Actor,
        reason: &Reason,
    ) -> Result<Option<Recut>, LedgerError> {
        let asked = serde_json::to_value(actor).map_err(LedgerError::unreadable)?;
        let mut transaction = self.pool.begin().await?;
        let had = sqlx::query_file!("sql/lock_pipeline.sql", record.name).fetch_optional(&mut *transaction).await?;
        let Some(had) = had else { return Ok(None) };
        if had.has_receipts {
            record.keeps_target(&had.target)?;
        }
        let next = had.interval_epoch + 1;
        sqlx::query_file!("sql/lock_cut.sql", had.pipeline_id).fetch_one(&mut *transaction).await?;
        let shut_out = sqlx::query_file!("sql/shut_out.sql", had.pipeline_id, next).execute(&mut *transaction).await?;
        let row =
            sqlx::query_file!("sql/recut.sql", had.pipeline_id, record.grain, record.time_zone, asked, reason.as_str())
                .fetch_one(&mut *transaction)
                .await?;
        transaction.commit().await?;
        Ok(Some(Recut {
            old_grain: row.grain,
            old_time_zone: row.time_zone,
            interval_epoch: row.interval_epoch,
            published: row.published,
            shut_out: shut_out.rows_affected(),
        }))
    }
}
