//! How long the runner waits for others once its caller wants it to stop.

use std::time::Duration;

use thrice_ledger::LedgerError;
use thrice_sql_publish::{CancellationToken, PublishError};
use tokio::task::JoinHandle;

/// From the caller's wish to stop until nothing is waited for any more. A healthy server answers within it, so that the
/// end of the run is on record; of one that is gone nobody waits for the answer.
const LAST_WORDS: Duration = Duration::from_secs(2);

/// Says when waiting is no use any more.
#[derive(Debug, Default)]
pub(crate) struct Patience {
    over: CancellationToken,
    watch: Option<JoinHandle<()>>,
}

impl Patience {
    /// Patience that ends a moment after `stop` has fired.
    pub(crate) fn of(stop: &CancellationToken) -> Self {
        Self::lasting(stop, LAST_WORDS)
    }

    fn lasting(stop: &CancellationToken, moment: Duration) -> Self {
        let (stop, over) = (stop.clone(), CancellationToken::new());
        let end = over.clone();
        let watch = tokio::spawn(async move {
            stop.cancelled().await;
            tokio::time::sleep(moment).await;
            end.cancel();
        });
        Self { over, watch: Some(watch) }
    }

    /// Nothing is waited for any more.
    pub(crate) fn is_over(&self) -> bool {
        self.over.is_cancelled()
    }

    /// The end of `work`; `None` where patience ended first.
    ///
    /// What is waited for is boxed before anything else is done with it, so that whoever waits stays small.
    pub(crate) fn wait<T>(&self, work: impl Future<Output = T>) -> impl Future<Output = Option<T>> {
        let mut work = Box::pin(work);
        async move {
            tokio::select! {
                biased;
                done = &mut work => Some(done),
                () = self.over.cancelled() => None,
            }
        }
    }

    /// The same for a call of the ledger.
    pub(crate) fn ledger<T>(
        &self,
        call: impl Future<Output = Result<T, LedgerError>>,
    ) -> impl Future<Output = Result<T, LedgerError>> {
        let waiting = self.wait(call);
        async move { waiting.await.unwrap_or_else(|| Err(LedgerError::given_up())) }
    }

    /// Fires when nothing is waited for any more; for work that borrows the runner.
    pub(crate) fn token(&self) -> CancellationToken {
        self.over.clone()
    }
}

/// Work on the data connection until patience is `over`. Given up, the connection is in doubt.
pub(crate) fn on_data<T>(
    over: &CancellationToken,
    what: &'static str,
    work: impl Future<Output = Result<T, PublishError>>,
) -> impl Future<Output = Result<T, PublishError>> {
    let work = Box::pin(work);
    async move { over.run_until_cancelled(work).await.unwrap_or_else(|| Err(PublishError::given_up(what))) }
}

impl Drop for Patience {
    fn drop(&mut self) {
        if let Some(watch) = self.watch.take() {
            watch.abort();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn what_never_answers_is_given_up_a_moment_after_the_stop() {
        let stop = CancellationToken::new();
        let patience = Patience::lasting(&stop, Duration::from_millis(30));
        assert_eq!(patience.wait(async { 1 }).await, Some(1));
        tokio::time::sleep(Duration::from_millis(60)).await;
        assert!(!patience.is_over(), "nobody has said stop");
        stop.cancel();
        assert_eq!(patience.wait(async { 2 }).await, Some(2), "what answers is still heard");
        assert_eq!(patience.wait(std::future::pending::<()>()).await, None);
        assert_eq!(patience.wait(std::future::pending::<()>()).await, None, "and nothing is waited for again");
        let error = on_data(&patience.token(), "read", std::future::pending::<Result<(), _>>()).await.unwrap_err();
        assert!(error.is_cancelled() && error.is_connection_lost());
    }
}
