//! From an error to the end of a run: its class, whether it is tried again, and the ledger's record of it.

use std::time::Duration;

use thrice_core::code::ErrorCode;
use thrice_core::failure_class::FailureClass;
use thrice_core::retry::{Circumstances, Decision, SideEffect, decide};
use thrice_core::run::{Run, Validated};
use thrice_core::sqlstate::SqlState;
use thrice_ledger::{ErrorKind as LedgerKind, Failure, LedgerError, ReceiptKind};
use thrice_sql_publish::PublishError;
use thrice_sql_publish::error::ErrorKind;
use thrice_sql_publish::staging;

use crate::attempt::{AttemptEnd, Work};
use crate::problem;
use crate::publish::is_retried;
use crate::report::{Outcome, Problem, Progress, Step};
use crate::runner::Runner;

/// How long one try to record the end of a run may take.
const RECORDING: Duration = Duration::from_secs(10);

/// The end of a run that the ledger has not heard of.
#[derive(Debug)]
pub(crate) struct Unrecorded {
    partition_id: i64,
    attempt_id: i64,
    token: i64,
    class: FailureClass,
    sqlstate: Option<String>,
    code: ErrorCode,
    message: String,
}

/// Why a run cannot go on.
#[derive(Debug)]
pub(crate) struct Failing {
    pub(crate) problem: Problem,
    /// The error of a step, from which the class follows.
    pub(crate) error: Option<PublishError>,
    /// A server's code and a lost connection, where the error is another crate's.
    statement: Option<(Option<SqlState>, bool)>,
    /// The run's row has been ended already.
    ended: bool,
    pub(crate) run: Option<Run<Validated>>,
    pub(crate) kind: Option<ReceiptKind>,
}

impl Failing {
    /// A problem whose class is known, or that has none.
    pub(crate) fn problem(problem: Problem) -> Box<Self> {
        Box::new(Self { problem, error: None, statement: None, ended: false, run: None, kind: None })
    }

    pub(crate) fn classified(problem: Problem, class: FailureClass) -> Box<Self> {
        Self::problem(problem.class(class))
    }

    /// The run's row has its end, or must not get one.
    pub(crate) fn ended(problem: Problem) -> Box<Self> {
        Box::new(Self { ended: true, ..*Self::problem(problem) })
    }

    pub(crate) fn publish(error: PublishError) -> Box<Self> {
        Box::new(Self { error: Some(error), ..*Self::problem(Problem::new(ErrorCode::Bug, "")) }.described(false))
    }

    /// An error of staging: that of the step which runs the user's query has its place there.
    pub(crate) fn of_query(error: PublishError) -> Box<Self> {
        let in_query = error.what() == staging::QUERY;
        Box::new(Self { error: Some(error), ..*Self::problem(Problem::new(ErrorCode::Bug, "")) }.described(in_query))
    }

    pub(crate) fn rolled_back(error: PublishError, run: Run<Validated>, kind: ReceiptKind) -> Box<Self> {
        let mut failing = Self::publish(error);
        failing.run = Some(run);
        failing.kind = Some(kind);
        failing
    }

    fn described(mut self, in_query: bool) -> Self {
        if let Some(error) = &self.error {
            self.problem = if in_query { problem::of_query(error) } else { problem::of_publish(error) };
        }
        self
    }

    #[expect(clippy::needless_pass_by_value, reason = "fits map_err")]
    pub(crate) fn ledger(error: LedgerError) -> Box<Self> {
        if matches!(error.kind(), LedgerKind::Fenced | LedgerKind::WrongState | LedgerKind::WorkerGone) {
            // somebody else has ended this run: its claim is gone
            return Self::classified(problem::of_ledger(&error), FailureClass::Fenced);
        }
        let statement = Some((error.sqlstate(), error.is_connection_lost()));
        Box::new(Self { statement, ..*Self::problem(problem::of_ledger(&error)) })
    }

