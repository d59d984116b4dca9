//! Statements that come again with every partition, prepared once on their connection.
//!
//! Planning the ledger's statements costs more than running them. A pooler that hands each transaction to another
//! server session loses prepared statements unless it tracks them (`PgBouncer` from 1.21 on does): the first one that is
//! lost turns the cache off, and the transaction, which the server has rolled back, can be tried again without.

use std::{
    collections::HashMap,
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use tokio_postgres::{Client, Statement, types::Type};

/// A `statement_timeout` as the server answered; `None`: there is none.
#[derive(Debug, Clone, Copy)]
pub(crate) struct InForce(pub(crate) Option<Duration>);

/// Prepared statements of one connection. Belongs to it and to no other: throw both away together.
#[derive(Debug, Default)]
pub struct StatementCache {
    known: Mutex<HashMap<String, Statement>>,
    /// What the server answered when a `statement_timeout` was asked for: its role may have one of its own.
    limits: Mutex<HashMap<String, InForce>>,
    off: AtomicBool,
}

impl StatementCache {
    /// A cache that never keeps a statement.
    pub fn off() -> Self {
        let cache = Self::default();
        cache.turn_off();
        cache
    }

    /// An empty one for the next connection; off where this one is.
    #[must_use]
    pub fn for_next_connection(&self) -> Self {
        if self.is_on() { Self::default() } else { Self::off() }
    }

    /// Whether statements are kept.
    pub fn is_on(&self) -> bool {
        !self.off.load(Ordering::Relaxed)
    }

    /// A statement prepared on `client`, now or before. `None` where the cache is off, or where the server refuses it: then
    /// running it says why. A refusal ends a transaction that is open.
    pub async fn prepare(&self, client: &Client, text: &str, types: &[Type]) -> Option<Statement> {
        if !self.is_on() {
            return None;
        }
        if let Some(known) = self.get(text) {
            return Some(known);
        }
        let statement = client.prepare_typed(text, types).await.ok()?;
        self.put(text, statement.clone());
        Some(statement)
    }

    /// Throws away what names a table that is no more.
    pub fn forget(&self, table: &str) {
        self.known.lock().unwrap_or_else(PoisonError::into_inner).retain(|text, _| !text.contains(table));
    }

    /// The limit that the server answered with to these settings on this connection; `None`: they have not been asked for.
    pub(crate) fn limit(&self, asked: &str) -> Option<InForce> {
        self.limits.lock().unwrap_or_else(PoisonError::into_inner).get(asked).copied()
    }

    pub(crate) fn put_limit(&self, asked: String, answered: InForce) {
        self.limits.lock().unwrap_or_else(PoisonError::into_inner).insert(asked, answered);
    }

    pub(crate) fn turn_off(&self) {
        self.off.store(true, Ordering::Relaxed);
    }

    /// A statement that has been prepared before.
    pub fn get(&self, text: &str) -> Option<Statement> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner).get(text).cloned()
    }

    pub(crate) fn put(&self, text: &str, statement: Statement) {
        self.known.lock().unwrap_or_else(PoisonError::into_inner).insert(text.to_owned(), statement);
    }

    /// Codes that say a prepared statement is not where it was put, or that another one is.
    pub(crate) fn is_lost(code: &str) -> bool {
        matches!(code, "26000" | "42P05")
    }
}

#[cfg(test)]
mod tests {
    use super::StatementCache;

    #[test]
    fn a_cache_that_was_turned_off_stays_off_for_the_next_connection() {
        let cache = StatementCache::default();
        assert!(cache.for_next_connection().is_on());
        cache.turn_off();
        assert!(!cache.for_next_connection().is_on());
    }
}
