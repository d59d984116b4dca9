//! Staging: target-typed, filled by assignment, one snapshot, one transaction with its record.

use std::time::Duration;

use thrice_core::identifier::{Identifier, TableName};
use thrice_sql_publish::{
    SqlValue, Statement, StatementCache,
    error::ErrorKind,
    probe::{self, Probe, Quiet},
    query::UserQuery,
    session::{Limit, Timeouts},
    staging::{EMPTY, Emptying, Place, StageRequest, StagingName, drop_staging, stage, verify_staging},
    staging_mode::{Durable, StagingMode},
};
use tokio_postgres::types::Type;

use crate::support::{Road, Scratch, code, day, id, instants, one, until_quiet};

#[tokio::test]
async fn staging_has_the_targets_types_and_nothing_else_of_it() {
    let (_db, mut client) = Scratch::with(
        "create schema m; create type m.mood as enum ('ok', 'bad'); create domain m.positive as numeric(6, 2) check (value > 0); \
         create table m.t (id int generated always as identity, day date not null default '2020-01-01', v varchar(3) collate \"C\", \
           c char(5), n numeric(5, 2) check (n < 100), p m.positive, mood m.mood, moods m.mood[], b bit(4), ts timestamp(0), i interval(0), unique (day))",
    )
    .await;
    let road = Road::new(
        "m.t",
        "day",
        "select date '2026-03-24' as day, 'abc  ' as v, 'x' as c, 1.005 as n, 3.14159 as p, 'bad'::m.mood as mood, \
         array['ok', 'bad']::m.mood[] as moods, b'1010' as b, timestamp '2026-03-24 01:02:03.6' as ts, interval '1.7 s' as i",
        day("2026-03-24"),
    );
    let prepared = road.prepare(&mut client).await.unwrap();
    let staged = road.stage(&mut client, &prepared, "1").await.unwrap();
    let columns = |relation: &str| {
        format!(
            "select string_agg(attname || ' ' || format_type(atttypid, atttypmod) || ' ' || attcollation || ' ' || attnotnull || ' ' || atthasdef, ', ' order by attnum) \
             from pg_attribute where attrelid = '{relation}'::regclass and attnum > 0 and attname <> 'id'"
        )
    };
    let (ours, theirs) =
        (one(&client, &columns(&staged.relation.to_string())).await, one(&client, &columns("m.t")).await);
    assert_eq!(ours, theirs.replace(" true true", " false false").replace(" true false", " false false"));
    assert_eq!(
        one(&client, &format!("select relpersistence from pg_class where oid = '{}'::regclass", staged.relation)).await,
        "u"
    );
    let rounded =
        one(&client, &format!("select concat_ws('|', v, c || '.', n, p, ts, i) from {}", staged.relation)).await;
    assert_eq!(
        rounded, "abc|x.|1.01|3.14|2026-03-24 01:02:04|00:00:02",
        "rounded to the target's precision before anything is compared"
    );
    assert_eq!(road.run(&mut client, "2").await.unwrap().content, staged.content);
}

#[tokio::test]
async fn values_that_do_not_fit_fail_and_are_never_cut() {
    let (_db, mut client) = Scratch::with(
        "create schema m; create domain m.positive as int check (value > 0); create table m.t (day date, v varchar(3), p m.positive, i int2)",
    )
    .await;
    for (row, sqlstate) in [
        ("'abcd' as v, 1 as p, 1 as i", "22001"),
        ("'abc' as v, 0 as p, 1 as i", "23514"),
        ("'abc' as v, 1 as p, 40000 as i", "22003"),
        ("'abc' as v, 1 as p, 1 / 0 as i", "22012"),
    ] {
        let query = format!("select date '2026-03-24' as day, {row}");
        let road = Road::new("m.t", "day", &query, day("2026-03-24"));
        let error = road.run(&mut client, "1").await.unwrap_err().error();
        assert_eq!(code(&error), sqlstate, "{row}");
        assert_eq!(one(&client, "select count(*) from pg_tables where schemaname = 'thrice_staging'").await, "0");
    }
}

