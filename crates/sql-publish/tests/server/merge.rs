//! `merge` of a complete interval: only what differs is written, and the end is the same as of a replacement.

use std::collections::BTreeMap;

use thrice_core::publish_strategy::PublishStrategy;
use thrice_sql_publish::{
    Finding,
    error::ErrorKind,
    publish::{ExistingRows, Gate, PublishOutcome, Published},
    staging::{StagingName, drop_staging},
};

use crate::support::{Dice, Early, Prepared, Road, Scratch, code, day, one};

const DAY: &str = "create schema m; \
     create table m.t (day date not null, n int not null, v text, at timestamptz, primary key (day, n)); \
     insert into m.t values ('2026-03-23', 1, 'before', '2000-01-01'), ('2026-03-24', 1, 'same', '2000-01-01'), \
       ('2026-03-24', 2, 'old', '2000-01-01'), ('2026-03-24', 3, null, '2000-01-01'), ('2026-03-24', 4, 'gone', '2000-01-01'), \
       ('2026-03-24', 5, null, '2000-01-01'), ('2026-03-25', 4, 'after', '2000-01-01')";

fn merging<'a>(query: &'a str, key: &'a [&'a str]) -> Road<'a> {
    let mut road = Road::new("m.t", "day", query, day("2026-03-24"));
    road.strategy = PublishStrategy::MergeComplete;
    road.key = key;
    road
}

fn committed(outcome: PublishOutcome) -> Published {
    let PublishOutcome::Committed(done) = outcome else { panic!("{outcome:?}") };
    done
}

#[tokio::test]
async fn only_what_differs_is_written() {
    let (_db, mut client) = Scratch::with(DAY).await;
    let mut road = merging(
        "select date '2026-03-24' as day, * from (values (1, 'same'), (2, 'new'), (3, 'was null'), (5, null), (6, 'added')) v (n, v)",
        &["day", "n"],
    );
    road.published_at = Some("at");
    let untouched = "select string_agg(ctid || ' ' || xmin || ' ' || t::text, ',' order by day, n) from m.t t where day <> '2026-03-24' or n in (1, 5)";
    let before = one(&client, untouched).await;
    let done = road.run(&mut client, "1").await.unwrap();
    assert_eq!((done.rows_deleted, done.rows_updated, done.rows_inserted, done.content.rows), (1, 2, 1, 5));
    assert_eq!(one(&client, untouched).await, before, "neither equal rows nor other intervals");
    let rows = "select string_agg(concat_ws(':', n, coalesce(v, '-'), case when at > '2020-01-01' then 'now' else 'then' end), ' ' order by n) from m.t where day = '2026-03-24'";
    assert_eq!(one(&client, rows).await, "1:same:then 2:new:now 3:was null:now 5:-:then 6:added:now");
    // three runs are one run
    let all = "select md5(string_agg(ctid || xmin::text || t::text, ',' order by day, n)) from m.t t";
    let once = one(&client, all).await;
    for attempt in ["2", "3"] {
        let again = road.run(&mut client, attempt).await.unwrap();
        assert_eq!((again.rows_deleted, again.rows_updated, again.rows_inserted), (0, 0, 0));
        assert_eq!(one(&client, all).await, once);
    }
}

/// Equal for the type's own `=` is not enough: the receipt says what the rows print.
#[tokio::test]
async fn a_row_differs_where_it_prints_differently() {
    let (_db, mut client) = Scratch::with(
        "create schema m; create type m.pair as (a int, b text); create domain m.amount as numeric; \
         create table m.t (day date not null, n int not null, num numeric, f float8, j json, jb jsonb, c char(4), i interval, \
           arr numeric[], r numrange, p m.pair, d m.amount, ts timestamptz, b bytea, primary key (day, n)); \
         insert into m.t select '2026-03-24', n, 1.0, '0', '{\"a\":1}', '{\"a\": 1}', 'x', '24:00', '{1.0}', '[1.0,2)', '(1,x)'::m.pair, 1.0, '2026-03-24 00:00Z', '\\x00' \
           from generate_series(1, 3) n",
    )
    .await;
    // the second row differs in ways that `=` does not see, the third not at all
    let mut road = merging(
        "select date '2026-03-24' as day, n, \
                case n when 2 then 1.00 else 1.0 end::numeric as num, case n when 2 then '-0' else '0' end::float8 as f, \
                case n when 2 then '{\"a\": 1}' else '{\"a\":1}' end::json as j, '{\"a\": 1}'::jsonb as jb, 'x'::char(4) as c, \
                case n when 2 then '1 day' else '24:00' end::interval as i, case n when 2 then '{1.00}' else '{1.0}' end::numeric[] as arr, \
                case n when 2 then '[1.00,2)' else '[1.0,2)' end::numrange as r, '(1,x)'::m.pair as p, \
                case n when 2 then 1.00 else 1.0 end::m.amount as d, timestamptz '2026-03-24 09:00+09' as ts, '\\x00'::bytea as b \
           from generate_series(1, 3) n",
        &["day", "n"],
    );
    road.session.time_zone = "Asia/Seoul".into();
    let done = road.run(&mut client, "1").await.unwrap();
    assert_eq!((done.rows_deleted, done.rows_updated, done.rows_inserted), (0, 1, 0));
    let seen = "select concat_ws(' ', num, f, j, i, arr, r, d) from m.t where n = 2";
    assert_eq!(one(&client, seen).await, "1.00 -0 {\"a\": 1} 1 day {1.00} [1.00,2) 1.00");
}

