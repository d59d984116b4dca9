//! Who runs servers: this user, or where this is root, which PostgreSQL refuses, `postgres` or `nobody`.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::process;

/// True where servers need another user.
pub(crate) fn is_root() -> bool {
    process::read(Command::new("id").arg("-u")).is_ok_and(|id| id.trim() == "0")
}

/// User and group for servers, where it is not this process's.
fn other() -> Result<Option<(u32, u32)>> {
    if !is_root() {
        return Ok(None);
    }
    for user in ["postgres", "nobody"] {
        let id = |flag: &str| process::read(Command::new("id").args([flag, user])).ok()?.trim().parse().ok();
        if let (Some(uid), Some(gid)) = (id("-u"), id("-g")) {
            return Ok(Some((uid, gid)));
        }
    }
    bail!("this is root, and neither a user postgres nor nobody exists to run a server as")
}

/// Makes a command run as the servers' user, in a folder that this user can enter.
pub(crate) fn run_as(command: &mut Command) -> Result<()> {
    command.current_dir("/");
    if let Some((uid, gid)) = other()? {
        command.uid(uid).gid(gid);
    }
    Ok(())
}

/// Makes a folder that belongs to the servers' user alone; fails where something is there already.
pub(crate) fn private_folder(folder: &Path) -> Result<()> {
    fs::create_dir(folder).with_context(|| folder.display().to_string())?;
    fs::set_permissions(folder, Permissions::from_mode(0o700))?;
    if let Some((uid, gid)) = other()? {
        std::os::unix::fs::chown(folder, Some(uid), Some(gid)).with_context(|| folder.display().to_string())?;
    }
    Ok(())
}

/// True where any user may go down to this folder.
pub(crate) fn is_open(folder: &Path) -> bool {
    let enters = |folder: &Path| fs::metadata(folder).is_ok_and(|data| data.permissions().mode() & 0o001 != 0);
    folder.ancestors().all(enters)
}
