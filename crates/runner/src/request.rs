//! What a caller asks of one run: who, why, and what it may override.

use std::time::Duration;

use thrice_core::reason::Reason;
use thrice_core::time::Timestamp;
use thrice_sql_publish::CancellationToken;

use crate::rollback::Rollback;

/// Why a run exists, as the ledger's column `trigger` spells it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Trigger {
    /// `thrice run` found the partition due.
    Schedule,
    /// `thrice run` found a revisit of the published partition due.
    Revisit,
    /// A person or a service named the partition.
    Manual,
    /// The same call tries again after a transient failure.
    Retry,
    /// Part of the demonstration.
    Demo,
    /// Existing rows are taken over as published.
    Adopt,
    /// Rows that a publish replaced come back.
    Rollback,
}

impl Trigger {
    /// The word in the ledger.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Schedule => "schedule",
            Self::Revisit => "revisit",
            Self::Manual => "manual",
            Self::Retry => "retry",
            Self::Demo => "demo",
            Self::Adopt => "adopt",
            Self::Rollback => "rollback",
        }
    }

    pub(crate) const fn of_ledger(self) -> thrice_ledger::Trigger {
        match self {
            Self::Schedule => thrice_ledger::Trigger::Schedule,
            Self::Revisit => thrice_ledger::Trigger::Revisit,
            Self::Manual => thrice_ledger::Trigger::Manual,
            Self::Retry => thrice_ledger::Trigger::Retry,
            Self::Demo => thrice_ledger::Trigger::Demo,
            Self::Adopt => thrice_ledger::Trigger::Adopt,
            Self::Rollback => thrice_ledger::Trigger::Rollback,
        }
    }
}

/// One request to produce one partition.
#[derive(Debug, Clone)]
#[expect(clippy::struct_excessive_bools, reason = "independent permissions, each asked for by its own flag")]
pub struct RunRequest {
    /// Why the run exists.
    pub trigger: Trigger,
    /// A person asked for this very partition: opens a fresh retry budget, ignores a pending retry time, and
    /// computes anew instead of adopting what an earlier run staged.
    pub explicit: bool,
    /// Replace rows that no receipt accounts for. Needs a reason.
    pub overwrite_existing: bool,
    /// Publish although a guard says that too much of what is published would go or change. Needs a reason.
    pub accept_drop: bool,
    /// Publish into a closed partition. Needs a reason.
    pub reopen: bool,
    /// Put kept rows back instead of running the query. Needs a reason.
    pub rollback: Option<Rollback>,
    /// The instant that decides which revisit of the late-data policy the run is.
    pub as_of: Timestamp,
    /// Why, in a person's words; stored with the run.
    pub reason: Option<Reason>,
    /// How long to wait for another worker that holds the partition. `None`: report it at once.
    pub wait: Option<Duration>,
    /// Fires when the run shall stop: before COMMIT the run ends as `failed`, class `cancelled`; a COMMIT that
    /// is under way is waited for.
    pub cancel: CancellationToken,
}

impl RunRequest {
    /// A run of the given trigger, asked for at an instant, without any override.
    pub fn new(trigger: Trigger, as_of: Timestamp) -> Self {
        Self {
            trigger,
            explicit: matches!(trigger, Trigger::Manual | Trigger::Demo | Trigger::Adopt | Trigger::Rollback),
            overwrite_existing: false,
            accept_drop: false,
            reopen: false,
            rollback: None,
            as_of,
            reason: None,
            wait: None,
            cancel: CancellationToken::new(),
        }
    }
}
