//! Turns a driver's failure to connect into what, why and fix.

use std::error::Error as _;
use std::io;

use crate::error::{ConnectError, ConnectErrorKind};
use crate::host::Host;
use crate::settings::ConnectionSettings;

/// The error and its causes in one line: tokio-postgres keeps the telling part in the source.
pub(crate) fn words_of(error: &tokio_postgres::Error) -> String {
    match (error.as_db_error(), error.source()) {
        (Some(db), _) => db.message().to_owned(),
        (None, Some(source)) => source.to_string(),
        (None, None) => error.to_string(),
    }
}

/// Explains why `settings` did not lead to a session.
pub(crate) fn connect_failure(settings: &ConnectionSettings, error: tokio_postgres::Error) -> ConnectError {
    let sqlstate = error.code().map(|code| code.code().to_owned());
    let explained = match &sqlstate {
        Some(code) => by_sqlstate(settings, code, &error),
        None => by_words(settings, &error),
    };
    let explained = match &sqlstate {
        Some(code) => explained.with_sqlstate(code),
        None => explained,
    };
    explained.with_source(error)
}

fn by_sqlstate(settings: &ConnectionSettings, code: &str, error: &tokio_postgres::Error) -> ConnectError {
    let place = settings.place();
    let (user, database) = (settings.user(), settings.database());
    let words = words_of(error);
    let new = |kind, what: String, fix: String| ConnectError::new(kind, what, Some(words.clone()), fix);
    match code {
        "28000" if words.contains("no encryption") => new(
            ConnectErrorKind::Authentication,
            format!("{place} does not let user {user} in without TLS"),
            "TLS is not built yet: ask for a line in pg_hba.conf for this user, or go through a tunnel to a local port"
                .to_owned(),
        ),
        "28000" | "28P01" => new(
            ConnectErrorKind::Authentication,
            format!("{place} does not let user {user} in"),
            if settings.password().is_some() {
                "correct the password in the URL, PGPASSWORD or ~/.pgpass; it is not tried again".to_owned()
            } else {
                "give a password in PGPASSWORD or ~/.pgpass, or another user".to_owned()
            },
        ),
        "3D000" => new(
            ConnectErrorKind::DatabaseMissing,
            format!("there is no database {database} at {place}"),
            format!("create it (createdb {database}), then run `thrice migrate`; or correct the name in the URL"),
        ),
        "42501" => new(
            ConnectErrorKind::PermissionDenied,
            format!("user {user} may not connect to database {database} at {place}"),
            format!("grant connect on database {} to {}", quoted(database), quoted(user)),
        ),
        "53100" => new(
            ConnectErrorKind::ServerExhausted,
            format!("the server at {place} has no disk space left"),
            "free space on the disk of the server, then try again".to_owned(),
        ),
        "53300" | "53200" | "53000" => new(
            ConnectErrorKind::ServerExhausted,
            format!("the server at {place} has no room for another connection"),
            "try again later, close idle sessions, or raise max_connections".to_owned(),
        ),
        "25006" => new(
            ConnectErrorKind::Standby,
            format!("{place} is a standby"),
            "name the primary, or put a proxy in front that follows it".to_owned(),
        ),
        // A startup option that the server does not know or that has a wrong value.
        "22023" | "42704" | "55P02" | "42602" | "22P02" => new(
            ConnectErrorKind::Malformed,
            format!("the server at {place} refuses a setting of the connection"),
            "correct PGOPTIONS, or the options parameter of the URL".to_owned(),
        ),
        _ => new(
            ConnectErrorKind::Unreachable,
            format!("the server at {place} takes no connection now"),
            "wait until it has started or stopped, then try again".to_owned(),
        ),
    }
}

fn by_words(settings: &ConnectionSettings, error: &tokio_postgres::Error) -> ConnectError {
    let place = settings.place();
    let words = words_of(error);
    let cause = error.source().and_then(|source| source.downcast_ref::<io::Error>());
    if words == "password missing" {
        return ConnectError::new(
            ConnectErrorKind::Authentication,
            format!("{place} wants a password for user {}", settings.user()),
            Some("none is given in the URL, PGPASSWORD or the password file".to_owned()),
            "set PGPASSWORD, or add a line to ~/.pgpass (mode 0600)",
        );
    }
    if error.to_string().contains("authentication") {
        return ConnectError::new(
            ConnectErrorKind::Authentication,
            format!("{place} and this client could not agree who user {} is", settings.user()),
            Some(words),
            "look whether this is the server that you mean, and which method its pg_hba.conf asks for",
        );
    }
    let fix = match (settings.host(), cause.map(io::Error::kind)) {
        (Host::Socket(_), Some(io::ErrorKind::NotFound)) => {
            "start the server, or correct the socket directory and the port"
        }
        (Host::Socket(_), Some(io::ErrorKind::PermissionDenied)) => {
            "this user may not open that socket: run as its owner, or use a TCP address"
        }
        (_, Some(io::ErrorKind::ConnectionRefused)) => "start the server, or correct host and port",
        (_, None) if words == "connection closed" => {
            "something listens there and hung up: is it PostgreSQL, and has it room?"
        }
        _ => "check the host name, the port and that the server is up",
    };
    ConnectError::new(ConnectErrorKind::Unreachable, format!("cannot reach PostgreSQL at {place}"), Some(words), fix)
}

fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}
