//! The publish of a strategy that swaps: a table is prepared, then takes the place of the interval's partition, and again where
//! somebody holds the target for longer than the swap waits.

use std::time::Duration;

use thrice_core::identifier::Identifier;
use thrice_core::run::{Run, Validated};
use thrice_ledger::ReceiptKind;
use thrice_sql_publish::staging::{Staged, StagingName};
use thrice_sql_publish::strategy::PublishPlan;
use thrice_sql_publish::strategy::partition_swap;
use thrice_sql_publish::swap::prepare::{self, Preparation, PrepareRequest};
use thrice_sql_publish::{CancellationToken, Finding};

use crate::attempt::{Work, of_finding};
use crate::failpoints::{self, Failpoints, hit};
use crate::failure::Failing;
use crate::patience::on_data;
use crate::publish::{Kept, Receipted, parts};
use crate::report::Progress;
use crate::runner::Runner;
use crate::stage::OWNER;
use crate::validate::ValidRecord;

/// A swap waits for its lock as briefly as `[timeouts] lock` says, because every new reader waits behind it; then it lets
/// them pass and comes again, with the same prepared table. After the last of these pauses the run fails as transient.
const PAUSES: [Duration; 4] =
    [Duration::from_secs(1), Duration::from_secs(2), Duration::from_secs(4), Duration::from_secs(8)];

impl Runner {
    /// Prepares the table that is swapped in, and swaps.
    pub(crate) async fn publish_swap(
        &mut self,
        work: &Work<'_>,
        run: Run<Validated>,
        staged: &Staged,
        (kind, kept): (ReceiptKind, Option<&Kept>),
        record: Option<ValidRecord>,
        progress: &mut dyn Progress,
    ) -> Result<Receipted, Box<Failing>> {
        // preparing takes as long as the rows do, and people look at the run's state meanwhile
        if let Some(record) = record {
            self.record_validated(work, record).await?;
        }
        let plan = self.prepare_partition(work, staged, kept).await?;
        hit(failpoints::AFTER_PREPARE);
        let mut run = run;
        for pause in PAUSES {
            match self.publish_as(work, run, staged, (&plan, kind, kept), None, progress).await {
                Err(failing) if failing.is_of_lock() => {
                    run = failing.into_run()?;
                    tracing::info!(event = "lock_awaited", pipeline = work.prepared.job.name, key = %work.partition.key,
                        attempt_no = work.started.attempt_no, pause_ms = u64::try_from(pause.as_millis()).unwrap_or(u64::MAX));
                    tokio::select! {
                        () = work.stop.cancelled() => {}
                        () = tokio::time::sleep(pause) => {}
                    }
                }
                other => return other,
            }
        }
        self.publish_as(work, run, staged, (&plan, kind, kept), None, progress).await
    }

    async fn prepare_partition(
        &mut self,
        work: &Work<'_>,
        staged: &Staged,
        kept: Option<&Kept>,
    ) -> Result<PublishPlan, Box<Failing>> {
        let job = &work.prepared.job;
        let name = StagingName::prepared(work.started.attempt_id).map_err(Failing::publish)?;
        let (owner, label) = (Identifier::new(OWNER).ok(), work.partition.key.to_string());
        let over = self.patience.token();
        let client = self.client().await.map_err(Failing::problem)?;
        let request = PrepareRequest {
            target: &work.prepared.target,
            columns: &work.prepared.columns,
            bounds: &work.bounds,
            staged,
            name: &name,
            label: &label,
            owner: owner.as_ref(),
            session: &job.session,
            timeouts: &job.limits.staging(),
            probe: &Failpoints,
            stop: work.stop,
        };
        let preparing = prepare::prepare(client, &request);
        match on_data(&over, "prepare the partition", preparing).await.map_err(Failing::publish)? {
            Preparation::Ready(prepared) => Ok(partition_swap::plan(&parts(work, staged, kept), &prepared)),
            Preparation::Refused(findings) => {
                let error = findings.into_iter().find(Finding::is_error);
                Err(Failing::problem(error.map_or_else(crate::problem::refused_without_reason, of_finding)))
            }
        }
    }

    /// Drops the table that a run has prepared, where it has one. A table that has become a partition is no longer in staging,
    /// so its rows are safe whatever became of the run.
    pub(crate) async fn drop_prepared(&mut self, work: &Work<'_>) {
        if !work.prepared.job.strategy.swaps() {
            return;
        }
        if let Ok(name) = StagingName::prepared(work.started.attempt_id) {
            // a caller that asked to stop still gets its table dropped
            let stop = CancellationToken::new();
            self.drop_tables(&[name], &work.prepared.job.limits.checking(), &stop).await;
        }
    }
}

impl Failing {
    /// The publish rolled back because somebody else has a lock.
    fn is_of_lock(&self) -> bool {
        let state = self.error.as_ref().and_then(thrice_sql_publish::PublishError::sqlstate);
        self.run.is_some() && state.is_some_and(|state| matches!(state.as_str(), "55P03" | "40P01"))
    }
}
