//! Checks as SQL: one statement, one pass over the rows, one figure for each check.
//!
//! A check that needs its rows grouped, or compared with other tables, becomes a sub-select of the same statement. The
//! figure is the number of rows that break the rule, or what the rule is about: rows, different values, an age in seconds.

use thrice_core::{
    column_bounds::ColumnBounds,
    identifier::{Identifier, TableName},
};
use tokio_postgres::types::{ToSql, Type};

use crate::{
    check_query::CheckQuery,
    literal,
    row_change::Usual,
    rule::{Check, Rule, Subject},
    value::Value,
};

/// Checks and the statement that evaluates them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Compiled {
    pub(crate) checks: Vec<Check>,
    pub(crate) subject: Subject,
    pub(crate) sql: String,
    pub(crate) usual: Usual,
}

impl Compiled {
    /// The statement. Its columns are the figures in the order of the checks, then the number of rows, all `int8`. `$1` and
    /// `$2` are the bounds of the interval as the interval column has them, `$3` and `$4` its instants, as far as
    /// [`Compiled::types`] goes.
    pub fn sql(&self) -> &str {
        &self.sql
    }

    /// The types of the statement's values, for whoever prepares it.
    pub fn types(&self) -> Vec<Type> {
        self.values().into_iter().map(|(_, of)| of).collect()
    }

    /// The statement's values.
    pub(crate) fn values(&self) -> Vec<(&(dyn ToSql + Sync), Type)> {
        values(&self.checks, &self.subject)
    }

    /// Judges changes of the number of rows against these: the rows of the partitions published before, in any order.
    #[must_use]
    pub fn against(mut self, rows: Vec<i64>) -> Self {
        self.usual = Usual::of(rows);
        self
    }

    /// The checks, in order.
    pub fn checks(&self) -> &[Check] {
        &self.checks
    }
}

/// Compiles checks over the rows of `subject`. Every name in the result is quoted, every operator of ours is the
/// system's; the text of an expression stands between line breaks and parentheses.
pub fn compile(checks: &[Check], subject: &Subject) -> Compiled {
    Compiled {
        checks: checks.to_vec(),
        subject: subject.clone(),
        sql: statement(checks, subject),
        usual: Usual::default(),
    }
}

pub(crate) fn statement(checks: &[Check], subject: &Subject) -> String {
    let figures: Vec<String> = checks
        .iter()
        .enumerate()
        .map(|(index, check)| format!("{} as c{}", figure(&check.rule, subject, index), index + 1))
        .collect();
    // The count of its own keeps the statement an aggregate where every figure is a sub-select.
    let figures =
        figures.into_iter().chain(["pg_catalog.count(*) as rows".to_owned()]).collect::<Vec<_>>().join(",\n       ");
    format!("{}select {figures}\n  from {} as staged", queries(checks, &subject.table), subject.table)
}

/// The user's queries stand in front of the statement: a name in them that means nothing there must not be taken for a column
/// of the rows that the statement goes over.
fn queries(checks: &[Check], table: &TableName) -> String {
    let mut expressions = Vec::new();
    for (index, check) in checks.iter().enumerate() {
        if let Rule::Query(query) = &check.rule {
            expressions.push(counted(index, query));
        }
    }
    if expressions.is_empty() {
        return String::new();
    }
    // not materialized: the planner sees through it, and conditions reach the table
    format!("with staged as not materialized (select * from {table}),\n{}\n", expressions.join(",\n"))
}

fn counted(index: usize, query: &CheckQuery) -> String {
    format!(
        "{} as (select pg_catalog.count(*) as n from (\n{}\n) as found)",
        counted_name(index),
        query.text_with("$3", "$4")
    )
}

/// A name that no query of the user's is going to read.
fn counted_name(index: usize) -> String {
    format!("\"thrice c{}\"", index + 1)
}

fn figure(rule: &Rule, subject: &Subject, index: usize) -> String {
    match rule {
        Rule::Rows { .. } | Rule::NotEmpty => "pg_catalog.count(*)".to_owned(),
        Rule::Unique(columns) => duplicates(subject, columns, Nulls::Distinct),
        Rule::KeyUnique => duplicates(subject, &subject.key, Nulls::Equal),
        Rule::Distinct { column, .. } => format!("pg_catalog.count(distinct {column})"),
        Rule::Freshness { column, .. } => age(column),
        // a sub-select of its own is planned as an anti-join
        Rule::References { .. } => {
            format!("(select pg_catalog.count(*) from {} as staged where {})", subject.table, broken(rule, subject))
        }
        Rule::Query(_) => format!("(select n from {})", counted_name(index)),
        Rule::NotNull(_)
        | Rule::Expression(_)
        | Rule::NullRate { .. }
        | Rule::Range { .. }
        | Rule::AcceptedValues { .. }
        | Rule::Matches { .. }
        | Rule::InsideInterval
        | Rule::KeyNotNull => format!("pg_catalog.count(*) filter (where {})", broken(rule, subject)),
    }
}

/// Whole seconds from the newest time to the end of the interval; null where there is no time.
fn age(column: &Identifier) -> String {
    format!(
        "pg_catalog.floor(extract(epoch from ($4 operator(pg_catalog.-) \
         (pg_catalog.max({column}) filter (where pg_catalog.isfinite({column})))::pg_catalog.timestamptz)))::pg_catalog.int8"
    )
}

