//! The step from `staged` to `validated`: guards and checks over the staging table, recorded whatever they find.

use std::time::Instant;

use serde_json::json;
use thrice_checks::guard::{self, GuardVerdict, Refusal};
use thrice_checks::{Check, CheckResult, Phase, Severity, Subject, Verdict, compile};
use thrice_core::code::ErrorCode;
use thrice_core::failure_class::FailureClass;
use thrice_ledger::{CheckPhase, CheckRow, CheckSeverity, Ledger, LedgerError};
use thrice_sql_publish::PublishError;
use thrice_sql_publish::cancel::{Guarded, guarded};
use thrice_sql_publish::peek::look_and_pin;
use thrice_sql_publish::staging::Staged;

use crate::attempt::Work;
use crate::failpoints::{self, hit};
use crate::failure::Failing;
use crate::patience::on_data;
use crate::problem;
use crate::report::Problem;
use crate::runner::Runner;

/// What a run found that may be published.
#[derive(Debug)]
pub(crate) struct Validation {
    pub(crate) checks: Vec<CheckResult>,
    /// What has yet to be written down; the publish does it while it writes the rows.
    pub(crate) record: Option<ValidRecord>,
}

/// The state `validated` with the results of the checks and the times up to it, not yet in the ledger.
#[derive(Debug)]
pub(crate) struct ValidRecord {
    rows: Vec<CheckRow>,
    times: serde_json::Value,
}

impl ValidRecord {
    /// Writes it down.
    pub(crate) async fn write(self, ledger: &Ledger, attempt_id: i64, token: i64) -> Result<(), LedgerError> {
        ledger.mark_validated(attempt_id, token, &self.times, &self.rows).await
    }
}

/// So many partitions before say how many rows are usual.
const USUAL: i64 = 7;

impl Runner {
    /// Writes down that the run may be published.
    pub(crate) async fn record_validated(&self, work: &Work<'_>, record: ValidRecord) -> Result<(), Box<Failing>> {
        let writing = record.write(self.ledger(), work.started.attempt_id, work.claim.token);
        self.patience.ledger(writing).await.map_err(Failing::ledger)
    }

    /// All results, in the order checks then guards. A failure of severity error, or a guard that refuses, is an error
    /// that carries them.
    pub(crate) async fn validate(&mut self, work: &mut Work<'_>, staged: &Staged) -> Result<Validation, Box<Failing>> {
        if work.request.rollback.is_some() {
            return self.validate_rollback(work, staged).await;
        }
        let check_begun = Instant::now();
        let published = self.published_rows(work).await?;
        let (rows, accept_drop) = (staged.content.rows, work.request.accept_drop);
        // fewer changes than before take nothing away
        let takes_changes = work.prepared.job.strategy.takes_changes();
        let mut guards = Vec::new();
        if !takes_changes {
            guards.push(guard::empty_over_published(rows, published, accept_drop));
            guards.push(work.prepared.job.guards.rows(rows, published, accept_drop));
        }
        // where something is published the guard speaks for an empty result, and the check "not empty" has nothing to add:
        // rows that would vanish are the guard's, and an interval that is published without rows stays as it is
        let allow_empty =
            work.prepared.job.allow_empty || (published.is_some() && staged.content.rows == 0 && !takes_changes);
        let (mut verdict, existing) = self.checks(work, staged, allow_empty).await?;
        guards.extend(existing.map(|rows| guard::existing_rows(rows, false, work.request.overwrite_existing)));
        verdict.results.splice(0..0, std::mem::take(&mut work.source_checks));
        let passed = verdict.passed();
        verdict.results.extend(guards.iter().filter_map(|guard| guard.result().cloned()));
        if verdict.code() == Some(ErrorCode::EmptyResult) && staged.content.rows > 0 {
            return Err(Failing::publish(PublishError::staging_not_whole("run the checks", staged.relation.clone())));
        }
        hit(failpoints::AFTER_CHECKS);

        let rows: Vec<CheckRow> = verdict.results.iter().map(row_of).collect();
        let refusal = guards.iter().find_map(GuardVerdict::refusal);
        if !passed || refusal.is_some() {
            let recording = self.ledger().record_checks(work.started.attempt_id, &rows);
            self.patience.ledger(recording).await.map_err(Failing::ledger)?;
        }
        if !passed {
            return Err(failed_checks(verdict));
        }
        if let Some(refusal) = refusal {
            return Err(refused(refusal, verdict.results));
        }
        let times = json!({
            "claim": millis(work.times.claim),
            "stage": millis(work.times.stage),
            "check": millis(check_begun.elapsed()),
        });
        // what a guard let through is on record and does not stop the publish
        let checks = verdict.results.into_iter().filter(|result| result.phase != Phase::Guard).collect();
        Ok(Validation { checks, record: Some(ValidRecord { rows, times }) })
    }

