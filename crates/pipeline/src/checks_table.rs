//! `[[checks]]`: what must hold of a result before it is published.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use thrice_core::code::ErrorCode;
use thrice_core::duration::HumanDuration;
use thrice_core::identifier::{Identifier, TableName};
use thrice_core::text::did_you_mean;

use crate::check_query::{CheckQuery, Known};
use crate::check_values::{CheckValue, Percent};
use crate::diagnostic::Span;
use crate::reconcile_check::Tolerance;
use crate::row_change::RowChange;
use crate::toml_reader::{Field, Reader};
use crate::{check_expression, check_query, column_checks, reconcile_check};

/// Names of the checks that are always on, so that a result is never named by two.
pub const ALWAYS_ON: [&str; 4] = ["inside the interval", "key not null", "key unique", "not empty"];

/// Whether a failing check stops the publish.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Severity {
    /// It does.
    Error,
    /// It is recorded.
    Warn,
}

impl Severity {
    /// The word of the file and of the ledger.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Error => "error",
            Self::Warn => "warn",
        }
    }
}

/// What must hold.
#[derive(Debug, Clone, PartialEq)]
pub enum CheckRule {
    /// The number of rows lies between the two, both included, and differs by no more from what is usual; at least one of
    /// the three is there.
    Rows {
        /// At least so many.
        min: Option<u64>,
        /// At most so many.
        max: Option<u64>,
        /// By so much it may differ from the median of the partitions published before.
        change: Option<RowChange>,
    },
    /// None of these columns is null in any row.
    NotNull(Vec<Identifier>),
    /// No two rows agree in all these columns.
    Unique(Vec<Identifier>),
    /// A boolean SQL expression over one row, without a comment at its end.
    Expression(String),
    /// No more than a share of the rows has a null in the column.
    NullRate {
        /// The column.
        column: Identifier,
        /// At most so much of all rows.
        max: Percent,
    },
    /// The values of the column lie between the two, both included; at least one is there. Null passes.
    Range {
        /// The column.
        column: Identifier,
        /// The least.
        min: Option<CheckValue>,
        /// The greatest.
        max: Option<CheckValue>,
    },
    /// The values of the column are among these. Null passes.
    AcceptedValues {
        /// The column.
        column: Identifier,
        /// The values, at least one.
        values: Vec<CheckValue>,
    },
    /// The number of different values lies between the two, both included; at least one is there. Null is no value.
    Distinct {
        /// The column.
        column: Identifier,
        /// At least so many.
        min: Option<u64>,
        /// At most so many.
        max: Option<u64>,
    },
    /// A POSIX regular expression matches somewhere in every value. Null passes.
    Matches {
        /// The column.
        column: Identifier,
        /// The expression.
        pattern: String,
    },
    /// Another table has the values. Rows with a null among them pass.
    References {
        /// The columns.
        columns: Vec<Identifier>,
        /// The other table.
        table: TableName,
        /// Its columns, as many.
        key: Vec<Identifier>,
    },
    /// The newest time of the column is no older than this at the end of the interval.
    Freshness {
        /// The column.
        column: Identifier,
        /// The greatest age.
        max_age: HumanDuration,
    },
    /// The query finds no row.
    Sql(CheckQuery),
    /// An aggregate of the rows agrees with a figure of the source, asked in the snapshot of the query.
    Reconcile {
        /// The aggregate, without a comment at its end.
        ours: String,
        /// The query of the source: one row, one column.
        theirs: CheckQuery,
        /// How far the two may be apart.
        tolerance: Tolerance,
    },
}

/// One check.
#[derive(Debug, Clone, PartialEq)]
pub struct Check {
    /// Its name, unique in the pipeline; made from the rule where the file gives none.
    pub name: String,
    /// Whether a failure stops the publish.
    pub severity: Severity,
    /// What must hold.
    pub rule: CheckRule,
}

/// Keys of which a check has exactly one.
pub(crate) const BUILT: [&str; 13] = [
    "rows",
    "not_null",
    "null_rate",
    "unique",
    "expression",
    "accepted_values",
    "range",
    "distinct",
    "matches",
    "references",
    "freshness",
    "sql",
    "reconcile",
];

