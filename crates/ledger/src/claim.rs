//! Claims: who may work on a partition, and with which token.

use sqlx::types::Uuid;
use thrice_core::Partition;
use thrice_core::time::Timestamp;

use crate::error::{ErrorKind, LedgerError};
use crate::ledger::Ledger;
use crate::stored_time::{MaybeMoment, Moment, days, moment, moments};

/// Which partitions a worker would like to have.
#[derive(Debug, Clone)]
pub struct ClaimRequest<'a> {
    /// The worker that asks.
    pub worker: Uuid,
    /// The pipeline.
    pub pipeline_id: i32,
    /// The cut of time that the partitions belong to.
    pub interval_epoch: i32,
    /// In order of wish.
    pub partitions: &'a [Partition],
    /// At most so many.
    pub most: i32,
    /// A person asked for these: no retry time is waited for, and the retry budget starts anew.
    pub explicit: bool,
    /// Closed partitions too.
    pub reopen: bool,
    /// Workers whose claims may be taken over: [`Ledger::dead_workers`], asked just before.
    pub dead: &'a [Uuid],
}

/// A claim that was granted. Runs of the partition that an earlier claim left open are ended by [`Ledger::open_runs_end`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Claim {
    /// The partition's number in the ledger.
    pub partition_id: i64,
    /// Where its interval begins.
    pub interval_start: Timestamp,
    /// The fencing token: only this claim has it, and only the newest token publishes.
    pub token: i64,
    /// The partition's version when it was claimed.
    pub version: i64,
    /// Runs of the current retry budget, this one included.
    pub attempts_used: i32,
    /// The newest receipt.
    pub current_attempt_id: Option<i64>,
    /// The receipt whose rows are in the target.
    pub data_attempt_id: Option<i64>,
    /// The dead worker it was taken from.
    pub taken_over: Option<Uuid>,
    /// `attempts_used` before this claim; [`Ledger::give_back`] restores it.
    pub attempts_before: i32,
    /// The retry time before this claim; [`Ledger::give_back`] restores it.
    pub retry_before: Option<Timestamp>,
}

/// What stands between a worker and a partition.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Holder {
    /// The partition's number in the ledger.
    pub partition_id: i64,
    /// The newest token handed out.
    pub token: i64,
    /// Who has claimed it.
    pub worker_id: Option<Uuid>,
    /// Since when.
    pub claimed_at: Option<Timestamp>,
    /// On which host.
    pub host: Option<String>,
    /// As which process.
    pub os_pid: Option<i32>,
    /// Until when its lease runs.
    pub expires_at: Option<Timestamp>,
    /// Its session and its lease exist. False where nobody has claimed the partition.
    pub alive: bool,
    /// The number of its open run.
    pub attempt_no: Option<i32>,
    /// The state of its open run, in the ledger's word.
    pub run_status: Option<String>,
    /// The partition has been closed.
    pub closed_at: Option<Timestamp>,
    /// It is not taken by itself before this instant.
    pub retry_at: Option<Timestamp>,
    /// The database's clock when it answered.
    pub asked_at: Timestamp,
}

impl Ledger {
    /// Claims what can be had of the wished partitions. What somebody living works on, what is closed and what waits for its retry is absent.
    ///
    /// # Errors
    /// [`ErrorKind::WorkerGone`] where the worker's own row has been removed. If the connection is lost, nothing was started
    /// under the tokens: claim again.
    pub async fn claim(&self, request: &ClaimRequest<'_>) -> Result<Vec<Claim>, LedgerError> {
        let starts = moments(request.partitions.iter().map(|p| p.interval.start()));
        let ends = moments(request.partitions.iter().map(|p| p.interval.end()));
        let dates = days(request.partitions.iter().map(|p| p.target_date));
        let keys: Vec<String> = request.partitions.iter().map(|p| p.key.as_str().to_owned()).collect();
        let dead: Vec<Uuid> = request.dead.iter().copied().filter(|id| *id != request.worker).collect();
        let claims = sqlx::query_file_as!(
            Claim,
            "sql/claim.sql",
            request.worker,
            request.pipeline_id,
            request.interval_epoch,
            request.most,
            starts as _,
            ends as _,
            &keys,
            &dead,
            dates as _,
            request.explicit,
            request.reopen
        )
        .fetch_all(&self.pool)
        .await;
        claims.map_err(|error| match LedgerError::from(error) {
            error if error.violated() == Some("partitions_claimed_by_fkey") => {
                LedgerError::new(ErrorKind::WorkerGone, "this worker was taken for dead and its row removed")
            }
            error => error,
        })
    }

    /// Ends a claim that led to no run; the retry budget is as it was before.
    pub async fn give_back(&self, claim: &Claim) -> Result<bool, LedgerError> {
        let retry = claim.retry_before.map(moment);
        let done =
            sqlx::query_file!("sql/give_back.sql", claim.partition_id, claim.token, claim.attempts_before, retry as _)
                .execute(&self.pool)
                .await?;
        Ok(done.rows_affected() == 1)
    }

    /// Why a partition was not to be had. `None`: it has never been claimed.
    pub async fn holder_of(
        &self,
        pipeline_id: i32,
        interval_epoch: i32,
        interval_start: Timestamp,
    ) -> Result<Option<Holder>, LedgerError> {
        let start = moment(interval_start);
        Ok(sqlx::query_file_as!(Holder, "sql/claim_state.sql", pipeline_id, interval_epoch, start as _)
            .fetch_optional(&self.pool)
            .await?)
    }
}
