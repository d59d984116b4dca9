//! Partitioned targets: an interval without a partition, and halves of an interrupted detach.

use thrice_sql_publish::{Finding, target::examine_interval};
use tokio_postgres::Client;

use crate::support::{Road, Scratch, codes, day, instants, one, timeouts};

async fn look(client: &mut Client, table: &str, bounds: thrice_core::column_bounds::ColumnBounds) -> Vec<Finding> {
    let road = Road::new(table, "day", "select 1", bounds);
    let target = road.examine(client).await.target.expect("a sound target");
    examine_interval(client, &target, &bounds, &timeouts(), &road.stop).await.unwrap()
}

#[tokio::test]
async fn a_day_without_a_partition_is_refused_before_work() {
    let (_db, mut client) = Scratch::with(
        "create schema m; create table m.daily (day date not null, n int) partition by range (day); \
         create table m.daily_2 partition of m.daily for values from ('2026-02-01') to ('2026-03-01'); \
         create table m.early partition of m.daily for values from (minvalue) to ('2026-01-01')",
    )
    .await;
    assert!(look(&mut client, "m.daily", day("2026-02-28")).await.is_empty());
    assert!(look(&mut client, "m.daily", day("1999-02-28")).await.is_empty());
    for missing in ["2026-03-01", "2026-01-01", "2026-01-31"] {
        let findings = look(&mut client, "m.daily", day(missing)).await;
        assert_eq!(codes(&findings), ["TH0418!"], "{missing}");
        assert!(findings[0].what.contains(missing), "{}", findings[0].what);
    }
    client.batch_execute("create table m.rest partition of m.daily default").await.unwrap();
    assert!(look(&mut client, "m.daily", day("2026-03-01")).await.is_empty());
}

#[tokio::test]
async fn a_hole_in_the_middle_of_an_interval_is_found() {
    let (_db, mut client) = Scratch::with(
        "create schema m; create table m.t (day timestamptz not null) partition by range (day); \
         create table m.a partition of m.t for values from ('2026-03-24 00:00+09') to ('2026-03-24 13:00+09'); \
         create table m.b partition of m.t for values from ('2026-03-24 14:00+09') to (maxvalue); \
         alter role current_user set timezone = 'America/Los_Angeles'",
    )
    .await;
    client.batch_execute("set timezone = 'America/Los_Angeles'; set datestyle = 'German'").await.unwrap();
    let findings = look(&mut client, "m.t", instants("2026-03-23T15:00:00Z", "2026-03-24T15:00:00Z")).await;
    client.batch_execute("alter role current_user reset timezone").await.unwrap();
    assert_eq!(codes(&findings), ["TH0418!"]);
    assert!(findings[0].what.contains("2026-03-24 04:00:00+00"), "{}", findings[0].what);
    assert!(look(&mut client, "m.t", instants("2026-03-23T15:00:00Z", "2026-03-24T04:00:00Z")).await.is_empty());
}

#[tokio::test]
async fn lists_of_dates_are_understood_and_other_cuts_left_to_the_server() {
    let (_db, mut client) = Scratch::with(
        "create schema m; create table m.l (day date not null) partition by list (day); \
         create table m.l1 partition of m.l for values in ('2026-03-24', '2026-03-26'); \
         create table m.h (day date not null) partition by hash (day); \
         create table m.h1 partition of m.h for values with (modulus 2, remainder 0); \
         create table m.two (day date not null, n int not null) partition by range (day, n); \
         create table m.two1 partition of m.two for values from ('2026-01-01', 0) to ('2026-02-01', 0)",
    )
    .await;
    assert!(look(&mut client, "m.l", day("2026-03-24")).await.is_empty());
    assert!(look(&mut client, "m.l", day("2026-03-26")).await.is_empty());
    assert_eq!(codes(&look(&mut client, "m.l", day("2026-03-25")).await), ["TH0418!"]);
    assert!(look(&mut client, "m.h", day("2026-03-25")).await.is_empty());
    assert!(look(&mut client, "m.two", day("2026-03-25")).await.is_empty());
}

#[tokio::test]
async fn a_half_detached_partition_stops_its_own_days_only() {
    let (_db, mut client) = Scratch::with(
        "create schema m; create table m.t (day date not null) partition by range (day); \
         create table m.apr partition of m.t for values from ('2026-04-01') to ('2026-05-01'); \
         create table m.\"may be\" partition of m.t for values from ('2026-05-01') to ('2026-06-01'); \
         set allow_system_table_mods = on; \
         update pg_inherits set inhdetachpending = true where inhrelid = 'm.\"may be\"'::regclass; reset allow_system_table_mods",
    )
    .await;
    let road = Road::new("m.t", "day", "select 1", day("2026-04-07"));
    let examination = road.examine(&mut client).await;
    assert_eq!(codes(&examination.findings), ["TH0418"], "a warning for the table as a whole");
    assert!(look(&mut client, "m.t", day("2026-04-07")).await.is_empty());
    let findings = look(&mut client, "m.t", day("2026-05-07")).await;
    assert_eq!(codes(&findings), ["TH0418!"]);
    assert!(findings[0].what.contains("half detached"));
    client.batch_execute(&findings[0].fix).await.unwrap();
    assert_eq!(one(&client, "select count(*) from pg_inherits where inhdetachpending").await, "0");
}

#[tokio::test]
async fn a_partitioned_target_is_published_into() {
    let (_db, mut client) = Scratch::with(
        "create schema m; create table m.t (day date not null, n int, primary key (day, n)) partition by range (day); \
         create table m.apr partition of m.t for values from ('2026-04-01') to ('2026-05-01'); \
         insert into m.t values ('2026-04-06', 1), ('2026-04-07', 9)",
    )
    .await;
    let mut road =
        Road::new("m.t", "day", "select date '2026-04-07' as day, n from generate_series(1, 3) n", day("2026-04-07"));
    road.key = &["day", "n"];
    for attempt in ["1", "2", "3"] {
        assert_eq!(road.run(&mut client, attempt).await.unwrap().content.rows, 3);
    }
    assert_eq!(
        one(&client, "select string_agg(day || ':' || n, ' ' order by day, n) from m.t").await,
        "2026-04-06:1 2026-04-07:1 2026-04-07:2 2026-04-07:3"
    );
}