/// What the issue of children is about: a row whose key stays is the same row.
#[tokio::test]
async fn children_of_rows_that_stay_stay_with_them() {
    let (_db, mut client) = Scratch::with(&format!(
        "{DAY}; create table m.child (day date, n int, foreign key (day, n) references m.t on delete cascade); \
         insert into m.child values ('2026-03-24', 1), ('2026-03-24', 2), ('2026-03-24', 4)"
    ))
    .await;
    let road = merging(
        "select date '2026-03-24' as day, * , null::timestamptz as at from (values (1, 'same'), (2, 'new')) v (n, v)",
        &["day", "n"],
    );
    let examination = road.examine(&mut client).await;
    assert!(examination.findings.iter().any(|finding| finding.why.contains("deleted with it")), "{examination:?}");
    road.run(&mut client, "1").await.unwrap();
    assert_eq!(one(&client, "select string_agg(n::text, ' ' order by n) from m.child").await, "1 2");
}

#[tokio::test]
async fn a_key_of_another_interval_is_refused_by_the_server() {
    let (_db, mut client) = Scratch::with(
        "create schema m; create table m.t (id int primary key, day date, v text); \
         insert into m.t values (1, '2026-03-23', 'before'), (2, '2026-03-24', 'old')",
    )
    .await;
    let road = merging("select 1 as id, date '2026-03-24' as day, 'moved' as v", &["id"]);
    let error = road.run(&mut client, "1").await.unwrap_err().error();
    assert_eq!(code(&error), "23505");
    let all = "select string_agg(concat_ws(':', id, day, v), ' ' order by id) from m.t";
    assert_eq!(one(&client, all).await, "1:2026-03-23:before 2:2026-03-24:old");
}

#[tokio::test]
async fn what_a_merge_needs_is_looked_at_before() {
    let (db, mut client) = Scratch::with("create schema m; create table m.t (day date not null, n int, v int)").await;
    // two rows of one key that another writer left
    client.batch_execute("insert into m.t values ('2026-03-24', 1, 5), ('2026-03-24', 1, 6)").await.unwrap();
    let query = "select date '2026-03-24' as day, 1 as n, 1 as v";
    let refused = |early: Result<Published, Early>| -> Vec<String> {
        early.unwrap_err().findings().into_iter().filter(Finding::is_error).map(|finding| finding.what).collect()
    };
    let error = merging(query, &["day", "n"]).run(&mut client, "1").await.unwrap_err().error();
    assert_eq!(*error.kind(), ErrorKind::ReadBackDiffers { rows: 2, staged: 1 }, "noticed without an index, too");
    client.batch_execute("delete from m.t").await.unwrap();
    assert_eq!(
        refused(merging(query, &[]).run(&mut client, "1").await),
        ["rows of m.t are merged, and no key says which are the same"]
    );
    client.batch_execute("create unique index on m.t (day, n)").await.unwrap();
    merging(query, &["day", "n"]).run(&mut client, "1b").await.unwrap();
    let login = db.role(&client, "writer").await;
    client
        .batch_execute(&format!(
            "grant usage on schema m to {login}; grant select, insert, delete on m.t to {login}; grant usage, create on schema thrice_staging to {login}"
        ))
        .await
        .unwrap();
    let mut writer = db.client_as(&login).await;
    let lacking = refused(merging(query, &["day", "n"]).run(&mut writer, "2").await);
    assert!(lacking[0].contains("update"), "{lacking:?}");
    client.batch_execute(&format!("grant update on m.t to {login}")).await.unwrap();
    merging(query, &["day", "n"]).run(&mut writer, "3").await.unwrap();
}

