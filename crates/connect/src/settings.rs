//! The one place that decides which server, database and user is meant.
//!
//! The order is: `--database-url`, the variable named by `url_env`, `DATABASE_URL`, the `PG*`
//! variables. The first that is there decides; what its URL leaves out is filled from `PG*` and
//! the password file, as `psql` does it.

use std::fmt;
use std::time::Duration;

use crate::error::{ConnectError, ConnectErrorKind};
use crate::host::Host;
use crate::percent;
use crate::pgpass;
use crate::secret::Secret;
use crate::sources::Sources;
use crate::ssl_mode::{self, SslMode};
use crate::startup_options;
use crate::url::{self, Parts};

/// How long one attempt to connect may take where nothing else is said.
const DEFAULT_CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// Which source decided where the database is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Origin {
    /// `--database-url`.
    Flag,
    /// An environment variable that holds a URL: `DATABASE_URL`, or the one of `url_env`.
    Variable(String),
    /// `PGHOST`, `PGDATABASE` and their family.
    PgVariables,
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Flag => f.write_str("--database-url"),
            Self::Variable(name) => f.write_str(name),
            Self::PgVariables => f.write_str("PG* variables"),
        }
    }
}

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
    host: Host,
    port: u16,
    user: String,
    database: String,
    password: Option<Secret<String>>,
    ssl_mode: SslMode,
    connect_timeout: Option<Duration>,
    options: Vec<(String, String)>,
    application_name: String,
    target_session: TargetSession,
}

impl ConnectionSettings {
    /// Settings made by a program that knows them, without any source: plain, no password, ten
    /// seconds to connect.
    pub fn new(
        host: impl Into<Host>,
        port: u16,
        user: impl Into<String>,
        database: impl Into<String>,
    ) -> Self {
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

    /// Reads the sources; `None` where none of them names a database.
    ///
    /// `PG*` variables name one when `PGHOST` or `PGDATABASE` is set. `PGAPPNAME` is ignored:
    /// the application name tells thrice's own connections apart.
    ///
    /// # Errors
    /// TH0402 for what cannot be read, TH0406 where TLS would be needed, TH0401 where `url_env`
    /// names a variable (other than `DATABASE_URL`) that is not set: another source might name
    /// another database.
    pub fn resolve(sources: &Sources) -> Result<Option<(Self, Origin)>, ConnectError> {
        let named = sources.url_env.as_deref();
        let (parts, origin) = if let Some(text) = sources.flag_url.as_deref() {
            (url::parse(text, "--database-url")?, Origin::Flag)
        } else if let Some((name, text)) =
            named.and_then(|name| Some((name, sources.variable(name)?)))
        {
            (url::parse(text, name)?, Origin::Variable(name.to_owned()))
        } else if let Some(name) = named.filter(|name| *name != "DATABASE_URL") {
            return Err(ConnectError::new(
                ConnectErrorKind::NothingConfigured,
                format!("the variable {name} is not set"),
                Some("[database] url_env in thrice.toml names it".to_owned()),
                format!("set {name}=postgres://…, or give --database-url"),
            ));
        } else if let Some(text) = sources.variable("DATABASE_URL") {
            (
                url::parse(text, "DATABASE_URL")?,
                Origin::Variable("DATABASE_URL".to_owned()),
            )
        } else if ["PGHOST", "PGDATABASE", "PGSERVICE", "PGHOSTADDR"]
            .iter()
            .any(|name| sources.variable(name).is_some())
        {
            (Parts::default(), Origin::PgVariables)
        } else {
            return Ok(None);
        };
        Self::fill(parts, &origin, sources).map(|settings| Some((settings, origin)))
    }

    /// Puts what the URL gave over what `PG*` and the password file give.
    fn fill(parts: Parts, origin: &Origin, sources: &Sources) -> Result<Self, ConnectError> {
        for name in ["PGSERVICE", "PGHOSTADDR"] {
            if parts.host.is_none() && sources.variable(name).is_some() {
                return Err(ConnectError::malformed(
                    format!("{name} is set and not supported"),
                    "it would send psql to a server that thrice does not see",
                    format!("unset {name} and name the server in PGHOST or in a URL"),
                ));
            }
        }
        let pick = |from_url: Option<String>, variable: &'static str| match from_url {
            Some(value) => Some((value, origin.to_string())),
            None => sources
                .variable(variable)
                .map(|value| (value.to_owned(), variable.to_owned())),
        };

        let host = match pick(parts.host, "PGHOST") {
            Some((text, from)) if text.contains(',') => return Err(url::several_hosts(&from)),
            Some((text, _)) => Host::from(text),
            None => Host::from(
                sources
                    .default_socket_dir
                    .clone()
                    .unwrap_or_else(|| "localhost".to_owned()),
            ),
        };
        let port =
            pick(parts.port, "PGPORT").map_or(Ok(5432), |(text, from)| parse_port(&text, &from))?;
        let user = pick(parts.user, "PGUSER")
            .map(|(text, _)| text)
            .or_else(|| sources.os_user.clone())
            .ok_or_else(|| {
                ConnectError::malformed(
                    format!("{origin} names no user"),
                    "and the operating system has no name for this one",
                    "write postgres://user@host/database, or set PGUSER",
                )
            })?;
        let database =
            pick(parts.database, "PGDATABASE").map_or_else(|| user.clone(), |(text, _)| text);
        for (what, text) in [("user", &user), ("database", &database)] {
            if text.contains('\0') || text.len() > 63 {
                return Err(ConnectError::malformed(
                    format!("the {what} name of {origin} cannot exist"),
                    "names in PostgreSQL have at most 63 bytes and no NUL",
                    "shorten it",
                ));
            }
        }
        let ssl_mode = ssl_mode::settle(
            pick(parts.sslmode, "PGSSLMODE")
                .map(|(text, from)| parse_ssl_mode(&text, &from))
                .transpose()?,
            &host,
            port,
        )?;
        let connect_timeout = pick(parts.connect_timeout, "PGCONNECT_TIMEOUT")
            .map_or(Ok(Some(DEFAULT_CONNECT_TIMEOUT)), |(text, from)| {
                parse_timeout(&text, &from)
            })?;
        let target_session = pick(parts.target_session_attrs, "PGTARGETSESSIONATTRS")
            .map_or(Ok(TargetSession::default()), |(text, from)| {
                parse_target_session(&text, &from)
            })?;

        // The variable's settings come first, so that the URL's win where both set one.
        let mut options = Vec::new();
        for (text, from) in [
            (sources.variable("PGOPTIONS"), "PGOPTIONS".to_owned()),
            (
                parts.options.as_deref(),
                format!("parameter options of {origin}"),
            ),
        ] {
            let read = startup_options::parse(text.unwrap_or_default()).map_err(|why| {
                ConnectError::malformed(
                    format!("{from} cannot be used"),
                    why,
                    "write -c name=value, one per setting",
                )
            })?;
            for (name, value) in read {
                options.retain(|(known, _): &(String, String)| !known.eq_ignore_ascii_case(&name));
                options.push((name, value));
            }
        }

        let password = parts
            .password
            .or_else(|| {
                sources
                    .variable("PGPASSWORD")
                    .map(|text| Secret::new(text.to_owned()))
            })
            .or_else(|| {
                let text = sources.pgpass.as_deref()?;
                pgpass::password_for(text, &host, port, &database, &user)
            });
        if password.as_ref().is_some_and(|p| p.expose().contains('\0')) {
            return Err(ConnectError::malformed(
                format!("the password for {}", host.place(port)),
                "it contains a NUL",
                "PostgreSQL cannot store such a password",
            ));
        }
        Ok(Self {
            host,
            port,
            user,
            database,
            password,
            ssl_mode,
            connect_timeout,
            options,
            application_name: "thrice".to_owned(),
            target_session,
        })
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
        self.options
            .retain(|(known, _)| !known.eq_ignore_ascii_case(&name));
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
                write!(
                    f,
                    "@/{database}?host={}&port={}",
                    percent::encode(dir, true),
                    self.port
                )
            }
        }
    }
}

