//! The handle on the ledger: a small pool of connections and the settings they were made with.

use std::time::Duration;

use sqlx::postgres::{PgConnectOptions, PgConnection, PgPool, PgPoolOptions};
use sqlx::{ConnectOptions as _, Connection as _};
use thrice_connect::{ConnectionSettings, ServerVersion};
use thrice_core::time::Timestamp;

use crate::error::{ErrorKind, LedgerError};
use crate::stored_time::Moment;

/// How long to wait for a free connection of the pool, or for a server to answer.
const ACQUIRE_TIMEOUT: Duration = Duration::from_secs(30);

/// A connection that nobody used for so long is asked whether it still lives before it is used.
const ASKED_AFTER: Duration = Duration::from_secs(1);

/// The pool says nothing of a server that refuses; after this long a connection of our own asks why.
const A_MOMENT: Duration = Duration::from_millis(250);

/// Connections of a ledger that does not say how many.
const CONNECTIONS: u32 = 3;

/// The ledger of one database. Cheap to clone; clones share their connections (three at most, or as many as
/// [`Ledger::open_with`] was told).
#[derive(Debug, Clone)]
pub struct Ledger {
    pub(crate) pool: PgPool,
    pub(crate) settings: ConnectionSettings,
}

impl Ledger {
    /// Connects. The schema is not looked at: see [`Ledger::migrate`] and [`Ledger::ensure_current`].
    ///
    /// # Errors
    /// [`ErrorKind::Unreachable`], [`ErrorKind::Authentication`], [`ErrorKind::NoDatabase`],
    /// [`ErrorKind::ServerTooOld`].
    pub async fn open(settings: &ConnectionSettings) -> Result<Self, LedgerError> {
        Self::open_with(settings, CONNECTIONS).await
    }

    /// The same with at most so many connections; calls wait for one another where they are few. One is right for a
    /// process that asks one thing after the other: what the server has looked up for a connection, it need not look up
    /// for another.
    ///
    /// # Errors
    /// As [`Ledger::open`].
    pub async fn open_with(settings: &ConnectionSettings, connections: u32) -> Result<Self, LedgerError> {
        let pool = pool(settings, connections);
        // The pool would hide why it cannot connect, and try again for a long time: then ask ourselves.
        let version = if let Ok(Ok(connection)) = tokio::time::timeout(A_MOMENT, pool.acquire()).await {
            connection.server_version_num()
        } else {
            let connection = connect(settings).await?;
            let version = connection.server_version_num();
            connection.close().await?;
            version
        };
        if version.is_some_and(|number| number / 10_000 < ServerVersion::OLDEST) {
            let what = format!("the server is older than PostgreSQL {}", ServerVersion::OLDEST);
            return Err(LedgerError::new(ErrorKind::ServerTooOld, what));
        }
        Ok(Self { pool, settings: settings.clone() })
    }

    /// The database's clock. Due times and leases are judged by it and by no other.
    pub async fn server_time(&self) -> Result<Timestamp, LedgerError> {
        let row = sqlx::query_file!("sql/server_time.sql").fetch_one(&self.pool).await?;
        Ok(row.now.into())
    }

    /// Closes the connections and waits until they are closed.
    pub async fn close(self) {
        self.pool.close().await;
    }

    /// The statements that make the roles `thrice_reader`, `thrice_operator` and `thrice_worker` and give them what they need.
    /// For the owner of the schema, after [`Ledger::migrate`], as often as one likes.
    pub const fn grants_sql() -> &'static str {
        include_str!("../grants.sql")
    }
}

fn pool(settings: &ConnectionSettings, connections: u32) -> PgPool {
    PgPoolOptions::new()
        .max_connections(connections)
        .acquire_timeout(ACQUIRE_TIMEOUT)
        // A worker's sign of life is one of these connections until its first heartbeat: none may be retired.
        .idle_timeout(None)
        .max_lifetime(None)
        // A connection that was of use a moment ago is not asked whether it lives: a claim would wait for one more answer.
        .test_before_acquire(false)
        .before_acquire(|connection, seen| {
            Box::pin(async move {
                if seen.idle_for > ASKED_AFTER {
                    connection.ping().await?;
                }
                Ok(true)
            })
        })
        .connect_lazy_with(options(settings))
}

/// A connection of its own, outside the pool.
pub(crate) async fn connect(settings: &ConnectionSettings) -> Result<PgConnection, LedgerError> {
    match tokio::time::timeout(ACQUIRE_TIMEOUT, options(settings).connect()).await {
        Ok(Ok(connection)) => Ok(connection),
        Ok(Err(error)) => {
            let error = LedgerError::from(error);
            Err(if error.is_connection_lost() && error.sqlstate().is_none() { error.while_connecting() } else { error })
        }
        Err(_elapsed) => Err(LedgerError::new(ErrorKind::Unreachable, "the server did not answer in time")),
    }
}

fn options(settings: &ConnectionSettings) -> PgConnectOptions {
    settings
        .clone()
        .with_application_name("thrice")
        .sqlx()
        // Every name in our statements is qualified; this keeps functions of other people's schemas out as well.
        .options([("search_path", "pg_catalog,pg_temp")])
        .disable_statement_logging()
}
