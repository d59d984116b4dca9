//! Places between the steps where the caller may look in, stop the process, or count.

/// Hears the name of each step once it is done.
///
/// The crate itself knows no failpoints: a caller that has some triggers them here.
pub trait Probe: Sync {
    /// `step` has just been done; its transaction is still open unless the step says otherwise.
    fn at(&self, step: &'static str);

    /// Whether nothing behind `step` may have been sent to the server when it is told. Steps that nobody wants to hear
    /// alone leave in one flight with those around them, and are told when it has landed.
    fn wants(&self, _step: &'static str) -> bool {
        true
    }
}

/// Hears nothing.
#[derive(Debug, Default, Clone, Copy)]
pub struct Quiet;

impl Probe for Quiet {
    fn at(&self, _step: &'static str) {}

    fn wants(&self, _step: &'static str) -> bool {
        false
    }
}

/// The staging table is filled; nothing is committed.
pub const STAGE_FILLED: &str = "stage_filled";
/// The caller's statements of the staging transaction have run; COMMIT comes next.
pub const STAGE_MARKED: &str = "stage_marked";
/// The table that is swapped in is filled; nothing is committed.
pub const PREPARE_FILLED: &str = "prepare_filled";
/// The publish transaction has begun and its settings stand; nothing is locked.
pub const PUBLISH_BEGUN: &str = "publish_begun";
/// The caller's first statements (lock and fence) have run.
pub const PUBLISH_LOCKED: &str = "publish_locked";
/// The old rows are deleted.
pub const PUBLISH_DELETED: &str = "publish_deleted";
/// The old rows that are about to be updated in place are copied, where rows are kept.
pub const PUBLISH_KEPT: &str = "publish_kept";
/// Rows that differ are updated in place, by strategies that do so.
pub const PUBLISH_UPDATED: &str = "publish_updated";
/// The new rows are written.
pub const PUBLISH_WRITTEN: &str = "publish_written";
/// The old partition is detached, by a strategy that swaps.
pub const PUBLISH_DETACHED: &str = "publish_detached";
/// The new partition is attached, by a strategy that swaps.
pub const PUBLISH_ATTACHED: &str = "publish_attached";
/// The target was read back and equals what was staged.
pub const PUBLISH_READ_BACK: &str = "publish_read_back";
/// The caller's last statements (the receipt) have run; COMMIT comes next.
pub const PUBLISH_RECEIPT: &str = "publish_receipt";

/// Every step name, in the order in which a run meets them.
pub const ALL: [&str; 13] = [
    STAGE_FILLED,
    STAGE_MARKED,
    PREPARE_FILLED,
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
];
