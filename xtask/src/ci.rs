//! `cargo xtask ci`: the tests, and what else must hold before a change lands.

use anyhow::{Result, bail};

use crate::process::cargo;
use crate::steps::Steps;
use crate::{deny, docs, prepare_sqlx, test, tidy};

/// `cargo xtask ci [--no-test]`
pub(crate) fn run(arguments: &[String]) -> Result<()> {
    let mut steps = Steps::default();
    match arguments {
        [] => steps.note("test", test::run(&[])),
        [flag] if flag == "--no-test" => {}
        _ => bail!("cargo xtask ci [--no-test]"),
    }
    steps.run("format", cargo()?.args(["fmt", "--all", "--check"]));
    let clippy = ["clippy", "-q", "--workspace", "--all-targets", "--all-features", "--", "-D", "warnings"];
    steps.run("clippy", cargo()?.args(clippy));
    steps.run("docs", cargo()?.args(["doc", "-q", "--workspace", "--no-deps"]).env("RUSTDOCFLAGS", "-D warnings"));
    println!("\n== tidy");
    steps.note("tidy", tidy::check());
    println!("\n== offline data of the ledger's queries");
    steps.note("offline data of the ledger's queries", prepare_sqlx::check());
    println!("\n== reference pages of the book");
    steps.note("reference pages of the book", docs::check());
    println!("\n== cargo-deny");
    steps.note("cargo-deny", deny::check());
    steps.finish()
}
