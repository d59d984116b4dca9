//! Whether a failure is tried again: the server's code and the side effect decide, never the message.
//!
//! PostgreSQL manual, appendix "PostgreSQL Error Codes". A code that is not named here is permanent.

use std::time::Duration;

use crate::failure_class::FailureClass;
use crate::sqlstate::SqlState;

/// What may already have happened on the server when an error came back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SideEffect {
    /// No COMMIT was sent: the open transaction is gone.
    None,
    /// COMMIT was written, or may have been.
    CommitSent,
}

/// What the client did or saw besides the server's code.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Circumstances {
    /// The connection is gone: closed, reset, a FATAL error, or the client gave up waiting.
    pub connection_lost: bool,
    /// This client asked the server to cancel because a person or a signal said stop.
    pub we_cancelled: bool,
    /// A timed-out stage counts as transient (`retry.on_timeout`).
    pub timeouts_are_transient: bool,
}

/// What to do about a failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Decision {
    /// The outcome is unknown: resolve it, nothing else.
    Resolve,
    /// The run has failed with this class. `tries` limits how many runs in a row may fail like this; `None`: the policy.
    Fail {
        /// Why.
        class: FailureClass,
        /// Most runs in a row that may end with this code.
        tries: Option<u32>,
        /// The server is short of something: wait the longest delay at once.
        long_delay: bool,
    },
}

impl Decision {
    const fn class(class: FailureClass) -> Self {
        Self::Fail { class, tries: None, long_delay: false }
    }

    const fn limited(tries: u32) -> Self {
        Self::Fail { class: FailureClass::Transient, tries: Some(tries), long_delay: false }
    }

    const fn shortage() -> Self {
        Self::Fail { class: FailureClass::Transient, tries: Some(2), long_delay: true }
    }
}

/// Decides about a failure. Total: every code, and no code, has an answer.
pub fn decide(code: Option<SqlState>, effect: SideEffect, seen: Circumstances) -> Decision {
    if effect == SideEffect::CommitSent && (seen.connection_lost || code.is_none_or(says_nothing_about_commit)) {
        return Decision::Resolve;
    }
    let Some(code) = code else {
        // no answer of the server at all: only a lost connection looks like that
        return Decision::class(if seen.we_cancelled { FailureClass::Cancelled } else { FailureClass::Transient });
    };
    match code.as_str() {
        "TH002" => Decision::class(FailureClass::Fenced),
        "TH003" | "TH005" | "TH014" => Decision::class(FailureClass::Guard),
        "TH004" => Decision::class(FailureClass::Check),
        "57014" if seen.we_cancelled => Decision::class(FailureClass::Cancelled),
        "57014" if seen.timeouts_are_transient => Decision::class(FailureClass::Transient),
        "57014" => Decision::class(FailureClass::Timeout),
        "58030" | "XX000" | "26000" | "42P05" => Decision::limited(2),
        "53100" | "58P01" => Decision::shortage(),
        "TH011" | "40001" | "40P01" | "55P03" | "55006" | "25P03" | "25P04" | "57P01" | "57P02" | "57P03" | "57P05"
        | "53000" | "53200" | "53300" | "53400" | "08000" | "08001" | "08003" | "08004" | "08006" | "08007"
        | "40003" | "25006" | "72000" => Decision::class(FailureClass::Transient),
        _ if seen.we_cancelled && seen.connection_lost => Decision::class(FailureClass::Cancelled),
        _ => Decision::class(FailureClass::Permanent),
    }
}

/// Codes after which a COMMIT may have happened all the same: the connection's own, and those that end a session.
fn says_nothing_about_commit(code: SqlState) -> bool {
    code.class() == "08"
        || matches!(code.as_str(), "40003" | "57P01" | "57P02" | "57P03" | "57P04" | "57P05" | "25P03" | "25P04")
}

/// How often and how long a partition is tried.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RetryPolicy {
    /// Most runs in a row, the first included.
    pub attempts: u32,
    /// Longest time from the first run's start to the start of the last one.
    pub budget: Duration,
    /// Wait before the second run; doubles with each.
    pub first_delay: Duration,
    /// Longest wait.
    pub max_delay: Duration,
    /// A timed-out stage counts as transient.
    pub on_timeout: bool,
}

impl Default for RetryPolicy {
    fn default() -> Self {
        Self {
            attempts: 3,
            budget: Duration::from_mins(15),
            first_delay: Duration::from_secs(2),
            max_delay: Duration::from_mins(2),
            on_timeout: false,
        }
    }
}

