//! The SQL of each strategy, word for word. Needs no server.

use thrice_core::{
    column_bounds::{ColumnBounds, IntervalColumnType},
    identifier::{Identifier, TableName},
    publish_strategy::PublishStrategy,
    time::civil::date,
};
use thrice_sql_publish::{
    checksum,
    columns::ColumnMap,
    history::{HistoryTable, Undone},
    staging::StagingName,
    staging_mode::{Durable, StagingMode as _},
    strategy::{Keep, Parts, PublishPlan, delete_insert, merge_complete, unchanged},
    target::{IntervalColumn, Target, TargetColumn, ValueSource},
};

#[cfg(test)]
mod given {
    use super::{
        ColumnMap, Identifier, IntervalColumnType, Parts, PublishPlan, PublishStrategy, StagingName, TableName, Target,
        TargetColumn, ValueSource, delete_insert,
    };

    pub(crate) fn names(names: &[&str]) -> Vec<Identifier> {
        names.iter().map(|name| Identifier::new(*name).unwrap()).collect()
    }

    pub(crate) fn target(table: &str, interval_column: &str, key: &[&str], published_at: Option<&str>) -> Target {
        Target {
            table: TableName::parse(table).unwrap(),
            oid: 0,
            columns: Vec::new(),
            interval: Some(super::IntervalColumn {
                name: Identifier::new(interval_column).unwrap(),
                of: IntervalColumnType::Date,
            }),
            key: names(key),
            published_at: published_at.map(|name| Identifier::new(name).unwrap()),
            is_partitioned: false,
            has_triggers: false,
            strategy: PublishStrategy::DeleteInsert,
            version: None,
            operation: None,
        }
    }

    pub(crate) fn columns(columns: &[&str]) -> ColumnMap {
        ColumnMap::of(names(columns))
    }

    pub(crate) fn plan(target: &Target, columns: &ColumnMap) -> PublishPlan {
        let staging = StagingName::of("1", "1").unwrap();
        delete_insert::plan(&Parts { target, columns, staging: staging.table(), keep: None })
    }

    pub(crate) fn text(plan: &PublishPlan) -> String {
        let steps: Vec<String> = plan
            .steps
            .iter()
            .map(|step| format!("-- {} ({:?}, bounds: {})\n{}", step.what, step.counts, step.takes_bounds, step.text))
            .collect();
        format!("-- {} writes {:?}\n{}", plan.strategy, plan.writes, steps.join("\n"))
    }

    /// A target of four columns, with the types that a comparison looks at.
    pub(crate) fn daily() -> Target {
        let mut daily = target("mart.daily", "the \"day\"", &["the \"day\"", "store"], Some("updated at"));
        for (name, base_type) in [("the \"day\"", 1082), ("store", 20), ("total", 1700), ("note", 25)] {
            daily.columns.push(TargetColumn {
                name: Identifier::new(name).unwrap(),
                type_name: String::new(),
                type_oid: base_type,
                base_type: Some(base_type),
                not_null: false,
                has_default: false,
                source: ValueSource::Writer,
                lacks: None,
            });
        }
        daily
    }
}

#[test]
fn delete_insert_with_key_and_published_at() {
    let target = given::target("mart.daily_order_summary", "dt", &["dt", "store_id"], Some("updated_at"));
    insta::assert_snapshot!(given::text(&given::plan(&target, &given::columns(&["dt", "store_id", "total_amount"]))));
}

#[test]
fn delete_insert_without_key() {
    let target = given::target("\"odd Schema.1\".\"we\"\"ird %s.table\"", "the \"day\"", &[], None);
    insta::assert_snapshot!(given::text(&given::plan(&target, &given::columns(&["the \"day\"", "n"]))));
}

#[test]
fn merge_of_a_complete_interval() {
    let target = given::daily();
    let (columns, staging) =
        (given::columns(&["the \"day\"", "store", "total", "note"]), StagingName::of("1", "1").unwrap());
    let plan =
        merge_complete::plan(&Parts { target: &target, columns: &columns, staging: staging.table(), keep: None });
    insta::assert_snapshot!(given::text(&plan));
}

#[test]
fn plans_that_keep_what_they_replace() {
    let target = given::daily();
    let (columns, staging) =
        (given::columns(&["the \"day\"", "store", "total", "note"]), StagingName::of("1", "1").unwrap());
    let history = HistoryTable::of(&target, &columns).unwrap();
    let parts = Parts {
        target: &target,
        columns: &columns,
        staging: staging.table(),
        keep: Some(Keep { table: &history, publish: 7 }),
    };
    insta::assert_snapshot!("delete_insert_that_keeps", given::text(&delete_insert::plan(&parts)));
    insta::assert_snapshot!("merge_that_keeps", given::text(&merge_complete::plan(&parts)));
}

#[test]
fn queries_that_put_old_rows_back() {
    let target = given::daily();
    let columns = given::columns(&["the \"day\"", "store", "total", "note"]);
    let history = HistoryTable::of(&target, &columns).unwrap();
    let day = ColumnBounds::Dates { start: date(2026, 3, 24), end: date(2026, 3, 25) };
    let query = |undone: &[(i64, bool)]| {
        let undone: Vec<Undone> = undone.iter().map(|&(publish, whole)| Undone { publish, whole }).collect();
        let query = thrice_sql_publish::history::query(&history, &target, &columns, &day, &undone);
        format!("{}\n-- {} values", query.text(), query.values().len())
    };
    insta::assert_snapshot!("back_over_a_whole_publish", query(&[(7, true)]));
    insta::assert_snapshot!("back_over_two_merges", query(&[(7, false), (9, false)]));
    insta::assert_snapshot!("back_over_a_merge_and_a_whole_publish", query(&[(7, false), (9, true), (11, false)]));
}

#[test]
fn unchanged_writes_nothing() {
    insta::assert_snapshot!(given::text(&unchanged::plan("delete_insert")));
}

#[test]
fn durable_staging() {
    let staging = StagingName::of("1", "1").unwrap();
    let target = TableName::parse("mart.daily").unwrap();
    insta::assert_snapshot!(Durable.create(staging.table(), &target, &given::names(&["dt", "select"])));
}

#[test]
fn checksum_v1() {
    let table = TableName::parse("mart.daily").unwrap();
    insta::assert_snapshot!(checksum::statement(&table, &given::names(&["dt", "total"]), Some("dt = $1")));
}
