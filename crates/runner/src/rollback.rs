//! Rollback: the rows that publishes replaced become the partition again, by a run like any other. What it stages comes out of
//! the kept rows and must be, by count and checksum, what the receipt of that time says.

use std::time::Duration;

use thrice_core::code::ErrorCode;
use thrice_core::column_bounds::ColumnBounds;
use thrice_core::failure_class::FailureClass;
use thrice_core::schedule::Partition;
use thrice_ledger::{KeptReceipt, PipelineCut, data_plane};
use thrice_sql_publish::checksum::Content;
use thrice_sql_publish::columns::ColumnMap;
use thrice_sql_publish::history::{self, HistoryTable, Undone};
use thrice_sql_publish::query::UserQuery;
use thrice_sql_publish::target::{self, Target};
use thrice_sql_publish::{CancellationToken, Statement};
use tokio_postgres::types::Type;

use crate::job::Job;
use crate::patience::{Patience, on_data};
use crate::prepare::{NotPrepared, Prepared, examine_request};
use crate::problem;
use crate::report::Problem;
use crate::runner::Runner;

/// What a rollback keeps where the pipeline keeps nothing: it can be undone as well.
pub(crate) const KEPT_BY_ROLLBACK: Duration = Duration::from_hours(7 * 24);

/// Writes down that the rows which these runs replaced are kept no more; for [`history::forget`].
pub fn history_is_forgotten(attempts: &[i64]) -> Statement {
    Statement::new("forget kept rows", data_plane::FORGET_HISTORY).bind(attempts.to_vec(), Type::INT8_ARRAY)
}

/// What is put back, over what.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rollback {
    /// The receipt whose rows come back.
    pub to: KeptReceipt,
    /// The receipt whose rows are there now.
    pub from: KeptReceipt,
    /// The newest receipt, which no publish may have followed.
    newest: i64,
    undone: Vec<Undone>,
    history: HistoryTable,
    columns: ColumnMap,
}

impl Rollback {
    /// The query that gives the rows.
    pub(crate) fn query(&self, target: &Target, bounds: &ColumnBounds) -> UserQuery {
        history::query(&self.history, target, &self.columns, bounds, &self.undone)
    }

    /// Whether these are the rows that come back.
    ///
    /// # Errors
    /// [`Problem`]: they are not what the receipt says.
    pub fn check(&self, content: &Content) -> Result<(), Box<Problem>> {
        if content.rows == self.to.row_count && content.checksum == self.to.checksum {
            Ok(())
        } else {
            Err(Box::new(other_rows(self, content.rows)))
        }
    }

    /// Whether another receipt has come since this was planned.
    pub(crate) fn is_overtaken(&self, newest: Option<i64>) -> bool {
        newest != Some(self.newest)
    }
}

impl Runner {
    /// Looks whether a partition can be put back to what run `to` published, or else to what its newest publish replaced.
    /// Nothing is written. The query of the pipeline is not looked at: it may be what is wrong.
    ///
    /// # Errors
    /// [`NotPrepared`]: the target is not as it must be, or no rows are kept that lead back to that state.
    pub async fn plan_rollback(
        &mut self,
        job: Job,
        cut: PipelineCut,
        partition: &Partition,
        to: Option<i32>,
        stop: &CancellationToken,
    ) -> Result<(Prepared, Rollback), NotPrepared> {
        self.patience = Patience::of(stop);
        if job.strategy.takes_changes() {
            let what = "the pipeline publishes changes, whose rows may lie in any interval";
            return Err(nothing_kept(what, "what they replaced is not kept").into());
        }
        let asking = self.patience.ledger(self.ledger().receipts_of(&cut, partition.interval.start()));
        let receipts = asking.await.map_err(|error| problem::of_ledger(&error))?;
        let chain = Chain::of(&receipts, to).map_err(|problem| *problem)?;
        let timeouts = job.limits.checking();
        let over = self.patience.token();
        let client = self.client().await?;
        let request = examine_request(&job);
        let examining = target::examine(client, &request, &timeouts, stop);
        let examined =
            on_data(&over, "examine the target", examining).await.map_err(|error| problem::of_publish(&error))?;
        let Some(target) = examined.target else { return Err(NotPrepared::Findings(examined.findings)) };
        let kept = HistoryTable::parse(&chain.relation).map_err(|error| problem::of_publish(&error))?;
        let looking = history::columns_kept(client, &kept, &target, &timeouts, stop);
        let columns =
            on_data(&over, "look at the kept rows", looking).await.map_err(|error| problem::of_publish(&error))?;
        let Some(columns) = columns else {
            let what = format!("the kept rows do not fit {} any more", target.table.readable());
            return Err(nothing_kept(what, "its columns have changed since, or their table was dropped").into());
        };
        let (Some(to), Some(from), Some(newest)) = (chain.to, chain.from, receipts.first()) else {
            return Err(nothing_published().into());
        };
        let rollback = Rollback {
            newest: newest.attempt_id,
            to: to.clone(),
            from: from.clone(),
            undone: chain.undone,
            history: kept,
            columns: columns.clone(),
        };
        Ok((Prepared { job, row: cut, target, columns, warnings: examined.findings }, rollback))
    }
}

