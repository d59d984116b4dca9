//! Examination of a target: each thing that would go wrong is found before a row is moved.

use thrice_core::column_bounds::IntervalColumnType;
use thrice_sql_publish::target::ValueSource::{self, Generated, IdentityAlways, IdentityByDefault, Writer};

use crate::support::{Road, Scratch, codes, day, one};

fn road(table: &str) -> Road<'_> {
    let mut road = Road::new(table, "day", "select 1", day("2026-03-24"));
    road.key = &["day", "store"];
    road
}

const SOUND: &str = "create schema mart; create table mart.daily (day date not null, store int not null, total numeric, unique (day, store));";

#[tokio::test]
async fn a_sound_table_has_no_finding() {
    let (_db, mut client) = Scratch::with(SOUND).await;
    let examination = road("mart.daily").examine(&mut client).await;
    assert!(examination.findings.is_empty(), "{:?}", examination.findings);
    let target = examination.target.unwrap();
    assert_eq!(target.interval_column_type(), Some(IntervalColumnType::Date));
    let names: Vec<&str> = target.columns.iter().map(|column| column.name.as_str()).collect();
    assert_eq!(names, ["day", "store", "total"]);
}

#[tokio::test]
async fn a_missing_target_is_named_with_the_nearest_one() {
    let (_db, mut client) = Scratch::with(SOUND).await;
    for (table, near) in [("mart.dialy", "\"mart\".\"daily\""), ("marts.daily", "\"mart\".\"daily\"")] {
        let examination = road(table).examine(&mut client).await;
        assert!(examination.target.is_none());
        assert_eq!(codes(&examination.findings), ["TH0417!"]);
        assert!(examination.findings[0].fix.contains(near), "{}", examination.findings[0].fix);
    }
}

#[tokio::test]
async fn what_is_not_a_table_is_refused_by_its_kind() {
    let (_db, mut client) = Scratch::with(
        "create schema mart; create view mart.a as select current_date as day, 1 as store; \
         create materialized view mart.b as select current_date as day, 1 as store; create sequence mart.c",
    )
    .await;
    for (table, kind) in [("mart.a", "a view"), ("mart.b", "a materialized view"), ("mart.c", "a sequence")] {
        let findings = road(table).examine(&mut client).await.findings;
        assert_eq!(codes(&findings), ["TH0413!"]);
        assert!(findings[0].what.ends_with(kind), "{}", findings[0].what);
    }
}

/// Tables that would take the rows, were they not the ledger's or the server's.
#[tokio::test]
async fn schemas_of_thrice_and_of_the_server_are_refused_by_name() {
    let (_db, mut client) = Scratch::with(
        "create schema thrice; create table thrice.events (day date, store int); \
         create table thrice_staging.events (day date, store int); \
         create schema thrice_history; create table thrice_history.events (day date, store int); \
         create temporary table events (day date, store int)",
    )
    .await;
    for table in [
        "thrice.events",
        "THRICE.events",
        "thrice_staging.events",
        "thrice_history.events",
        "pg_temp.events",
        "pg_catalog.pg_class",
        "information_schema.sql_features",
    ] {
        let examination = road(table).examine(&mut client).await;
        assert!(examination.target.is_none(), "{table}");
        assert_eq!(codes(&examination.findings), ["TH0413!"], "{table}");
    }
}

#[tokio::test]
async fn the_interval_column_must_have_a_place_in_time() {
    let (_db, mut client) = Scratch::with(
        "create schema mart; create domain mart.business_day as date not null; create domain mart.bd2 as mart.business_day; \
         create table mart.a (day text, store int); create table mart.b (day timestamp, store int); \
         create table mart.c (day timestamptz, store int); create table mart.d (day mart.bd2, store int); \
         create table mart.e (dayy date, store int)",
    )
    .await;
    let findings = road("mart.a").examine(&mut client).await.findings;
    assert!(findings[0].is_error() && findings[0].what.contains("has the type text"), "{findings:?}");
    for (table, expected) in [
        ("mart.b", IntervalColumnType::Timestamp),
        ("mart.c", IntervalColumnType::Timestamptz),
        ("mart.d", IntervalColumnType::Date),
    ] {
        assert_eq!(road(table).examine(&mut client).await.target.unwrap().interval_column_type(), Some(expected));
    }
    let findings = road("mart.e").examine(&mut client).await.findings;
    assert!(findings[0].is_error() && findings[0].fix == "did you mean dayy?", "{findings:?}");
}

