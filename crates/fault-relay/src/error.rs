//! What can go wrong before a relay listens.

use std::io;
use std::path::PathBuf;

/// A relay could not be started.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RelayError {
    /// No free TCP port on the loopback address.
    #[error("cannot listen on 127.0.0.1: {source}")]
    Listen {
        /// The system's answer.
        source: io::Error,
    },
    /// The unix socket could not be made: the folder is missing, not writable, or its path too long (107 bytes).
    #[error("cannot listen on the socket {}: {source}", path.display())]
    Socket {
        /// The socket's path.
        path: PathBuf,
        /// The system's answer.
        source: io::Error,
    },
}