    /// Kept rows were validated when they were published: they must be those, by count and checksum.
    async fn validate_rollback(&mut self, work: &mut Work<'_>, staged: &Staged) -> Result<Validation, Box<Failing>> {
        let begun = Instant::now();
        self.published_rows(work).await?;
        let Some(rollback) = &work.request.rollback else {
            return Err(Failing::problem(Problem::new(ErrorCode::Bug, "no rollback was asked for")));
        };
        rollback.check(&staged.content).map_err(|problem| Failing::problem(*problem))?;
        hit(failpoints::AFTER_CHECKS);
        let times = json!({
            "claim": millis(work.times.claim), "stage": millis(work.times.stage), "check": millis(begun.elapsed()),
        });
        let same = CheckResult {
            name: "rows of the receipt".to_owned(),
            phase: Phase::Staged,
            severity: Severity::Error,
            passed: true,
            observed: Some(staged.content.rows.into()),
            expected: json!({ "rows": rollback.to.row_count, "checksum": rollback.to.checksum }),
            code: ErrorCode::KeptRowsDiffer,
            message: String::new(),
        };
        let record = Some(ValidRecord { rows: vec![row_of(&same)], times });
        Ok(Validation { checks: vec![same], record })
    }

    /// Rows of the receipt that readers see; `None`: the partition has none.
    async fn published_rows(&self, work: &mut Work<'_>) -> Result<Option<i64>, Box<Failing>> {
        let Some(attempt_id) = work.claim.data_attempt_id else { return Ok(None) };
        work.receipt = self.patience.ledger(self.ledger().receipt(attempt_id)).await.map_err(Failing::ledger)?;
        Ok(work.receipt.as_ref().map(|receipt| receipt.row_count))
    }

    /// Rows of the partitions published before, where a check asks for them.
    async fn usual_rows(&self, work: &Work<'_>, checks: &[Check]) -> Result<Vec<i64>, Box<Failing>> {
        if !checks.iter().any(|check| check.rule.compares_partitions()) {
            return Ok(Vec::new());
        }
        let asking = self.ledger().rows_published_before(work.claim.partition_id, USUAL);
        self.patience.ledger(asking).await.map_err(Failing::ledger)
    }

