//! The publish: one READ COMMITTED transaction that makes the staged rows the interval, with the caller's receipt.
//!
//! The order is the safety: settings, then the caller's lock and fence as statements of their own, then the data, then
//! the read-back, then the caller's receipt, then COMMIT, then the proof on the same connection.

use std::time::Duration;

use futures_util::future::{BoxFuture, join};
use serde_json::Value;
use thrice_core::column_bounds::ColumnBounds;
use tokio::time::timeout;
use tokio_postgres::{Client, Row, error::Severity, types::Type};
use tokio_util::sync::CancellationToken;

use crate::{
    bounds, changed_keys,
    checksum::{self, Content},
    columns::ColumnMap,
    comparison,
    error::{ErrorKind, PublishError},
    history,
    open_transaction::{OpenTransaction, READ_COMMITTED},
    peek,
    probe::{self, Probe},
    session::{Pins, Session, Timeouts, get, run_under},
    staging::Staged,
    statement::Statement,
    statement_cache::StatementCache,
    steps::{Answer, Ask, Param, Steps, answered, one_row},
    strategy::{Counts, PublishPlan, ReadBack, Writes},
    swap,
    target::Target,
};

/// How long the answer to a ROLLBACK is waited for: nothing depends on it.
const ROLLBACK: Duration = Duration::from_secs(2);

/// The caller's statements around the data.
#[derive(Debug, Default)]
pub struct Gate {
    /// Run before any data is touched, each on its own: locks, fence, closed or not. What must stop the publish
    /// raises, or returns no row where one is needed.
    pub first: Vec<Statement>,
    /// Run after the read-back, last before COMMIT: the receipt.
    pub last: Vec<Statement>,
    /// Sent behind COMMIT on the same connection; where COMMIT came back without an error, a row is the proof. Without
    /// one, the server is asked for the fate of the transaction's id.
    pub confirm: Option<Statement>,
}

/// What the caller says about rows that are already there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExistingRows {
    /// A receipt accounts for them. What the interval holds is read before it is replaced, and left for the statements of
    /// [`Gate::last`] in the settings `thrice.rows_before` and `thrice.checksum_before` of the transaction: somebody may
    /// have changed it since.
    Receipted,
    /// Somebody took responsibility: they may be replaced.
    MayBeReplaced,
    /// Nobody accounts for rows of this interval: finding some ends the publish with [`ErrorKind::ExistingRows`].
    MustBeNone,
}

/// One publish.
pub struct PublishRequest<'a> {
    /// The target as examined.
    pub target: &'a Target,
    /// The columns that are written.
    pub columns: &'a ColumnMap,
    /// The interval.
    pub bounds: &'a ColumnBounds,
    /// What is staged, as recorded when it was staged.
    pub staged: &'a Staged,
    /// The strategy's plan.
    pub plan: &'a PublishPlan,
    /// Whether rows may be there already.
    pub existing_rows: ExistingRows,
    /// What triggers of the target see.
    pub session: &'a Session,
    /// Limits of the transaction.
    pub timeouts: &'a Timeouts,
    /// How long COMMIT, and the proof behind it, may take before the outcome counts as unknown.
    pub commit_timeout: Duration,
    /// `application_name` during the transaction, so that others can find it: `thrice:<partition>#<attempt>`.
    pub application_name: &'a str,
    /// The caller's statements.
    pub gate: Gate,
    /// Told after each step.
    pub probe: &'a dyn Probe,
    /// The connection's prepared statements.
    pub statements: &'a StatementCache,
    /// Fires when the caller wants the work to end. Without effect once COMMIT is sent.
    pub stop: &'a CancellationToken,
}

/// How a publish ended. There is no fourth way.
#[must_use]
#[derive(Debug)]
pub enum PublishOutcome {
    /// The rows are the interval, and the proof was read.
    Committed(Published),
    /// Nothing changed.
    RolledBack(PublishError),
    /// COMMIT was sent and nobody knows. Nothing may run on this partition before the caller has found out.
    Unknown {
        /// The server process that ran the transaction.
        backend_pid: i32,
        /// Its transaction id, in the server's 64-bit spelling.
        xid: String,
        /// What happened instead of an answer.
        error: PublishError,
    },
}

