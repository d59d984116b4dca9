//! The road of one data interval: claim → start → stage or adopt → validate → publish → receipt → clean-up, with
//! bounded retry of transient failures. Whoever runs a partition calls this and nothing else.

use std::time::{Duration, Instant};

use thrice_core::code::ErrorCode;
use thrice_core::failure_class::FailureClass;
use thrice_core::schedule::Partition;

use crate::attempt::{AttemptEnd, Conditions};
use crate::patience::Patience;
use crate::prepare::Prepared;
use crate::report::{Outcome, PartitionReport, Problem, Progress, Step};
use crate::request::{RunRequest, Trigger};
use crate::runner::Runner;

impl Runner {
    /// Produces one partition, and tries again what can succeed.
    ///
    /// Every ending is a value: a failed partition never stops the caller's others.
    pub async fn run_partition(
        &mut self,
        prepared: &Prepared,
        partition: &Partition,
        request: &RunRequest,
        progress: &mut dyn Progress,
    ) -> PartitionReport {
        let begun = Instant::now();
        self.patience = Patience::of(&request.cancel);
        let stop = request.cancel.child_token();
        let mut conditions =
            Conditions { trigger: request.trigger, explicit: request.explicit, may_adopt: !request.explicit, begun };
        let mut failed_attempts = Vec::new();
        let outcome = loop {
            let end = self.attempt_while_leased(prepared, partition, request, conditions, &stop, progress).await;
            let (problem, retry_in) = match end {
                AttemptEnd::Outcome(outcome) => break outcome,
                AttemptEnd::Failed { problem, retry_in } => (problem, retry_in),
            };
            let Some(after) = retry_in else { break ending(problem) };
            progress.step(&Step::Retrying { problem: problem.clone(), after });
            tracing::info!(event = "retrying", pipeline = prepared.job.name, key = %partition.key, code = problem.code.id(),
                after_ms = u64::try_from(after.as_millis()).unwrap_or(u64::MAX));
            if stopped_while_waiting(after, request).await {
                break ending(stopped(problem));
            }
            failed_attempts.push(problem);
            // what a rollback staged is no result of the query, and is put together anew
            let trigger = if request.rollback.is_some() { Trigger::Rollback } else { Trigger::Retry };
            conditions = Conditions { trigger, explicit: false, may_adopt: request.rollback.is_none(), begun };
        };
        summary(prepared, partition, &outcome, begun.elapsed());
        PartitionReport { partition: partition.clone(), outcome, failed_attempts }
    }

    /// One attempt that is told to stop when the lease is lost: what it did after that could not be published anyway.
    async fn attempt_while_leased(
        &mut self,
        prepared: &Prepared,
        partition: &Partition,
        request: &RunRequest,
        conditions: Conditions,
        stop: &tokio_util::sync::CancellationToken,
        progress: &mut dyn Progress,
    ) -> AttemptEnd {
        let lost = self.lease.lost_token();
        let watching = stop.clone();
        let watch = tokio::spawn(async move {
            lost.cancelled().await;
            watching.cancel();
        });
        let end = Box::pin(self.attempt(prepared, partition, request, conditions, stop, progress)).await;
        watch.abort();
        end
    }
}

/// How a problem that is not tried again ends the call.
fn ending(problem: Problem) -> Outcome {
    match (problem.code, problem.class) {
        (ErrorCode::HeldByWorker, _) => Outcome::Held(problem),
        (ErrorCode::OutcomeUnknown, _) => Outcome::Unknown(problem),
        (_, Some(FailureClass::Guard)) | (ErrorCode::Closed, _) => Outcome::Refused(problem),
        _ => Outcome::Failed(problem),
    }
}

/// The last failure of a call that was stopped before it tried again.
fn stopped(mut problem: Problem) -> Problem {
    problem.why = Some("stopped before it was tried again; nothing was published".to_owned());
    problem
}

async fn stopped_while_waiting(after: Duration, request: &RunRequest) -> bool {
    tokio::select! {
        () = request.cancel.cancelled() => true,
        () = tokio::time::sleep(after) => false,
    }
}

/// One line per run that answers "what happened" alone.
fn summary(prepared: &Prepared, partition: &Partition, outcome: &Outcome, took: Duration) {
    let (done, problem) = (outcome.done(), outcome.problem());
    tracing::info!(
        event = outcome.as_str(),
        pipeline = prepared.job.name,
        key = %partition.key,
        attempt_no = done.map(|done| done.attempt_no).or(problem.and_then(|problem| problem.attempt_no)),
        run_id = done.map(|done| done.run_id.as_str()),
        lane = prepared.job.lane,
        rows = done.map(|done| done.rows.total),
        class = problem.and_then(|problem| problem.class).map(FailureClass::as_str),
        code = problem.map(|problem| problem.code.id()),
        sqlstate = problem.and_then(|problem| problem.sqlstate).map(|code| code.to_string()),
        duration_ms = u64::try_from(took.as_millis()).unwrap_or(u64::MAX),
        "run ended"
    );
}
