//! A run as a type that changes with its state, so that illegal steps do not compile.
//!
//! ```
//! use thrice_core::run::{CommitOutcome, Passed, PublishResult, Run};
//!
//! let run = Run::started(7, 42).staged(498).validated(Passed::of(&[true, true]).unwrap());
//! match run.publish(CommitOutcome::Unknown) {
//!     PublishResult::Unknown(open) => {
//!         // the receipt was read behind the barrier, and there is none: the run has failed for ever
//!         let failed = open.resolve(None).unwrap_err();
//!         assert_eq!(failed.class(), thrice_core::failure_class::FailureClass::Abandoned);
//!     }
//!     _ => unreachable!(),
//! }
//! ```
//!
//! Publishing what was not validated does not compile:
//! ```compile_fail,E0599
//! use thrice_core::run::{CommitOutcome, Run};
//! Run::started(7, 42).staged(498).publish(CommitOutcome::Committed);
//! ```
//!
//! Nor does validation without a proof, which nobody can make but from verdicts:
//! ```compile_fail,E0423
//! use thrice_core::run::{Passed, Run};
//! let run = Run::started(7, 42).staged(498).validated(Passed(()));
//! ```
//!
//! Nor a second publish of the same run:
//! ```compile_fail,E0382
//! use thrice_core::run::{CommitOutcome, Passed, Run};
//! let run = Run::started(7, 42).staged(498).validated(Passed::of(&[true]).unwrap());
//! let first = run.publish(CommitOutcome::Committed);
//! let second = run.publish(CommitOutcome::Committed);
//! ```
//!
//! Nor a publish of a run whose COMMIT is open:
//! ```compile_fail,E0599
//! use thrice_core::run::{CommitOutcome, Passed, PublishResult, Run};
//! let run = Run::started(7, 42).staged(498).validated(Passed::of(&[true]).unwrap());
//! if let PublishResult::Unknown(open) = run.publish(CommitOutcome::Unknown) {
//!     open.publish(CommitOutcome::Committed);
//! }
//! ```

use std::marker::PhantomData;

use crate::failure_class::FailureClass;
use crate::run_state::RunState;

mod sealed {
    pub trait Sealed {}
}

/// A state of a run, as a type.
pub trait Stage: sealed::Sealed {
    /// The state as the ledger stores it.
    const STATE: RunState;
}

macro_rules! stages {
    ($($(#[$doc:meta])* $name:ident;)*) => {$(
        $(#[$doc])*
        #[derive(Debug, Clone, Copy)]
        pub struct $name;
        impl sealed::Sealed for $name {}
        impl Stage for $name { const STATE: RunState = RunState::$name; }
    )*};
}

stages! {
    /// Claimed and begun.
    Started;
    /// The result is in staging.
    Staged;
    /// Checks and guards let it pass.
    Validated;
    /// It has a receipt.
    Published;
}

/// A run in the state `S`.
#[derive(Debug)]
#[must_use = "a run ends as published or failed"]
pub struct Run<S: Stage> {
    attempt_id: i64,
    token: i64,
    staged_rows: i64,
    stage: PhantomData<S>,
}

impl<S: Stage> Run<S> {
    /// Number of the run in the whole ledger.
    pub const fn attempt_id(&self) -> i64 {
        self.attempt_id
    }

    /// Fencing token of its claim.
    pub const fn token(&self) -> i64 {
        self.token
    }

    /// The state as the ledger stores it.
    pub const fn state(&self) -> RunState {
        S::STATE
    }

    const fn ended(&self, class: FailureClass) -> FailedRun {
        FailedRun { attempt_id: self.attempt_id, class }
    }

    const fn becomes<T: Stage>(self, staged_rows: i64) -> Run<T> {
        Run { attempt_id: self.attempt_id, token: self.token, staged_rows, stage: PhantomData }
    }
}

impl Run<Started> {
    /// A run whose row has just been written.
    pub const fn started(attempt_id: i64, token: i64) -> Self {
        Self { attempt_id, token, staged_rows: 0, stage: PhantomData }
    }

    /// The result is in staging: so many rows.
    pub const fn staged(self, rows: i64) -> Run<Staged> {
        self.becomes(rows)
    }

    /// It ends without a receipt.
    pub const fn failed(self, class: FailureClass) -> FailedRun {
        self.ended(class)
    }
}

impl Run<Staged> {
    /// The verdict let it pass.
    pub const fn validated(self, _proof: Passed) -> Run<Validated> {
        let rows = self.staged_rows;
        self.becomes(rows)
    }

    /// It ends without a receipt.
    pub const fn failed(self, class: FailureClass) -> FailedRun {
        self.ended(class)
    }
}

impl Run<Validated> {
    /// Rows in staging; the publish must write as many.
    pub const fn staged_rows(&self) -> i64 {
        self.staged_rows
    }

    /// It ends without a receipt, its publish transaction never begun or rolled back.
    pub const fn failed(self, class: FailureClass) -> FailedRun {
        self.ended(class)
    }

    /// What the end of the publish transaction made of the run.
    pub const fn publish(self, outcome: CommitOutcome) -> PublishResult {
        let rows = self.staged_rows;
        match outcome {
            CommitOutcome::Committed => PublishResult::Published(self.becomes(rows)),
            CommitOutcome::RolledBack => PublishResult::RolledBack(self),
            CommitOutcome::Unknown => {
                PublishResult::Unknown(Unresolved { attempt_id: self.attempt_id, token: self.token })
            }
        }
    }
}

/// Proof that every deciding check passed. Made by [`Passed::of`] only.
#[derive(Debug)]
pub struct Passed(());

impl Passed {
    /// Proof, where there are entries and every one is true. An entry stands for a check of severity error or a guard;
    /// some are always on, so no entry means that nothing was checked.
    pub fn of(verdicts: &[bool]) -> Option<Self> {
        (!verdicts.is_empty() && verdicts.iter().all(|passed| *passed)).then_some(Self(()))
    }
}

/// How COMMIT ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CommitOutcome {
    /// The receipt was read after it.
    Committed,
    /// The server rolled back.
    RolledBack,
    /// COMMIT may have been sent and was not answered.
    Unknown,
}

/// A run after its publish transaction.
#[derive(Debug)]
#[must_use = "an open outcome must be resolved"]
pub enum PublishResult {
    /// It has a receipt.
    Published(Run<Published>),
    /// Nothing was written; the transaction may be repeated, or the run fails.
    RolledBack(Run<Validated>),
    /// Only resolution leads out of here.
    Unknown(Unresolved),
}

/// A run whose COMMIT was not answered.
#[derive(Debug)]
#[must_use = "nothing may run on the partition before this is resolved"]
pub struct Unresolved {
    attempt_id: i64,
    token: i64,
}

/// A receipt that was read behind the barrier, in a statement after it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReceiptSeen {
    /// The run it belongs to.
    pub attempt_id: i64,
}

