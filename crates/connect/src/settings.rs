//! How to reach one database as one user, already decided.

use std::fmt;
use std::time::Duration;

use crate::host::Host;
use crate::percent;
use crate::secret::Secret;
use crate::ssl_mode::SslMode;

/// How long one attempt to connect may take where nothing else is said.
pub(crate) const DEFAULT_CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// Whether a standby will do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum TargetSession {
    /// A standby is refused with TH0407: thrice writes.
    #[default]
    ReadWrite,
    /// `target_session_attrs=any`: whoever answers.
    Any,
}

/// How to reach one database as one user. `Display` is its URL with the password hidden.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConnectionSettings {
    pub(crate) host: Host,
    pub(crate) port: u16,
    pub(crate) user: String,
    pub(crate) database: String,
    pub(crate) password: Option<Secret<String>>,
    pub(crate) ssl_mode: SslMode,
    pub(crate) connect_timeout: Option<Duration>,
    pub(crate) options: Vec<(String, String)>,
    pub(crate) application_name: String,
    pub(crate) target_session: TargetSession,
}

impl ConnectionSettings {
    /// Settings made by a program that knows them, without any source: plain, no password, ten
    /// seconds to connect.
    pub fn new(host: impl Into<Host>, port: u16, user: impl Into<String>, database: impl Into<String>) -> Self {
        Self {
            host: host.into(),
            port,
            user: user.into(),
            database: database.into(),
            password: None,
            ssl_mode: SslMode::Disable,
            connect_timeout: Some(DEFAULT_CONNECT_TIMEOUT),
            options: Vec::new(),
            application_name: "thrice".to_owned(),
            target_session: TargetSession::ReadWrite,
        }
    }

    /// The server's host or socket directory.
    pub const fn host(&self) -> &Host {
        &self.host
    }

    /// The server's port; part of the name of a socket file, too.
    pub const fn port(&self) -> u16 {
        self.port
    }

    /// The database role to log in as.
    pub fn user(&self) -> &str {
        &self.user
    }

    /// The database.
    pub fn database(&self) -> &str {
        &self.database
    }

    /// The password, where one was found.
    pub const fn password(&self) -> Option<&Secret<String>> {
        self.password.as_ref()
    }

    /// The encryption that was settled on.
    pub const fn ssl_mode(&self) -> SslMode {
        self.ssl_mode
    }

    /// How long one attempt to connect may take; `None` = as long as it takes.
    pub const fn connect_timeout(&self) -> Option<Duration> {
        self.connect_timeout
    }

    /// Server settings given at the start of each session, in order.
    pub fn options(&self) -> &[(String, String)] {
        &self.options
    }

    /// The name that `pg_stat_activity` shows; `thrice` unless changed.
    pub fn application_name(&self) -> &str {
        &self.application_name
    }

    /// Whether a standby will do.
    pub const fn target_session(&self) -> TargetSession {
        self.target_session
    }

    /// `host:port` or the socket file: what an error names.
    pub fn place(&self) -> String {
        self.host.place(self.port)
    }

    /// The same settings for another address: a relay in front of the server, for example.
    #[must_use]
    pub fn with_host(mut self, host: impl Into<Host>, port: u16) -> Self {
        self.host = host.into();
        self.port = port;
        self
    }

    /// The same settings for another database of the server.
    #[must_use]
    pub fn with_database(mut self, database: impl Into<String>) -> Self {
        self.database = database.into();
        self
    }

    /// The same settings for another role; the password is forgotten.
    #[must_use]
    pub fn with_user(mut self, user: impl Into<String>) -> Self {
        self.user = user.into();
        self.password = None;
        self
    }

    /// The same settings with this password.
    #[must_use]
    pub fn with_password(mut self, password: impl Into<String>) -> Self {
        self.password = Some(Secret::new(password.into()));
        self
    }

    /// The same settings under another name in `pg_stat_activity` (63 bytes are kept there).
    #[must_use]
    pub fn with_application_name(mut self, name: impl Into<String>) -> Self {
        self.application_name = name.into();
        self
    }

    /// The same settings with one more server setting at the start of each session.
    #[must_use]
    pub fn with_option(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        let name = name.into();
        self.options.retain(|(known, _)| !known.eq_ignore_ascii_case(&name));
        self.options.push((name, value.into()));
        self
    }

    /// The same settings with another limit for one attempt to connect.
    #[must_use]
    pub const fn with_connect_timeout(mut self, limit: Option<Duration>) -> Self {
        self.connect_timeout = limit;
        self
    }
}

impl fmt::Display for ConnectionSettings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "postgres://{}", percent::encode(&self.user, false))?;
        if self.password.is_some() {
            f.write_str(":***")?;
        }
        let database = percent::encode(&self.database, false);
        match &self.host {
            Host::Tcp(_) => write!(f, "@{}/{database}", self.place()),
            Host::Socket(dir) => {
                write!(f, "@/{database}?host={}&port={}", percent::encode(dir, true), self.port)
            }
        }
    }
}