#[tokio::test]
async fn keys_without_a_sound_unique_index_are_warned_about() {
    let (_db, mut client) = Scratch::with(
        "create schema mart; \
         create table mart.none (day date not null, store int not null); create index on mart.none (day, store); \
         create table mart.partial (day date not null, store int not null); \
         create unique index on mart.partial (day, store) where store > 0; \
         create table mart.wider (day date not null, store int not null, x int); create unique index on mart.wider (day, store, x); \
         create table mart.nullable (day date, store int not null, unique (day, store)); \
         create table mart.no_interval (day date not null, store int not null unique)",
    )
    .await;
    for (table, words) in [
        ("mart.none", "no unique index"),
        ("mart.partial", "no unique index"),
        ("mart.wider", "no unique index"),
        ("mart.nullable", "may be null: day"),
        ("mart.no_interval", "does not hold the interval column"),
    ] {
        let examination = road(table).examine(&mut client).await;
        assert_eq!(codes(&examination.findings), ["TH0412"], "{table}");
        assert!(examination.findings[0].what.contains(words), "{}", examination.findings[0].what);
        assert!(examination.target.is_some());
    }
    // the statements that the findings offer are right
    for table in ["mart.none", "mart.nullable"] {
        let fix = road(table).examine(&mut client).await.findings[0].fix.clone();
        client.batch_execute(&fix).await.unwrap();
        assert!(road(table).examine(&mut client).await.findings.is_empty(), "{table}");
    }
}

#[tokio::test]
async fn columns_that_the_server_fills_are_known() {
    let (_db, mut client) = Scratch::with(
        "create schema mart; create table mart.daily (a bigint generated always as identity, b bigint generated by default as identity, \
         day date not null, store int not null, c int generated always as (store * 2) stored, d int default 7, unique (day, store))",
    )
    .await;
    let target = road("mart.daily").examine(&mut client).await.target.unwrap();
    let sources: Vec<ValueSource> = target.columns.iter().map(|column| column.source).collect();
    assert_eq!(sources, [IdentityAlways, IdentityByDefault, Writer, Writer, Generated, Writer]);
    assert!(target.columns[5].has_default);
}

#[tokio::test]
async fn row_security_is_refused_only_where_it_binds_the_role() {
    let (db, mut client) = Scratch::with(SOUND).await;
    let role = db.role(&client, "bound").await;
    client
        .batch_execute(&format!(
            "grant usage on schema mart to {role}; grant all on mart.daily to {role}; alter table mart.daily enable row level security"
        ))
        .await
        .unwrap();
    assert!(road("mart.daily").examine(&mut client).await.target.is_some(), "the owner is not bound");
    let mut bound = db.client_as(&role).await;
    let findings = road("mart.daily").examine(&mut bound).await.findings;
    assert_eq!(codes(&findings), ["TH0413!"]);
    assert!(findings[0].what.contains(&role));
}

#[tokio::test]
async fn triggers_are_named_and_disabled_ones_are_not() {
    let (_db, mut client) = Scratch::with(&format!(
        "{SOUND} create function mart.f() returns trigger language plpgsql as 'begin return null; end'; \
         create trigger audit after insert or delete on mart.daily for each row execute function mart.f(); \
         create trigger off after insert on mart.daily for each row execute function mart.f(); \
         create trigger on_update after update on mart.daily for each row execute function mart.f(); \
         alter table mart.daily disable trigger off"
    ))
    .await;
    let examination = road("mart.daily").examine(&mut client).await;
    assert_eq!(codes(&examination.findings), ["TH0413"]);
    assert!(examination.findings[0].what.contains("the trigger audit"), "{:?}", examination.findings);
    assert!(examination.target.unwrap().has_triggers);
}

#[tokio::test]
async fn foreign_keys_that_would_lose_children_are_errors() {
    for (clause, expected) in [
        ("on delete cascade", vec!["TH0421!"]),
        ("on delete set null", vec!["TH0421!"]),
        ("on delete set default", vec!["TH0421!"]),
        ("on delete restrict", vec!["TH0413"]),
        ("", vec!["TH0413"]),
        ("deferrable", vec!["TH0413"]),
        ("deferrable initially deferred", vec![]),
    ] {
        let (_db, mut client) = Scratch::with(&format!(
            "{SOUND} create table mart.child (day date, store int, constraint to_parent foreign key (day, store) references mart.daily (day, store) {clause})"
        ))
        .await;
        let examination = road("mart.daily").examine(&mut client).await;
        assert_eq!(codes(&examination.findings), expected, "{clause}");
        if let Some(finding) = examination.findings.first() {
            assert!(finding.what.contains("to_parent") && finding.what.contains("child"), "{}", finding.what);
        }
        if clause.is_empty() {
            client.batch_execute(&examination.findings[0].fix).await.unwrap();
            assert!(road("mart.daily").examine(&mut client).await.findings.is_empty());
        }
    }
}

