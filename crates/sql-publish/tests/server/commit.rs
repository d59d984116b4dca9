//! COMMIT and what its answer is worth.

use std::time::Duration;

use thrice_sql_publish::{
    Statement,
    error::ErrorKind,
    publish::{Gate, PublishOutcome},
};

use crate::support::{Road, Scratch, code, day, one};

/// A table whose insert into `m.slow` makes COMMIT itself take a while: the trigger is deferred by the receipt.
const SETUP: &str = "create schema m; create table m.t (day date, n int); create table m.slow (seconds float8); \
     create function m.sleep() returns trigger language plpgsql as $$ begin perform pg_sleep(new.seconds); return null; end $$; \
     create constraint trigger sleeps after insert on m.slow deferrable initially immediate for each row execute function m.sleep(); \
     create table m.parent (id int primary key); create table m.refers (id int references m.parent deferrable)";
const QUERY: &str = "select date '2026-03-24' as day, 1 as n";

fn deferred(insert: &'static str) -> Gate {
    Gate {
        last: vec![
            Statement::new("defer", "set constraints all deferred"),
            Statement::new("write the receipt", insert),
        ],
        ..Gate::default()
    }
}

#[tokio::test]
async fn an_error_answer_to_commit_is_a_definite_rollback() {
    let (_db, mut client) = Scratch::with(SETUP).await;
    let road = Road::new("m.t", "day", QUERY, day("2026-03-24"));
    let prepared = road.prepare(&mut client).await.unwrap();
    let staged = road.stage(&mut client, &prepared, "1").await.unwrap();
    let PublishOutcome::RolledBack(error) =
        road.publish(&mut client, &prepared, &staged, deferred("insert into m.refers values (4)")).await
    else {
        panic!("not rolled back")
    };
    assert_eq!((code(&error).as_str(), error.what()), ("23503", "commit"));
    assert_eq!(one(&client, "select count(*) from m.t").await, "0");
}

#[tokio::test]
async fn a_commit_without_its_receipt_is_a_rollback() {
    let (_db, mut client) = Scratch::with(SETUP).await;
    let road = Road::new("m.t", "day", QUERY, day("2026-03-24"));
    let prepared = road.prepare(&mut client).await.unwrap();
    let staged = road.stage(&mut client, &prepared, "1").await.unwrap();
    let gate = Gate { confirm: Some(Statement::new("read the receipt", "select 1 from m.refers")), ..Gate::default() };
    let PublishOutcome::RolledBack(error) = road.publish(&mut client, &prepared, &staged, gate).await else {
        panic!("taken for committed")
    };
    assert_eq!(*error.kind(), ErrorKind::NoReceipt);
}

#[tokio::test]
async fn a_session_ended_during_commit_is_unknown() {
    let (db, mut client) = Scratch::with(SETUP).await;
    let other = db.client().await;
    let road = Road::new("m.t", "day", QUERY, day("2026-03-24"));
    let prepared = road.prepare(&mut client).await.unwrap();
    let staged = road.stage(&mut client, &prepared, "1").await.unwrap();
    let killer = tokio::spawn(async move {
        loop {
            let killed = one(&other, "select count(pg_terminate_backend(pid)) from pg_stat_activity where application_name = 'thrice:1#1' and query ilike 'commit%' and datname = current_database()").await;
            if killed != "0" {
                return other;
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    });
    let outcome = road.publish(&mut client, &prepared, &staged, deferred("insert into m.slow values (5)")).await;
    let PublishOutcome::Unknown { backend_pid, xid, error } = outcome else { panic!("{outcome:?}") };
    assert!(backend_pid > 0 && xid.parse::<u64>().is_ok());
    assert!(error.is_connection_lost(), "{error}");
    let other = killer.await.unwrap();
    assert_eq!(one(&other, &format!("select pg_xact_status('{xid}')")).await, "aborted");
}

#[tokio::test]
async fn a_commit_that_outlasts_the_clients_timer_is_unknown_and_may_well_commit() {
    let (db, mut client) = Scratch::with(SETUP).await;
    let other = db.client().await;
    let mut road = Road::new("m.t", "day", QUERY, day("2026-03-24"));
    road.commit_timeout = Duration::from_millis(100);
    let prepared = road.prepare(&mut client).await.unwrap();
    let staged = road.stage(&mut client, &prepared, "1").await.unwrap();
    let outcome = road.publish(&mut client, &prepared, &staged, deferred("insert into m.slow values (0.6)")).await;
    let PublishOutcome::Unknown { xid, error, .. } = outcome else { panic!("{outcome:?}") };
    assert!(error.is_timeout() && error.is_connection_lost());
    assert_eq!(one(&other, &format!("select pg_xact_status('{xid}')")).await, "in progress");
    tokio::time::sleep(Duration::from_millis(900)).await;
    assert_eq!(one(&other, "select count(*) from m.t").await, "1");
}

#[tokio::test]
async fn a_session_ended_before_commit_is_a_rollback() {
    let (_db, mut client) = Scratch::with(SETUP).await;
    let road = Road::new("m.t", "day", QUERY, day("2026-03-24"));
    let prepared = road.prepare(&mut client).await.unwrap();
    let staged = road.stage(&mut client, &prepared, "1").await.unwrap();
    let gate = Gate {
        last: vec![Statement::new("write the receipt", "select pg_terminate_backend(pg_backend_pid())")],
        ..Gate::default()
    };
    let PublishOutcome::RolledBack(error) = road.publish(&mut client, &prepared, &staged, gate).await else {
        panic!("not rolled back")
    };
    assert_eq!(code(&error), "57P01");
    assert!(error.is_connection_lost());
}

#[tokio::test]
async fn transaction_timeout_ends_a_slow_commit_where_the_server_has_one() {
    let (db, mut client) = Scratch::with(SETUP).await;
    let other = db.client().await;
    let mut road = Road::new("m.t", "day", QUERY, day("2026-03-24"));
    let prepared = road.prepare(&mut client).await.unwrap();
    let staged = road.stage(&mut client, &prepared, "1").await.unwrap();
    road.timeouts.transaction = Some(Duration::from_millis(400));
    let outcome = road.publish(&mut client, &prepared, &staged, deferred("insert into m.slow values (1.5)")).await;
    if one(&other, "select current_setting('server_version_num')::int >= 170000").await == "t" {
        let PublishOutcome::Unknown { xid, error, .. } = outcome else { panic!("{outcome:?}") };
        assert_eq!(code(&error), "25P04", "the session is ended, so the caller must look");
        assert_eq!(one(&other, &format!("select pg_xact_status('{xid}')")).await, "aborted");
    } else {
        assert!(matches!(outcome, PublishOutcome::Committed(_)), "{outcome:?}");
    }
}
