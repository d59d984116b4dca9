//! Runs statements inside one transaction, each cancellable.
//!
//! Statements are awaited one by one, or some at a time where none needs another's answer. Those leave in one flight, in
//! order: each is a single message to the server, a prepared one or one that carries its types. (Unprepared statements
//! without types would overtake each other in the driver, and an insert could run after its ROLLBACK.)

use std::time::{Duration, Instant};

use futures_util::{
    TryFutureExt, TryStreamExt,
    future::{join, join_all},
};
use tokio_postgres::{
    Client, Row, Transaction,
    types::{ToSql, Type},
};
use tokio_util::sync::CancellationToken;

use crate::{
    cancel::{Guarded, guarded},
    error::{ErrorKind, PublishError},
    open_transaction::OpenTransaction,
    probe::Probe,
    statement::Statement,
    statement_cache::StatementCache,
};

/// A value with its type, as the driver takes it.
pub(crate) type Param<'a> = (&'a (dyn ToSql + Sync), Type);

/// The open transaction and what ends it early.
pub(crate) struct Steps<'a> {
    client: &'a Client,
    opening: Option<&'a OpenTransaction<'a>>,
    stop: &'a CancellationToken,
    server_limit: Option<Duration>,
    kept: Option<&'a StatementCache>,
}

/// The step that failed, and the driver's word on it.
type Failed = (&'static str, tokio_postgres::Error);

/// One statement to be sent.
#[derive(Clone, Copy)]
pub(crate) struct Ask<'p> {
    what: &'static str,
    text: &'p str,
    params: &'p [Param<'p>],
    again: bool,
}

impl<'p> Ask<'p> {
    pub(crate) const fn what(&self) -> &'static str {
        self.what
    }

    pub(crate) const fn text(&self) -> &'p str {
        self.text
    }

    pub(crate) const fn params(&self) -> &'p [Param<'p>] {
        self.params
    }

    /// A statement whose text is of this run alone.
    pub(crate) const fn once(what: &'static str, text: &'p str, params: &'p [Param<'p>]) -> Self {
        Self { what, text, params, again: false }
    }

    /// A statement whose text comes again with the next run: worth preparing.
    pub(crate) const fn again(what: &'static str, text: &'p str, params: &'p [Param<'p>]) -> Self {
        Self { what, text, params, again: true }
    }

    /// Which of the two, as the caller knows.
    pub(crate) const fn repeated(again: bool, what: &'static str, text: &'p str, params: &'p [Param<'p>]) -> Self {
        Self { what, text, params, again }
    }
}

/// What a statement was answered with.
pub(crate) struct Answer {
    pub(crate) rows: Vec<Row>,
    affected: u64,
}

impl Answer {
    /// Rows that the command tag counts.
    pub(crate) fn affected(&self) -> i64 {
        i64::try_from(self.affected).unwrap_or(i64::MAX)
    }
}

/// A flight is a handful of statements: the driver's order is the order in which so few futures are polled.
const MOST: usize = 9;

const BEGIN: &str = "begin";

impl<'a> Steps<'a> {
    /// In a transaction that has begun.
    pub(crate) fn new(transaction: &'a Transaction<'a>, stop: &'a CancellationToken) -> Self {
        Self { client: transaction.client(), opening: None, stop, server_limit: None, kept: None }
    }

    /// In a transaction that begins with the first statement.
    pub(crate) fn opening(transaction: &'a OpenTransaction<'a>, stop: &'a CancellationToken) -> Self {
        Self { client: transaction.client(), opening: Some(transaction), stop, server_limit: None, kept: None }
    }

    /// Prepares statements that come again, once a connection.
    pub(crate) fn keeping(mut self, kept: &'a StatementCache) -> Self {
        self.kept = Some(kept);
        self
    }

    /// Remembers the `statement_timeout` in force, so that its firing can be told from somebody's cancel.
    pub(crate) fn limit(&mut self, limit: Option<Duration>) {
        self.server_limit = limit;
    }

