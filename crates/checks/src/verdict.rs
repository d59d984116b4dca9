//! What the checks found.

use std::{fmt, time::Duration};

use serde::Serialize;
use serde_json::{Value, json};
use thrice_core::{code::ErrorCode, duration::HumanDuration, identifier::Identifier};

use crate::{
    figure::Figure,
    row_change::{RowChange, Usual},
    rule::{Check, Rule, Severity},
    value::Share,
};

/// All results of one evaluation.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Verdict {
    /// One result for each check, in order.
    pub results: Vec<CheckResult>,
}

/// When a check looks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Phase {
    /// In the snapshot the query reads.
    Source,
    /// Over the staged rows.
    Staged,
    /// Against what is published.
    Guard,
}

impl Phase {
    /// The word in the ledger.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Source => "source",
            Self::Staged => "staged",
            Self::Guard => "guard",
        }
    }
}

impl fmt::Display for Phase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// One result. It holds counts and never values of rows.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct CheckResult {
    /// The check's name.
    pub name: String,
    /// When it looked.
    pub phase: Phase,
    /// Whether a failure stops the publish.
    pub severity: Severity,
    /// Whether it holds.
    pub passed: bool,
    /// Rows that break it, or what the rule is about: the number of rows or of different values, an age in seconds. `None`:
    /// there is no such figure.
    pub observed: Option<Figure>,
    /// What was asked for.
    pub expected: Value,
    /// The code of a failure.
    #[serde(serialize_with = "code_id")]
    pub code: ErrorCode,
    /// The failure in words; empty where the check holds.
    pub message: String,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands a reference")]
fn code_id<S: serde::Serializer>(code: &ErrorCode, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(code.id())
}

impl Verdict {
    /// Whether nothing stops the publish.
    pub fn passed(&self) -> bool {
        self.failures().next().is_none()
    }

    /// Results that stop the publish.
    pub fn failures(&self) -> impl Iterator<Item = &CheckResult> {
        self.results.iter().filter(|result| !result.passed && result.severity == Severity::Error)
    }

    /// Results that failed and are only recorded.
    pub fn warnings(&self) -> impl Iterator<Item = &CheckResult> {
        self.results.iter().filter(|result| !result.passed && result.severity == Severity::Warn)
    }

    /// The code of the first failure that stops the publish.
    pub fn code(&self) -> Option<ErrorCode> {
        self.failures().next().map(|result| result.code)
    }
}

