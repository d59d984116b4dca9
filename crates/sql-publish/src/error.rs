//! The one error of this crate: a kind, the step it happened in, and a message that carries no row values.

use std::time::Duration;

use thrice_core::{identifier::TableName, sqlstate::SqlState};
use tokio_postgres::error::DbError;

/// A step of staging, examining or publishing that did not succeed.
///
/// `Display` is safe for ledgers and logs: DETAIL and CONTEXT of the server never appear, and quoted values are cut
/// out of the messages that can hold them. What the server really said is in [`PublishError::unredacted`], for a
/// person at a terminal who asked for it.
#[derive(Debug, thiserror::Error)]
#[error("{}: {}", .0.what, .0.message())]
pub struct PublishError(Box<Inner>);

#[derive(Debug)]
struct Inner {
    kind: ErrorKind,
    what: &'static str,
    prefix: usize,
    length: Option<usize>,
    question: Option<usize>,
    source: Option<tokio_postgres::Error>,
}

/// What kind of failure it is. The caller decides on retries; this crate never does.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The server answered with an error; see [`PublishError::sqlstate`].
    Server,
    /// The connection is closed, or an answer never came.
    ConnectionLost,
    /// A limit passed: the client's timer or the server's `statement_timeout`. The statement was cancelled on the
    /// server. `in_doubt`: the cancelled statement did not answer, so the connection must be thrown away.
    TimedOut {
        /// The limit that passed.
        limit: Duration,
        /// The connection may still be working and must not be used again.
        in_doubt: bool,
    },
    /// The caller asked to stop; the statement was cancelled on the server.
    Cancelled {
        /// The connection may still be working and must not be used again.
        in_doubt: bool,
    },
    /// The caller has seen old rows against new ones and does not want the publish: it knows why.
    Refused,
    /// What had to happen elsewhere before the last statements did not: the caller knows why.
    NotReady,
    /// The interval holds rows in the target although the caller said it must be empty.
    ExistingRows {
        /// How many.
        rows: i64,
    },
    /// The rows written are not as many as the rows staged, and staging holds them all: something on the target, such as a
    /// trigger that returns null, drops rows. It will again.
    WrittenDiffers {
        /// Rows the insert reported.
        written: i64,
        /// Rows that were staged.
        staged: i64,
    },
    /// The interval of the target does not hold what was staged: a trigger changed rows, somebody else wrote, or,
    /// on the unchanged path, the target was edited by hand since its receipt.
    ReadBackDiffers {
        /// Rows found in the interval.
        rows: i64,
        /// Rows that were staged.
        staged: i64,
    },
    /// The staging table no longer holds as many rows as were recorded: an unlogged table is empty after a crash of the
    /// server. Stage again.
    StagingNotWhole {
        /// The table.
        relation: TableName,
    },
    /// The partition that a swap was prepared for is no longer what it was: somebody renamed, detached or replaced it. Prepare
    /// again.
    PartitionMoved,
    /// A setting that must stand during the publish has another value.
    SettingMoved {
        /// Its name.
        name: String,
    },
    /// A statement that must return a row returned none.
    NoRow,
    /// COMMIT was answered without an error, yet the caller's proof is not there: the server rolled back.
    NoReceipt,
    /// The driver refused before or after the server: a value that does not fit its type.
    Driver,
}

impl PublishError {
    /// An error of this crate's own making.
    pub(crate) fn new(what: &'static str, kind: ErrorKind) -> Self {
        Self(Box::new(Inner { kind, what, prefix: 0, length: None, question: None, source: None }))
    }

    /// The caller has stopped waiting for the answer to a step: its connection must be thrown away.
    pub fn given_up(what: &'static str) -> Self {
        Self::new(what, ErrorKind::Cancelled { in_doubt: true })
    }

    /// The caller found another number of rows in a staging table than were staged.
    pub fn staging_not_whole(what: &'static str, relation: TableName) -> Self {
        Self::new(what, ErrorKind::StagingNotWhole { relation })
    }

    /// An error that the driver reported.
    pub(crate) fn driver(what: &'static str, source: tokio_postgres::Error) -> Self {
        let kind = if source.as_db_error().is_some() {
            ErrorKind::Server
        } else if source.is_closed() || is_io(&source) {
            ErrorKind::ConnectionLost
        } else {
            ErrorKind::Driver
        };
        Self(Box::new(Inner { kind, what, prefix: 0, length: None, question: None, source: Some(source) }))
    }

    /// The same error under another kind, for a statement that was ended on purpose.
    pub(crate) fn with_kind(mut self, kind: ErrorKind) -> Self {
        self.0.kind = kind;
        self
    }

