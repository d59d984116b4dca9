//! Delete the interval's rows, insert the staged ones. Readers never wait and see old or new, never a mix.

use super::{Counts, Parts, PlanStep, PublishPlan, ReadBack, Writes, list};
use crate::probe;

/// The plan: two statements, the second in key order so that the table stays clustered as far as it can.
pub fn plan(parts: &Parts<'_>) -> PublishPlan {
    let Parts { target, columns, staging, .. } = parts;
    let table = &target.table;
    let (published_at, now) = target.stamp();
    let order = if target.key.is_empty() { String::new() } else { format!(" order by {}", list(&target.key)) };
    let columns = columns.list("");
    PublishPlan {
        strategy: "delete_insert",
        steps: vec![
            PlanStep {
                what: "delete the old rows of the interval",
                text: parts.keeping(format!("delete from {table} where {}", target.inside()), "", true),
                takes_bounds: true,
                reads_staging: false,
                counts: Counts::Deleted,
                probe: Some(probe::PUBLISH_DELETED),
            },
            PlanStep {
                what: "insert the staged rows",
                text: format!(
                    "insert into {table} ({columns}{published_at}) select {columns}{now} from {staging}{order}"
                ),
                takes_bounds: false,
                reads_staging: true,
                counts: Counts::Inserted,
                probe: Some(probe::PUBLISH_WRITTEN),
            },
        ],
        writes: Writes::EveryStagedRow,
        kept_as: parts.keep.map(|keep| keep.publish),
        swap: None,
        reads_back: ReadBack::Interval,
    }
}
