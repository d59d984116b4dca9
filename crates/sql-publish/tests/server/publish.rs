//! The publish transaction up to COMMIT.

use std::{sync::Mutex, time::Duration};

use thrice_core::publish_strategy::PublishStrategy;
use thrice_sql_publish::{
    PublishError, Statement, StatementCache, checksum,
    error::ErrorKind,
    peek::look_and_pin,
    probe::{self, Probe},
    publish::{ExistingRows, Gate, PublishOutcome, PublishRequest, publish},
    strategy::unchanged,
};

use crate::support::{Early, Road, Scratch, code, day, id, one};

const DAY: &str = "create schema m; create table m.t (day date not null, n int not null, v text, primary key (day, n)); \
     insert into m.t values ('2026-03-23', 1, 'before'), ('2026-03-24', 7, 'old'), ('2026-03-24', 8, 'old'), ('2026-03-25', 1, 'after')";
const QUERY: &str = "select date '2026-03-24' as day, n, 'new' as v from generate_series(1, 3) n";
const ALL: &str = "select string_agg(concat_ws(':', day, n, v), ' ' order by day, n) from m.t";

fn rolled_back(outcome: PublishOutcome) -> PublishError {
    match outcome {
        PublishOutcome::RolledBack(error) => error,
        other @ (PublishOutcome::Committed(_) | PublishOutcome::Unknown { .. }) => panic!("not rolled back: {other:?}"),
    }
}

#[tokio::test]
async fn an_interval_is_replaced_and_its_neighbours_stay() {
    let (_db, mut client) = Scratch::with(DAY).await;
    let road = Road::new("m.t", "day", QUERY, day("2026-03-24"));
    let first = road.run(&mut client, "1").await.unwrap();
    assert_eq!((first.rows_deleted, first.rows_inserted, first.content.rows), (2, 3, 3));
    let after_one = one(&client, ALL).await;
    assert_eq!(after_one, "2026-03-23:1:before 2026-03-24:1:new 2026-03-24:2:new 2026-03-24:3:new 2026-03-25:1:after");
    for attempt in ["2", "3"] {
        let again = road.run(&mut client, attempt).await.unwrap();
        assert_eq!((again.rows_deleted, again.rows_inserted, &again.content), (3, 3, &first.content));
    }
    assert_eq!(one(&client, ALL).await, after_one);
}

#[tokio::test]
async fn the_gates_statements_see_the_counts_and_share_the_transaction() {
    let (_db, mut client) = Scratch::with(&format!(
        "{DAY}; create table m.receipts (xid text, deleted text, inserted text, updated text, rows text, sum text, app text); \
         create table m.locks (first text)"
    ))
    .await;
    let road = Road::new("m.t", "day", QUERY, day("2026-03-24"));
    let prepared = road.prepare(&mut client).await.unwrap();
    let staged = road.stage(&mut client, &prepared, "1").await.unwrap();
    client.batch_execute("set thrice.rows_updated = '99'").await.unwrap();
    let gate = Gate {
        first: vec![Statement::new("lock", "insert into m.locks select current_setting('thrice.rows_inserted')")],
        last: vec![Statement::new(
            "receipt",
            "insert into m.receipts select pg_current_xact_id(), current_setting('thrice.rows_deleted'), current_setting('thrice.rows_inserted'), \
             current_setting('thrice.rows_updated'), current_setting('thrice.target_rows'), current_setting('thrice.target_checksum'), current_setting('application_name') \
             returning xid",
        )],
        confirm: Some(Statement::new("confirm", "select xid from m.receipts")),
    };
    let PublishOutcome::Committed(published) = road.publish(&mut client, &prepared, &staged, gate).await else {
        panic!("not committed")
    };
    assert_eq!(one(&client, "select first from m.locks").await, "", "another run's counts do not show");
    assert_eq!(
        one(&client, "select concat_ws('|', deleted, inserted, updated, rows, app) from m.receipts").await,
        "2|3|0|3|thrice:1#1"
    );
    assert_eq!(one(&client, "select sum from m.receipts").await, staged.content.checksum);
    assert_eq!(published.receipt[0].get::<_, String>(0), published.xid);
    assert_eq!(published.proof[0].get::<_, String>(0), published.xid);
    assert_eq!(one(&client, "select pg_backend_pid()").await, published.backend_pid.to_string());
    assert_eq!(one(&client, "show application_name").await, "");
}

