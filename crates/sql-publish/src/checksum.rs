//! The content checksum `v1`: row count and two sums of the halves of each row's MD5.
//!
//! Equal multisets of rows give equal text, whatever the order of the rows, the plan, or the session's settings; any
//! changed, added, doubled or missing cell gives another. Values never leave the server to be compared, so NaN equals
//! NaN and −0 differs from 0. It is no defence against somebody who constructs collisions on purpose.
//!
//! Known false alarms: `numeric` without a scale tells 1.0 from 1.00, `json` keeps its white space.

use thrice_core::{
    column_bounds::ColumnBounds,
    identifier::{Identifier, TableName},
};
use tokio_postgres::Client;
use tokio_util::sync::CancellationToken;

use crate::{
    bounds,
    error::PublishError,
    session::{Pins, Timeouts, get, pin},
    steps::{Answer, Ask, Param, Steps, one_row},
    target::Target,
};

/// Row count and checksum of some rows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Content {
    /// How many rows.
    pub rows: i64,
    /// `v1:<rows>:<sum>:<sum>`.
    pub checksum: String,
}

/// The statement that reads both from `relation`: columns `rows` (int8) and `checksum` (text).
///
/// `columns` are in the order that the checksum is defined over: the order the target declares them in. `filter` is a
/// boolean expression or nothing. It means something only under the settings that [`of_interval`] pins.
pub fn statement(relation: &TableName, columns: &[Identifier], filter: Option<&str>) -> String {
    let row: Vec<String> = columns.iter().map(ToString::to_string).collect();
    let filter = filter.map(|filter| format!(" where {filter}")).unwrap_or_default();
    format!(
        "select n as rows, 'v1:' || n || ':' || coalesce(a, 0) || ':' || coalesce(b, 0) as checksum \
         from (select count(*) as n, sum(('x' || left(h, 16))::bit(64)::bigint) as a, \
         sum(('x' || right(h, 16))::bit(64)::bigint) as b \
         from (select md5(row({row})::text) as h from {relation}{filter} offset 0) hashed) summed",
        row = row.join(", "),
    )
}

/// Content of the rows of one interval in a table, in a transaction of its own.
///
/// `stop` cancels the statement on the server.
pub async fn of_interval(
    client: &mut Client,
    target: &Target,
    columns: &[Identifier],
    bounds: &ColumnBounds,
    timeouts: &Timeouts,
    stop: &CancellationToken,
) -> Result<Content, PublishError> {
    let text = statement(&target.table, columns, Some(&target.inside()));
    alone(client, &text, &bounds::params(bounds), timeouts, stop).await
}

/// Content of a whole table, such as a staging table that the caller filled.
pub async fn of_table(
    client: &mut Client,
    table: &TableName,
    columns: &[Identifier],
    timeouts: &Timeouts,
    stop: &CancellationToken,
) -> Result<Content, PublishError> {
    alone(client, &statement(table, columns, None), &[], timeouts, stop).await
}

async fn alone(
    client: &mut Client,
    text: &str,
    params: &[Param<'_>],
    timeouts: &Timeouts,
    stop: &CancellationToken,
) -> Result<Content, PublishError> {
    let transaction = client
        .build_transaction()
        .read_only(true)
        .start()
        .await
        .map_err(|error| PublishError::driver("begin", error))?;
    let content = {
        let mut steps = Steps::new(&transaction, stop);
        let pinned = pin(&steps, &Pins::timeouts(timeouts).and(Pins::tool()).and(Pins::checksum())).await?;
        steps.limit(pinned.statement_timeout());
        read(&steps, text, params).await?
    };
    transaction.rollback().await.map_err(|error| PublishError::driver("end the reading transaction", error))?;
    Ok(content)
}

/// Content by a statement of [`statement`], under settings that the caller has pinned.
pub(crate) async fn read(steps: &Steps<'_>, text: &str, params: &[Param<'_>]) -> Result<Content, PublishError> {
    content(steps.ask(Ask::once(READ, text, params)).await?)
}

pub(crate) const READ: &str = "compute the checksum";

/// What a statement of [`statement`] was answered with.
pub(crate) fn content(answer: Answer) -> Result<Content, PublishError> {
    let row = one_row(READ, answer.rows)?;
    Ok(Content { rows: get(&row, 0)?, checksum: get(&row, 1)? })
}
