//! Loses the answer of one COMMIT and finds out that the server has committed all the same.
//!
//! `DATABASE_ADDRESS=127.0.0.1:5432 cargo run -p thrice-fault-relay --example lose_a_commit_reply -- user database`

use std::error::Error;
use std::time::Duration;

use thrice_fault_relay::{Fault, FaultRelay, Listen, Plan, Upstream};
use tokio_postgres::{Client, NoTls};

#[tokio::main]
#[expect(clippy::print_stdout, reason = "an example talks")]
async fn main() -> Result<(), Box<dyn Error>> {
    let server = std::env::var("DATABASE_ADDRESS").unwrap_or_else(|_| "127.0.0.1:5432".to_owned());
    let mut words = std::env::args().skip(1);
    let user = words.next().unwrap_or_else(|| "postgres".to_owned());
    let database = words.next().unwrap_or_else(|| user.clone());

    let relay = FaultRelay::start(Upstream::tcp(server.as_str()), Listen::tcp()).await?;
    let direct = connect(&format!("postgres://{user}@{server}/{database}")).await?;
    let through = connect(&format!("postgres://{user}@{}/{database}", relay.address())).await?;
    direct.batch_execute("drop table if exists relay_example; create table relay_example (n int)").await?;

    relay.arm(Plan::on_commit(Fault::lose_reply(Duration::from_millis(5))).in_transaction_with("relay_example"));
    through.batch_execute("begin").await?;
    through.batch_execute("insert into relay_example values (1)").await?;
    let seen = match through.batch_execute("commit").await {
        Ok(()) => "an answer".to_owned(),
        Err(error) => error.to_string(),
    };
    println!("the client sees: {seen}");

    let rows: i64 = direct.query_one("select count(*) from relay_example", &[]).await?.get(0);
    println!("the table holds: {rows} row; {} COMMIT lost its answer", relay.fired());
    direct.batch_execute("drop table relay_example").await?;
    relay.stop().await;
    Ok(())
}

async fn connect(url: &str) -> Result<Client, tokio_postgres::Error> {
    let (client, connection) = tokio_postgres::connect(url, NoTls).await?;
    tokio::spawn(connection);
    Ok(client)
}
