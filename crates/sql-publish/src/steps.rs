//! Runs one statement after the other inside one transaction, each awaited, each cancellable.
//!
//! Awaiting each step is not a matter of taste: unprepared statements that are joined overtake each other in the
//! driver, and an insert can then run after its ROLLBACK.

use std::time::{Duration, Instant};

use tokio_postgres::{
    Row, Transaction,
    types::{ToSql, Type},
};
use tokio_util::sync::CancellationToken;

use crate::{
    cancel::{Guarded, guarded},
    error::{ErrorKind, PublishError},
    statement::Statement,
};

/// A value with its type, as the driver takes it.
pub(crate) type Param<'a> = (&'a (dyn ToSql + Sync), Type);

/// The open transaction and what ends it early.
pub(crate) struct Steps<'a> {
    transaction: &'a Transaction<'a>,
    stop: &'a CancellationToken,
    server_limit: Option<Duration>,
}

impl<'a> Steps<'a> {
    pub(crate) fn new(transaction: &'a Transaction<'a>, stop: &'a CancellationToken) -> Self {
        Self { transaction, stop, server_limit: None }
    }

    /// Remembers the `statement_timeout` in force, so that its firing can be told from somebody's cancel.
    pub(crate) fn limit(&mut self, limit: Option<Duration>) {
        self.server_limit = limit;
    }

    pub(crate) async fn rows(
        &self,
        what: &'static str,
        text: &str,
        params: &[Param<'_>],
    ) -> Result<Vec<Row>, PublishError> {
        self.guard(what, self.transaction.query_typed(text, params)).await
    }

    pub(crate) async fn row(&self, what: &'static str, text: &str, params: &[Param<'_>]) -> Result<Row, PublishError> {
        let mut rows = self.rows(what, text, params).await?;
        if rows.is_empty() { Err(PublishError::new(what, ErrorKind::NoRow)) } else { Ok(rows.swap_remove(0)) }
    }

    /// Rows the command tag counts.
    pub(crate) async fn execute(
        &self,
        what: &'static str,
        text: &str,
        params: &[Param<'_>],
    ) -> Result<i64, PublishError> {
        let rows = self.guard(what, self.transaction.execute_typed(text, params)).await?;
        Ok(i64::try_from(rows).unwrap_or(i64::MAX))
    }

    /// The caller's own statement.
    pub(crate) async fn run(&self, statement: &Statement) -> Result<Vec<Row>, PublishError> {
        let rows = self.rows(statement.what(), statement.text(), &statement.params()).await?;
        if rows.is_empty() && statement.needs_row() {
            return Err(PublishError::new(statement.what(), ErrorKind::NoRow));
        }
        Ok(rows)
    }

    /// Parses and describes without executing; nothing of it stays on the server.
    pub(crate) async fn describe(
        &self,
        what: &'static str,
        text: &str,
        types: &[Type],
    ) -> Result<tokio_postgres::Statement, PublishError> {
        self.guard(what, self.transaction.prepare_typed(text, types)).await
    }

    /// Refuses to go on where the caller has asked to stop.
    pub(crate) fn check_stop(&self, what: &'static str) -> Result<(), PublishError> {
        if self.stop.is_cancelled() {
            return Err(PublishError::new(what, ErrorKind::Cancelled { in_doubt: false }));
        }
        Ok(())
    }

    async fn guard<T>(
        &self,
        what: &'static str,
        work: impl Future<Output = Result<T, tokio_postgres::Error>>,
    ) -> Result<T, PublishError> {
        self.check_stop(what)?;
        let begun = Instant::now();
        // The server's own limit is the first line; the client's timer stands behind it for a server that is mute.
        let timer = self.server_limit.map(|limit| limit.saturating_add(Duration::from_secs(5)));
        match guarded(self.transaction.cancel_token(), self.stop, timer, work).await {
            Guarded::Done(Ok(value)) | Guarded::TimedOut(Some(Ok(value))) => Ok(value),
            Guarded::Done(Err(error)) => {
                let error = PublishError::driver(what, error);
                match self.server_limit {
                    // two clocks measure it, the server's and ours
                    Some(limit) if is_query_canceled(&error) && begun.elapsed() >= limit.saturating_sub(limit / 50) => {
                        Err(error.with_kind(ErrorKind::TimedOut { limit, in_doubt: false }))
                    }
                    _ => Err(error),
                }
            }
            Guarded::TimedOut(answer) => {
                let limit = timer.unwrap_or_default();
                Err(ended(what, answer.and_then(Result::err), |in_doubt| ErrorKind::TimedOut { limit, in_doubt }))
            }
            Guarded::Stopped(answer) => {
                let answered = answer.is_some();
                Err(match answer.and_then(Result::err) {
                    Some(error) => ended(what, Some(error), |in_doubt| ErrorKind::Cancelled { in_doubt }),
                    None => PublishError::new(what, ErrorKind::Cancelled { in_doubt: !answered }),
                })
            }
        }
    }
}

/// The error of a statement that was cancelled, or the one it met before the cancel reached it.
fn ended(what: &'static str, answer: Option<tokio_postgres::Error>, kind: impl Fn(bool) -> ErrorKind) -> PublishError {
    match answer {
        None => PublishError::new(what, kind(true)),
        Some(error) => {
            let error = PublishError::driver(what, error);
            let lost = error.is_connection_lost();
            if is_query_canceled(&error) || lost { error.with_kind(kind(lost)) } else { error }
        }
    }
}

fn is_query_canceled(error: &PublishError) -> bool {
    error.sqlstate().is_some_and(|code| code.as_str() == "57014")
}