#[tokio::test]
async fn row_values_stay_out_of_messages() {
    let (_db, mut client) = Scratch::with(
        "create schema m; create table m.t (day date, n int); \
         create function m.leak() returns int language plpgsql as $$ begin raise exception 'canary-4711' using errcode = '22023'; end $$",
    )
    .await;
    for query in [
        "select date '2026-03-24' as day, ('canary-' || 4711)::int as n",
        "select date '2026-03-24' as day, m.leak() as n",
    ] {
        let error = Road::new("m.t", "day", query, day("2026-03-24")).run(&mut client, "1").await.unwrap_err().error();
        assert!(!format!("{error}").contains("canary"), "{error}");
        assert!(error.unredacted().unwrap().contains("canary-4711"));
    }
}

#[tokio::test]
async fn the_pipelines_zone_decides_what_a_date_is() {
    let (db, client) = Scratch::with(
        "create schema m; create table m.orders (ts timestamptz, amount int); create table m.daily (day date, n bigint, total bigint); \
         insert into m.orders values ('2026-03-23 14:59:59Z', 1), ('2026-03-23 15:00Z', 10), ('2026-03-24 14:59:59.999999Z', 20), ('2026-03-24 15:00Z', 40)",
    )
    .await;
    let role = db.role(&client, "la").await;
    client
        .batch_execute(&format!(
            "alter role {role} set timezone = 'America/Los_Angeles'; alter role {role} set datestyle = 'SQL, DMY'; \
             grant usage on schema m to {role}; grant all on all tables in schema m to {role}; grant create, usage on schema thrice_staging to {role}"
        ))
        .await
        .unwrap();
    let mut client = db.client_as(&role).await;
    let mut road = Road::new(
        "m.daily",
        "day",
        "select ts::date as day, count(*) as n, sum(amount) as total from m.orders where ts >= $1 and ts < $2 and ts < '2026-04-03'::timestamptz group by 1",
        day("2026-03-24"),
    );
    road.values =
        ["2026-03-23T15:00:00Z", "2026-03-24T15:00:00Z"].map(|at| SqlValue::Instant(at.parse().unwrap())).to_vec();
    road.session.time_zone = "Asia/Seoul".into();
    for attempt in ["1", "2", "3"] {
        road.run(&mut client, attempt).await.unwrap();
    }
    assert_eq!(
        one(&client, "select to_char(day, 'YYYY-MM-DD') || ' ' || n || ' ' || total from m.daily").await,
        "2026-03-24 2 30"
    );
    assert_eq!(one(&client, "show timezone").await, "America/Los_Angeles", "nothing leaks out of the transaction");
}

#[tokio::test]
async fn a_day_of_23_or_25_hours_is_whole() {
    let (_db, mut client) =
        Scratch::with("create schema m; create table m.hourly (at timestamptz primary key, n int)").await;
    for (start, end, hours) in
        [("2026-03-08T05:00:00Z", "2026-03-09T04:00:00Z", 23), ("2026-11-01T04:00:00Z", "2026-11-02T05:00:00Z", 25)]
    {
        let mut road = Road::new(
            "m.hourly",
            "at",
            "select date_trunc('hour', g) as at, 2 as n from generate_series($1, $2 - interval '1 minute', '30 minutes') g group by 1",
            instants(start, end),
        );
        road.session.time_zone = "America/New_York".into();
        road.values = [start, end].map(|at| SqlValue::Instant(at.parse().unwrap())).to_vec();
        for attempt in ["1", "2"] {
            let published = road.run(&mut client, &format!("{start}{attempt}")).await.unwrap();
            assert_eq!(published.content.rows, hours);
        }
    }
    assert_eq!(one(&client, "select count(*) from m.hourly").await, "48");
}

