//! A prepared table takes the place of the interval's partition. Under the target's exclusive lock only names and
//! attachments change; no row is read or written.

use thrice_core::identifier::TableName;

use super::{Counts, Keep, Parts, PlanStep, PublishPlan, ReadBack, Swap, SwapOf, Writes, of_this_publish};
use crate::{
    history::{REPLACED_BY, WAS_THERE},
    probe,
    swap::prepare::PreparedPartition,
};

/// The plan: detach the old partition, drop it, give the new one its name, attach it. Where the interval has no partition yet,
/// it is attached and no more: readers go on reading. Rows that are kept are copied before anybody is locked out.
pub fn plan(parts: &Parts<'_>, prepared: &PreparedPartition) -> PublishPlan {
    let PreparedPartition { table, replaces, becomes, bound, owner, autovacuum, renames, .. } = prepared;
    let (parent, name, schema) = (&parts.target.table, &becomes.table, &becomes.schema);
    let moved = TableName::new(schema.clone(), table.table.clone());
    let mut steps = vec![
        step("move the new partition to its schema", format!("alter table {table} set schema {schema}")),
        step("let autovacuum at the new partition", format!("alter table {moved} {autovacuum}")),
    ];
    if let Some(replaced) = replaces {
        steps.extend(parts.keep.map(|keep| PlanStep {
            counts: Counts::Kept,
            probe: Some(probe::PUBLISH_KEPT),
            ..step("keep the old rows", copy(parts, &keep, &replaced.table))
        }));
        steps.push(PlanStep {
            probe: Some(probe::PUBLISH_DETACHED),
            ..step("detach the old partition", format!("alter table {parent} detach partition {}", replaced.table))
        });
        steps.push(step("drop the old partition", format!("drop table {}", replaced.table)));
    }
    steps.extend([
        step("name the new partition", format!("alter table {moved} rename to {name}")),
        step("hand the new partition over", format!("alter table {becomes} owner to {owner}")),
    ]);
    for rename in renames {
        let index = TableName::new(schema.clone(), rename.from.clone());
        steps.push(step("name an index", format!("alter index {index} rename to {}", rename.to)));
    }
    steps.push(PlanStep {
        probe: Some(probe::PUBLISH_ATTACHED),
        ..step("attach the new partition", format!("alter table {parent} attach partition {becomes} {bound}"))
    });
    steps.push(step(
        "drop the check of the bounds",
        format!("alter table {becomes} drop constraint {}", prepared.check()),
    ));
    PublishPlan {
        strategy: "partition_swap",
        steps,
        writes: Writes::EveryStagedRow,
        kept_as: parts.keep.map(|keep| keep.publish),
        reads_back: ReadBack::Interval,
        swap: Some(Swap { prepared: table.clone(), of: replaces.clone().map_or(SwapOf::Nothing, SwapOf::Partition) }),
    }
}

/// Every old row belongs to the publish, as where it is deleted.
fn copy(parts: &Parts<'_>, keep: &Keep<'_>, old: &TableName) -> String {
    let columns = parts.columns.list("");
    format!(
        "insert into {} ({REPLACED_BY}, {WAS_THERE}, {columns}) select {}, true, {columns} from {old}",
        keep.table.table(),
        of_this_publish(),
    )
}

const fn step(what: &'static str, text: String) -> PlanStep {
    PlanStep { what, text, takes_bounds: false, reads_staging: true, counts: Counts::Nothing, probe: None }
}
