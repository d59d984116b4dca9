//! Any name that the server takes is a name that works.

use proptest::{prelude::*, test_runner::TestRunner};
use thrice_core::identifier::{Identifier, TableName};
use thrice_sql_publish::staging::StagingName;

use crate::support::{Road, Scratch, day, one};

#[tokio::test]
async fn quotes_dots_percent_signs_and_63_bytes_survive_the_whole_road() {
    let long = "가나다라마바사아자차카타파하가나다라마바사"; // 21 letters, 63 bytes
    assert_eq!(long.len(), 63);
    for (schema, table, column) in [
        ("odd Schema.1", "we\"ird %s.table", "the \"day\""),
        ("s", "a_rather_long_but_legal_table_name_for_revenue_per_customer_day", "day"),
        ("user", "select", "order"),
        ("back\\slash", "'; drop table x; --", "$1"),
        (long, long, long),
    ] {
        let name = TableName::new(Identifier::new(schema).unwrap(), Identifier::new(table).unwrap());
        let column = Identifier::new(column).unwrap();
        let (_db, mut client) = Scratch::with(&format!(
            "create schema {}; create table {name} ({column} date not null, \"N\" int, unique ({column}, \"N\"))",
            name.schema
        ))
        .await;
        let query = format!("select date '2026-03-24' as {column}, n as \"N\" from generate_series(1, 3) n");
        let text = name.to_string();
        let keys = [column.as_str(), "N"];
        let mut road = Road::new(&text, column.as_str(), &query, day("2026-03-24"));
        road.key = &keys;
        for attempt in ["1", "2", "3"] {
            assert_eq!(road.run(&mut client, attempt).await.unwrap().content.rows, 3, "{text}");
        }
        assert_eq!(one(&client, &format!("select count(*) from {name}")).await, "3");
        assert_eq!(
            one(&client, "select count(*) from pg_tables where schemaname = 'thrice_staging'").await,
            "3",
            "one table for each run"
        );
    }
}

#[tokio::test]
async fn long_names_that_differ_in_their_last_letter_do_not_share_staging() {
    let one = StagingName::of(&format!("{}y", "x".repeat(62)), "1").unwrap();
    let other = StagingName::of(&format!("{}z", "x".repeat(62)), "1").unwrap();
    assert_ne!(one.table(), other.table());
}

#[test]
fn quoting_round_trips_through_the_server() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let (_db, client) = runtime.block_on(Scratch::with("select 1"));
    let mut runner =
        TestRunner::new(ProptestConfig { cases: 128, failure_persistence: None, ..ProptestConfig::default() });
    runner
        .run(&proptest::string::string_regex("[^\\x00]{1,15}").unwrap(), |name| {
            let identifier = Identifier::new(name.clone()).unwrap();
            let row = runtime.block_on(client.query_typed_one(&format!("select 1 as {identifier}"), &[])).unwrap();
            prop_assert_eq!(row.columns()[0].name(), name.as_str());
            Ok(())
        })
        .unwrap();
}
