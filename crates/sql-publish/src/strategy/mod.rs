//! How staged rows become the interval: one file per strategy, each a pure function from names to SQL.

pub mod delete_insert;
pub mod merge_complete;
pub mod unchanged;

use thrice_core::identifier::{Identifier, TableName};
use thrice_core::publish_strategy::PublishStrategy;

use crate::{columns::ColumnMap, target::Target};

/// What a strategy may know.
#[derive(Debug, Clone, Copy)]
pub struct Parts<'a> {
    /// The target as examined.
    pub target: &'a Target,
    /// The columns that are written.
    pub columns: &'a ColumnMap,
    /// Where the rows stand. A strategy asks nothing else of staging, so that how rows are staged can change.
    pub staging: &'a TableName,
}

/// The plan of a strategy.
pub fn plan(strategy: PublishStrategy, parts: &Parts<'_>) -> PublishPlan {
    match strategy {
        PublishStrategy::MergeComplete => merge_complete::plan(parts),
        PublishStrategy::DeleteInsert => delete_insert::plan(parts),
    }
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
    pub probe: &'static str,
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

/// A list of names in SQL.
fn list(names: &[Identifier]) -> String {
    let names: Vec<String> = names.iter().map(ToString::to_string).collect();
    names.join(", ")
}