    /// The same error as one of another step.
    pub(crate) fn at_step(mut self, what: &'static str) -> Self {
        self.0.what = what;
        self
    }

    /// Says how many characters this crate put before the user's text, and how long that text is, so that
    /// [`PublishError::position`] points into it.
    pub(crate) fn inside(mut self, prefix: usize, length: usize) -> Self {
        self.0.prefix = prefix;
        self.0.length = Some(length);
        self
    }

    /// Says which of the caller's questions failed.
    pub(crate) fn of_question(mut self, nth: usize) -> Self {
        self.0.question = Some(nth);
        self
    }

    /// Which of the questions of [`stage_and_ask`](crate::staging::stage_and_ask) failed, counted from 0; `None`: another
    /// step did.
    pub fn question(&self) -> Option<usize> {
        self.0.question
    }

    /// What kind of failure it is.
    pub fn kind(&self) -> &ErrorKind {
        &self.0.kind
    }

    /// The step it happened in, as a short phrase.
    pub fn what(&self) -> &'static str {
        self.0.what
    }

    /// The five characters that decide on a retry: the server's; `TH011` where this crate found that staging lost rows,
    /// which passes; `TH012` where it found that the target does not take what is staged, which stays.
    pub fn sqlstate(&self) -> Option<SqlState> {
        match self.0.kind {
            ErrorKind::StagingNotWhole { .. } => SqlState::parse("TH011"),
            ErrorKind::WrittenDiffers { .. } | ErrorKind::ReadBackDiffers { .. } => SqlState::parse("TH012"),
            ErrorKind::Server
            | ErrorKind::ConnectionLost
            | ErrorKind::TimedOut { .. }
            | ErrorKind::Cancelled { .. }
            | ErrorKind::ExistingRows { .. }
            | ErrorKind::PartitionMoved
            | ErrorKind::SettingMoved { .. }
            | ErrorKind::NoRow
            | ErrorKind::NoReceipt
            | ErrorKind::NotReady
            | ErrorKind::Refused
            | ErrorKind::Driver => self.0.db().and_then(|db| SqlState::parse(db.code().code())),
        }
    }

    /// The place the server pointed at, counted in characters from 1, inside the text the caller gave. `None` where
    /// the server named none. A place behind the text (an unclosed parenthesis) is the end of the text.
    pub fn position(&self) -> Option<usize> {
        let original = match self.0.db()?.position()? {
            tokio_postgres::error::ErrorPosition::Original(at) => usize::try_from(*at).ok()?,
            tokio_postgres::error::ErrorPosition::Internal { .. } => return None,
        };
        let at = original.checked_sub(self.0.prefix).filter(|at| *at > 0)?;
        Some(self.0.length.map_or(at, |length| at.min(length + 1)))
    }

    /// The connection is gone or must be treated as gone.
    pub fn is_connection_lost(&self) -> bool {
        if let ErrorKind::TimedOut { in_doubt: true, .. }
        | ErrorKind::Cancelled { in_doubt: true }
        | ErrorKind::ConnectionLost = self.0.kind
        {
            return true;
        }
        self.is_fatal() || self.0.source.as_ref().is_some_and(tokio_postgres::Error::is_closed)
    }

    /// A limit passed, on either side.
    pub fn is_timeout(&self) -> bool {
        matches!(self.0.kind, ErrorKind::TimedOut { .. })
    }

    /// The caller asked to stop.
    pub fn is_cancelled(&self) -> bool {
        matches!(self.0.kind, ErrorKind::Cancelled { .. })
    }

    /// The server ended the session with this error.
    pub(crate) fn is_fatal(&self) -> bool {
        use tokio_postgres::error::Severity;
        self.0.db().is_some_and(|db| matches!(db.parsed_severity(), Some(Severity::Fatal | Severity::Panic)))
    }

    /// The constraint the server named.
    pub fn constraint(&self) -> Option<&str> {
        self.0.db().and_then(DbError::constraint)
    }

    /// The table the server named, without its schema.
    pub fn table(&self) -> Option<&str> {
        self.0.db().and_then(DbError::table)
    }

    /// The column the server named.
    pub fn column(&self) -> Option<&str> {
        self.0.db().and_then(DbError::column)
    }

    /// The message without row values.
    pub fn message(&self) -> String {
        self.0.message()
    }

    /// What an assertion of the caller's statements (SQLSTATE `TH…`) gave as its detail; it holds no row values.
    pub fn asserted(&self) -> Option<&str> {
        let db = self.0.db()?;
        if db.code().code().starts_with("TH") { db.detail() } else { None }
    }

    /// Everything the server said, row values included: message, DETAIL and HINT. Only for a terminal whose owner
    /// asked to see data.
    pub fn unredacted(&self) -> Option<String> {
        let db = self.0.db()?;
        let mut text = db.message().to_owned();
        for (label, part) in [("detail", db.detail()), ("hint", db.hint()), ("where", db.where_())] {
            if let Some(part) = part {
                text.extend(["\n", label, ": ", part]);
            }
        }
        Some(text)
    }
}

