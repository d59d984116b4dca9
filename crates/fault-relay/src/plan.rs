//! What is done to which message.

use std::time::Duration;

/// One message picked out of the stream, and its fate.
///
/// A plan counts from the moment it is armed, over all sessions of the relay.
#[derive(Debug, Clone)]
pub struct Plan {
    pub(crate) trigger: Trigger,
    pub(crate) within: Option<String>,
    pub(crate) occurrence: Occurrence,
    pub(crate) fault: Fault,
    pub(crate) then: Then,
}

/// The kind of message that a plan waits for.
#[derive(Debug, Clone)]
pub(crate) enum Trigger {
    /// A COMMIT: a simple query, or the Execute of a prepared one.
    Commit,
    /// A simple query, or the Parse of a statement, with this text in it.
    Text(String),
}

/// Which of the matching messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Occurrence {
    /// The n-th, counted from 1, and no other.
    Nth(u64),
    /// Each one.
    Every,
}

/// What is done to the message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// Both sides are closed; the server never sees the message.
    CutBefore,
    /// The server gets the first bytes of the message (at most all but one), then both sides are closed.
    CutInside {
        /// How many bytes, the type byte included.
        bytes: usize,
    },
    /// The server gets the message; its answer is swallowed; then the client's side is closed.
    LoseReply {
        /// How long after the message.
        cut: Duration,
        /// What becomes of the server's side at that moment.
        server: ServerSide,
    },
    /// The server is sent the message; its answer is swallowed; then both sides are reset (RST instead of FIN). A
    /// reset at once may overtake the message: whether the server has read it is then anybody's guess. A unix socket
    /// knows no reset and is closed.
    Reset {
        /// How long after the message.
        cut: Duration,
    },
    /// Nothing passes in either direction, and nothing is closed: a network that drops every packet.
    BlackHole {
        /// Whether the server gets the message before the silence begins.
        forwarded: bool,
        /// When the silence ends.
        until: Until,
        /// What comes after it: `true` closes both sides, `false` lets everything pass that was held back.
        then_cut: bool,
    },
    /// The message, and all that the client sends after it, arrives later. Answers pass.
    Delay(Duration),
}

/// The server's side of a session whose client was cut off.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ServerSide {
    /// Closed at the same moment.
    Cut,
    /// Kept open and read from for this long: the server sees nothing unusual.
    OpenFor(Duration),
}

/// When a black hole ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Until {
    /// After this time.
    Elapsed(Duration),
    /// At the next [`FaultRelay::release`](crate::FaultRelay::release).
    Released,
}

/// What the relay does besides, from the moment a plan fires.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Then {
    /// Other sessions and new ones go on.
    GoOn,
    /// New connections are closed as soon as they are made, until
    /// [`FaultRelay::accept_again`](crate::FaultRelay::accept_again). Open sessions go on.
    Refuse,
    /// As `Refuse`, and all other sessions are cut once the message's fate is done.
    Unreachable,
}

impl Fault {
    /// [`Fault::LoseReply`] with both sides closed `after` the message was forwarded.
    pub const fn lose_reply(after: Duration) -> Self {
        Self::LoseReply { cut: after, server: ServerSide::Cut }
    }

    /// [`Fault::LoseReply`] at once for the client, while the server's side stays open for `open_for`.
    pub const fn lose_client(open_for: Duration) -> Self {
        Self::LoseReply { cut: Duration::ZERO, server: ServerSide::OpenFor(open_for) }
    }

    /// [`Fault::Reset`] at once.
    pub const fn reset() -> Self {
        Self::Reset { cut: Duration::ZERO }
    }

    /// [`Fault::BlackHole`] that begins before the message and ends with the connection.
    pub const fn black_hole(duration: Duration) -> Self {
        Self::BlackHole { forwarded: false, until: Until::Elapsed(duration), then_cut: true }
    }
}

impl Plan {
    /// The first COMMIT that any session sends from now on.
    pub const fn on_commit(fault: Fault) -> Self {
        Self::new(Trigger::Commit, fault)
    }

    /// The first statement whose text contains `text` (as it is; case counts).
    pub fn on_text(text: impl Into<String>, fault: Fault) -> Self {
        Self::new(Trigger::Text(text.into()), fault)
    }

    const fn new(trigger: Trigger, fault: Fault) -> Self {
        Self { trigger, within: None, occurrence: Occurrence::Nth(1), fault, then: Then::GoOn }
    }

    /// Only where the session has sent `text` since its last COMMIT or ROLLBACK (or since it was opened), in a
    /// statement or in a parameter. The start-up parameters count for the session's first transaction.
    #[must_use]
    pub fn in_transaction_with(mut self, text: impl Into<String>) -> Self {
        self.within = Some(text.into());
        self
    }

    /// Another message than the first one that matches.
    #[must_use]
    pub const fn occurrence(mut self, occurrence: Occurrence) -> Self {
        self.occurrence = occurrence;
        self
    }

    /// What the relay does besides.
    #[must_use]
    pub const fn then(mut self, then: Then) -> Self {
        self.then = then;
        self
    }
}
