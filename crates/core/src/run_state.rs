//! The states of a run as the ledger stores them.

use crate::failure_class::words;

words! {
    /// State of a run. `unknown` stands only between a COMMIT that was sent and its resolution.
    RunState {
        /// Claimed and begun.
        Started = "started",
        /// The result is in staging.
        Staged = "staged",
        /// Checks and guards let it pass.
        Validated = "validated",
        /// It has a receipt.
        Published = "published",
        /// It ended without one.
        Failed = "failed",
        /// COMMIT was sent, its answer is missing.
        Unknown = "unknown",
    }
}

impl RunState {
    /// Whether the ledger may move a run from this state to `next`.
    ///
    /// A run whose staging is inline goes from `started` to `published` in its one transaction.
    pub const fn can_become(self, next: Self) -> bool {
        matches!(
            (self, next),
            (Self::Started, Self::Staged | Self::Published | Self::Failed | Self::Unknown)
                | (Self::Staged, Self::Validated | Self::Failed)
                | (Self::Validated, Self::Published | Self::Failed | Self::Unknown)
                | (Self::Unknown, Self::Published | Self::Failed)
        )
    }

    /// True for the states that a run never leaves.
    pub const fn is_ended(self) -> bool {
        matches!(self, Self::Published | Self::Failed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ended_runs_stay_as_they_are() {
        for next in RunState::ALL {
            assert!(!RunState::Published.can_become(*next));
            assert!(!RunState::Failed.can_become(*next));
            assert!(!next.can_become(RunState::Started));
        }
    }

    #[test]
    fn nothing_skips_validation_but_an_inline_run() {
        assert!(!RunState::Staged.can_become(RunState::Published));
        assert!(!RunState::Staged.can_become(RunState::Unknown));
        assert!(!RunState::Unknown.can_become(RunState::Validated));
    }
}