/// What the interval held is read after the lock and before the delete, and the caller's last statements see it.
#[tokio::test]
async fn what_a_receipt_accounts_for_is_read_before_it_is_replaced() {
    let (_db, mut client) = Scratch::with(DAY).await;
    let mut road = Road::new("m.t", "day", QUERY, day("2026-03-24"));
    let told = "select current_setting('thrice.rows_before') || '|' || current_setting('thrice.checksum_before')";
    let gate = || Gate { last: vec![Statement::new("receipt", told)], ..Gate::default() };
    let prepared = road.prepare(&mut client).await.unwrap();
    let staged = road.stage(&mut client, &prepared, "1").await.unwrap();
    let columns = prepared.columns.columns().to_vec();
    for (existing_rows, rows) in [(ExistingRows::MayBeReplaced, None), (ExistingRows::Receipted, Some(3))] {
        let (timeouts, stop) = (&road.timeouts, &road.stop);
        let content = checksum::of_interval(&mut client, &prepared.target, &columns, &road.bounds, timeouts, stop);
        let content = content.await.unwrap();
        road.existing_rows = existing_rows;
        let PublishOutcome::Committed(done) = road.publish(&mut client, &prepared, &staged, gate()).await else {
            panic!("not committed")
        };
        assert_eq!(done.before.as_ref().map(|before| before.rows), rows);
        let seen: String = done.receipt[0].get(0);
        match &done.before {
            Some(before) => {
                assert_eq!(*before, content);
                assert_eq!(seen, format!("{}|{}", content.rows, content.checksum));
            }
            None => assert_eq!(seen, "|", "another run's figures do not show"),
        }
    }
}

/// What the lock's statement sees of the target is what was there before: the lock comes first, then the data.
#[tokio::test]
async fn the_gate_comes_before_the_data() {
    let (_db, mut client) = Scratch::with(&format!("{DAY}; create table m.seen (place text, rows text)")).await;
    let road = Road::new("m.t", "day", QUERY, day("2026-03-24"));
    let prepared = road.prepare(&mut client).await.unwrap();
    let staged = road.stage(&mut client, &prepared, "1").await.unwrap();
    let look = |place: &str| {
        let text = format!(
            "insert into m.seen select '{place}', string_agg(v, ' ' order by n) from m.t where day = '2026-03-24' returning 1"
        );
        vec![Statement::new("look", text)]
    };
    let gate = Gate { first: look("first"), last: look("last"), confirm: None };
    assert!(matches!(road.publish(&mut client, &prepared, &staged, gate).await, PublishOutcome::Committed(_)));
    assert_eq!(one(&client, "select rows from m.seen where place = 'first'").await, "old old");
    assert_eq!(one(&client, "select rows from m.seen where place = 'last'").await, "new new new");
}

#[tokio::test]
async fn a_gate_that_raises_or_is_silent_stops_everything() {
    let (_db, mut client) = Scratch::with(&format!(
        "{DAY}; create function m.fail() returns int language plpgsql as $$ begin raise exception 'thrice: assertion failed' using errcode = 'TH002', detail = 'fence 8'; end $$"
    ))
    .await;
    let before = one(&client, ALL).await;
    let road = Road::new("m.t", "day", QUERY, day("2026-03-24"));
    let prepared = road.prepare(&mut client).await.unwrap();
    let staged = road.stage(&mut client, &prepared, "1").await.unwrap();
    let fails = || vec![Statement::new("check the fence", "select m.fail()")];
    let silent = || vec![Statement::new("lock the partition", "select 1 where false").must_return_row()];
    for (gate, sqlstate) in [
        (Gate { first: fails(), ..Gate::default() }, "TH002"),
        (Gate { last: fails(), ..Gate::default() }, "TH002"),
        (Gate { first: silent(), ..Gate::default() }, ""),
        (Gate { last: silent(), ..Gate::default() }, ""),
    ] {
        let error = rolled_back(road.publish(&mut client, &prepared, &staged, gate).await);
        assert_eq!(code(&error), sqlstate);
        if sqlstate == "TH002" {
            assert_eq!(error.to_string(), "check the fence: thrice: assertion failed (fence 8)");
        } else {
            assert_eq!(*error.kind(), ErrorKind::NoRow);
        }
        assert!(!error.is_connection_lost());
        assert_eq!(one(&client, ALL).await, before);
    }
    assert!(
        matches!(road.publish(&mut client, &prepared, &staged, Gate::default()).await, PublishOutcome::Committed(_)),
        "the connection is still good"
    );
}