#[tokio::test]
async fn a_roles_statement_timeout_stays_and_a_written_one_wins() {
    let (db, client) =
        Scratch::with("create schema m; create table m.t (day date); insert into m.t values ('2026-03-24')").await;
    let role = db.role(&client, "brief").await;
    client
        .batch_execute(&format!(
            "alter role {role} set statement_timeout = '1s'; grant usage on schema m to {role}; grant all on m.t to {role}; \
             grant create, usage on schema thrice_staging to {role}"
        ))
        .await
        .unwrap();
    let mut brief = db.client_as(&role).await;
    let mut road = Road::new("m.t", "day", "select date '2026-03-24' as day from pg_sleep(2)", day("2026-03-24"));
    let error = road.run(&mut brief, "1").await.unwrap_err().error();
    assert_eq!((code(&error).as_str(), error.is_timeout()), ("57014", true), "{error}");
    assert_eq!(*error.kind(), ErrorKind::TimedOut { limit: Duration::from_secs(1), in_doubt: false });
    until_quiet(&client).await;

    road.timeouts = Timeouts::new(Limit::Explicit(Duration::from_secs(20)));
    assert_eq!(road.run(&mut brief, "2").await.unwrap().content.rows, 1);
}

#[tokio::test]
async fn settings_that_the_query_changes_are_set_back_and_told() {
    let (_db, mut client) =
        Scratch::with("create schema m; create table m.t (day date, at timestamptz, b bytea, f float8)").await;
    let plain = "select date '2026-03-24' as day, timestamptz '2026-03-24 01:00Z' as at, '\\x00ff'::bytea as b, 0.1::float8 + 0.2 as f";
    let road = Road::new("m.t", "day", plain, day("2026-03-24"));
    let prepared = road.prepare(&mut client).await.unwrap();
    let honest = road.stage(&mut client, &prepared, "1").await.unwrap();
    assert!(honest.settings_moved.is_empty());
    let meddling = format!(
        "{plain} from (select set_config('TimeZone', 'Asia/Tokyo', false), set_config('bytea_output', 'escape', false), \
         set_config('extra_float_digits', '-3', false), set_config('search_path', 'm', false) offset 0) meddle"
    );
    let road = Road::new("m.t", "day", &meddling, day("2026-03-24"));
    let meddled = road.stage(&mut client, &prepared, "2").await.unwrap();
    assert_eq!(meddled.content, honest.content);
    assert_eq!(meddled.settings_moved, ["TimeZone", "extra_float_digits", "bytea_output"]);
}

#[tokio::test]
async fn a_query_that_changes_who_acts_is_refused() {
    let (db, mut client) = Scratch::with("create schema m; create table m.t (day date)").await;
    let role = db.role(&client, "other").await;
    for (name, value) in [("role", role.as_str()), ("session_replication_role", "replica")] {
        let query = format!(
            "select date '2026-03-24' as day from (select set_config('{name}', '{value}', true) offset 0) x where x is not null"
        );
        let error = Road::new("m.t", "day", &query, day("2026-03-24")).run(&mut client, "1").await.unwrap_err().error();
        // a role without any right fails on its own first
        assert!(
            matches!(error.kind(), ErrorKind::SettingMoved { name: moved } if moved == name) || code(&error) == "42501",
            "{error}"
        );
    }
}

struct CommitsARow {
    url: tokio_postgres::Config,
}

impl Probe for CommitsARow {
    fn at(&self, step: &'static str) {
        if step != probe::STAGE_FILLED {
            return;
        }
        let config = self.url.clone();
        std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
            runtime.block_on(async {
                let (client, connection) = config.connect(tokio_postgres::NoTls).await.unwrap();
                tokio::spawn(async move { drop(connection.await) });
                client.batch_execute("insert into m.source values (2)").await.unwrap();
            });
        })
        .join()
        .unwrap();
    }
}

