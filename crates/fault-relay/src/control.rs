//! What the handle and the sessions share: armed plans, counts, and signals to all sessions.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

use tokio::sync::watch;

use crate::frames::Frame;
use crate::frontend::{self, Does};
use crate::plan::{Fault, Occurrence, Plan, Then, Trigger};

/// One for each relay.
#[derive(Debug)]
pub(crate) struct Control {
    armed: Mutex<Vec<Armed>>,
    refusing: AtomicBool,
    pub(crate) fired: watch::Sender<u64>,
    pub(crate) cuts: watch::Sender<u64>,
    pub(crate) releases: watch::Sender<u64>,
}

#[derive(Debug)]
struct Armed {
    plan: Plan,
    matched: u64,
}

/// A plan has come true.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Fired {
    pub(crate) fault: Fault,
    pub(crate) then: Then,
}

impl Control {
    pub(crate) fn new() -> Self {
        Self {
            armed: Mutex::default(),
            refusing: AtomicBool::new(false),
            fired: watch::Sender::new(0),
            cuts: watch::Sender::new(0),
            releases: watch::Sender::new(0),
        }
    }

    pub(crate) fn arm(&self, plan: Plan) {
        self.armed.lock().unwrap_or_else(PoisonError::into_inner).push(Armed { plan, matched: 0 });
    }

    pub(crate) fn disarm(&self) {
        self.armed.lock().unwrap_or_else(PoisonError::into_inner).clear();
    }

    pub(crate) fn refuse(&self, refusing: bool) {
        self.refusing.store(refusing, Ordering::SeqCst);
    }

    pub(crate) fn is_refusing(&self) -> bool {
        self.refusing.load(Ordering::SeqCst)
    }

    pub(crate) fn signal(of: &watch::Sender<u64>) {
        of.send_modify(|count| *count += 1);
    }

    /// Counts the message for every plan; the first plan whose turn it is fires. `since` is the session's own memory
    /// of its transaction.
    pub(crate) fn judge(&self, frame: &Frame<'_>, does: Does, since: &Transaction) -> Option<Fired> {
        let mut armed = self.armed.lock().unwrap_or_else(PoisonError::into_inner);
        let mut fired = None;
        for armed in armed.iter_mut() {
            let is = match &armed.plan.trigger {
                Trigger::Commit => does == Does::Commit,
                Trigger::Text(text) => {
                    frontend::statement_text(frame).is_some_and(|statement| frontend::contains(statement, text))
                }
            };
            if !is || !armed.plan.within.as_ref().is_none_or(|text| since.has_seen(frame, text)) {
                continue;
            }
            armed.matched += 1;
            let turn = match armed.plan.occurrence {
                Occurrence::Nth(n) => armed.matched == n,
                Occurrence::Every => true,
            };
            if turn && fired.is_none() {
                fired = Some(Fired { fault: armed.plan.fault, then: armed.plan.then });
            }
        }
        drop(armed);
        if let Some(fired) = fired {
            if fired.then != Then::GoOn {
                self.refuse(true);
            }
            Self::signal(&self.fired);
        }
        fired
    }
}

/// What a session has said since its last COMMIT or ROLLBACK.
#[derive(Debug, Default)]
pub(crate) struct Transaction {
    said: Vec<u8>,
}

/// More than this of one transaction is not remembered; the newest words are kept.
const MOST_REMEMBERED: usize = 4 * 1024 * 1024;

impl Transaction {
    /// Remembers a start-up message.
    pub(crate) fn begin(startup: &[u8]) -> Self {
        Self { said: startup.to_owned() }
    }

    /// Remembers one message, or forgets all at the end of the transaction.
    pub(crate) fn hear(&mut self, frame: &Frame<'_>, does: Does) {
        if does != Does::Other {
            self.said.clear();
        } else if matches!(frame.tag, b'Q' | b'P' | b'B') && frame.body.len() <= MOST_REMEMBERED {
            if self.said.len() + frame.body.len() > MOST_REMEMBERED {
                self.said.clear();
            }
            self.said.extend_from_slice(frame.body);
            self.said.push(0);
        }
    }

    fn has_seen(&self, frame: &Frame<'_>, text: &str) -> bool {
        frontend::mentions(frame, text) || frontend::contains(&self.said, text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const COMMIT: Frame<'static> = Frame { tag: b'Q', body: b"commit\0", whole: &[] };

    fn saying(text: &str) -> Transaction {
        let mut transaction = Transaction::default();
        transaction.hear(&Frame { tag: b'Q', body: text.as_bytes(), whole: &[] }, Does::Other);
        transaction
    }

    fn fires(control: &Control, since: &Transaction) -> bool {
        control.judge(&COMMIT, Does::Commit, since).is_some()
    }

    #[test]
    fn only_the_nth_commit_of_the_right_transactions_fires() {
        let control = Control::new();
        control.arm(Plan::on_commit(Fault::CutBefore).in_transaction_with("thrice:").occurrence(Occurrence::Nth(2)));
        let (ours, other) = (saying("set local application_name='thrice:1#1'"), saying("select 1"));
        assert!(!fires(&control, &ours));
        assert!(!fires(&control, &other));
        assert!(fires(&control, &ours));
        assert!(!fires(&control, &ours));
        assert_eq!(*control.fired.borrow(), 1);
    }

    #[test]
    fn a_transaction_is_forgotten_at_its_end() {
        let control = Control::new();
        control.arm(Plan::on_commit(Fault::CutBefore).in_transaction_with("thrice:").occurrence(Occurrence::Every));
        let mut session = saying("set local application_name='thrice:1#1'");
        assert!(fires(&control, &session));
        session.hear(&COMMIT, Does::Commit);
        assert!(!fires(&control, &session));
    }

    #[test]
    fn disarmed_is_silent_and_refusal_begins_with_the_fault() {
        let control = Control::new();
        control.arm(Plan::on_text("commit", Fault::CutBefore).then(Then::Unreachable));
        control.disarm();
        assert!(!fires(&control, &Transaction::default()));
        assert!(!control.is_refusing());
        control.arm(Plan::on_text("commit", Fault::CutBefore).then(Then::Unreachable));
        assert!(fires(&control, &Transaction::default()));
        assert!(control.is_refusing());
    }
}
