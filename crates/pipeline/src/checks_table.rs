//! `[[checks]]`: what must hold of a result before it is published.

use std::collections::BTreeMap;

use thrice_core::code::ErrorCode;
use thrice_core::identifier::Identifier;
use thrice_core::text::did_you_mean;

use crate::check_expression;
use crate::diagnostic::Span;
use crate::toml_reader::{Field, Reader};

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
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CheckRule {
    /// The number of rows lies between the two, both included; at least one is there.
    Rows {
        /// At least so many.
        min: Option<u64>,
        /// At most so many.
        max: Option<u64>,
    },
    /// None of these columns is null in any row.
    NotNull(Vec<Identifier>),
    /// No two rows agree in all these columns.
    Unique(Vec<Identifier>),
    /// A boolean SQL expression over one row, without a comment at its end.
    Expression(String),
}

/// One check.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Check {
    /// Its name, unique in the pipeline; made from the rule where the file gives none.
    pub name: String,
    /// Whether a failure stops the publish.
    pub severity: Severity,
    /// What must hold.
    pub rule: CheckRule,
}

/// Keys of which a check has exactly one.
pub(crate) const BUILT: [&str; 4] = ["rows", "not_null", "unique", "expression"];

pub(crate) fn read(root: &mut Reader<'_, '_>) -> Vec<Check> {
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
        let check = one(&mut reader);
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

fn one(reader: &mut Reader<'_, '_>) -> Option<(Check, Span)> {
    let name = reader.string("name");
    let severity = severity(reader);
    reader.all_not_built();
    let given: Vec<&str> = BUILT.into_iter().filter(|kind| reader.has(kind)).collect();
    let later = reader.has_not_built();
    let rule = rule(reader, name.as_ref().map(|(name, _)| *name));
    if given.len() + usize::from(later) != 1 {
        let (message, fix) = if given.is_empty() {
            ("the check says nothing to check".to_owned(), "one of rows, not_null, unique, expression")
        } else {
            (format!("the check has {}", given.join(" and ")), "write a [[checks]] for each")
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

fn rule(reader: &mut Reader<'_, '_>, name: Option<&str>) -> Option<CheckRule> {
    let rows = reader.take("rows").and_then(|field| rows(reader, &field));
    let not_null = reader.identifiers("not_null").map(|(columns, _)| CheckRule::NotNull(columns));
    let unique = reader.identifiers("unique").map(|(columns, _)| CheckRule::Unique(columns));
    let expression = reader
        .string("expression")
        .and_then(|(text, field)| check_expression::read(reader, name, text, &field))
        .map(CheckRule::Expression);
    rows.or(not_null).or(unique).or(expression)
}

fn rows<'t>(reader: &mut Reader<'t, '_>, field: &Field<'t>) -> Option<CheckRule> {
    let mut table = reader.inside(field)?;
    table.all_not_built();
    let (min, max) = (table.count("min"), table.count("max"));
    let has_either = table.has("min") || table.has("max") || table.has("change");
    if !has_either {
        table.bad_value(field, "`rows` says neither `min` nor `max`", "rows = { min = 1 }");
        return None;
    }
    if let (Some((min, _)), Some((max, at))) = (&min, &max)
        && min > max
    {
        table.bad_value(at, "`rows.max` is less than `rows.min`", "no number of rows would pass");
    }
    table.finish();
    Some(CheckRule::Rows { min: min.map(|(n, _)| n), max: max.map(|(n, _)| n) })
}

impl CheckRule {
    /// A name for a check that has none.
    fn name(&self) -> String {
        let list = |columns: &[Identifier]| columns.iter().map(Identifier::as_str).collect::<Vec<_>>().join(", ");
        match self {
            Self::Rows { min: Some(min), max: Some(max) } => format!("rows {min} to {max}"),
            Self::Rows { min: Some(min), max: None } => format!("rows at least {min}"),
            Self::Rows { min: None, max: Some(max) } => format!("rows at most {max}"),
            Self::Rows { min: None, max: None } => "rows".to_owned(),
            Self::NotNull(columns) => format!("not null: {}", list(columns)),
            Self::Unique(columns) => format!("unique: {}", list(columns)),
            Self::Expression(text) => text.split_whitespace().collect::<Vec<_>>().join(" "),
        }
    }
}
