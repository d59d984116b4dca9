//! The checksum sees every cell and nothing else.

use proptest::{prelude::*, test_runner::TestRunner};
use thrice_core::{column_bounds::ColumnBounds, identifier::TableName};
use thrice_sql_publish::{CancellationToken, checksum};
use tokio_postgres::Client;

use crate::support::{Road, Scratch, day, ids, instants, one, timeouts};

async fn sum(client: &mut Client, table: &str, columns: &[&str]) -> String {
    checksum::of_table(client, &TableName::parse(table).unwrap(), &ids(columns), &timeouts(), &CancellationToken::new())
        .await
        .unwrap()
        .checksum
}

#[tokio::test]
async fn the_value_of_v1_never_changes() {
    let (_db, mut client) =
        Scratch::with("create table public.t (a int, b text); create table public.none (a int)").await;
    client.batch_execute("insert into t values (1, 'x'), (2, null), (2, '')").await.unwrap();
    // computed outside PostgreSQL from the MD5 of (1,x) (2,) (2,"")
    assert_eq!(sum(&mut client, "public.t", &["a", "b"]).await, "v1:3:15347023107394937598:-9760675056602972351");
    assert_eq!(sum(&mut client, "public.none", &["a"]).await, "v1:0:0:0");
}

#[tokio::test]
async fn nan_equals_nan_and_minus_zero_is_not_zero() {
    let (_db, mut client) =
        Scratch::with("create schema m; create table m.t (day date, sku text, price numeric, ratio float8)").await;
    let query = "select date '2026-03-24' as day, sku, price, ratio from (values ('a', 'NaN'::numeric, 'NaN'::float8), \
         ('b', 1.50, '-0'), ('c', 'Infinity', 'Infinity')) v (sku, price, ratio)";
    let road = Road::new("m.t", "day", query, day("2026-03-24"));
    let first = road.run(&mut client, "1").await.unwrap();
    for attempt in ["2", "3"] {
        assert_eq!(road.run(&mut client, attempt).await.unwrap().content, first.content);
    }
    assert_eq!(
        one(&client, "select string_agg(concat_ws('|', sku, price, ratio), ' ' order by sku) from m.t").await,
        "a|NaN|NaN b|1.50|-0 c|Infinity|Infinity"
    );
    client.batch_execute("update m.t set ratio = '0' where sku = 'b'").await.unwrap();
    assert_ne!(sum(&mut client, "m.t", &["day", "sku", "price", "ratio"]).await, first.content.checksum);
}

#[tokio::test]
async fn an_interval_is_half_open_in_each_type() {
    let (_db, mut client) = Scratch::with(
        "create schema m; create table m.t (d date, l timestamp, z timestamptz); \
         insert into m.t select x::date, x, x at time zone 'UTC' from (values (timestamp '2026-03-23 23:59:59.999999'), ('2026-03-24'), ('2026-03-24 23:59:59.999999'), ('2026-03-25')) v (x); \
         insert into m.t values (null, null, null), ('infinity', 'infinity', 'infinity'), ('-infinity', '-infinity', '-infinity')",
    )
    .await;
    let local = ColumnBounds::LocalTimes {
        start: "2026-03-24T00:00:00".parse().unwrap(),
        end: "2026-03-25T00:00:00".parse().unwrap(),
    };
    for (column, bounds, rows) in [
        ("d", day("2026-03-24"), 2),
        ("l", local, 2),
        ("z", instants("2026-03-24T00:00:00Z", "2026-03-25T00:00:00Z"), 2),
        // all of it, rows without a place in time included
        ("", ColumnBounds::WholeTable, 7),
    ] {
        let target = Road::new("m.t", column, "", bounds).examine(&mut client).await.target.unwrap();
        let columns = ids(&["d", "l", "z"]);
        let (timeouts, stop) = (timeouts(), CancellationToken::new());
        let content = checksum::of_interval(&mut client, &target, &columns, &bounds, &timeouts, &stop).await.unwrap();
        assert_eq!(content.rows, rows, "{column}");
    }
}

#[derive(Debug, Clone)]
struct Cells {
    n: Option<i32>,
    text: Option<String>,
    float: f64,
    instant: i64,
    bytes: Vec<u8>,
    list: Vec<Option<String>>,
}

