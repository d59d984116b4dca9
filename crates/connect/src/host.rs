//! Where the server listens: a TCP host, or the directory of a Unix socket.

use std::fmt;
use std::net::IpAddr;

/// One server address. A text that starts with `/` is a socket directory, as in libpq.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Host {
    /// A host name or an IP address (IPv6 without brackets).
    Tcp(String),
    /// The directory that holds `.s.PGSQL.<port>`.
    Socket(String),
}

impl Host {
    /// Whether the connection cannot leave this machine: a socket, `localhost`, or a loopback address.
    pub fn is_local(&self) -> bool {
        match self {
            Self::Socket(_) => true,
            Self::Tcp(name) => {
                name.eq_ignore_ascii_case("localhost") || name.parse::<IpAddr>().is_ok_and(|ip| ip.is_loopback())
            }
        }
    }

    /// The host name or the socket directory.
    pub fn as_str(&self) -> &str {
        match self {
            Self::Tcp(text) | Self::Socket(text) => text,
        }
    }

    /// `host:port`, or the path of the socket file: what an error names.
    pub fn place(&self, port: u16) -> String {
        match self {
            Self::Tcp(name) if name.contains(':') => format!("[{name}]:{port}"),
            Self::Tcp(name) => format!("{name}:{port}"),
            Self::Socket(dir) => format!("{}/.s.PGSQL.{port}", dir.trim_end_matches('/')),
        }
    }
}

impl From<&str> for Host {
    fn from(text: &str) -> Self {
        if text.starts_with('/') { Self::Socket(text.to_owned()) } else { Self::Tcp(text.to_owned()) }
    }
}

impl From<String> for Host {
    fn from(text: String) -> Self {
        Self::from(text.as_str())
    }
}

impl fmt::Display for Host {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_loopback_and_sockets_are_local() {
        for local in ["/tmp", "localhost", "LOCALHOST", "127.0.0.1", "127.9.9.9", "::1"] {
            assert!(Host::from(local).is_local(), "{local}");
        }
        for remote in ["db", "10.0.0.1", "localhost.example.org", "::2", "0.0.0.0"] {
            assert!(!Host::from(remote).is_local(), "{remote}");
        }
    }

    #[test]
    fn places_are_what_people_can_look_at() {
        assert_eq!(Host::from("db").place(5432), "db:5432");
        assert_eq!(Host::from("::1").place(5432), "[::1]:5432");
        assert_eq!(Host::from("/tmp/").place(5611), "/tmp/.s.PGSQL.5611");
    }
}