    /// The connection's memory.
    pub(crate) const fn kept(&self) -> Option<&'a StatementCache> {
        self.kept
    }

    /// One statement, answered.
    pub(crate) async fn ask(&self, ask: Ask<'_>) -> Result<Answer, PublishError> {
        let [answer] = self.ask_all([ask]).await?;
        Ok(answer)
    }

    /// Statements in one flight, in this order. Each must be one that may run although nobody has looked at the answers
    /// to those before it; after an error the server refuses the rest. Never more than [`MOST`].
    pub(crate) async fn ask_all<const N: usize>(&self, asks: [Ask<'_>; N]) -> Result<[Answer; N], PublishError> {
        const { assert!(N > 0 && N <= MOST, "a flight is a handful of statements") };
        let what = asks[0].what;
        self.fly(&asks).await?.try_into().map_err(|_| PublishError::new(what, ErrorKind::NoRow))
    }

    /// The same for a list, in as many flights as `probe` wants to hear of a step before the next one is sent.
    pub(crate) async fn ask_in_steps(
        &self,
        asks: &[(Ask<'_>, Option<&'static str>)],
        probe: &dyn Probe,
    ) -> Result<Vec<Answer>, PublishError> {
        let mut answers = Vec::with_capacity(asks.len());
        let (mut flight, mut steps) = (Vec::new(), Vec::new());
        for (index, (ask, step)) in asks.iter().enumerate() {
            flight.push(*ask);
            steps.extend(*step);
            let full = flight.len() == MOST || index + 1 == asks.len();
            if full || step.is_some_and(|step| probe.wants(step)) {
                answers.extend(self.fly(&std::mem::take(&mut flight)).await?);
                for step in std::mem::take(&mut steps) {
                    probe.at(step);
                }
            }
        }
        Ok(answers)
    }

    async fn fly(&self, asks: &[Ask<'_>]) -> Result<Vec<Answer>, PublishError> {
        let Some(first) = asks.first() else { return Ok(Vec::new()) };
        if self.opening.is_some_and(OpenTransaction::is_to_begin) && !asks.iter().all(|ask| self.is_ready(*ask)) {
            // prepared inside the transaction: behind a pooler it is then one connection that prepares and runs
            self.guard(BEGIN, self.begin()).await?;
        }
        let mut ready = Vec::with_capacity(asks.len());
        for ask in asks {
            // all are ready before one is sent: a statement that still had to be prepared would be overtaken
            ready.push((*ask, self.prepared(*ask).await?));
        }
        self.guard(first.what, async {
            // every answer is awaited, whatever the first one says: nothing of ours is left on the connection
            let flight = join_all(ready.into_iter().map(|(ask, prepared)| self.send(ask, prepared)));
            let (begun, answers) = join(self.begin(), flight).await;
            begun?;
            answers.into_iter().collect::<Result<_, Failed>>()
        })
        .await
    }

    /// Sends BEGIN where it has yet to be sent.
    async fn begin(&self) -> Result<(), Failed> {
        match self.opening.and_then(OpenTransaction::take_begin) {
            Some(begin) => self.client.batch_execute(begin).await.map_err(|error| (BEGIN, error)),
            None => Ok(()),
        }
    }

    fn is_ready(&self, ask: Ask<'_>) -> bool {
        self.kept.is_none_or(|kept| !ask.again || !kept.is_on() || kept.get(ask.text).is_some())
    }

    /// Prepares what is asked outside of these steps, so that it is a single message then.
    pub(crate) async fn prepare(&self, ask: Ask<'_>) -> Result<(), PublishError> {
        self.prepared(ask).await.map(drop)
    }

    async fn prepared(&self, ask: Ask<'_>) -> Result<Option<tokio_postgres::Statement>, PublishError> {
        let Some(kept) = self.kept.filter(|kept| ask.again && kept.is_on()) else { return Ok(None) };
        if let Some(statement) = kept.get(ask.text) {
            return Ok(Some(statement));
        }
        let types: Vec<Type> = ask.params.iter().map(|(_, of)| of.clone()).collect();
        let preparing = self.client.prepare_typed(ask.text, &types);
        let statement = self.guard(ask.what, preparing.map_err(|error| (ask.what, error))).await?;
        kept.put(ask.text, statement.clone());
        Ok(Some(statement))
    }

    /// One message to the server, sent when the future is first polled.
    async fn send(&self, ask: Ask<'_>, prepared: Option<tokio_postgres::Statement>) -> Result<Answer, Failed> {
        let answer = self.exchange(ask, prepared.as_ref()).await;
        if let (Some(kept), Some(_), Err(error)) = (self.kept, &prepared, &answer)
            && error.code().is_some_and(|code| StatementCache::is_lost(code.code()))
        {
            kept.turn_off();
        }
        answer.map_err(|error| (ask.what, error))
    }

    async fn exchange(
        &self,
        ask: Ask<'_>,
        prepared: Option<&tokio_postgres::Statement>,
    ) -> Result<Answer, tokio_postgres::Error> {
        let stream = match prepared {
            Some(statement) => self.client.query_raw(statement, ask.params.iter().map(|(value, _)| *value)).await?,
            None => self.client.query_typed_raw(ask.text, ask.params.iter().cloned()).await?,
        };
        let mut stream = std::pin::pin!(stream);
        let mut rows = Vec::new();
        while let Some(row) = stream.try_next().await? {
            rows.push(row);
        }
        Ok(Answer { rows, affected: stream.rows_affected().unwrap_or_default() })
    }

    pub(crate) async fn rows(
        &self,
        what: &'static str,
        text: &str,
        params: &[Param<'_>],
    ) -> Result<Vec<Row>, PublishError> {
        Ok(self.ask(Ask::once(what, text, params)).await?.rows)
    }

    pub(crate) async fn row(&self, what: &'static str, text: &str, params: &[Param<'_>]) -> Result<Row, PublishError> {
        one_row(what, self.rows(what, text, params).await?)
    }

    /// Rows the command tag counts.
    pub(crate) async fn execute(
        &self,
        what: &'static str,
        text: &str,
        params: &[Param<'_>],
    ) -> Result<i64, PublishError> {
        Ok(self.ask(Ask::once(what, text, params)).await?.affected())
    }

    /// Parses and describes without executing; nothing of it stays on the server.
    pub(crate) async fn describe(
        &self,
        what: &'static str,
        text: &str,
        types: &[Type],
    ) -> Result<tokio_postgres::Statement, PublishError> {
        self.guard(what, self.client.prepare_typed(text, types).map_err(|error| (what, error))).await
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
        work: impl Future<Output = Result<T, Failed>>,
    ) -> Result<T, PublishError> {
        self.check_stop(what)?;
        let begun = Instant::now();
        // The server's own limit is the first line; the client's timer stands behind it for a server that is mute.
        let timer = self.server_limit.map(|limit| limit.saturating_add(Duration::from_secs(5)));
        match guarded(self.client.cancel_token(), self.stop, timer, work).await {
            Guarded::Done(Ok(value)) | Guarded::TimedOut(Some(Ok(value))) => Ok(value),
            Guarded::Done(Err((what, error))) => {
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
                Err(ended(what, answer.and_then(failure), |in_doubt| ErrorKind::TimedOut { limit, in_doubt }))
            }
            Guarded::Stopped(answer) => {
                let answered = answer.is_some();
                Err(match answer.and_then(failure) {
                    Some(error) => ended(what, Some(error), |in_doubt| ErrorKind::Cancelled { in_doubt }),
                    None => PublishError::new(what, ErrorKind::Cancelled { in_doubt: !answered }),
                })
            }
        }
    }
}

/// The first row, which must be there.
pub(crate) fn one_row(what: &'static str, mut rows: Vec<Row>) -> Result<Row, PublishError> {
    if rows.is_empty() { Err(PublishError::new(what, ErrorKind::NoRow)) } else { Ok(rows.swap_remove(0)) }
}

/// The rows of a caller's statement, where it returned what it must.
pub(crate) fn answered(statement: &Statement, answer: Answer) -> Result<Vec<Row>, PublishError> {
    if answer.rows.is_empty() && statement.needs_row() {
        return Err(PublishError::new(statement.what(), ErrorKind::NoRow));
    }
    Ok(answer.rows)
}

fn failure<T>(answer: Result<T, Failed>) -> Option<tokio_postgres::Error> {
    answer.err().map(|(_, error)| error)
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
