//! How staged rows become the interval: one file per strategy, each a pure function from names to SQL.

pub mod delete_insert;
pub mod merge_changes;
pub mod merge_complete;
pub mod partition_swap;
pub mod unchanged;

use thrice_core::identifier::{Identifier, TableName};
use thrice_core::publish_strategy::PublishStrategy;

use crate::{
    columns::ColumnMap,
    history::{HistoryTable, REPLACED_BY, SETTING, WAS_THERE},
    swap::IntervalPartition,
    target::Target,
};

/// What a strategy may know.
#[derive(Debug, Clone, Copy)]
pub struct Parts<'a> {
    /// The target as examined.
    pub target: &'a Target,
    /// The columns that are written.
    pub columns: &'a ColumnMap,
    /// Where the rows stand. A strategy asks nothing else of staging, so that how rows are staged can change.
    pub staging: &'a TableName,
    /// Where rows that are replaced are kept; `None`: they are gone.
    pub keep: Option<Keep<'a>>,
}

/// Where the rows that a publish replaces are kept.
#[derive(Debug, Clone, Copy)]
pub struct Keep<'a> {
    /// The table, which is there.
    pub table: &'a HistoryTable,
    /// The number of the publish, by which they are found again.
    pub publish: i64,
}

/// The plan of a strategy that writes the staged rows into the target. `None`: it swaps, and its plan is made from what was
/// [prepared](mod@crate::swap::prepare).
pub fn plan(strategy: PublishStrategy, parts: &Parts<'_>) -> Option<PublishPlan> {
    match strategy {
        PublishStrategy::MergeComplete => Some(merge_complete::plan(parts)),
        PublishStrategy::MergeChanges => Some(merge_changes::plan(parts)),
        PublishStrategy::DeleteInsert => Some(delete_insert::plan(parts)),
        PublishStrategy::PartitionSwap => None,
    }
}

/// The plan that writes nothing: what is staged is published already. Whether the target still holds it is read back.
pub fn unchanged(strategy: PublishStrategy, parts: &Parts<'_>) -> PublishPlan {
    if strategy.takes_changes() { merge_changes::unchanged(parts) } else { unchanged::plan(strategy.as_str()) }
}

/// The statements that replace an interval.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PublishPlan {
    /// The strategy's name, as the ledger spells it.
    pub strategy: &'static str,
    /// In this order, in one flight: none may need the answer to another.
    pub steps: Vec<PlanStep>,
    /// How many rows must have been written: as many as are staged, or none.
    pub writes: Writes,
    /// The number that kept rows get.
    pub kept_as: Option<i64>,
    /// How it is seen that the target holds what was staged.
    pub reads_back: ReadBack,
    /// The steps let one table take the place of another.
    pub swap: Option<Swap>,
}

/// How it is seen that the target holds what was staged.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ReadBack {
    /// Count and checksum of the interval are those of the staged rows.
    Interval,
    /// A statement without values of four counts: staged rows; their keys; rows of the target that have one of these keys; and
    /// those of them that are in the staged state. The last three must be equal.
    Keys(String),
}

/// What a publish of a swap reads before its steps.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Swap {
    /// The table that comes; it holds every staged row.
    pub prepared: TableName,
    /// What goes.
    pub of: SwapOf,
}

/// What a swap replaces.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SwapOf {
    /// A partition of the target.
    Partition(IntervalPartition),
    /// Nothing: the interval has no partition yet.
    Nothing,
}

/// One statement of a plan.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlanStep {
    /// A short phrase for errors and traces.
    pub what: &'static str,
    /// The SQL. It may run on the user's search path, so every name and operator is qualified.
    pub text: String,
    /// `$1` and `$2` are the bounds of the interval.
    pub takes_bounds: bool,
    /// It names the staging table, so no other run has the same text.
    pub reads_staging: bool,
    /// What the number of rows means.
    pub counts: Counts,
    /// The [`probe`](crate::probe) told when it is done.
    pub probe: Option<&'static str>,
}

/// What the rows of a statement's command tag are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Counts {
    /// Old rows that are gone.
    Deleted,
    /// Rows that were changed in place.
    Updated,
    /// New rows.
    Inserted,
    /// Nothing of the interval: old rows were copied.
    Kept,
    /// None: the statement moves no rows.
    Nothing,
}

/// How many rows a plan must write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Writes {
    /// Each staged row, once.
    EveryStagedRow,
    /// Those that the interval does not hold yet; the read-back alone says whether that is all of them.
    WhatDiffers,
    /// None at all.
    Nothing,
}

impl Parts<'_> {
    /// A statement that changes rows, together with the copy of what it returns, where rows are kept: those that were there, or
    /// those that came. Its rows are counted as if it stood alone.
    fn keeping(&self, statement: String, alias: &str, were_there: bool) -> String {
        let Some(keep) = self.keep else { return statement };
        let columns = self.columns.list("");
        format!(
            "with changed as ({statement} returning {}) insert into {} ({REPLACED_BY}, {WAS_THERE}, {columns}) \
             select {}, {were_there}, {columns} from changed",
            self.columns.list(alias),
            keep.table.table(),
            of_this_publish(),
        )
    }
}

/// The number of the publish, which the transaction carries in a setting: statements come again with another one.
fn of_this_publish() -> String {
    format!("pg_catalog.current_setting('{SETTING}')::pg_catalog.int8")
}

/// A list of names in SQL.
pub(crate) fn list(names: &[Identifier]) -> String {
    let names: Vec<String> = names.iter().map(ToString::to_string).collect();
    names.join(", ")
}
