//! Ctrl-C, SIGTERM and SIGHUP: the run under way is cancelled on the server and ends as failed, class cancelled; a
//! COMMIT that was sent is waited for, a server that does not answer is not. A second signal ends the process at once.

use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};

use thrice_core::code::ErrorCode;
use thrice_sql_publish::CancellationToken;
use tokio::signal::unix::{SignalKind, signal};

use crate::exit_code::Exit;
use crate::fault::{Fault, Outcome};
use crate::output::Output;

/// Tells when the call shall stop, and by which signal.
#[derive(Debug, Clone)]
pub(crate) struct Stop {
    pub(crate) token: CancellationToken,
    by: Arc<AtomicU8>,
}

impl Stop {
    /// Listens from now on.
    pub(crate) fn listen(output: Output) -> Self {
        let stop = Self { token: CancellationToken::new(), by: Arc::default() };
        let mut kinds = vec![
            (SignalKind::interrupt(), Exit::Interrupted, "Ctrl-C"),
            (SignalKind::terminate(), Exit::Terminated, "SIGTERM"),
        ];
        // a terminal that is closed asks to end as SIGTERM does, unless `nohup` has it ignored
        if !hangup_is_ignored() {
            kinds.push((SignalKind::hangup(), Exit::Terminated, "SIGHUP"));
        }
        for (kind, exit, name) in kinds {
            let stop = stop.clone();
            // installed before anything is waited for: a signal from here on is ours
            let Ok(mut signals) = signal(kind) else { continue };
            tokio::spawn(async move {
                while signals.recv().await.is_some() {
                    if stop.by.swap(exit.number(), Ordering::Relaxed) != 0 {
                        end_now(exit);
                    }
                    output.note(format!("{name}: stopping; a second one ends the call at once"));
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

    /// Work that changes nothing that matters: dropped at the signal.
    pub(crate) async fn or<T>(&self, work: impl Future<Output = Outcome<T>>) -> Outcome<T> {
        if let Some(done) = Box::pin(self.token.run_until_cancelled(work)).await {
            return done;
        }
        let mut fault = Fault::new(ErrorCode::Stopped, "stopped before anything was run");
        fault.exit = self.exit().unwrap_or(Exit::Interrupted);
        Err(fault.into())
    }
}

/// Whether this process was started with SIGHUP ignored. Where that cannot be told, it is left as it is.
fn hangup_is_ignored() -> bool {
    const HANGUP: u64 = 1;
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).is_none_or(|mask| mask & HANGUP != 0)
}

#[expect(clippy::exit, reason = "the second signal: the user does not want to wait")]
fn end_now(exit: Exit) {
    std::process::exit(i32::from(exit.number()));
}
