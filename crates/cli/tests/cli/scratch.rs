//! A database of its own on the server of `THRICE_TEST_DATABASE_URL`, dropped when the value goes.

use std::sync::atomic::{AtomicU32, Ordering};

use tokio_postgres::{Client, NoTls, SimpleQueryMessage};

static NUMBER: AtomicU32 = AtomicU32::new(0);

pub(crate) struct Scratch {
    server: String,
    name: String,
    url: String,
    runtime: tokio::runtime::Runtime,
}

impl Scratch {
    pub(crate) fn new() -> Self {
        let server = std::env::var("THRICE_TEST_DATABASE_URL").unwrap_or_else(|_| {
            panic!("THRICE_TEST_DATABASE_URL is not set: run `cargo xtask test`, it brings a server")
        });
        let name = format!("thrice_cli_{}_{}", std::process::id(), NUMBER.fetch_add(1, Ordering::Relaxed));
        let (base, parameters) = server.split_once('?').map_or((server.as_str(), ""), |(base, rest)| (base, rest));
        let (address, _) = base.rsplit_once('/').expect("the URL names a database");
        let question = if parameters.is_empty() { "" } else { "?" };
        let url = format!("{address}/{name}{question}{parameters}");
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
        let scratch = Self { server, name, url, runtime };
        scratch.on(&scratch.server, &format!("create database {}", scratch.name));
        scratch
    }

    pub(crate) fn url(&self) -> &str {
        &self.url
    }

    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// Runs statements.
    pub(crate) fn execute(&self, sql: &str) {
        self.on(&self.url, sql);
    }

    /// The one number that a query gives.
    pub(crate) fn number(&self, sql: &str) -> i64 {
        let rows = self.on(&self.url, sql);
        rows.into_iter()
            .find_map(|message| match message {
                SimpleQueryMessage::Row(row) => row.get(0).map(|text| text.parse().unwrap()),
                SimpleQueryMessage::CommandComplete(_) | SimpleQueryMessage::RowDescription(_) | _ => None,
            })
            .expect("one row")
    }

    /// What the server says to statements that it refuses.
    pub(crate) fn refusal(&self, sql: &str) -> String {
        let said = self.runtime.block_on(async { connect(&self.url).await.simple_query(sql).await });
        said.expect_err(sql).as_db_error().expect("the server refused").message().to_owned()
    }

    fn on(&self, url: &str, sql: &str) -> Vec<SimpleQueryMessage> {
        self.runtime.block_on(async {
            let client = connect(url).await;
            client.simple_query(sql).await.unwrap_or_else(|error| panic!("{error:?}: {sql}"))
        })
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let drop = format!("drop database if exists {} with (force)", self.name);
        self.runtime.block_on(async {
            // a failing test says more than a database that stays
            let _dropped = connect(&self.server).await.simple_query(&drop).await;
        });
    }
}

async fn connect(url: &str) -> Client {
    let (client, connection) = tokio_postgres::connect(url, NoTls).await.unwrap_or_else(|error| panic!("{error:?}"));
    tokio::spawn(connection);
    client
}