fn parse_port(text: &str, from: &str) -> Result<u16, ConnectError> {
    text.parse::<u16>()
        .ok()
        .filter(|port| *port > 0)
        .ok_or_else(|| {
            // A word here can be a password whose host was forgotten; only digits are repeated.
            let shown = if text.chars().all(|c| c.is_ascii_digit() || c == ',') {
                format!("the port {text} of {from}")
            } else {
                format!("the port of {from}")
            };
            ConnectError::malformed(
                format!("{shown} cannot be used"),
                "a port is one number from 1 to 65535",
                "write postgres://user@host:5432/database, or set PGPORT",
            )
        })
}

fn parse_ssl_mode(text: &str, from: &str) -> Result<SslMode, ConnectError> {
    SslMode::parse(text).ok_or_else(|| {
        ConnectError::malformed(
            format!("the sslmode of {from} cannot be used"),
            "it is none of disable, allow, prefer, require, verify-ca, verify-full",
            "write sslmode=disable or sslmode=prefer",
        )
    })
}

/// Whole seconds; zero and less mean no limit, as in libpq.
fn parse_timeout(text: &str, from: &str) -> Result<Option<Duration>, ConnectError> {
    let seconds: i32 = text.trim().parse().map_err(|_| {
        ConnectError::malformed(
            format!("the connect_timeout of {from} cannot be used"),
            "it is not a whole number of seconds",
            "write connect_timeout=10",
        )
    })?;
    Ok(u64::try_from(seconds)
        .ok()
        .filter(|s| *s > 0)
        .map(Duration::from_secs))
}

fn parse_target_session(text: &str, from: &str) -> Result<TargetSession, ConnectError> {
    match text {
        "any" => Ok(TargetSession::Any),
        "read-write" | "primary" => Ok(TargetSession::ReadWrite),
        _ => Err(ConnectError::malformed(
            format!("the target_session_attrs of {from} cannot be used"),
            "thrice writes: only any, read-write and primary make sense",
            "write target_session_attrs=read-write, or leave it out",
        )),
    }
}
