//! `partition_swap`: a prepared table takes the place of the interval's partition, and nothing of the old one is lost.

use thrice_core::column_bounds::ColumnBounds;
use thrice_core::publish_strategy::PublishStrategy;
use thrice_sql_publish::{
    Finding,
    error::ErrorKind,
    probe::Quiet,
    publish::{ExistingRows, Gate, PublishOutcome, Published},
    swap::prepare::Preparation,
    target::examine_interval,
};
use tokio_postgres::Client;

use crate::support::{Road, Scratch, code, date, day, instants, one, timeouts};

const DAYS: &str = "create schema m; \
     create table m.t (day date not null, n int not null, v text, at timestamptz, primary key (day, n)) partition by range (day); \
     create index on m.t (v); \
     create table m.t_0323 partition of m.t for values from ('2026-03-23') to ('2026-03-24'); \
     create table m.\"T of the 24th\" partition of m.t for values from ('2026-03-24') to ('2026-03-25'); \
     insert into m.t values ('2026-03-23', 1, 'before', '2000-01-01'), ('2026-03-24', 1, 'old', '2000-01-01'), ('2026-03-24', 2, 'gone', '2000-01-01')";

const ALL: &str = "select string_agg(concat_ws(':', day, n, v), ' ' order by day, n) from m.t";
const PARTS: &str = "select string_agg(inhrelid::regclass || ' ' || pg_get_expr(c.relpartbound, c.oid), ', ' order by inhrelid::regclass::text) \
     from pg_inherits join pg_class c on c.oid = inhrelid where inhparent = 'm.t'::regclass";

fn swapping(query: &str, bounds: ColumnBounds) -> Road<'_> {
    let mut road = Road::new("m.t", "day", query, bounds);
    road.strategy = PublishStrategy::PartitionSwap;
    road
}

fn of_24th(query: &str) -> Road<'_> {
    let mut road = swapping(query, day("2026-03-24"));
    (road.key, road.published_at) = (&["day", "n"], Some("at"));
    road
}

const NEW: &str = "select date '2026-03-24' as day, n, 'new' as v from generate_series(1, 3) n";

fn committed(outcome: PublishOutcome) -> Published {
    let PublishOutcome::Committed(done) = outcome else { panic!("{outcome:?}") };
    done
}

/// Errors of the look at the table, or of that at the interval.
async fn refusals(client: &mut Client, road: &Road<'_>) -> Vec<Finding> {
    let examination = road.examine(client).await;
    let findings = match examination.target {
        Some(target) => examine_interval(client, &target, &road.bounds, &timeouts(), &road.stop).await.unwrap(),
        None => examination.findings,
    };
    findings.into_iter().filter(Finding::is_error).collect()
}

#[tokio::test]
async fn the_new_partition_has_the_name_and_the_place_of_the_old_one() {
    let (_db, mut client) = Scratch::with(DAYS).await;
    let (parts, indexes) = (
        one(&client, PARTS).await,
        "select string_agg(indexrelid::regclass || ' ' || coalesce(inhparent::regclass::text, '-'), ', ' order by indexrelid::regclass::text) \
        from pg_index left join pg_inherits on inhrelid = indexrelid where indrelid in (select relid from pg_partition_tree('m.t'))",
    );
    let before = one(&client, indexes).await;
    for attempt in ["1", "2", "3"] {
        let mut road = of_24th(NEW);
        road.existing_rows = ExistingRows::Receipted;
        let done = road.run(&mut client, attempt).await.unwrap();
        let deleted = if attempt == "1" { 2 } else { 3 };
        assert_eq!((done.rows_deleted, done.rows_updated, done.rows_inserted, done.content.rows), (deleted, 0, 3, 3));
        assert_eq!(done.comparison.unwrap()["keys"]["added"], i32::from(attempt == "1"));
        assert_eq!(one(&client, ALL).await, "2026-03-23:1:before 2026-03-24:1:new 2026-03-24:2:new 2026-03-24:3:new");
        assert_eq!(one(&client, PARTS).await, parts);
        assert_eq!(one(&client, indexes).await, before);
    }
    assert_eq!(
        one(&client, "select count(*) from m.t where at > '2020-01-01'").await,
        "3",
        "the time of the preparation"
    );
    // nothing is left: neither the check of the bounds nor a table, and autovacuum may look at it
    assert_eq!(
        one(
            &client,
            "select count(*) from pg_constraint where conrelid = 'm.\"T of the 24th\"'::regclass and contype = 'c'"
        )
        .await,
        "0"
    );
    assert_eq!(
        one(&client, "select reloptions::text from pg_class where oid = 'm.\"T of the 24th\"'::regclass").await,
        "null"
    );
    assert_eq!(
        one(
            &client,
            "select count(*) from pg_class where relnamespace = 'thrice_staging'::regnamespace and relname like 'p%'"
        )
        .await,
        "0"
    );
    assert_eq!(
        one(&client, "select relpersistence::text from pg_class where oid = 'm.\"T of the 24th\"'::regclass").await,
        "p"
    );
}

