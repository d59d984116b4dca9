//! `cargo xtask test`: everything that must hold, without a step by hand.

use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::cluster::Cluster;
use crate::process::{self, cargo, root};
use crate::server;

/// Packages whose integration tests ask a server.
const WITH_SERVER: [&str; 7] = [
    "thrice-connect",
    "thrice-ledger",
    "thrice-sql-publish",
    "thrice-checks",
    "thrice-fault-relay",
    "thrice-local-postgres",
    "thrice-cli",
];

/// What to run, and where.
struct Plan {
    versions: Vec<u32>,
    only: Option<String>,
    filters: Vec<String>,
}

/// `cargo xtask test`
pub(crate) fn run(arguments: &[String]) -> Result<()> {
    let plan = parse(arguments)?;
    let all = plan.only.is_none() && plan.filters.is_empty();
    if all {
        process::run(cargo().args(["test", "--workspace", "--lib", "--bins", "--exclude", "xtask", "-q"]))?;
        process::run(cargo().args(["test", "--workspace", "--doc", "--exclude", "xtask", "-q"]))?;
        // `core` and `pipeline` need no server for their integration tests
        process::run(cargo().args([
            "test",
            "-p",
            "thrice-core",
            "-p",
            "thrice-pipeline",
            "--tests",
            "--examples",
            "-q",
        ]))?;
    }
    let binary = failpoints_binary()?;
    for major in &plan.versions {
        let cluster = Cluster::start(&server::of_version(*major)?)?;
        println!("\n== PostgreSQL {major} ({})", cluster.server.bin.display());
        if all {
            let mut command = with_server(&cluster, &binary);
            command.args(["test", "-q", "--test", "*"]);
            for package in WITH_SERVER {
                command.args(["-p", package]);
            }
            process::run(&mut command)?;
        }
        let mut command = with_server(&cluster, &binary);
        command.args(["test", "-p", "thrice-tests"]);
        match &plan.only {
            Some(suite) => command.args(["--test", suite]),
            None => command.args(["--tests"]),
        };
        command.arg("--").args(&plan.filters);
        process::run(&mut command)?;
    }
    println!(
        "\nall of it on PostgreSQL {}",
        plan.versions.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
    );
    Ok(())
}

fn parse(arguments: &[String]) -> Result<Plan> {
    let mut plan = Plan { versions: vec![15, 18], only: None, filters: Vec::new() };
    let mut words = arguments.iter();
    while let Some(word) = words.next() {
        match word.as_str() {
            "--pg" => {
                let list = words.next().context("--pg needs versions, as in --pg 15,18")?;
                plan.versions = list
                    .split(',')
                    .map(|v| v.parse().with_context(|| format!("{v:?} is no version")))
                    .collect::<Result<_>>()?;
            }
            "--only" => plan.only = Some(words.next().context("--only needs a suite")?.clone()),
            flag if flag.starts_with("--") => bail!("{flag} is not known; cargo xtask help"),
            filter => plan.filters.push(filter.to_owned()),
        }
    }
    Ok(plan)
}

fn with_server(cluster: &Cluster, binary: &PathBuf) -> Command {
    let mut command = cargo();
    command
        .env("THRICE_TEST_DATABASE_URL", cluster.url())
        .env("THRICE_TEST_PG_BIN", &cluster.server.bin)
        .env("THRICE_TEST_BIN", binary);
    command
}

/// The binary with failpoints, as a copy that the next build does not replace.
pub(crate) fn failpoints_binary() -> Result<PathBuf> {
    process::run(cargo().args(["build", "-q", "-p", "thrice-cli", "--features", "failpoints"]))?;
    let copy = root()?.join("target/failpoints/thrice");
    std::fs::create_dir_all(root()?.join("target/failpoints"))?;
    // a new file: the old one may still be running
    drop(std::fs::remove_file(&copy));
    std::fs::copy(target_dir()?.join("debug/thrice"), &copy)?;
    Ok(copy)
}

fn target_dir() -> Result<PathBuf> {
    Ok(std::env::var_os("CARGO_TARGET_DIR").map_or(root()?.join("target"), PathBuf::from))
}

/// The binary as users have it.
pub(crate) fn plain_binary() -> Result<PathBuf> {
    process::run(cargo().args(["build", "-q", "-p", "thrice-cli"]))?;
    Ok(target_dir()?.join("debug/thrice"))
}
