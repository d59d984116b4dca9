//! One database per test, dropped when the value goes.

use std::sync::atomic::{AtomicU32, Ordering};

use anyhow::{Context, Result};
use tokio_postgres::{Client, NoTls, SimpleQueryMessage};

static NUMBER: AtomicU32 = AtomicU32::new(0);

/// A database of its own on the server of `THRICE_TEST_DATABASE_URL`.
#[derive(Debug)]
pub struct Scratch {
    name: String,
    server_url: String,
}

impl Scratch {
    /// Makes a database whose name starts with `thrice_t`.
    pub async fn new() -> Result<Self> {
        let server_url = std::env::var("THRICE_TEST_DATABASE_URL")
            .context("THRICE_TEST_DATABASE_URL is not set: run the suites through `cargo xtask test`")?;
        let name = format!("thrice_t{}_{}", std::process::id(), NUMBER.fetch_add(1, Ordering::Relaxed));
        let admin = connect(&server_url).await?;
        admin.batch_execute(&format!("drop database if exists {name} with (force)")).await?;
        admin.batch_execute(&format!("create database {name}")).await?;
        Ok(Self { name, server_url })
    }

    /// The database's name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The URL for the superuser.
    pub fn url(&self) -> String {
        replace_database(&self.server_url, &self.name)
    }

    /// The same database through another host and port, such as a relay's.
    pub fn url_through(&self, host_port: &str) -> String {
        let (scheme, rest) = self.url().split_once("://").map(|(a, b)| (a.to_owned(), b.to_owned())).expect("a URL");
        let user = rest.split_once('@').map_or("postgres", |(user, _)| user).to_owned();
        format!("{scheme}://{user}@{host_port}/{}", self.name)
    }

    /// The same database as another login.
    pub fn url_as(&self, login: &str) -> String {
        let url = self.url();
        let (scheme, rest) = url.split_once("://").expect("a URL");
        let host = rest.split_once('@').map_or(rest, |(_, host)| host);
        format!("{scheme}://{login}@{host}")
    }

    /// `host:port` of the server.
    pub fn address(&self) -> String {
        let rest = self.server_url.split_once("://").expect("a URL").1;
        let host = rest.split_once('@').map_or(rest, |(_, host)| host);
        host.split('/').next().expect("a host").to_owned()
    }

    /// A new session as superuser.
    pub async fn connect(&self) -> Result<Client> {
        connect(&self.url()).await
    }

    /// Runs statements.
    pub async fn execute(&self, sql: &str) -> Result<()> {
        self.connect().await?.batch_execute(sql).await.with_context(|| sql.to_owned())
    }

    /// All rows of all statements as text: columns joined by `|`, NULL empty, time zone UTC.
    pub async fn rows(&self, sql: &str) -> Result<Vec<String>> {
        let client = self.connect().await?;
        client.batch_execute("set time zone 'UTC'").await?;
        let messages = client.simple_query(sql).await.with_context(|| sql.to_owned())?;
        Ok(messages
            .iter()
            .filter_map(|message| {
                let SimpleQueryMessage::Row(row) = message else { return None };
                Some((0..row.len()).map(|i| row.get(i).unwrap_or_default()).collect::<Vec<_>>().join("|"))
            })
            .collect())
    }

    /// The first column of the first row as text.
    pub async fn value(&self, sql: &str) -> Result<String> {
        self.rows(sql).await?.into_iter().next().with_context(|| format!("no row: {sql}"))
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let (name, url) = (self.name.clone(), self.server_url.clone());
        let dropped = std::thread::spawn(move || {
            tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(async {
                let admin = connect(&url).await?;
                admin.batch_execute(&format!("drop database if exists {name} with (force)")).await?;
                anyhow::Ok(())
            })
        })
        .join();
        let told = matches!(dropped, Ok(Ok(()))) || std::thread::panicking();
        assert!(told, "scratch database {} was not dropped: {dropped:?}", self.name);
    }
}

/// A session on any URL.
pub async fn connect(url: &str) -> Result<Client> {
    let (client, connection) = tokio_postgres::connect(url, NoTls).await.with_context(|| url.to_owned())?;
    tokio::spawn(connection);
    Ok(client)
}

fn replace_database(url: &str, name: &str) -> String {
    let (base, query) = url.split_once('?').map_or((url, None), |(base, query)| (base, Some(query)));
    let scheme_end = base.find("://").expect("a URL") + 3;
    let host_end = base[scheme_end..].find('/').map_or(base.len(), |at| scheme_end + at);
    let query = query.map(|query| format!("?{query}")).unwrap_or_default();
    format!("{}/{name}{query}", &base[..host_end])
}
