//! A database for each test.

use std::sync::atomic::{AtomicU32, Ordering};

use thrice_core::identifier::Identifier;
use tokio_postgres::{Client, Config, NoTls};

/// A database that lives as long as the test.
pub(crate) struct Scratch {
    admin: Config,
    name: String,
}

static NEXT: AtomicU32 = AtomicU32::new(0);

impl Scratch {
    /// A database that has run `setup`.
    pub(crate) async fn with(setup: &str) -> (Self, Client) {
        let url = std::env::var("THRICE_TEST_DATABASE_URL").unwrap_or_else(|_| {
            panic!(
                "THRICE_TEST_DATABASE_URL is not set: these tests need a PostgreSQL server and a superuser on it; \
                 run `cargo xtask test`, which brings one"
            )
        });
        let admin: Config = url.parse().expect("THRICE_TEST_DATABASE_URL is a PostgreSQL URL");
        let name = format!("thrice_checks_{}_{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
        let scratch = Self { admin, name };
        connect(&scratch.admin).await.batch_execute(&format!("create database {}", scratch.name)).await.unwrap();
        let client = connect(scratch.admin.clone().dbname(&scratch.name)).await;
        client.batch_execute(setup).await.unwrap();
        (scratch, client)
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let (admin, name) = (self.admin.clone(), self.name.clone());
        let dropped = std::thread::spawn(move || {
            tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
                connect(&admin).await.batch_execute(&format!("drop database {name} with (force)")).await.unwrap();
            });
        });
        let dropped = dropped.join().is_ok();
        assert!(dropped || std::thread::panicking(), "the scratch database {} could not be dropped", self.name);
    }
}

async fn connect(config: &Config) -> Client {
    let (client, connection) = config.connect(NoTls).await.expect("the server of THRICE_TEST_DATABASE_URL answers");
    tokio::spawn(async move { drop(connection.await) });
    client
}

pub(crate) fn names(names: &[&str]) -> Vec<Identifier> {
    names.iter().map(|name| Identifier::new(*name).unwrap()).collect()
}