#[tokio::test]
async fn query_and_what_comes_after_it_see_one_snapshot_and_commit_together() {
    let (db, mut client) =
        Scratch::with("create schema m; create table m.t (day date, n int); create table m.source (n int); insert into m.source values (1); create table m.runs (rows int8, sum text, source int8)").await;
    let url: tokio_postgres::Config = std::env::var("THRICE_TEST_DATABASE_URL").unwrap().parse().unwrap();
    let probe = CommitsARow { url: url.clone().dbname(&db.name).clone() };
    let road = Road::new("m.t", "day", "select date '2026-03-24' as day, n from m.source", day("2026-03-24"));
    let prepared = road.prepare(&mut client).await.unwrap();
    let staged = road
        .stage_with(
            &mut client,
            &prepared,
            "1",
            &|staged| {
                vec![
                    Statement::new("record", "insert into m.runs select $1, $2, count(*) from m.source")
                        .bind(staged.content.rows, Type::INT8)
                        .bind(staged.content.checksum.clone(), Type::TEXT),
                ]
            },
            &probe,
        )
        .await
        .unwrap();
    assert_eq!(
        one(&client, "select rows || ' ' || source from m.runs").await,
        "1 1",
        "the row of the other session is not seen"
    );
    assert_eq!(one(&client, "select sum from m.runs").await, staged.content.checksum);
    assert_eq!(one(&client, "select count(*) from m.source").await, "2");

    let error = road
        .stage_with(
            &mut client,
            &prepared,
            "2",
            &|_| vec![Statement::new("record", "select 1 where false").must_return_row()],
            &Quiet,
        )
        .await
        .unwrap_err();
    assert_eq!(*error.kind(), ErrorKind::NoRow);
    assert_eq!(
        one(&client, "select count(*) from pg_tables where schemaname = 'thrice_staging'").await,
        "1",
        "no table without its record"
    );
}

#[tokio::test]
async fn staging_is_handed_to_the_role_that_workers_share() {
    let (db, client) = Scratch::with("create schema m; create table m.t (day date)").await;
    let (workers, login) = (db.role(&client, "workers").await, db.role(&client, "login").await);
    client
        .batch_execute(&format!(
            "grant usage, create on schema thrice_staging to {workers}; grant usage on schema m to {workers}; \
             grant select, insert, delete on m.t to {workers}; grant {workers} to {login}"
        ))
        .await
        .unwrap();
    let mut worker = db.client_as(&login).await;
    let road = Road::new("m.t", "day", "select date '2026-03-24' as day", day("2026-03-24"));
    let prepared = road.prepare(&mut worker).await.unwrap();
    let name = StagingName::of("p", "1").unwrap();
    let (query, owner) = (road.user_query(), id(&workers));
    let request = StageRequest {
        target: &prepared.target,
        columns: &prepared.columns,
        query: &query,
        staging: name.table(),
        place: Place::New(&Durable),
        session: &road.session,
        timeouts: &road.timeouts,
        owner: Some(&owner),
        after: &|_| Vec::new(),
        probe: &Quiet,
        statements: &StatementCache::default(),
        stop: &road.stop,
    };
    let staged = stage(&mut worker, &request).await.unwrap();
    assert_eq!(one(&client, "select tableowner from pg_tables where schemaname = 'thrice_staging'").await, workers);
    // another login of the same role goes on with it
    let second = db.role(&client, "second").await;
    client.batch_execute(&format!("grant {workers} to {second}")).await.unwrap();
    let mut second = db.client_as(&second).await;
    assert!(
        verify_staging(&mut second, &staged, &prepared.target, &prepared.columns, &road.timeouts, &road.stop)
            .await
            .unwrap()
    );
    drop_staging(&mut second, std::slice::from_ref(&name), &road.timeouts, &road.stop).await.unwrap();
    drop_staging(&mut second, std::slice::from_ref(&name), &road.timeouts, &road.stop).await.unwrap();
    assert_eq!(one(&client, "select count(*) from pg_tables where schemaname = 'thrice_staging'").await, "0");
}

#[tokio::test]
async fn a_role_that_does_not_exist_is_no_obstacle() {
    let (_db, mut client) = Scratch::with("create schema m; create table m.t (day date)").await;
    let road = Road::new("m.t", "day", "select date '2026-03-24' as day", day("2026-03-24"));
    let prepared = road.prepare(&mut client).await.unwrap();
    let name = StagingName::of("p", "1").unwrap();
    let (query, owner) = (road.user_query(), id("nobody_of_that_name"));
    let request = StageRequest {
        target: &prepared.target,
        columns: &prepared.columns,
        query: &query,
        staging: name.table(),
        place: Place::New(&Durable),
        session: &road.session,
        timeouts: &road.timeouts,
        owner: Some(&owner),
        after: &|_| Vec::new(),
        probe: &Quiet,
        statements: &StatementCache::default(),
        stop: &road.stop,
    };
    assert_eq!(stage(&mut client, &request).await.unwrap().content.rows, 1);
}

