//! The step from `validated` to the receipt, and the way out when COMMIT is not answered.

use jiff::Timestamp;
use thrice_core::code::ErrorCode;
use thrice_core::failure_class::FailureClass;
use thrice_core::identifier::Identifier;
use thrice_core::run::{CommitOutcome, PublishResult, ReceiptSeen, Run, Unresolved, Validated};
use thrice_ledger::{LedgerError, PublishTail, Receipt, ReceiptKind, Resolution, UnknownRun, data_plane, resolve};
use thrice_sql_publish::Statement;
use thrice_sql_publish::error::ErrorKind;
use thrice_sql_publish::history::{self, HistoryTable};
use thrice_sql_publish::publish::{self, ExistingRows, Gate, PublishOutcome, PublishRequest};
use thrice_sql_publish::staging::{Staged, StagingName};
use thrice_sql_publish::strategy::{self, Keep, Parts, PublishPlan};
use tokio_postgres::types::Type;

use crate::attempt::Work;
use crate::failpoints::Failpoints;
use crate::failure::Failing;
use crate::guarding::Guarding;
use crate::patience::on_data;
use crate::report::{Edited, Problem, Progress, RowCounts, Step};
use crate::rollback::KEPT_BY_ROLLBACK;
use crate::runner::Runner;
use crate::stage::OWNER;
use crate::validate::ValidRecord;

/// A run that has its receipt.
#[derive(Debug)]
pub(crate) struct Receipted {
    pub(crate) unchanged: bool,
    pub(crate) rows: RowCounts,
    pub(crate) comparison: Option<serde_json::Value>,
    pub(crate) checksum: String,
    pub(crate) published_at: Timestamp,
    pub(crate) resolved: bool,
    pub(crate) edited: Option<Edited>,
}

/// Where rows that a publish replaces are kept, and for how long.
pub(crate) struct Kept {
    table: HistoryTable,
    relation: String,
    seconds: i64,
}

impl Runner {
    pub(crate) async fn publish(
        &mut self,
        work: &Work<'_>,
        run: Run<Validated>,
        staged: &Staged,
        record: Option<ValidRecord>,
        progress: &mut dyn Progress,
    ) -> Result<Receipted, Box<Failing>> {
        let keep = self.kept_in(work).await?;
        let strategy = work.prepared.job.strategy;
        let replace = strategy::plan(strategy, &parts(work, staged, keep.as_ref()));
        let (mut run, mut record) = (run, record);
        if equals_receipt(work, staged) {
            let plan = strategy::unchanged(strategy, &parts(work, staged, None));
            let how = (&plan, ReceiptKind::Unchanged, None);
            match self.publish_as(work, run, staged, how, record.take(), progress).await {
                // the receipt says equal, the table does not: somebody edited it since; the interval is replaced
                Err(failing) if failing.is_edited_target() => {
                    run = failing.into_run()?;
                }
                other => return other,
            }
        }
        let kind = if work.request.rollback.is_some() { ReceiptKind::Rollback } else { ReceiptKind::Publish };
        match replace {
            Some(plan) => self.publish_as(work, run, staged, (&plan, kind, keep.as_ref()), record, progress).await,
            None => self.publish_swap(work, run, staged, (kind, keep.as_ref()), record, progress).await,
        }
    }

    /// Where the rows that this publish replaces are kept. Without a receipt there is no state to go back to.
    async fn kept_in(&mut self, work: &Work<'_>) -> Result<Option<Kept>, Box<Failing>> {
        let job = &work.prepared.job;
        let kept_for = if work.request.rollback.is_some() && job.keep_old_for.is_zero() {
            KEPT_BY_ROLLBACK
        } else {
            job.keep_old_for
        };
        if !work.has_receipt() || kept_for.is_zero() {
            return Ok(None);
        }
        let (target, columns) = (&work.prepared.target, &work.prepared.columns);
        let table = HistoryTable::of(target, columns).map_err(Failing::publish)?;
        if !self.histories.contains(&table) {
            let (over, timeouts) = (self.patience.token(), job.limits.checking());
            let owner = Identifier::new(OWNER).ok();
            let client = self.client().await.map_err(Failing::problem)?;
            let making = history::make(client, &table, target, columns, owner.as_ref(), &timeouts, work.stop);
            on_data(&over, "make the table of kept rows", making).await.map_err(Failing::publish)?;
            self.histories.insert(table.clone());
        }
        let seconds = i64::try_from(kept_for.as_secs()).unwrap_or(i64::MAX);
        Ok(Some(Kept { relation: table.to_string(), table, seconds }))
    }