fn cells() -> impl Strategy<Value = Cells> {
    let text = || proptest::string::string_regex("[^\\x00]{0,6}").unwrap();
    (
        proptest::option::of(any::<i32>()),
        proptest::option::of(text()),
        prop_oneof![any::<f64>(), Just(f64::NAN), Just(-0.0), Just(0.1 + 0.2)],
        -2_000_000_000_000_000_i64..4_000_000_000_000_000,
        proptest::collection::vec(any::<u8>(), 0..4),
        proptest::collection::vec(proptest::option::of(text()), 0..3),
    )
        .prop_map(|(n, text, float, instant, bytes, list)| Cells { n, text, float, instant, bytes, list })
}

const COLUMNS: [&str; 7] = ["n", "text", "float", "at", "bytes", "list", "span"];

async fn fill<'a>(client: &Client, rows: impl Iterator<Item = &'a Cells>) {
    client.batch_execute("truncate public.t").await.unwrap();
    for row in rows {
        let at = jiff::Timestamp::from_microsecond(row.instant).unwrap();
        client
            .execute(
                "insert into public.t values ($1, $2, $3, $4, $5, $6, make_interval(secs => $7))",
                &[&row.n, &row.text, &row.float, &at, &row.bytes, &row.list, &f64::from(row.n.unwrap_or(0))],
            )
            .await
            .unwrap();
    }
}

#[test]
fn order_and_settings_do_not_matter_and_any_cell_does() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let (_db, client) = runtime.block_on(Scratch::with(
        "create table public.t (n int, text text, float float8, at timestamptz, bytes bytea, list text[], span interval)",
    ));
    let client = tokio::sync::Mutex::new(client);
    let settings = [
        "set timezone = 'Asia/Kathmandu'",
        "set datestyle = 'German'",
        "set intervalstyle = 'iso_8601'",
        "set extra_float_digits = -10",
        "set bytea_output = 'escape'",
        "set search_path = ''",
        "set quote_all_identifiers = on",
        "set standard_conforming_strings = off; set escape_string_warning = off",
    ];
    let mut runner =
        TestRunner::new(ProptestConfig { cases: 48, failure_persistence: None, ..ProptestConfig::default() });
    runner
        .run(&(proptest::collection::vec(cells(), 1..6), any::<prop::sample::Index>(), 0..settings.len(), 0..COLUMNS.len()), |(rows, at, setting, column)| {
            runtime.block_on(async {
 let mut client = client.lock().await;
                fill(&client, rows.iter()).await;
                let plain = sum(&mut client, "public.t", &COLUMNS).await;
                fill(&client, rows.iter().rev()).await;
                client.batch_execute(settings[setting]).await.unwrap();
                let varied = sum(&mut client, "public.t", &COLUMNS).await;
                client.batch_execute("reset all").await.unwrap();
                prop_assert_eq!(&varied, &plain, "{}", settings[setting]);

                let change = match COLUMNS[column] {
                    "n" => "n = coalesce(n # 1, 0)",
                    "text" => "text = case when text is null then '' when text = '' then null else text || 'x' end",
                    "float" => "float = case when float = 'NaN' then 0 else 'NaN'::float8 end",
                    "at" => "at = at + interval '1 microsecond'",
                    "bytes" => "bytes = bytes || '\\x00'",
                    "list" => "list = list || null::text",
                    _ => "span = span + interval '1 microsecond'",
                };
                let row = at.index(rows.len());
                let changed = client
                    .execute(&format!("update public.t set {change} where ctid = (select ctid from public.t offset {row} limit 1)"), &[])
                    .await
                    .unwrap();
                prop_assert_eq!(changed, 1);
                prop_assert_ne!(sum(&mut client, "public.t", &COLUMNS).await, plain, "{}", change);
                Ok(())
            })
        })
        .unwrap();
}

#[tokio::test]
async fn values_that_change_rows_and_rows_that_come_twice_are_seen() {
    let (_db, mut client) = Scratch::with("create table public.t (a int, b int)").await;
    let mut seen = std::collections::BTreeSet::new();
    for rows in [
        "(1, 2), (3, 4)",
        "(1, 4), (3, 2)",
        "(1, 2), (3, 4), (1, 2)",
        "(1, 2), (3, 4), (3, 4)",
        "(2, 1), (4, 3)",
        "(1, 2)",
    ] {
        client.batch_execute(&format!("truncate t; insert into t values {rows}")).await.unwrap();
        assert!(seen.insert(sum(&mut client, "public.t", &["a", "b"]).await), "{rows}");
    }
}