impl Unresolved {
    /// Number of the run in the whole ledger.
    pub const fn attempt_id(&self) -> i64 {
        self.attempt_id
    }

    /// Fencing token of its claim.
    pub const fn token(&self) -> i64 {
        self.token
    }

    /// The only way out: what was read behind the barrier. No receipt means failed for ever, because the fence has moved.
    ///
    /// # Errors
    /// [`FailedRun`] of class `abandoned` where no receipt, or another run's, was found.
    pub fn resolve(self, receipt: Option<ReceiptSeen>) -> Result<Run<Published>, FailedRun> {
        match receipt {
            Some(seen) if seen.attempt_id == self.attempt_id => {
                Ok(Run { attempt_id: self.attempt_id, token: self.token, staged_rows: 0, stage: PhantomData })
            }
            _ => Err(FailedRun { attempt_id: self.attempt_id, class: FailureClass::Abandoned }),
        }
    }
}

/// A run that has ended without a receipt.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("run {attempt_id} failed: {class}")]
pub struct FailedRun {
    attempt_id: i64,
    class: FailureClass,
}

impl FailedRun {
    /// Number of the run in the whole ledger.
    pub const fn attempt_id(&self) -> i64 {
        self.attempt_id
    }

    /// Why it failed.
    pub const fn class(&self) -> FailureClass {
        self.class
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_and_stored_states_tell_the_same_road() {
        assert!(Started::STATE.can_become(Staged::STATE));
        assert!(Staged::STATE.can_become(Validated::STATE));
        assert!(Validated::STATE.can_become(Published::STATE));
    }

    #[test]
    fn one_failed_verdict_is_no_proof() {
        assert!(Passed::of(&[true, false]).is_none());
        assert!(Passed::of(&[]).is_none(), "nothing was checked");
        assert!(Passed::of(&[true, true]).is_some());
    }

    #[test]
    fn a_run_may_fail_before_its_commit_is_sent() {
        let staged = || Run::started(7, 1).staged(3);
        assert_eq!(Run::started(7, 1).failed(FailureClass::Transient).class(), FailureClass::Transient);
        assert_eq!(staged().failed(FailureClass::Check).class(), FailureClass::Check);
        let PublishResult::RolledBack(run) =
            staged().validated(Passed::of(&[true]).unwrap()).publish(CommitOutcome::RolledBack)
        else {
            panic!("rolled back");
        };
        assert_eq!((run.state(), run.staged_rows()), (RunState::Validated, 3));
        assert_eq!(run.failed(FailureClass::Permanent).attempt_id(), 7);
    }

    #[test]
    fn another_runs_receipt_proves_nothing() {
        let open = Unresolved { attempt_id: 7, token: 1 };
        assert_eq!(open.resolve(Some(ReceiptSeen { attempt_id: 8 })).unwrap_err().class(), FailureClass::Abandoned);
        let open = Unresolved { attempt_id: 7, token: 1 };
        assert_eq!(open.resolve(Some(ReceiptSeen { attempt_id: 7 })).unwrap().state(), RunState::Published);
    }
}
