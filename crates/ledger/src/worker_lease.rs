//! A process says that it lives: one row, one heartbeat, and the session whose end is noticed at once.

use std::time::Duration;

use sqlx::postgres::PgConnection;
use sqlx::types::Uuid;
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::error::LedgerError;
use crate::ledger::{Ledger, connect};

/// Beats in the life of a lease: it is renewed after this share of its time.
const BEATS_PER_LEASE: u32 = 4;

/// Why a worker may not go on. What it does after this it could not publish anyway: the fence decides, not the lease.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum LostLease {
    /// Others took the worker for dead and removed its row.
    #[error("the worker was taken for dead and its row removed")]
    Forgotten,
    /// The ledger could not be reached for the lease's whole time.
    #[error("the lease ran out: the ledger could not be reached")]
    Expired,
}

/// A registered worker. Dropping it ends the registration as far as that works without waiting; [`WorkerLease::close`] waits.
#[derive(Debug)]
pub struct WorkerLease {
    id: Uuid,
    ledger: Ledger,
    lost: watch::Receiver<Option<LostLease>>,
    token: CancellationToken,
    heartbeat: Option<JoinHandle<()>>,
}

impl WorkerLease {
    /// Registers this process and keeps its lease alive in the background.
    ///
    /// `ttl` matters only to those who cannot see our sessions; everyone else notices the end of the process at once.
    /// A second connection is opened only once the process has lived for a quarter of it.
    pub async fn register(ledger: &Ledger, host: &str, os_pid: i32, ttl: Duration) -> Result<Self, LedgerError> {
        ledger.forget_dead_workers().await?;
        let registered = Instant::now();
        let row = sqlx::query_file!("sql/register_worker.sql", host, os_pid, ttl.as_secs_f64())
            .fetch_one(&ledger.pool)
            .await?;
        let (tell, lost) = watch::channel(None);
        let beat = Heartbeat { ledger: ledger.clone(), id: row.worker_id, ttl, renewed: registered };
        let token = CancellationToken::new();
        let cancel = token.clone();
        let heartbeat = tokio::spawn(async move {
            let why = beat.until_lost().await;
            tracing::warn!(worker = %row.worker_id, why = %why, "lease lost");
            tell.send_replace(Some(why));
            cancel.cancel();
        });
        Ok(Self { id: row.worker_id, ledger: ledger.clone(), lost, token, heartbeat: Some(heartbeat) })
    }

    /// The worker's id, as claims carry it.
    pub fn worker_id(&self) -> Uuid {
        self.id
    }

    /// Resolves when the lease is lost; never while it is kept.
    pub async fn lost(&self) -> LostLease {
        let mut lost = self.lost.clone();
        loop {
            if let Some(why) = *lost.borrow_and_update() {
                return why;
            }
            if lost.changed().await.is_err() {
                return LostLease::Expired; // the heartbeat has ended without a word
            }
        }
    }

    /// A token that is cancelled when the lease is lost; for work that does not borrow the lease.
    pub fn lost_token(&self) -> CancellationToken {
        self.token.clone()
    }

    /// Ends the registration; partitions that are still claimed become free.
    pub async fn close(mut self) -> Result<(), LedgerError> {
        self.stop_heartbeat();
        sqlx::query_file!("sql/end_worker.sql", self.id).execute(&self.ledger.pool).await?;
        Ok(())
    }

    fn stop_heartbeat(&mut self) -> bool {
        self.heartbeat.take().is_some_and(|task| {
            task.abort();
            true
        })
    }
}

impl Drop for WorkerLease {
    fn drop(&mut self) {
        if !self.stop_heartbeat() {
            return; // closed
        }
        let Ok(runtime) = tokio::runtime::Handle::try_current() else { return };
        let (ledger, id) = (self.ledger.clone(), self.id);
        runtime.spawn(async move {
            if let Err(error) = sqlx::query_file!("sql/end_worker.sql", id).execute(&ledger.pool).await {
                tracing::debug!(%error, "a worker's row stays; its session has ended, so that others see it is dead");
            }
        });
    }
}

struct Heartbeat {
    ledger: Ledger,
    id: Uuid,
    ttl: Duration,
    /// When the last renewal that succeeded was sent.
    renewed: Instant,
}

impl Heartbeat {
    async fn until_lost(mut self) -> LostLease {
        let beat = self.ttl / BEATS_PER_LEASE;
        let retry = beat.min(Duration::from_secs(1));
        let mut session: Option<PgConnection> = None;
        let mut wait = beat;
        loop {
            tokio::time::sleep(wait).await;
            let sent = Instant::now();
            let limit = self.ttl.saturating_sub(sent - self.renewed).max(retry);
            let renewed = tokio::time::timeout(limit, self.renew(&mut session)).await;
            match renewed {
                Ok(Ok(true)) => (self.renewed, wait) = (sent, beat),
                Ok(Ok(false)) => return LostLease::Forgotten,
                Ok(Err(error)) => {
                    tracing::debug!(%error, "heartbeat not sent");
                    (session, wait) = (None, retry);
                }
                Err(_elapsed) => (session, wait) = (None, retry),
            }
            if self.renewed.elapsed() >= self.ttl {
                return LostLease::Expired;
            }
        }
    }

    /// Renews the lease on a session of its own, which from the first time on is the worker's sign of life.
    async fn renew(&self, session: &mut Option<PgConnection>) -> Result<bool, LedgerError> {
        let ttl = self.ttl.as_secs_f64();
        let done = if let Some(session) = session {
            sqlx::query_file!("sql/heartbeat.sql", self.id, ttl).execute(session).await?
        } else {
            let session = session.insert(connect(&self.ledger.settings).await?);
            sqlx::query_file!("sql/move_worker.sql", self.id, ttl).execute(session).await?
        };
        Ok(done.rows_affected() == 1)
    }
}

impl Ledger {
    /// Workers whose claims may be taken over: their session has gone, or their lease has run out.
    pub async fn dead_workers(&self) -> Result<Vec<Uuid>, LedgerError> {
        let rows = sqlx::query_file!("sql/dead_workers.sql").fetch_all(&self.pool).await?;
        Ok(rows.into_iter().map(|row| row.worker_id).collect())
    }

    /// Removes dead workers that hold nothing, so that their rows do not pile up.
    pub async fn forget_dead_workers(&self) -> Result<(), LedgerError> {
        let dead = self.dead_workers().await?;
        if !dead.is_empty() {
            sqlx::query_file!("sql/forget_workers.sql", &dead).execute(&self.pool).await?;
        }
        Ok(())
    }
}