/// The way back from the rows that are there.
#[derive(Debug)]
struct Chain<'r> {
    to: Option<&'r KeptReceipt>,
    from: Option<&'r KeptReceipt>,
    /// The publishes that are undone, oldest first.
    undone: Vec<Undone>,
    relation: String,
}

impl<'r> Chain<'r> {
    /// `receipts` are newest first.
    fn of(receipts: &'r [KeptReceipt], to: Option<i32>) -> Result<Self, Box<Problem>> {
        // the others left the rows as they were
        let moved: Vec<&KeptReceipt> = receipts.iter().filter(|receipt| receipt.kind != "unchanged").collect();
        let Some(from) = moved.first().copied() else { return Err(nothing_published().into()) };
        let at = match to {
            None => 1,
            Some(to) => {
                let Some(asked) = receipts.iter().find(|receipt| receipt.attempt_no == to) else {
                    let known: Vec<String> =
                        moved.iter().skip(1).map(|known| format!("#{}", known.attempt_no)).collect();
                    let fix = if known.is_empty() {
                        "there is none to go back to".to_owned()
                    } else {
                        format!("one of {}", known.join(", "))
                    };
                    return Err(refused(ErrorCode::NothingKept, format!("run #{to} has no receipt")).fix(fix).into());
                };
                // an unchanged run stands for the rows that it found
                moved.iter().position(|receipt| receipt.attempt_id <= asked.attempt_id).unwrap_or(moved.len())
            }
        };
        if at == 0 {
            let what = format!("the rows of run #{} are the ones that are there", to.unwrap_or(from.attempt_no));
            return Err(refused(ErrorCode::NothingKept, what)
                .fix("name an older run: thrice show P K lists them")
                .into());
        }
        let Some(to) = moved.get(at).copied() else {
            let what = format!("run #{} was the first publish of the partition", from.attempt_no);
            return Err(nothing_kept(what, "there is nothing older to put back").into());
        };
        let mut undone = Vec::new();
        let mut relation: Option<&str> = None;
        for receipt in moved.iter().take(at).rev() {
            let kept = match (&receipt.history_relation, receipt.history_expires_at) {
                (Some(kept), Some(_)) => kept,
                (Some(_), None) => {
                    let what = format!("the rows that run #{} replaced are no longer kept", receipt.attempt_no);
                    return Err(nothing_kept(what, "their time was over, and `thrice gc` deleted them").into());
                }
                (None, _) => {
                    let what = format!("the rows that run #{} replaced were not kept", receipt.attempt_no);
                    let fix = "publish it again from the corrected query or source; for the next time: keep_old_for = \"7d\" under [target]";
                    return Err(nothing_kept(what, "keep_old_for under [target] was 0 then").fix(fix).into());
                }
            };
            if relation.is_some_and(|relation| relation != kept) {
                let what = format!("run #{} published other columns than those before it", receipt.attempt_no);
                return Err(nothing_kept(what, "kept rows of different columns cannot be put together").into());
            }
            relation = Some(kept);
            undone.push(Undone { publish: receipt.attempt_id, whole: receipt.strategy != "merge" });
        }
        Ok(Self { to: Some(to), from: Some(from), undone, relation: relation.unwrap_or_default().to_owned() })
    }
}

