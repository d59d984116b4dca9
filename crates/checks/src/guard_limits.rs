//! Guards with a limit: how much of what is published one publish may take away or change.
//!
//! Each figure is a share of what is published, and exactly the limit passes. An empty result is no matter of theirs: there
//! [`empty_over_published`](crate::guard::empty_over_published) speaks for all.

use serde_json::{Value, json};
use thrice_core::code::ErrorCode;

use crate::{
    guard::{GuardVerdict, Refusal},
    rule::Severity,
    value::Share,
    verdict::{CheckResult, Phase},
};

/// The limits of one pipeline.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GuardLimits {
    /// Of the published keys, so many may vanish.
    pub removed: Limit,
    /// Of the published rows, there may be so many fewer.
    pub shrink: Limit,
    /// Of the published keys, so many may get another row. `None`: all of them.
    pub changed: Option<Limit>,
}

impl Default for GuardLimits {
    /// Half of what is published may vanish; all that stays may change.
    fn default() -> Self {
        Self { removed: Limit::HALF, shrink: Limit::HALF, changed: None }
    }
}

/// One limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limit {
    /// At most so much of what is published.
    pub max: Share,
    /// What becomes of a publish beyond it.
    pub on_violation: OnViolation,
}

impl Limit {
    const HALF: Self = Self { max: Share::HALF, on_violation: OnViolation::Refuse };
}

/// What a guard does where its limit is passed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OnViolation {
    /// Nothing is published, unless a person with a reason takes responsibility.
    Refuse,
    /// It is recorded, and the rows are published.
    Warn,
}

/// Keys of an interval, old against new, as the publish counts them under its lock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KeyCounts {
    /// Published keys that are not staged.
    pub removed: i64,
    /// Keys that are in both with another row.
    pub changed: i64,
    /// Keys that are in both with an equal row.
    pub equal: i64,
}

impl KeyCounts {
    /// Reads them out of a comparison: an object with `keys`, of which `added` is left out. `None`: the target has no key.
    pub fn of_comparison(comparison: &Value) -> Option<Self> {
        let count = |name: &str| comparison["keys"][name].as_i64();
        Some(Self { removed: count("removed")?, changed: count("changed")?, equal: count("equal")? })
    }

    const fn published(self) -> i64 {
        self.removed + self.changed + self.equal
    }
}

impl GuardLimits {
    /// `published_rows` are those of the receipt that readers see (`None`: nothing is published).
    pub fn rows(&self, staged_rows: i64, published_rows: Option<i64>, accept_drop: bool) -> GuardVerdict {
        let Some(published) = published_rows.filter(|_| staged_rows > 0) else { return GuardVerdict::Allowed };
        let fewer = (published - staged_rows).max(0);
        let (share, Limit { max, .. }) = (Share::of(fewer, published), self.shrink);
        let what = format!(
            "{published} rows are published and {staged_rows} are staged: {share} fewer, and at most {max} may go"
        );
        judge("shrink", self.shrink, (fewer, published), what, accept_drop)
    }

    /// What the counts of keys say: a verdict each of `removed` and `changed`, in this order.
    pub fn keys(&self, counts: KeyCounts, staged_rows: i64, accept_drop: bool) -> Vec<GuardVerdict> {
        let published = counts.published();
        if staged_rows == 0 || published == 0 {
            return Vec::new();
        }
        let of = |part: i64| format!("{part} of {published} published keys ({})", Share::of(part, published));
        let most = |limit: Limit| format!("at most {} may", limit.max);
        let removed = format!("{} would vanish, and {}", of(counts.removed), most(self.removed));
        let mut verdicts = vec![judge("removed", self.removed, (counts.removed, published), removed, accept_drop)];
        if let Some(limit) = self.changed {
            let changed = format!("{} would get another row, and {}", of(counts.changed), most(limit));
            verdicts.push(judge("changed", limit, (counts.changed, published), changed, accept_drop));
        }
        verdicts
    }

    /// Whether keys have to be counted at all.
    pub const fn needs_keys(&self) -> bool {
        self.changed.is_some() || self.removed.max.is_less_than_all()
    }
}

const WHY: &str = "so much at once is more often a source that is not loaded whole, or a wrong query, than a correction that is meant";
const FIX: &str = "look at the source and the query; if it is right: --accept-drop --reason \"…\"; a limit for every run stands under [guards]";