/// A publish whose proof was read.
#[derive(Debug)]
pub struct Published {
    /// Old rows that are gone.
    pub rows_deleted: i64,
    /// New rows.
    pub rows_inserted: i64,
    /// Rows that were changed in place.
    pub rows_updated: i64,
    /// What the interval held, where it was read: see [`ExistingRows::Receipted`].
    pub before: Option<Content>,
    /// What the interval holds now.
    pub content: Content,
    /// Old rows against new ones, where a receipt accounts for the old ones:
    /// `{"rows": {"before", "after"}, "keys": {"added", "removed", "changed", "equal"} or null, "sums": {COLUMN: {"before",
    /// "after"}}}`. Counts of rows as numbers, sums of numeric columns outside the key as decimal text or null.
    pub comparison: Option<Value>,
    /// The server process that ran the transaction.
    pub backend_pid: i32,
    /// Its transaction id.
    pub xid: String,
    /// What the last statement of [`Gate::last`] returned.
    pub receipt: Vec<Row>,
    /// What [`Gate::confirm`] returned.
    pub proof: Vec<Row>,
}

/// Publishes. The caller keeps the connection only where the outcome is not [`PublishOutcome::Unknown`] and the error
/// says that it is not lost.
pub async fn publish(client: &mut Client, request: &PublishRequest<'_>) -> PublishOutcome {
    publish_when(client, request, std::future::ready(true), None).await
}

/// Asked with old rows against new ones, as [`Published::comparison`] has them: under the locks of [`Gate::first`], and before
/// any old row is touched. Where it answers `false` the publish rolls back with [`ErrorKind::Refused`].
pub type Judge<'j> = dyn Fn(&Value) -> BoxFuture<'j, bool> + Sync + 'j;

/// The same, while `ready` is under way: what must have happened elsewhere before the statements of [`Gate::last`] run,
/// such as a record that they look for. Where it answers `false` the publish rolls back with [`ErrorKind::NotReady`].
/// `judge` is asked where old rows are compared with new ones.
pub async fn publish_when(
    client: &mut Client,
    request: &PublishRequest<'_>,
    ready: impl Future<Output = bool>,
    judge: Option<&Judge<'_>>,
) -> PublishOutcome {
    let transaction = OpenTransaction::new(client, READ_COMMITTED);
    let written = {
        let mut steps = Steps::opening(&transaction, request.stop).keeping(request.statements);
        write(&mut steps, request, ready, judge).await
    };
    let written = match written {
        Ok(written) => written,
        Err(error) => {
            // COMMIT was never sent: whatever becomes of the ROLLBACK, the server commits nothing.
            if !error.is_connection_lost() {
                let answer = timeout(ROLLBACK, transaction.rollback()).await;
                tracing::debug!(?answer, "rolled back");
            }
            return PublishOutcome::RolledBack(error);
        }
    };
    request.probe.at(probe::PUBLISH_RECEIPT);

    let unknown = |error| PublishOutcome::Unknown { backend_pid: written.backend_pid, xid: written.xid.clone(), error };
    let (what, text, params) = proof(&request.gate, &written.xid);
    let proof = Ask::again(what, text, &params);
    let Ok((committed, proof)) =
        timeout(request.commit_timeout, transaction.commit_then(proof, request.statements)).await
    else {
        let kind = ErrorKind::TimedOut { limit: request.commit_timeout, in_doubt: true };
        return unknown(PublishError::new(COMMIT, kind));
    };
    if let Err(error) = committed {
        let definite = is_definite_rollback(&error);
        let error = PublishError::driver(COMMIT, error);
        return if definite { PublishOutcome::RolledBack(error) } else { unknown(error) };
    }
    match proof {
        Ok(rows) if rows.is_empty() => PublishOutcome::RolledBack(PublishError::new(COMMIT, ErrorKind::NoReceipt)),
        Ok(proof) => PublishOutcome::Committed(Published {
            rows_deleted: written.rows.deleted,
            rows_inserted: written.rows.inserted,
            rows_updated: written.rows.updated,
            before: written.rows.before,
            content: written.rows.content,
            comparison: written.rows.comparison,
            backend_pid: written.backend_pid,
            xid: written.xid,
            receipt: written.receipt,
            proof,
        }),
        Err(error) => unknown(error),
    }
}