#[tokio::test]
async fn staging_that_a_crash_emptied_never_publishes_an_empty_day() {
    let (_db, mut client) = Scratch::with(DAY).await;
    let before = one(&client, ALL).await;
    let road = Road::new("m.t", "day", QUERY, day("2026-03-24"));
    let prepared = road.prepare(&mut client).await.unwrap();
    let staged = road.stage(&mut client, &prepared, "1").await.unwrap();
    client.batch_execute(&format!("truncate {}", staged.relation)).await.unwrap();
    let error = rolled_back(road.publish(&mut client, &prepared, &staged, Gate::default()).await);
    assert_eq!(*error.kind(), ErrorKind::StagingNotWhole { relation: staged.relation.clone() });
    assert_eq!(code(&error), "TH011", "staging again helps");
    assert_eq!(one(&client, ALL).await, before);
    // lost in part, and a trigger that drops rows as well: what staging lost comes first
    client.batch_execute(&format!("insert into {} select '2026-03-24', 1, 'x'", staged.relation)).await.unwrap();
    let error = rolled_back(road.publish(&mut client, &prepared, &staged, Gate::default()).await);
    assert_eq!(code(&error), "TH011");
    assert_eq!(one(&client, ALL).await, before);
}

#[tokio::test]
async fn rows_that_nobody_accounts_for_stop_a_first_publish() {
    let (_db, mut client) = Scratch::with(DAY).await;
    let before = one(&client, ALL).await;
    let mut road = Road::new("m.t", "day", QUERY, day("2026-03-24"));
    road.existing_rows = ExistingRows::MustBeNone;
    let Err(Early::Failed(error)) = road.run(&mut client, "1").await else { panic!("published over unknown rows") };
    assert_eq!(*error.kind(), ErrorKind::ExistingRows { rows: 2 });
    assert_eq!(one(&client, ALL).await, before);
    let prepared = road.prepare(&mut client).await.unwrap();
    let statements = StatementCache::default();
    let look = Some((&prepared.target, &road.bounds));
    let seen = look_and_pin(&mut client, look, &road.session, &road.timeouts, &statements, &road.stop).await.unwrap();
    assert_eq!(seen.1, Some(2));
    drop(seen);
    client.batch_execute("delete from m.t where day = '2026-03-24'").await.unwrap();
    assert_eq!(road.run(&mut client, "2").await.unwrap().rows_inserted, 3);
}

#[tokio::test]
async fn a_trigger_that_changes_rows_is_caught_and_one_that_only_watches_is_not() {
    let (_db, mut client) = Scratch::with(&format!(
        "{DAY}; create schema helpers; create table helpers.audit (op text, zone text); \
         create function m.watch() returns trigger language plpgsql as $$ begin insert into audit values (tg_op, current_setting('TimeZone')); return coalesce(new, old); end $$; \
         create trigger watch after insert or delete on m.t for each row execute function m.watch()"
    ))
    .await;
    let mut road = Road::new("m.t", "day", QUERY, day("2026-03-24"));
    road.session.search_path = Some(vec![id("helpers")]);
    road.session.time_zone = "Asia/Seoul".into();
    road.run(&mut client, "1").await.unwrap();
    assert_eq!(
        one(&client, "select string_agg(op || ' ' || zone || ' ' || n, ', ' order by op) from (select op, zone, count(*) n from helpers.audit group by 1, 2) a").await,
        "DELETE Asia/Seoul 2, INSERT Asia/Seoul 3",
        "triggers find their tables on the user's path"
    );
    assert_eq!(one(&client, "select tgenabled from pg_trigger where tgname = 'watch'").await, "O");

    let before = one(&client, ALL).await;
    for (body, kind) in [
        ("new.v := 'changed'; return new", ErrorKind::ReadBackDiffers { rows: 3, staged: 3 }),
        ("if new.n = 2 then return null; end if; return new", ErrorKind::WrittenDiffers { written: 2, staged: 3 }),
        ("new.day := new.day + 1; new.n := new.n + 50; return new", ErrorKind::ReadBackDiffers { rows: 0, staged: 3 }),
    ] {
        client
            .batch_execute(&format!(
                "create or replace function m.meddle() returns trigger language plpgsql as $$ begin {body}; end $$; \
                 create or replace trigger meddle before insert on m.t for each row execute function m.meddle()"
            ))
            .await
            .unwrap();
        let error = road.run(&mut client, "2").await.unwrap_err().error();
        assert_eq!(*error.kind(), kind, "{body}");
        assert_eq!(code(&error), "TH012", "staging again would not help: {body}");
        client.batch_execute("do $$ declare t text; begin for t in select format('%I.%I', schemaname, tablename) from pg_tables where schemaname = 'thrice_staging' loop execute 'drop table ' || t; end loop; end $$").await.unwrap();
        assert_eq!(one(&client, ALL).await, before);
    }
}