#[tokio::test]
async fn the_first_publish_of_an_interval_makes_and_attaches_its_partition() {
    let (db, mut client) = Scratch::with(DAYS).await;
    let query = "select date '2026-03-25' as day, 1 as n, 'first' as v";
    let mut road = swapping(query, day("2026-03-25"));
    (road.key, road.published_at, road.existing_rows) = (&["day", "n"], Some("at"), ExistingRows::MustBeNone);
    assert!(refusals(&mut client, &road).await.is_empty());
    // readers go on reading while it is attached
    let reader = db.client().await;
    let (prepared, staged, swap) = road.ready(&mut client, "1").await;
    assert_eq!(swap.replaces, None);
    reader.batch_execute("begin; select * from m.t").await.unwrap();
    let plan = Road::swap_plan(&prepared, &staged, &swap);
    let done = committed(road.publish_plan(&mut client, &prepared, &staged, &plan, Gate::default(), &Quiet).await);
    assert_eq!((done.rows_deleted, done.rows_inserted), (0, 1));
    reader.batch_execute("commit").await.unwrap();
    assert!(
        one(&client, PARTS).await.contains("m.t_2026_03_24 FOR VALUES FROM ('2026-03-25') TO ('2026-03-26')"),
        "named by the label"
    );
    let names = "select string_agg(indexrelid::regclass::text, ' ' order by 1) from pg_index where indrelid = 'm.t_2026_03_24'::regclass";
    assert_eq!(one(&client, names).await, "m.t_2026_03_24_pkey m.t_2026_03_24_v_idx");
    // the name is taken by now
    let mut third = swapping("select date '2026-03-26' as day, 1 as n, 'x' as v", day("2026-03-26"));
    third.published_at = Some("at");
    third.run(&mut client, "2").await.unwrap();
    assert_eq!(one(&client, "select count(*) from m.t").await, "5");
}

