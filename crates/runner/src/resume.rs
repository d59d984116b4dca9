//! What earlier runs left: open runs are ended, whole staging is adopted, the rest is dropped.

use std::time::Duration;

use thrice_core::failure_class::FailureClass;
use thrice_ledger::{AdoptableStaging, Claim, Ledger, LedgerError, StagingLeft};
use thrice_sql_publish::CancellationToken;
use thrice_sql_publish::checksum::Content;
use thrice_sql_publish::staging::{self, Staged, StagingName};

use crate::patience::{Patience, on_data};
use crate::prepare::Prepared;
use crate::problem;
use crate::report::Problem;
use crate::runner::Runner;

/// Staging of an earlier run, found whole.
#[derive(Debug)]
pub(crate) struct Adopted {
    /// The run that staged it.
    pub(crate) attempt_id: i64,
    /// Its number.
    pub(crate) attempt_no: i32,
    /// The rows.
    pub(crate) staged: Staged,
    /// The table's name as the ledger stores it.
    pub(crate) relation: String,
}

/// What a sweep did.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Swept {
    /// Tables dropped.
    pub dropped: usize,
    /// Tables that could not be dropped now, such as locked ones.
    pub left: usize,
}

/// A refused publish keeps its rows this long, so that a person can look at them.
const KEEP_REFUSED: Duration = Duration::from_hours(7 * 24);

impl Runner {
    /// Ends the runs that earlier claims left open. The claim was the barrier: the answer is final.
    pub(crate) async fn end_open_runs(&mut self, claim: &Claim) -> Result<(), Problem> {
        let ending = self.patience.ledger(self.ledger().open_runs_end(claim.partition_id, claim.token));
        let ended = ending.await.map_err(|error| problem::of_ledger(&error))?;
        self.ended_runs |= !ended.is_empty();
        for run in ended {
            tracing::warn!(
                event = "resolved",
                partition_id = claim.partition_id,
                attempt_no = run.attempt_no,
                run_id = run.run_id,
                was = run.status,
                outcome = if run.published { "published" } else { "not published" }
            );
        }
        Ok(())
    }

    /// The newest staging that an ended run left, where it is whole, of the same code, and younger than the retry budget:
    /// an older one is an older answer to the question.
    pub(crate) async fn look_for_staging(
        &mut self,
        prepared: &Prepared,
        claim: &Claim,
        stop: &CancellationToken,
    ) -> Result<Option<Adopted>, Problem> {
        if !prepared.job.reconciliations.is_empty() {
            // the snapshot that its rows come from is gone, and what a source says now is of another time
            return Ok(None);
        }
        let of_ledger = |error| problem::of_ledger(&error);
        let asking = self.patience.ledger(self.ledger().adoptable(claim.partition_id));
        let Some(left) = asking.await.map_err(of_ledger)? else { return Ok(None) };
        if left.code_hash.as_deref() != Some(prepared.job.code_hash.as_slice()) {
            return Ok(None);
        }
        let now = self.patience.ledger(self.ledger().server_time()).await.map_err(of_ledger)?;
        let age = Duration::try_from(left.staged_at.duration_until(now)).unwrap_or_default();
        if age > prepared.job.retry.budget {
            return Ok(None);
        }
        self.verified(prepared, left, stop).await
    }

    async fn verified(
        &mut self,
        prepared: &Prepared,
        left: AdoptableStaging,
        stop: &CancellationToken,
    ) -> Result<Option<Adopted>, Problem> {
        let Ok(name) = StagingName::parse(&left.staging_relation) else { return Ok(None) };
        let content = Content { rows: left.staged_rows, checksum: left.staged_checksum };
        let staged = Staged::known(name.table().clone(), content);
        let timeouts = prepared.job.limits.staging();
        let over = self.patience.token();
        let client = self.client().await?;
        let (target, columns) = (&prepared.target, &prepared.columns);
        let looking = staging::verify_staging(client, &staged, target, columns, &timeouts, stop);
        let whole = on_data(&over, "look at staged rows", looking).await;
        match whole {
            Ok(true) => Ok(Some(Adopted {
                attempt_id: left.attempt_id,
                attempt_no: left.attempt_no,
                staged,
                relation: left.staging_relation,
            })),
            Ok(false) => Ok(None),
            Err(error) if error.is_connection_lost() => {
                self.abandon_connection();
                Err(problem::of_publish(&error).class(FailureClass::Transient))
            }
            Err(error) => {
                tracing::debug!(%error, "staging of an earlier run cannot be read; it is made anew");
                Ok(None)
            }
        }
    }