#[tokio::test]
async fn what_a_deferred_trigger_does_is_read_back_too() {
    let (_db, mut client) = Scratch::with(&format!(
        "{DAY}; create function m.late() returns trigger language plpgsql as $$ begin delete from m.t where day = new.day and n = 2; return null; end $$; \
         create constraint trigger late after insert on m.t deferrable initially deferred for each row execute function m.late()"
    ))
    .await;
    let before = one(&client, ALL).await;
    let error = Road::new("m.t", "day", QUERY, day("2026-03-24")).run(&mut client, "1").await.unwrap_err().error();
    assert_eq!(*error.kind(), ErrorKind::ReadBackDiffers { rows: 2, staged: 3 });
    assert_eq!(one(&client, ALL).await, before);
}

#[tokio::test]
async fn a_deferred_foreign_key_lets_the_same_rows_come_back() {
    let (_db, mut client) = Scratch::with(&format!(
        "{DAY}; create table m.child (day date, n int, foreign key (day, n) references m.t deferrable initially deferred); insert into m.child values ('2026-03-24', 7)"
    ))
    .await;
    let road = |query| Road::new("m.t", "day", query, day("2026-03-24"));
    road("select date '2026-03-24' as day, 7 as n, 'same' as v").run(&mut client, "1").await.unwrap();
    assert_eq!(one(&client, "select count(*) from m.child").await, "1");
    let error = road(QUERY).run(&mut client, "2").await.unwrap_err().error();
    assert_eq!((code(&error).as_str(), error.constraint()), ("23503", Some("child_day_n_fkey")));
}

#[tokio::test]
async fn published_at_is_filled_and_is_not_part_of_the_content() {
    let (_db, mut client) = Scratch::with("create schema m; create table m.t (day date, at timestamptz, n int)").await;
    let mut road = Road::new("m.t", "day", "select date '2026-03-24' as day, 1 as n", day("2026-03-24"));
    road.published_at = Some("at");
    let first = road.run(&mut client, "1").await.unwrap();
    let at = one(&client, "select at from m.t").await;
    let second = road.run(&mut client, "2").await.unwrap();
    assert_ne!(one(&client, "select at from m.t").await, at);
    assert_eq!(first.content, second.content);
}

#[tokio::test]
async fn an_equal_result_writes_nothing_and_an_edited_target_is_noticed() {
    let (_db, mut client) =
        Scratch::with("create schema m; create table m.t (day date, n int, at timestamptz, extra int default 3)").await;
    let mut road =
        Road::new("m.t", "day", "select date '2026-03-24' as day, n from generate_series(1, 3) n", day("2026-03-24"));
    road.published_at = Some("at");
    road.policy = thrice_sql_publish::columns::ColumnsPolicy::AllowExtraTarget;
    road.run(&mut client, "1").await.unwrap();
    let tuples = "select string_agg(ctid::text || xmin::text || at, ' ' order by n) from m.t";
    let before = one(&client, tuples).await;
    let prepared = road.prepare(&mut client).await.unwrap();
    let staged = road.stage(&mut client, &prepared, "2").await.unwrap();
    let plan = unchanged::plan("delete_insert");
    let statements = StatementCache::default();
    let request = |gate| PublishRequest {
        target: &prepared.target,
        columns: &prepared.columns,
        bounds: &road.bounds,
        staged: &staged,
        plan: &plan,
        existing_rows: ExistingRows::MayBeReplaced,
        session: &road.session,
        timeouts: &road.timeouts,
        commit_timeout: Duration::from_secs(10),
        application_name: "thrice:1#2",
        gate,
        probe: &probe::Quiet,
        statements: &statements,
        stop: &road.stop,
    };
    let PublishOutcome::Committed(published) = publish(&mut client, &request(Gate::default())).await else {
        panic!("not committed")
    };
    assert_eq!((published.rows_deleted, published.rows_inserted, published.content.rows), (0, 0, 3));
    assert_eq!(one(&client, tuples).await, before, "not one tuple has moved");
    // columns that are not the query's may be edited
    client.batch_execute("update m.t set extra = 4, at = null").await.unwrap();
    assert!(matches!(publish(&mut client, &request(Gate::default())).await, PublishOutcome::Committed(_)));
    client.batch_execute("update m.t set n = 9 where n = 3").await.unwrap();
    let error = rolled_back(publish(&mut client, &request(Gate::default())).await);
    assert_eq!(*error.kind(), ErrorKind::ReadBackDiffers { rows: 3, staged: 3 });
}