impl RetryPolicy {
    /// The wait before the next run after `failed` runs in a row and `spent` time since the first of them started;
    /// `None` where the policy is used up. `jitter` in `[0, 1)` takes up to a quarter off, so that many workers do not
    /// come back at the same instant.
    pub fn next_delay(
        &self,
        failed: u32,
        tries: Option<u32>,
        spent: Duration,
        long: bool,
        jitter: f64,
    ) -> Option<Duration> {
        if failed == 0 || failed >= self.attempts.min(tries.unwrap_or(u32::MAX)) {
            return None;
        }
        let doubled = self.first_delay.saturating_mul(1_u32.checked_shl(failed - 1).unwrap_or(u32::MAX));
        let full = if long { self.max_delay } else { doubled.min(self.max_delay) };
        let delay = full.mul_f64(1.0 - jitter.clamp(0.0, 1.0) / 4.0);
        (spent.saturating_add(delay) <= self.budget).then_some(delay)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn decided(code: &str, effect: SideEffect, lost: bool) -> Decision {
        decide(SqlState::parse(code), effect, Circumstances { connection_lost: lost, ..Circumstances::default() })
    }

    fn class_of(decision: Decision) -> Option<FailureClass> {
        match decision {
            Decision::Resolve => None,
            Decision::Fail { class, .. } => Some(class),
        }
    }

    /// Class, most runs in a row and whether the wait is long, for every code that the table names.
    #[test]
    fn the_table_is_as_written() {
        let policy = "40001 40P01 55P03 55006 25P03 25P04 57P01 57P02 57P03 57P05 53000 53200 53300 53400 08000 08001 \
                      08003 08004 08006 25006 72000 TH011";
        let twice = "58030 XX000 26000 42P05";
        let permanent = "22012 22003 23505 23514 21000 42P01 42501 28P01 28000 3D000 3F000 2BP01 0A000 0LP01 54001 \
                         P0001 P0004 44000 57P04 25001 25P02 F0000 XX001 XX002 TH010 TH012 TH013 99999";
        let transient = |tries, long_delay| Decision::Fail { class: FailureClass::Transient, tries, long_delay };
        let never = |class| Decision::Fail { class, tries: None, long_delay: false };
        for (codes, expected) in [
            (policy, transient(None, false)),
            (twice, transient(Some(2), false)),
            ("53100 58P01", transient(Some(2), true)),
            (permanent, never(FailureClass::Permanent)),
            ("TH002", never(FailureClass::Fenced)),
            ("TH003 TH005 TH014", never(FailureClass::Guard)),
            ("TH004", never(FailureClass::Check)),
            ("57014", never(FailureClass::Timeout)),
        ] {
            for code in codes.split_whitespace() {
                assert!(SqlState::parse(code).is_some(), "{code} is no SQLSTATE");
                assert_eq!(decided(code, SideEffect::None, false), expected, "{code}");
            }
        }
    }

    #[test]
    fn a_connection_lost_before_commit_is_tried_again_unless_somebody_said_stop() {
        let lost = Circumstances { connection_lost: true, ..Circumstances::default() };
        assert_eq!(class_of(decide(None, SideEffect::None, lost)), Some(FailureClass::Transient));
        let stopped = Circumstances { we_cancelled: true, ..lost };
        assert_eq!(class_of(decide(None, SideEffect::None, stopped)), Some(FailureClass::Cancelled));
        assert_eq!(decide(None, SideEffect::CommitSent, stopped), Decision::Resolve, "after COMMIT its answer decides");
    }

    #[test]
    fn a_commit_without_an_answer_is_resolved_and_never_retried() {
        assert_eq!(decide(None, SideEffect::CommitSent, Circumstances::default()), Decision::Resolve);
        for code in ["57P01", "57P02", "57P03", "57P04", "57P05", "25P03", "25P04", "08006", "08007", "40003"] {
            assert_eq!(decided(code, SideEffect::CommitSent, true), Decision::Resolve, "{code}");
            assert_eq!(decided(code, SideEffect::CommitSent, false), Decision::Resolve, "{code}");
        }
        // an error reply to COMMIT is a definite rollback
        assert_eq!(class_of(decided("23503", SideEffect::CommitSent, false)), Some(FailureClass::Permanent));
        assert_eq!(class_of(decided("40001", SideEffect::CommitSent, false)), Some(FailureClass::Transient));
    }

    #[test]
    fn the_client_tells_a_time_out_from_a_cancellation() {
        let cancelled = Circumstances { we_cancelled: true, ..Circumstances::default() };
        let code = SqlState::parse("57014");
        assert_eq!(class_of(decide(code, SideEffect::None, cancelled)), Some(FailureClass::Cancelled));
        assert_eq!(class_of(decide(code, SideEffect::None, Circumstances::default())), Some(FailureClass::Timeout));
        let lenient = Circumstances { timeouts_are_transient: true, ..Circumstances::default() };
        assert_eq!(class_of(decide(code, SideEffect::None, lenient)), Some(FailureClass::Transient));
    }

    #[test]
    fn three_attempts_are_two_delays() {
        let policy = RetryPolicy::default();
        let none = Duration::ZERO;
        assert_eq!(policy.next_delay(1, None, none, false, 0.0), Some(Duration::from_secs(2)));
        assert_eq!(policy.next_delay(2, None, none, false, 0.0), Some(Duration::from_secs(4)));
        assert_eq!(policy.next_delay(3, None, none, false, 0.0), None);
        assert_eq!(policy.next_delay(1, Some(1), none, false, 0.0), None);
        assert_eq!(policy.next_delay(1, None, none, true, 0.0), Some(Duration::from_mins(2)));
    }

    proptest! {
        #[test]
        fn delays_stay_within_their_bounds(failed in 0_u32..40, attempts in 1_u32..50, spent in 0_u64..2000, jitter in 0.0_f64..1.0) {
            let policy = RetryPolicy { attempts, ..RetryPolicy::default() };
            if let Some(delay) = policy.next_delay(failed, None, Duration::from_secs(spent), false, jitter) {
                prop_assert!(delay <= policy.max_delay);
                prop_assert!(delay >= policy.first_delay.mul_f64(0.75));
                prop_assert!(Duration::from_secs(spent) + delay <= policy.budget);
                prop_assert!(failed < attempts);
            }
        }

        #[test]
        fn every_code_has_an_answer(code in "[0-9A-Z]{5}", sent: bool, lost: bool) {
            let effect = if sent { SideEffect::CommitSent } else { SideEffect::None };
            let decision = decided(&code, effect, lost);
            prop_assert!(sent || decision != Decision::Resolve);
        }
    }
}
