//! Rows that a publish replaced, kept in the same transaction so that it can be undone.
//!
//! One table of schema `thrice_history` for each set of columns of a target. A row belongs to the publish that replaced it,
//! or, where a strategy writes only what differs, that added it: putting an old state back means to take the rows that are
//! there, leave out every key that a publish has touched since, and add what the first of those publishes found.

use std::fmt;

use thrice_core::code::ErrorCode;
use thrice_core::column_bounds::ColumnBounds;
use thrice_core::identifier::{Identifier, TableName};
use tokio_postgres::{Client, types::Type};
use tokio_util::sync::CancellationToken;

use crate::{
    columns::{self, ColumnMap},
    error::{ErrorKind, PublishError},
    finding::Finding,
    open_transaction::{OpenTransaction, READ_COMMITTED, READ_ONLY},
    query::UserQuery,
    session::{Pins, Timeouts, get, pin},
    short_hash,
    statement::Statement,
    steps::Steps,
    target::Target,
    value::SqlValue,
};

/// The schema that kept rows live in.
pub const SCHEMA: &str = "thrice_history";
/// The column that says which publish a row belongs to.
pub(crate) const REPLACED_BY: &str = "thrice_replaced_by";
/// The column that says whether the row was there before that publish, or came with it.
pub(crate) const WAS_THERE: &str = "thrice_was_there";
/// The setting of the transaction that carries the number of the publish.
pub(crate) const SETTING: &str = "thrice.history_of";

/// The name of a table of kept rows: a short hash of the target and its columns with their types, so that a target whose
/// columns change gets another one.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct HistoryTable(TableName);

impl HistoryTable {
    /// The table for these columns of a target.
    pub fn of(target: &Target, columns: &ColumnMap) -> Result<Self, PublishError> {
        let table = target.table.to_string();
        let described = columns.columns().iter().filter_map(|name| target.column(name));
        let described = described.flat_map(|column| [column.name.as_str(), column.type_name.as_str()]);
        Self::with_hash(&short_hash::of(std::iter::once(table.as_str()).chain(described)))
    }

    /// Reads a name back from a ledger. Anything else is refused, so that what is deleted from as history can only be that.
    pub fn parse(text: &str) -> Result<Self, PublishError> {
        let hash = text.strip_prefix(SCHEMA).and_then(|rest| rest.strip_prefix(".h_"));
        match hash {
            Some(hash) if short_hash::is_one(hash) => Self::with_hash(hash),
            _ => Err(PublishError::new("read the name of a history table", ErrorKind::Driver)),
        }
    }

    fn with_hash(hash: &str) -> Result<Self, PublishError> {
        Ok(Self(TableName::new(columns::identifier(SCHEMA)?, columns::identifier(&format!("h_{hash}"))?)))
    }

    /// The table.
    pub const fn table(&self) -> &TableName {
        &self.0
    }
}

impl fmt::Display for HistoryTable {
    /// `thrice_history.h_…`: needs no quotes, and is what the ledger stores.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.0.schema.as_str(), self.0.table.as_str())
    }
}

/// Columns of a target whose names a table of kept rows has itself.
pub fn reserved_names(target: &Target) -> Vec<Finding> {
    let taken = target.columns.iter().filter(|column| [REPLACED_BY, WAS_THERE].contains(&column.name.as_str()));
    taken
        .map(|column| {
            Finding::error(
                ErrorCode::TargetKind,
                format!("{} has a column {}, and keep_old_for is set", target.table.readable(), column.name.as_str()),
                "the table of kept rows has a column of that name itself",
                "rename the column, or leave keep_old_for out",
            )
        })
        .collect()
}

/// Makes the table, where it is not there yet, and hands it over to `owner` as staging tables are.
pub async fn make(
    client: &mut Client,
    history: &HistoryTable,
    target: &Target,
    columns: &ColumnMap,
    owner: Option<&Identifier>,
    timeouts: &Timeouts,
    stop: &CancellationToken,
) -> Result<(), PublishError> {
    let transaction = OpenTransaction::new(client, READ_COMMITTED);
    let made = {
        let mut steps = Steps::opening(&transaction, stop);
        make_in(&mut steps, history, target, columns, owner, timeouts).await
    };
    match made {
        Ok(()) => transaction.commit().await.map_err(|error| PublishError::driver(MAKE, error)),
        // somebody else has made it in the meantime: the table, or its type
        Err(error) if error.sqlstate().is_some_and(|code| matches!(code.as_str(), "42P07" | "23505")) => {
            transaction.rollback().await.map_err(|error| PublishError::driver(MAKE, error))
        }
        Err(error) => Err(error),
    }
}

const MAKE: &str = "make the table of kept rows";