#[tokio::test]
async fn everything_that_stands_on_the_old_partition_comes_along() {
    let (db, mut client) = Scratch::with(
        "create schema m; create table m.shop (n int primary key); insert into m.shop values (1), (2), (3); \
         create table m.t (day date not null, n int references m.shop, v text default 'x', twice int generated always as (n * 2) stored, \
           constraint \"v is short\" check (length(v) < 50)) partition by range (day); \
         create index \"by n\" on m.t (n) where n > 0; \
         create table m.p partition of m.t for values from ('2026-03-24') to ('2026-03-25') with (fillfactor = 70, autovacuum_enabled = off); \
         create unique index \"local one\" on m.p (n, lower(v)) include (day) with (fillfactor = 60); \
         alter table m.p add constraint \"only here\" check (n < 100), add constraint also unique (n, day), alter v set not null, alter n set statistics 7, alter v set (n_distinct = 3); \
         alter table m.p cluster on \"local one\"; \
         comment on table m.p is 'it''s \\ the 24th'; comment on column m.p.v is 'a column'; \
         insert into m.t (day, n, v) values ('2026-03-24', 1, 'old')",
    )
    .await;
    let reader = db.role(&client, "reader").await;
    client
        .batch_execute(&format!("grant select on m.p to {reader} with grant option; grant update (v) on m.p to public"))
        .await
        .unwrap();
    let state = "select jsonb_build_object( \
        'table', (select jsonb_build_array(reloptions, relacl, relkind, obj_description(oid)) from pg_class where oid = 'm.p'::regclass), \
        'columns', (select jsonb_agg(jsonb_build_array(attname, attnotnull, atthasdef, attstattarget, attoptions, attacl, col_description(attrelid, attnum)) order by attnum) from pg_attribute where attrelid = 'm.p'::regclass and attnum > 0), \
        'constraints', (select jsonb_agg(jsonb_build_array(conname, contype, convalidated, coninhcount, pg_get_constraintdef(oid)) order by conname) from pg_constraint where conrelid = 'm.p'::regclass and contype <> 'n'), \
        'indexes', (select jsonb_agg(jsonb_build_array(pg_get_indexdef(indexrelid), indisclustered, indisvalid, (select inhparent::regclass from pg_inherits where inhrelid = indexrelid)) order by indexrelid::regclass::text) from pg_index where indrelid = 'm.p'::regclass))::text";
    let before = one(&client, state).await;
    let road =
        swapping("select date '2026-03-24' as day, n, 'new' as v from generate_series(1, 3) n", day("2026-03-24"));
    assert!(refusals(&mut client, &road).await.is_empty(), "{:?}", refusals(&mut client, &road).await);
    for attempt in ["1", "2"] {
        road.run(&mut client, attempt).await.unwrap();
        assert_eq!(one(&client, state).await, before, "run {attempt}");
    }
    assert_eq!(
        one(&client, "select string_agg(concat_ws(':', n, v, twice), ' ' order by n) from m.t").await,
        "1:new:2 2:new:4 3:new:6"
    );
    let refused = client.batch_execute("insert into m.t values ('2026-03-24', 9, 'x')").await.unwrap_err();
    assert_eq!(refused.code().map(tokio_postgres::error::SqlState::code), Some("23503"));

    // rows that break a rule of the partition are refused while nobody is locked out, and nothing of the table stays
    for (query, sqlstate) in [
        ("select date '2026-03-24' as day, 9 as n, 'new' as v", "23503"),
        ("select date '2026-03-24' as day, null::int as n, null as v", "23502"),
        ("select date '2026-03-24' as day, 1 as n, repeat('x', 60) as v", "23514"),
        ("select date '2026-03-24' as day, 1 as n, v from (values ('a'), ('A')) t (v)", "23505"),
    ] {
        let error = swapping(query, day("2026-03-24")).run(&mut client, query).await.unwrap_err().error();
        assert_eq!(code(&error), sqlstate, "{query}");
    }
    assert_eq!(one(&client, state).await, before);
}