#[tokio::test]
async fn rules_and_inheritance_are_refused() {
    let (_db, mut client) =
        Scratch::with(&format!("{SOUND} create rule quiet as on delete to mart.daily do instead nothing")).await;
    let findings = road("mart.daily").examine(&mut client).await.findings;
    assert_eq!(codes(&findings), ["TH0413!"]);
    assert!(findings[0].what.contains("the rule quiet"));

    let (_db, mut client) = Scratch::with(&format!("{SOUND} create table mart.child () inherits (mart.daily)")).await;
    let findings = road("mart.daily").examine(&mut client).await.findings;
    assert_eq!(codes(&findings), ["TH0413!"]);
    assert!(findings[0].what.contains("inherit"));
}

#[tokio::test]
async fn an_unlogged_target_is_warned_about() {
    let (_db, mut client) = Scratch::with(&SOUND.replace("create table", "create unlogged table")).await;
    let examination = road("mart.daily").examine(&mut client).await;
    assert_eq!(codes(&examination.findings), ["TH0413"]);
    assert!(examination.findings[0].what.contains("unlogged"));
}

#[tokio::test]
async fn missing_privileges_come_with_the_grant_that_is_missing() {
    let (db, client) = Scratch::with(SOUND).await;
    let role = db.role(&client, "poor").await;
    let mut poor = db.client_as(&role).await;
    let findings = road("mart.daily").examine(&mut poor).await.findings;
    assert_eq!(codes(&findings), ["TH0410!", "TH0410!"]);
    assert!(findings[1].what.contains("select, insert, delete"), "{:?}", findings[1]);
    for finding in &findings {
        client.batch_execute(&finding.fix).await.unwrap();
    }
    assert!(road("mart.daily").examine(&mut poor).await.findings.is_empty());
}

#[tokio::test]
async fn published_at_must_be_an_ordinary_column() {
    let (_db, mut client) = Scratch::with(&format!(
        "{SOUND} alter table mart.daily add at timestamptz, add g timestamptz generated always as (at) stored"
    ))
    .await;
    for (column, errors) in [("at", 0), ("g", 1), ("store", 1), ("nowhere", 1)] {
        let mut road = road("mart.daily");
        road.published_at = Some(column);
        let findings = road.examine(&mut client).await.findings;
        assert_eq!(findings.len(), errors, "{column}: {findings:?}");
    }
}

#[tokio::test]
async fn columns_that_print_differently_on_another_server_are_warned_about() {
    let (_db, mut client) =
        Scratch::with(&format!("{SOUND} alter table mart.daily add price money, add source regclass")).await;
    let examination = road("mart.daily").examine(&mut client).await;
    assert_eq!(codes(&examination.findings), ["TH0413", "TH0413"]);
    assert!(examination.findings[0].what.contains("price") && examination.findings[1].what.contains("source"));
    assert!(examination.target.is_some());
}

#[tokio::test]
async fn a_virtual_generated_column_is_the_servers_too() {
    let (_db, mut client) = Scratch::with(SOUND).await;
    let virtually =
        client.batch_execute("alter table mart.daily add twice numeric generated always as (total * 2) virtual").await;
    if one(&client, "select current_setting('server_version_num')::int >= 180000").await == "f" {
        assert!(virtually.is_err(), "the server knows virtual columns from 18 on");
        return;
    }
    let target = road("mart.daily").examine(&mut client).await.target.unwrap();
    assert_eq!(target.columns[3].source, Generated);
    let mut road = road("mart.daily");
    road.query = "select date '2026-03-24' as day, n as store, 5 as total from generate_series(1, 2) n";
    assert_eq!(road.run(&mut client, "1").await.unwrap().content.rows, 2);
    road.query = "select date '2026-03-24' as day, 1 as store, 5 as total, 10 as twice";
    let findings = road.prepare(&mut client).await.err().unwrap().findings();
    assert!(findings[0].what.contains("twice"), "{findings:?}");
}
