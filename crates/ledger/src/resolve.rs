//! The outcome of a publish whose COMMIT was not answered.
//!
//! Looking for the receipt at once can miss a transaction that commits a moment later. So the fence is raised first: that update waits
//! for whoever holds the partition and shuts its token out. Only then, in a statement of its own, is the receipt looked for; now its
//! absence is final.

use std::fmt;
use std::time::Duration;

use sqlx::postgres::PgConnection;
use sqlx::{Connection as _, Executor as _};
use thrice_connect::ConnectionSettings;
use tokio::time::Instant;

use crate::data_plane::application_name;
use crate::error::{ErrorKind, LedgerError};
use crate::ledger::connect;
use crate::receipt::{Receipt, receipt_on};
use crate::stored_time::MaybeMoment;

/// How long the barrier waits for the partition before the holder is looked at.
const BARRIER_WAIT: Duration = Duration::from_secs(5);
/// A session that sits idle in its transaction for so long has not received its COMMIT; it is ended.
const IDLE_BEFORE_END: Duration = Duration::from_secs(1);
/// How far an answer may come behind the caller's limit.
const GRACE: Duration = Duration::from_secs(1);
/// The first and the longest pause between two attempts.
const PAUSES: (Duration, Duration) = (Duration::from_millis(50), Duration::from_secs(2));
/// The server's code for a lock that was not granted in time.
const LOCK_NOT_AVAILABLE: &str = "55P03";

/// A run whose COMMIT was sent and not answered.
#[derive(Debug, Clone)]
pub struct UnknownRun {
    /// The partition.
    pub partition_id: i64,
    /// The run.
    pub attempt_id: i64,
    /// Its number among the runs of its partition.
    pub attempt_no: i32,
    /// The token it tried to publish with.
    pub token: i64,
    /// The session that sent the COMMIT.
    pub backend_pid: Option<i32>,
    /// Its transaction (`pg_current_xact_id()`), where it was asked.
    pub xid: Option<String>,
}

/// What became of a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Resolution {
    /// It has published.
    Published(Receipt),
    /// It has not, and never can. Its row says `failed`, class `abandoned`; the partition is free.
    NotPublished,
    /// Not known yet: the run stays as it is, the partition cannot be claimed. Ask again.
    Open {
        /// What stands in the way.
        why: StillOpen,
    },
}

/// Why an outcome is not known yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StillOpen {
    /// No connection could be made.
    Unreachable,
    /// The server that answers is a standby.
    Standby,
    /// Committed here, waiting for a synchronous standby. Such a session is never ended.
    WaitsForStandby {
        /// The session.
        pid: i32,
    },
    /// The session is inside its transaction and has not received the COMMIT; the server does not let us end it.
    IdleInTransaction {
        /// The session.
        pid: i32,
    },
    /// The session is working, perhaps in its COMMIT.
    Working {
        /// The session.
        pid: i32,
        /// What it waits for, in `PostgreSQL`'s words.
        wait_event: Option<String>,
        /// Sessions it waits for.
        blocked_by: Vec<i32>,
    },
    /// Another session holds the partition.
    HeldByAnother {
        /// The session, as far as it can be told.
        pid: Option<i32>,
        /// Its `application_name`.
        application_name: Option<String>,
    },
}

impl fmt::Display for StillOpen {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unreachable => f.write_str("the server cannot be reached"),
            Self::Standby => f.write_str("the server that answers is a standby"),
            Self::WaitsForStandby { pid } => {
                write!(f, "session {pid} has committed and waits for a synchronous standby")
            }
            Self::IdleInTransaction { pid } => {
                write!(
                    f,
                    "session {pid} is idle inside the publish; its own time limit ends it, or pg_terminate_backend({pid})"
                )
            }
            Self::Working { pid, wait_event, blocked_by } => {
                write!(f, "session {pid} is still at it")?;
                if let Some(event) = wait_event {
                    write!(f, ", waiting for {event}")?;
                }
                match blocked_by.as_slice() {
                    [] => Ok(()),
                    sessions => write!(f, ", behind {sessions:?}"),
                }
            }
            Self::HeldByAnother { pid: Some(pid), application_name } => {
                write!(f, "session {pid} ({}) holds the partition", application_name.as_deref().unwrap_or("unnamed"))
            }
            Self::HeldByAnother { pid: None, .. } => f.write_str("another session holds the partition"),
        }
    }
}

/// Finds out what became of a run, on a new connection, for at most about `wait`.
///
/// Safe to ask again, also after an answer that was lost.
///
/// # Errors
/// [`ErrorKind::OtherCluster`] and [`ErrorKind::UnknownRun`]: this is not the database that the run wrote to; stop and look.
/// Errors of statements that waiting does not heal.
pub async fn resolve(
    settings: &ConnectionSettings,
    run: &UnknownRun,
    wait: Duration,
) -> Result<Resolution, LedgerError> {
    let deadline = Instant::now() + wait;
    let mut pause = PAUSES.0;
    loop {
        // A server that swallows our packets must not hold us longer than one that answers.
        let why = match tokio::time::timeout_at(deadline + GRACE, try_once(settings, run, deadline)).await {
            Ok(Ok(Answer::Known(resolution))) => {
                tracing::info!(
                    event = "resolved",
                    partition_id = run.partition_id,
                    attempt_no = run.attempt_no,
                    token = run.token,
                    outcome =
                        if matches!(resolution, Resolution::Published(_)) { "published" } else { "not published" }
                );
                return Ok(resolution);
            }
            Ok(Ok(Answer::Ended)) => continue, // its locks go with it: the next look is the last
            Ok(Ok(Answer::Wait(why))) => why,
            Ok(Err(error)) if *error.kind() == ErrorKind::ReadOnly => StillOpen::Standby,
            Ok(Err(error)) if error.is_connection_lost() => StillOpen::Unreachable,
            Ok(Err(error)) => return Err(error),
            Err(_elapsed) => StillOpen::Unreachable,
        };
        if Instant::now() + pause > deadline {
            return Ok(Resolution::Open { why });
        }
        tokio::time::sleep(pause).await;
        pause = (pause * 2).min(PAUSES.1);
    }
}

