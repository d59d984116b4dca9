//! `sample.sql` on a database that holds other people's tables.

use crate::scratch::Scratch;
use crate::support::Place;

fn sample() -> String {
    std::fs::read_to_string(Place::project().path().join("sample.sql")).unwrap()
}

#[test]
fn schemas_that_the_sample_did_not_make_stop_it_before_its_first_change() {
    for (theirs, other) in [("ods", "mart"), ("mart", "ods")] {
        let scratch = Scratch::new();
        scratch.execute(&format!(
            "create schema {theirs}; create table {theirs}.orders (n int); insert into {theirs}.orders values (7);
             create table {theirs}.daily_order_summary (n int); create view {theirs}.v as table {theirs}.orders;
             comment on schema {theirs} is 'the shop''s own'"
        ));
        let said = scratch.refusal(&sample());
        assert_eq!(said, format!("schema {theirs} exists and is not the sample's; nothing was done"));
        assert_eq!(scratch.number(&format!("select n from {theirs}.v")), 7);
        assert_eq!(scratch.number(&format!("select count(*) from {theirs}.daily_order_summary")), 0);
        assert_eq!(scratch.number(&format!("select count(*) from pg_namespace where nspname = '{other}'")), 0);
    }
}

#[test]
fn a_second_load_adds_what_is_missing_and_changes_nothing() {
    let scratch = Scratch::new();
    scratch.execute(&sample());
    scratch.execute(
        "update ods.orders set amount = 1 where order_id = 2; delete from ods.orders where order_id = 3;
         create table mart.of_mine (n int); create view mart.v as table ods.orders;
         insert into mart.daily_order_summary values ('2026-03-24', 1, 1, 1, now())",
    );
    scratch.execute(&sample());
    assert_eq!(scratch.number("select count(*) from mart.v"), 40_000);
    assert_eq!(scratch.number("select count(*) from ods.orders where order_id = 2 and amount = 1"), 1);
    assert_eq!(scratch.number("select count(*) from mart.daily_order_summary"), 1);
    assert_eq!(scratch.number("select count(*) from mart.of_mine"), 0);
}