#[tokio::test]
async fn staging_that_a_crash_emptied_does_not_empty_the_interval() {
    let (_db, mut client) = Scratch::with(DAY).await;
    let all = "select string_agg(t::text, ' ' order by day, n) from m.t t";
    let before = one(&client, all).await;
    let road = merging("select date '2026-03-24' as day, 1 as n, 'x' as v, null::timestamptz as at", &["day", "n"]);
    let prepared = road.prepare(&mut client).await.unwrap();
    let staged = road.stage(&mut client, &prepared, "1").await.unwrap();
    client.batch_execute(&format!("truncate {}", staged.relation)).await.unwrap();
    let PublishOutcome::RolledBack(error) = road.publish(&mut client, &prepared, &staged, Gate::default()).await else {
        panic!("published from an empty table")
    };
    assert_eq!(*error.kind(), ErrorKind::StagingNotWhole { relation: staged.relation.clone() });
    assert_eq!(one(&client, all).await, before);
}

type Table = BTreeMap<(u32, u32), Option<u32>>;

fn sql_of(rows: &[(u32, Option<u32>)], day: u32) -> String {
    let rows: Vec<String> = rows
        .iter()
        .map(|(n, v)| format!("({n}, {})", v.map_or_else(|| "null".to_owned(), |v| format!("'{v}'"))))
        .collect();
    let values = if rows.is_empty() { "(0, '')".to_owned() } else { rows.join(", ") };
    let filter = if rows.is_empty() { " where false" } else { "" };
    format!(
        "select date '2026-03-{day}' as day, n, v::text as v, null::timestamptz as at from (values {values}) v (n, v){filter}"
    )
}

async fn holds(client: &tokio_postgres::Client) -> Table {
    let rows = client.query("select extract(day from day)::int, n, v::int from m.t", &[]).await.unwrap();
    rows.iter()
        .map(|row| {
            let (day, n, v): (i32, i32, Option<i32>) = (row.get(0), row.get(1), row.get(2));
            ((day.unsigned_abs(), n.unsigned_abs()), v.map(i32::unsigned_abs))
        })
        .collect()
}

/// Random publishes of three days against a table in memory. `THRICE_PUBLISH_SEQUENCES` says how many sequences; without it, 40
/// of each strategy.
#[tokio::test]
async fn random_publishes_are_what_a_table_in_memory_says() {
    let sequences: u64 = std::env::var("THRICE_PUBLISH_SEQUENCES").map_or(40, |text| text.parse().unwrap());
    let key = ["day", "n"];
    let mut attempt = 0;
    for strategy in [PublishStrategy::DeleteInsert, PublishStrategy::MergeComplete, PublishStrategy::PartitionSwap] {
        // a swap makes its partitions itself
        let cut = if strategy.swaps() { " partition by range (day)" } else { "" };
        let setup = format!(
            "create schema m; create table m.t (day date not null, n int not null, v text, at timestamptz, primary key (day, n)){cut}"
        );
        let (_db, mut client) = Scratch::with(&setup).await;
        for seed in 1..=sequences {
            let (mut dice, mut model) = (Dice(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15)), Table::new());
            client.batch_execute("truncate m.t").await.unwrap();
            let mut prepared: Option<Prepared> = None;
            for step in 0..5 {
                let day_no = 23 + dice.below(3);
                let mut rows: Vec<(u32, Option<u32>)> = Vec::new();
                for n in 0..6 {
                    if dice.below(3) > 0 {
                        let is_null = dice.below(4) == 0;
                        rows.push((n, Some(dice.below(3)).filter(|_| !is_null)));
                    }
                }
                let query = sql_of(&rows, day_no);
                let mut road = Road::new("m.t", "day", &query, day(&format!("2026-03-{day_no}")));
                (road.strategy, road.key) = (strategy, &key);
                if prepared.is_none() {
                    prepared = Some(road.prepare(&mut client).await.unwrap());
                }
                let prepared = prepared.as_ref().unwrap();
                attempt += 1;
                let staged = road.stage(&mut client, prepared, &attempt.to_string()).await.unwrap();
                let done = committed(road.publish(&mut client, prepared, &staged, Gate::default()).await);
                let name = StagingName::of("m.t", &attempt.to_string()).unwrap();
                drop_staging(&mut client, &[name], &road.timeouts, &road.stop).await.unwrap();

                let old: BTreeMap<u32, Option<u32>> =
                    model.range((day_no, 0)..(day_no + 1, 0)).map(|((_, n), v)| (*n, *v)).collect();
                let new: BTreeMap<u32, Option<u32>> = rows.iter().copied().collect();
                model.retain(|(day, _), _| *day != day_no);
                model.extend(new.iter().map(|(n, v)| ((day_no, *n), *v)));
                let what = format!("{strategy:?}, sequence {seed}, step {step}");
                assert_eq!(holds(&client).await, model, "{what}");
                let count = |of: usize| i64::try_from(of).unwrap();
                let expected = match strategy {
                    PublishStrategy::DeleteInsert | PublishStrategy::PartitionSwap => {
                        (count(old.len()), 0, count(new.len()))
                    }
                    PublishStrategy::MergeChanges => unreachable!("it has a model of its own"),
                    PublishStrategy::MergeComplete => (
                        count(old.keys().filter(|n| !new.contains_key(n)).count()),
                        count(new.iter().filter(|(n, v)| old.get(n).is_some_and(|had| had != *v)).count()),
                        count(new.keys().filter(|n| !old.contains_key(n)).count()),
                    ),
                };
                assert_eq!((done.rows_deleted, done.rows_updated, done.rows_inserted), expected, "{what}");
            }
        }
    }
}