async fn make_in(
    steps: &mut Steps<'_>,
    history: &HistoryTable,
    target: &Target,
    columns: &ColumnMap,
    owner: Option<&Identifier>,
    timeouts: &Timeouts,
) -> Result<(), PublishError> {
    let pinned = pin(steps, &Pins::tool().and(Pins::timeouts(timeouts))).await?;
    steps.limit(pinned.statement_timeout());
    if is_there(steps, history).await? {
        return Ok(());
    }
    let table = history.table();
    let text = format!(
        "create table {table} as select null::pg_catalog.int8 as {REPLACED_BY}, null::pg_catalog.bool as {WAS_THERE}, {} \
         from {} with no data",
        columns.list(""),
        target.table
    );
    steps.execute(MAKE, &text, &[]).await?;
    steps.execute(MAKE, &format!("create index on {table} ({REPLACED_BY})"), &[]).await?;
    if let Some(owner) = owner {
        let names = [(&owner.as_str() as _, Type::TEXT), (&table.schema.as_str() as _, Type::TEXT)];
        let may = steps.rows(MAKE, include_str!("../sql/may_hand_over.sql"), &names).await?;
        // no row: there is no such role
        if let Some(row) = may.first()
            && get::<bool>(row, 0)?
        {
            steps.execute(MAKE, &format!("alter table {table} owner to {owner}"), &[]).await?;
        }
    }
    Ok(())
}

async fn is_there(steps: &Steps<'_>, history: &HistoryTable) -> Result<bool, PublishError> {
    let name = history.to_string();
    let text = "select pg_catalog.to_regclass($1::pg_catalog.text) is not null";
    get(&steps.row("look for the table of kept rows", text, &[(&name as _, Type::TEXT)]).await?, 0)
}

/// The columns of the target that a table of kept rows holds, in the target's order; `None` where it is gone, or where the
/// target does not have all of them any more, with the types they had.
pub async fn columns_kept(
    client: &mut Client,
    history: &HistoryTable,
    target: &Target,
    timeouts: &Timeouts,
    stop: &CancellationToken,
) -> Result<Option<ColumnMap>, PublishError> {
    const LOOK: &str = "look at the table of kept rows";
    let transaction = OpenTransaction::new(client, READ_ONLY);
    let fits = {
        let mut steps = Steps::opening(&transaction, stop);
        let pinned = pin(&steps, &Pins::tool().and(Pins::timeouts(timeouts))).await?;
        steps.limit(pinned.statement_timeout());
        let table = history.table();
        let params = [
            (&table.schema.as_str() as _, Type::TEXT),
            (&table.table.as_str() as _, Type::TEXT),
            (&target.oid as _, Type::OID),
        ];
        steps.rows(LOOK, include_str!("../sql/columns_kept.sql"), &params).await?
    };
    transaction.rollback().await.map_err(|error| PublishError::driver("end the reading transaction", error))?;
    let mut names = Vec::new();
    for row in &fits {
        if !get::<bool>(row, 1)? {
            return Ok(None);
        }
        names.push(columns::identifier(&get::<String>(row, 0)?)?);
    }
    Ok((!names.is_empty()).then(|| ColumnMap::of(names)))
}

/// One publish that is to be undone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Undone {
    /// Its number, by which its rows are found.
    pub publish: i64,
    /// It replaced every row of the interval; else only those that differed.
    pub whole: bool,
}

/// The query that gives the rows as they were before the first of these publishes, which are all that came after it, oldest
/// first. All of them kept their rows in the same table.
pub fn query(
    history: &HistoryTable,
    target: &Target,
    columns: &ColumnMap,
    bounds: &ColumnBounds,
    undone: &[Undone],
) -> UserQuery {
    let kept = history.table();
    let written = columns.list("k.");
    let whole = undone.iter().position(|publish| publish.whole);
    let partial: Vec<String> =
        undone.iter().take(whole.unwrap_or(undone.len())).map(|publish| publish.publish.to_string()).collect();
    let (base, values) = match whole.and_then(|at| undone.get(at)) {
        Some(publish) => {
            let of = format!("{kept} k where k.{REPLACED_BY} operator(pg_catalog.=) {}", publish.publish);
            (format!("{of} and k.{WAS_THERE}"), Vec::new())
        }
        None => (format!("{} k where {}", target.table, typed(target, bounds)), values(bounds)),
    };
    if partial.is_empty() {
        return UserQuery::new(format!("select {written} from {base}"), values);
    }
    let among = format!("{REPLACED_BY} operator(pg_catalog.=) any (array[{}]::pg_catalog.int8[])", partial.join(", "));
    let key: Vec<String> = target.key.iter().map(ToString::to_string).collect();
    let same: Vec<String> = target.key.iter().map(|key| format!("h.{key} operator(pg_catalog.=) k.{key}")).collect();
    let text = format!(
        "select {written} from (select h.*, pg_catalog.min(h.{REPLACED_BY}) over (partition by {}) as thrice_first \
         from {kept} h where h.{among}) k where k.{REPLACED_BY} operator(pg_catalog.=) k.thrice_first and k.{WAS_THERE}\n\
         union all\nselect {written} from {base} and not exists (select from {kept} h where h.{among} and {})",
        key.join(", "),
        same.join(" and "),
    );
    UserQuery::new(text, values)
}

