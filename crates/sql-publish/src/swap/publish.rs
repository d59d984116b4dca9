//! What a publish of a swap does: everything that has to be read is read before anybody is locked out.
//!
//! The prepared table is locked first and its rows are counted and summed under that lock, so what is attached is what was
//! staged, and nothing has to be read while the target is locked. Old rows are read in their partition and not through the
//! parent: whoever swaps another partition of it holds no lock on the parent then, and two swaps wait for each
//! other instead of standing in each other's way.

use std::time::Duration;

use crate::{
    bounds,
    checksum::{self, Content},
    comparison,
    error::{ErrorKind, PublishError},
    peek, probe,
    publish::{ExistingRows, Judge, PublishRequest, Rows},
    session::{get, milliseconds},
    steps::{Ask, Steps},
    strategy::{Swap, SwapOf},
    swap::interval::IntervalPartition,
};

use tokio_postgres::types::Type;

/// How long a lock that keeps neither readers nor writers out is waited for.
const PATIENT: Duration = Duration::from_secs(5);

const STILL_THERE: &str = "look at the old partition";

/// Runs the plan of a swap, and says what the interval holds then.
pub(crate) async fn write_rows(
    steps: &Steps<'_>,
    request: &PublishRequest<'_>,
    swap: &Swap,
    judge: Option<&Judge<'_>>,
) -> Result<Rows, PublishError> {
    let lock = format!("lock table only {} in access exclusive mode", swap.prepared);
    steps.execute("lock the prepared table", &lock, &[]).await?;
    let before = look(steps, request, swap).await?;
    let text = checksum::statement(&swap.prepared, request.columns.columns(), None);
    let content = checksum::read(steps, &text, &[]).await?;
    if content != request.staged.content {
        let relation = swap.prepared.clone();
        return Err(PublishError::new("compare the prepared table", ErrorKind::StagingNotWhole { relation }));
    }
    if let (Some(judge), Some(compared)) = (judge, &before.comparison)
        && !judge(compared).await
    {
        return Err(PublishError::new(comparison::COMPARE, ErrorKind::Refused));
    }
    let mut asks: Vec<(Ask<'_>, Option<&'static str>)> = Vec::with_capacity(request.plan.steps.len() + 1);
    let again = match (&swap.of, request.existing_rows) {
        (SwapOf::Partition(old), ExistingRows::MustBeNone) => Some(rows_of(old)),
        (SwapOf::Partition(_) | SwapOf::Nothing, _) => None,
    };
    let mut looked = None;
    for step in &request.plan.steps {
        asks.push((Ask::once(step.what, &step.text, &[]), step.probe));
        if let (Some(text), Some(probe::PUBLISH_DETACHED)) = (&again, step.probe) {
            looked = Some(asks.len());
            asks.push((Ask::once(peek::LOOK, text, &[]), None));
        }
    }
    let mut answers = steps.ask_in_steps(&asks, request.probe).await?;
    if let Some(at) = looked {
        nobody_accounts_for(peek::counted(answers.swap_remove(at))?)?;
    }
    Ok(Rows {
        before: before.content,
        deleted: before.rows,
        inserted: content.rows,
        updated: 0,
        content,
        comparison: before.comparison,
    })
}

/// Readers and writers pass. An autovacuum that is at the partition gives up after the server's `deadlock_timeout`, for which a
/// swap could not wait later: then the readers of the target would wait with it.
async fn lock_out_autovacuum(
    steps: &Steps<'_>,
    request: &PublishRequest<'_>,
    old: &IntervalPartition,
) -> Result<(), PublishError> {
    let wait = async |limit: Duration| {
        let text = "select pg_catalog.set_config('lock_timeout', $1, true)";
        steps.execute("set how long locks are waited for", text, &[(&milliseconds(limit) as _, Type::TEXT)]).await
    };
    let brief = request.timeouts.lock;
    wait(brief.max(PATIENT)).await?;
    let lock = format!("lock table only {} in share update exclusive mode", old.table);
    steps.execute(STILL_THERE, &lock, &[]).await?;
    wait(brief).await.map(drop)
}

/// Whether rows came after they were looked for: now nobody can write them any more. One is enough to know.
fn rows_of(old: &IntervalPartition) -> String {
    format!("select pg_catalog.count(*) from (select from {} limit 1) q", old.table)
}

fn nobody_accounts_for(rows: i64) -> Result<(), PublishError> {
    if rows > 0 { Err(PublishError::new(peek::LOOK, ErrorKind::ExistingRows { rows })) } else { Ok(()) }
}

/// What the interval held.
struct Before {
    rows: i64,
    content: Option<Content>,
    comparison: Option<serde_json::Value>,
}

async fn look(steps: &Steps<'_>, request: &PublishRequest<'_>, swap: &Swap) -> Result<Before, PublishError> {
    let target = request.target;
    let old = match &swap.of {
        SwapOf::Partition(old) => {
            lock_out_autovacuum(steps, request, old).await?;
            // under that lock it stays what it is
            let (schema, name) = (old.table.schema.as_str(), old.table.table.as_str());
            let params = [
                (&old.oid as _, Type::OID),
                (&target.oid as _, Type::OID),
                (&schema as _, Type::TEXT),
                (&name as _, Type::TEXT),
            ];
            let row = steps.row(STILL_THERE, include_str!("../../sql/swap_still_there.sql"), &params).await?;
            if !get::<bool>(&row, 0)? {
                return Err(PublishError::new(STILL_THERE, ErrorKind::PartitionMoved));
            }
            &old.table
        }
        SwapOf::Nothing => {
            // what attaching takes, taken before anything of the table is read: who waits here holds nothing
            let lock = format!("lock table only {} in share update exclusive mode", target.table);
            steps.execute("lock the target", &lock, &[]).await?;
            &target.table
        }
    };
    let bounds = bounds::params(request.bounds);
    let filter = target.inside();
    match request.existing_rows {
        ExistingRows::Receipted => {
            let text = checksum::statement(old, request.columns.columns(), Some(&filter));
            let content = checksum::read(steps, &text, &bounds).await?;
            let compare = comparison::statement(target, old, request.columns, &swap.prepared);
            let answer = steps.ask(Ask::once(comparison::COMPARE, &compare, &bounds)).await?;
            Ok(Before { rows: content.rows, content: Some(content), comparison: Some(comparison::read(answer)?) })
        }
        ExistingRows::MayBeReplaced | ExistingRows::MustBeNone => {
            let text = peek::count_text_of(target, old);
            let rows = peek::counted(steps.ask(Ask::once(peek::LOOK, &text, &bounds)).await?)?;
            if request.existing_rows == ExistingRows::MustBeNone {
                nobody_accounts_for(rows)?;
            }
            Ok(Before { rows, content: None, comparison: None })
        }
    }
}
