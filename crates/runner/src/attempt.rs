//! One attempt: everything between a claim and its end.

use std::time::{Duration, Instant};

use thrice_checks::CheckResult;
use thrice_core::code::ErrorCode;
use thrice_core::column_bounds::ColumnBounds;
use thrice_core::failure_class::FailureClass;
use thrice_core::run::{Passed, Run};
use thrice_core::schedule::Partition;
use thrice_ledger::{Claim, NewRun, Receipt, StageMode, StartedRun};
use thrice_sql_publish::staging::{Staged, StagingName};
use thrice_sql_publish::{CancellationToken, Finding, target};

use crate::failpoints::{self, hit};
use crate::failure::Failing;
use crate::job::Job;
use crate::patience::on_data;
use crate::prepare::Prepared;
use crate::problem;
use crate::report::{Done, Outcome, Problem, Progress, Step, StepTimes};
use crate::request::{RunRequest, Trigger};
use crate::resume::Adopted;
use crate::rollback::overtaken;
use crate::runner::Runner;
use crate::validate::Validation;

/// The token of the claim that makes a partition's row; every later claim has a greater one.
const FIRST_TOKEN: i64 = 1;

/// What differs between the attempts of one call.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Conditions {
    /// Why this attempt exists.
    pub(crate) trigger: Trigger,
    /// A person asked for it: a fresh budget.
    pub(crate) explicit: bool,
    /// What an earlier run staged may be taken over.
    pub(crate) may_adopt: bool,
    /// When the call began.
    pub(crate) begun: Instant,
}

/// How an attempt ended.
#[derive(Debug)]
pub(crate) enum AttemptEnd {
    /// The call ends with it.
    Outcome(Outcome),
    /// Without a receipt; tried again after `retry_in`, if that is some.
    Failed {
        /// What went wrong.
        problem: Problem,
        /// The wait before the next attempt.
        retry_in: Option<Duration>,
    },
}

/// A run that has begun, with everything its steps need.
pub(crate) struct Work<'a> {
    pub(crate) prepared: &'a Prepared,
    pub(crate) partition: &'a Partition,
    pub(crate) request: &'a RunRequest,
    pub(crate) conditions: Conditions,
    pub(crate) stop: &'a CancellationToken,
    pub(crate) bounds: ColumnBounds,
    pub(crate) claim: Claim,
    pub(crate) started: StartedRun,
    pub(crate) resumed_from: Option<i32>,
    /// The receipt that readers see, once it has been read.
    pub(crate) receipt: Option<Receipt>,
    /// The staging table that the run has made or taken.
    pub(crate) staging: Option<StagingName>,
    /// What the checks in the snapshot of the query found.
    pub(crate) source_checks: Vec<CheckResult>,
    /// Rows in it, those of earlier partitions that are deleted too.
    pub(crate) staging_rows: i64,
    pub(crate) times: StepTimes,
}

impl Work<'_> {
    /// One event per change of state, with the fields that every line has.
    pub(crate) fn tell(&self, event: &'static str, rows: Option<i64>, took: Duration) {
        tracing::info!(
            event,
            pipeline = self.prepared.job.name,
            key = %self.partition.key,
            attempt_no = self.started.attempt_no,
            run_id = self.started.run_id,
            token = self.claim.token,
            lane = self.prepared.job.lane,
            trigger = self.conditions.trigger.as_str(),
            rows,
            duration_ms = u64::try_from(took.as_millis()).unwrap_or(u64::MAX),
        );
    }

    /// The published rows' count and checksum, as the receipt that readers see says.
    pub(crate) const fn has_receipt(&self) -> bool {
        self.claim.data_attempt_id.is_some()
    }
}

