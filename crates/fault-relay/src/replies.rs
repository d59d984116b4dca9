//! The way back: whether the server's messages pass, wait, or are swallowed.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;

use crate::frames::Frame;

/// Shared by the two directions of one session.
#[derive(Debug, Default)]
pub(crate) struct Replies {
    state: Mutex<State>,
    opened: Notify,
}

#[derive(Debug, Default)]
struct State {
    mode: Mode,
    /// Requests that will each be answered by one `ReadyForQuery`, oldest first.
    waiting: VecDeque<Request>,
}

/// A request that ends in `ReadyForQuery`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Request {
    /// The start-up, or a simple query.
    Plain,
    /// A Sync.
    Sync,
}

#[derive(Debug, Default, Clone, Copy)]
enum Mode {
    #[default]
    Pass,
    /// Passes until so many more requests have been answered, then swallows.
    SwallowAfter(usize),
    Hold,
}

/// What to do with one message of the server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Way {
    Pass,
    Swallow,
    /// Wait for [`Replies::opened`] and ask again.
    Wait,
}

impl Replies {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The session's start-up was forwarded.
    pub(crate) fn started(&self) {
        self.lock().waiting.push_back(Request::Plain);
    }

    /// A message of the client is about to be forwarded.
    pub(crate) fn sent(&self, tag: u8) {
        match tag {
            b'Q' | b'F' => self.lock().waiting.push_back(Request::Plain),
            b'S' => self.lock().waiting.push_back(Request::Sync),
            _ => {}
        }
    }

    /// From here on only what was asked before passes. Called before the message whose answer is to be lost.
    pub(crate) fn swallow(&self) {
        let mut state = self.lock();
        state.mode = Mode::SwallowAfter(state.waiting.len());
    }

    /// Nothing passes until [`Replies::open`].
    pub(crate) fn hold(&self) {
        self.lock().mode = Mode::Hold;
    }

    /// All passes again.
    pub(crate) fn open(&self) {
        self.lock().mode = Mode::Pass;
        self.opened.notify_one();
    }

    /// After a hold.
    pub(crate) async fn opened(&self) {
        self.opened.notified().await;
    }

    /// Judges one message; to be asked again about the same message only after [`Way::Wait`].
    pub(crate) fn judge(&self, frame: &Frame<'_>) -> Way {
        let mut state = self.lock();
        let way = match state.mode {
            Mode::Hold => return Way::Wait,
            Mode::Pass | Mode::SwallowAfter(1..) => Way::Pass,
            Mode::SwallowAfter(0) => Way::Swallow,
        };
        // a Sync that came before the data of COPY FROM STDIN is skipped by the server; so is its answer
        let answered = match frame.tag {
            b'Z' => state.waiting.pop_front().is_some(),
            b'G' if state.waiting.front() == Some(&Request::Sync) => state.waiting.pop_front().is_some(),
            _ => false,
        };
        if answered && let Mode::SwallowAfter(left) = state.mode {
            state.mode = Mode::SwallowAfter(left.saturating_sub(1));
        }
        way
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame(tag: u8) -> Frame<'static> {
        Frame { tag, body: &[], whole: &[] }
    }

    #[test]
    fn answers_to_what_was_asked_before_still_pass() {
        let replies = Replies::default();
        replies.sent(b'Q');
        replies.sent(b'S');
        replies.swallow();
        replies.sent(b'Q');
        for tag in [b'D', b'C', b'Z', b'C', b'Z'] {
            assert_eq!(replies.judge(&frame(tag)), Way::Pass);
        }
        assert_eq!(replies.judge(&frame(b'C')), Way::Swallow);
        assert_eq!(replies.judge(&frame(b'Z')), Way::Swallow);
    }

    #[test]
    fn the_sync_in_front_of_copied_rows_is_not_waited_for() {
        let replies = Replies::default();
        replies.sent(b'S');
        assert_eq!(replies.judge(&frame(b'G')), Way::Pass);
        replies.sent(b'S');
        replies.swallow();
        assert_eq!(replies.judge(&frame(b'Z')), Way::Pass);
        assert_eq!(replies.judge(&frame(b'C')), Way::Swallow);
    }

    #[test]
    fn a_held_answer_passes_after_the_hold() {
        let replies = Replies::default();
        replies.sent(b'Q');
        replies.hold();
        assert_eq!(replies.judge(&frame(b'Z')), Way::Wait);
        replies.open();
        assert_eq!(replies.judge(&frame(b'Z')), Way::Pass);
    }
}
