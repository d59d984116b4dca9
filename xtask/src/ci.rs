//! `cargo xtask ci`: the tests, and what else must hold before a change lands.

use std::process::Command;

use anyhow::Result;

use crate::process::{cargo, run as call};
use crate::{prepare_sqlx, test};

/// Version of cargo-deny that the rules were written for.
const DENY: &str = "0.18.9";

/// `cargo xtask ci`
pub(crate) fn run(arguments: &[String]) -> Result<()> {
    if !arguments.iter().any(|argument| argument == "--no-test") {
        test::run(&[])?;
    }
    call(cargo().args(["fmt", "--all", "--check"]))?;
    call(cargo().args(["clippy", "-q", "--workspace", "--all-targets", "--all-features", "--", "-D", "warnings"]))?;
    call(cargo().args(["doc", "-q", "--workspace", "--no-deps"]).env("RUSTDOCFLAGS", "-D warnings"))?;
    prepare_sqlx::run(&["--check".to_owned()])?;
    deny()
}

fn deny() -> Result<()> {
    let found = Command::new("cargo-deny").arg("--version").output().is_ok_and(|output| output.status.success());
    if !found {
        call(cargo().args(["install", "cargo-deny", "--version", DENY, "--locked", "-q"]))?;
    }
    // advisories need a database from the network that a closed build does not have
    call(cargo().args(["deny", "--all-features", "check", "bans", "licenses", "sources"]))
}