#[tokio::test]
async fn staging_that_is_not_whole_is_noticed() {
    let (_db, mut client) = Scratch::with("create schema m; create table m.t (day date, v varchar(5), n int)").await;
    let road = Road::new(
        "m.t",
        "day",
        "select date '2026-03-24' as day, 'a' as v, n from generate_series(1, 5) n",
        day("2026-03-24"),
    );
    let prepared = road.prepare(&mut client).await.unwrap();
    let staged = road.stage(&mut client, &prepared, "1").await.unwrap();
    for (damage, whole) in [
        ("select 1".to_owned(), true),
        (format!("update {} set n = n + 1 where n = 5", staged.relation), false),
        (format!("update {} set n = n - 1 where n = 6", staged.relation), true),
        ("alter table m.t alter v type varchar(6)".to_owned(), false),
        ("alter table m.t alter v type varchar(5)".to_owned(), true),
        (format!("alter table {} add x int", staged.relation), false),
        (format!("alter table {} drop x", staged.relation), true),
        (format!("truncate {}", staged.relation), false),
        (format!("drop table {}", staged.relation), false),
    ] {
        client.batch_execute(&damage).await.unwrap();
        let found =
            verify_staging(&mut client, &staged, &prepared.target, &prepared.columns, &road.timeouts, &road.stop)
                .await
                .unwrap();
        assert_eq!(found, whole, "{damage}");
    }
}

/// A second way to keep rows: a temporary table of the connection. Nothing but this file knows it.
struct Temporary;

impl StagingMode for Temporary {
    fn name(&self) -> &'static str {
        "temporary"
    }

    fn create(&self, staging: &TableName, target: &TableName, columns: &[Identifier]) -> String {
        let columns: Vec<String> = columns.iter().map(ToString::to_string).collect();
        format!("create temporary table {} as select {} from {target} with no data", staging.table, columns.join(", "))
    }
}

#[tokio::test]
async fn another_way_to_stage_needs_no_change_of_the_strategy() {
    let (_db, mut client) = Scratch::with("create schema m; create table m.t (day date, n int)").await;
    let mut road =
        Road::new("m.t", "day", "select date '2026-03-24' as day, n from generate_series(1, 5) n", day("2026-03-24"));
    let durable = road.run(&mut client, "1").await.unwrap();
    road.mode = &Temporary;
    let prepared = road.prepare(&mut client).await.unwrap();
    let (query, staging) = (road.user_query(), TableName::new(id("pg_temp"), id("stage")));
    let request = StageRequest {
        target: &prepared.target,
        columns: &prepared.columns,
        query: &query,
        staging: &staging,
        place: Place::New(road.mode),
        session: &road.session,
        timeouts: &road.timeouts,
        owner: None,
        after: &|_| Vec::new(),
        probe: &Quiet,
        statements: &StatementCache::default(),
        stop: &road.stop,
    };
    let staged = stage(&mut client, &request).await.unwrap();
    assert_eq!(staged.content, durable.content);
    let outcome = road.publish(&mut client, &prepared, &staged, thrice_sql_publish::publish::Gate::default()).await;
    assert!(
        matches!(outcome, thrice_sql_publish::publish::PublishOutcome::Committed(published) if published.rows_inserted == 5)
    );
}

