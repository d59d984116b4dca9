//! Receipts: the proof of a publish, read back; and a publish by the ledger alone, for jobs whose result is not in this database.

use serde_json::Value;
use sqlx::types::Uuid;
use thrice_core::time::Timestamp;

use crate::error::{ErrorKind, LedgerError};
use crate::ledger::Ledger;
use crate::stored_time::Moment;
use crate::vocabulary::ReceiptKind;

/// The proof that a run published.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Receipt {
    /// The run.
    pub attempt_id: i64,
    /// The partition.
    pub partition_id: i64,
    /// The token it published with.
    pub token: i64,
    /// What it says about the rows.
    pub kind: ReceiptKind,
    /// Rows of the partition afterwards.
    pub row_count: i64,
    /// Their checksum.
    pub checksum: String,
    /// The transaction that wrote rows and receipt.
    pub xid: String,
    /// The server's timeline then; a newer one means a failover since.
    pub timeline: String,
    /// When, on the database's clock.
    pub published_at: Timestamp,
}

/// The values of [`crate::data_plane::PUBLISH_TAIL`], in its order.
#[derive(Debug, Clone)]
pub struct PublishTail<'a> {
    /// `$1` The partition.
    pub partition_id: i64,
    /// `$2` The run.
    pub attempt_id: i64,
    /// `$3` The claim's token.
    pub token: i64,
    /// `$4` The worker that holds the claim.
    pub worker: Uuid,
    /// `$5` What the receipt says about the rows.
    pub kind: ReceiptKind,
    /// `$6` Rows taken away; this and the next four: `None` = read from the transaction's settings.
    pub rows_deleted: Option<i64>,
    /// `$7` Rows written; must equal the rows staged.
    pub rows_inserted: Option<i64>,
    /// `$8` Rows changed in place.
    pub rows_updated: Option<i64>,
    /// `$9` Rows of the partition as read back.
    pub target_rows: Option<i64>,
    /// `$10` Their checksum as read back.
    pub target_checksum: Option<&'a str>,
    /// `$11` The older receipt that a rollback without rows points to.
    pub points_to: Option<i64>,
    /// `$12` Where the replaced rows are kept.
    pub history_relation: Option<&'a str>,
    /// `$13` For how many seconds.
    pub history_kept_for: Option<i64>,
    /// `$14` What was read.
    pub input_manifest: Option<&'a Value>,
    /// `$15` Old rows against new ones.
    pub comparison: Option<&'a Value>,
    /// `$16` Close the partition with this.
    pub close: bool,
}

struct StoredReceipt {
    attempt_id: i64,
    partition_id: i64,
    token: i64,
    kind: String,
    row_count: i64,
    checksum: String,
    xid: String,
    timeline: String,
    published_at: Moment,
}

/// What the tail answers; the receipt is read back after the COMMIT, so only its shape matters here.
#[expect(dead_code, reason = "read for its types")]
struct TailRow {
    ok: Option<bool>,
    version: Option<i64>,
    published_at: Option<Moment>,
    row_count: Option<i64>,
    checksum: Option<String>,
    data_attempt_id: Option<i64>,
    previous_data_attempt_id: Option<i64>,
    edited_rows_before: Option<i64>,
    edited_receipt_rows: Option<i64>,
}

impl Ledger {
    /// The receipt of a run. `None` proves something only after a claim of its partition, or a barrier: see [`crate::resolve`].
    pub async fn receipt(&self, attempt_id: i64) -> Result<Option<Receipt>, LedgerError> {
        receipt_on(&mut *self.pool.acquire().await?, attempt_id).await
    }

    /// Publishes a job whose result is outside this database: the same fence, the same assertions, the same receipt, but no rows
    /// of ours move with it. Whoever calls this has put the result in place so that doing it again does no harm.
    /// `reopen` lets a closed partition be published.
    ///
    /// # Errors
    /// [`ErrorKind::Fenced`], [`ErrorKind::Closed`], [`ErrorKind::WrongState`], [`ErrorKind::Counts`]. After
    /// [`ErrorKind::ConnectionLost`] the outcome is unknown: ask [`crate::resolve`].
    pub async fn publish_elsewhere(&self, tail: &PublishTail<'_>, reopen: bool) -> Result<Receipt, LedgerError> {
        let mut transaction = self.pool.begin().await?;
        let locked = sqlx::query_file!("sql/lock_and_check_fence.sql", tail.partition_id, tail.token, reopen)
            .fetch_optional(&mut *transaction)
            .await?;
        if locked.is_none() {
            return Err(LedgerError::new(ErrorKind::Fenced, "there is no such partition in this database"));
        }
        sqlx::query_file_as_unchecked!(
            TailRow,
            "sql/publish_tail.sql",
            tail.partition_id,
            tail.attempt_id,
            tail.token,
            tail.worker,
            tail.kind.as_str(),
            tail.rows_deleted,
            tail.rows_inserted,
            tail.rows_updated,
            tail.target_rows,
            tail.target_checksum,
            tail.points_to,
            tail.history_relation,
            tail.history_kept_for,
            tail.input_manifest,
            tail.comparison,
            tail.close
        )
        .fetch_one(&mut *transaction)
        .await?;
        transaction.commit().await?;
        let receipt = self.receipt(tail.attempt_id).await?;
        // A COMMIT that the server turned into a ROLLBACK looks like one that worked.
        receipt.ok_or_else(|| LedgerError::new(ErrorKind::Statement, "the publish was rolled back at its commit"))
    }
}

/// Reads a receipt on a given connection.
pub(crate) async fn receipt_on(
    connection: &mut sqlx::PgConnection,
    attempt_id: i64,
) -> Result<Option<Receipt>, LedgerError> {
    let stored = sqlx::query_file_as_unchecked!(StoredReceipt, "sql/receipt_of.sql", attempt_id)
        .fetch_optional(connection)
        .await?;
    stored
        .map(|stored| {
            Ok(Receipt {
                attempt_id: stored.attempt_id,
                partition_id: stored.partition_id,
                token: stored.token,
                kind: stored.kind.parse().map_err(LedgerError::unreadable)?,
                row_count: stored.row_count,
                checksum: stored.checksum,
                xid: stored.xid,
                timeline: stored.timeline,
                published_at: stored.published_at.into(),
            })
        })
        .transpose()
}
