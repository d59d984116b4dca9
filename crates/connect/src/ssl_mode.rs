//! Which encryption is asked for. TLS itself is not built yet: what needs it is refused by name.

use crate::error::{ConnectError, ConnectErrorKind};
use crate::host::Host;

/// libpq's `sslmode`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SslMode {
    /// Plain.
    Disable,
    /// Plain, TLS where the server insists.
    Allow,
    /// TLS where the server offers it.
    Prefer,
    /// TLS, certificate not checked.
    Require,
    /// TLS, certificate signed by a known authority.
    VerifyCa,
    /// TLS, certificate signed by a known authority for this host name.
    VerifyFull,
}

impl SslMode {
    /// The word of the URL parameter.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Disable => "disable",
            Self::Allow => "allow",
            Self::Prefer => "prefer",
            Self::Require => "require",
            Self::VerifyCa => "verify-ca",
            Self::VerifyFull => "verify-full",
        }
    }

    pub(crate) fn parse(text: &str) -> Option<Self> {
        [Self::Disable, Self::Allow, Self::Prefer, Self::Require, Self::VerifyCa, Self::VerifyFull]
            .into_iter()
            .find(|mode| mode.as_str() == text)
    }
}

/// The mode that will be used, or why the connection is refused.
///
/// A socket is plain whatever is asked, as in libpq. A loopback host is plain unless TLS is
/// demanded. Any other host is plain only where the user said so: the default there is
/// `verify-full`.
pub(crate) fn settle(asked: Option<SslMode>, host: &Host, port: u16) -> Result<SslMode, ConnectError> {
    let mode = match (asked, host) {
        (_, Host::Socket(_)) => return Ok(SslMode::Disable),
        (Some(mode), Host::Tcp(_)) => mode,
        (None, Host::Tcp(_)) if host.is_local() => SslMode::Prefer,
        (None, Host::Tcp(_)) => SslMode::VerifyFull,
    };
    match mode {
        SslMode::Disable | SslMode::Allow | SslMode::Prefer => Ok(mode),
        SslMode::Require | SslMode::VerifyCa | SslMode::VerifyFull => Err(ConnectError::new(
            ConnectErrorKind::Tls,
            format!("no TLS connection to {}", host.place(port)),
            Some(match asked {
                Some(mode) => format!("sslmode={} is asked for and TLS is not built yet", mode.as_str()),
                None => "a host that is not local defaults to sslmode=verify-full, and TLS is not built yet".to_owned(),
            }),
            "add sslmode=disable to the URL (or set PGSSLMODE=disable) to accept a connection without encryption, \
             or go through a tunnel to a local port",
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_where_local_or_said_so() {
        let settled = |asked, host: &str| settle(asked, &Host::from(host), 5432).map_err(|e| e.code());
        assert_eq!(settled(None, "localhost"), Ok(SslMode::Prefer));
        assert_eq!(settled(Some(SslMode::VerifyFull), "/tmp"), Ok(SslMode::Disable));
        assert_eq!(settled(Some(SslMode::Require), "localhost"), Err("TH0406"));
        assert_eq!(settled(None, "db.example.org"), Err("TH0406"));
        assert_eq!(settled(Some(SslMode::Disable), "db.example.org"), Ok(SslMode::Disable));
        assert_eq!(settled(Some(SslMode::Prefer), "db.example.org"), Ok(SslMode::Prefer));
    }
}