#[tokio::test]
async fn a_table_whose_rows_are_spent_takes_the_next_ones() {
    let (_db, mut client) = Scratch::with("create schema m; create table m.t (day date, n int)").await;
    let road =
        Road::new("m.t", "day", "select date '2026-03-24' as day, n from generate_series(1, 5) n", day("2026-03-24"));
    let prepared = road.prepare(&mut client).await.unwrap();
    let first = road.stage(&mut client, &prepared, "1").await.unwrap();
    assert!(!first.comes_again);
    let (name, statements) = (StagingName::of("m.t", "1").unwrap(), StatementCache::default());
    // twice each: the statements are prepared, then used again, and a truncated table is planned for anew
    for (emptying, rows) in [
        (Emptying::Delete, 3),
        (Emptying::Delete, 0),
        (Emptying::Truncate, 7),
        (Emptying::Truncate, 2),
        (Emptying::Delete, 4),
    ] {
        let query = format!("select date '2026-03-24' as day, n + 10 as n from generate_series(1, {rows}) n");
        let query = UserQuery::new(query, Vec::new());
        let request = StageRequest {
            target: &prepared.target,
            columns: &prepared.columns,
            query: &query,
            staging: name.table(),
            place: Place::Spent(emptying),
            session: &road.session,
            timeouts: &road.timeouts,
            owner: None,
            after: &|_| Vec::new(),
            probe: &Quiet,
            statements: &statements,
            stop: &road.stop,
        };
        let staged = stage(&mut client, &request).await.unwrap();
        assert!(staged.comes_again);
        assert_eq!(staged.content.rows, rows, "{emptying:?}");
        let held = format!("select concat_ws(' ', count(*), min(n), max(n)) from {}", staged.relation);
        let expected = if rows == 0 { "0".to_owned() } else { format!("{rows} 11 {}", 10 + rows) };
        assert_eq!(one(&client, &held).await, expected, "nothing of the rows before");
        let outcome = road.publish(&mut client, &prepared, &staged, thrice_sql_publish::publish::Gate::default()).await;
        let thrice_sql_publish::publish::PublishOutcome::Committed(done) = outcome else { panic!("{outcome:?}") };
        assert_eq!(done.content, staged.content);
    }
    // a failure leaves the table and its rows as they were
    let failing = "select date '2026-03-24' as day, 1 / (n - 2) as n from generate_series(1, 3) n";
    let query = UserQuery::new(failing, Vec::new());
    let request = |emptying, stop| StageRequest {
        target: &prepared.target,
        columns: &prepared.columns,
        query: &query,
        staging: name.table(),
        place: Place::Spent(emptying),
        session: &road.session,
        timeouts: &road.timeouts,
        owner: None,
        after: &|_| Vec::new(),
        probe: &Quiet,
        statements: &statements,
        stop,
    };
    for emptying in [Emptying::Delete, Emptying::Truncate] {
        let error = stage(&mut client, &request(emptying, &road.stop)).await.unwrap_err();
        assert_eq!(code(&error), "22012");
        assert_eq!(one(&client, &format!("select count(*) from {}", name.table())).await, "4");
    }
    // no longer what the target would get, or changed itself: not used
    let spoilt = [
        ("alter table m.t alter n type bigint".to_owned(), "alter table m.t alter n type int".to_owned()),
        (format!("alter table {} add x int", name.table()), format!("alter table {} drop x", name.table())),
        (
            "alter table m.t rename to away; create table m.t (day date, n bigint)".to_owned(),
            "drop table m.t; alter table m.away rename to t".to_owned(),
        ),
    ];
    for (damage, repair) in spoilt {
        client.batch_execute(&damage).await.unwrap();
        for emptying in [Emptying::Delete, Emptying::Truncate] {
            let spoilt = stage(&mut client, &request(emptying, &road.stop)).await;
            assert_eq!(spoilt.unwrap_err().what(), EMPTY, "{damage}");
            assert_eq!(one(&client, &format!("select count(*) from {}", name.table())).await, "4");
        }
        client.batch_execute(&repair).await.unwrap();
    }
    // gone meanwhile: the step that fails is the one that tells the caller to make another
    client.batch_execute(&format!("drop table {}", name.table())).await.unwrap();
    for emptying in [Emptying::Delete, Emptying::Truncate] {
        let error = stage(&mut client, &request(emptying, &road.stop)).await.unwrap_err();
        assert_eq!(error.what(), EMPTY);
    }
    assert_eq!(one(&client, "select 1").await, "1", "the connection is still good");
}
