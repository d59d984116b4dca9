//! `cargo xtask test`: everything that must hold, without a step by hand.

use std::collections::BTreeSet;
use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::cluster::Cluster;
use crate::process::cargo;
use crate::server::MAJORS;
use crate::steps::Steps;
use crate::targets::Targets;
use crate::{binary, examples, pg, psql_program, server};

/// Every call selects the same packages and features, so that each crate is compiled once: a selection of its own would
/// have features of its own, and compile half of the dependencies again.
const SAME: [&str; 3] = ["--workspace", "--features", "thrice-cli/failpoints"];

/// What to run, and where.
#[derive(Debug, PartialEq, Eq)]
struct Plan {
    versions: Vec<u32>,
    suite: Option<String>,
    filters: Vec<String>,
    /// Nothing but what needs a server.
    only_servers: bool,
}

impl Plan {
    /// True where nothing is left out.
    fn whole(&self) -> bool {
        self.suite.is_none() && self.filters.is_empty()
    }

    /// `cargo test` of some kinds of targets, and of test binaries by name.
    fn tests(&self, kinds: &[&str], names: &BTreeSet<String>) -> Result<Command> {
        let mut command = cargo()?;
        command.args(["test", "--no-fail-fast"]).args(SAME).args(kinds);
        command.args(names.iter().flat_map(|name| ["--test", name]));
        if self.whole() {
            // a dot a test; a part is shown by name
            command.arg("-q");
        }
        command.arg("--").args(&self.filters);
        Ok(command)
    }
}

/// `cargo xtask test [--pg 15,18] [--suite NAME] [FILTER…]`
pub(crate) fn run(arguments: &[String]) -> Result<()> {
    carry_out(&parse(arguments, &[15, 18])?)
}

/// `cargo xtask matrix [--pg 15,16,17,18] [--suite NAME] [FILTER…]`: the integration suites on every server version.
pub(crate) fn matrix(arguments: &[String]) -> Result<()> {
    carry_out(&Plan { only_servers: true, ..parse(arguments, &MAJORS)? })
}

fn carry_out(plan: &Plan) -> Result<()> {
    // servers first: where one cannot be had, that is known before the build
    let servers: Vec<_> = plan.versions.iter().map(|major| server::of_version(*major)).collect::<Result<_>>()?;
    let mut steps = Steps::default();
    steps.must("build", cargo()?.args(["build", "-q", "--all-targets"]).args(SAME))?;
    let binary = binary::keep("failpoints")?;
    let targets = Targets::read()?;

    if plan.suite.is_none() && !plan.only_servers {
        steps.run("unit tests", &mut plan.tests(&["--lib", "--bins"], &BTreeSet::new())?);
        steps.run("integration tests that need no server", &mut plan.tests(&[], &targets.plain_tests)?);
    }
    if plan.whole() && !plan.only_servers {
        steps.run("doc tests", cargo()?.args(["test", "-q", "--doc"]).args(SAME));
    }
    let suites = plan.suite.iter().cloned().collect();
    let suites = if plan.suite.is_some() { &suites } else { &targets.server_tests };
    for server in &servers {
        let cluster = Cluster::start(server)?;
        println!("\n== PostgreSQL {} ({})", server.major, server.bin.display());
        let mut command = plan.tests(&[], suites)?;
        command
            .env("THRICE_TEST_DATABASE_URL", cluster.url())
            .env("THRICE_TEST_PG_BIN", &server.bin)
            .env("THRICE_TEST_PSQL", psql_program::program(server)?)
            .env("THRICE_TEST_BIN", &binary);
        steps.run(&format!("integration tests on PostgreSQL {}", server.major), &mut command);
        if plan.whole() {
            examples::run(&targets.examples, &cluster, &mut steps)?;
        }
    }
    steps.finish()
}

fn parse(arguments: &[String], versions: &[u32]) -> Result<Plan> {
    let mut plan = Plan { versions: versions.to_vec(), suite: None, filters: Vec::new(), only_servers: false };
    let mut words = arguments.iter();
    while let Some(word) = words.next() {
        match word.as_str() {
            "--pg" => {
                let list = words.next().context("--pg needs versions, as in --pg 15,18")?;
                plan.versions = list.split(',').map(pg::number).collect::<Result<_>>()?;
            }
            "--suite" => plan.suite = Some(words.next().context("--suite needs a name")?.clone()),
            flag if flag.starts_with('-') => bail!("{flag} is not known; cargo xtask help"),
            filter => plan.filters.push(filter.to_owned()),
        }
    }
    Ok(plan)
}

#[cfg(test)]
mod unit {
    use super::*;

    fn plan(text: &str) -> Result<Plan> {
        parse(&text.split_whitespace().map(ToOwned::to_owned).collect::<Vec<_>>(), &[15, 18])
    }

    #[test]
    fn versions_suite_and_filters_are_told_apart() {
        let read = plan("--pg 16,17 crash --suite commit lost").unwrap();
        assert_eq!(read.versions, [16, 17]);
        assert_eq!(read.suite.as_deref(), Some("commit"));
        assert_eq!(read.filters, ["crash", "lost"]);
        assert!(!read.whole());
        assert!(plan("").unwrap().whole());
    }

    #[test]
    fn a_version_that_is_not_supported_is_refused() {
        assert!(plan("--pg 14").is_err());
        assert!(plan("--pg").is_err());
        assert!(plan("--release").is_err());
    }
}
