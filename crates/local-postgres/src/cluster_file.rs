//! `cluster.json`: what a later process must know of the cluster.

use std::fs;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::error::{LocalPostgresError, io};

/// The content of `cluster.json`, readable by its owner alone: it holds the password.
#[derive(Clone, Serialize, Deserialize, PartialEq, Eq)]
pub(crate) struct ClusterFile {
    /// Folder of the cluster's files.
    pub(crate) folder: PathBuf,
    /// Folder of the server programs used last.
    pub(crate) bin: PathBuf,
    /// Number in the socket's name.
    pub(crate) port: u16,
    /// Folder of the socket.
    pub(crate) socket: PathBuf,
    /// Password of the user `thrice`.
    pub(crate) password: String,
    /// The cluster's own number; another one answers for another cluster.
    pub(crate) system_identifier: Option<String>,
    /// Machine that made it.
    pub(crate) host_id: String,
}

impl std::fmt::Debug for ClusterFile {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ClusterFile").field("folder", &self.folder).field("port", &self.port).finish_non_exhaustive()
    }
}

const NAME: &str = "cluster.json";

impl ClusterFile {
    /// Reads it; `None` where there is none.
    pub(crate) fn read(pointer: &Path) -> Result<Option<Self>, LocalPostgresError> {
        let path = pointer.join(NAME);
        match fs::read(&path) {
            Ok(bytes) => serde_json::from_slice(&bytes)
                .map(Some)
                .map_err(|error| LocalPostgresError::Io { what: "cannot read", path, source: std::io::Error::other(error) }),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
            Err(source) => Err(LocalPostgresError::Io { what: "cannot read", path, source }),
        }
    }

    /// Writes it whole or not at all.
    pub(crate) fn write(&self, pointer: &Path) -> Result<(), LocalPostgresError> {
        let (path, part) = (pointer.join(NAME), pointer.join("cluster.json.part"));
        let text = serde_json::to_vec_pretty(self)
            .map_err(|error| LocalPostgresError::Io { what: "cannot write", path: path.clone(), source: std::io::Error::other(error) })?;
        drop(fs::remove_file(&part));
        let mut file = fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(&part).map_err(io("cannot write", &part))?;
        std::io::Write::write_all(&mut file, &text).map_err(io("cannot write", &part))?;
        fs::rename(&part, &path).map_err(io("cannot write", &path))
    }
}

/// A text that is the same on this machine and differs on others.
pub(crate) fn host_id() -> String {
    ["/etc/machine-id", "/proc/sys/kernel/random/boot_id", "/proc/sys/kernel/hostname"]
        .iter()
        .find_map(|path| fs::read_to_string(path).ok().map(|text| text.trim().to_owned()).filter(|text| !text.is_empty()))
        .unwrap_or_default()
}