#[tokio::test]
async fn other_cuts_are_refused_with_the_way_out() {
    let (_db, mut client) = Scratch::with("create schema m").await;
    for (setup, found) in [
        ("create table m.t (day date, n int)", "m.t is not partitioned"),
        ("create table m.t (day date, n int) partition by range (n)", "m.t is cut by RANGE (n)"),
        ("create table m.t (day date, n int) partition by range (day, n)", "m.t is cut by RANGE (day, n)"),
        ("create table m.t (day date, n int) partition by hash (day)", "m.t is cut by HASH (day)"),
        ("create table m.t (day timestamptz, n int) partition by list (day)", "m.t is cut by LIST (day)"),
        (
            "create table m.t (day date, n int) partition by range (day); create table m.p partition of m.t for values from ('2026-03-01') to ('2026-04-01')",
            "the partition m.p of m.t is not one interval: for values from ('2026-03-01') to ('2026-04-01')",
        ),
        (
            "create table m.t (day date, n int) partition by range (day); create table m.p partition of m.t for values from (minvalue) to ('2026-03-25')",
            "the partition m.p of m.t is not one interval: for values from (minvalue) to ('2026-03-25')",
        ),
        (
            "create table m.t (day date, n int) partition by list (day); create table m.p partition of m.t for values in ('2026-03-24', null)",
            "the partition m.p of m.t is not one interval: for values in ('2026-03-24', null)",
        ),
        (
            "create table m.t (day date, n int) partition by list (day); create table m.p partition of m.t for values in ('2026-03-24', '2026-03-25')",
            "the partition m.p of m.t is not one interval: for values in ('2026-03-24', '2026-03-25')",
        ),
        (
            "create table m.t (day date, n int) partition by range (day); create table m.p partition of m.t for values from ('2026-03-24') to ('2026-03-25') partition by list (n)",
            "the partition m.p of m.t is partitioned itself",
        ),
        (
            "create table m.t (day date, n int) partition by range (day); create table m.d partition of m.t default; insert into m.t values ('2026-03-24', 1)",
            "the default partition m.d of m.t holds rows of the interval",
        ),
        (
            "create table m.t (day date, n int generated by default as identity) partition by range (day)",
            "the column n of m.t is an identity column",
        ),
        (
            "create table m.t (day date, n int) partition by range (day); create table m.p partition of m.t for values from ('2026-03-24') to ('2026-03-25'); \
             create function m.f() returns trigger language plpgsql as 'begin return new; end'; create trigger tr after insert on m.t for each row execute function m.f()",
            "the trigger tr on \"m\".\"t\" would not hear of a swap",
        ),
        (
            "create table m.t (day date, n int, unique (day, n)) partition by range (day); create table m.c (day date, n int, foreign key (day, n) references m.t (day, n) on delete cascade)",
            "the foreign key c_day_n_fkey of \"m\".\"c\" refers to m.t",
        ),
        (
            "create table m.t (day date, n int) partition by range (day); create publication of_all for table m.t",
            "m.t is published to subscribers by \"of_all\"",
        ),
        (
            "create table m.t (day date, n int) partition by range (day); create table m.p partition of m.t for values from ('2026-03-24') to ('2026-03-25'); \
             create view m.v as select n from m.p; create statistics m.st on day, n from m.p; alter table m.p replica identity full; alter table m.p enable row level security; create policy mine on m.p",
            "a swap of the partition m.p would lose: row security, rule _RETURN on view m.v, the extended statistics st, the policy mine, the replica identity",
        ),
    ] {
        // a server of before 17 has no identity columns in partitioned tables
        let made = client.batch_execute(&format!("begin; {setup}; commit")).await;
        if made.is_err() && setup.contains("identity") && !setup.contains("replica") {
            client.batch_execute("rollback").await.unwrap();
            continue;
        }
        made.unwrap();
        let road = swapping("select date '2026-03-24' as day, 1 as n", day("2026-03-24"));
        let refused = refusals(&mut client, &road).await;
        let what: Vec<&str> = refused.iter().map(|finding| finding.what.as_str()).collect();
        assert!(what.contains(&found), "{setup}: {what:?}");
        assert!(refused.iter().all(|finding| !finding.fix.is_empty() && !finding.why.is_empty()), "{refused:?}");
        client
            .batch_execute("drop schema m cascade; drop publication if exists of_all; create schema m")
            .await
            .unwrap();
    }
    // several partitions in one interval
    client
        .batch_execute("create table m.t (day date, n int) partition by range (day); create table m.a partition of m.t for values from ('2026-03-23') to ('2026-03-24'); \
            create table m.b partition of m.t for values from ('2026-03-24') to ('2026-03-25')")
        .await
        .unwrap();
    let week = ColumnBounds::Dates { start: date("2026-03-23"), end: date("2026-03-30") };
    let refused = refusals(&mut client, &swapping("select date '2026-03-24' as day, 1 as n", week)).await;
    assert_eq!(refused[0].what, "the interval stands in 2 partitions of m.t: m.a, m.b");
}

