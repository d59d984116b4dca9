//! Checks as SQL: one statement, one pass over the rows, one figure for each check.
//!
//! A check for duplicates needs its rows grouped and becomes a sub-select of the same statement. The figure is the
//! number of rows that break the rule, or for a rule about the number of rows, that number.

use thrice_core::{column_bounds::ColumnBounds, identifier::Identifier};
use tokio_postgres::types::{ToSql, Type};

use crate::rule::{Check, Rule, Subject};

/// Checks and the statement that evaluates them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Compiled {
    pub(crate) checks: Vec<Check>,
    pub(crate) subject: Subject,
    pub(crate) sql: String,
}

impl Compiled {
    /// The statement. Its columns are the figures in the order of the checks, then the number of rows, all `int8`. `$1` and `$2` are the bounds
    /// of the interval where [`Compiled::takes_bounds`] says so.
    pub fn sql(&self) -> &str {
        &self.sql
    }

    /// Whether the statement has `$1` and `$2`.
    pub fn takes_bounds(&self) -> bool {
        takes_bounds(&self.checks)
    }

    /// The types of the statement's values, for whoever prepares it.
    pub fn types(&self) -> Vec<Type> {
        if !self.takes_bounds() {
            return Vec::new();
        }
        bounds(&self.subject.bounds).into_iter().map(|(_, of)| of).collect()
    }

    /// The checks, in order.
    pub fn checks(&self) -> &[Check] {
        &self.checks
    }
}

/// Compiles checks over the rows of `subject`. Every name in the result is quoted, every operator of ours is the
/// system's; the text of an expression stands between line breaks and parentheses.
pub fn compile(checks: &[Check], subject: &Subject) -> Compiled {
    Compiled { checks: checks.to_vec(), subject: subject.clone(), sql: statement(checks, subject) }
}

pub(crate) fn statement(checks: &[Check], subject: &Subject) -> String {
    let figures: Vec<String> = checks
        .iter()
        .enumerate()
        .map(|(index, check)| format!("{} as c{}", figure(&check.rule, subject), index + 1))
        .collect();
    // The count of its own keeps the statement an aggregate where every figure is a sub-select.
    let figures =
        figures.into_iter().chain(["pg_catalog.count(*) as rows".to_owned()]).collect::<Vec<_>>().join(",\n       ");
    format!("select {figures}\n  from {} as staged", subject.table)
}

fn figure(rule: &Rule, subject: &Subject) -> String {
    match rule {
        Rule::Rows { .. } | Rule::NotEmpty => "pg_catalog.count(*)".to_owned(),
        Rule::Unique(columns) => duplicates(subject, columns, Nulls::Distinct),
        Rule::KeyUnique => duplicates(subject, &subject.key, Nulls::Equal),
        Rule::NotNull(_) | Rule::Expression(_) | Rule::InsideInterval | Rule::KeyNotNull => {
            format!("pg_catalog.count(*) filter (where {})", broken(rule, subject))
        }
    }
}

/// The condition that a row breaks the rule; for rules that are about single rows.
pub(crate) fn broken(rule: &Rule, subject: &Subject) -> String {
    match rule {
        Rule::NotNull(columns) => any_null(columns),
        Rule::KeyNotNull => any_null(&subject.key),
        Rule::Expression(text) => format!("(\n{text}\n) is false"),
        Rule::InsideInterval => {
            let column = &subject.interval_column;
            format!("({column} operator(pg_catalog.>=) $1 and {column} operator(pg_catalog.<) $2) is not true")
        }
        Rule::Unique(columns) => shared(subject, columns),
        Rule::KeyUnique => shared(subject, &subject.key),
        Rule::Rows { .. } | Rule::NotEmpty => "false".to_owned(),
    }
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

pub(crate) fn takes_bounds(checks: &[Check]) -> bool {
    checks.iter().any(|check| check.rule == Rule::InsideInterval)
}

/// The values of `$1` and `$2`.
pub(crate) fn bounds(bounds: &ColumnBounds) -> [(&(dyn ToSql + Sync), Type); 2] {
    match bounds {
        ColumnBounds::Dates { start, end } => [(start as _, Type::DATE), (end as _, Type::DATE)],
        ColumnBounds::LocalTimes { start, end } => [(start as _, Type::TIMESTAMP), (end as _, Type::TIMESTAMP)],
        ColumnBounds::Instants { start, end } => [(start as _, Type::TIMESTAMPTZ), (end as _, Type::TIMESTAMPTZ)],
    }
}
