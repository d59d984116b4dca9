//! A quick look whether an interval of a target holds rows at all.

use thrice_core::column_bounds::ColumnBounds;
use thrice_core::identifier::TableName;
use tokio_postgres::Client;
use tokio_util::sync::CancellationToken;

use crate::{
    bounds,
    error::PublishError,
    open_transaction::{OpenTransaction, READ_ONLY},
    probe::Quiet,
    session::{Pins, Session, Timeouts, get, pin},
    statement_cache::StatementCache,
    steps::{Answer, Ask, Steps, one_row},
    target::Target,
};

/// Whether the interval holds a row. Stops at the first one; without an index on the interval column an empty interval
/// costs a scan, so give it a limit.
pub async fn holds_rows(
    client: &mut Client,
    target: &Target,
    bounds: &ColumnBounds,
    timeouts: &Timeouts,
    stop: &CancellationToken,
) -> Result<bool, PublishError> {
    let transaction = client
        .build_transaction()
        .read_only(true)
        .start()
        .await
        .map_err(|error| PublishError::driver("begin", error))?;
    let holds = {
        let mut steps = Steps::new(&transaction, stop);
        let pinned = pin(&steps, &Pins::timeouts(timeouts).and(Pins::tool())).await?;
        steps.limit(pinned.statement_timeout());
        let text = format!("select exists (select from {} where {})", target.table, target.inside());
        get(&steps.row(LOOK, &text, &bounds::params(bounds)).await?, 0)?
    };
    transaction.rollback().await.map_err(|error| PublishError::driver("end the reading transaction", error))?;
    Ok(holds)
}

/// Opens the reading transaction that checks run in: whether rows are there that no receipt accounts for (where `look` is
/// asked), then the zone, search path, settings and limits that the user's expressions see. Dropped, it is rolled back.
///
/// A guard that must hold at COMMIT belongs into [`PublishRequest::existing_rows`](crate::publish::PublishRequest).
pub async fn look_and_pin<'c>(
    client: &'c mut Client,
    look: Option<(&Target, &ColumnBounds)>,
    session: &Session,
    timeouts: &Timeouts,
    statements: &StatementCache,
    stop: &CancellationToken,
) -> Result<(OpenTransaction<'c>, Option<i64>), PublishError> {
    let transaction = OpenTransaction::new(client, READ_ONLY);
    let found = look_in(&transaction, look, session, timeouts, statements, stop).await?;
    Ok((transaction, found))
}

async fn look_in(
    transaction: &OpenTransaction<'_>,
    look: Option<(&Target, &ColumnBounds)>,
    session: &Session,
    timeouts: &Timeouts,
    statements: &StatementCache,
    stop: &CancellationToken,
) -> Result<Option<i64>, PublishError> {
    let steps = Steps::opening(transaction, stop).keeping(statements);
    let (tool, query) =
        (Pins::timeouts(timeouts).and(Pins::tool()), Pins::query(session).and(Pins::timeouts(timeouts)));
    let (tool, query) = (tool.set(""), query.set(""));
    let Some((target, bounds)) = look else {
        steps.ask(query.ask()).await?;
        return Ok(None);
    };
    // under the search path that the publish asks it under as well: under another one it would be planned anew
    let (text, bounds) = (count_text(target), bounds::params(bounds));
    let mut asks = vec![(tool.ask(), None), (Ask::again(LOOK, &text, &bounds), None)];
    asks.extend(Pins::own_path(session).map(|ask| (ask, None)));
    asks.push((query.ask(), None));
    let mut answers = steps.ask_in_steps(&asks, &Quiet).await?;
    counted(answers.swap_remove(1)).map(Some)
}

pub(crate) const LOOK: &str = "look for existing rows";

/// A count, and not whether one exists: with a plan for any interval the server expects to meet a row soon and reads the
/// table from its beginning, which where there is none is all of it.
pub(crate) fn count_text(target: &Target) -> String {
    count_text_of(target, &target.table)
}

/// The same of one partition.
pub(crate) fn count_text_of(target: &Target, table: &TableName) -> String {
    format!("select pg_catalog.count(*) from {table} where {}", target.inside())
}

pub(crate) fn counted(answer: Answer) -> Result<i64, PublishError> {
    get(&one_row(LOOK, answer.rows)?, 0)
}
