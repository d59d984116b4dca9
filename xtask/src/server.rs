//! PostgreSQL servers for tests and the demonstration: what this machine has, else what was fetched, else a fetch.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

use anyhow::{Context, Result};
use thrice_local_postgres::Surroundings;

use crate::server_user::{is_open, is_root};
use crate::{fetch, process};

/// Versions that thrice supports.
pub(crate) const MAJORS: [u32; 4] = [15, 16, 17, 18];

/// A folder with `initdb` and `postgres`.
#[derive(Debug, Clone)]
pub(crate) struct Server {
    pub(crate) major: u32,
    pub(crate) bin: PathBuf,
}

/// A server of this version: installed, fetched earlier, or fetched now.
pub(crate) fn of_version(major: u32) -> Result<Server> {
    match installed(major) {
        Some(server) => Ok(server),
        None => fetched_or_fetch(major),
    }
}

/// A server of this version that is not an installed one.
pub(crate) fn fetched_or_fetch(major: u32) -> Result<Server> {
    match fetched(major)? {
        Some(server) => Ok(server),
        None => fetch::server(major),
    }
}

/// True where no installed server may be used.
pub(crate) fn hidden() -> bool {
    std::env::var_os("THRICE_XTASK_HIDE_INSTALLED").is_some_and(|value| value == "1")
}

/// The machine's own server of this version.
pub(crate) fn installed(major: u32) -> Option<Server> {
    if hidden() {
        return None;
    }
    let found = Surroundings::of_process().find_binaries(None, Some(major)).ok()?;
    Some(Server { major: found.major, bin: found.bin })
}

/// A server of this version in `target/pg`.
pub(crate) fn fetched(major: u32) -> Result<Option<Server>> {
    let Some(bin) = fetch::bin_folder(&folder()?.join(major.to_string())) else { return Ok(None) };
    // the same look as at an installed one: both programs are there and tell their version
    let only_there = Surroundings { thrice_pg_bin: Some(bin), ..Surroundings::default() };
    let found = only_there.find_binaries(None, Some(major)).ok();
    Ok(found.map(|found| Server { major: found.major, bin: found.bin }))
}

/// Where fetched servers and throwaway clusters live: inside the checkout, or, because root cannot run a server and
/// another user may not be able to enter the checkout, under `/var/lib`.
pub(crate) fn folder() -> Result<PathBuf> {
    let inside = process::target()?.join("pg");
    fs::create_dir_all(&inside).with_context(|| inside.display().to_string())?;
    if !is_root() || is_open(&inside) {
        return Ok(inside);
    }
    let outside = PathBuf::from("/var/lib/thrice-xtask");
    fs::create_dir_all(&outside).with_context(|| outside.display().to_string())?;
    fs::set_permissions(&outside, Permissions::from_mode(0o711))?;
    Ok(outside)
}
