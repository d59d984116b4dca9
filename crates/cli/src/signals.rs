//! Ctrl-C and SIGTERM: the run under way is cancelled on the server and ends as failed, class cancelled; a COMMIT that
//! was sent is waited for. A second Ctrl-C ends the process at once.

use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};

use thrice_sql_publish::CancellationToken;
use tokio::signal::unix::{SignalKind, signal};

use crate::exit_code::Exit;

/// Tells when the call shall stop, and by which signal.
#[derive(Debug, Clone)]
pub(crate) struct Stop {
    pub(crate) token: CancellationToken,
    by: Arc<AtomicU8>,
}

impl Stop {
    /// Listens from now on.
    pub(crate) fn listen() -> Self {
        let stop = Self { token: CancellationToken::new(), by: Arc::default() };
        for (kind, exit) in [(SignalKind::interrupt(), Exit::Interrupted), (SignalKind::terminate(), Exit::Terminated)]
        {
            let stop = stop.clone();
            tokio::spawn(async move {
                let Ok(mut signals) = signal(kind) else { return };
                while signals.recv().await.is_some() {
                    if stop.by.swap(exit.number(), Ordering::Relaxed) != 0 {
                        end_now(exit);
                    }
                    stop.token.cancel();
                }
            });
        }
        stop
    }

    /// The exit of a call that was stopped.
    pub(crate) fn exit(&self) -> Option<Exit> {
        match self.by.load(Ordering::Relaxed) {
            130 => Some(Exit::Interrupted),
            143 => Some(Exit::Terminated),
            _ => None,
        }
    }
}

#[expect(clippy::exit, reason = "the second signal: the user does not want to wait")]
fn end_now(exit: Exit) {
    std::process::exit(i32::from(exit.number()));
}