impl Runner {
    pub(crate) async fn attempt(
        &mut self,
        prepared: &Prepared,
        partition: &Partition,
        request: &RunRequest,
        conditions: Conditions,
        stop: &CancellationToken,
        progress: &mut dyn Progress,
    ) -> AttemptEnd {
        let claimed_from = Instant::now();
        let bounds = match self.look_before_claim(prepared, partition, stop).await {
            Ok(bounds) => bounds,
            Err(problem) => return not_begun(prepared, problem, conditions),
        };
        self.record_late().await;
        hit(failpoints::BEFORE_CLAIM);
        let claim = match self.claim(prepared, partition, request, conditions, stop).await {
            Ok(claim) => claim,
            Err(problem) => return not_begun(prepared, problem, conditions),
        };
        hit(failpoints::AFTER_CLAIM);
        if request.rollback.as_ref().is_some_and(|rollback| rollback.is_overtaken(claim.current_attempt_id)) {
            self.give_back(&claim).await;
            return not_begun(prepared, overtaken(), conditions);
        }
        progress.step(&Step::Claimed { taken_over: claim.taken_over.is_some() });

        let (adopted, started) = match self.begin(prepared, partition, &claim, request, conditions, stop).await {
            Ok(begun) => begun,
            Err(problem) => {
                self.give_back(&claim).await;
                return not_begun(prepared, problem, conditions);
            }
        };
        let mut work = Work {
            prepared,
            partition,
            request,
            conditions,
            stop,
            bounds,
            claim,
            resumed_from: adopted.as_ref().map(|adopted| adopted.attempt_no),
            started,
            receipt: None,
            staging: None,
            source_checks: Vec::new(),
            staging_rows: 0,
            times: StepTimes { claim: claimed_from.elapsed(), ..StepTimes::default() },
        };
        work.tell("started", None, work.times.claim);
        hit(failpoints::AFTER_START);
        match self.walk(&mut work, adopted, progress).await {
            Ok(done) => AttemptEnd::Outcome(done),
            Err(failing) => self.end_failed(&work, *failing, progress).await,
        }
    }

    /// Nothing was begun under the claim.
    pub(crate) async fn give_back(&self, claim: &Claim) {
        if let Err(error) = self.patience.ledger(self.ledger().give_back(claim)).await {
            tracing::warn!(%error, "a claim could not be given back; it ends with this process");
        }
    }

    /// From `started` to the receipt.
    async fn walk(
        &mut self,
        work: &mut Work<'_>,
        adopted: Option<Adopted>,
        progress: &mut dyn Progress,
    ) -> Result<Outcome, Box<Failing>> {
        let run = Run::started(work.started.attempt_id, work.claim.token);

        let stage_begun = Instant::now();
        let staged: Staged = match adopted {
            Some(adopted) => self.adopt_staging(work, adopted).await?,
            None => self.stage(work).await?,
        };
        work.times.stage = stage_begun.elapsed();
        let run = run.staged(staged.content.rows);
        work.tell("staged", Some(staged.content.rows), work.times.stage);
        progress.step(&Step::Staged {
            rows: staged.content.rows,
            resumed_from: work.resumed_from,
            took: work.times.stage,
        });
        hit(failpoints::AFTER_STAGE);

        let check_begun = Instant::now();
        let Validation { checks, mut record } = self.validate(work, &staged).await?;
        work.times.check = check_begun.elapsed();
        let verdicts: Vec<bool> =
            checks.iter().map(|check| check.passed || check.severity != thrice_checks::Severity::Error).collect();
        let Some(proof) = Passed::of(&verdicts) else {
            // `validate` answers with a failure where a check of severity error failed
            return Err(Failing::problem(
                Problem::new(ErrorCode::CheckFailed, "a check failed").class(FailureClass::Check),
            ));
        };
        let run = run.validated(proof);
        work.tell("validated", Some(staged.content.rows), work.times.check);
        let passed = checks.iter().filter(|check| check.passed).count();
        progress.step(&Step::Checked { passed, total: checks.len(), took: work.times.check });
        if failpoints::is_armed(failpoints::AFTER_VALIDATE)
            && let Some(record) = record.take()
        {
            self.record_validated(work, record).await?;
        }
        hit(failpoints::AFTER_VALIDATE);

        let publish_begun = Instant::now();
        let published = self.publish(work, run, &staged, record, progress).await?;
        work.times.publish = publish_begun.elapsed();
        work.tell(
            if published.unchanged { "unchanged" } else { "published" },
            Some(published.rows.total),
            work.times.publish,
        );
        hit(failpoints::AFTER_COMMIT);

        self.tidy(work, &staged).await;
        let done = Done {
            attempt_no: work.started.attempt_no,
            run_id: work.started.run_id.clone(),
            rows: published.rows,
            comparison: published.comparison,
            checksum: published.checksum,
            published_at: published.published_at,
            resolved: published.resolved,
            edited_since_receipt: published.edited,
            resumed_from: work.resumed_from,
            times: work.times,
            checks,
        };
        Ok(if published.unchanged { Outcome::Unchanged(done) } else { Outcome::Published(done) })
    }