fn judge(name: &'static str, limit: Limit, (part, of): (i64, i64), what: String, accept_drop: bool) -> GuardVerdict {
    if limit.max.holds(part, of) {
        return GuardVerdict::Allowed;
    }
    let refuses = limit.on_violation == OnViolation::Refuse && !accept_drop;
    let result = CheckResult {
        name: name.to_owned(),
        phase: Phase::Guard,
        severity: if refuses { Severity::Error } else { Severity::Warn },
        passed: false,
        observed: Some(part.into()),
        expected: json!({
            "max": limit.max.to_string(), "of": of, "override": "accept_drop", "overridden": accept_drop,
        }),
        code: ErrorCode::TooManyVanish,
        message: what.clone(),
    };
    if refuses {
        GuardVerdict::Refused(Refusal { code: ErrorCode::TooManyVanish, what, why: WHY, fix: FIX, result })
    } else if accept_drop {
        GuardVerdict::Overridden(result)
    } else {
        GuardVerdict::Warned(result)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn share(percent: u32) -> Share {
        Share::millionths(percent * 10_000).unwrap()
    }

    fn limit(percent: u32, on_violation: OnViolation) -> Limit {
        Limit { max: share(percent), on_violation }
    }

    #[test]
    fn fewer_rows_are_guarded_at_the_edge_of_the_limit() {
        let limits = GuardLimits::default();
        for (staged, published, refused) in [
            (50, Some(100), false),
            (49, Some(100), true),
            (38, Some(100), true),
            (100, Some(100), false),
            (900, Some(100), false),
            (1, Some(0), false),
            (1, None, false),
            (0, Some(100), false),
        ] {
            let verdict = limits.rows(staged, published, false);
            assert_eq!(verdict.refusal().is_some(), refused, "{staged} of {published:?}");
        }
        let verdict = limits.rows(38, Some(100), false);
        let refusal = verdict.refusal().unwrap();
        assert_eq!(refusal.code, ErrorCode::TooManyVanish);
        assert_eq!(refusal.what, "100 rows are published and 38 are staged: 62% fewer, and at most 50% may go");
        assert_eq!(refusal.result.observed, Some(62.into()));
    }

    #[test]
    fn keys_that_vanish_and_keys_that_change_are_shares_of_the_published_ones() {
        let limits = GuardLimits { changed: Some(limit(10, OnViolation::Refuse)), ..GuardLimits::default() };
        let told = |removed, changed, equal| -> Vec<String> {
            let verdicts = limits.keys(KeyCounts { removed, changed, equal }, 1000, false);
            verdicts.iter().filter_map(GuardVerdict::refusal).map(|refusal| refusal.what.clone()).collect()
        };
        assert_eq!(told(50, 10, 40), [""; 0]);
        assert_eq!(told(51, 0, 49), ["51 of 100 published keys (51%) would vanish, and at most 50% may"]);
        assert_eq!(told(0, 11, 89), ["11 of 100 published keys (11%) would get another row, and at most 10% may"]);
        assert_eq!(told(60, 40, 0).len(), 2);
        assert_eq!(told(0, 0, 0), [""; 0]);
    }

    #[test]
    fn who_takes_responsibility_and_who_only_wants_to_know() {
        let over = GuardLimits::default().rows(1, Some(100), true);
        assert!(over.refusal().is_none());
        let result = over.result().unwrap();
        assert_eq!(
            (result.severity, result.passed, &result.expected["overridden"]),
            (Severity::Warn, false, &json!(true))
        );
        let warns = GuardLimits { shrink: limit(50, OnViolation::Warn), ..GuardLimits::default() };
        let verdict = warns.rows(1, Some(100), false);
        assert!(verdict.refusal().is_none());
        let result = verdict.result().unwrap();
        assert_eq!(
            (result.severity, result.passed, &result.expected["overridden"]),
            (Severity::Warn, false, &json!(false))
        );
        let all = GuardLimits { removed: limit(100, OnViolation::Refuse), ..GuardLimits::default() };
        assert!(!all.needs_keys() && GuardLimits::default().needs_keys());
    }

    #[test]
    fn counts_come_out_of_a_comparison() {
        let keys = json!({ "keys": { "added": 1, "removed": 2, "changed": 3, "equal": 4 } });
        assert_eq!(KeyCounts::of_comparison(&keys), Some(KeyCounts { removed: 2, changed: 3, equal: 4 }));
        assert_eq!(KeyCounts::of_comparison(&json!({ "keys": null })), None);
    }
}