pub(crate) fn read(root: &mut Reader<'_, '_>, known: Known<'_>) -> Vec<Check> {
    let Some(field) = root.take("checks") else { return Vec::new() };
    let Some(array) = field.value.as_array() else {
        root.wrong_type(&field, "a list of tables: [[checks]]");
        return Vec::new();
    };
    let (mut checks, mut places) = (Vec::new(), BTreeMap::<String, Span>::new());
    for (nth, value) in array.iter().enumerate() {
        let entry = Field {
            path: format!("checks[{}]", nth + 1),
            key_span: value.span(),
            span: value.span(),
            value: value.get_ref(),
        };
        let Some(mut reader) = root.inside(&entry) else { continue };
        let check = one(&mut reader, known);
        reader.finish();
        let Some((check, span)) = check else { continue };
        let always = ALWAYS_ON.contains(&check.name.as_str());
        if always || places.contains_key(&check.name) {
            let mut diagnostic = root
                .error(ErrorCode::DuplicateName, format!("two checks are called {:?}", check.name))
                .at(span)
                .why("a result in the ledger is found by the name of its check");
            diagnostic = match places.get(&check.name) {
                Some(first) => root.also_here(diagnostic, first.clone(), "first here"),
                None => diagnostic.label("a check that is always on has this name"),
            };
            root.report(diagnostic.fix("name = \"…\", different from the others"));
        } else {
            places.insert(check.name.clone(), span);
            checks.push(check);
        }
    }
    checks
}

fn one(reader: &mut Reader<'_, '_>, known: Known<'_>) -> Option<(Check, Span)> {
    let name = reader.string("name");
    let severity = severity(reader);
    reader.all_not_built();
    let given: Vec<&str> = BUILT.into_iter().filter(|kind| reader.has(kind)).collect();
    let later = reader.has_not_built();
    let rule = rule(reader, name.as_ref().map(|(name, _)| *name), known);
    if given.len() + usize::from(later) != 1 {
        let (message, fix) = if given.is_empty() {
            ("the check says nothing to check".to_owned(), format!("one of {}", BUILT.join(", ")))
        } else {
            (format!("the check has {}", given.join(" and ")), "write a [[checks]] for each".to_owned())
        };
        if !(given.is_empty() && later) {
            let diagnostic = reader.error(ErrorCode::BadValue, message).at(reader.span()).fix(fix);
            reader.report(diagnostic);
        }
        return None;
    }
    let rule = rule?;
    let (name, span) = match name {
        Some((name, field)) if name.trim().is_empty() || name.len() > 200 || name.contains(char::is_control) => {
            reader.bad_value(
                &field,
                "the name of a check has 1 to 200 printable bytes",
                "name = \"no negative amount\"",
            );
            return None;
        }
        Some((name, field)) => (name.to_owned(), field.span),
        None => (rule.name(), reader.span()),
    };
    Some((Check { name, severity: severity?, rule }, span))
}

fn severity(reader: &mut Reader<'_, '_>) -> Option<Severity> {
    match reader.string("severity") {
        None | Some(("error", _)) => Some(Severity::Error),
        Some(("warn", _)) => Some(Severity::Warn),
        Some((other, field)) => {
            let near =
                did_you_mean(other, ["error", "warn"]).unwrap_or(if other == "warning" { "warn" } else { "error" });
            reader.bad_value(&field, format!("{other:?} is no severity"), format!("severity = \"{near}\""));
            None
        }
    }
}

fn rule(reader: &mut Reader<'_, '_>, name: Option<&str>, known: Known<'_>) -> Option<CheckRule> {
    let rules = [
        reader.take("rows").and_then(|field| rows(reader, &field)),
        reader.identifiers("not_null").map(|(columns, _)| CheckRule::NotNull(columns)),
        reader.identifiers("unique").map(|(columns, _)| CheckRule::Unique(columns)),
        reader
            .string("expression")
            .and_then(|(text, field)| check_expression::read(reader, name, text, &field))
            .map(CheckRule::Expression),
        column_checks::null_rate(reader),
        column_checks::range(reader),
        column_checks::accepted_values(reader),
        column_checks::distinct(reader),
        column_checks::matches(reader),
        column_checks::references(reader),
        column_checks::freshness(reader, known.grain),
        reader
            .string("sql")
            .and_then(|(text, field)| check_query::read(reader, text, &field, known, &check_query::FINDS))
            .map(CheckRule::Sql),
        reconcile_check::read(reader, known),
    ];
    rules.into_iter().flatten().next()
}

