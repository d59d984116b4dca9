//! Old rows against new ones, counted in the publish transaction just before the old ones go.
//!
//! One statement over the interval and the staging table. Keys are told apart where the target has a key; a key
//! "changed" where any column of its row prints differently, as the checksum sees it. Sums are of numeric columns outside the
//! key.

use serde_json::Value;
use thrice_core::identifier::{Identifier, TableName};
use thrice_core::sql_constant::string_constant;
use tokio_postgres::types::Type;

use crate::{
    columns::ColumnMap,
    error::{ErrorKind, PublishError},
    session::get,
    steps::{Answer, one_row},
    target::{Target, TargetColumn},
};

/// So many columns are summed: a call of `jsonb_build_object` takes at most 100 arguments.
const MOST_SUMS: usize = 40;

const NUMERIC: [Type; 6] = [Type::INT2, Type::INT4, Type::INT8, Type::NUMERIC, Type::FLOAT4, Type::FLOAT8];

/// Types whose equality is equality of what they print.
const PLAIN: [Type; 9] = [
    Type::BOOL,
    Type::INT2,
    Type::INT4,
    Type::INT8,
    Type::DATE,
    Type::TIMESTAMP,
    Type::TIMESTAMPTZ,
    Type::UUID,
    Type::BYTEA,
];

/// The short phrase for errors and traces.
pub(crate) const COMPARE: &str = "compare old and new rows";

/// The statement; the old rows stand in `table`, the target or a partition of it. `$1` and `$2` are the interval; its one column is a JSON object as text:
/// `{"rows": {"before", "after"}, "keys": {"added", "removed", "changed", "equal"} or null, "sums": {COLUMN: {"before", "after"}}}`,
/// sums as decimal text.
pub(crate) fn statement(target: &Target, table: &TableName, columns: &ColumnMap, staging: &TableName) -> String {
    let inside = target.inside_of("t.");
    let written: Vec<&TargetColumn> = columns.columns().iter().filter_map(|name| target.column(name)).collect();
    let summed: Vec<&Identifier> = written
        .iter()
        .filter(|column| is_one_of(column, &NUMERIC) && !target.key.contains(&column.name))
        .map(|column| &column.name)
        .take(MOST_SUMS)
        .collect();
    let sums = |side: &str| -> String {
        let sums = summed.iter().enumerate().map(|(n, name)| format!(", pg_catalog.sum({side}.{name}) as sum_{n}"));
        sums.collect::<Vec<_>>().concat()
    };
    let told: Vec<String> = summed
        .iter()
        .enumerate()
        .map(|(n, name)| {
            let both = format!("'before', old.sum_{n}::pg_catalog.text, 'after', new.sum_{n}::pg_catalog.text");
            format!("{}, pg_catalog.jsonb_build_object({both})", string_constant(name.as_str()))
        })
        .collect();
    let (keys, of_keys) = if target.key.is_empty() {
        ("null::pg_catalog.jsonb".to_owned(), String::new())
    } else {
        (
            // told apart once: a row is as long as it is
            "pg_catalog.jsonb_build_object('added', keys.added, 'removed', keys.removed, \
             'changed', keys.matched operator(pg_catalog.-) keys.equal, 'equal', keys.equal)"
                .to_owned(),
            format!(",\n     {} keys", keys_of(target, table, &written, staging, &inside)),
        )
    };
    format!(
        "select pg_catalog.jsonb_build_object('rows', pg_catalog.jsonb_build_object('before', old.n, 'after', new.n), \
         'keys', {keys}, 'sums', pg_catalog.jsonb_build_object({}))::pg_catalog.text\n\
         \x20 from (select pg_catalog.count(*) as n{} from {} t where {inside}) old,\n\
         \x20      (select pg_catalog.count(*) as n{} from {staging} s) new{of_keys}",
        told.join(", "),
        sums("t"),
        table,
        sums("s"),
    )
}

/// What the statement was answered with.
pub(crate) fn read(answer: Answer) -> Result<Value, PublishError> {
    let text: String = get(&one_row(COMPARE, answer.rows)?, 0)?;
    serde_json::from_str(&text).map_err(|_| PublishError::new(COMPARE, ErrorKind::Driver))
}

fn keys_of(target: &Target, table: &TableName, written: &[&TargetColumn], staging: &TableName, inside: &str) -> String {
    let equal: Vec<String> = written.iter().map(|column| equal(column)).collect();
    let equal = equal.join(" and ");
    let list: Vec<String> = written.iter().map(|column| column.name.to_string()).collect();
    let list = list.join(", ");
    format!(
        "(select pg_catalog.count(*) filter (where t.there is null) as added, \
         pg_catalog.count(*) filter (where s.there is null) as removed, \
         pg_catalog.count(*) filter (where t.there and s.there) as matched, \
         pg_catalog.count(*) filter (where t.there and s.there and {equal}) as equal \
         from (select true as there, {list} from {table} t where {inside}) t \
         full join (select true as there, {list} from {staging} s) s on {})",
        target.same_key(),
    )
}

/// That a column prints the same in `t` and `s`; null is the same as null.
pub(crate) fn equal(column: &TargetColumn) -> String {
    let name = &column.name;
    let (ours, theirs) = if is_one_of(column, &PLAIN) {
        (format!("t.{name}"), format!("s.{name}"))
    } else {
        let as_printed = |side: &str| format!("{side}.{name}::pg_catalog.text collate pg_catalog.\"C\"");
        (as_printed("t"), as_printed("s"))
    };
    format!("({ours} operator(pg_catalog.=) {theirs} or t.{name} is null and s.{name} is null)")
}

fn is_one_of(column: &TargetColumn, types: &[Type]) -> bool {
    column.base_type.and_then(Type::from_oid).is_some_and(|of| types.contains(&of))
}