/// Judges one figure of so many rows.
pub(crate) fn judge(check: &Check, figure: Option<i64>, all_rows: i64, usual: &Usual) -> CheckResult {
    let observed = figure.unwrap_or(0);
    let (passed, expected, code, message) = match &check.rule {
        Rule::Rows { min, max, change } => {
            let (passed, expected, message) = number_of_rows(observed, (*min, *max), *change, usual);
            (passed, expected, ErrorCode::CheckFailed, message)
        }
        Rule::NotEmpty => (observed > 0, json!({ "min": 1 }), ErrorCode::EmptyResult, "the result is empty".to_owned()),
        Rule::NotNull(columns) => {
            let names = names(columns);
            let message = format!("{} with a null in {}", rows(observed), names.join(", "));
            (observed == 0, json!({ "not_null": names }), ErrorCode::CheckFailed, message)
        }
        Rule::Unique(columns) => {
            let names = names(columns);
            let message = format!("{} too many with the same {}", rows(observed), names.join(", "));
            (observed == 0, json!({ "unique": names }), ErrorCode::CheckFailed, message)
        }
        Rule::Expression(text) => {
            let message = format!("{} where the expression is false", rows(observed));
            (observed == 0, json!({ "expression": text }), ErrorCode::CheckFailed, message)
        }
        Rule::NullRate { column, max } => {
            let (passed, expected, message) = null_rate(column, *max, observed, all_rows);
            (passed, expected, ErrorCode::CheckFailed, message)
        }
        Rule::Range { column, min, max } => {
            let message =
                format!("{} with {} not {}", rows(observed), column.as_str(), wanted(min.as_ref(), max.as_ref()));
            let expected = with(json!({ "range": column.as_str() }), bounds(min.as_ref(), max.as_ref()));
            (observed == 0, expected, ErrorCode::CheckFailed, message)
        }
        Rule::AcceptedValues { column, values } => {
            let values: Vec<Value> = values.iter().map(crate::value::Value::to_json).collect();
            let message = format!("{} with a value in {} that is not accepted", rows(observed), column.as_str());
            let expected = json!({ "accepted_values": column.as_str(), "values": values });
            (observed == 0, expected, ErrorCode::CheckFailed, message)
        }
        Rule::Distinct { column, min, max } => {
            let wanted = wanted(min.as_ref(), max.as_ref());
            let message = format!("{observed} different values in {}, {wanted} expected", column.as_str());
            let expected = with(json!({ "distinct": column.as_str() }), limits(*min, *max));
            (lies_between(observed, *min, *max), expected, ErrorCode::CheckFailed, message)
        }
        Rule::Matches { column, pattern } => {
            let message = format!("{} with {} not like the pattern", rows(observed), column.as_str());
            let expected = json!({ "matches": column.as_str(), "pattern": pattern });
            (observed == 0, expected, ErrorCode::CheckFailed, message)
        }
        Rule::References { columns, table, key } => {
            let (columns, key) = (names(columns), names(key));
            let message = format!("{} with {} that {} lacks", rows(observed), columns.join(", "), table.readable());
            let expected = json!({ "references": columns, "table": table.readable(), "key": key });
            (observed == 0, expected, ErrorCode::CheckFailed, message)
        }
        Rule::Freshness { column, max_age } => {
            let (passed, expected, message) = freshness(column, *max_age, figure);
            (passed, expected, ErrorCode::CheckFailed, message)
        }
        Rule::Query(query) => {
            let message = format!("the query finds {}, none expected", rows(observed));
            (observed == 0, json!({ "sql": query.shown() }), ErrorCode::CheckFailed, message)
        }
        Rule::InsideInterval => {
            let message = format!("{} outside the interval or with no interval at all (null)", rows(observed));
            (observed == 0, json!({ "outside": 0 }), ErrorCode::RowsOutside, message)
        }
        Rule::KeyNotNull => {
            let message = format!("{} with a null in the key", rows(observed));
            (observed == 0, json!({ "null_keys": 0 }), ErrorCode::DuplicateKeys, message)
        }
        Rule::KeyUnique => {
            let message = format!("{} too many with a key that another row has", rows(observed));
            (observed == 0, json!({ "duplicate_keys": 0 }), ErrorCode::DuplicateKeys, message)
        }
    };
    CheckResult {
        name: check.name.clone(),
        phase: Phase::Staged,
        severity: check.severity,
        passed,
        observed: figure.map(Figure::Count),
        expected,
        code,
        message: if passed { String::new() } else { message },
    }
}

fn number_of_rows(
    rows: i64,
    (min, max): (Option<u64>, Option<u64>),
    change: Option<RowChange>,
    usual: &Usual,
) -> (bool, Value, String) {
    let inside = lies_between(rows, min, max);
    let absolute = (min.is_some() || max.is_some()).then(|| format!("{} expected", wanted(min.as_ref(), max.as_ref())));
    let Some(change) = change else {
        let wanted = absolute.unwrap_or_else(|| "any number expected".to_owned());
        return (inside, limits(min, max), format!("{rows} rows, {wanted}"));
    };
    let as_usual = change.holds(rows, usual);
    let faults = [absolute.filter(|_| !inside), change.told(rows, usual).filter(|_| !as_usual)];
    let faults: Vec<String> = faults.into_iter().flatten().collect();
    let expected = with(limits(min, max), json!({ "change": change.expected(usual) }));
    (inside && as_usual, expected, format!("{rows} rows, {}", faults.join("; ")))
}

fn null_rate(column: &Identifier, max: Share, nulls: i64, all_rows: i64) -> (bool, Value, String) {
    let (name, share) = (column.as_str(), Share::of(nulls, all_rows));
    let message = format!("{nulls} of {} ({share}) with a null in {name}, at most {max} expected", rows(all_rows));
    let expected = json!({ "null_rate": name, "max": max.to_string(), "of_rows": all_rows });
    (max.holds(nulls, all_rows), expected, message)
}