#[tokio::test]
async fn a_day_of_a_list_and_an_hour_of_instants() {
    let (_db, mut client) = Scratch::with(
        "create schema m; create table m.t (day date, n int) partition by list (day); \
         create table m.p partition of m.t for values in ('2026-03-24'); insert into m.t values ('2026-03-24', 7); \
         create schema k; create table k.t (at timestamptz, n int) partition by range (at); create table k.d partition of k.t default; \
         alter role current_user set timezone = 'America/Los_Angeles'",
    )
    .await;
    client.batch_execute("set timezone = 'America/Los_Angeles'; set datestyle = 'German'").await.unwrap();
    for attempt in ["1", "2"] {
        swapping("select date '2026-03-24' as day, 1 as n", day("2026-03-24")).run(&mut client, attempt).await.unwrap();
        swapping("select date '2026-03-25' as day, 2 as n", day("2026-03-25"))
            .run(&mut client, &format!("x{attempt}"))
            .await
            .unwrap();
        assert_eq!(
            one(&client, "select string_agg(day || ':' || n, ' ' order by day) from m.t").await,
            "24.03.2026:1 25.03.2026:2"
        );
        let mut hour = Road::new(
            "k.t",
            "at",
            "select timestamptz '2026-03-24 05:30Z' as at, 1 as n",
            instants("2026-03-24T05:00:00Z", "2026-03-24T06:00:00Z"),
        );
        hour.strategy = PublishStrategy::PartitionSwap;
        let examination = hour.examine(&mut client).await;
        assert!(
            examination.findings.iter().any(|finding| finding.what.contains("default partition")),
            "its cost is told"
        );
        hour.run(&mut client, &format!("h{attempt}")).await.unwrap();
        assert_eq!(one(&client, "select count(*) from k.t").await, "1");
    }
    client.batch_execute("alter role current_user reset timezone").await.unwrap();
}

#[tokio::test]
async fn a_role_that_owns_no_more_than_it_must() {
    let (db, client) = Scratch::with(DAYS).await;
    let (owner, login) = (db.role(&client, "owner").await, db.role(&client, "worker").await);
    client
        .batch_execute(&format!(
            "grant usage on schema m to {login}; grant usage, create on schema thrice_staging to {login}; \
             grant select, insert, delete on m.t to {login}; alter table m.t owner to {owner}; alter table m.t_0323 owner to {owner}"
        ))
        .await
        .unwrap();
    let mut worker = db.client_as(&login).await;
    let road = of_24th(NEW);
    let refused = refusals(&mut worker, &road).await;
    let fixes: Vec<&str> = refused.iter().map(|finding| finding.fix.as_str()).collect();
    assert_eq!(fixes.len(), 3, "{refused:?}");
    client.batch_execute(&fixes.join(" ")).await.unwrap();
    let refused = refusals(&mut worker, &road).await;
    assert_eq!(refused[0].what, "the role does not own the partition m.\"T of the 24th\" of m.t");
    client.batch_execute(&format!("alter table m.\"T of the 24th\" owner to {owner}")).await.unwrap();
    road.run(&mut worker, "1").await.unwrap();
    let whose = "select pg_get_userbyid(relowner)::text from pg_class where oid = 'm.\"T of the 24th\"'::regclass";
    assert_eq!(one(&client, whose).await, owner);
    client.batch_execute(&format!("drop owned by {owner}; drop owned by {login}")).await.unwrap();
}

