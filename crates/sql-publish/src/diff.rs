//! What a publish would change: the query's rows against those of the interval, in one transaction that is rolled back.
//!
//! The rows are staged as a run stages them, with the target's types, and nothing of it stays.

use serde_json::Value;
use thrice_core::column_bounds::ColumnBounds;
use thrice_core::identifier::{Identifier, TableName};
use tokio_postgres::Client;
use tokio_postgres::types::Type;
use tokio_util::sync::CancellationToken;

use crate::{
    bounds,
    checksum::Content,
    columns::ColumnMap,
    comparison::{self, COMPARE, equal},
    error::PublishError,
    open_transaction::{OpenTransaction, REPEATABLE_READ},
    probe::Quiet,
    query::UserQuery,
    session::{Session, Timeouts, get},
    staging::{self, Place, StageRequest, StagingName},
    staging_mode::Durable,
    statement_cache::StatementCache,
    steps::{Ask, Param, Steps, one_row},
    target::{Target, TargetColumn},
};

/// What is compared.
pub struct DiffRequest<'a> {
    /// The target as examined.
    pub target: &'a Target,
    /// The columns that query and target share.
    pub columns: &'a ColumnMap,
    /// The query that gives the new rows.
    pub query: &'a UserQuery,
    /// The interval.
    pub bounds: &'a ColumnBounds,
    /// The name of the table that takes the rows until the end of the transaction.
    pub staging: &'a StagingName,
    /// What the query sees.
    pub session: &'a Session,
    /// Limits of the transaction.
    pub timeouts: &'a Timeouts,
    /// So many rows that differ are given with their values, in the order of their keys.
    pub most_samples: i64,
    /// Fires when the caller wants the work to end.
    pub stop: &'a CancellationToken,
}

/// Old rows, which are those of the target, against new ones.
#[derive(Debug, Clone, PartialEq)]
pub struct Difference {
    /// As [`Published::comparison`](crate::publish::Published::comparison) has it.
    pub comparison: Value,
    /// The new rows.
    pub content: Content,
    /// For each column outside the key: rows of keys on both sides in which it differs. Empty without a key.
    pub columns: Vec<(Identifier, i64)>,
    /// Rows that differ. Empty without a key.
    pub samples: Vec<Sample>,
}

/// A row that is not the same on both sides.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sample {
    /// The old row, as each of the columns prints; `None`: there is none.
    pub before: Option<Vec<Option<String>>>,
    /// The new one.
    pub after: Option<Vec<Option<String>>>,
}

/// Compares. Nothing is written that stays.
pub async fn diff(client: &mut Client, request: &DiffRequest<'_>) -> Result<Difference, PublishError> {
    let transaction = OpenTransaction::new(client, REPEATABLE_READ);
    let found = {
        let statements = StatementCache::default();
        let mut steps = Steps::opening(&transaction, request.stop).keeping(&statements);
        look(&mut steps, request, &statements).await?
    };
    transaction.rollback().await.map_err(|error| PublishError::driver("end the comparing transaction", error))?;
    Ok(found)
}

async fn look(
    steps: &mut Steps<'_>,
    request: &DiffRequest<'_>,
    statements: &StatementCache,
) -> Result<Difference, PublishError> {
    let DiffRequest { target, columns, .. } = request;
    let staging = request.staging.table();
    let stage = StageRequest {
        target,
        columns,
        query: request.query,
        staging,
        place: Place::New(&Durable),
        session: request.session,
        timeouts: request.timeouts,
        owner: None,
        after: &|_| Vec::new(),
        probe: &Quiet,
        statements,
        stop: request.stop,
    };
    let (staged, _) = staging::fill(steps, &stage, &[]).await?;
    let inside = bounds::params(request.bounds);
    let compare = comparison::statement(target, &target.table, columns, staging);
    let comparison = comparison::read(steps.ask(Ask::once(COMPARE, &compare, &inside)).await?)?;
    let (mut counts, mut samples) = (Vec::new(), Vec::new());
    if !target.key.is_empty() {
        let written: Vec<&TargetColumn> = columns.columns().iter().filter_map(|name| target.column(name)).collect();
        let outside: Vec<&TargetColumn> =
            written.iter().copied().filter(|column| !target.key.contains(&column.name)).collect();
        if !outside.is_empty() {
            let text = of_columns(target, &outside, staging);
            let row = one_row(COMPARE, steps.ask(Ask::once(COMPARE, &text, &inside)).await?.rows)?;
            for (nth, column) in outside.iter().enumerate() {
                counts.push((column.name.clone(), get(&row, nth)?));
            }
        }
        if request.most_samples > 0 {
            let text = of_rows(target, &written, staging, inside.len());
            let mut params: Vec<Param<'_>> = inside.clone();
            params.push((&request.most_samples as _, Type::INT8));
            for row in steps.ask(Ask::once(COMPARE, &text, &params)).await?.rows {
                let side = |there: bool, at| -> Result<_, PublishError> { there.then(|| get(&row, at)).transpose() };
                samples.push(Sample { before: side(get(&row, 0)?, 2)?, after: side(get(&row, 1)?, 3)? });
            }
        }
    }
    Ok(Difference { comparison, content: staged.content, columns: counts, samples })
}

/// One row: for each column in how many rows of the same key it differs.
fn of_columns(target: &Target, columns: &[&TargetColumn], staging: &TableName) -> String {
    let counts: Vec<String> = columns
        .iter()
        .map(|column| format!("pg_catalog.count(*) filter (where ({}) is not true)", equal(column)))
        .collect();
    format!(
        "select {} from {} t join {staging} s on {} where {}",
        counts.join(", "),
        target.table,
        target.same_key(),
        target.inside_of("t.")
    )
}

/// Rows that differ: whether the old one is there, whether the new one is, and both as they print.
fn of_rows(target: &Target, written: &[&TargetColumn], staging: &TableName, params: usize) -> String {
    let printed = |side: &str| -> String {
        let texts: Vec<String> =
            written.iter().map(|column| format!("{side}.{}::pg_catalog.text", column.name)).collect();
        format!("array[{}]::pg_catalog.text[]", texts.join(", "))
    };
    let list: Vec<String> = written.iter().map(|column| column.name.to_string()).collect();
    let list = list.join(", ");
    let equal: Vec<String> = written.iter().map(|column| equal(column)).collect();
    let order: Vec<String> = target.key.iter().map(|key| format!("coalesce(s.{key}, t.{key})")).collect();
    format!(
        "select t.there is not null, s.there is not null, {}, {} \
         from (select true as there, {list} from {} t where {}) t \
         full join (select true as there, {list} from {staging} s) s on {} \
         where t.there is null or s.there is null or ({}) is not true order by {} limit ${}",
        printed("t"),
        printed("s"),
        target.table,
        target.inside_of("t."),
        target.same_key(),
        equal.join(" and "),
        order.join(", "),
        params + 1,
    )
}
