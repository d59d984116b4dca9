//! `cluster.json`: what a later process must know of the cluster.

use std::fs;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::error::{LocalPostgresError, io};

/// The content of `cluster.json`, readable by its owner alone: it holds the password.
#[derive(Clone, Serialize, Deserialize, PartialEq, Eq)]
pub(crate) struct ClusterFile {
    /// Folder of the cluster's files where it is not the one of this file, and the project's folder at that time.
    pub(crate) elsewhere: Option<Elsewhere>,
    /// Folder of the server programs used last.
    pub(crate) bin: PathBuf,
    /// Number in the socket's name.
    pub(crate) port: u16,
    /// Folder of the socket at the last start.
    pub(crate) socket: PathBuf,
    /// Password of the user `thrice`.
    pub(crate) password: String,
    /// The cluster's own number; another one answers for another cluster.
    pub(crate) system_identifier: Option<String>,
    /// Where it was started last.
    pub(crate) host: Host,
}

/// A cluster that is not beside its `cluster.json`.
#[derive(Debug, Clone, Serialize, Deserialize, PartialEq, Eq)]
pub(crate) struct Elsewhere {
    /// Folder of the cluster's files.
    pub(crate) folder: PathBuf,
    /// Where `cluster.json` was when the cluster was made.
    pub(crate) pointer: PathBuf,
}

/// Tells one machine from another, and one boot of it from the next.
#[derive(Debug, Clone, Default, Serialize, Deserialize, PartialEq, Eq)]
pub(crate) struct Host {
    /// The machine's own number, or its name.
    pub(crate) machine: String,
    /// The kernel's number for this boot: the same in all containers of a machine.
    pub(crate) boot: String,
}

impl std::fmt::Debug for ClusterFile {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ClusterFile").field("socket", &self.socket).field("port", &self.port).finish_non_exhaustive()
    }
}

const NAME: &str = "cluster.json";

impl ClusterFile {
    /// Reads it; `None` where there is none.
    pub(crate) fn read(pointer: &Path) -> Result<Option<Self>, LocalPostgresError> {
        let path = pointer.join(NAME);
        match fs::read(&path) {
            Ok(bytes) => serde_json::from_slice(&bytes).map(Some).map_err(|error| LocalPostgresError::Io {
                what: "cannot read",
                path,
                source: std::io::Error::other(error),
            }),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
            Err(source) => Err(LocalPostgresError::Io { what: "cannot read", path, source }),
        }
    }

    /// Writes it whole or not at all.
    pub(crate) fn write(&self, pointer: &Path) -> Result<(), LocalPostgresError> {
        let (path, part) = (pointer.join(NAME), pointer.join("cluster.json.part"));
        let text = serde_json::to_vec_pretty(self).map_err(|error| LocalPostgresError::Io {
            what: "cannot write",
            path: path.clone(),
            source: std::io::Error::other(error),
        })?;
        drop(fs::remove_file(&part));
        let mut file = fs::OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(&part)
            .map_err(io("cannot write", &part))?;
        std::io::Write::write_all(&mut file, &text).map_err(io("cannot write", &part))?;
        fs::rename(&part, &path).map_err(io("cannot write", &path))
    }

    /// The folder of the cluster's files, for a `cluster.json` in `pointer`.
    pub(crate) fn folder(&self, pointer: &Path) -> PathBuf {
        self.elsewhere.as_ref().map_or_else(|| pointer.to_path_buf(), |elsewhere| elsewhere.folder.clone())
    }

    /// True where this file is the copy of another project's, whose cluster is not ours: the original is still there.
    pub(crate) fn is_copy(&self, pointer: &Path) -> bool {
        self.elsewhere.as_ref().is_some_and(|elsewhere| {
            elsewhere.pointer != pointer
                && Self::read(&elsewhere.pointer)
                    .ok()
                    .flatten()
                    .is_some_and(|original| original.folder(&elsewhere.pointer) == elsewhere.folder)
        })
    }

    /// The folder of the socket now: a project that was moved has taken its socket along.
    pub(crate) fn socket_now(&self, pointer: &Path) -> PathBuf {
        let inside = self.folder(pointer).join("socket");
        let name = format!(".s.PGSQL.{}", self.port);
        if !self.socket.join(&name).exists() && inside.join(&name).exists() { inside } else { self.socket.clone() }
    }
}

impl Host {
    /// This machine.
    pub(crate) fn here() -> Self {
        let first = |paths: &[&str]| {
            let read = |path: &&str| fs::read_to_string(path).ok().map(|text| text.trim().to_owned());
            paths.iter().filter_map(read).find(|text| !text.is_empty()).unwrap_or_default()
        };
        Self {
            machine: first(&["/etc/machine-id", "/proc/sys/kernel/hostname"]),
            boot: first(&["/proc/sys/kernel/random/boot_id"]),
        }
    }

    /// False where the two cannot be the same machine: neither its number nor its boot agrees.
    pub(crate) fn may_be(&self, other: &Self) -> bool {
        self.machine == other.machine || self.boot == other.boot
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn host(machine: &str, boot: &str) -> Host {
        Host { machine: machine.to_owned(), boot: boot.to_owned() }
    }

    #[test]
    fn a_reboot_and_a_new_container_are_no_other_machine() {
        let made = host("m1", "b1");
        assert!(made.may_be(&host("m1", "b2")), "the same machine after a reboot");
        assert!(made.may_be(&host("m2", "b1")), "another container under the same kernel");
        assert!(!made.may_be(&host("m2", "b2")));
        assert!(!Host::here().boot.is_empty());
    }

    #[test]
    fn a_copy_of_the_pointer_is_known_while_its_original_is_there() {
        let (original, copy) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let file = ClusterFile {
            elsewhere: Some(Elsewhere { folder: "/var/lib/thrice/x".into(), pointer: original.path().into() }),
            bin: "/b".into(),
            port: 5432,
            socket: "/s".into(),
            password: "QZXJ".into(),
            system_identifier: None,
            host: Host::default(),
        };
        file.write(original.path()).unwrap();
        file.write(copy.path()).unwrap();
        assert!(file.is_copy(copy.path()));
        assert!(!file.is_copy(original.path()));
        fs::remove_file(original.path().join(NAME)).unwrap();
        assert!(!file.is_copy(copy.path()), "moved, not copied");
        assert!(!format!("{file:?}").contains("QZXJ"));
        let mode = fs::metadata(copy.path().join(NAME)).map(|data| {
            use std::os::unix::fs::PermissionsExt as _;
            data.permissions().mode() & 0o777
        });
        assert_eq!(mode.unwrap(), 0o600);
    }
}