    /// The verdict; and, where the partition has no receipt, how many rows its interval holds already.
    async fn checks(
        &mut self,
        work: &Work<'_>,
        staged: &Staged,
        allow_empty: bool,
    ) -> Result<(Verdict, Option<i64>), Box<Failing>> {
        let job = &work.prepared.job;
        let subject = Subject {
            table: staged.relation.clone(),
            interval_column: job.interval_column.clone(),
            bounds: work.bounds,
            start: work.partition.interval.start(),
            end: work.partition.interval.end(),
            // a key may change several times in an interval
            key: job.key.iter().chain(&job.version).cloned().collect(),
        };
        let mut checks = Check::always(&subject, allow_empty);
        checks.extend(job.operation.as_ref().into_iter().flat_map(Check::operation));
        checks.extend(job.checks.iter().cloned());
        let usual = self.usual_rows(work, &checks).await?;
        let compiled = compile(&checks, &subject).against(usual);
        let over = self.patience.token();
        let (client, statements) = self.client_and_statements().await.map_err(Failing::problem)?;
        let cancel = client.cancel_token();
        let look =
            (!work.has_receipt() && !job.strategy.takes_changes()).then_some((&work.prepared.target, &work.bounds));
        let timeouts = job.limits.checking();
        let beginning = async {
            // in a transaction of its own, which a refusal ends: under the zone and the search path of the pipeline, since
            // constants and names mean what they mean when the statement is prepared
            if staged.comes_again && statements.is_on() && statements.get(compiled.sql()).is_none() {
                let (own, _) = look_and_pin(client, None, &job.session, &timeouts, &statements, work.stop).await?;
                statements.prepare(own.client(), compiled.sql(), &compiled.types()).await;
            }
            let prepared = if staged.comes_again { statements.get(compiled.sql()) } else { None };
            let begun = look_and_pin(client, look, &job.session, &timeouts, &statements, work.stop).await?;
            Ok((prepared, begun))
        };
        let begun = on_data(&over, "begin", beginning).await.map_err(Failing::publish)?;
        let (prepared, (transaction, existing)) = begun;
        let checking = thrice_checks::run(transaction.client(), &compiled, prepared.as_ref());
        match guarded(cancel, work.stop, None, checking).await {
            Guarded::Done(Ok(verdict)) => Ok((verdict, existing)),
            Guarded::Done(Err(error)) => {
                let lost = error.is_connection_lost();
                Err(Failing::of_statement(problem::of_check(&error), error.sqlstate(), lost))
            }
            Guarded::Stopped(_) | Guarded::TimedOut(_) => Err(Failing::problem(
                Problem::new(ErrorCode::Stopped, "stopped while the checks ran").class(FailureClass::Cancelled),
            )),
        }
    }
}

/// The end of a run that a guard refused.
pub(crate) fn refused(refusal: &Refusal, results: Vec<CheckResult>) -> Box<Failing> {
    let mut problem =
        Problem::new(refusal.code, refusal.what.clone()).class(FailureClass::Guard).why(refusal.why).fix(refusal.fix);
    problem.checks = results;
    Failing::problem(problem)
}

fn failed_checks(verdict: Verdict) -> Box<Failing> {
    let failures: Vec<String> = verdict
        .failures()
        .filter(|result| result.phase != Phase::Guard)
        .map(|result| format!("{}: {}", result.name, result.message))
        .collect();
    let code = verdict.code().unwrap_or(ErrorCode::CheckFailed);
    let mut problem = Problem::new(code, failures.join("; "))
        .class(FailureClass::Check)
        .why("what fails a check of severity error is never published; the staged rows are kept for a week")
        .fix(way_out(code));
    problem.checks = verdict.results;
    Failing::problem(problem)
}

const fn way_out(code: ErrorCode) -> &'static str {
    #[expect(clippy::wildcard_enum_match_arm, reason = "of the others the check's own words say what is wrong")]
    match code {
        ErrorCode::RowsOutside => {
            "make the condition on the interval and target.interval_column mean the same time zone, then run it again"
        }
        ErrorCode::EmptyResult => {
            "see whether the source is loaded; where an interval without rows is right: allow_empty = true under [target]; \
             --accept-drop is for published rows that must go"
        }
        ErrorCode::DuplicateKeys => {
            "give each row a key of its own without a null, or name in target.key the columns that tell rows apart"
        }
        _ => "correct the query or the source, then run the partition again",
    }
}

pub(crate) fn row_of(result: &CheckResult) -> CheckRow {
    CheckRow {
        phase: match result.phase {
            Phase::Source => CheckPhase::Source,
            Phase::Staged => CheckPhase::Staged,
            Phase::Guard => CheckPhase::Guard,
        },
        check_name: result.name.clone(),
        severity: match result.severity {
            Severity::Error => CheckSeverity::Error,
            Severity::Warn => CheckSeverity::Warn,
        },
        passed: result.passed,
        observed: result.observed.as_ref().map(ToString::to_string),
        expected: Some(result.expected.clone()),
        sample_keys: None,
    }
}

pub(crate) fn millis(time: std::time::Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}
