//! What can go wrong with a private server.

use std::path::PathBuf;

use crate::binaries::Candidate;

/// Why the private PostgreSQL cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LocalPostgresError {
    /// No server programs of a supported version were found.
    #[error("no PostgreSQL server of version 15 to 18 was found on this machine")]
    NoBinaries {
        /// Every place that was looked at, with what is wrong there.
        candidates: Vec<Candidate>,
    },
    /// A program of PostgreSQL failed.
    #[error("{program} failed: {message}")]
    Program {
        /// Which one.
        program: &'static str,
        /// The end of what it said.
        message: String,
    },
    /// The server did not come up in time.
    #[error("the server was not ready within {seconds} s; its log: {}", log.display())]
    NotReady {
        /// How long it was waited for.
        seconds: u64,
        /// Where its log is.
        log: PathBuf,
    },
    /// It was asked to end and did not.
    #[error("the server with process id {pid} did not end")]
    NotStopped {
        /// Its process id.
        pid: u32,
    },
    /// Others are connected.
    #[error("{sessions} other sessions of thrice are connected")]
    InUse {
        /// How many.
        sessions: i64,
    },
    /// The folder cannot be entered by the user that has to run the server.
    #[error("{} cannot be entered by user {user}, who has to run the server", path.display())]
    NotReachable {
        /// The folder.
        path: PathBuf,
        /// The user.
        user: String,
    },
    /// This is root, and no other user is there to run a server.
    #[error("root cannot run a PostgreSQL server, and neither a user postgres nor nobody exists")]
    NoServerUser,
    /// The cluster belongs to another machine.
    #[error("the cluster in {} was made on another machine", path.display())]
    OtherHost {
        /// Its folder.
        path: PathBuf,
    },
    /// A file could not be read or written.
    #[error("{what} {}: {source}", path.display())]
    Io {
        /// What was tried.
        what: &'static str,
        /// With which file.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// The server answered, and not as expected.
    #[error("the private server cannot be used: {0}")]
    Server(#[from] tokio_postgres::Error),
}

/// Names the file in an error of the system.
pub(crate) fn io(what: &'static str, path: impl Into<PathBuf>) -> impl FnOnce(std::io::Error) -> LocalPostgresError {
    let path = path.into();
    move |source| LocalPostgresError::Io { what, path, source }
}
