//! A statement that is not wanted any more is ended on the server, never just forgotten.
//!
//! Dropping a driver future leaves its statement running: it keeps locks, burns CPU, and the next user of the
//! connection waits behind it. So every statement runs under [`guarded`].

use std::{future::Future, pin::pin, time::Duration};

use tokio::time::timeout;
use tokio_postgres::{CancelToken, NoTls};
use tokio_util::sync::CancellationToken;

/// How long a statement that took too long may take to answer to its cancel before its connection counts as in doubt.
const GRACE: Duration = Duration::from_secs(5);
/// The same where somebody waits for the end: a server that answers at all does so sooner.
const STOPPED_GRACE: Duration = Duration::from_secs(2);

/// How a guarded statement ended.
#[derive(Debug)]
pub enum Guarded<T> {
    /// It answered by itself.
    Done(T),
    /// The caller's token fired and the statement was cancelled on the server; its answer, where one came in time.
    Stopped(Option<T>),
    /// The limit passed and the statement was cancelled on the server; its answer, where one came in time.
    TimedOut(Option<T>),
}

/// Runs `work`, a future of the connection behind `token`, until it answers, `stop` fires, or `limit` passes.
///
/// In the last two cases, and where the returned future is dropped, the server is asked to cancel what the connection
/// is doing. The request travels without TLS, over a connection of its own.
pub async fn guarded<T>(
    token: CancelToken,
    stop: &CancellationToken,
    limit: Option<Duration>,
    work: impl Future<Output = T>,
) -> Guarded<T> {
    let mut on_drop = CancelOnDrop(Some(token.clone()));
    let mut work = pin!(work);
    let timed_out = tokio::select! {
        biased;
        answer = &mut work => {
            on_drop.disarm();
            return Guarded::Done(answer);
        }
        () = stop.cancelled() => false,
        () = passed(limit) => true,
    };
    on_drop.disarm();
    let answer = timeout(if timed_out { GRACE } else { STOPPED_GRACE }, async {
        // A failed request changes nothing: the answer is waited for either way.
        if let Err(error) = token.cancel_query(NoTls).await {
            tracing::debug!(%error, "cancel request not delivered");
        }
        work.await
    })
    .await
    .ok();
    if timed_out { Guarded::TimedOut(answer) } else { Guarded::Stopped(answer) }
}

async fn passed(limit: Option<Duration>) {
    match limit {
        Some(limit) => tokio::time::sleep(limit).await,
        None => std::future::pending().await,
    }
}

/// Sends the cancel request from a task of its own when dropped while armed.
struct CancelOnDrop(Option<CancelToken>);

impl CancelOnDrop {
    fn disarm(&mut self) {
        self.0 = None;
    }
}

impl Drop for CancelOnDrop {
    fn drop(&mut self) {
        let (Some(token), Ok(runtime)) = (self.0.take(), tokio::runtime::Handle::try_current()) else { return };
        drop(runtime.spawn(async move {
            if let Err(error) = token.cancel_query(NoTls).await {
                tracing::debug!(%error, "cancel request not delivered");
            }
        }));
    }
}
