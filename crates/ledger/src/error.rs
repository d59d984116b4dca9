//! One error for everything the ledger can answer; callers branch on its kind, its SQLSTATE and its code.

use std::fmt;

use thrice_core::code::ErrorCode;
use thrice_core::sqlstate::SqlState;

/// What went wrong, as far as a caller can act on it.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum ErrorKind {
    /// No server answers.
    Unreachable,
    /// User, password or `pg_hba.conf`.
    Authentication,
    /// The database does not exist.
    NoDatabase,
    /// The ledger is absent, or older than this program.
    Behind,
    /// The ledger is newer than this program, or was migrated with other files.
    Ahead,
    /// A standby, or a read-only session.
    ReadOnly,
    /// The server is older than any that thrice works with.
    ServerTooOld,
    /// The role lacks a privilege.
    Permission,
    /// The server that answers is not the one that wrote the ledger.
    OtherCluster,
    /// The run that is asked about was never started in this database.
    UnknownRun,
    /// The claim is no longer ours: a newer token exists.
    Fenced,
    /// The partition is closed.
    Closed,
    /// The run is not in the state that the step begins with.
    WrongState,
    /// The publish was refused by one of its counts: rows written, read back and staged differ.
    Counts,
    /// The worker's row is gone: it was taken for dead.
    WorkerGone,
    /// Grain or time zone changed although partitions are published.
    IntervalsChanged {
        /// The cut as recorded.
        recorded: Box<RecordedCut>,
    },
    /// The pipeline has published into another table: its receipts say nothing about this one.
    TargetChanged {
        /// The table as recorded, for people.
        recorded: String,
    },
    /// Another pipeline writes this target.
    TargetTaken {
        /// Its name.
        by: String,
        /// It has published: its receipts account for the rows there.
        published: bool,
    },
    /// The lane is not in the ledger.
    UnknownLane,
    /// The connection went away; whether the statement had an effect is not known.
    ConnectionLost,
    /// The caller wanted to stop, and the answer did not come in time; whether the statement had an effect is not known.
    GivenUp,
    /// The server refused a statement.
    Statement,
    /// The ledger holds something that this version cannot read.
    Unreadable,
}

/// The cut of time by which a pipeline's partitions are published.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RecordedCut {
    /// Name of the pipeline.
    pub pipeline: String,
    /// How long its intervals are.
    pub grain: String,
    /// The zone that cuts them.
    pub time_zone: String,
}

/// An error of the ledger. The driver's error is the source; its text may hold values and is not part of this one.
#[derive(Debug)]
pub struct LedgerError {
    kind: ErrorKind,
    what: Box<str>,
    source: Option<Box<dyn std::error::Error + Send + Sync>>,
    sqlstate: Option<SqlState>,
    state: Option<Box<str>>,
}

impl LedgerError {
    pub(crate) fn new(kind: ErrorKind, what: impl Into<String>) -> Self {
        Self { kind, what: what.into().into_boxed_str(), source: None, sqlstate: None, state: None }
    }

    /// The answer was not waited for.
    pub fn given_up() -> Self {
        Self::new(ErrorKind::GivenUp, "stopped before the ledger answered")
    }

    pub(crate) fn unreadable(source: impl std::error::Error + Send + Sync + 'static) -> Self {
        let mut error = Self::new(ErrorKind::Unreadable, source.to_string());
        error.source = Some(Box::new(source));
        error
    }

    /// What a caller can branch on.
    pub fn kind(&self) -> &ErrorKind {
        &self.kind
    }

    /// The SQLSTATE of the server's answer, if the server answered.
    pub fn sqlstate(&self) -> Option<SqlState> {
        self.sqlstate
    }

    /// The code that people look up, where the situation has one.
    pub fn code(&self) -> Option<ErrorCode> {
        code_of(&self.kind)
    }

    /// Is this the server's code?
    pub(crate) fn has_sqlstate(&self, code: &str) -> bool {
        self.state.as_deref() == Some(code)
    }

    /// The constraint that the server found violated.
    pub(crate) fn violated(&self) -> Option<&str> {
        let error = self.source.as_deref()?.downcast_ref::<sqlx::Error>()?;
        error.as_database_error()?.constraint()
    }

    /// The same, seen while no connection existed yet.
    pub(crate) fn while_connecting(mut self) -> Self {
        self.kind = ErrorKind::Unreachable;
        self.what = "no connection to the ledger could be made".into();
        self
    }

    /// Did the connection go away? Then nothing is known about the statement's effect.
    pub fn is_connection_lost(&self) -> bool {
        matches!(self.kind, ErrorKind::ConnectionLost | ErrorKind::Unreachable)
    }
}

