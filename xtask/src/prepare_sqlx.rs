//! `cargo xtask prepare-sqlx`: renews `.sqlx`, by which the ledger's queries are checked without a database.

use std::fs;

use anyhow::{Context, Result, bail};

use crate::cluster::Cluster;
use crate::process::{cargo, read, root, run as call};
use crate::psql::Session;
use crate::server;

/// `cargo xtask prepare-sqlx [--check]`
pub(crate) fn run(arguments: &[String]) -> Result<()> {
    let check = arguments.iter().any(|argument| argument == "--check");
    // the oldest version: a query that it describes differently would fail there
    let cluster = Cluster::start(&server::of_version(15)?)?;
    let session = Session::open(&cluster.url())?;
    let mut migrations: Vec<_> =
        fs::read_dir("crates/ledger/migrations")?.flatten().map(|entry| entry.path()).collect();
    migrations.sort();
    for migration in migrations {
        session.execute(&fs::read_to_string(&migration)?).with_context(|| migration.display().to_string())?;
    }
    let folder = root()?.join(".sqlx");
    fs::create_dir_all(&folder)?;
    for entry in fs::read_dir(&folder)?.flatten() {
        fs::remove_file(entry.path())?;
    }
    call(
        cargo()
            .args(["check", "-q", "-p", "thrice-ledger", "--target-dir", "target/prepare-sqlx"])
            .env("DATABASE_URL", cluster.url())
            .env("SQLX_OFFLINE", "false")
            .env("SQLX_OFFLINE_DIR", &folder),
    )?;
    if check {
        let changed = read(std::process::Command::new("git").args(["status", "--porcelain", "--", ".sqlx"]))?;
        if !changed.trim().is_empty() {
            bail!("the offline data in .sqlx is not that of the queries; run: cargo xtask prepare-sqlx\n{changed}");
        }
    }
    Ok(())
}