    /// What can be seen of the target for this interval before anything is written.
    async fn look_before_claim(
        &mut self,
        prepared: &Prepared,
        partition: &Partition,
        stop: &CancellationToken,
    ) -> Result<ColumnBounds, Problem> {
        let job = &prepared.job;
        let column = prepared.target.interval_column_type();
        let bounds = ColumnBounds::of(partition, job.schedule.zone(), job.schedule.grain(), column)
            .map_err(|error| problem::of_bounds(&error, job).class(FailureClass::Permanent))?;
        let timeouts = job.limits.checking();
        let over = self.patience.token();
        let client = self.client().await?;
        let looking = target::examine_interval(client, &prepared.target, &bounds, &timeouts, stop);
        let findings = on_data(&over, "look at the target", looking).await.map_err(|error| {
            let mut problem = problem::of_publish(&error);
            if error.is_connection_lost() {
                problem.class = Some(FailureClass::Transient);
            }
            problem
        })?;
        match findings.into_iter().find(Finding::is_error) {
            Some(finding) => Err(of_finding(finding)),
            None => Ok(bounds),
        }
    }

    /// Ends what earlier claims left open, looks for staging to adopt, and writes the run's row.
    async fn begin(
        &mut self,
        prepared: &Prepared,
        partition: &Partition,
        claim: &Claim,
        request: &RunRequest,
        conditions: Conditions,
        stop: &CancellationToken,
    ) -> Result<(Option<Adopted>, StartedRun), Problem> {
        // a partition that this very claim made has no earlier runs
        let has_runs = claim.token > FIRST_TOKEN;
        if has_runs {
            self.end_open_runs(claim).await?;
        }
        let adopted =
            if conditions.may_adopt && has_runs { self.look_for_staging(prepared, claim, stop).await? } else { None };
        let run = NewRun {
            claim,
            worker: self.lease.worker_id(),
            trigger: conditions.trigger.of_ledger(),
            actor: &self.options.actor,
            reason: request.reason.as_ref().map(thrice_core::reason::Reason::as_str),
            code_hash: request.rollback.as_ref().map_or(Some(prepared.job.code_hash.as_slice()), |rollback| {
                // the rows are of the code that made them
                rollback.to.code_hash.as_deref()
            }),
            stage_mode: StageMode::Durable,
            resumed_from: adopted.as_ref().map(|adopted| adopted.attempt_id),
            backend_pid: None,
            backfill_id: None,
            revisit: stored_revisit(&prepared.job, partition, request),
        };
        let starting = self.patience.ledger(self.ledger().start_run(&run));
        let started = starting.await.map_err(|error| problem::of_ledger(&error))?;
        Ok((adopted, started))
    }
}

/// Which revisit the run is, as the ledger keeps it.
pub(crate) fn stored_revisit(job: &Job, partition: &Partition, request: &RunRequest) -> Option<i32> {
    job.revisit(partition, request.as_of).and_then(|revisit| i32::try_from(revisit).ok())
}

/// The end of an attempt that wrote no run. Tried again only where a server or a connection was away.
fn not_begun(prepared: &Prepared, problem: Problem, conditions: Conditions) -> AttemptEnd {
    let transient = problem.class == Some(FailureClass::Transient) && problem.code != ErrorCode::HeldByWorker;
    let policy = &prepared.job.retry;
    // no run in the ledger counts these: the time since the call began does
    let spent = conditions.begun.elapsed();
    let patience = policy.first_delay.saturating_mul(policy.attempts);
    let retry_in = (transient && spent < patience && spent < policy.budget).then_some(policy.first_delay);
    AttemptEnd::Failed { problem, retry_in }
}

/// A finding about the target as a problem.
pub(crate) fn of_finding(finding: Finding) -> Problem {
    let mut problem = Problem::new(finding.code, finding.what).class(FailureClass::Permanent).why(finding.why);
    problem.fix = (!finding.fix.is_empty()).then_some(finding.fix);
    problem
}
