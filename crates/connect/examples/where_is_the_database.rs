//! What a service does at its start: read where the database is, say so, connect, and tell a
//! lost connection from a refused one.
//!
//! `DATABASE_URL=postgres://… cargo run -p thrice-connect --example where_is_the_database`
#![expect(clippy::print_stdout, reason = "an example shows what it found")]

use std::time::Duration;

use thrice_connect::{ConnectionSettings, Sources, connect_within};

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let (sources, warnings) = Sources::of_process(std::env::args().nth(1), None);
    for warning in warnings {
        println!("warning: {warning}");
    }
    let Some((settings, origin)) = ConnectionSettings::resolve(&sources)? else {
        println!("no database is named: give a URL, or set DATABASE_URL");
        return Ok(());
    };
    println!("{settings} (from {origin})");

    match connect_within(&settings.with_application_name("example"), Duration::from_secs(3)).await {
        Ok(connection) => {
            if let Some(version) = connection.server_version() {
                println!("PostgreSQL {version} at {}", connection.place());
            }
            if let Some(warning) = connection.version_warning() {
                println!("warning: {warning}");
            }
            let row = connection.client.query_one("select current_user::text", &[]).await?;
            println!("logged in as {}", row.get::<_, String>(0));
            connection.close(Duration::from_secs(1)).await;
        }
        Err(error) => {
            println!("error[{}]: {error}\nfix: {}", error.code(), error.fix());
        }
    }
    Ok(())
}
