//! Named places between the steps of a run where a test can stop, delay or kill the process.
//!
//! Without the feature `failpoints` every call compiles to nothing. With it, the environment variable
//! `FAILPOINTS` of the [`fail`](https://docs.rs/fail) crate arms them by name, for example
//! `FAILPOINTS='after_commit=return(kill)'`. Three arguments are understood: `kill` sends a real SIGKILL
//! to this process, `stop` a SIGSTOP, and `sleep:MS` waits.

/// Every failpoint on the road of one data interval, in the order in which a run meets them.
pub const ALL: [&str; 23] = [
    BEFORE_CLAIM,
    AFTER_CLAIM,
    AFTER_START,
    STAGE_FILLED,
    STAGE_MARKED,
    AFTER_STAGE,
    AFTER_CHECKS,
    AFTER_VALIDATE,
    PREPARE_FILLED,
    AFTER_PREPARE,
    PUBLISH_BEGUN,
    PUBLISH_LOCKED,
    PUBLISH_DELETED,
    PUBLISH_KEPT,
    PUBLISH_UPDATED,
    PUBLISH_WRITTEN,
    PUBLISH_DETACHED,
    PUBLISH_ATTACHED,
    PUBLISH_READ_BACK,
    PUBLISH_RECEIPT,
    AFTER_COMMIT,
    BEFORE_DROP,
    AFTER_DROP,
];

/// The partition is chosen, nothing is written.
pub const BEFORE_CLAIM: &str = "before_claim";
/// The claim is durable, no run exists yet.
pub const AFTER_CLAIM: &str = "after_claim";
/// The run is `started`.
pub const AFTER_START: &str = "after_start";
/// The staging table is filled, its transaction is open.
pub const STAGE_FILLED: &str = "stage_filled";
/// The run is marked `staged` inside the staging transaction, not committed.
pub const STAGE_MARKED: &str = "stage_marked";
/// The run is `staged`.
pub const AFTER_STAGE: &str = "after_stage";
/// Checks have run, their results are not recorded.
pub const AFTER_CHECKS: &str = "after_checks";
/// The run is `validated`.
pub const AFTER_VALIDATE: &str = "after_validate";
/// The table that is swapped in is filled, its transaction is open.
pub const PREPARE_FILLED: &str = "prepare_filled";
/// The table that is swapped in waits for the publish.
pub const AFTER_PREPARE: &str = "after_prepare";
/// The publish transaction has begun, nothing is locked.
pub const PUBLISH_BEGUN: &str = "publish_begun";
/// The partition row is locked and the fence was checked.
pub const PUBLISH_LOCKED: &str = "publish_locked";
/// The old rows are deleted in the open transaction.
pub const PUBLISH_DELETED: &str = "publish_deleted";
/// Old rows that are about to be updated are copied in the open transaction, where rows are kept.
pub const PUBLISH_KEPT: &str = "publish_kept";
/// Rows that differ are updated in the open transaction, by strategies that do so.
pub const PUBLISH_UPDATED: &str = "publish_updated";
/// The new rows are written in the open transaction.
pub const PUBLISH_WRITTEN: &str = "publish_written";
/// The old partition is detached in the open transaction, by a strategy that swaps.
pub const PUBLISH_DETACHED: &str = "publish_detached";
/// The new partition is attached in the open transaction, by a strategy that swaps.
pub const PUBLISH_ATTACHED: &str = "publish_attached";
/// The target was read back in the open transaction.
pub const PUBLISH_READ_BACK: &str = "publish_read_back";
/// The receipt is written in the open transaction; COMMIT comes next.
pub const PUBLISH_RECEIPT: &str = "publish_receipt";
/// COMMIT was answered, nobody was told.
pub const AFTER_COMMIT: &str = "after_commit";
/// The outcomes of one partition or of some are known, their staging tables are still there.
pub const BEFORE_DROP: &str = "before_drop";
/// The staging tables are gone.
pub const AFTER_DROP: &str = "after_drop";

/// Arms what the environment variable `FAILPOINTS` names, for the rest of the process.
///
/// Does nothing without the feature `failpoints`.
pub fn arm_from_environment() {
    #[cfg(feature = "failpoints")]
    std::mem::forget(fail::FailScenario::setup());
}

/// Hands the places inside the staging and publish transactions on.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Failpoints;

impl thrice_sql_publish::probe::Probe for Failpoints {
    fn at(&self, step: &'static str) {
        hit(step);
    }

    fn wants(&self, step: &'static str) -> bool {
        is_armed(step)
    }
}

/// Whether a test waits for this place.
#[cfg(not(feature = "failpoints"))]
pub(crate) const fn is_armed(_name: &str) -> bool {
    false
}

/// Whether a test waits for this place.
#[cfg(feature = "failpoints")]
pub(crate) fn is_armed(name: &str) -> bool {
    fail::list().iter().any(|(armed, _)| armed == name)
}

/// Marks one place. See the module.
#[cfg(not(feature = "failpoints"))]
#[inline]
pub(crate) fn hit(_name: &str) {}

/// Marks one place. See the module.
#[cfg(feature = "failpoints")]
pub(crate) fn hit(name: &str) {
    fail::eval(name, |argument| act(name, argument.as_deref().unwrap_or_default()));
}

#[cfg(feature = "failpoints")]
fn act(name: &str, argument: &str) {
    tracing::warn!(failpoint = name, argument, "failpoint");
    match argument {
        "kill" => signal_self("-KILL"),
        "stop" => signal_self("-STOP"),
        other => {
            if let Some(ms) = other.strip_prefix("sleep:").and_then(|ms| ms.parse().ok()) {
                std::thread::sleep(std::time::Duration::from_millis(ms));
            }
        }
    }
}

/// A real signal from outside: the process has no chance to tidy up.
#[cfg(feature = "failpoints")]
fn signal_self(signal: &str) {
    let pid = std::process::id().to_string();
    let sent = std::process::Command::new("kill").args([signal, &pid]).status();
    tracing::warn!(?sent, "signal sent to this process");
    if signal == "-KILL" {
        loop {
            std::thread::park();
        }
    }
}