enum Answer {
    Known(Resolution),
    Wait(StillOpen),
    /// The session that held the partition was ended just now.
    Ended,
}

async fn try_once(settings: &ConnectionSettings, run: &UnknownRun, deadline: Instant) -> Result<Answer, LedgerError> {
    let mut connection = connect(settings).await?;
    let server = sqlx::query_file!("sql/same_cluster.sql").fetch_one(&mut connection).await?;
    if !server.same {
        return Err(LedgerError::new(
            ErrorKind::OtherCluster,
            "the server that answers is not the one that wrote this ledger",
        ));
    }
    if !server.writable {
        return Ok(Answer::Wait(StillOpen::Standby));
    }
    let known = sqlx::query_file!("sql/run_known.sql", run.attempt_id, run.partition_id, run.token)
        .fetch_one(&mut connection)
        .await?;
    if !known.known {
        let what =
            format!("run {} of partition {} was never started in this database", run.attempt_id, run.partition_id);
        return Err(LedgerError::new(ErrorKind::UnknownRun, what));
    }
    let patience = deadline.saturating_duration_since(Instant::now()).clamp(Duration::from_millis(100), BARRIER_WAIT);
    match raise_fence_and_look(&mut connection, run, patience).await {
        Ok(resolution) => {
            connection.close().await?;
            Ok(Answer::Known(resolution))
        }
        Err(error) if error.has_sqlstate(LOCK_NOT_AVAILABLE) => look_at_holder(&mut connection, run).await,
        Err(error) => Err(error),
    }
}

async fn raise_fence_and_look(
    connection: &mut PgConnection,
    run: &UnknownRun,
    patience: Duration,
) -> Result<Resolution, LedgerError> {
    let mut transaction = connection.begin().await?;
    transaction.execute("set transaction isolation level read committed, read write").await?;
    sqlx::query("select set_config('lock_timeout', $1, true)")
        .bind(format!("{}ms", patience.as_millis()))
        .execute(&mut *transaction)
        .await?;
    sqlx::query_file!("sql/barrier.sql", run.partition_id, run.token).fetch_optional(&mut *transaction).await?;
    // A new statement, hence a snapshot younger than the barrier.
    sqlx::query_file!("sql/outcome.sql", run.partition_id, run.token + 1).fetch_all(&mut *transaction).await?;
    let receipt = receipt_on(&mut transaction, run.attempt_id).await?;
    transaction.commit().await?;
    Ok(receipt.map_or(Resolution::NotPublished, Resolution::Published))
}

async fn look_at_holder(connection: &mut PgConnection, run: &UnknownRun) -> Result<Answer, LedgerError> {
    let name = application_name(run.partition_id, run.attempt_no);
    let holder =
        sqlx::query_file!("sql/holder.sql", name, run.backend_pid, run.xid).fetch_optional(&mut *connection).await?;
    let Some(holder) = holder else {
        let other = sqlx::query_file!("sql/row_waits.sql", run.partition_id).fetch_optional(connection).await?;
        let (pid, application_name) =
            other.map_or((None, None), |other| (Some(other.pid), Some(other.application_name)));
        return Ok(Answer::Wait(StillOpen::HeldByAnother { pid, application_name }));
    };
    let pid = holder.pid;
    if holder.wait_event.as_deref() == Some("SyncRep") {
        return Ok(Answer::Wait(StillOpen::WaitsForStandby { pid }));
    }
    if holder.state.as_deref() != Some("idle in transaction") {
        return Ok(Answer::Wait(StillOpen::Working {
            pid,
            wait_event: holder.wait_event,
            blocked_by: holder.blocked_by,
        }));
    }
    if holder.seconds_in_state < IDLE_BEFORE_END.as_secs_f64() {
        return Ok(Answer::Wait(StillOpen::IdleInTransaction { pid }));
    }
    match sqlx::query_file!("sql/end_holder.sql", name, pid).fetch_optional(connection).await.map_err(LedgerError::from)
    {
        Ok(Some(ended)) if ended.ended => {
            tracing::warn!(
                partition_id = run.partition_id,
                attempt_no = run.attempt_no,
                pid,
                "ended a publish whose commit never arrived"
            );
            Ok(Answer::Ended)
        }
        Ok(_) => Ok(Answer::Wait(StillOpen::IdleInTransaction { pid })), // it moved meanwhile: look again
        Err(error) if *error.kind() == ErrorKind::Permission => Ok(Answer::Wait(StillOpen::IdleInTransaction { pid })),
        Err(error) => Err(error),
    }
}
