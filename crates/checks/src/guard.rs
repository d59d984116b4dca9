//! Guards protect what is published. Each looks at facts that the caller has read, and says yes, no, or "yes, because
//! somebody took responsibility"; the last is recorded with the run.

use serde_json::json;
use thrice_core::code::ErrorCode;

use crate::{
    rule::Severity,
    verdict::{CheckResult, Phase},
};

/// What a guard says.
#[derive(Debug, Clone, PartialEq)]
pub enum GuardVerdict {
    /// Nothing to protect.
    Allowed,
    /// There is, and a person with a reason let it through.
    Overridden(CheckResult),
    /// There is, and the pipeline only wants to have it on record.
    Warned(CheckResult),
    /// There is, and nobody did.
    Refused(Refusal),
}

/// A refusal with its way out.
#[derive(Debug, Clone, PartialEq)]
pub struct Refusal {
    /// The code that people look up.
    pub code: ErrorCode,
    /// What was found.
    pub what: String,
    /// Why it is protected.
    pub why: &'static str,
    /// How to let it through, or what to do instead.
    pub fix: &'static str,
    /// The same as a row for the ledger.
    pub result: CheckResult,
}

impl GuardVerdict {
    /// The row for the ledger, where the guard had something to say.
    pub fn result(&self) -> Option<&CheckResult> {
        match self {
            Self::Allowed => None,
            Self::Overridden(result) | Self::Warned(result) => Some(result),
            Self::Refused(refusal) => Some(&refusal.result),
        }
    }

    /// The refusal, if it is one.
    pub fn refusal(&self) -> Option<&Refusal> {
        match self {
            Self::Refused(refusal) => Some(refusal),
            Self::Allowed | Self::Overridden(_) | Self::Warned(_) => None,
        }
    }
}

struct Guard {
    name: &'static str,
    code: ErrorCode,
    why: &'static str,
    fix: &'static str,
}

impl Guard {
    fn judge(&self, observed: i64, override_name: &'static str, overridden: bool, what: String) -> GuardVerdict {
        let result = CheckResult {
            name: self.name.to_owned(),
            phase: Phase::Guard,
            severity: if overridden { Severity::Warn } else { Severity::Error },
            passed: false,
            observed: Some(observed.into()),
            expected: json!({ "override": override_name, "overridden": overridden }),
            code: self.code,
            message: what.clone(),
        };
        if overridden {
            GuardVerdict::Overridden(result)
        } else {
            GuardVerdict::Refused(Refusal { code: self.code, what, why: self.why, fix: self.fix, result })
        }
    }
}

/// An empty result over a partition whose published rows are `published_rows` (`None`: nothing is published).
///
/// `allow_empty` does not speak for this: a day without rows is one thing, a day that loses all its rows another.
/// Where this guard lets an empty result through, the check "not empty" has nothing more to say.
pub fn empty_over_published(staged_rows: i64, published_rows: Option<i64>, accept_drop: bool) -> GuardVerdict {
    let Some(published) = published_rows.filter(|rows| *rows > 0 && staged_rows == 0) else {
        return GuardVerdict::Allowed;
    };
    let guard = Guard {
        name: "empty over published",
        code: ErrorCode::EmptyOverPublished,
        why: "an empty result more often means a source that is not loaded than a day on which nothing happened",
        fix: "look at the source; if the rows must go: --accept-drop --reason \"…\"",
    };
    let what = match published {
        1 => "the result is empty, and 1 row is published".to_owned(),
        rows => format!("the result is empty, and {rows} rows are published"),
    };
    guard.judge(staged_rows, "accept_drop", accept_drop, what)
}

/// A partition that was closed at `closed_at` (text for people; `None`: it is open).
pub fn closed(closed_at: Option<&str>, reopen: bool) -> GuardVerdict {
    let Some(closed_at) = closed_at else { return GuardVerdict::Allowed };
    let guard = Guard {
        name: "closed",
        code: ErrorCode::Closed,
        why: "a closed partition changes only with a reason that stays in the ledger",
        fix: "--reopen --reason \"…\"",
    };
    guard.judge(0, "reopen", reopen, format!("the partition was closed at {closed_at}"))
}

/// Rows of the interval that stand in the target without a receipt that accounts for them.
pub fn existing_rows(rows: i64, has_receipt: bool, overwrite_existing: bool) -> GuardVerdict {
    if rows == 0 || has_receipt {
        return GuardVerdict::Allowed;
    }
    let guard = Guard {
        name: "existing rows",
        code: ErrorCode::ExistingRows,
        why: "nobody knows who wrote them; replacing them cannot be undone",
        fix: "record them as published: thrice adopt; or replace them: --overwrite-existing --reason \"…\"",
    };
    let held = if rows == 1 { "1 row".to_owned() } else { format!("{rows} rows") };
    let what = format!("the interval already holds {held} that no receipt accounts for");
    guard.judge(rows, "overwrite_existing", overwrite_existing, what)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_empty_result_is_guarded_only_over_published_rows() {
        assert_eq!(empty_over_published(0, None, false), GuardVerdict::Allowed);
        assert_eq!(empty_over_published(0, Some(0), false), GuardVerdict::Allowed);
        assert_eq!(empty_over_published(1, Some(9), false), GuardVerdict::Allowed);
        let refused = empty_over_published(0, Some(9), false);
        assert_eq!(refused.refusal().map(|refusal| refusal.code), Some(ErrorCode::EmptyOverPublished));
    }

    #[test]
    fn an_override_lets_through_and_is_on_record() {
        for verdict in
            [empty_over_published(0, Some(9), true), closed(Some("2026-03-28"), true), existing_rows(7, false, true)]
        {
            assert!(verdict.refusal().is_none());
            let result = verdict.result().expect("an override leaves a row");
            assert_eq!(result.expected["overridden"], json!(true));
            assert!(!result.passed);
            assert_eq!(result.severity, Severity::Warn);
        }
    }

    #[test]
    fn rows_with_a_receipt_are_ours_to_replace() {
        assert_eq!(existing_rows(7, true, false), GuardVerdict::Allowed);
        assert_eq!(existing_rows(0, false, false), GuardVerdict::Allowed);
        assert_eq!(closed(None, false), GuardVerdict::Allowed);
        assert!(existing_rows(7, false, false).refusal().is_some());
        assert!(closed(Some("2026-03-28"), false).refusal().is_some());
    }
}