fn rows<'t>(reader: &mut Reader<'t, '_>, field: &Field<'t>) -> Option<CheckRule> {
    let mut table = reader.inside(field)?;
    let (min, max) = (table.count("min"), table.count("max"));
    let has_change = table.has("change");
    let change = table.take("change").and_then(|field| RowChange::read(&mut table, &field));
    let has_any = table.has("min") || table.has("max") || has_change;
    if !has_any {
        table.bad_value(field, "`rows` says none of `min`, `max` and `change`", "rows = { min = 1 }");
        return None;
    }
    if let (Some((min, _)), Some((max, at))) = (&min, &max)
        && min > max
    {
        table.bad_value(at, "`rows.max` is less than `rows.min`", "no number of rows would pass");
    }
    table.finish();
    Some(CheckRule::Rows { min: min.map(|(n, _)| n), max: max.map(|(n, _)| n), change })
}

impl CheckRule {
    /// A name for a check that has none.
    fn name(&self) -> String {
        let one_line = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
        match self {
            Self::Rows { min, max, change } => {
                let change = change.map(|change| format!("change {change}"));
                let range = Some(between(min.as_ref(), max.as_ref())).filter(|range| !range.is_empty());
                let parts: Vec<String> = [range, change].into_iter().flatten().collect();
                format!("rows {}", parts.join(", "))
            }
            Self::NotNull(columns) => format!("not null: {}", list(columns)),
            Self::Unique(columns) => format!("unique: {}", list(columns)),
            Self::Expression(text) => one_line(text),
            Self::NullRate { column, max } => format!("null rate: {} at most {max}", column.as_str()),
            Self::Range { column, min, max } => {
                format!("range: {} {}", column.as_str(), between(min.as_ref(), max.as_ref()))
            }
            Self::AcceptedValues { column, .. } => format!("accepted values: {}", column.as_str()),
            Self::Distinct { column, min, max } => {
                format!("distinct: {} {}", column.as_str(), between(min.as_ref(), max.as_ref()))
            }
            Self::Matches { column, .. } => format!("matches: {}", column.as_str()),
            Self::References { columns, table, .. } => format!("references: {} in {}", list(columns), table.readable()),
            Self::Freshness { column, max_age } => format!("freshness: {} at most {max_age}", column.as_str()),
            Self::Sql(query) => one_line(&query.source),
            Self::Reconcile { ours, .. } => format!("reconcile: {}", one_line(ours)),
        }
    }

    /// As the file has it, for the ledger.
    pub(crate) fn to_json(&self) -> Value {
        let names = |columns: &[Identifier]| columns.iter().map(Identifier::as_str).collect::<Value>();
        let json: fn(&CheckValue) -> Value = CheckValue::to_json;
        match self {
            Self::Rows { min, max, change } => {
                json!({ "rows": { "min": min, "max": max, "change": change.map(|change| change.to_string()) } })
            }
            Self::NotNull(columns) => json!({ "not_null": names(columns) }),
            Self::Unique(columns) => json!({ "unique": names(columns) }),
            Self::Expression(text) => json!({ "expression": text }),
            Self::NullRate { column, max } => {
                json!({ "null_rate": { "column": column.as_str(), "max": max.to_string() } })
            }
            Self::Range { column, min, max } => json!({ "range": {
                "column": column.as_str(), "min": min.as_ref().map(json), "max": max.as_ref().map(json),
            } }),
            Self::AcceptedValues { column, values } => json!({ "accepted_values": {
                "column": column.as_str(), "values": values.iter().map(json).collect::<Vec<_>>(),
            } }),
            Self::Distinct { column, min, max } => {
                json!({ "distinct": { "column": column.as_str(), "min": min, "max": max } })
            }
            Self::Matches { column, pattern } => {
                json!({ "matches": { "column": column.as_str(), "pattern": pattern } })
            }
            Self::References { columns, table, key } => json!({ "references": {
                "columns": names(columns), "table": table.to_string(), "key": names(key),
            } }),
            Self::Freshness { column, max_age } => {
                json!({ "freshness": { "column": column.as_str(), "max_age": max_age.to_string() } })
            }
            Self::Sql(query) => json!({ "sql": query.source }),
            Self::Reconcile { ours, theirs, tolerance } => json!({ "reconcile": {
                "ours": ours, "theirs": theirs.source, "tolerance": tolerance.told(),
            } }),
        }
    }
}

fn list(columns: &[Identifier]) -> String {
    columns.iter().map(Identifier::as_str).collect::<Vec<_>>().join(", ")
}

fn between<T: std::fmt::Display>(min: Option<&T>, max: Option<&T>) -> String {
    match (min, max) {
        (Some(min), Some(max)) => format!("{min} to {max}"),
        (Some(min), None) => format!("at least {min}"),
        (None, Some(max)) => format!("at most {max}"),
        (None, None) => String::new(),
    }
}
