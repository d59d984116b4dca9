//! One client and its server: two directions, and the fault that may befall them.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::time::{sleep, timeout};

use crate::address::Upstream;
use crate::control::{Control, Fired, Transaction};
use crate::frames::Frames;
use crate::frontend::Statements;
use crate::plan::{Fault, ServerSide, Then, Until};
use crate::replies::{Replies, Way};
use crate::startup::{self, Startup};
use crate::stream::Stream;

/// How a session's two sides are let go.
#[derive(Debug)]
enum End {
    Close,
    Reset,
    /// The client's side now, the server's later.
    ClientFirst(Duration),
}

/// Serves one connection until either side, a fault or the handle ends it.
pub(crate) async fn serve(mut client: Stream, upstream: Upstream, control: Arc<Control>) {
    let mut cuts = control.cuts.subscribe();
    let served = tokio::select! {
        served = serve_to_the_end(&mut client, &upstream, &control) => served,
        _ = cuts.changed() => return,
    };
    match served {
        Ok(Served { end, server, then }) => {
            let kept = match end {
                End::Close => None,
                End::Reset => {
                    client.reset();
                    server.reset();
                    return finish(&control, then);
                }
                End::ClientFirst(duration) => Some((server, duration)),
            };
            drop(client);
            finish(&control, then);
            if let Some((mut server, duration)) = kept {
                // a server that waits for room to answer would notice; so its words are read and lost
                drop(timeout(duration, tokio::io::copy(&mut server, &mut tokio::io::sink())).await);
            }
        }
        Err(error) => tracing::debug!(%error, "a session ended"),
    }
}

fn finish(control: &Control, then: Then) {
    if then == Then::Unreachable {
        Control::signal(&control.cuts);
    }
}

struct Served {
    end: End,
    server: Stream,
    then: Then,
}

async fn serve_to_the_end(client: &mut Stream, upstream: &Upstream, control: &Control) -> io::Result<Served> {
    let begun = startup::read(client).await?;
    let mut server = Stream::connect(upstream).await.inspect_err(|error| {
        tracing::warn!(?upstream, %error, "the server behind the relay cannot be reached");
    })?;
    let startup = match begun {
        Startup::Gone => return Ok(Served { end: End::Close, server, then: Then::GoOn }),
        Startup::Cancel(message) => {
            server.write_all(&message).await?;
            // the server closes once it has passed the signal on
            server.read_to_end(&mut Vec::new()).await?;
            return Ok(Served { end: End::Close, server, then: Then::GoOn });
        }
        Startup::Session(message) => message,
    };
    let replies = Replies::default();
    replies.started();
    server.write_all(&startup).await?;
    let (end, then) = {
        let (from_client, to_client) = client.halves();
        let (from_server, to_server) = server.halves();
        let there = There {
            from: from_client,
            to: to_server,
            control,
            replies: &replies,
            statements: Statements::default(),
            transaction: Transaction::begin(&startup),
        };
        tokio::select! {
            ended = there.run() => ended?,
            ended = back(from_server, to_client, &replies) => {
                ended?;
                (End::Close, Then::GoOn)
            }
        }
    };
    Ok(Served { end, server, then })
}

/// From the server to the client.
async fn back(mut from: impl AsyncRead + Unpin, mut to: impl AsyncWrite + Unpin, replies: &Replies) -> io::Result<()> {
    let mut frames = Frames::default();
    let mut passing = Vec::new();
    loop {
        if frames.fill(&mut from).await? == 0 {
            // the last words have been passed on, unless they are held or swallowed
            return to.shutdown().await;
        }
        while let Some(frame) = frames.next()? {
            loop {
                match replies.judge(&frame) {
                    Way::Pass => passing.extend_from_slice(frame.whole),
                    Way::Swallow => {}
                    Way::Wait => {
                        replies.opened().await;
                        continue;
                    }
                }
                break;
            }
        }
        to.write_all(&passing).await?;
        passing.clear();
    }
}

/// From the client to the server.
struct There<'a, R, W> {
    from: R,
    to: W,
    control: &'a Control,
    replies: &'a Replies,
    statements: Statements,
    transaction: Transaction,
}

impl<R: AsyncRead + Unpin, W: AsyncWrite + Unpin> There<'_, R, W> {
    async fn run(mut self) -> io::Result<(End, Then)> {
        let mut frames = Frames::default();
        let mut passing = Vec::new();
        loop {
            if frames.fill(&mut self.from).await? == 0 {
                return Ok((End::Close, Then::GoOn));
            }
            while let Some(frame) = frames.next()? {
                let does = self.statements.read(&frame);
                let fired = self.control.judge(&frame, does, &self.transaction);
                self.transaction.hear(&frame, does);
                if let Some(fired) = fired {
                    // what the client sent before goes first, whatever happens to this message
                    self.to.write_all(&passing).await?;
                    passing.clear();
                    if let Some(end) = self.befall(frame.whole, frame.tag, fired).await? {
                        return Ok((end, fired.then));
                    }
                } else {
                    self.replies.sent(frame.tag);
                    passing.extend_from_slice(frame.whole);
                }
            }
            self.to.write_all(&passing).await?;
            passing.clear();
        }
    }

    /// Lets the fault happen; `None` when the session goes on.
    async fn befall(&mut self, message: &[u8], tag: u8, fired: Fired) -> io::Result<Option<End>> {
        tracing::debug!(fault = ?fired.fault, "a plan fires");
        match fired.fault {
            Fault::CutBefore => Ok(Some(End::Close)),
            Fault::CutInside { bytes } => {
                let most = message.len().saturating_sub(1).min(bytes);
                self.to.write_all(message.get(..most).unwrap_or_default()).await?;
                Ok(Some(End::Close))
            }
            Fault::LoseReply { cut, server } => {
                self.replies.swallow();
                self.forward(message, tag).await?;
                wait(cut).await;
                Ok(Some(match server {
                    ServerSide::Cut => End::Close,
                    ServerSide::OpenFor(duration) => End::ClientFirst(duration),
                }))
            }
            Fault::Reset { cut } => {
                self.replies.swallow();
                self.forward(message, tag).await?;
                wait(cut).await;
                Ok(Some(End::Reset))
            }
            Fault::BlackHole { forwarded, until, then_cut } => {
                let mut released = self.control.releases.subscribe();
                self.replies.hold();
                if forwarded {
                    self.forward(message, tag).await?;
                }
                match until {
                    Until::Elapsed(duration) => sleep(duration).await,
                    Until::Released => drop(released.changed().await),
                }
                if then_cut {
                    return Ok(Some(End::Close));
                }
                self.replies.open();
                if !forwarded {
                    self.forward(message, tag).await?;
                }
                Ok(None)
            }
            Fault::Delay(duration) => {
                sleep(duration).await;
                self.forward(message, tag).await?;
                Ok(None)
            }
        }
    }

    async fn forward(&mut self, message: &[u8], tag: u8) -> io::Result<()> {
        self.replies.sent(tag);
        self.to.write_all(message).await?;
        self.to.flush().await
    }
}

/// A timer of zero would still let other work run first.
async fn wait(duration: Duration) {
    if !duration.is_zero() {
        sleep(duration).await;
    }
}
