//! The one place that decides which server, database and user is meant.
//!
//! The order is: `--database-url`, the variable named by `url_env`, `DATABASE_URL`, the `PG*`
//! variables. The first that is there decides; what its URL leaves out is filled from `PG*` and
//! the password file, as `psql` does it.

use std::fmt;
use std::time::Duration;

use crate::error::{ConnectError, ConnectErrorKind};
use crate::host::Host;
use crate::parts::{Part, PartOrigin};
use crate::pgpass;
use crate::secret::Secret;
use crate::settings::{ConnectionSettings, DEFAULT_CONNECT_TIMEOUT, TargetSession};
use crate::sources::Sources;
use crate::ssl_mode::{self, SslMode};
use crate::startup_options;
use crate::url::{self, Parts};

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

impl ConnectionSettings {
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
        Ok(Self::resolve_parts(sources)?.map(|(settings, origin, _)| (settings, origin)))
    }

    /// The same, and where each part came from.
    ///
    /// # Errors
    /// As [`ConnectionSettings::resolve`].
    pub fn resolve_parts(sources: &Sources) -> Result<Option<(Self, Origin, Vec<Part>)>, ConnectError> {
        let Some((parts, origin)) = decide(sources)? else {
            return Ok(None);
        };
        let (settings, parts) = fill(parts, &Given { origin: &origin, sources })?;
        Ok(Some((settings, origin, parts)))
    }
}

/// Which source names the database, and its URL taken apart. A variable that decides must not be empty.
fn decide(sources: &Sources) -> Result<Option<(Parts, Origin)>, ConnectError> {
    if let Some(text) = sources.flag_url.as_deref() {
        return Ok(Some((url::parse(text, "--database-url")?, Origin::Flag)));
    }
    let named = sources.url_env.as_deref();
    for name in named.into_iter().chain(["DATABASE_URL"]) {
        if let Some(text) = sources.variable(name) {
            return Ok(Some((url::parse(text, name)?, Origin::Variable(name.to_owned()))));
        }
        if sources.is_empty(name) {
            return Err(empty(name, "unset it, or write postgres://user@host/database into it"));
        }
        if name != "DATABASE_URL" {
            return Err(ConnectError::new(
                ConnectErrorKind::NothingConfigured,
                format!("the variable {name} is not set"),
                Some("[database] url_env in thrice.toml names it".to_owned()),
                format!("set {name}=postgres://…, or give --database-url"),
            ));
        }
    }
    let family = ["PGHOST", "PGDATABASE", "PGSERVICE", "PGHOSTADDR"];
    if family.iter().any(|name| sources.variable(name).is_some()) {
        return Ok(Some((Parts::default(), Origin::PgVariables)));
    }
    match family.iter().find(|name| sources.is_empty(name)) {
        Some(name) => Err(empty(name, "unset it, or name the server in it")),
        None => Ok(None),
    }
}

/// A variable that would decide, and holds nothing: most often what a script failed to fill in. To pass it over would
/// lead to another database than the one that was meant.
fn empty(name: &str, fix: &str) -> ConnectError {
    let why = "another database than the one that was meant would be used";
    ConnectError::malformed(format!("{name} is set and empty"), why, fix)
}

/// What stands behind the URL: the `PG*` variables, each used where the URL is silent.
struct Given<'a> {
    origin: &'a Origin,
    sources: &'a Sources,
}