/// The condition on the interval over `$1` and `$2`, which say their types: the query is described before it is sent.
fn typed(target: &Target, bounds: &ColumnBounds) -> String {
    let of = match bounds {
        ColumnBounds::Dates { .. } => "date",
        ColumnBounds::LocalTimes { .. } => "timestamp",
        ColumnBounds::Instants { .. } => "timestamptz",
        ColumnBounds::WholeTable => return "true".to_owned(),
    };
    let inside = target.inside_of("k.");
    inside.replace("$1", &format!("$1::pg_catalog.{of}")).replace("$2", &format!("$2::pg_catalog.{of}"))
}

fn values(bounds: &ColumnBounds) -> Vec<SqlValue> {
    match *bounds {
        ColumnBounds::Dates { start, end } => vec![SqlValue::Date(start), SqlValue::Date(end)],
        ColumnBounds::LocalTimes { start, end } => vec![SqlValue::LocalTime(start), SqlValue::LocalTime(end)],
        ColumnBounds::Instants { start, end } => vec![SqlValue::Instant(start), SqlValue::Instant(end)],
        ColumnBounds::WholeTable => Vec::new(),
    }
}

/// Deletes the rows of these publishes, and runs `record` in the same transaction. A table that is gone holds nothing; an empty
/// one stays, since a publish under way may have looked for it already.
pub async fn forget(
    client: &mut Client,
    history: &HistoryTable,
    publishes: &[i64],
    record: &Statement,
    timeouts: &Timeouts,
    stop: &CancellationToken,
) -> Result<i64, PublishError> {
    const FORGET: &str = "delete kept rows";
    let transaction = OpenTransaction::new(client, READ_COMMITTED);
    let rows = {
        let mut steps = Steps::opening(&transaction, stop);
        let pinned = pin(&steps, &Pins::tool().and(Pins::timeouts(timeouts))).await?;
        steps.limit(pinned.statement_timeout());
        let mut rows = 0;
        if is_there(&steps, history).await? {
            let text = format!("delete from {} where {REPLACED_BY} = any ($1)", history.table());
            rows = steps.execute(FORGET, &text, &[(&publishes as _, Type::INT8_ARRAY)]).await?;
        }
        steps.rows(record.what(), record.text(), &record.params()).await?;
        rows
    };
    transaction.commit().await.map_err(|error| PublishError::driver(FORGET, error))?;
    Ok(rows)
}

/// How much room tables take up on the disk, indexes and all, in bytes; those that are gone take none.
pub async fn sizes(
    client: &mut Client,
    tables: &[String],
    timeouts: &Timeouts,
    stop: &CancellationToken,
) -> Result<i64, PublishError> {
    let transaction = OpenTransaction::new(client, READ_ONLY);
    let bytes = {
        let mut steps = Steps::opening(&transaction, stop);
        let pinned = pin(&steps, &Pins::tool().and(Pins::timeouts(timeouts))).await?;
        steps.limit(pinned.statement_timeout());
        let text =
            "select coalesce(sum(pg_total_relation_size(to_regclass(name))), 0)::int8 from unnest($1::text[]) name";
        get(&steps.row("measure kept rows", text, &[(&tables as _, Type::TEXT_ARRAY)]).await?, 0)?
    };
    transaction.rollback().await.map_err(|error| PublishError::driver("end the reading transaction", error))?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_names_of_kept_rows_are_read_back() {
        let name = "thrice_history.h_3f9446f9e4dde7e6eaac2092";
        assert_eq!(HistoryTable::parse(name).unwrap().to_string(), name);
        for text in [
            "",
            "public.orders",
            "thrice_history.orders",
            "thrice_history.h_",
            "thrice_history.s_3f9446f9e4dde7e6eaac2092",
            "thrice_staging.h_3f9446f9e4dde7e6eaac2092",
            "thrice_history.h_3f9446f9e4dde7e6eaac2092; drop table x",
        ] {
            assert!(HistoryTable::parse(text).is_err(), "{text}");
        }
    }
}
