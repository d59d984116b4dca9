//! Existing rows become a published partition: counted, checksummed, and given a receipt of kind `adopt`.

use thrice_core::code::ErrorCode;
use thrice_core::column_bounds::ColumnBounds;
use thrice_core::failure_class::FailureClass;
use thrice_core::reason::Reason;
use thrice_core::schedule::Partition;
use thrice_core::time::Timestamp;
use thrice_ledger::{Claim, NewRun, PublishTail, ReceiptKind, StageMode};
use thrice_sql_publish::checksum::{self, Content};
use thrice_sql_publish::publish::{self, ExistingRows, Gate, PublishOutcome, PublishRequest};
use thrice_sql_publish::staging::Staged;
use thrice_sql_publish::strategy;
use thrice_sql_publish::{CancellationToken, PublishError};

use crate::attempt::{Conditions, stored_revisit};
use crate::failpoints::Failpoints;
use crate::patience::{Patience, on_data};
use crate::prepare::Prepared;
use crate::problem;
use crate::publish::{lock_and_check_fence, proof, receipt};
use crate::report::Problem;
use crate::request::{RunRequest, Trigger};
use crate::runner::Runner;

/// What became of one partition.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Adoption {
    /// Its rows are accounted for now.
    Adopted(Content),
    /// It holds no rows and stays missing.
    Empty,
    /// It has a receipt already.
    AlreadyPublished,
}

impl Runner {
    /// Counts the rows of one partition and writes a receipt for them. No row is touched.
    ///
    /// # Errors
    /// [`Problem`]; nothing was written then, unless its code is that of an open outcome.
    pub async fn adopt(
        &mut self,
        prepared: &Prepared,
        partition: &Partition,
        reason: &Reason,
        as_of: Timestamp,
        stop: &CancellationToken,
    ) -> Result<Adoption, Problem> {
        self.patience = Patience::of(stop);
        let job = &prepared.job;
        let column = prepared.target.interval_column_type();
        let bounds = ColumnBounds::of(partition, job.schedule.zone(), job.schedule.grain(), column)
            .map_err(|error| problem::of_bounds(&error, job))?;
        let content = self.content(prepared, &bounds, stop).await?;
        if content.rows == 0 {
            return Ok(Adoption::Empty);
        }
        let mut request = RunRequest::new(Trigger::Adopt, as_of);
        request.reason = Some(reason.clone());
        let conditions =
            Conditions { trigger: Trigger::Adopt, explicit: true, may_adopt: false, begun: std::time::Instant::now() };
        let claim = self.claim(prepared, partition, &request, conditions, stop).await?;
        if claim.current_attempt_id.is_some() {
            self.give_back(&claim).await;
            return Ok(Adoption::AlreadyPublished);
        }
        match self.adopt_claimed(prepared, partition, &claim, &request, (&bounds, content), stop).await {
            Ok(content) => Ok(Adoption::Adopted(content)),
            Err(problem) => {
                if problem.code != ErrorCode::OutcomeUnknown {
                    self.give_back(&claim).await;
                }
                Err(problem)
            }
        }
    }

    async fn adopt_claimed(
        &mut self,
        prepared: &Prepared,
        partition: &Partition,
        claim: &Claim,
        request: &RunRequest,
        (bounds, content): (&ColumnBounds, Content),
        stop: &CancellationToken,
    ) -> Result<Content, Problem> {
        self.end_open_runs(claim).await?;
        let job = &prepared.job;
        let worker = self.lease.worker_id();
        let run = NewRun {
            claim,
            worker,
            trigger: Trigger::Adopt.of_ledger(),
            actor: &self.options.actor,
            reason: request.reason.as_ref().map(Reason::as_str),
            code_hash: Some(&job.code_hash),
            stage_mode: StageMode::Durable,
            resumed_from: None,
            backend_pid: None,
            backfill_id: None,
            revisit: stored_revisit(&prepared.job, partition, request),
        };
        let started =
            self.patience.ledger(self.ledger().start_run(&run)).await.map_err(|error| problem::of_ledger(&error))?;
        let tail = PublishTail {
            partition_id: claim.partition_id,
            attempt_id: started.attempt_id,
            token: claim.token,
            worker,
            kind: ReceiptKind::Adopt,
            rows_deleted: None,
            rows_inserted: None,
            rows_updated: None,
            target_rows: None,
            target_checksum: None,
            points_to: None,
            history_relation: None,
            history_kept_for: None,
            input_manifest: None,
            comparison: None,
            close: prepared.job.closes(partition, request.as_of),
        };
        let staged = Staged::known(prepared.target.table.clone(), content.clone());
        let application_name = thrice_ledger::data_plane::application_name(claim.partition_id, started.attempt_no);
        let (client, statements) = self.client_and_statements().await?;
        let request = PublishRequest {
            target: &prepared.target,
            columns: &prepared.columns,
            bounds,
            staged: &staged,
            plan: &strategy::unchanged::plan(job.strategy.as_str()),
            existing_rows: ExistingRows::MayBeReplaced,
            session: &job.session,
            timeouts: &job.limits.publishing(job.strategy),
            commit_timeout: job.limits.commit(),
            application_name: &application_name,
            gate: Gate {
                first: vec![lock_and_check_fence(claim.partition_id, claim.token, false)],
                last: vec![receipt(&tail)],
                confirm: Some(proof(started.attempt_id)),
            },
            probe: &Failpoints,
            statements: &statements,
            stop,
        };
        match publish::publish(client, &request).await {
            PublishOutcome::Committed(_) => Ok(content),
            PublishOutcome::RolledBack(error) => {
                let problem = problem::of_publish(&error);
                self.end_adoption(claim, started.attempt_id, &problem).await;
                Err(self.adoption_refused(&error, problem))
            }
            PublishOutcome::Unknown { error, .. } => {
                self.abandon_connection();
                let what =
                    format!("the receipt of run #{} may or may not be there: {}", started.attempt_no, error.message());
                Err(Problem::new(ErrorCode::OutcomeUnknown, what)
                    .fix("run the same command again: it asks the ledger first, and adopts what is not adopted"))
            }
        }
    }

    async fn content(
        &mut self,
        prepared: &Prepared,
        bounds: &ColumnBounds,
        stop: &CancellationToken,
    ) -> Result<Content, Problem> {
        let target = &prepared.target;
        let timeouts = prepared.job.limits.checking();
        let columns = prepared.columns.columns().to_vec();
        let over = self.patience.token();
        let client = self.client().await?;
        let counting = checksum::of_interval(client, target, &columns, bounds, &timeouts, stop);
        on_data(&over, "count the rows", counting).await.map_err(|error| problem::of_publish(&error))
    }

    async fn end_adoption(&self, claim: &Claim, attempt_id: i64, problem: &Problem) {
        let failure = thrice_ledger::Failure {
            partition_id: claim.partition_id,
            attempt_id,
            token: claim.token,
            class: FailureClass::Permanent,
            sqlstate: None,
            error_code: Some(problem.code.id()),
            message: &problem.what,
            retry_after: None,
        };
        if let Err(error) = self.patience.ledger(self.ledger().fail(&failure)).await {
            tracing::warn!(%error, "the end of an adoption could not be recorded; the next claim ends it");
        }
    }

    fn adoption_refused(&mut self, error: &PublishError, problem: Problem) -> Problem {
        if error.is_connection_lost() {
            self.abandon_connection();
        }
        problem
    }
}
