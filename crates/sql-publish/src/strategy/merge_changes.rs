//! The staged rows are changes: of every key the newest one is applied, and rows that are not named stay.
//!
//! Keys are those of the whole table, so a publish has the target for itself: the caller locks it before the partition. With a
//! version a change applies only where the row is not newer already; that makes a replay of an old interval harmless. A
//! deletion is a change like any other, which leaves its row as a mark: a row that is gone could be brought back by a replay.

use super::{Counts, Parts, PlanStep, PublishPlan, ReadBack, Writes, list};
use crate::{comparison::equal, probe, target::TargetColumn};

/// The plan: update what is older, insert what is new. The caller holds the target.
pub fn plan(parts: &Parts<'_>) -> PublishPlan {
    let Parts { target, columns, .. } = parts;
    let table = &target.table;
    let (newest, same_key) = (newest(parts), target.same_key());
    let written: Vec<&TargetColumn> = columns.columns().iter().filter_map(|name| target.column(name)).collect();
    let equal: Vec<String> = written.iter().map(|column| equal(column)).collect();
    let mut set: Vec<String> = written.iter().map(|column| format!("{0} = s.{0}", column.name)).collect();
    set.extend(target.published_at.as_ref().map(|column| format!("{column} = pg_catalog.now()")));
    let (published_at, now) = target.stamp();
    let steps = vec![
        PlanStep {
            what: "update the rows that have changed",
            text: format!(
                "update {table} t set {} from ({newest}) s where {same_key}{} and ({}) is not true",
                set.join(", "),
                not_newer(parts),
                equal.join(" and "),
            ),
            takes_bounds: false,
            reads_staging: true,
            counts: Counts::Updated,
            probe: Some(probe::PUBLISH_UPDATED),
        },
        PlanStep {
            what: "insert the new rows",
            text: format!(
                "insert into {table} ({0}{published_at}) select {0}{now} from ({newest}) s \
                 where not exists (select from {table} t where {same_key}) order by {1}",
                columns.list(""),
                list(&target.key),
            ),
            takes_bounds: false,
            reads_staging: true,
            counts: Counts::Inserted,
            probe: Some(probe::PUBLISH_WRITTEN),
        },
    ];
    PublishPlan {
        strategy: "merge",
        steps,
        writes: Writes::WhatDiffers,
        kept_as: None,
        swap: None,
        reads_back: read_back(parts),
    }
}

/// The plan without a statement: the changes were applied before, and the target still has them.
pub fn unchanged(parts: &Parts<'_>) -> PublishPlan {
    PublishPlan {
        strategy: "merge",
        steps: Vec::new(),
        writes: Writes::Nothing,
        kept_as: None,
        swap: None,
        reads_back: read_back(parts),
    }
}

/// How many rows are staged, of how many keys, and how many rows of the target have them in that state or a newer one. Two rows of one key
/// count twice, so what another writer has doubled is noticed.
fn read_back(parts: &Parts<'_>) -> ReadBack {
    let Parts { target, columns, .. } = parts;
    let newest = newest(parts);
    let has_it = if let Some(version) = &target.version {
        format!("t.{version} operator(pg_catalog.>=) s.{version}")
    } else {
        let written = columns.columns().iter().filter_map(|name| target.column(name));
        written.map(equal).collect::<Vec<_>>().join(" and ")
    };
    ReadBack::Keys(format!(
        "select (select pg_catalog.count(*) from {}), (select pg_catalog.count(*) from ({newest}) s), \
         (select pg_catalog.count(*) from {} t join ({newest}) s on {}), \
         (select pg_catalog.count(*) from {} t join ({newest}) s on {} where {has_it})",
        parts.staging,
        target.table,
        target.same_key(),
        target.table,
        target.same_key(),
    ))
}

/// Of every key the row with the greatest version; without one, keys are unique.
fn newest(parts: &Parts<'_>) -> String {
    let Parts { target, columns, staging, .. } = parts;
    let written = columns.list("");
    match &target.version {
        Some(version) => {
            let key = list(&target.key);
            format!("select distinct on ({key}) {written} from {staging} order by {key}, {version} desc")
        }
        None => format!("select {written} from {staging}"),
    }
}

/// That the row of the target is not newer. One without a version is older than any change.
fn not_newer(parts: &Parts<'_>) -> String {
    parts.target.version.as_ref().map_or_else(String::new, |version| {
        format!(" and (t.{version} is null or t.{version} operator(pg_catalog.<=) s.{version})")
    })
}
