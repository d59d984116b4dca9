//! The claim, and the patience with whoever stands in the way.

use std::time::{Duration, Instant};

use thrice_core::code::ErrorCode;
use thrice_core::failure_class::FailureClass;
use thrice_core::schedule::Partition;
use thrice_ledger::{Claim, ClaimRequest, Holder};
use thrice_sql_publish::CancellationToken;

use crate::attempt::Conditions;
use crate::prepare::Prepared;
use crate::problem;
use crate::report::Problem;
use crate::request::RunRequest;
use crate::runner::Runner;

/// A killed process's session is seen for a moment longer: so long a living holder is asked about again.
const MOMENT: Duration = Duration::from_millis(1500);
/// A dead worker's publish may still be ending on the server.
const DYING: Duration = Duration::from_secs(20);
const PAUSE: Duration = Duration::from_millis(40);

impl Runner {
    pub(crate) async fn claim(
        &self,
        prepared: &Prepared,
        partition: &Partition,
        request: &RunRequest,
        conditions: Conditions,
        stop: &CancellationToken,
    ) -> Result<Claim, Problem> {
        let begun = Instant::now();
        let of_ledger = |error| problem::of_ledger(&error);
        // whose claims may be taken over is asked only where somebody has claimed the partition
        let mut first = true;
        loop {
            let dead = if first {
                Vec::new()
            } else {
                self.patience.ledger(self.ledger().dead_workers()).await.map_err(of_ledger)?
            };
            let wish = ClaimRequest {
                worker: self.lease.worker_id(),
                pipeline_id: prepared.row.pipeline_id,
                interval_epoch: prepared.row.interval_epoch,
                partitions: std::slice::from_ref(partition),
                most: 1,
                explicit: conditions.explicit,
                reopen: request.reopen,
                dead: &dead,
            };
            if let Some(claim) =
                self.patience.ledger(self.ledger().claim(&wish)).await.map_err(of_ledger)?.into_iter().next()
            {
                if let Some(worker) = claim.taken_over {
                    tracing::warn!(event = "taken_over", pipeline = prepared.job.name, key = %partition.key, token = claim.token, from = %worker);
                }
                return Ok(claim);
            }
            if std::mem::take(&mut first) {
                continue;
            }
            let (pipeline, epoch) = (prepared.row.pipeline_id, prepared.row.interval_epoch);
            let asking = self.ledger().holder_of(pipeline, epoch, partition.interval.start());
            let holder = self.patience.ledger(asking).await.map_err(of_ledger)?;
            if let Some(problem) =
                holder.as_ref().and_then(|holder| in_the_way(holder, request, conditions, begun.elapsed()))
            {
                return Err(problem);
            }
            tokio::select! {
                () = stop.cancelled() => {
                    return Err(Problem::new(ErrorCode::Stopped, "stopped while waiting for the partition").class(FailureClass::Cancelled));
                }
                () = tokio::time::sleep(PAUSE) => {}
            }
            if holder.is_none() && begun.elapsed() > DYING {
                return Err(held("another session holds the partition".to_owned()));
            }
        }
    }
}

/// Why waiting on is no use, if it is none.
fn in_the_way(holder: &Holder, request: &RunRequest, conditions: Conditions, waited: Duration) -> Option<Problem> {
    if let Some(closed_at) = holder.closed_at.filter(|_| !request.reopen) {
        return Some(
            Problem::new(ErrorCode::Closed, format!("the partition was closed at {closed_at}"))
                .why("a closed partition changes only with a reason that stays in the ledger")
                .fix("--reopen --reason \"…\""),
        );
    }
    let patience = request.wait.unwrap_or_default().max(if holder.alive { MOMENT } else { DYING });
    if let Some(retry_at) = holder.retry_at.filter(|at| !conditions.explicit && *at > holder.asked_at) {
        let left = Duration::try_from(holder.asked_at.duration_until(retry_at)).unwrap_or_default();
        return (left > patience).then(|| {
            let mut problem =
                Problem::new(ErrorCode::Retried, format!("the partition waits for its retry at {retry_at}"))
                    .fix("wait, or name the partition to run it now");
            problem.retry_in = Some(left);
            problem
        });
    }
    (waited > patience).then(|| held(who(holder)))
}

fn held(what: String) -> Problem {
    Problem::new(ErrorCode::HeldByWorker, what)
        .why("one worker at a time works on a partition")
        .fix("wait for it: --wait; a dead worker's partition is taken over by itself")
}

fn who(holder: &Holder) -> String {
    let process = match (&holder.host, holder.os_pid) {
        (Some(host), Some(pid)) => format!("process {pid} on {host}"),
        _ => "another session".to_owned(),
    };
    let run = holder.attempt_no.map(|no| format!(", run #{no}")).unwrap_or_default();
    let since = holder.claimed_at.map(|at| format!(" since {at}")).unwrap_or_default();
    format!("{process} has the partition{since}{run}")
}
