//! A service that computed its rows itself, in a table of its own, and wants them published: all of the day or nothing,
//! with a receipt of the service's own in the same commit. No ledger of thrice is involved.
//!
//! `cargo run -p thrice-sql-publish --example publish_own_table -- postgres://user@host/database`

#![expect(clippy::print_stdout, reason = "an example talks")]

use std::{error::Error, time::Duration};

use thrice_core::{
    column_bounds::ColumnBounds,
    identifier::{Identifier, TableName},
    publish_strategy::PublishStrategy,
    time::civil::date,
};
use thrice_sql_publish::{
    CancellationToken, Statement, StatementCache, checksum,
    columns::ColumnMap,
    probe::Quiet,
    publish::{ExistingRows, Gate, PublishOutcome, PublishRequest, publish},
    session::{Limit, Session, Timeouts},
    staging::Staged,
    strategy::{self, Parts},
    target::{ExamineRequest, examine},
};
use tokio_postgres::{Client, NoTls, types::Type};

/// What a real service has already: a table people read, its receipts, and the rows it has just computed.
const SETUP: &str = "
    create schema if not exists own_table_example;
    create table if not exists own_table_example.daily (day date not null, store int not null, total numeric(12, 2) not null, primary key (day, store));
    create table if not exists own_table_example.receipts (run text primary key, day date not null, rows int8 not null, checksum text not null);
    drop table if exists own_table_example.daily_next;
    create table own_table_example.daily_next (like own_table_example.daily);
    insert into own_table_example.daily_next select '2026-03-24', store, store * 12.5 from generate_series(1, 4) store;";

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let url = std::env::args().nth(1).or_else(|| std::env::var("THRICE_TEST_DATABASE_URL").ok());
    let url = url.ok_or("give the URL of a database to write the example's schema into")?;
    let (mut client, connection) = tokio_postgres::connect(&url, NoTls).await?;
    let connection = tokio::spawn(connection);
    client.batch_execute(SETUP).await?;
    for run in ["first", "second", "third"] {
        publish_day(&mut client, run).await?;
    }
    client.batch_execute("drop schema own_table_example cascade").await?;
    drop(client);
    connection.await??;
    Ok(())
}

async fn publish_day(client: &mut Client, run: &'static str) -> Result<(), Box<dyn Error>> {
    let stop = CancellationToken::new();
    let timeouts = Timeouts::new(Limit::Default(Duration::from_mins(10)));
    let examine_request = ExamineRequest {
        table: TableName::parse("own_table_example.daily")?,
        interval_column: Some(Identifier::new("day")?),
        key: vec![Identifier::new("day")?, Identifier::new("store")?],
        published_at: None,
        strategy: PublishStrategy::DeleteInsert,
        version: None,
        operation: None,
    };
    let examination = examine(client, &examine_request, &timeouts, &stop).await?;
    let Some(target) = examination.target else { return Err(format!("{:#?}", examination.findings).into()) };

    let columns = ColumnMap::of(vec![Identifier::new("day")?, Identifier::new("store")?, Identifier::new("total")?]);
    let next = TableName::parse("own_table_example.daily_next")?;
    let content = checksum::of_table(client, &next, columns.columns(), &timeouts, &stop).await?;
    let staged = Staged::known(next, content);
    let plan = strategy::delete_insert::plan(&Parts {
        target: &target,
        columns: &columns,
        staging: &staged.relation,
        keep: None,
    });

    let receipt = "insert into own_table_example.receipts (run, day, rows, checksum)
                   values ($1, '2026-03-24', current_setting('thrice.target_rows')::int8, current_setting('thrice.target_checksum'))
                   on conflict (run) do nothing";
    let request = PublishRequest {
        target: &target,
        columns: &columns,
        bounds: &ColumnBounds::Dates { start: date(2026, 3, 24), end: date(2026, 3, 25) },
        staged: &staged,
        plan: &plan,
        existing_rows: ExistingRows::MayBeReplaced,
        session: &Session::in_zone("Asia/Seoul"),
        timeouts: &timeouts,
        commit_timeout: Duration::from_secs(30),
        application_name: "own-table-example",
        gate: Gate {
            // two publishers of one day must not overlap; any lock of the service's own will do
            first: vec![Statement::new("lock the day", "select pg_advisory_xact_lock(20260324)")],
            last: vec![Statement::new("write the receipt", receipt).bind(run, Type::TEXT)],
            confirm: Some(
                Statement::new("read the receipt", "select rows from own_table_example.receipts where run = $1")
                    .bind(run, Type::TEXT),
            ),
        },
        probe: &Quiet,
        statements: &StatementCache::default(),
        stop: &stop,
    };
    match publish(client, &request).await {
        PublishOutcome::Committed(done) => {
            println!(
                "{run} run: {} rows, {} replaced, {}",
                done.content.rows, done.rows_deleted, done.content.checksum
            );
            Ok(())
        }
        PublishOutcome::RolledBack(error) => Err(error.into()),
        PublishOutcome::Unknown { xid, error, .. } => Err(format!(
            "{error}: look for the receipt of the {run} run (transaction {xid}) before anything is run again"
        )
        .into()),
    }
}
