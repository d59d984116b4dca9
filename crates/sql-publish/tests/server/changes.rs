//! A merge of changes: by key over the whole table, the newest version wins, in whatever order intervals come.

use std::collections::BTreeMap;

use thrice_core::publish_strategy::PublishStrategy;
use thrice_sql_publish::error::ErrorKind;
use thrice_sql_publish::publish::{Gate, PublishOutcome, Published};
use thrice_sql_publish::staging::{StagingName, drop_staging};
use tokio_postgres::Client;

use crate::support::{Dice, Road, Scratch, day};

const SETUP: &str =
    "create schema m; create table m.t (day date not null, \"it's n\" int, version int, v text, at timestamptz)";
const KEY: [&str; 1] = ["it's n"];

fn committed(outcome: PublishOutcome) -> Published {
    match outcome {
        PublishOutcome::Committed(done) => done,
        other @ (PublishOutcome::RolledBack(_) | PublishOutcome::Unknown { .. }) => panic!("{other:?}"),
    }
}

/// Key, version and value.
type Change = (u32, u32, u32);

/// Key to day, version and value.
type Table = BTreeMap<u32, (u32, Option<u32>, u32)>;

async fn holds(client: &Client) -> Table {
    let rows =
        client.query("select \"it's n\", extract(day from day)::int, version, v::int from m.t", &[]).await.unwrap();
    let number = |n: i32| n.unsigned_abs();
    let table: Table = rows
        .iter()
        .map(|row| {
            (number(row.get(0)), (number(row.get(1)), row.get::<_, Option<i32>>(2).map(number), number(row.get(3))))
        })
        .collect();
    assert_eq!(table.len(), rows.len(), "two rows of one key");
    table
}

fn query(day: u32, rows: &[(u32, u32, u32)]) -> String {
    let values: Vec<String> = rows.iter().map(|(n, version, v)| format!("({n}, {version}, '{v}')")).collect();
    let values = if values.is_empty() {
        "(0, 0, '0')) v (n, version, v) where false".to_owned()
    } else {
        format!("{}) v (n, version, v)", values.join(", "))
    };
    format!("select date '2026-03-{day}' as day, n as \"it's n\", version, v from (values {values}")
}

async fn publish(client: &mut Client, road: &Road<'_>, attempt: &mut u32) -> PublishOutcome {
    *attempt += 1;
    let prepared = road.prepare(client).await.unwrap();
    let staged = road.stage(client, &prepared, &attempt.to_string()).await.unwrap();
    let outcome = road.publish(client, &prepared, &staged, Gate::default()).await;
    let name = StagingName::of("m.t", &attempt.to_string()).unwrap();
    drop_staging(client, &[name], &road.timeouts, &road.stop).await.unwrap();
    outcome
}

fn changing(query: &str, day_no: u32) -> Road<'_> {
    let mut road = Road::new("m.t", "day", query, day(&format!("2026-03-{day_no}")));
    (road.strategy, road.key, road.published_at) = (PublishStrategy::MergeChanges, &KEY, Some("at"));
    road
}

/// Random change sets of three days in random order, some of them again, against a map. `THRICE_PUBLISH_SEQUENCES` says how many
/// sequences; without it, 40.
#[tokio::test]
async fn random_change_sets_are_what_a_map_says() {
    let sequences: u64 = std::env::var("THRICE_PUBLISH_SEQUENCES").map_or(40, |text| text.parse().unwrap());
    let (_db, mut client) = Scratch::with(SETUP).await;
    let mut attempt = 0;
    for seed in 1..=sequences {
        let (mut dice, mut model) = (Dice(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15)), Table::new());
        client.batch_execute("truncate m.t; insert into m.t values ('2026-03-01', 1, null, '9')").await.unwrap();
        model.insert(1, (1, None, 9));
        let mut applied: Vec<(u32, Vec<Change>)> = Vec::new();
        for step in 0..6 {
            let again = !applied.is_empty() && dice.below(3) == 0;
            let (day_no, rows) = if again {
                applied[dice.below(u32::try_from(applied.len()).unwrap()) as usize].clone()
            } else {
                let day_no = 23 + dice.below(3);
                let mut rows = Vec::new();
                for n in 0..6 {
                    // a key may change several times in an interval, never twice with one version; a value follows from its version
                    for _ in 0..dice.below(3) {
                        let version = dice.below(20);
                        if !rows.iter().any(|(other, known, _)| (*other, *known) == (n, version)) {
                            rows.push((n, version, version * 31 % 7));
                        }
                    }
                }
                applied.push((day_no, rows.clone()));
                (day_no, rows)
            };
            let text = query(day_no, &rows);
            let mut road = changing(&text, day_no);
            road.version = Some("version");
            let done = committed(publish(&mut client, &road, &mut attempt).await);
            let (mut updated, mut inserted) = (0, 0);
            let newest: BTreeMap<u32, (u32, u32)> = rows.iter().fold(BTreeMap::new(), |mut newest, (n, version, v)| {
                let known = newest.entry(*n).or_insert((*version, *v));
                if *version > known.0 {
                    *known = (*version, *v);
                }
                newest
            });
            for (n, (version, v)) in newest {
                let new = (day_no, Some(version), v);
                match model.insert(n, new) {
                    None => inserted += 1,
                    Some(old) if old.1.is_some_and(|old| old > version) => {
                        model.insert(n, old);
                    }
                    Some(old) => updated += i64::from(old != new),
                }
            }
            let what = format!("sequence {seed}, step {step}, again {again}");
            assert_eq!(holds(&client).await, model, "{what}");
            assert_eq!((done.rows_deleted, done.rows_updated, done.rows_inserted), (0, updated, inserted), "{what}");
            assert_eq!(done.content.rows, i64::try_from(rows.len()).unwrap(), "{what}");
        }
    }
}