    /// An error of a statement in another crate.
    pub(crate) fn of_statement(problem: Problem, state: Option<SqlState>, lost: bool) -> Box<Self> {
        Box::new(Self { statement: Some((state, lost)), ..*Self::problem(problem) })
    }

    /// Whether the work's connection must be thrown away.
    pub(crate) fn connection_is_lost(&self) -> bool {
        self.error.as_ref().is_some_and(PublishError::is_connection_lost)
            || self.statement.is_some_and(|(_, lost)| lost)
    }

    fn decision(&self, work: &Work<'_>) -> Decision {
        let fail = |class| Decision::Fail { class, tries: None, long_delay: false };
        if let Some(class) = self.problem.class {
            return fail(class);
        }
        let cancelled = work.request.cancel.is_cancelled();
        let seen = Circumstances {
            connection_lost: self.connection_is_lost(),
            we_cancelled: cancelled,
            timeouts_are_transient: work.prepared.job.retry.on_timeout,
        };
        if self.is_of_lost_staging() {
            // staged again, it is there
            return fail(if cancelled { FailureClass::Cancelled } else { FailureClass::Transient });
        }
        if let Some((state, _)) = self.statement {
            return decide(state, SideEffect::None, seen);
        }
        let Some(error) = &self.error else { return fail(FailureClass::Permanent) };
        match error.kind() {
            ErrorKind::Cancelled { .. } if cancelled => fail(FailureClass::Cancelled),
            // stopped, and not by the caller: the lease was lost
            ErrorKind::Cancelled { .. } => fail(FailureClass::Fenced),
            ErrorKind::TimedOut { .. } if seen.timeouts_are_transient => fail(FailureClass::Transient),
            ErrorKind::TimedOut { .. } => fail(FailureClass::Timeout),
            ErrorKind::ExistingRows { .. } => fail(FailureClass::Guard),
            ErrorKind::NoReceipt
            | ErrorKind::ConnectionLost
            | ErrorKind::StagingNotWhole { .. }
            | ErrorKind::PartitionMoved => {
                fail(if cancelled { FailureClass::Cancelled } else { FailureClass::Transient })
            }
            // the run's row has been ended by whoever took the partition over
            ErrorKind::Server if error.sqlstate().is_some_and(|code| code.as_str() == "TH010") => {
                fail(FailureClass::Fenced)
            }
            // 57014 without a limit of ours: somebody cancelled the statement
            ErrorKind::Server if is_foreign_cancel(error) => fail(FailureClass::Cancelled),
            ErrorKind::Server | ErrorKind::WrittenDiffers { .. } | ErrorKind::ReadBackDiffers { .. } => {
                decide(error.sqlstate(), SideEffect::None, seen)
            }
            // the enumeration may grow: what is not known is not retried
            ErrorKind::SettingMoved { .. }
            | ErrorKind::NoRow
            | ErrorKind::NotReady
            | ErrorKind::Refused
            | ErrorKind::Driver
            | _ => fail(FailureClass::Permanent),
        }
    }
}

impl Failing {
    /// A statement found no staging table: somebody dropped it.
    fn is_of_lost_staging(&self) -> bool {
        let state = match (&self.statement, &self.error) {
            (Some((state, _)), _) => *state,
            (None, Some(error)) => error.sqlstate(),
            (None, None) => None,
        };
        let schema = staging::SCHEMA;
        state.is_some_and(|state| state.as_str() == "42P01") && self.problem.what.contains(&format!("{schema}.s_"))
    }
}

fn is_foreign_cancel(error: &PublishError) -> bool {
    error.sqlstate().is_some_and(|code| code.as_str() == "57014")
}

