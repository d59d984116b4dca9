//! What became of one partition: the outcome, and every attempt on the way.

use std::time::Duration;

use jiff::Timestamp;
use thrice_checks::CheckResult;
use thrice_core::{code::ErrorCode, failure_class::FailureClass, schedule::Partition, sqlstate::SqlState};

/// The result of one call of [`Runner::run_partition`](crate::Runner::run_partition).
#[derive(Debug, Clone)]
pub struct PartitionReport {
    /// The partition that was asked for.
    pub partition: Partition,
    /// How the call ended.
    pub outcome: Outcome,
    /// Each run of this call that ended without a receipt, oldest first.
    pub failed_attempts: Vec<Problem>,
}

/// How one partition ended.
#[derive(Debug, Clone)]
pub enum Outcome {
    /// The staged rows are the partition now.
    Published(Done),
    /// The result equals what is published; only a receipt was written.
    Unchanged(Done),
    /// The run failed and nothing changed for readers.
    Failed(Problem),
    /// A policy or a guard said no and nothing changed for readers.
    Refused(Problem),
    /// A living worker has the partition.
    Held(Problem),
    /// COMMIT was sent and its outcome is still open. Nothing may run on this partition before it is resolved.
    Unknown(Problem),
}

impl Outcome {
    /// The run's end when there is a receipt.
    pub const fn done(&self) -> Option<&Done> {
        match self {
            Self::Published(done) | Self::Unchanged(done) => Some(done),
            Self::Failed(_) | Self::Refused(_) | Self::Held(_) | Self::Unknown(_) => None,
        }
    }

    /// What went wrong when there is no receipt.
    pub const fn problem(&self) -> Option<&Problem> {
        match self {
            Self::Published(_) | Self::Unchanged(_) => None,
            Self::Failed(problem) | Self::Refused(problem) | Self::Held(problem) | Self::Unknown(problem) => {
                Some(problem)
            }
        }
    }

    /// The outcome in one word, as `--json` and logs spell it.
    pub const fn as_str(&self) -> &'static str {
        match self {
            Self::Published(_) => "published",
            Self::Unchanged(_) => "unchanged",
            Self::Failed(_) => "failed",
            Self::Refused(_) => "refused",
            Self::Held(_) => "held",
            Self::Unknown(_) => "unknown",
        }
    }
}

/// A run that has a receipt.
#[derive(Debug, Clone)]
pub struct Done {
    /// Number of the run among the runs of its partition, from 1.
    pub attempt_no: i32,
    /// The run's id for other systems.
    pub run_id: String,
    /// Rows of the partition and what the publish did.
    pub rows: RowCounts,
    /// Old rows against new ones, where old ones were replaced: rows, keys where the target has a key, sums of numeric columns.
    pub comparison: Option<serde_json::Value>,
    /// Content checksum `v1:…` of the published rows.
    pub checksum: String,
    /// When the receipt was written, by the database's clock.
    pub published_at: Timestamp,
    /// The COMMIT's answer was lost; the receipt was found behind the barrier.
    pub resolved: bool,
    /// The interval did not hold what its last receipt says: somebody else had written there, and that was replaced.
    pub edited_since_receipt: Option<Edited>,
    /// Attempt number of the run whose staging was adopted.
    pub resumed_from: Option<i32>,
    /// Time of each step.
    pub times: StepTimes,
    /// Every check, passed or not (warnings may have failed).
    pub checks: Vec<CheckResult>,
}

/// What a publish found in place of what the last receipt says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Edited {
    /// Rows that the interval held. As many as the receipt says where rows were changed and none came or went.
    pub rows_before: i64,
    /// Rows that the receipt says.
    pub receipt_rows: i64,
}

/// Rows of a publish.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct RowCounts {
    /// Rows of the partition now.
    pub total: i64,
    /// Rows written that were not there.
    pub inserted: i64,
    /// Rows changed in place, by strategies that do so.
    pub updated: i64,
    /// Rows deleted.
    pub deleted: i64,
}

