//! `cargo xtask`: drives the project. One file a subcommand; each does its own set-up and leaves nothing running.
#![expect(clippy::print_stdout, clippy::print_stderr, reason = "a developer's tool talks to its terminal")]

mod bench;
mod binary;
mod case_project;
mod cases;
mod ci;
mod cluster;
mod demo;
mod deny;
mod docs;
mod examples;
mod fetch;
mod migrations;
mod mutants;
mod pg;
mod prepare_sqlx;
mod process;
mod psql;
mod psql_program;
mod real;
mod server;
mod server_user;
mod steps;
mod targets;
mod temporary_folder;
mod test;
mod tidy;

use anyhow::{Result, bail};

const HELP: &str = "cargo xtask <command>

  demo [ARGS…]             build the command and run `thrice demo`; brings a server where none is installed
  test [--pg 15,18] [--suite NAME] [FILTER…]
                           unit, doc and snapshot tests once; integration suites and examples on each server version
  matrix [--pg 15,16,17,18] [--suite NAME] [FILTER…]
                           the integration suites on every server version
  ci [--no-test]           test, then fmt, clippy, docs, offline query data, cargo-deny
  cases DIR [NNN…] [--pg V] [-v]
                           bug cases through the real binary: setup, steps, expected rows
  real DIR [--pg V]        pipelines over public data against their checksums (needs psql and python3)
  bench [W1 W2 W3 start status due swap merge compare checks] [--reps N] [--days N]
                           what the protocol costs, as ratios to plain SQL of the same run; all of it: docs/performance.md
  mutants [WORD]           break the line behind each promise, in a copy; its test must turn red
  pg list | pg fetch 15 16 17 18
                           servers: what is found here; what is fetched into target/pg
  tidy                     module docs, code pages, dependency arrows, released migrations, one idea a file
  prepare-sqlx [--check]   renew the offline data of the ledger's queries
  docs [--check | --build] renew the reference pages of the book; is it fresh; the book as web pages

THRICE_XTASK_HIDE_INSTALLED=1 acts as if no PostgreSQL were installed.";

fn main() -> Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let rest = arguments.get(1..).unwrap_or_default();
    match arguments.first().map(String::as_str) {
        Some("demo") => demo::run(rest),
        Some("test") => test::run(rest),
        Some("matrix") => test::matrix(rest),
        Some("ci") => ci::run(rest),
        Some("cases") => cases::run(rest),
        Some("real") => real::run(rest),
        Some("bench") => bench::run(rest),
        Some("mutants") => mutants::run(rest),
        Some("pg") => pg::run(rest),
        Some("tidy") => tidy::run(rest),
        Some("prepare-sqlx") => prepare_sqlx::run(rest),
        Some("docs") => docs::run(rest),
        None | Some("help" | "--help" | "-h") => {
            println!("{HELP}");
            Ok(())
        }
        Some(other) => bail!("{other:?} is no command\n\n{HELP}"),
    }
}