fn freshness(column: &Identifier, max_age: Duration, age: Option<i64>) -> (bool, Value, String) {
    let (name, most) = (column.as_str(), i64::try_from(max_age.as_secs()).unwrap_or(i64::MAX));
    let message = match age {
        Some(age) => format!(
            "the newest {name} is {} older than the end of the interval, at most {} expected",
            duration(age),
            duration(most)
        ),
        None => format!("no row has a time in {name}"),
    };
    let expected = json!({ "freshness": name, "max_age_seconds": most });
    (age.is_some_and(|age| age <= most), expected, message)
}

fn names(columns: &[Identifier]) -> Vec<&str> {
    columns.iter().map(Identifier::as_str).collect()
}

fn wanted<T: fmt::Display>(min: Option<&T>, max: Option<&T>) -> String {
    match (min, max) {
        (Some(min), Some(max)) => format!("{min} to {max}"),
        (Some(min), None) => format!("at least {min}"),
        (None, Some(max)) => format!("at most {max}"),
        (None, None) => "any number".to_owned(),
    }
}

fn lies_between(number: i64, min: Option<u64>, max: Option<u64>) -> bool {
    let number = u64::try_from(number).unwrap_or(0);
    min.is_none_or(|min| number >= min) && max.is_none_or(|max| number <= max)
}

fn limits(min: Option<u64>, max: Option<u64>) -> Value {
    ends(min.map(Value::from), max.map(Value::from))
}

fn bounds(min: Option<&crate::value::Value>, max: Option<&crate::value::Value>) -> Value {
    ends(min.map(crate::value::Value::to_json), max.map(crate::value::Value::to_json))
}

fn ends(min: Option<Value>, max: Option<Value>) -> Value {
    let mut ends = serde_json::Map::new();
    ends.extend(min.map(|min| ("min".to_owned(), min)));
    ends.extend(max.map(|max| ("max".to_owned(), max)));
    Value::Object(ends)
}

/// One object of two.
fn with(first: Value, second: Value) -> Value {
    match (first, second) {
        (Value::Object(mut all), Value::Object(more)) => {
            all.extend(more);
            Value::Object(all)
        }
        (first, _) => first,
    }
}

fn duration(seconds: i64) -> String {
    HumanDuration::from_seconds(u64::try_from(seconds).unwrap_or(0)).to_string()
}

fn rows(count: i64) -> String {
    if count == 1 { "1 row".to_owned() } else { format!("{count} rows") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::row_change::Change;

    #[test]
    fn both_ends_of_a_row_range_are_included() {
        let check = Check::error("rows", Rule::Rows { min: Some(2), max: Some(4), change: None });
        let passed: Vec<i64> =
            (0..7).filter(|rows| judge(&check, Some(*rows), *rows, &Usual::default()).passed).collect();
        assert_eq!(passed, [2, 3, 4]);
    }

    #[test]
    fn a_change_is_judged_beside_the_range_and_both_are_told() {
        let change = RowChange { least: Change::millionths(-500_000), most: None };
        let check = Check::error("rows", Rule::Rows { min: Some(10), max: None, change: Some(change) });
        let usual = Usual::of(vec![100, 100, 100]);
        let of = |rows: i64, usual: &Usual| judge(&check, Some(rows), rows, usual);
        assert!(of(50, &usual).passed && !of(49, &usual).passed && of(49, &Usual::default()).passed);
        assert_eq!(
            of(49, &usual).message,
            "49 rows, -51% against 100, the median of the 3 published before; -50%.. expected"
        );
        assert_eq!(
            of(9, &usual).message,
            "9 rows, at least 10 expected; -91% against 100, the median of the 3 published before; -50%.. expected"
        );
        assert_eq!(of(9, &Usual::default()).message, "9 rows, at least 10 expected");
        let told = json!({ "min": 10, "change": { "range": "-50%..", "median": "100", "of_partitions": 3 } });
        assert_eq!(of(50, &usual).expected, told);
    }

    #[test]
    fn a_warning_does_not_stop_the_publish() {
        let verdict =
            Verdict { results: vec![judge(&Check::warn("rows", Rule::NotEmpty), Some(0), 0, &Usual::default())] };
        assert!(verdict.passed());
        assert_eq!(verdict.warnings().count(), 1);
        let verdict =
            Verdict { results: vec![judge(&Check::error("rows", Rule::NotEmpty), Some(0), 0, &Usual::default())] };
        assert!(!verdict.passed());
        assert_eq!(verdict.code(), Some(ErrorCode::EmptyResult));
    }
}
