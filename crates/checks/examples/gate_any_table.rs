//! A gate for a table that some other tool has filled: exit 0 where the checks hold, 1 where they do not.
//!
//! `cargo run -p thrice-checks --example gate_any_table -- postgres://user@host/database`

#![expect(clippy::print_stdout, reason = "an example talks")]

use std::{error::Error, process::ExitCode};

use thrice_checks::{Check, Rule, Subject, compile, run};
use thrice_core::{
    column_bounds::ColumnBounds,
    identifier::{Identifier, TableName},
    time::civil::date,
};
use tokio_postgres::NoTls;

/// What another tool has left behind: a day of readings, one of them twice.
const SETUP: &str = "
    create temporary table readings (day date, sensor int, degrees numeric);
    insert into readings values ('2026-03-24', 1, 20.5), ('2026-03-24', 2, 21), ('2026-03-24', 2, 21), ('2026-03-24', 3, -300);";

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<ExitCode, Box<dyn Error>> {
    let url = std::env::args().nth(1).or_else(|| std::env::var("THRICE_TEST_DATABASE_URL").ok());
    let url = url.ok_or("give the URL of a database to read")?;
    let (mut client, connection) = tokio_postgres::connect(&url, NoTls).await?;
    let connection = tokio::spawn(connection);
    client.batch_execute(SETUP).await?;

    let subject = Subject {
        table: TableName::parse("pg_temp.readings")?,
        interval_column: Some(Identifier::new("day")?),
        bounds: ColumnBounds::Dates { start: date(2026, 3, 24), end: date(2026, 3, 25) },
        start: "2026-03-24T00:00:00Z".parse()?,
        end: "2026-03-25T00:00:00Z".parse()?,
        key: vec![Identifier::new("day")?, Identifier::new("sensor")?],
    };
    let mut checks = Check::always(&subject, false);
    checks.push(Check::error("above absolute zero", Rule::Expression("degrees > -273.15".into())));
    checks.push(Check::warn("three sensors or more", Rule::Rows { min: Some(3), max: None, change: None }));

    let transaction = client.build_transaction().read_only(true).start().await?;
    let verdict = run(transaction.client(), &compile(&checks, &subject), None).await?;
    transaction.rollback().await?;
    for result in &verdict.results {
        let word = if result.passed { "ok" } else { result.severity.as_str() };
        println!("{word:<5}  {:<24} {}", result.name, result.message);
    }
    drop(client);
    connection.await??;
    Ok(if verdict.passed() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