/// How long the steps took, in this process's monotonic time.
#[derive(Debug, Clone, Copy, Default)]
pub struct StepTimes {
    /// Claim and the run's row.
    pub claim: Duration,
    /// Query into staging, checksum included.
    pub stage: Duration,
    /// Checks and guards.
    pub check: Duration,
    /// The publish transaction.
    pub publish: Duration,
}

/// A run, or a request, that ended without a receipt.
#[derive(Debug, Clone)]
pub struct Problem {
    /// The code that people look up.
    pub code: ErrorCode,
    /// Failure class, where a run exists in the ledger.
    pub class: Option<FailureClass>,
    /// What happened.
    pub what: String,
    /// Why it matters, or what lies behind it.
    pub why: Option<String>,
    /// What to do: a command or a statement to paste.
    pub fix: Option<String>,
    /// The server's code.
    pub sqlstate: Option<SqlState>,
    /// Place in the rendered query, 1-based in characters, where the server pointed at one.
    pub position: Option<usize>,
    /// Checks that were evaluated.
    pub checks: Vec<CheckResult>,
    /// Number of the run, where one was started.
    pub attempt_no: Option<i32>,
    /// How long until the next try, where the failure is retried later.
    pub retry_in: Option<Duration>,
}

impl Problem {
    /// A problem with nothing but a code and a sentence.
    pub fn new(code: ErrorCode, what: impl Into<String>) -> Self {
        Self {
            code,
            class: None,
            what: what.into(),
            why: None,
            fix: None,
            sqlstate: None,
            position: None,
            checks: Vec::new(),
            attempt_no: None,
            retry_in: None,
        }
    }

    /// Whether the same may succeed later without a change.
    pub fn is_transient(&self) -> bool {
        use thrice_core::retry::{Circumstances, Decision, SideEffect, decide};
        let by_code = self.sqlstate.is_some_and(|code| {
            matches!(
                decide(Some(code), SideEffect::None, Circumstances::default()),
                Decision::Fail { class: FailureClass::Transient, .. }
            )
        });
        by_code || self.class == Some(FailureClass::Transient) || self.is_connection_lost()
    }

    /// Whether the connection it was seen on is gone.
    pub fn is_connection_lost(&self) -> bool {
        self.code == ErrorCode::Unreachable
    }

    /// Adds the reason behind it.
    #[must_use]
    pub fn why(mut self, why: impl Into<String>) -> Self {
        self.why = Some(why.into());
        self
    }

    /// Adds what to do.
    #[must_use]
    pub fn fix(mut self, fix: impl Into<String>) -> Self {
        self.fix = Some(fix.into());
        self
    }

    /// Adds the failure class.
    #[must_use]
    pub const fn class(mut self, class: FailureClass) -> Self {
        self.class = Some(class);
        self
    }
}

/// A step that has just ended, for progress lines.
#[derive(Debug, Clone)]
pub enum Step {
    /// The partition is ours; `taken_over` from a worker that is gone.
    Claimed {
        /// A dead worker's claim was taken over.
        taken_over: bool,
    },
    /// Rows are in staging.
    Staged {
        /// How many.
        rows: i64,
        /// Attempt whose staging was adopted.
        resumed_from: Option<i32>,
        /// How long it took.
        took: Duration,
    },
    /// Checks have been evaluated.
    Checked {
        /// Checks that passed.
        passed: usize,
        /// All checks.
        total: usize,
        /// How long it took.
        took: Duration,
    },
    /// A transient failure; another run follows.
    Retrying {
        /// What failed.
        problem: Problem,
        /// The wait before it.
        after: Duration,
    },
    /// A run has failed, and the ledger could not be told.
    NotRecorded {
        /// What the run failed with.
        problem: Problem,
        /// What the ledger answered.
        error: String,
        /// The wait before it is told again; `None`: the next claim of the partition ends the run.
        again: Option<Duration>,
    },
    /// COMMIT was not answered; the ledger is being asked.
    Resolving,
}

/// Receives steps as they happen.
pub trait Progress: Send {
    /// One step has ended.
    fn step(&mut self, step: &Step);
}

/// Hears nothing.
#[derive(Debug, Default, Clone, Copy)]
pub struct Silent;

impl Progress for Silent {
    fn step(&mut self, _step: &Step) {}
}
