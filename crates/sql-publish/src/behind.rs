//! What stands behind a target and would hear of its rows, or lose some: triggers, rules, foreign keys that refer to it.

use thrice_core::{code::ErrorCode, identifier::TableName, publish_strategy::PublishStrategy};
use tokio_postgres::Row;

use crate::{columns::identifier, error::PublishError, finding::Finding, session::get, target::quoted};

/// A trigger, a rule or a foreign key.
pub(crate) struct Behind {
    pub(crate) kind: String,
    name: String,
    relation: String,
    action: String,
    deferred: bool,
}

impl Behind {
    pub(crate) fn of(row: &Row) -> Result<Self, PublishError> {
        Ok(Self {
            kind: get(row, 0)?,
            name: get(row, 1)?,
            relation: TableName::new(identifier(&get::<String>(row, 2)?)?, identifier(&get::<String>(row, 3)?)?)
                .to_string(),
            action: get(row, 4)?,
            deferred: get(row, 5)?,
        })
    }

    pub(crate) fn finding(&self, table: &TableName, strategy: PublishStrategy) -> Option<Finding> {
        match strategy {
            PublishStrategy::DeleteInsert => self.where_rows_are_replaced(table),
            PublishStrategy::MergeComplete | PublishStrategy::MergeChanges => self.where_rows_are_merged(table),
            PublishStrategy::PartitionSwap => Some(self.where_tables_are_swapped(table)),
        }
    }

    /// Nothing is deleted or inserted in the target, and a partition that is referred to cannot be detached.
    fn where_tables_are_swapped(&self, table: &TableName) -> Finding {
        let Self { name, relation, .. } = self;
        match self.kind.as_str() {
            kind @ ("trigger" | "rule") => Finding::error(
                ErrorCode::SwapDependants,
                format!("the {kind} {name} on {relation} would not hear of a swap"),
                "a new partition takes the place of the old one; no row is deleted from the target or inserted into it",
                format!("drop {kind} {} on {relation}; or strategy = \"delete_insert\"", quoted(name)),
            ),
            _ => Finding::error(
                ErrorCode::SwapDependants,
                format!("the foreign key {name} of {relation} refers to {}", table.readable()),
                "a partition whose rows are referred to cannot be detached (23503)",
                format!(
                    "alter table {relation} drop constraint {}; or strategy = \"delete_insert\" or \"merge\"",
                    quoted(name)
                ),
            ),
        }
    }

    /// Rows whose keys stay are changed in place, and what refers to them stays with them.
    fn where_rows_are_merged(&self, table: &TableName) -> Option<Finding> {
        let Self { name, relation, .. } = self;
        let loss = match (self.kind.as_str(), self.action.as_str()) {
            ("trigger", _) => {
                return Some(Finding::warning(
                    ErrorCode::TargetKind,
                    format!("the trigger {name} on {relation} fires for every row that differs"),
                    "it is never switched off; where it changes rows, the publish is refused because they are not what was staged",
                    "nothing, if this is meant",
                ));
            }
            ("rule", _) => return self.where_rows_are_replaced(table),
            (_, "c") => "(on delete cascade) are deleted with it",
            (_, "n") => "(on delete set null) lose their reference",
            (_, "d") => "(on delete set default) lose their reference",
            _ => "keep the interval from being published (23503)",
        };
        Some(Finding::warning(
            ErrorCode::TargetKind,
            format!("the foreign key {name} of {relation} refers to {}", table.readable()),
            format!(
                "rows whose keys stay are changed in place; where a row vanishes, those of {relation} that refer to it {loss}"
            ),
            "nothing, if this is meant",
        ))
    }

    fn where_rows_are_replaced(&self, table: &TableName) -> Option<Finding> {
        let Self { name, relation, .. } = self;
        Some(match (self.kind.as_str(), self.action.as_str()) {
            ("trigger", _) => Finding::warning(
                ErrorCode::TargetKind,
                format!("the trigger {name} on {relation} fires for every row that is replaced"),
                "it is never switched off; where it changes rows, the publish is refused because they are not what was staged",
                "nothing, if this is meant",
            ),
            ("rule", _) => Finding::error(
                ErrorCode::TargetKind,
                format!("the rule {name} rewrites statements on {relation}"),
                "a rule can turn the delete or the insert into something else, and the server reports no error",
                format!("drop rule {} on {relation}; use a trigger instead", quoted(name)),
            ),
            (_, "c" | "n" | "d") => {
                let (clause, loss) = match self.action.as_str() {
                    "c" => ("on delete cascade", "would be deleted with the rows that are replaced"),
                    "n" => ("on delete set null", "would lose their reference to the rows that are replaced"),
                    _ => ("on delete set default", "would lose their reference to the rows that are replaced"),
                };
                Finding::error(
                    ErrorCode::ChildrenWouldBeLost,
                    format!("the foreign key {name} of {relation} refers to {} with {clause}", table.readable()),
                    format!(
                        "replacing an interval deletes its rows first: rows of {relation} {loss}, and do not come back"
                    ),
                    format!(
                        "alter table {relation} drop constraint {0}, add constraint {0} foreign key (…) references {table} (…) deferrable initially deferred;",
                        quoted(name)
                    ),
                )
            }
            ("foreign key", "a") if self.deferred => return None,
            (_, "r") => Finding::warning(
                ErrorCode::TargetKind,
                format!("the foreign key {name} of {relation} refers to {} with on delete restrict", table.readable()),
                "an interval whose rows are referred to cannot be replaced (23001): restrict is checked at the delete, before the same rows are back",
                format!(
                    "alter table {relation} drop constraint {0}, add constraint {0} foreign key (…) references {table} (…) deferrable initially deferred;",
                    quoted(name)
                ),
            ),
            _ => Finding::warning(
                ErrorCode::TargetKind,
                format!("the foreign key {name} of {relation} refers to {}", table.readable()),
                "an interval whose rows are referred to cannot be replaced (23503): the key is checked at the delete, before the same rows are back",
                format!("alter table {relation} alter constraint {} deferrable initially deferred;", quoted(name)),
            ),
        })
    }
}
