//! Why no connection: one error for settings that cannot be read and for servers that do not let us in.

use std::fmt;
use std::time::Duration;

/// The cause, as the error table (`TH04xx`) divides it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ConnectErrorKind {
    /// `[database] url_env` names a variable that is not set. TH0401.
    NothingConfigured,
    /// A URL, a variable or a parameter that cannot be used. TH0402.
    Malformed,
    /// Name unknown, port closed, time-out, server starting up or shutting down. TH0403.
    Unreachable,
    /// Wrong or missing password, or no line for us in `pg_hba.conf`. TH0404.
    Authentication,
    /// The database does not exist. TH0405.
    DatabaseMissing,
    /// TLS is asked for (or needed) and not available. TH0406.
    Tls,
    /// The server is a standby. TH0407.
    Standby,
    /// The server is older than the oldest supported version. TH0408.
    ServerTooOld,
    /// The role may not connect to the database. TH0410.
    PermissionDenied,
    /// The server has no connection, memory or disk left. TH0420.
    ServerExhausted,
}

impl ConnectErrorKind {
    /// The stable id of the error table.
    pub const fn code(self) -> &'static str {
        match self {
            Self::NothingConfigured => "TH0401",
            Self::Malformed => "TH0402",
            Self::Unreachable => "TH0403",
            Self::Authentication => "TH0404",
            Self::DatabaseMissing => "TH0405",
            Self::Tls => "TH0406",
            Self::Standby => "TH0407",
            Self::ServerTooOld => "TH0408",
            Self::PermissionDenied => "TH0410",
            Self::ServerExhausted => "TH0420",
        }
    }
}

/// Why there is no connection: what, why and what to do about it. Never holds a password.
#[derive(Debug, thiserror::Error)]
pub struct ConnectError {
    #[source]
    source: Option<tokio_postgres::Error>,
    inner: Box<Inner>,
}

#[derive(Debug)]
struct Inner {
    kind: ConnectErrorKind,
    what: String,
    why: Option<String>,
    fix: String,
    sqlstate: Option<String>,
    tries: u32,
    waited: Duration,
}

impl fmt::Display for ConnectError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.inner.what)?;
        if self.inner.tries > 1 {
            let seconds = self.inner.waited.as_secs_f32();
            write!(f, ", tried {} times in {seconds:.1} s", self.inner.tries)?;
        }
        if let Some(why) = &self.inner.why {
            write!(f, ": {why}")?;
        }
        Ok(())
    }
}

impl ConnectError {
    pub(crate) fn new(
        kind: ConnectErrorKind,
        what: impl Into<String>,
        why: Option<String>,
        fix: impl Into<String>,
    ) -> Self {
        Self {
            source: None,
            inner: Box::new(Inner {
                kind,
                what: what.into(),
                why,
                fix: fix.into(),
                sqlstate: None,
                tries: 1,
                waited: Duration::ZERO,
            }),
        }
    }

    /// A text of the settings that cannot be used (TH0402).
    pub(crate) fn malformed(what: impl Into<String>, why: impl Into<String>, fix: impl Into<String>) -> Self {
        Self::new(ConnectErrorKind::Malformed, what, Some(why.into()), fix)
    }

    pub(crate) fn with_sqlstate(mut self, sqlstate: &str) -> Self {
        self.inner.sqlstate = Some(sqlstate.to_owned());
        self
    }

    pub(crate) fn with_source(mut self, source: tokio_postgres::Error) -> Self {
        self.source = Some(source);
        self
    }

    pub(crate) fn with_tries(mut self, tries: u32, waited: Duration) -> Self {
        self.inner.tries = tries;
        self.inner.waited = waited;
        self
    }

    /// The cause.
    pub fn kind(&self) -> ConnectErrorKind {
        self.inner.kind
    }

    /// The stable id of the error table, `TH0402` and so on.
    pub fn code(&self) -> &'static str {
        self.inner.kind.code()
    }

    /// What failed and where, a lower-case fragment.
    pub fn what(&self) -> &str {
        &self.inner.what
    }

    /// The cause behind it, where one is known.
    pub fn why(&self) -> Option<&str> {
        self.inner.why.as_deref()
    }

    /// What the reader can do.
    pub fn fix(&self) -> &str {
        &self.inner.fix
    }

    /// The server's SQLSTATE, where a server answered.
    pub fn sqlstate(&self) -> Option<&str> {
        self.inner.sqlstate.as_deref()
    }

    /// How often the server was tried, and for how long in all.
    pub fn tries(&self) -> (u32, Duration) {
        (self.inner.tries, self.inner.waited)
    }

    /// Whether the same settings may work a moment later.
    pub fn is_transient(&self) -> bool {
        matches!(
            self.inner.kind,
            ConnectErrorKind::Unreachable | ConnectErrorKind::ServerExhausted | ConnectErrorKind::Standby
        )
    }
}
