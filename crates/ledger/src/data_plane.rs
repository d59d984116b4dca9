//! The statements that must be part of the transaction that moves the rows.
//!
//! They are files of this crate because they know the ledger's tables, and they are plain text because the data plane has a driver
//! of its own. Every parameter is cast in the text, so that any driver infers the same types; [`STATEMENTS`] spells them out.
//! A publish sends [`LOCK_AND_CHECK_FENCE`] first and alone, its own statements, [`PUBLISH_TAIL`] last, and after the COMMIT [`RECEIPT_OF`].

/// Locks the partition and checks the fence under the lock. One row, or `TH002` (fenced), `TH003` (closed).
/// No row at all: there is no such partition.
pub const LOCK_AND_CHECK_FENCE: &str = include_str!("../sql/lock_and_check_fence.sql");
/// Writes `staged` in the transaction that fills the staging table. `TH010`: the run was ended meanwhile.
pub const MARK_STAGED: &str = include_str!("../sql/mark_staged.sql");
/// Compares the counts, writes receipt, pointers, run and event. Raises `TH002`, `TH010`, `TH011`, `TH012`, `TH013`.
pub const PUBLISH_TAIL: &str = include_str!("../sql/publish_tail.sql");
/// Reads a receipt. On the connection whose COMMIT came back without an error, no row means: rolled back.
pub const RECEIPT_OF: &str = include_str!("../sql/receipt_of.sql");

/// Writes down that the rows which publishes replaced are kept no more; in the transaction that deletes them.
pub const FORGET_HISTORY: &str = include_str!("../sql/forget_history.sql");
/// Locks a pipeline's target for a publish whose keys may lie in any interval; before [`LOCK_AND_CHECK_FENCE`].
pub const LOCK_TARGET: &str = include_str!("../sql/lock_target.sql");
/// `TH014`: a later interval is published, and changes without a version cannot be applied before it any more.
pub const NO_NEWER_PUBLISH: &str = include_str!("../sql/no_newer_publish.sql");
/// Whether no open run names a staging table; asked under the table's lock before it is dropped.
pub const STAGING_IS_UNUSED: &str = include_str!("../sql/staging_is_unused.sql");

/// The transaction-local settings in which the statements of a publish leave their counts for [`PUBLISH_TAIL`].
/// They are to be emptied when the transaction begins.
pub const COUNT_SETTINGS: [&str; 8] = [
    "thrice.rows_deleted",
    "thrice.rows_inserted",
    "thrice.rows_updated",
    "thrice.target_rows",
    "thrice.target_checksum",
    "thrice.rows_before",
    "thrice.checksum_before",
    "thrice.comparison",
];

/// A statement with the types that its parameters and columns have on every driver.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Signature {
    /// The file's name without its ending.
    pub name: &'static str,
    /// The text.
    pub text: &'static str,
    /// `PostgreSQL`'s names of the parameters' types, `$1` first.
    pub params: &'static [&'static str],
    /// Names and types of the columns.
    pub columns: &'static [(&'static str, &'static str)],
}

/// All statements of the data plane.
pub const STATEMENTS: [Signature; 8] = [
    Signature {
        name: "lock_and_check_fence",
        text: LOCK_AND_CHECK_FENCE,
        params: &["int8", "int8", "bool"],
        columns: &[
            ("fence_ok", "bool"),
            ("open_ok", "bool"),
            ("version", "int8"),
            ("current_attempt_id", "int8"),
            ("data_attempt_id", "int8"),
        ],
    },
    Signature { name: "staging_is_unused", text: STAGING_IS_UNUSED, params: &["text"], columns: &[("unused", "int4")] },
    Signature { name: "lock_target", text: LOCK_TARGET, params: &["int4"], columns: &[("locked", "int4")] },
    Signature {
        name: "no_newer_publish",
        text: NO_NEWER_PUBLISH,
        params: &["int4", "int4", "timestamptz"],
        columns: &[("in_order", "bool")],
    },
    Signature { name: "forget_history", text: FORGET_HISTORY, params: &["int8[]"], columns: &[] },
    Signature {
        name: "mark_staged",
        text: MARK_STAGED,
        params: &["int8", "int8", "text", "int8", "text", "text"],
        columns: &[("ok", "bool")],
    },
    Signature {
        name: "publish_tail",
        text: PUBLISH_TAIL,
        params: &[
            "int8", "int8", "int8", "uuid", "text", "int8", "int8", "int8", "int8", "text", "int8", "text", "int8",
            "jsonb", "jsonb", "bool",
        ],
        columns: &[
            ("ok", "bool"),
            ("version", "int8"),
            ("published_at", "timestamptz"),
            ("row_count", "int8"),
            ("checksum", "text"),
            ("data_attempt_id", "int8"),
            ("previous_data_attempt_id", "int8"),
            ("edited_rows_before", "int8"),
            ("edited_receipt_rows", "int8"),
        ],
    },
    Signature {
        name: "receipt_of",
        text: RECEIPT_OF,
        params: &["int8"],
        columns: &[
            ("attempt_id", "int8"),
            ("partition_id", "int8"),
            ("token", "int8"),
            ("kind", "text"),
            ("row_count", "int8"),
            ("checksum", "text"),
            ("xid", "text"),
            ("timeline", "text"),
            ("published_at", "timestamptz"),
        ],
    },
];

/// `application_name` inside a publish: it leads from a session of the server to the run, and [`crate::resolve`] looks for it.
pub fn application_name(partition_id: i64, attempt_no: i32) -> String {
    format!("thrice:{partition_id}#{attempt_no}")
}
