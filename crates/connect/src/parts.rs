//! Each part of the connection settings, and which source it came from. Holds no secret: of a password it says only
//! whether there is one.

use std::fmt;

/// Where a part came from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PartOrigin {
    /// `--database-url`.
    Flag,
    /// An environment variable.
    Variable(String),
    /// The password file, by its path where that is known.
    PasswordFile(Option<String>),
    /// The operating system's name for the user.
    OperatingSystem,
    /// The directory in which a server's socket was found.
    SocketFound,
    /// Nothing names it.
    Default,
}

impl PartOrigin {
    /// The source alone, as error messages name it.
    pub(crate) fn name(&self) -> &str {
        match self {
            Self::Flag => "--database-url",
            Self::Variable(name) => name,
            Self::PasswordFile(_) => "the password file",
            Self::OperatingSystem => "the operating system",
            Self::SocketFound | Self::Default => "the default",
        }
    }
}

impl fmt::Display for PartOrigin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Flag => f.write_str("flag --database-url"),
            Self::Variable(name) => write!(f, "environment variable {name}"),
            Self::PasswordFile(Some(path)) => write!(f, "password file {path}"),
            Self::PasswordFile(None) => f.write_str("password file"),
            Self::OperatingSystem => f.write_str("operating system"),
            Self::SocketFound => f.write_str("default, a socket was found there"),
            Self::Default => f.write_str("default"),
        }
    }
}

/// One part of the settings.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Part {
    /// Its name: `host`, `port`, `user`, `dbname`, `password`, `sslmode`, `connect_timeout`, `target_session_attrs` or
    /// `options`.
    pub name: &'static str,
    /// Its value, for people; `set` or `not set` for a password, and names alone for options.
    pub value: String,
    /// Which source gave it.
    pub origin: PartOrigin,
}
