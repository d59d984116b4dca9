//! The staged rows are the whole interval; only what differs is written. Rows whose keys are no longer there are deleted,
//! rows that differ are updated in place, rows that are new are inserted, and equal rows are not touched: their version,
//! their place and what refers to them stay.
//!
//! Three statements and not one MERGE: they run on every server version, each says how many rows it changed, and the
//! partition's lock keeps other publishes out between them. Every one is bounded by the interval. "Differs" means what
//! the checksum means by it: `1.0` and `1.00` are equal numbers and different rows.

use super::{Counts, Parts, PlanStep, PublishPlan, ReadBack, Writes, list, of_this_publish};
use crate::{
    comparison::equal,
    history::{REPLACED_BY, WAS_THERE},
    probe,
    target::TargetColumn,
};

/// The plan: delete what vanished, update what differs, insert what is new.
pub fn plan(parts: &Parts<'_>) -> PublishPlan {
    let Parts { target, columns, staging, keep } = parts;
    let table = &target.table;
    let inside = target.inside_of("t.");
    let same_key = target.same_key();
    let written: Vec<&TargetColumn> = columns.columns().iter().filter_map(|name| target.column(name)).collect();
    let equal: Vec<String> = written.iter().map(|column| equal(column)).collect();
    let mut set: Vec<String> = written.iter().map(|column| format!("{0} = s.{0}", column.name)).collect();
    set.extend(target.published_at.as_ref().map(|column| format!("{column} = pg_catalog.now()")));
    let (published_at, now) = target.stamp();
    let differ = format!("({}) is not true", equal.join(" and "));
    // what an update replaces no version before 18 returns
    let kept = keep.map(|keep| PlanStep {
        what: "keep the rows that are updated",
        text: format!(
            "insert into {} ({REPLACED_BY}, {WAS_THERE}, {}) select {}, true, {} from {table} t, {staging} s \
             where {inside} and {same_key} and {differ}",
            keep.table.table(),
            columns.list(""),
            of_this_publish(),
            columns.list("t."),
        ),
        takes_bounds: true,
        reads_staging: true,
        counts: Counts::Kept,
        probe: Some(probe::PUBLISH_KEPT),
    });
    let gone =
        format!("delete from {table} t where {inside} and not exists (select from {staging} s where {same_key})");
    let new = format!(
        "insert into {table} ({0}{published_at}) select {0}{now} from {staging} s \
         where not exists (select from {table} t where {inside} and {same_key}) order by {1}",
        columns.list(""),
        list(&target.key),
    );
    let mut steps = vec![PlanStep {
        what: "delete the rows that are no longer given",
        text: parts.keeping(gone, "t.", true),
        takes_bounds: true,
        reads_staging: true,
        counts: Counts::Deleted,
        probe: Some(probe::PUBLISH_DELETED),
    }];
    steps.extend(kept);
    steps.extend([
        PlanStep {
            what: "update the rows that differ",
            text: format!(
                "update {table} t set {} from {staging} s where {inside} and {same_key} and {differ}",
                set.join(", "),
            ),
            takes_bounds: true,
            reads_staging: true,
            counts: Counts::Updated,
            probe: Some(probe::PUBLISH_UPDATED),
        },
        PlanStep {
            what: "insert the new rows",
            text: parts.keeping(new, "", false),
            takes_bounds: true,
            reads_staging: true,
            counts: Counts::Inserted,
            probe: Some(probe::PUBLISH_WRITTEN),
        },
    ]);
    PublishPlan {
        strategy: "merge",
        steps,
        writes: Writes::WhatDiffers,
        kept_as: keep.map(|keep| keep.publish),
        swap: None,
        reads_back: ReadBack::Interval,
    }
}