/// Old rows against new ones, whichever strategy replaces them.
#[tokio::test]
async fn old_rows_are_compared_with_new_ones() {
    for strategy in [PublishStrategy::DeleteInsert, PublishStrategy::MergeComplete, PublishStrategy::PartitionSwap] {
        let (cut, partitions) = if strategy.swaps() {
            (
                " partition by range (day)",
                "create table m.p partition of m.t for values from ('2026-03-24') to ('2026-03-25'); create table m.d partition of m.t default;",
            )
        } else {
            ("", "")
        };
        let (_db, mut client) = Scratch::with(&format!(
            "create schema m; create table m.t (day date not null, \"it's \"\"n\" int not null, v text, x numeric(10, 2), f float8, primary key (day, \"it's \"\"n\")){cut}; {partitions} \
             insert into m.t values ('2026-03-23', 1, 'before', 5, 5), ('2026-03-24', 1, 'same', 1.50, 1), ('2026-03-24', 2, 'old', 2, null), \
               ('2026-03-24', 3, 'gone', 3, 'NaN'), ('2026-03-24', 4, null, null, 1)"
        ))
        .await;
        let key = ["day", "it's \"n"];
        let mut road = merging(
            "select date '2026-03-24' as day, * from (values (1, 'same', 1.50, 1), (2, 'new', 2.25, null), (4, null, null, 1), (5, 'added', 10, 2), (6, 'added', 1, 2)) \
             v (\"it's \"\"n\", v, x, f)",
            &key,
        );
        (road.strategy, road.existing_rows) = (strategy, ExistingRows::Receipted);
        let done = road.run(&mut client, "1").await.unwrap();
        let expected = serde_json::json!({
            "rows": { "before": 4, "after": 5 },
            "keys": { "added": 2, "removed": 1, "changed": 1, "equal": 2 },
            "sums": {
                "x": { "before": "6.50", "after": "14.75" },
                "f": { "before": "NaN", "after": "6" },
            },
        });
        assert_eq!(done.comparison, Some(expected), "{strategy:?}");
        // nothing accounts for the rows: nothing is compared
        road.existing_rows = ExistingRows::MayBeReplaced;
        assert_eq!(road.run(&mut client, "2").await.unwrap().comparison, None);
    }
}

#[tokio::test]
async fn without_a_key_rows_and_sums_are_compared() {
    let (_db, mut client) = Scratch::with(
        "create schema m; create table m.t (day date, v int); insert into m.t values ('2026-03-24', 1), ('2026-03-24', 1)",
    )
    .await;
    let mut road = Road::new("m.t", "day", "select date '2026-03-24' as day, 7 as v where false", day("2026-03-24"));
    road.existing_rows = ExistingRows::Receipted;
    let done = road.run(&mut client, "1").await.unwrap();
    let expected = serde_json::json!({
        "rows": { "before": 2, "after": 0 }, "keys": null, "sums": { "v": { "before": "2", "after": null } },
    });
    assert_eq!(done.comparison, Some(expected));
}
