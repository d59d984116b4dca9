//! Who runs the server: this user, or where this is root, `postgres` or `nobody`.

use std::os::unix::fs::MetadataExt;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;

use crate::error::{LocalPostgresError, io};

/// The user that runs the server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum ServerUser {
    /// This process's user.
    Same,
    /// Another one, because this is root.
    Other {
        /// Its name.
        name: String,
        /// Its numbers.
        uid: u32,
        /// Its group.
        gid: u32,
    },
}

impl ServerUser {
    /// Of this process.
    pub(crate) fn of_process() -> Result<Self, LocalPostgresError> {
        let own = std::fs::metadata("/proc/self").map(|data| data.uid());
        let own = own.or_else(|_| id("-u", None).ok_or(())).unwrap_or(u32::MAX);
        if own != 0 {
            return Ok(Self::Same);
        }
        for name in ["postgres", "nobody"] {
            if let (Some(uid), Some(gid)) = (id("-u", Some(name)), id("-g", Some(name))) {
                return Ok(Self::Other { name: name.to_owned(), uid, gid });
            }
        }
        Err(LocalPostgresError::NoServerUser)
    }

    /// Of a cluster: where this is root and the cluster is there, its owner; else as for a new one.
    pub(crate) fn of_cluster(data: &Path) -> Result<Self, LocalPostgresError> {
        let for_new = Self::of_process()?;
        match (&for_new, std::fs::metadata(data)) {
            (Self::Other { uid, .. }, Ok(owner)) if owner.uid() != 0 && owner.uid() != *uid => {
                Ok(Self::Other { name: name_of(owner.uid()), uid: owner.uid(), gid: owner.gid() })
            }
            _ => Ok(for_new),
        }
    }

    /// Lets a program run as this user.
    pub(crate) fn run_as(&self, command: &mut Command) {
        // a folder that the other user cannot enter would be an error of getcwd
        command.current_dir("/");
        if let Self::Other { uid, gid, .. } = self {
            command.uid(*uid).gid(*gid);
        }
    }

    /// Gives a file or folder to this user.
    pub(crate) fn give(&self, path: &Path) -> Result<(), LocalPostgresError> {
        if let Self::Other { uid, gid, .. } = self {
            std::os::unix::fs::chown(path, Some(*uid), Some(*gid)).map_err(io("cannot hand over", path))?;
        }
        Ok(())
    }

    /// The first folder on the way to `path` that this user cannot enter.
    pub(crate) fn closed_parent(&self, path: &Path) -> Option<std::path::PathBuf> {
        let Self::Other { uid, gid, .. } = self else { return None };
        let may_enter = |folder: &Path| {
            std::fs::metadata(folder).is_ok_and(|data| {
                let shift = if data.uid() == *uid {
                    6
                } else if data.gid() == *gid {
                    3
                } else {
                    0
                };
                (data.mode() >> shift) & 1 == 1
            })
        };
        path.ancestors().filter(|folder| folder.exists()).find(|folder| !may_enter(folder)).map(Path::to_path_buf)
    }

    /// The user's name, for people.
    pub(crate) fn name(&self) -> &str {
        match self {
            Self::Same => "you",
            Self::Other { name, .. } => name,
        }
    }
}

fn name_of(uid: u32) -> String {
    let name = Command::new("id").arg("-un").arg(uid.to_string()).output().ok();
    let name = name.map(|output| String::from_utf8_lossy(&output.stdout).trim().to_owned());
    name.filter(|name| !name.is_empty()).unwrap_or_else(|| uid.to_string())
}

fn id(flag: &str, user: Option<&str>) -> Option<u32> {
    let output = Command::new("id").arg(flag).args(user).output().ok()?;
    String::from_utf8_lossy(&output.stdout).trim().parse().ok()
}
