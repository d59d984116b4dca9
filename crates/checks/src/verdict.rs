//! What the checks found.

use std::fmt;

use serde::Serialize;
use serde_json::{Value, json};
use thrice_core::code::ErrorCode;

use crate::rule::{Check, Rule, Severity};

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
    /// Rows that break it, or the number of rows where the rule is about that.
    pub observed: Option<i64>,
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

/// Judges one figure.
pub(crate) fn judge(check: &Check, observed: i64) -> CheckResult {
    let (passed, expected, code, message) = match &check.rule {
        Rule::Rows { min, max } => {
            let rows = u64::try_from(observed).unwrap_or(0);
            let passed = min.is_none_or(|min| rows >= min) && max.is_none_or(|max| rows <= max);
            let mut expected = serde_json::Map::new();
            expected.extend(min.map(|min| ("min".to_owned(), json!(min))));
            expected.extend(max.map(|max| ("max".to_owned(), json!(max))));
            let wanted = match (min, max) {
                (Some(min), Some(max)) => format!("{min} to {max}"),
                (Some(min), None) => format!("at least {min}"),
                (None, Some(max)) => format!("at most {max}"),
                (None, None) => "any number".to_owned(),
            };
            (passed, Value::Object(expected), ErrorCode::CheckFailed, format!("{observed} rows, {wanted} expected"))
        }
        Rule::NotEmpty => (observed > 0, json!({ "min": 1 }), ErrorCode::EmptyResult, "the result is empty".to_owned()),
        Rule::NotNull(columns) => {
            let names: Vec<&str> = columns.iter().map(thrice_core::identifier::Identifier::as_str).collect();
            let message = format!("{} with a null in {}", rows(observed), names.join(", "));
            (observed == 0, json!({ "not_null": names }), ErrorCode::CheckFailed, message)
        }
        Rule::Unique(columns) => {
            let names: Vec<&str> = columns.iter().map(thrice_core::identifier::Identifier::as_str).collect();
            let message = format!("{} too many with the same {}", rows(observed), names.join(", "));
            (observed == 0, json!({ "unique": names }), ErrorCode::CheckFailed, message)
        }
        Rule::Expression(text) => {
            let message = format!("{} where the expression is false", rows(observed));
            (observed == 0, json!({ "expression": text }), ErrorCode::CheckFailed, message)
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
        observed: Some(observed),
        expected,
        code,
        message: if passed { String::new() } else { message },
    }
}

fn rows(count: i64) -> String {
    if count == 1 { "1 row".to_owned() } else { format!("{count} rows") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_ends_of_a_row_range_are_included() {
        let check = Check::error("rows", Rule::Rows { min: Some(2), max: Some(4) });
        let passed: Vec<i64> = (0..7).filter(|rows| judge(&check, *rows).passed).collect();
        assert_eq!(passed, [2, 3, 4]);
    }

    #[test]
    fn a_warning_does_not_stop_the_publish() {
        let verdict = Verdict { results: vec![judge(&Check::warn("rows", Rule::NotEmpty), 0)] };
        assert!(verdict.passed());
        assert_eq!(verdict.warnings().count(), 1);
        let verdict = Verdict { results: vec![judge(&Check::error("rows", Rule::NotEmpty), 0)] };
        assert!(!verdict.passed());
        assert_eq!(verdict.code(), Some(ErrorCode::EmptyResult));
    }
}