impl Given<'_> {
    /// The value, and where it was found.
    fn pick(&self, from_url: Option<String>, variable: &str) -> Option<(String, PartOrigin)> {
        if let Some(value) = from_url {
            return Some((value, self.of_url()));
        }
        let value = self.sources.variable(variable)?;
        Some((value.to_owned(), PartOrigin::Variable(variable.to_owned())))
    }

    /// The origin of what the URL says.
    fn of_url(&self) -> PartOrigin {
        match self.origin {
            Origin::Flag => PartOrigin::Flag,
            Origin::Variable(name) => PartOrigin::Variable(name.clone()),
            // they come without a URL
            Origin::PgVariables => PartOrigin::Default,
        }
    }

    fn host(&self, from_url: Option<String>) -> Result<(Host, PartOrigin), ConnectError> {
        for name in ["PGSERVICE", "PGHOSTADDR"] {
            if from_url.is_none() && self.sources.variable(name).is_some() {
                return Err(ConnectError::malformed(
                    format!("{name} is set and not supported"),
                    "it would send psql to a server that thrice does not see",
                    format!("unset {name} and name the server in PGHOST or in a URL"),
                ));
            }
        }
        match self.pick(from_url, "PGHOST") {
            Some((text, from)) if text.contains(',') => Err(url::several_hosts(from.name())),
            Some((text, from)) => Ok((Host::from(text), from)),
            None => Ok(match self.sources.default_socket_dir.as_deref() {
                Some(dir) => (Host::from(dir), PartOrigin::SocketFound),
                None => (Host::from("localhost"), PartOrigin::Default),
            }),
        }
    }

    fn user(&self, from_url: Option<String>) -> Result<(String, PartOrigin), ConnectError> {
        let of_system = || Some((self.sources.os_user.clone()?, PartOrigin::OperatingSystem));
        self.pick(from_url, "PGUSER").or_else(of_system).ok_or_else(|| {
            ConnectError::malformed(
                format!("{} names no user", self.origin),
                "and the operating system has no name for this one",
                "write postgres://user@host/database, or set PGUSER",
            )
        })
    }

    /// The password, unless there is none.
    fn password(
        &self,
        from_url: Option<Secret<String>>,
        address: (&Host, u16, &str, &str),
    ) -> Option<(Secret<String>, PartOrigin)> {
        if let Some(password) = from_url {
            return Some((password, self.of_url()));
        }
        if let Some(text) = self.sources.variable("PGPASSWORD") {
            return Some((Secret::new(text.to_owned()), PartOrigin::Variable("PGPASSWORD".to_owned())));
        }
        let (host, port, database, user) = address;
        let password = pgpass::password_for(self.sources.pgpass.as_deref()?, host, port, database, user)?;
        Some((password, PartOrigin::PasswordFile(self.sources.pgpass_path.clone())))
    }

    /// The variable's settings come first, so that the URL's win where both set one.
    fn options(&self, from_url: Option<&str>) -> Result<Vec<(String, String)>, ConnectError> {
        let mut options: Vec<(String, String)> = Vec::new();
        for (text, from) in [
            (self.sources.variable("PGOPTIONS"), "PGOPTIONS".to_owned()),
            (from_url, format!("parameter options of {}", self.origin)),
        ] {
            let read = startup_options::parse(text.unwrap_or_default()).map_err(|why| {
                ConnectError::malformed(format!("{from} cannot be used"), why, "write -c name=value, one per setting")
            })?;
            for (name, value) in read {
                options.retain(|(known, _)| !known.eq_ignore_ascii_case(&name));
                options.push((name, value));
            }
        }
        Ok(options)
    }
}

