//! Where a relay listens and where it sends.

use std::path::{Path, PathBuf};

/// The server behind the relay.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Upstream {
    /// `host:port`.
    Tcp(String),
    /// The path of the socket itself, such as `/run/postgresql/.s.PGSQL.5432`.
    Unix(PathBuf),
}

impl Upstream {
    /// A server by `host:port`; names are resolved for each session.
    pub fn tcp(host_port: impl Into<String>) -> Self {
        Self::Tcp(host_port.into())
    }

    /// A server by socket folder and port, as libpq spells it.
    pub fn unix(folder: impl AsRef<Path>, port: u16) -> Self {
        Self::Unix(socket_path(folder.as_ref(), port))
    }
}

/// Where clients connect: always a free port of 127.0.0.1, and a unix socket where a folder is given.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Listen {
    pub(crate) socket_folder: Option<PathBuf>,
}

impl Listen {
    /// TCP only.
    pub fn tcp() -> Self {
        Self::default()
    }

    /// Also `.s.PGSQL.PORT` in `folder`, where PORT is the TCP port. The file goes with the relay.
    #[must_use]
    pub fn and_socket_in(mut self, folder: impl Into<PathBuf>) -> Self {
        self.socket_folder = Some(folder.into());
        self
    }
}

pub(crate) fn socket_path(folder: &Path, port: u16) -> PathBuf {
    folder.join(format!(".s.PGSQL.{port}"))
}