const COMMIT: &str = "commit";

/// An error answer to COMMIT means that it rolled back; a session that ended, or a code that says the server itself
/// does not know, means nothing.
fn is_definite_rollback(error: &tokio_postgres::Error) -> bool {
    error.as_db_error().is_some_and(|db| {
        matches!(db.parsed_severity(), Some(Severity::Error))
            && !matches!(db.code().code(), "08007" | "40003")
            && !db.code().code().starts_with("08")
    })
}

/// What stands in the open transaction.
struct Written {
    backend_pid: i32,
    xid: String,
    rows: Rows,
    receipt: Vec<Row>,
}

/// Counts travel to the receipt's statement in settings of the transaction; a pooled connection may carry another
/// run's, so they begin empty.
const COUNTS: [&str; 8] = [
    "thrice.rows_deleted",
    "thrice.rows_inserted",
    "thrice.rows_updated",
    "thrice.target_rows",
    "thrice.target_checksum",
    "thrice.rows_before",
    "thrice.checksum_before",
    "thrice.comparison",
];

async fn write(
    steps: &mut Steps<'_>,
    request: &PublishRequest<'_>,
    ready: impl Future<Output = bool>,
    judge: Option<&Judge<'_>>,
) -> Result<Written, PublishError> {
    let mut begin = Pins::timeouts(request.timeouts).and(Pins::checksum()).and(Pins::tool());
    begin.push("application_name", request.application_name);
    if let Some(publish) = request.plan.kept_as {
        begin.push(history::SETTING, publish.to_string());
    }
    for name in COUNTS {
        begin.push(name, "");
    }
    let writing = async {
        let row = lock(steps, request, &begin).await?;
        let rows = match &request.plan.swap {
            Some(swap) => swap::publish::write_rows(steps, request, swap, judge).await?,
            None => write_rows(steps, request, judge).await?,
        };
        Ok::<_, PublishError>((row, rows))
    };
    let (written, is_ready) = join(writing, ready).await;
    let (row, rows) = written?;
    let (backend_pid, xid): (i32, String) = (get(&row, row.len() - 2)?, get(&row, row.len() - 1)?);
    check_written(steps, request, &rows).await?;
    if !is_ready {
        return Err(PublishError::new("write the receipt", ErrorKind::NotReady));
    }
    read_back(request, &rows.content)?;
    request.probe.at(probe::PUBLISH_READ_BACK);

    let mut last = Pins::tool();
    // the receipt's statement finds its rows by their numbers, whichever these are
    last.push("plan_cache_mode", "force_generic_plan");
    for (name, count) in [
        ("thrice.rows_deleted", rows.deleted),
        ("thrice.rows_inserted", rows.inserted),
        ("thrice.rows_updated", rows.updated),
    ] {
        last.push(name, count.to_string());
    }
    // of changes the receipt says what was applied: their rows may lie in any interval
    if request.plan.reads_back == ReadBack::Interval {
        last.push("thrice.target_rows", rows.content.rows.to_string());
        last.push("thrice.target_checksum", rows.content.checksum.clone());
    }
    if let Some(before) = &rows.before {
        last.push("thrice.rows_before", before.rows.to_string());
        last.push("thrice.checksum_before", before.checksum.clone());
    }
    if let Some(comparison) = &rows.comparison {
        last.push("thrice.comparison", comparison.to_string());
    }
    let receipt = run_under(steps, &last, &request.gate.last).await?;
    let (what, text, params) = proof(&request.gate, &xid);
    steps.prepare(Ask::again(what, text, &params)).await?;
    steps.check_stop("commit")?;
    Ok(Written { backend_pid, xid, rows, receipt })
}

