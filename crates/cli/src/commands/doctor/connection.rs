//! The connection: who answers, which version, primary or standby, encrypted or not, as which role.

use thrice_connect::{DataConnection, Host};
use thrice_core::code::ErrorCode;

use super::Patient;
use super::check::Report;
use crate::database::Database;
use crate::fault::Failed;

/// Connects, or reports why that is not possible.
pub(super) async fn connect(database: &Database, report: &mut Report) -> Option<DataConnection> {
    match thrice_connect::connect(&database.settings).await {
        Ok(connection) => Some(connection),
        Err(error) => {
            report.failed("connection", &Failed::from(error));
            None
        }
    }
}

/// `pg_stat_ssl` says it of this session itself, whatever was asked for.
const SESSION: &str = "select pg_catalog.current_setting('server_version') as version, \
    pg_catalog.pg_is_in_recovery() as standby, \
    coalesce((select s.ssl from pg_catalog.pg_stat_ssl s where s.pid = pg_catalog.pg_backend_pid()), false) as ssl, \
    session_user::pg_catalog.text as role, \
    (select r.rolsuper from pg_catalog.pg_roles r where r.rolname = session_user) as superuser";

pub(super) async fn check(patient: &Patient<'_>, connection: &DataConnection, report: &mut Report) {
    let row = match connection.client.query_one(SESSION, &[]).await {
        Ok(row) => row,
        Err(error) => return report.unseen("connection", "the session", &error),
    };
    let (version, standby, ssl): (String, bool, bool) = (row.get(0), row.get(1), row.get(2));
    let (role, superuser): (String, Option<bool>) = (row.get(3), row.get(4));
    let settings = &patient.database.settings;
    let way = match (settings.host(), ssl) {
        (_, true) => format!("TLS ({})", settings.ssl_mode().as_str()),
        (Host::Socket(_), false) => "local socket".to_owned(),
        (Host::Tcp(_), false) => "not encrypted".to_owned(),
    };
    let version = version.split_whitespace().next().unwrap_or_default().to_owned();
    let place = connection.place();
    match connection.version_warning() {
        Some(warning) => {
            report.warn(
                "server_version",
                ErrorCode::ServerVersion,
                warning,
                "use a version that thrice is tested with",
            );
        }
        None => report.ok("server_version", format!("server {version} at {place}, {way}, role {role}")),
    }
    if standby {
        report.fail(
            "primary",
            ErrorCode::ReadOnlyServer,
            format!("{place} is a standby: nothing can be published there"),
            "name the primary, or leave target_session_attrs out",
        );
    } else {
        report.ok("primary", "primary, takes writes");
    }
    let remote = matches!(settings.host(), Host::Tcp(_)) && !settings.host().is_local();
    if !ssl && remote {
        report.warn(
            "tls",
            ErrorCode::TlsFailed,
            format!("the connection to {place} is not encrypted (sslmode={})", settings.ssl_mode().as_str()),
            "sslmode=verify-full, or a tunnel to a local port",
        );
    }
    if superuser == Some(true) && patient.database.private {
        // nobody else is in there, and no other role
        report.ok("superuser", format!("the role {role} is the superuser of the private PostgreSQL"));
    } else if superuser == Some(true) {
        report.warn(
            "superuser",
            ErrorCode::SuperuserRole,
            format!(
                "the role {role} is a superuser: no grant and no row security limits what a query of a pipeline can do"
            ),
            "create role app login in role thrice_worker; and connect as it",
        );
    } else {
        report.ok("superuser", format!("the role {role} is not a superuser"));
    }
}