/// What is applied once is applied; without a version the last one that is published wins.
#[tokio::test]
async fn the_same_changes_again_write_nothing() {
    let (_db, mut client) = Scratch::with(SETUP).await;
    let (first, second) = (query(24, &[(1, 1, 10), (2, 1, 20)]), query(25, &[(2, 1, 21), (3, 1, 30)]));
    let mut attempt = 0;
    for (text, day_no, counts) in
        [(&first, 24, (0, 2)), (&first, 24, (0, 0)), (&second, 25, (1, 1)), (&second, 25, (0, 0))]
    {
        let done = committed(publish(&mut client, &changing(text, day_no), &mut attempt).await);
        assert_eq!((done.rows_updated, done.rows_inserted), counts, "{text}");
    }
    let held: Vec<u32> = holds(&client).await.into_values().map(|(.., v)| v).collect();
    assert_eq!(held, [10, 21, 30]);
}

/// A row that another writer has doubled, or a trigger has changed, ends the publish.
#[tokio::test]
async fn what_is_not_there_afterwards_is_not_published() {
    let (_db, mut client) = Scratch::with(SETUP).await;
    let text = query(24, &[(1, 1, 10), (2, 1, 20)]);
    let mut attempt = 0;
    client
        .batch_execute("insert into m.t values ('2026-03-24', 1, 1, '10'), ('2026-03-24', 1, 1, '10')")
        .await
        .unwrap();
    for version in [None, Some("version")] {
        let mut road = changing(&text, 24);
        road.version = version;
        let outcome = publish(&mut client, &road, &mut attempt).await;
        let PublishOutcome::RolledBack(error) = outcome else { panic!("{outcome:?}") };
        assert!(matches!(error.kind(), ErrorKind::ReadBackDiffers { rows: 3, staged: 2 }), "{error:?}");
    }
    client
        .batch_execute(
            "truncate m.t; create function m.meddle() returns trigger language plpgsql as 'begin new.v := ''0''; return new; end'; \
             create trigger meddle before insert on m.t for each row execute function m.meddle()",
        )
        .await
        .unwrap();
    let outcome = publish(&mut client, &changing(&text, 24), &mut attempt).await;
    let PublishOutcome::RolledBack(error) = outcome else { panic!("{outcome:?}") };
    assert!(matches!(error.kind(), ErrorKind::ReadBackDiffers { rows: 0, staged: 2 }), "{error:?}");
    assert_eq!(holds(&client).await, Table::new());
}

/// A crash of the server empties staging without an error: no change is taken for applied then.
#[tokio::test]
async fn emptied_staging_is_noticed() {
    let (_db, mut client) = Scratch::with(SETUP).await;
    let text = query(24, &[(1, 1, 10)]);
    let road = changing(&text, 24);
    let prepared = road.prepare(&mut client).await.unwrap();
    let staged = road.stage(&mut client, &prepared, "1").await.unwrap();
    client.batch_execute(&format!("truncate {}", staged.relation)).await.unwrap();
    let outcome = road.publish(&mut client, &prepared, &staged, Gate::default()).await;
    let PublishOutcome::RolledBack(error) = outcome else { panic!("{outcome:?}") };
    assert!(matches!(error.kind(), ErrorKind::StagingNotWhole { .. }), "{error:?}");
}