/// Puts what the URL gave over what `PG*` and the password file give.
fn fill(parts: Parts, given: &Given<'_>) -> Result<(ConnectionSettings, Vec<Part>), ConnectError> {
    let (host, host_from) = given.host(parts.host)?;
    let (port, port_from) = read(given.pick(parts.port, "PGPORT"), 5432, parse_port)?;
    let (user, user_from) = given.user(parts.user)?;
    let (database, database_from) =
        given.pick(parts.database, "PGDATABASE").unwrap_or_else(|| (user.clone(), PartOrigin::Default));
    for (what, text) in [("user", &user), ("database", &database)] {
        if text.contains('\0') || text.len() > 63 {
            return Err(ConnectError::malformed(
                format!("the {what} name of {} cannot exist", given.origin),
                "names in PostgreSQL have at most 63 bytes and no NUL",
                "shorten it",
            ));
        }
    }
    let asked = given.pick(parts.sslmode, "PGSSLMODE");
    let (asked, ssl_from) = read(asked, None, |text, from| parse_ssl_mode(text, from).map(Some))?;
    let ssl_mode = ssl_mode::settle(asked, &host, port)?;
    let timeout = given.pick(parts.connect_timeout, "PGCONNECT_TIMEOUT");
    let (connect_timeout, timeout_from) = read(timeout, Some(DEFAULT_CONNECT_TIMEOUT), parse_timeout)?;
    let session = given.pick(parts.target_session_attrs, "PGTARGETSESSIONATTRS");
    let (target_session, session_from) = read(session, TargetSession::default(), parse_target_session)?;
    let options = given.options(parts.options.as_deref())?;
    let options_from = match (&parts.options, given.sources.variable("PGOPTIONS")) {
        (Some(_), _) => given.of_url(),
        (None, Some(_)) => PartOrigin::Variable("PGOPTIONS".to_owned()),
        (None, None) => PartOrigin::Default,
    };
    let (password, password_from) = given
        .password(parts.password, (&host, port, &database, &user))
        .map_or((None, PartOrigin::Default), |(password, from)| (Some(password), from));

    let names: Vec<&str> = options.iter().map(|(name, _)| name.as_str()).collect();
    let seconds = connect_timeout.map_or_else(|| "none".to_owned(), |limit| format!("{}s", limit.as_secs()));
    let session = match target_session {
        TargetSession::Any => "any",
        TargetSession::ReadWrite => "read-write",
    };
    let told = [
        ("host", host.to_string(), host_from),
        ("port", port.to_string(), port_from),
        ("user", user.clone(), user_from),
        ("dbname", database.clone(), database_from),
        ("password", if password.is_some() { "set" } else { "not set" }.to_owned(), password_from),
        ("sslmode", ssl_mode.as_str().to_owned(), ssl_from),
        ("connect_timeout", seconds, timeout_from),
        ("target_session_attrs", session.to_owned(), session_from),
        // a value may be somebody's secret
        ("options", if names.is_empty() { "none".to_owned() } else { names.join(", ") }, options_from),
    ];
    let parts = told.into_iter().map(|(name, value, origin)| Part { name, value, origin }).collect();
    let settings = ConnectionSettings {
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
    };
    Ok((settings, parts))
}

/// What was found, read, or the default.
fn read<T>(
    found: Option<(String, PartOrigin)>,
    default: T,
    parse: impl Fn(&str, &str) -> Result<T, ConnectError>,
) -> Result<(T, PartOrigin), ConnectError> {
    match found {
        Some((text, from)) => Ok((parse(&text, from.name())?, from)),
        None => Ok((default, PartOrigin::Default)),
    }
}