#[tokio::test]
async fn what_changed_after_the_preparation_is_noticed() {
    let (_db, mut client) = Scratch::with(DAYS).await;
    let mut road = of_24th(NEW);
    let publish = async |client: &mut Client, road: &Road<'_>, attempt: &str, damage: &str| {
        let (prepared, staged, swap) = road.ready(client, attempt).await;
        client.batch_execute(&damage.replace("$p", &swap.table.to_string())).await.unwrap();
        let before = one(client, ALL).await;
        let plan = Road::swap_plan(&prepared, &staged, &swap);
        match road.publish_plan(client, &prepared, &staged, &plan, Gate::default(), &Quiet).await {
            PublishOutcome::RolledBack(error) => {
                assert_eq!(one(client, ALL).await, before, "nothing is published");
                error.kind().clone()
            }
            other @ (PublishOutcome::Committed(_) | PublishOutcome::Unknown { .. }) => panic!("{other:?}"),
        }
    };
    let kind = publish(&mut client, &road, "1", "delete from $p where n = 1").await;
    assert!(matches!(kind, ErrorKind::StagingNotWhole { .. }), "{kind:?}");
    let kind = publish(
        &mut client,
        &road,
        "2",
        "alter table m.t detach partition m.\"T of the 24th\"; alter table m.\"T of the 24th\" rename to aside; \
         create table m.\"T of the 24th\" partition of m.t for values from ('2026-03-24') to ('2026-03-25')",
    )
    .await;
    assert_eq!(kind, ErrorKind::PartitionMoved);
    road.existing_rows = ExistingRows::MustBeNone;
    let kind = publish(&mut client, &road, "3", "insert into m.t values ('2026-03-24', 5, 'theirs')").await;
    assert_eq!(kind, ErrorKind::ExistingRows { rows: 1 });
    // a partition that was made meanwhile is in the way of a first one
    let road =
        swapping("select date '2026-03-26' as day, 1 as n, 'x' as v, null::timestamptz as at", day("2026-03-26"));
    let kind = publish(
        &mut client,
        &road,
        "4",
        "create table m.late partition of m.t for values from ('2026-03-26') to ('2026-03-27')",
    )
    .await;
    assert_eq!(kind, ErrorKind::Server);
    road.run(&mut client, "5").await.unwrap();
    // the look that stands right before the work
    let (prepared, staged, _) = of_24th(NEW).ready(&mut client, "6").await;
    client.batch_execute("alter table m.t detach partition m.\"T of the 24th\"; create table m.wide partition of m.t for values from ('2026-03-24') to ('2026-03-26')").await.unwrap();
    match of_24th(NEW).prepare_swap(&mut client, &prepared, &staged, &Quiet).await.unwrap() {
        Preparation::Refused(findings) => assert!(findings[0].what.contains("is not one interval"), "{findings:?}"),
        Preparation::Ready(swap) => panic!("{swap:?}"),
    }
}

/// A reader that stays keeps a swap out for as long as its lock timeout says, and no longer.
#[tokio::test]
async fn a_swap_gives_up_where_a_reader_stays() {
    let (db, mut client) = Scratch::with(DAYS).await;
    let reader = db.client().await;
    reader.batch_execute("begin; select * from m.t").await.unwrap();
    let mut road = of_24th(NEW);
    road.timeouts.lock = std::time::Duration::from_millis(200);
    let error = road.run(&mut client, "1").await.unwrap_err().error();
    assert_eq!(code(&error), "55P03");
    reader.batch_execute("commit").await.unwrap();
    road.run(&mut client, "2").await.unwrap();
}

/// The server need not look at rows that the check of the bounds speaks for.
#[tokio::test]
async fn attaching_reads_no_rows() {
    let (db, mut client) = Scratch::with(DAYS).await;
    let road = of_24th(NEW);
    let (_, _, swap) = road.ready(&mut client, "1").await;
    let client = db.client().await;
    let scans =
        format!("select coalesce(seq_scan, 0) from pg_stat_xact_all_tables where relid = '{}'::regclass", swap.table);
    for (without_check, read) in [("", "0"), ("alter table $p drop constraint \"p\"", "1")] {
        let attach = format!(
            "begin; alter table m.t detach partition m.\"T of the 24th\"; {without_check}; \
             alter table m.t attach partition $p for values from ('2026-03-24') to ('2026-03-25')"
        );
        let attach = attach.replace("\"p\"", &swap.table.table.to_string()).replace("$p", &swap.table.to_string());
        client.batch_execute(&attach).await.unwrap();
        assert_eq!(one(&client, &scans).await, read, "{attach}");
        client.batch_execute("rollback").await.unwrap();
    }
}