#[tokio::test]
async fn a_lock_that_somebody_holds_ends_the_wait() {
    let (db, mut client) = Scratch::with(DAY).await;
    let holder = db.client().await;
    let mut road = Road::new("m.t", "day", QUERY, day("2026-03-24"));
    road.timeouts.lock = Duration::from_millis(150);
    let prepared = road.prepare(&mut client).await.unwrap();
    let staged = road.stage(&mut client, &prepared, "1").await.unwrap();
    holder.batch_execute("begin; lock table m.t in share mode").await.unwrap();
    let error = rolled_back(road.publish(&mut client, &prepared, &staged, Gate::default()).await);
    assert_eq!(code(&error), "55P03");
    holder.batch_execute("rollback").await.unwrap();
    assert!(matches!(
        road.publish(&mut client, &prepared, &staged, Gate::default()).await,
        PublishOutcome::Committed(_)
    ));
}

#[derive(Default)]
struct Heard(Mutex<Vec<&'static str>>);

impl Probe for Heard {
    fn at(&self, step: &'static str) {
        self.0.lock().unwrap().push(step);
    }
}

#[tokio::test]
async fn every_step_is_told_in_order() {
    let of_swaps = [probe::PREPARE_FILLED, probe::PUBLISH_DETACHED, probe::PUBLISH_ATTACHED];
    let of_rows = [probe::PUBLISH_DELETED, probe::PUBLISH_WRITTEN];
    let cut = "create schema m; create table m.t (day date not null, n int, v text) partition by range (day); \
         create table m.p partition of m.t for values from ('2026-03-24') to ('2026-03-25')";
    for (strategy, setup) in [
        (PublishStrategy::DeleteInsert, DAY),
        (PublishStrategy::MergeComplete, DAY),
        (PublishStrategy::PartitionSwap, cut),
    ] {
        let (_db, mut client) = Scratch::with(setup).await;
        let mut road = Road::new("m.t", "day", QUERY, day("2026-03-24"));
        (road.strategy, road.key) = (strategy, &["day", "n"]);
        let prepared = road.prepare(&mut client).await.unwrap();
        let heard = Heard::default();
        let staged = road.stage_with(&mut client, &prepared, "1", &|_| Vec::new(), &heard).await.unwrap();
        assert!(matches!(
            road.publish_with(&mut client, &prepared, &staged, Gate::default(), &heard).await,
            PublishOutcome::Committed(_)
        ));
        let meets = |step: &&str| match *step {
            probe::PUBLISH_KEPT => false,
            probe::PUBLISH_UPDATED => strategy == PublishStrategy::MergeComplete,
            step if of_swaps.contains(&step) => strategy.swaps(),
            step if of_rows.contains(&step) => !strategy.swaps(),
            _ => true,
        };
        let all: Vec<&str> = probe::ALL.into_iter().filter(meets).collect();
        assert_eq!(*heard.0.lock().unwrap(), all, "{strategy:?}");
    }
}

/// A pipeline that names no schemas leaves triggers and checks the path that the server gives the role.
#[tokio::test]
async fn without_a_search_path_of_its_own_the_roles_own_holds() {
    let (_db, mut client) = Scratch::with(&format!(
        "{DAY}; create table public.audit (op text); \
         create function m.watch() returns trigger language plpgsql as $$ begin insert into audit values (tg_op); return coalesce(new, old); end $$; \
         create trigger watch after insert or update or delete on m.t for each row execute function m.watch()"
    ))
    .await;
    let mut road = Road::new("m.t", "day", QUERY, day("2026-03-24"));
    road.key = &["day", "n"];
    for (strategy, existing_rows) in [
        (PublishStrategy::DeleteInsert, ExistingRows::MayBeReplaced),
        (PublishStrategy::MergeComplete, ExistingRows::Receipted),
        (PublishStrategy::DeleteInsert, ExistingRows::Receipted),
    ] {
        (road.strategy, road.existing_rows) = (strategy, existing_rows);
        road.run(&mut client, &format!("{strategy:?} {existing_rows:?}")).await.unwrap();
    }
    let seen = "select string_agg(op || ' ' || n, ', ' order by op) from (select op, count(*) n from public.audit group by 1) a";
    assert_eq!(one(&client, seen).await, "DELETE 5, INSERT 6");
    let prepared = road.prepare(&mut client).await.unwrap();
    let (statements, look) = (StatementCache::default(), Some((&prepared.target, &road.bounds)));
    let (checking, _) =
        look_and_pin(&mut client, look, &road.session, &road.timeouts, &statements, &road.stop).await.unwrap();
    let found = checking.client().query_one("select count(*) from audit", &[]).await.unwrap();
    assert_eq!(found.get::<_, i64>(0), 11);
}
