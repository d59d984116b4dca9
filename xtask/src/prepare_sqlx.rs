//! `cargo xtask prepare-sqlx`: renews `.sqlx`, by which the ledger's queries are checked without a database.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::path::Path;
use std::time::SystemTime;

use anyhow::{Context, Result, bail};

use crate::cluster::Cluster;
use crate::migrations;
use crate::process::{cargo, root, run as call};
use crate::psql::Session;
use crate::server::{self, MAJORS};
use crate::temporary_folder::TemporaryFolder;

/// `cargo xtask prepare-sqlx [--check]`
pub(crate) fn run(arguments: &[String]) -> Result<()> {
    match arguments {
        [] => renew(),
        [flag] if flag == "--check" => check(),
        _ => bail!("cargo xtask prepare-sqlx [--check]"),
    }
}

/// Fails where the committed data is not that of the queries.
pub(crate) fn check() -> Result<()> {
    let (new, old) = (fresh()?, read_folder(&root()?.join(".sqlx"))?);
    let mut names: Vec<&String> =
        new.keys().chain(old.keys()).filter(|name| new.get(*name) != old.get(*name)).collect();
    names.sort();
    names.dedup();
    if names.is_empty() {
        println!("{} queries, all as in .sqlx", new.len());
        return Ok(());
    }
    let lines: Vec<String> = names
        .iter()
        .map(|name| {
            let how = match (new.contains_key(*name), old.contains_key(*name)) {
                (true, true) => "differs",
                (true, false) => "is missing",
                _ => "belongs to no query",
            };
            format!("  .sqlx/{name} {how}")
        })
        .collect();
    bail!("run cargo xtask prepare-sqlx and commit .sqlx:\n{}", lines.join("\n"))
}

fn renew() -> Result<()> {
    let (new, folder) = (fresh()?, root()?.join(".sqlx"));
    for name in read_folder(&folder)?.keys().filter(|name| !new.contains_key(*name)) {
        fs::remove_file(folder.join(name))?;
    }
    for (name, text) in &new {
        fs::write(folder.join(name), text)?;
    }
    println!("{} queries in .sqlx", new.len());
    Ok(())
}

/// What the macros write about every query, on a new database with the ledger's migrations.
fn fresh() -> Result<BTreeMap<String, String>> {
    // always the oldest version: what is said about a query may differ between versions
    let cluster = Cluster::start(&server::of_version(MAJORS[0])?)?;
    let session = Session::open(&cluster.url())?;
    let ledger = root()?.join("crates/ledger");
    migrations::run(&session)?;
    let folder = TemporaryFolder::new("sqlx")?;
    touch(&ledger.join("src/lib.rs"))?;
    let checked = call(
        cargo()?
            .args(["check", "-q", "-p", "thrice-ledger"])
            .env("DATABASE_URL", cluster.url())
            .env("SQLX_OFFLINE", "false")
            .env("SQLX_OFFLINE_DIR", &folder.0),
    );
    // the next build is one against the committed data again
    touch(&ledger.join("src/lib.rs"))?;
    checked?;
    read_folder(&folder.0)
}

/// Makes cargo take a file for changed.
#[expect(clippy::disallowed_methods, reason = "a file's time, which decides nothing but a build")]
fn touch(file: &Path) -> Result<()> {
    File::options().append(true).open(file)?.set_modified(SystemTime::now()).with_context(|| file.display().to_string())
}

fn read_folder(folder: &Path) -> Result<BTreeMap<String, String>> {
    let mut files = BTreeMap::new();
    for entry in fs::read_dir(folder).with_context(|| folder.display().to_string())?.flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        files.insert(name, fs::read_to_string(entry.path())?);
    }
    Ok(files)
}