    pub(crate) async fn publish_as(
        &mut self,
        work: &Work<'_>,
        run: Run<Validated>,
        staged: &Staged,
        (plan, kind, kept): (&PublishPlan, ReceiptKind, Option<&Kept>),
        record: Option<ValidRecord>,
        progress: &mut dyn Progress,
    ) -> Result<Receipted, Box<Failing>> {
        let job = &work.prepared.job;
        let application_name = data_plane::application_name(work.claim.partition_id, work.started.attempt_no);
        let existing_rows = match (work.has_receipt(), work.request.overwrite_existing) {
            (true, _) => ExistingRows::Receipted,
            (false, true) => ExistingRows::MayBeReplaced,
            // a change replaces no row but those that it names, in whichever interval they are
            (false, false) if job.strategy.takes_changes() => ExistingRows::MayBeReplaced,
            (false, false) => ExistingRows::MustBeNone,
        };
        let worker = self.lease.worker_id();
        // on the ledger's connection, while the rows are written on the other; the receipt looks for it
        let (ledger, over) = (self.ledger().clone(), self.patience.token());
        let mut not_recorded = None;
        let recording = async {
            let Some(record) = record else { return true };
            let writing = record.write(&ledger, work.started.attempt_id, work.claim.token);
            let written = over.run_until_cancelled(writing).await.unwrap_or_else(|| Err(LedgerError::given_up()));
            not_recorded = written.err();
            not_recorded.is_none()
        };
        // rows that equal the receipt's put back what others changed, and take nothing away that it accounts for
        let guarding = if kind == ReceiptKind::Publish && !equals_receipt(work, staged) {
            Guarding::of(work, staged, self.ledger(), self.patience.token())
        } else {
            None
        };
        let (client, statements) = self.client_and_statements().await.map_err(Failing::problem)?;
        let request = PublishRequest {
            target: &work.prepared.target,
            columns: &work.prepared.columns,
            bounds: &work.bounds,
            staged,
            plan,
            existing_rows,
            session: &job.session,
            timeouts: &job.limits.publishing(job.strategy),
            commit_timeout: job.limits.commit(),
            application_name: &application_name,
            gate: gate(work, worker, kind, kept),
            probe: &Failpoints,
            statements: &statements,
            stop: work.stop,
        };
        let judge = guarding.as_ref().map(|guarding| |comparison: &serde_json::Value| guarding.judge(comparison));
        let judge = judge.as_ref().map(|judge| judge as &publish::Judge<'_>);
        let outcome = publish::publish_when(client, &request, recording, judge).await;
        if let (PublishOutcome::RolledBack(error), Some(guarding)) = (&outcome, guarding)
            && *error.kind() == ErrorKind::Refused
            && let Some(failing) = self.stopped_by_guards(work, guarding.said()).await
        {
            return Err(failing);
        }
        let commit = match &outcome {
            PublishOutcome::Committed(_) => CommitOutcome::Committed,
            PublishOutcome::RolledBack(_) => CommitOutcome::RolledBack,
            PublishOutcome::Unknown { .. } => CommitOutcome::Unknown,
        };
        match (outcome, run.publish(commit)) {
            (PublishOutcome::Committed(done), PublishResult::Published(_)) => Ok(Receipted {
                edited: edited(work, &done.receipt),
                unchanged: kind == ReceiptKind::Unchanged,
                rows: RowCounts {
                    total: done.content.rows,
                    inserted: done.rows_inserted,
                    updated: done.rows_updated,
                    deleted: done.rows_deleted,
                },
                comparison: done.comparison,
                checksum: done.content.checksum,
                published_at: published_at(&done.proof),
                resolved: false,
            }),
            (PublishOutcome::RolledBack(error), PublishResult::RolledBack(run)) => Err(match not_recorded {
                Some(why) if *error.kind() == ErrorKind::NotReady => Failing::ledger(why),
                _ => Failing::rolled_back(error, run, kind),
            }),
            (PublishOutcome::Unknown { backend_pid, xid, error }, PublishResult::Unknown(open)) => {
                tracing::warn!(event = "unknown", pipeline = job.name, key = %work.partition.key,
                    attempt_no = work.started.attempt_no, token = work.claim.token, why = %error);
                self.abandon_connection();
                progress.step(&Step::Resolving);
                self.resolve_unknown(work, open, backend_pid, xid).await
            }
            _ => Err(Failing::problem(Problem::new(ErrorCode::Bug, "a publish ended in two ways at once"))),
        }
    }

    /// COMMIT was sent and not answered: only the ledger knows, and only behind the barrier.
    async fn resolve_unknown(
        &mut self,
        work: &Work<'_>,
        open: Unresolved,
        backend_pid: i32,
        xid: String,
    ) -> Result<Receipted, Box<Failing>> {
        if let Err(error) = self.patience.ledger(self.ledger().mark_unknown(open.attempt_id(), open.token())).await {
            // the row then still says `validated`; resolution and the next claim treat it the same way
            tracing::warn!(%error, "the run could not be marked unknown");
        }
        let asked = UnknownRun {
            partition_id: work.claim.partition_id,
            attempt_id: open.attempt_id(),
            attempt_no: work.started.attempt_no,
            token: open.token(),
            backend_pid: Some(backend_pid),
            xid: Some(xid),
        };
        let resolution = self.patience.wait(resolve(self.settings(), &asked, self.options.resolve_wait)).await;
        let receipt = match resolution.unwrap_or_else(|| Err(LedgerError::given_up())) {
            Ok(Resolution::Published(receipt)) => Some(receipt),
            Ok(Resolution::NotPublished) => None,
            Ok(Resolution::Open { why }) => return Err(Failing::open(work, &why.to_string())),
            Err(error) => return Err(Failing::open(work, &error.to_string())),
        };
        let seen = receipt.as_ref().map(|receipt| ReceiptSeen { attempt_id: receipt.attempt_id });
        match (open.resolve(seen), receipt) {
            (Ok(_), Some(receipt)) => self.found(work, receipt).await,
            (Err(failed), _) => {
                let what = "the COMMIT was lost: behind the barrier there is no receipt, so nothing was published";
                Err(Failing::ended(Problem::new(ErrorCode::Retried, what).class(failed.class())))
            }
            (Ok(_), None) => {
                Err(Failing::problem(Problem::new(ErrorCode::Bug, "a run without a receipt was taken for published")))
            }
        }
    }

    async fn found(&self, work: &Work<'_>, receipt: Receipt) -> Result<Receipted, Box<Failing>> {
        let runs =
            self.patience.ledger(self.ledger().runs_of(work.claim.partition_id)).await.map_err(Failing::ledger)?;
        let counts = runs.iter().find(|run| run.attempt_id == receipt.attempt_id);
        Ok(Receipted {
            unchanged: receipt.kind == ReceiptKind::Unchanged,
            rows: RowCounts {
                total: receipt.row_count,
                inserted: counts.and_then(|run| run.rows_inserted).unwrap_or_default(),
                updated: counts.and_then(|run| run.rows_updated).unwrap_or_default(),
                deleted: counts.and_then(|run| run.rows_deleted).unwrap_or_default(),
            },
            comparison: counts.and_then(|run| run.comparison.clone()),
            checksum: receipt.checksum,
            published_at: receipt.published_at,
            resolved: true,
            // the answer that said so was lost; the event keeps it
            edited: None,
        })
    }

    /// After the receipt is known, and only then: the staging table goes, or takes the next partition's rows.
    pub(crate) async fn tidy(&mut self, work: &Work<'_>, staged: &Staged) {
        let name = format!("{}.{}", staged.relation.schema.as_str(), staged.relation.table.as_str());
        if let Ok(name) = StagingName::parse(&name) {
            self.spend(work, name, staged, work.staging_rows).await;
        }
    }
}

/// Count and checksum are those of the receipt that readers see.
fn equals_receipt(work: &Work<'_>, staged: &Staged) -> bool {
    work.receipt
        .as_ref()
        .is_some_and(|receipt| receipt.row_count == staged.content.rows && receipt.checksum == staged.content.checksum)
}

/// What a strategy may know of the run.
pub(crate) fn parts<'a>(work: &'a Work<'_>, staged: &'a Staged, kept: Option<&'a Kept>) -> Parts<'a> {
    Parts {
        target: &work.prepared.target,
        columns: &work.prepared.columns,
        staging: &staged.relation,
        keep: kept.map(|kept| Keep { table: &kept.table, publish: work.started.attempt_id }),
    }
}

/// The ledger's statements around the data: lock and fence first, the receipt last, the proof after COMMIT.
fn gate(work: &Work<'_>, worker: uuid::Uuid, kind: ReceiptKind, kept: Option<&Kept>) -> Gate {
    Gate {
        first: locks(work),
        last: vec![receipt(&PublishTail {
            partition_id: work.claim.partition_id,
            attempt_id: work.started.attempt_id,
            token: work.claim.token,
            worker,
            kind,
            rows_deleted: None,
            rows_inserted: None,
            rows_updated: None,
            target_rows: None,
            target_checksum: None,
            points_to: None,
            history_relation: kept.map(|kept| kept.relation.as_str()),
            history_kept_for: kept.map(|kept| kept.seconds),
            input_manifest: None,
            comparison: None,
            close: work.prepared.job.closes(work.partition, work.request.as_of),
        })],
        confirm: Some(proof(work.started.attempt_id)),
    }
}

/// The target first, where keys may lie in any interval of it, then the partition: the order of everybody.
fn locks(work: &Work<'_>) -> Vec<Statement> {
    let (job, row) = (&work.prepared.job, &work.prepared.row);
    let mut locks = Vec::new();
    if job.strategy.takes_changes() {
        locks.push(
            Statement::new("lock the target", data_plane::LOCK_TARGET)
                .bind(row.pipeline_id, Type::INT4)
                .must_return_row(),
        );
        if job.version.is_none() {
            let start = work.partition.interval.start();
            locks.push(
                Statement::new("look for later changes", data_plane::NO_NEWER_PUBLISH)
                    .bind(row.pipeline_id, Type::INT4)
                    .bind(row.interval_epoch, Type::INT4)
                    .bind(start, Type::TIMESTAMPTZ),
            );
        }
    }
    locks.push(lock_and_check_fence(work.claim.partition_id, work.claim.token, work.request.reopen));
    locks
}

/// Locks the partition's row and checks the fence under the lock.
pub(crate) fn lock_and_check_fence(partition_id: i64, token: i64, reopen: bool) -> Statement {
    Statement::new("lock the partition", data_plane::LOCK_AND_CHECK_FENCE)
        .bind(partition_id, Type::INT8)
        .bind(token, Type::INT8)
        .bind(reopen, Type::BOOL)
        .must_return_row()
}

/// Writes the receipt and everything that commits with it.
pub(crate) fn receipt(tail: &PublishTail<'_>) -> Statement {
    let text = |value: Option<&str>| value.map(ToOwned::to_owned);
    Statement::new("write the receipt", data_plane::PUBLISH_TAIL)
        .bind(tail.partition_id, Type::INT8)
        .bind(tail.attempt_id, Type::INT8)
        .bind(tail.token, Type::INT8)
        .bind(tail.worker, Type::UUID)
        .bind(tail.kind.as_str(), Type::TEXT)
        .bind(tail.rows_deleted, Type::INT8)
        .bind(tail.rows_inserted, Type::INT8)
        .bind(tail.rows_updated, Type::INT8)
        .bind(tail.target_rows, Type::INT8)
        .bind(text(tail.target_checksum), Type::TEXT)
        .bind(tail.points_to, Type::INT8)
        .bind(text(tail.history_relation), Type::TEXT)
        .bind(tail.history_kept_for, Type::INT8)
        .bind(tail.input_manifest.cloned(), Type::JSONB)
        .bind(tail.comparison.cloned(), Type::JSONB)
        .bind(tail.close, Type::BOOL)
        .must_return_row()
}

/// Reads the receipt back: no row on the same connection means that COMMIT rolled back.
pub(crate) fn proof(attempt_id: i64) -> Statement {
    Statement::new("read the receipt", data_plane::RECEIPT_OF).bind(attempt_id, Type::INT8)
}

/// What others had changed since the last receipt, by the words of the ledger, which compared the two under the lock.
fn edited(work: &Work<'_>, receipt: &[tokio_postgres::Row]) -> Option<Edited> {
    let row = receipt.first()?;
    let count = |name: &str| row.try_get::<_, Option<i64>>(name).ok().flatten();
    let edited = Edited { rows_before: count("edited_rows_before")?, receipt_rows: count("edited_receipt_rows")? };
    tracing::warn!(event = "edited_since_receipt", pipeline = work.prepared.job.name, key = %work.partition.key,
        rows_before = edited.rows_before, receipt_rows = edited.receipt_rows);
    Some(edited)
}

/// When the receipt was written, by its own words.
pub(crate) fn published_at(proof: &[tokio_postgres::Row]) -> Timestamp {
    proof.first().and_then(|row| row.try_get("published_at").ok()).unwrap_or_default()
}

impl Failing {
    /// The unchanged path found other rows than the receipt says.
    fn is_edited_target(&self) -> bool {
        self.kind == Some(ReceiptKind::Unchanged)
            && self.error.as_ref().is_some_and(|error| matches!(error.kind(), ErrorKind::ReadBackDiffers { .. }))
    }

    /// The run whose publish rolled back, to be published in another way.
    pub(crate) fn into_run(self: Box<Self>) -> Result<Run<Validated>, Box<Self>> {
        let mut this = self;
        match this.run.take() {
            Some(run) => Ok(run),
            None => Err(this),
        }
    }

    /// Nobody knows yet; nothing may run on the partition.
    fn open(work: &Work<'_>, why: &str) -> Box<Self> {
        let what = format!("COMMIT of run #{} was sent and its outcome is not known: {why}", work.started.attempt_no);
        let mut problem = Problem::new(ErrorCode::OutcomeUnknown, what)
            .why("only the ledger knows, and it could not be asked behind the barrier yet")
            .fix("run the same command again: it asks the ledger before anything is done");
        problem.attempt_no = Some(work.started.attempt_no);
        Self::ended(problem)
    }
}

/// A run that ended as class `abandoned` is tried again like a transient one.
pub(crate) const fn is_retried(class: Option<FailureClass>) -> bool {
    match class {
        Some(class) => class.is_retried(),
        None => false,
    }
}