    /// Sweeps again where this process has ended runs of others since the last sweep: what they staged had an owner then.
    pub async fn sweep_after_ended_runs(
        &mut self,
        prepared: &Prepared,
        stop: &CancellationToken,
    ) -> Result<Swept, Problem> {
        if std::mem::take(&mut self.ended_runs) { self.sweep(prepared, stop).await } else { Ok(Swept::default()) }
    }

    /// Drops staging tables of the pipeline that nobody needs any more: of published runs at once, of failed ones when
    /// their rows can no longer be adopted, of refused ones after a week.
    pub async fn sweep(&mut self, prepared: &Prepared, stop: &CancellationToken) -> Result<Swept, Problem> {
        self.patience = Patience::of(stop);
        let budget = prepared.job.retry.budget;
        let asking = staging_for_nobody(self.ledger(), Some(prepared.row.pipeline_id), |_| budget);
        let Some(left) = self.patience.wait(asking).await else {
            return Err(problem::of_ledger(&LedgerError::given_up()));
        };
        let left = left?;
        let timeouts = prepared.job.limits.checking();
        let mut swept = Swept::default();
        for name in left {
            if self.drop_unused(&name, &timeouts, stop).await { swept.dropped += 1 } else { swept.left += 1 }
        }
        Ok(swept)
    }
}

/// Staging tables that nobody needs any more, of one pipeline or of all; without a pipeline also those that no run ever
/// named. `adoptable_for` says how long the rows of a pipeline's failed run may still be taken over: its retry budget.
///
/// # Errors
/// [`Problem`] where the ledger cannot be asked.
pub async fn staging_for_nobody(
    ledger: &Ledger,
    pipeline_id: Option<i32>,
    adoptable_for: impl Fn(Option<i32>) -> Duration,
) -> Result<Vec<StagingName>, Problem> {
    let left = ledger.staging_left_behind(pipeline_id).await.map_err(|error| problem::of_ledger(&error))?;
    let mut names = Vec::new();
    for table in left {
        let age =
            table.seconds_since_end.map_or(Duration::MAX, |age| Duration::try_from_secs_f64(age).unwrap_or_default());
        let grace = match (table.status.as_deref(), table.failure_class.as_deref()) {
            (Some("failed"), Some("check" | "guard")) => KEEP_REFUSED,
            (Some("failed"), Some("transient" | "abandoned")) if is_adoptable(ledger, &table).await? => {
                adoptable_for(table.pipeline_id)
            }
            _ => Duration::ZERO,
        };
        let Ok(name) = StagingName::parse(&format!("{}.{}", staging::SCHEMA, table.relation)) else { continue };
        // what was prepared for a swap is never taken over: the staged rows are
        if age < grace && !name.is_prepared() {
            continue;
        }
        names.push(name);
    }
    Ok(names)
}

/// Whether a next run may still take the table over: nothing newer was published, and no newer staging is there.
async fn is_adoptable(ledger: &Ledger, table: &StagingLeft) -> Result<bool, Problem> {
    let Some(partition_id) = table.partition_id else { return Ok(false) };
    let left = ledger.adoptable(partition_id).await.map_err(|error| problem::of_ledger(&error))?;
    Ok(left.is_some_and(|left| Some(left.attempt_id) == table.attempt_id))
}
