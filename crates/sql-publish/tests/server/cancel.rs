//! What is stopped here stops on the server.

use std::time::{Duration, Instant};

use crate::support::{Road, Scratch, day, one, until_quiet};
use thrice_sql_publish::{
    CancellationToken,
    cancel::{Guarded, guarded},
    publish::{Gate, PublishOutcome},
};

#[tokio::test]
async fn a_stop_during_the_query_cancels_it_and_leaves_nothing() {
    let (db, mut client) = Scratch::with("create schema m; create table m.t (day date)").await;
    let other = db.client().await;
    let road = Road::new("m.t", "day", "select date '2026-03-24' as day from pg_sleep(30)", day("2026-03-24"));
    let prepared = road.prepare(&mut client).await.unwrap();
    let stop = road.stop.clone();
    tokio::spawn(async move {
        tokio::time::sleep(Duration::from_millis(200)).await;
        stop.cancel();
    });
    let begun = Instant::now();
    let error = road.stage(&mut client, &prepared, "1").await.unwrap_err();
    assert!(error.is_cancelled() && !error.is_connection_lost(), "{error}");
    assert!(begun.elapsed() < Duration::from_secs(3));
    until_quiet(&other).await;
    assert_eq!(one(&client, "select count(*) from pg_tables where schemaname = 'thrice_staging'").await, "0");
}

#[tokio::test]
async fn a_stop_during_the_publish_rolls_back() {
    let (_db, mut client) = Scratch::with(
        "create schema m; create table m.t (day date); insert into m.t values ('2026-03-24'); \
         create function m.f() returns trigger language plpgsql as 'begin perform pg_sleep(30); return new; end'; \
         create trigger slow before insert on m.t for each row execute function m.f()",
    )
    .await;
    let road = Road::new("m.t", "day", "select date '2026-03-24' as day from generate_series(1, 2)", day("2026-03-24"));
    let prepared = road.prepare(&mut client).await.unwrap();
    let staged = road.stage(&mut client, &prepared, "1").await.unwrap();
    let stop = road.stop.clone();
    tokio::spawn(async move {
        tokio::time::sleep(Duration::from_millis(200)).await;
        stop.cancel();
    });
    let PublishOutcome::RolledBack(error) = road.publish(&mut client, &prepared, &staged, Gate::default()).await else {
        panic!("published")
    };
    assert!(error.is_cancelled(), "{error}");
    assert_eq!(one(&client, "select count(*) from m.t").await, "1");
}

#[tokio::test]
async fn a_dropped_future_ends_its_statement_too() {
    let (db, mut client) = Scratch::with("create schema m; create table m.t (day date)").await;
    let other = db.client().await;
    let road = Road::new("m.t", "day", "select date '2026-03-24' as day from pg_sleep(30)", day("2026-03-24"));
    let prepared = road.prepare(&mut client).await.unwrap();
    let outcome = tokio::time::timeout(Duration::from_millis(200), road.stage(&mut client, &prepared, "1")).await;
    assert!(outcome.is_err());
    until_quiet(&other).await;
    assert_eq!(one(&client, "select 1").await, "1", "the connection is free at once");
}

#[tokio::test]
async fn the_clients_own_timer_cancels_on_the_server() {
    let (db, client) = Scratch::with("select 1").await;
    let other = db.client().await;
    let stop = CancellationToken::new();
    let ended = guarded(
        client.cancel_token(),
        &stop,
        Some(Duration::from_millis(150)),
        client.batch_execute("select pg_sleep(30)"),
    )
    .await;
    let Guarded::TimedOut(Some(Err(error))) = ended else { panic!("{ended:?}") };
    assert_eq!(error.code().unwrap().code(), "57014");
    until_quiet(&other).await;
}
