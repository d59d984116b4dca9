//! Every statement file on both drivers: the same types, and the ones that its head and the code say.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use sqlx::{Column as _, Executor as _, SqlSafeStr as _, Statement as _, TypeInfo as _};
use thrice_ledger::data_plane;

use crate::support::Bench;

const TYPES: [&str; 15] = [
    "int4",
    "int8",
    "float8",
    "text",
    "bool",
    "uuid",
    "jsonb",
    "bytea",
    "timestamptz",
    "uuid[]",
    "int8[]",
    "text[]",
    "date[]",
    "timestamptz[]",
    "numeric",
];

/// Types of the parameters and names and types of the columns.
type Shape = (Vec<String>, Vec<(String, String)>);

fn files() -> BTreeMap<String, String> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("sql");
    fs::read_dir(folder)
        .unwrap()
        .map(|entry| {
            let path = entry.unwrap().path();
            (path.file_stem().unwrap().to_string_lossy().into_owned(), fs::read_to_string(path).unwrap())
        })
        .collect()
}

/// `$1 partition_id int8` … as the head of the file says.
fn declared(text: &str) -> Vec<String> {
    let head: String =
        text.lines().take_while(|line| line.starts_with("--")).map(|line| line[2..].to_owned() + "\n").collect();
    let mut found = BTreeMap::new();
    for part in head.split('$').skip(1) {
        let digits: String = part.chars().take_while(char::is_ascii_digit).collect();
        let Ok(number) = digits.parse::<usize>() else { continue };
        let words = part.split(|c: char| c.is_whitespace() || c == ':');
        if let Some(kind) = words.skip(1).find(|word| TYPES.contains(word)) {
            found.entry(number).or_insert_with(|| kind.to_owned());
        }
    }
    assert!(found.keys().copied().eq(1..=found.len()), "the head counts {:?}", found.keys());
    found.into_values().collect()
}

async fn on_tokio_postgres(client: &tokio_postgres::Client, text: &str) -> Shape {
    let plain = |name: &str| name.strip_prefix('_').map_or_else(|| name.to_owned(), |element| format!("{element}[]"));
    let statement = client.prepare(text).await.unwrap_or_else(|error| panic!("{text}: {error:?}"));
    let columns = statement.columns().iter().map(|column| (column.name().to_owned(), plain(column.type_().name())));
    (statement.params().iter().map(|kind| plain(kind.name())).collect(), columns.collect())
}

async fn on_sqlx(connection: &mut sqlx::PgConnection, text: &str) -> Shape {
    let statement = connection.prepare(sqlx::AssertSqlSafe(text.to_owned()).into_sql_str()).await.unwrap();
    let lower = |kind: &sqlx::postgres::PgTypeInfo| kind.name().to_lowercase();
    let Some(sqlx::Either::Left(params)) = statement.parameters() else { panic!("no parameter types") };
    let columns = statement.columns().iter().map(|column| (column.name().to_owned(), lower(column.type_info())));
    (params.iter().map(lower).collect(), columns.collect())
}

#[tokio::test]
async fn every_statement_means_the_same_on_both_drivers() {
    let bench = Bench::new().await;
    let client = bench.db.client().await;
    let pool =
        sqlx::postgres::PgPoolOptions::new().max_connections(1).connect_with(bench.db.settings().sqlx()).await.unwrap();
    let mut connection = pool.acquire().await.unwrap();
    let files = files();
    assert!(files.len() >= 40, "{} files", files.len());
    for (name, text) in &files {
        let (ours, theirs) = (on_tokio_postgres(&client, text).await, on_sqlx(&mut connection, text).await);
        assert_eq!(ours, theirs, "{name}");
        assert_eq!(declared(text), ours.0, "{name}: the head of the file and the statement");
        let one = text.trim_end().trim_end_matches(';');
        assert_eq!(one, text.trim_end(), "{name} ends with a semicolon; a wrapped or pipelined statement must not");
    }
}

#[tokio::test]
async fn the_data_planes_signatures_are_true() {
    let bench = Bench::new().await;
    let client = bench.db.client().await;
    let files = files();
    for statement in data_plane::STATEMENTS {
        assert_eq!(files[statement.name], statement.text);
        let (params, columns) = on_tokio_postgres(&client, statement.text).await;
        assert_eq!(params, statement.params, "{}", statement.name);
        let said: Vec<_> =
            statement.columns.iter().map(|(name, kind)| ((*name).to_owned(), (*kind).to_owned())).collect();
        assert_eq!(columns, said, "{}", statement.name);
    }
}