impl Runner {
    /// Records the end of a run without a receipt and says whether another attempt follows.
    pub(crate) async fn end_failed(
        &mut self,
        work: &Work<'_>,
        failing: Failing,
        progress: &mut dyn Progress,
    ) -> AttemptEnd {
        let decision = failing.decision(work);
        if failing.connection_is_lost() {
            self.abandon_connection();
        }
        let mut problem = failing.problem;
        problem.attempt_no = Some(work.started.attempt_no);
        if problem.code == ErrorCode::OutcomeUnknown {
            return AttemptEnd::Outcome(Outcome::Unknown(problem));
        }
        let (class, tries, long) = match decision {
            Decision::Fail { class, tries, long_delay } => (class, tries, long_delay),
            // no COMMIT was sent on this path
            Decision::Resolve => (FailureClass::Transient, None, false),
        };
        // whatever it failed with: a run whose partition has another owner by now is not tried again;
        // a run that resolution ended is not asked, because resolution itself has raised the fence
        let class = if !failing.ended && class != FailureClass::Fenced && self.was_replaced(work).await {
            FailureClass::Fenced
        } else {
            class
        };
        problem.class = Some(class);
        match class {
            // cancelled by somebody else is not stopped by this call's signal
            FailureClass::Cancelled if work.request.cancel.is_cancelled() => problem.code = ErrorCode::Stopped,
            FailureClass::Fenced => shut_out(&mut problem),
            FailureClass::Transient
            | FailureClass::Permanent
            | FailureClass::Check
            | FailureClass::Guard
            | FailureClass::Timeout
            | FailureClass::Cancelled
            | FailureClass::Abandoned => {}
        }
        if class == FailureClass::Cancelled && problem.code == ErrorCode::TimedOut {
            // 57014 without a limit of ours, and without a signal
            problem.code = ErrorCode::SqlFailed;
            problem.why = Some("somebody cancelled the statement on the server: pg_cancel_backend".to_owned());
            problem.fix = Some("ask who did and why, then run the partition again by its key".to_owned());
        }
        let failed = u32::try_from(work.claim.attempts_used).unwrap_or(u32::MAX);
        let mut retry_in = if is_retried(Some(class)) {
            work.prepared.job.retry.next_delay(failed, tries, work.conditions.begun.elapsed(), long, jitter())
        } else {
            None
        };
        let mut class = class;
        if !failing.ended && !self.record_failure(work, &problem, class, retry_in, progress).await {
            // whatever ended this run, somebody else has the partition now: shut out, and not to try again
            (class, retry_in) = (FailureClass::Fenced, None);
            problem.class = Some(class);
            shut_out(&mut problem);
        }
        if is_retried(Some(class)) && retry_in.is_none() {
            problem.why.get_or_insert_with(|| format!("tried {failed} times; the retry budget is used up"));
        }
        if !keeps_staging(class) {
            self.drop_own_staging(work).await;
        }
        self.drop_prepared(work).await;
        tracing::info!(event = "failed", pipeline = work.prepared.job.name, key = %work.partition.key,
            attempt_no = work.started.attempt_no, run_id = work.started.run_id, token = work.claim.token,
            class = class.as_str(), code = problem.code.id(), sqlstate = problem.sqlstate.map(|code| code.to_string()),
            retryable = retry_in.is_some());
        problem.retry_in = retry_in;
        AttemptEnd::Failed { problem, retry_in }
    }

    /// Whether a newer token was handed out since the claim.
    async fn was_replaced(&self, work: &Work<'_>) -> bool {
        let row = &work.prepared.row;
        let start = work.partition.interval.start();
        let asking = self.ledger().holder_of(row.pipeline_id, row.interval_epoch, start);
        match self.recording(asking).await {
            Ok(holder) => holder.is_some_and(|holder| holder.token != work.claim.token),
            Err(error) => {
                tracing::debug!(%error, "the fence could not be read; the next claim reads it");
                false
            }
        }
    }

