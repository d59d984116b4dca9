//! A transaction whose BEGIN leaves together with its first statements.
//!
//! The driver's own transaction waits for the answer to BEGIN before anything else is sent.

use std::cell::Cell;

use futures_util::{FutureExt, future};
use tokio_postgres::{Client, Row, types::ToSql};

use crate::{error::PublishError, statement_cache::StatementCache, steps::Ask};

/// Begun when its first statement is sent; rolled back when it is dropped before its end.
pub struct OpenTransaction<'c> {
    client: &'c Client,
    begin: &'static str,
    state: Cell<State>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    NotBegun,
    Begun,
    Ended,
}

/// One snapshot for all statements.
pub(crate) const REPEATABLE_READ: &str = "start transaction isolation level repeatable read, read write";
/// For reading.
pub(crate) const READ_ONLY: &str = "start transaction read only";
/// A snapshot for each statement.
pub(crate) const READ_COMMITTED: &str = "start transaction isolation level read committed, read write";

impl<'c> OpenTransaction<'c> {
    /// Nothing is sent yet. The borrow is exclusive: a connection has one transaction at a time.
    pub(crate) fn new(client: &'c mut Client, begin: &'static str) -> Self {
        Self { client, begin, state: Cell::new(State::NotBegun) }
    }

    /// The connection, for statements of the transaction once it has begun.
    pub const fn client(&self) -> &'c Client {
        self.client
    }

    /// COMMIT was answered as one of a flight.
    pub(crate) fn has_ended(&self) {
        self.state.set(State::Ended);
    }

    /// The statement that has yet to be sent before any other, for whoever sends it now.
    pub(crate) fn take_begin(&self) -> Option<&'static str> {
        if !self.is_to_begin() {
            return None;
        }
        self.state.set(State::Begun);
        Some(self.begin)
    }

    /// Whether BEGIN has yet to be sent.
    pub(crate) fn is_to_begin(&self) -> bool {
        self.state.get() == State::NotBegun
    }

    /// Sends COMMIT. An answer without an error is no proof: a failed transaction answers so, too.
    pub(crate) async fn commit(self) -> Result<(), tokio_postgres::Error> {
        self.state.set(State::Ended);
        self.client.batch_execute("commit").await
    }

    /// Sends COMMIT and, in the same flight, a question that is answered after it. Prepared where `kept` has it.
    pub(crate) async fn commit_then(
        self,
        ask: Ask<'_>,
        kept: &StatementCache,
    ) -> (Result<(), tokio_postgres::Error>, Result<Vec<Row>, PublishError>) {
        self.state.set(State::Ended);
        let question = async {
            match kept.get(ask.text()).filter(|_| kept.is_on()) {
                Some(statement) => {
                    let values: Vec<&(dyn ToSql + Sync)> = ask.params().iter().map(|(value, _)| *value).collect();
                    self.client.query(&statement, &values).await
                }
                None => self.client.query_typed(ask.text(), ask.params()).await,
            }
        };
        let (ended, rows) = future::join(self.client.batch_execute("commit"), question).await;
        (ended, rows.map_err(|error| PublishError::driver(ask.what(), error)))
    }

    /// Sends ROLLBACK.
    pub(crate) async fn rollback(self) -> Result<(), tokio_postgres::Error> {
        if self.state.replace(State::Ended) == State::Begun {
            self.client.batch_execute("rollback").await
        } else {
            Ok(())
        }
    }
}

impl Drop for OpenTransaction<'_> {
    fn drop(&mut self) {
        if self.state.get() == State::Begun {
            // sent with the first poll; nobody waits for the answer
            let _sent = self.client.batch_execute("rollback").now_or_never();
        }
    }
}