/// The settings `begin`, the caller's locks and fence, then, where there must be none, the look for rows that nobody
/// accounts for: a statement of its own behind the lock, so that it sees what whoever held it has committed.
///
/// A row whose last columns are the server process and the transaction's id.
async fn lock(steps: &mut Steps<'_>, request: &PublishRequest<'_>, begin: &Pins) -> Result<Row, PublishError> {
    let first = &request.gate.first;
    let params: Vec<_> = first.iter().map(Statement::params).collect();
    let mut asks: Vec<(Ask<'_>, Option<&'static str>)> = first
        .iter()
        .zip(&params)
        .map(|(statement, params)| (Ask::again(statement.what(), statement.text(), params), None))
        .collect();
    if let Some((_, step)) = asks.last_mut() {
        *step = Some(probe::PUBLISH_LOCKED);
    }
    let (count, bounds) = (peek::count_text(request.target), bounds::params(request.bounds));
    // a swap looks for itself: reading the parent here would stand in the way of another swap
    if request.existing_rows == ExistingRows::MustBeNone && request.plan.swap.is_none() {
        asks.push((Ask::again(peek::LOOK, &count, &bounds), None));
    }
    let set = begin.set("pg_catalog.pg_backend_pid(), pg_catalog.pg_current_xact_id()::pg_catalog.text");
    let (_, row, answers) = set.then(steps, request.probe, Some(probe::PUBLISH_BEGUN), &asks).await?;
    if first.is_empty() {
        request.probe.at(probe::PUBLISH_LOCKED);
    }
    let mut answers = answers.into_iter();
    for (statement, answer) in first.iter().zip(&mut answers) {
        answered(statement, answer)?;
    }
    match answers.next().map(peek::counted).transpose()? {
        Some(rows) if rows > 0 => Err(PublishError::new(peek::LOOK, ErrorKind::ExistingRows { rows })),
        Some(_) | None => Ok(row),
    }
}

/// What was done to the interval, and what it holds then.
pub(crate) struct Rows {
    pub(crate) before: Option<Content>,
    pub(crate) deleted: i64,
    pub(crate) inserted: i64,
    pub(crate) updated: i64,
    pub(crate) content: Content,
    pub(crate) comparison: Option<Value>,
}

