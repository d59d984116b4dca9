//! The `thrice` binary: as users have it, or with failpoints.

use std::fs;
use std::path::PathBuf;

use anyhow::Result;

use crate::process::{self, cargo, target};

/// The binary with failpoints.
pub(crate) fn with_failpoints() -> Result<PathBuf> {
    process::run(cargo()?.args(["build", "-q", "-p", "thrice-cli", "--features", "failpoints"]))?;
    keep("failpoints")
}

/// The binary as users have it.
pub(crate) fn plain() -> Result<PathBuf> {
    process::run(cargo()?.args(["build", "-q", "-p", "thrice-cli"]))?;
    keep("plain")
}

/// The binary as a release ships it.
pub(crate) fn release() -> Result<PathBuf> {
    process::run(cargo()?.args(["build", "-q", "--release", "-p", "thrice-cli"]))?;
    Ok(target()?.join("release/thrice"))
}

/// Copies what was just built, so that the next build does not replace it.
pub(crate) fn keep(kind: &str) -> Result<PathBuf> {
    let folder = target()?.join("xtask").join(kind);
    fs::create_dir_all(&folder)?;
    // a new file under the old name: the old one may still be running
    let (new, copy) = (folder.join(format!("thrice-{}", std::process::id())), folder.join("thrice"));
    fs::copy(target()?.join("debug/thrice"), &new)?;
    fs::rename(&new, &copy)?;
    Ok(copy)
}