/// The condition that a row breaks the rule; for rules that are about single rows.
pub(crate) fn broken(rule: &Rule, subject: &Subject) -> String {
    match rule {
        Rule::NotNull(columns) => any_null(columns),
        Rule::KeyNotNull => any_null(&subject.key),
        Rule::Expression(text) => format!("(\n{text}\n) is false"),
        Rule::InsideInterval => {
            let Some(column) = &subject.interval_column else { return "false".to_owned() };
            format!("({column} operator(pg_catalog.>=) $1 and {column} operator(pg_catalog.<) $2) is not true")
        }
        Rule::Unique(columns) => shared(subject, columns),
        Rule::KeyUnique => shared(subject, &subject.key),
        Rule::NullRate { column, .. } => any_null(std::slice::from_ref(column)),
        Rule::Range { column, min, max } => outside(column, min.as_ref(), max.as_ref()),
        Rule::AcceptedValues { column, values } => {
            let values = literal::array(values.iter().map(Value::as_str));
            format!("({column} operator(pg_catalog.=) any ({values})) is false")
        }
        Rule::Matches { column, pattern } => {
            format!("({column} operator(pg_catalog.~) {}) is false", literal::literal(pattern))
        }
        Rule::References { columns, table, key } => unknown(columns, table, key),
        Rule::Rows { .. } | Rule::NotEmpty | Rule::Distinct { .. } | Rule::Freshness { .. } | Rule::Query(_) => {
            "false".to_owned()
        }
    }
}

/// Whether there are rows that break the rule, each by itself.
pub(crate) const fn is_about_single_rows(rule: &Rule) -> bool {
    !matches!(
        rule,
        Rule::Rows { .. } | Rule::NotEmpty | Rule::Distinct { .. } | Rule::Freshness { .. } | Rule::Query(_)
    )
}

/// Null is neither inside nor outside.
fn outside(column: &Identifier, min: Option<&Value>, max: Option<&Value>) -> String {
    let bound = |sign: &str, value: &Value| format!("{column} operator(pg_catalog.{sign}) {}", value.constant());
    let inside: Vec<String> =
        [min.map(|min| bound(">=", min)), max.map(|max| bound("<=", max))].into_iter().flatten().collect();
    if inside.is_empty() { "false".to_owned() } else { format!("({}) is false", inside.join(" and ")) }
}

/// All values are there, and no row of the other table has them.
fn unknown(columns: &[Identifier], table: &TableName, key: &[Identifier]) -> String {
    let known = columns.iter().map(|column| format!("staged.{column} is not null"));
    let equal: Vec<String> = columns
        .iter()
        .zip(key)
        .map(|(column, key)| format!("known.{key} operator(pg_catalog.=) staged.{column}"))
        .collect();
    let missing = format!("not exists (select from {table} as known where {})", equal.join(" and "));
    known.chain([missing]).collect::<Vec<_>>().join(" and ")
}

fn any_null(columns: &[Identifier]) -> String {
    let nulls: Vec<String> = columns.iter().map(|column| format!("{column} is null")).collect();
    if nulls.is_empty() { "false".to_owned() } else { nulls.join(" or ") }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Nulls {
    Equal,
    Distinct,
}

/// Rows beyond the first of each group of equals.
fn duplicates(subject: &Subject, columns: &[Identifier], nulls: Nulls) -> String {
    if columns.is_empty() {
        return "0::pg_catalog.int8".to_owned();
    }
    let known: Vec<String> = columns.iter().map(|column| format!("{column} is not null")).collect();
    let filter = if nulls == Nulls::Distinct { format!(" where {}", known.join(" and ")) } else { String::new() };
    format!(
        "(select coalesce(pg_catalog.sum(n operator(pg_catalog.-) 1), 0)::pg_catalog.int8 \
         from (select pg_catalog.count(*) as n from {}{filter} group by {}) groups)",
        subject.table,
        list(columns)
    )
}

/// Rows whose values come more than once.
fn shared(subject: &Subject, columns: &[Identifier]) -> String {
    if columns.is_empty() {
        return "false".to_owned();
    }
    format!(
        "({0}) in (select {0} from {1} group by {0} having pg_catalog.count(*) operator(pg_catalog.>) 1)",
        list(columns),
        subject.table
    )
}

pub(crate) fn list(columns: &[Identifier]) -> String {
    let columns: Vec<String> = columns.iter().map(ToString::to_string).collect();
    columns.join(", ")
}

/// The values of the statement that these checks become: all up to the last one that it has.
pub(crate) fn values<'s>(checks: &[Check], subject: &'s Subject) -> Vec<(&'s (dyn ToSql + Sync), Type)> {
    let interval = checks.iter().any(|check| check.rule.takes_interval());
    if !interval && !checks.iter().any(|check| check.rule == Rule::InsideInterval) {
        return Vec::new();
    }
    let mut values = bounds(subject).to_vec();
    if interval {
        values.extend([(&subject.start as _, Type::TIMESTAMPTZ), (&subject.end as _, Type::TIMESTAMPTZ)]);
    }
    values
}

/// The values of `$1` and `$2`; of a whole table no statement uses them, and they keep the numbers of the others.
fn bounds(subject: &Subject) -> [(&(dyn ToSql + Sync), Type); 2] {
    match &subject.bounds {
        ColumnBounds::WholeTable => [(&subject.start as _, Type::TIMESTAMPTZ), (&subject.end as _, Type::TIMESTAMPTZ)],
        ColumnBounds::Dates { start, end } => [(start as _, Type::DATE), (end as _, Type::DATE)],
        ColumnBounds::LocalTimes { start, end } => [(start as _, Type::TIMESTAMP), (end as _, Type::TIMESTAMP)],
        ColumnBounds::Instants { start, end } => [(start as _, Type::TIMESTAMPTZ), (end as _, Type::TIMESTAMPTZ)],
    }
}
