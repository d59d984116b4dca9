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
    #[error("others are connected: {}", sessions.join(", "))]
    InUse {
        /// Who: the program's name for itself, its user and database, and the process that serves it.
        sessions: Vec<String>,
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
    /// The cluster was running on another machine and was not stopped there.
    #[error("the cluster in {} was started on another machine and not stopped there", path.display())]
    OtherHost {
        /// Its folder.
        path: PathBuf,
    },
    /// The cluster is there and the file with its password is not, or not the right one.
    #[error("the password of the cluster in {} is lost, and with it the way in (delete that folder to begin anew)", path.display())]
    PasswordLost {
        /// Its folder.
        path: PathBuf,
    },
    /// Another server answers at the socket.
    #[error("another server than this project's answers in {}", socket_dir.display())]
    OtherServer {
        /// Folder of the socket.
        socket_dir: PathBuf,
    },
    /// Nobody answers at the socket of a server that runs.
    #[error("the server that runs does not answer in {}", socket_dir.display())]
    NoAnswer {
        /// Folder of the socket.
        socket_dir: PathBuf,
    },
    /// Another process has been starting or stopping it for very long.
    #[error("another process holds {} for more than {seconds} s", path.display())]
    Busy {
        /// The lock.
        path: PathBuf,
        /// How long it was waited for.
        seconds: u64,
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