    /// False where the partition has another owner by now.
    async fn record_failure(
        &mut self,
        work: &Work<'_>,
        problem: &Problem,
        class: FailureClass,
        retry_after: Option<Duration>,
        progress: &mut dyn Progress,
    ) -> bool {
        let sqlstate = problem.sqlstate.map(|code| code.to_string());
        let failure = Failure {
            partition_id: work.claim.partition_id,
            attempt_id: work.started.attempt_id,
            token: work.claim.token,
            class,
            sqlstate: sqlstate.as_deref(),
            error_code: Some(problem.code.id()),
            message: &problem.what,
            retry_after,
        };
        // the server may be restarting: a few tries, then the next claim ends the run as abandoned
        for pause in [Some(100), Some(400), Some(1500), Some(4000), None].map(|pause| pause.map(Duration::from_millis))
        {
            let error = match self.recording(self.ledger().fail(&failure)).await {
                Ok(outcome) => return outcome.released,
                Err(error) => error,
            };
            tracing::warn!(%error, "the end of the run could not be recorded");
            let again = pause.filter(|_| !self.patience.is_over());
            progress.step(&Step::NotRecorded { problem: problem.clone(), error: error.to_string(), again });
            let Some(pause) = again else { break };
            self.patience.wait(tokio::time::sleep(pause)).await;
        }
        self.unrecorded = Some(Unrecorded {
            partition_id: failure.partition_id,
            attempt_id: failure.attempt_id,
            token: failure.token,
            class,
            sqlstate,
            code: problem.code,
            message: problem.what.clone(),
        });
        true
    }

    /// Records the end of the last run where that was not possible at the time: its claim is this process's own, and would
    /// stand in the way of the next attempt.
    pub(crate) async fn record_late(&mut self) {
        let Some(late) = self.unrecorded.take() else { return };
        let failure = Failure {
            partition_id: late.partition_id,
            attempt_id: late.attempt_id,
            token: late.token,
            class: late.class,
            sqlstate: late.sqlstate.as_deref(),
            error_code: Some(late.code.id()),
            message: &late.message,
            retry_after: Some(Duration::ZERO),
        };
        if let Err(error) = self.recording(self.ledger().fail(&failure)).await {
            tracing::warn!(%error, "the end of the run could not be recorded");
            self.unrecorded = Some(late);
        }
    }

    /// A call of the ledger about a run that has failed, and perhaps with the server: it is not waited for as long as
    /// others are.
    async fn recording<T>(&self, call: impl Future<Output = Result<T, LedgerError>>) -> Result<T, LedgerError> {
        let limited = async { tokio::time::timeout(RECORDING, call).await };
        match self.patience.wait(limited).await {
            Some(Ok(answer)) => answer,
            Some(Err(_)) | None => Err(LedgerError::given_up()),
        }
    }

    async fn drop_own_staging(&mut self, work: &Work<'_>) {
        let Some(name) = work.staging.clone() else { return };
        // a caller that asked to stop still gets its table dropped
        let stop = thrice_sql_publish::CancellationToken::new();
        self.drop_tables(&[name], &work.prepared.job.limits.checking(), &stop).await;
    }
}

/// Whatever a run failed with: where another worker has the partition, that is the reason, and no fault of this one.
fn shut_out(problem: &mut Problem) {
    problem.code = ErrorCode::Fenced;
    problem.what = String::from("another worker took the partition over; nothing of this run was published");
    problem.why = None;
    problem.fix = Some(String::from(
        "nothing, where the other worker publishes it (thrice why P K tells); else the next `thrice run` takes it",
    ));
    problem.sqlstate = None;
}

/// Staged rows are kept where a next run may adopt them, or a person wants to look at them. Whoever took the partition
/// over may be publishing from them this moment; where nobody does, the next sweep drops them.
const fn keeps_staging(class: FailureClass) -> bool {
    matches!(
        class,
        FailureClass::Transient
            | FailureClass::Abandoned
            | FailureClass::Check
            | FailureClass::Guard
            | FailureClass::Fenced
    )
}

/// A number in `[0, 1)` that differs between processes and calls.
fn jitter() -> f64 {
    use std::hash::BuildHasher;
    let random = std::hash::RandomState::new().hash_one(0_u8);
    f64::from(u32::try_from(random >> 32).unwrap_or_default()) / f64::from(u32::MAX).next_up()
}
