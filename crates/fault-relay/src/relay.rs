//! The handle: starts the relay, arms plans, asks what happened.

use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use tokio::net::{TcpListener, UnixListener};
use tokio::task::{JoinHandle, JoinSet};

use crate::address::{Listen, Upstream, socket_path};
use crate::control::Control;
use crate::error::RelayError;
use crate::plan::Plan;
use crate::session::serve;
use crate::stream::Stream;

/// A running relay. Dropping it closes everything, as [`FaultRelay::stop`] does.
#[derive(Debug)]
pub struct FaultRelay {
    address: SocketAddr,
    socket: Option<PathBuf>,
    control: Arc<Control>,
    accepting: JoinHandle<()>,
}

impl FaultRelay {
    /// Listens, and forwards each connection to `upstream`. The server need not be there yet.
    pub async fn start(upstream: Upstream, listen: Listen) -> Result<Self, RelayError> {
        let tcp = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.map_err(|source| RelayError::Listen { source })?;
        let address = tcp.local_addr().map_err(|source| RelayError::Listen { source })?;
        let socket = listen.socket_folder.map(|folder| socket_path(&folder, address.port()));
        let unix = match &socket {
            Some(path) => {
                Some(UnixListener::bind(path).map_err(|source| RelayError::Socket { path: path.clone(), source })?)
            }
            None => None,
        };
        let control = Arc::new(Control::new());
        let accepting = tokio::spawn(accept(tcp, unix, upstream, Arc::clone(&control)));
        Ok(Self { address, socket, control, accepting })
    }

    /// Where clients connect by TCP, as `127.0.0.1:PORT`.
    pub const fn address(&self) -> SocketAddr {
        self.address
    }

    /// The TCP port, which also names the unix socket.
    pub const fn port(&self) -> u16 {
        self.address.port()
    }

    /// The unix socket, where one was asked for.
    pub fn socket(&self) -> Option<&Path> {
        self.socket.as_deref()
    }

    /// Adds a plan. Of several plans that match one message, the one armed first decides.
    pub fn arm(&self, plan: Plan) {
        self.control.arm(plan);
    }

    /// Forgets all plans. What has already fired goes its way.
    pub fn disarm(&self) {
        self.control.disarm();
    }

    /// How often a plan has fired since the relay started. Counted when the message is met, before its fate is done.
    pub fn fired(&self) -> u64 {
        *self.control.fired.borrow()
    }

    /// Waits until [`FaultRelay::fired`] is at least `count`. Waits for ever when it never is.
    pub async fn wait_fired(&self, count: u64) {
        // the sender lives as long as `self`: the wait cannot fail
        drop(self.control.fired.subscribe().wait_for(|fired| *fired >= count).await);
    }

    /// Ends every black hole that waits for it.
    pub fn release(&self) {
        Control::signal(&self.control.releases);
    }

    /// Closes both sides of every open session. New ones are taken.
    pub fn cut_all(&self) {
        Control::signal(&self.control.cuts);
    }

    /// From now on closes new connections as soon as they are made. Open sessions go on.
    pub fn refuse(&self) {
        self.control.refuse(true);
    }

    /// Takes new connections again, after [`FaultRelay::refuse`] or a plan that did the same.
    pub fn accept_again(&self) {
        self.control.refuse(false);
    }

    /// Closes the listeners and every session, and waits until they are closed: a client is then refused.
    pub async fn stop(mut self) {
        self.accepting.abort();
        // aborted, or ended before: both are what was asked for
        drop((&mut self.accepting).await);
    }
}

impl Drop for FaultRelay {
    fn drop(&mut self) {
        self.accepting.abort();
        if let Some(socket) = &self.socket
            && let Err(error) = std::fs::remove_file(socket)
        {
            tracing::debug!(socket = %socket.display(), %error, "the relay's socket was not removed");
        }
    }
}

async fn accept(tcp: TcpListener, unix: Option<UnixListener>, upstream: Upstream, control: Arc<Control>) {
    let mut sessions = JoinSet::new();
    loop {
        let accepted = tokio::select! {
            accepted = tcp.accept() => accepted.and_then(|(stream, _)| Stream::tcp(stream)),
            accepted = accept_unix(unix.as_ref()) => accepted,
            Some(_) = sessions.join_next() => continue,
        };
        match accepted {
            Ok(client) if control.is_refusing() => drop(client),
            Ok(client) => {
                sessions.spawn(serve(client, upstream.clone(), Arc::clone(&control)));
            }
            Err(error) => tracing::warn!(%error, "a connection was not accepted"),
        }
    }
}

async fn accept_unix(unix: Option<&UnixListener>) -> std::io::Result<Stream> {
    match unix {
        Some(unix) => unix.accept().await.map(|(stream, _)| Stream::Unix(stream)),
        None => std::future::pending().await,
    }
}