fn refused(code: ErrorCode, what: impl Into<String>) -> Problem {
    Problem::new(code, what.into()).class(FailureClass::Guard)
}

fn nothing_published() -> Problem {
    refused(ErrorCode::NothingKept, "the partition was never published").fix("there is nothing to put back")
}

fn nothing_kept(what: impl Into<String>, why: &str) -> Problem {
    refused(ErrorCode::NothingKept, what).why(why.to_owned()).fix(
        "publish it again from the corrected query or source; for the next time: keep_old_for = \"7d\" under [target]",
    )
}

/// A publish came between the plan and the claim.
pub(crate) fn overtaken() -> Problem {
    refused(ErrorCode::NewerPublish, "another publish came in between")
        .why("what was to be put back lies under it now")
        .fix("look at it: thrice show P K; then ask again, with --to-attempt N for the run whose rows are to come back")
}

/// What was put together is not what the receipt says.
fn other_rows(rollback: &Rollback, rows: i64) -> Problem {
    let to = &rollback.to;
    let what = format!(
        "the kept rows are not those of run #{}: {rows} rows were put together, its receipt says {}{}",
        to.attempt_no,
        to.row_count,
        if rows == to.row_count { ", and they differ" } else { "" }
    );
    refused(ErrorCode::KeptRowsDiffer, what)
        .why("somebody else has changed the interval in between, or the type of a column, so the old state is not all kept")
        .fix("name another run: --to-attempt N; or publish the partition again from the corrected query or source")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn receipt(attempt_no: i32, kind: &str, strategy: &str, kept: bool) -> KeptReceipt {
        KeptReceipt {
            attempt_id: i64::from(attempt_no) * 10,
            attempt_no,
            kind: kind.to_owned(),
            strategy: strategy.to_owned(),
            row_count: 1,
            checksum: String::new(),
            code_hash: None,
            published_at: jiff::Timestamp::UNIX_EPOCH,
            history_relation: kept.then(|| "thrice_history.h_0".to_owned()),
            history_expires_at: kept.then_some(jiff::Timestamp::UNIX_EPOCH),
        }
    }

    #[test]
    fn the_newest_publish_is_undone_unless_an_older_run_is_named() {
        let receipts = [
            receipt(5, "unchanged", "merge", false),
            receipt(4, "publish", "merge", true),
            receipt(3, "unchanged", "merge", false),
            receipt(2, "publish", "delete_insert", true),
            receipt(1, "publish", "delete_insert", false),
        ];
        let way = |to| {
            let chain = Chain::of(&receipts, to).unwrap();
            (
                chain.to.unwrap().attempt_no,
                chain.undone.iter().map(|undone| (undone.publish, undone.whole)).collect::<Vec<_>>(),
            )
        };
        assert_eq!(way(None), (2, vec![(40, false)]));
        assert_eq!(way(Some(2)), way(None));
        // what an unchanged run found are the rows of the publish before it
        assert_eq!(way(Some(3)), way(None));
        assert_eq!(way(Some(1)), (1, vec![(20, true), (40, false)]));
        for (to, code) in
            [(Some(4), ErrorCode::NothingKept), (Some(5), ErrorCode::NothingKept), (Some(9), ErrorCode::NothingKept)]
        {
            assert_eq!(Chain::of(&receipts, to).unwrap_err().code, code, "{to:?}");
        }
    }

    #[test]
    fn without_kept_rows_there_is_no_way_back() {
        let mut receipts =
            [receipt(2, "publish", "delete_insert", false), receipt(1, "publish", "delete_insert", false)];
        assert_eq!(Chain::of(&receipts, None).unwrap_err().code, ErrorCode::NothingKept);
        assert_eq!(Chain::of(&receipts[1..], None).unwrap_err().code, ErrorCode::NothingKept);
        assert_eq!(Chain::of(&[], None).unwrap_err().code, ErrorCode::NothingKept);
        // deleted when their time was over
        receipts[0].history_relation = Some("thrice_history.h_0".to_owned());
        assert!(Chain::of(&receipts, None).unwrap_err().what.contains("no longer kept"));
    }
}