fn parse_port(text: &str, from: &str) -> Result<u16, ConnectError> {
    text.parse::<u16>().ok().filter(|port| *port > 0).ok_or_else(|| {
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
    Ok(u64::try_from(seconds).ok().filter(|s| *s > 0).map(Duration::from_secs))
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

#[cfg(test)]
mod tests {
    use super::*;

    const OS_USER: &str = "kim";

    fn sources(env: &[(&str, &str)]) -> Sources {
        Sources {
            env: env.iter().map(|(n, v)| ((*n).to_owned(), (*v).to_owned())).collect(),
            os_user: Some(OS_USER.to_owned()),
            ..Sources::default()
        }
    }

    fn resolve(sources: &Sources) -> (String, String) {
        let (settings, origin) = ConnectionSettings::resolve(sources).unwrap().unwrap();
        (settings.to_string(), origin.to_string())
    }

    fn refusal(sources: &Sources) -> ConnectError {
        ConnectionSettings::resolve(sources).unwrap_err()
    }

    #[test]
    fn flag_before_named_variable_before_database_url_before_pg_variables() {
        let mut all = sources(&[
            ("SHOP_DB", "postgres://localhost/named"),
            ("DATABASE_URL", "postgres://localhost/general"),
            ("PGHOST", "localhost"),
            ("PGDATABASE", "family"),
        ]);
        all.url_env = Some("SHOP_DB".to_owned());
        all.flag_url = Some("postgres://localhost/flag".to_owned());
        let mut seen = vec![resolve(&all).0];
        all.flag_url = None;
        seen.push(resolve(&all).0);
        all.url_env = None;
        seen.push(resolve(&all).0);
        all.env.remove("DATABASE_URL");
        seen.push(resolve(&all).0);
        let expected = ["flag", "named", "general", "family"].map(|d| format!("postgres://kim@localhost:5432/{d}"));
        assert_eq!(seen, expected);
        all.env.clear();
        assert_eq!(ConnectionSettings::resolve(&all).unwrap(), None);
    }

    #[test]
    fn a_named_variable_that_is_not_set_is_no_licence_to_look_elsewhere() {
        let mut given = sources(&[("DATABASE_URL", "postgres://localhost/other")]);
        given.url_env = Some("SHOP_DB".to_owned());
        assert_eq!(refusal(&given).code(), "TH0401");
        assert!(refusal(&given).to_string().contains("SHOP_DB"));
        given.url_env = Some("DATABASE_URL".to_owned());
        given.env = sources(&[("PGHOST", "/tmp")]).env;
        assert_eq!(resolve(&given).1, "PG* variables");
    }

    #[test]
    fn what_the_url_leaves_out_comes_from_pg_variables() {
        let given = sources(&[
            ("DATABASE_URL", "postgres:///shop"),
            ("PGHOST", "/srv/sock et"),
            ("PGPORT", "5611"),
            ("PGUSER", "o'neil@x"),
            ("PGPASSWORD", "pw"),
            ("PGAPPNAME", "psql"),
            ("PGCONNECT_TIMEOUT", "0"),
            ("PGSSLMODE", "verify-full"),
        ]);
        let (settings, _) = ConnectionSettings::resolve(&given).unwrap().unwrap();
        assert_eq!(settings.to_string(), "postgres://o%27neil%40x:***@/shop?host=/srv/sock%20et&port=5611");
        assert_eq!(settings.password().unwrap().expose(), "pw");
        assert_eq!(settings.application_name(), "thrice");
        assert_eq!(settings.connect_timeout(), None);
    }

    #[test]
    fn each_part_says_where_it_came_from_and_the_password_only_that_it_is_there() {
        let mut given = sources(&[
            ("DATABASE_URL", "postgres://app@localhost/shop?options=-c%20a.key%3DQZXJ"),
            ("PGPORT", "5611"),
            ("PGDATABASE", "other"),
        ]);
        given.pgpass = Some("localhost:5611:shop:app:QZXJ".to_owned());
        given.pgpass_path = Some("/home/kim/.pgpass".to_owned());
        let told = |given: &Sources| -> Vec<String> {
            let (_, _, parts) = ConnectionSettings::resolve_parts(given).unwrap().unwrap();
            parts.iter().map(|part| format!("{} {} from {}", part.name, part.value, part.origin)).collect()
        };
        assert_eq!(
            told(&given),
            [
                "host localhost from environment variable DATABASE_URL",
                "port 5611 from environment variable PGPORT",
                "user app from environment variable DATABASE_URL",
                "dbname shop from environment variable DATABASE_URL",
                "password set from password file /home/kim/.pgpass",
                "sslmode prefer from default",
                "connect_timeout 10s from default",
                "target_session_attrs read-write from default",
                "options a.key from environment variable DATABASE_URL",
            ]
        );
        given.env = sources(&[("PGHOST", "/tmp"), ("PGPASSWORD", "QZXJ"), ("PGSSLMODE", "disable")]).env;
        let parts = told(&given);
        assert_eq!(parts[2], "user kim from operating system");
        assert_eq!(parts[4], "password set from environment variable PGPASSWORD");
        assert!(!parts.join(" ").contains("QZXJ"), "{parts:?}");
    }

    #[test]
    fn empty_variables_that_only_add_are_as_good_as_none() {
        let given = sources(&[("PGHOST", ""), ("PGDATABASE", "shop"), ("PGPORT", ""), ("PGUSER", "")]);
        assert_eq!(resolve(&given), ("postgres://kim@localhost:5432/shop".into(), "PG* variables".into()));
    }

    #[test]
    fn an_empty_variable_that_would_decide_is_refused() {
        for (name, others) in [
            ("DATABASE_URL", &[("PGHOST", "localhost")][..]),
            ("SHOP_DB", &[("DATABASE_URL", "postgres://localhost/other")]),
            ("PGHOST", &[]),
            ("PGDATABASE", &[]),
        ] {
            let mut given = sources(others);
            given.env.insert(name.to_owned(), String::new());
            given.url_env = (name == "SHOP_DB").then(|| name.to_owned());
            let error = refusal(&given);
            assert_eq!((error.code(), error.what()), ("TH0402", format!("{name} is set and empty").as_str()));
            // the flag comes first, whatever the environment holds
            given.flag_url = Some("postgres://localhost/flag".to_owned());
            assert_eq!(resolve(&given).1, "--database-url");
        }
    }

    #[test]
    fn url_options_win_over_pgoptions() {
        let given = sources(&[
            ("DATABASE_URL", "postgres://localhost/d?options=-c%20TimeZone%3DUTC"),
            ("PGOPTIONS", "-c timezone=Asia/Seoul -c work_mem=8MB"),
        ]);
        let (settings, _) = ConnectionSettings::resolve(&given).unwrap().unwrap();
        let pairs: Vec<_> = settings.options().iter().map(|(n, v)| (n.as_str(), v.as_str())).collect();
        assert_eq!(pairs, [("work_mem", "8MB"), ("TimeZone", "UTC")]);
    }

    #[test]
    fn the_password_file_fills_in_only_where_nothing_else_does() {
        let mut given = sources(&[("DATABASE_URL", "postgres://localhost/d")]);
        given.pgpass = Some("localhost:5432:d:kim:filed".to_owned());
        let password = |given: &Sources| {
            let (settings, _) = ConnectionSettings::resolve(given).unwrap().unwrap();
            settings.password().map(|p| p.expose().clone())
        };
        assert_eq!(password(&given).as_deref(), Some("filed"));
        given.env.insert("PGPASSWORD".into(), "variable".into());
        assert_eq!(password(&given).as_deref(), Some("variable"));
        given.env.insert("DATABASE_URL".into(), "postgres://kim:url@localhost/d".into());
        assert_eq!(password(&given).as_deref(), Some("url"));
    }

    #[test]
    fn values_of_the_wrong_kind_are_refused() {
        let long = format!("postgres://localhost/{}", "d".repeat(64));
        let cases = [
            ("postgres://localhost:70000/d", "70000"),
            ("postgres://localhost:0/d", "port"),
            ("postgres://localhost:54x/d", "port"),
            ("postgres://localhost/d?connect_timeout=soon", "connect_timeout"),
            ("postgres://localhost/d?sslmode=off", "sslmode"),
            ("postgres://localhost/d?options=-d5", "options"),
            ("postgres://localhost/d?target_session_attrs=standby", "target_session_attrs"),
            (long.as_str(), "63 bytes"),
        ];
        for (url, expected) in cases {
            let error = refusal(&sources(&[("DATABASE_URL", url)]));
            assert_eq!(error.code(), "TH0402", "{url}");
            assert!(error.to_string().contains(expected), "{url}: {error}");
        }
        for (name, value) in [("PGHOST", "a,b"), ("PGPORT", "1,2"), ("PGSERVICE", "x"), ("PGHOSTADDR", "10.0.0.1")] {
            let error = refusal(&sources(&[("PGDATABASE", "d"), (name, value)]));
            assert_eq!(error.code(), "TH0402");
            assert!(error.to_string().contains(name), "{name}: {error}");
        }
    }

    #[test]
    fn a_password_without_its_host_is_not_taken_for_a_port_and_shown() {
        let error = refusal(&sources(&[("DATABASE_URL", "postgres://kim:QZXJ")]));
        let shown = format!("{error} {error:?} {}", error.fix());
        assert!(!shown.contains("QZXJ"), "{shown}");
    }

    #[test]
    fn a_remote_host_is_not_talked_to_in_plain_unless_told() {
        let error = refusal(&sources(&[("DATABASE_URL", "postgres://db.example.org/d")]));
        assert_eq!(error.code(), "TH0406");
        let told = sources(&[("DATABASE_URL", "postgres://db.example.org/d?sslmode=disable")]);
        assert_eq!(resolve(&told).0, "postgres://kim@db.example.org:5432/d");
    }
}