impl fmt::Display for LedgerError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.what)?;
        match &self.state {
            Some(state) => write!(f, " (SQLSTATE {state})"),
            None => Ok(()),
        }
    }
}

impl std::error::Error for LedgerError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.source.as_deref().map(|source| source as _)
    }
}

impl From<sqlx::Error> for LedgerError {
    fn from(error: sqlx::Error) -> Self {
        let state =
            error.as_database_error().and_then(sqlx::error::DatabaseError::code).map(|code| Box::<str>::from(&*code));
        let (kind, what) = match (&state, &error) {
            (Some(state), _) => of_sqlstate(state),
            (
                None,
                sqlx::Error::Io(_) | sqlx::Error::Protocol(_) | sqlx::Error::PoolClosed | sqlx::Error::WorkerCrashed,
            ) => (ErrorKind::ConnectionLost, "the connection to the ledger was lost"),
            (None, sqlx::Error::PoolTimedOut | sqlx::Error::Tls(_)) => {
                (ErrorKind::Unreachable, "no connection to the ledger could be made")
            }
            (None, sqlx::Error::ColumnDecode { .. } | sqlx::Error::Decode(_) | sqlx::Error::RowNotFound) => {
                (ErrorKind::Unreadable, "the ledger answered in a way that this version cannot read")
            }
            (None, _) => (ErrorKind::Statement, "the ledger refused a statement"),
        };
        let sqlstate = state.as_deref().and_then(|state| state.parse().ok());
        Self { kind, what: what.into(), source: Some(Box::new(error)), sqlstate, state }
    }
}

fn of_sqlstate(state: &str) -> (ErrorKind, &'static str) {
    match state {
        "TH002" => (ErrorKind::Fenced, "the partition has been given to another worker since"),
        "TH003" => (ErrorKind::Closed, "the partition is closed"),
        "TH010" => (ErrorKind::WrongState, "the run is not in a state that allows this step"),
        "TH011" | "TH012" | "TH013" => {
            (ErrorKind::Counts, "rows written, rows read back and rows staged are not the same")
        }
        "28000" | "28P01" => (ErrorKind::Authentication, "the server does not let this user in"),
        "3D000" => (ErrorKind::NoDatabase, "the database does not exist"),
        "3F000" | "42P01" | "42703" | "42883" => {
            (ErrorKind::Behind, "the ledger is missing or older than this program")
        }
        "25006" => (ErrorKind::ReadOnly, "the server that answers cannot be written to"),
        "42501" => (ErrorKind::Permission, "a privilege on the ledger is missing"),
        "57P01" | "57P02" | "57P03" | "57P05" => {
            (ErrorKind::ConnectionLost, "the server ended the connection to the ledger")
        }
        _ if state.starts_with("08") => (ErrorKind::ConnectionLost, "the connection to the ledger was lost"),
        _ => (ErrorKind::Statement, "the ledger refused a statement"),
    }
}

/// The code that people look up. Losing the connection has none of its own: it depends on what was being done.
fn code_of(kind: &ErrorKind) -> Option<ErrorCode> {
    Some(match kind {
        ErrorKind::Unreachable => ErrorCode::Unreachable,
        ErrorKind::Authentication => ErrorCode::LoginRefused,
        ErrorKind::NoDatabase => ErrorCode::DatabaseMissing,
        ErrorKind::Behind | ErrorKind::Ahead => ErrorCode::LedgerVersion,
        ErrorKind::ReadOnly => ErrorCode::ReadOnlyServer,
        ErrorKind::ServerTooOld => ErrorCode::ServerVersion,
        ErrorKind::Permission => ErrorCode::PrivilegeMissing,
        ErrorKind::OtherCluster => ErrorCode::OtherCluster,
        ErrorKind::Fenced | ErrorKind::WorkerGone => ErrorCode::Fenced,
        ErrorKind::Closed => ErrorCode::Closed,
        ErrorKind::Counts => ErrorCode::WrittenDiffers,
        ErrorKind::IntervalsChanged { .. } => ErrorCode::EpochChanged,
        ErrorKind::TargetChanged { .. } => ErrorCode::TargetChanged,
        ErrorKind::TargetTaken { .. } => ErrorCode::TargetShared,
        ErrorKind::UnknownLane => ErrorCode::UnknownLane,
        ErrorKind::GivenUp => ErrorCode::Stopped,
        ErrorKind::UnknownRun
        | ErrorKind::WrongState
        | ErrorKind::ConnectionLost
        | ErrorKind::Statement
        | ErrorKind::Unreadable => {
            return None;
        }
    })
}