/// Runs the plan under the settings that the target's own triggers expect, and reads back what the interval holds then;
/// what it held before, where that is asked, under the settings that the transaction began with.
async fn write_rows(
    steps: &Steps<'_>,
    request: &PublishRequest<'_>,
    judge: Option<&Judge<'_>>,
) -> Result<Rows, PublishError> {
    let (look, bounds) = (read_back_text(request), bounds::params(request.bounds));
    let plan = &request.plan.steps;
    let of_interval = request.plan.reads_back == ReadBack::Interval;
    let reads_before = !plan.is_empty() && request.existing_rows == ExistingRows::Receipted && of_interval;
    let (theirs, ours) = (Pins::query(request.session), Pins::checksum().and(Pins::timeouts(request.timeouts)));
    let (set_theirs, set_ours) = (theirs.set(""), ours.set(""));
    let mut asks = Vec::new();
    let compare =
        comparison::statement(request.target, &request.target.table, request.columns, &request.staged.relation);
    if reads_before {
        asks.push((Ask::again(checksum::READ, &look, &bounds), None));
        asks.push((Ask::repeated(request.staged.comes_again, comparison::COMPARE, &compare, &bounds), None));
    }
    let (mut before, mut compared) = (None, None);
    if reads_before && let Some(judge) = judge {
        // a flight of its own: what is refused has written nothing, and fired no trigger
        let answers = steps.ask_in_steps(&std::mem::take(&mut asks), request.probe).await?;
        (before, compared) = old_against_new(answers)?;
        if let Some(compared) = &compared
            && !judge(compared).await
        {
            return Err(PublishError::new(comparison::COMPARE, ErrorKind::Refused));
        }
    }
    let asked_before = asks.len();
    if !plan.is_empty() {
        asks.extend(Pins::own_path(request.session).map(|ask| (ask, None)));
        asks.push((set_theirs.ask(), None));
    }
    let before_plan = asks.len();
    for step in plan {
        let params: &[Param<'_>] = if step.takes_bounds { &bounds } else { &[] };
        let again = !step.reads_staging || request.staged.comes_again;
        asks.push((Ask::repeated(again, step.what, &step.text, params), step.probe));
    }
    // Deferred constraints and triggers fire now, under the settings they expect: what they do is read back, and COMMIT
    // has nothing left to refuse.
    asks.push((Ask::again("fire deferred constraints", "set constraints all immediate", &[]), None));
    asks.push((set_ours.ask(), None));
    asks.push(match &request.plan.reads_back {
        ReadBack::Interval => (Ask::again(checksum::READ, &look, &bounds), None),
        ReadBack::Keys(text) => (Ask::repeated(request.staged.comes_again, changed_keys::READ, text, &[]), None),
    });

    let mut answers = steps.ask_in_steps(&asks, request.probe).await?;
    let read = answers.pop().ok_or_else(|| PublishError::new(checksum::READ, ErrorKind::NoRow))?;
    let content = match &request.plan.reads_back {
        ReadBack::Interval => checksum::content(read)?,
        ReadBack::Keys(_) => changed_keys::are_there(request.staged, read)?,
    };
    let (mut deleted, mut inserted, mut updated) = (0, 0, 0);
    for (step, answer) in plan.iter().zip(answers.drain(before_plan..)) {
        match step.counts {
            Counts::Deleted => deleted += answer.affected(),
            Counts::Inserted => inserted += answer.affected(),
            Counts::Updated => updated += answer.affected(),
            Counts::Kept | Counts::Nothing => {}
        }
    }
    if asked_before > 0 {
        answers.truncate(asked_before);
        (before, compared) = old_against_new(answers)?;
    }
    Ok(Rows { before, deleted, inserted, updated, content, comparison: compared })
}

/// What the interval held, and how it differs from what is staged.
fn old_against_new(answers: Vec<Answer>) -> Result<(Option<Content>, Option<Value>), PublishError> {
    let mut answers = answers.into_iter();
    let before = answers.next().map(checksum::content).transpose()?;
    Ok((before, answers.next().map(comparison::read).transpose()?))
}

async fn check_written(steps: &Steps<'_>, request: &PublishRequest<'_>, rows: &Rows) -> Result<(), PublishError> {
    let staged = request.staged.content.rows;
    let (written, expected) = match request.plan.writes {
        Writes::EveryStagedRow => (rows.inserted, staged),
        Writes::WhatDiffers => (rows.content.rows, staged),
        Writes::Nothing => (rows.inserted, 0),
    };
    if written == expected {
        return Ok(());
    }
    let what = "insert the staged rows";
    let relation = &request.staged.relation;
    let text = format!("select pg_catalog.count(*) from {relation}");
    let row = one_row("count the staged rows", steps.ask(Ask::once("count the staged rows", &text, &[])).await?.rows)?;
    // who lost them decides whether staging again can help
    if get::<i64>(&row, 0)? != staged {
        return Err(PublishError::new(what, ErrorKind::StagingNotWhole { relation: relation.clone() }));
    }
    match request.plan.writes {
        // the read-back tells it
        Writes::WhatDiffers => Ok(()),
        Writes::EveryStagedRow | Writes::Nothing => {
            Err(PublishError::new(what, ErrorKind::WrittenDiffers { written, staged }))
        }
    }
}

fn read_back_text(request: &PublishRequest<'_>) -> String {
    let filter = request.target.inside();
    checksum::statement(&request.target.table, request.columns.columns(), Some(&filter))
}

fn read_back(request: &PublishRequest<'_>, content: &Content) -> Result<(), PublishError> {
    let staged = &request.staged.content;
    if content == staged {
        return Ok(());
    }
    let kind = ErrorKind::ReadBackDiffers { rows: content.rows, staged: staged.rows };
    Err(PublishError::new("read the interval back", kind))
}

/// The question for the proof. A driver does not show the tag that COMMIT was answered with, and a failed transaction
/// answers ROLLBACK without an error.
fn proof<'p>(gate: &'p Gate, xid: &'p String) -> (&'static str, &'p str, Vec<Param<'p>>) {
    match &gate.confirm {
        Some(statement) => (statement.what(), statement.text(), statement.params()),
        None => (
            "ask for the fate of the transaction",
            "select 1 where pg_catalog.pg_xact_status($1::pg_catalog.text::pg_catalog.xid8) operator(pg_catalog.=) 'committed'",
            vec![(xid as _, Type::TEXT)],
        ),
    }
}

/// `application_name` of a publish, by which a resolver finds its server process.
pub fn application_name(partition_id: i64, attempt_no: i32) -> String {
    format!("thrice:{partition_id}#{attempt_no}")
}