impl Inner {
    fn db(&self) -> Option<&DbError> {
        self.source.as_ref().and_then(tokio_postgres::Error::as_db_error)
    }

    fn message(&self) -> String {
        match &self.kind {
            ErrorKind::Server => self.db().map_or_else(|| "the server refused".to_owned(), redacted),
            ErrorKind::ConnectionLost => match self.db() {
                Some(db) => redacted(db),
                None => "the connection to the server is closed".to_owned(),
            },
            ErrorKind::TimedOut { limit, .. } => format!("took longer than {limit:?} and was cancelled on the server"),
            ErrorKind::Cancelled { .. } => "stopped on request and cancelled on the server".to_owned(),
            ErrorKind::ExistingRows { rows } => {
                format!("the interval already holds {} that no receipt accounts for", counted(*rows))
            }
            ErrorKind::WrittenDiffers { written, staged } => {
                format!("{} written, {staged} staged, so nothing is published", counted(*written))
            }
            ErrorKind::ReadBackDiffers { rows, staged } if rows == staged => {
                format!("the interval holds {} as staged, but their content differs", counted(*rows))
            }
            ErrorKind::ReadBackDiffers { rows, staged } => {
                format!("the interval holds {}, {staged} staged", counted(*rows))
            }
            ErrorKind::StagingNotWhole { relation } => {
                format!("the staging table {relation} does not hold what was recorded, so nothing is published")
            }
            ErrorKind::SettingMoved { name } => {
                format!("the session setting {name} does not have the value it was given")
            }
            ErrorKind::Refused => "what it would change was refused, and nothing is published".to_owned(),
            ErrorKind::PartitionMoved => {
                "the partition was renamed, detached or replaced after the swap was prepared".to_owned()
            }
            ErrorKind::NotReady => "what had to be on record before it is not".to_owned(),
            ErrorKind::NoRow => "returned no row where one is needed".to_owned(),
            ErrorKind::NoReceipt => {
                "COMMIT was answered, but the transaction left no trace: it was rolled back".to_owned()
            }
            ErrorKind::Driver => "a value does not fit the type the server expects".to_owned(),
        }
    }
}

/// `1 row`, `2 rows`.
fn counted(rows: i64) -> String {
    let ending = if rows == 1 { "" } else { "s" };
    format!("{rows} row{ending}")
}

fn is_io(error: &tokio_postgres::Error) -> bool {
    let mut source = std::error::Error::source(error);
    while let Some(cause) = source {
        if cause.is::<std::io::Error>() {
            return true;
        }
        source = cause.source();
    }
    false
}

/// The longest message that is stored.
const LONGEST: usize = 500;

/// The server's message without anything that can be a value of a row.
///
/// Names of constraints, tables and columns stay: they are schema, not data. Class 22 puts input values between
/// quotes (in the quotes of the server's language), and text raised by a function can hold anything.
fn redacted(db: &DbError) -> String {
    let code = db.code().code();
    let raised = db.routine() == Some("exec_stmt_raise") || code.starts_with("P0");
    let text = if raised && code.starts_with("TH") {
        match db.detail() {
            Some(detail) => format!("{} ({detail})", db.message()),
            None => db.message().to_owned(),
        }
    } else if raised || code.starts_with("38") || code.starts_with("39") {
        "a function or trigger raised an error; its text can hold row values and is not kept".to_owned()
    } else if code.starts_with("22") {
        cut_at_quote(db.message())
    } else {
        db.message().to_owned()
    };
    text.chars().take(LONGEST).collect()
}

fn cut_at_quote(message: &str) -> String {
    match message.find(['"', '\'', '«', '»', '„', '“', '”', '‘', '’', '`', '「', '『']) {
        Some(at) => format!("{}…", message.get(..at).unwrap_or_default()),
        None => message.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::cut_at_quote;

    #[test]
    fn values_between_quotes_of_any_language_are_cut() {
        assert_eq!(
            cut_at_quote("invalid input syntax for type integer: \"s3cret\""),
            "invalid input syntax for type integer: …"
        );
        assert_eq!(cut_at_quote("ungültig: „s3cret“"), "ungültig: …");
        assert_eq!(
            cut_at_quote("value too long for type character varying(3)"),
            "value too long for type character varying(3)"
        );
    }
}
