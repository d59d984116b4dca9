//! One tokio-postgres connection that remembers why it ended and what the server said besides.

use std::collections::VecDeque;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio_postgres::{AsyncMessage, Client, NoTls};

use crate::error::{ConnectError, ConnectErrorKind};
use crate::explain;
use crate::server_version::ServerVersion;
use crate::settings::{ConnectionSettings, TargetSession};

/// How many notices are kept; the count goes on beyond it.
const KEPT_NOTICES: usize = 100;

/// Why a connection ended. Calls on a connection that died while idle say only "closed"; the
/// reason, and its SQLSTATE, is here.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClosedBecause {
    /// The server's or the operating system's words. May quote data: not for the ledger.
    pub message: String,
    /// The SQLSTATE of the server's last words, where it had any.
    pub sqlstate: Option<String>,
}

impl fmt::Display for ClosedBecause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

/// A notice or warning that the server sent beside its answers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Notice {
    /// `WARNING`, `NOTICE`, `INFO` and so on, not translated.
    pub severity: String,
    /// Its SQLSTATE.
    pub sqlstate: String,
    /// Its text. May quote data: not for the ledger.
    pub message: String,
}

#[derive(Debug, Default)]
struct Notices {
    seen: u64,
    kept: VecDeque<Notice>,
}

/// One connection of the data plane. Dropping it ends the session.
#[derive(Debug)]
pub struct DataConnection {
    /// The driver's client: every query goes through it.
    pub client: Client,
    server_version: Option<ServerVersion>,
    version_warning: Option<String>,
    place: String,
    closed: watch::Receiver<Option<ClosedBecause>>,
    notices: Arc<Mutex<Notices>>,
    task: JoinHandle<()>,
}

/// Connects once.
///
/// # Errors
/// TH0403 … TH0410 and TH0420; see [`ConnectErrorKind`].
pub async fn connect(settings: &ConnectionSettings) -> Result<DataConnection, ConnectError> {
    let place = settings.place();
    let config = settings.tokio_postgres();
    let attempt = Box::pin(config.connect(NoTls));
    let connected = match settings.connect_timeout() {
        None => attempt.await,
        Some(limit) => tokio::time::timeout(limit, attempt).await.map_err(|_| {
            ConnectError::new(
                ConnectErrorKind::Unreachable,
                format!("no answer from {place}"),
                Some(format!("nothing came back within {} s", limit.as_secs_f32())),
                "look whether the server is up and the network lets us through; connect_timeout=N waits longer",
            )
            .with_tries(1, limit)
        })?,
    };
    let (client, mut connection) = connected.map_err(|e| explain::connect_failure(settings, e))?;

    let server_version = connection.parameter("server_version").and_then(ServerVersion::parse);
    let version_warning = match &server_version {
        Some(version) => version.check(&place)?,
        None => None,
    };
    if settings.target_session() == TargetSession::ReadWrite && connection.parameter("in_hot_standby") == Some("on") {
        return Err(ConnectError::new(
            ConnectErrorKind::Standby,
            format!("{place} is a standby"),
            Some("nothing can be written there".to_owned()),
            "name the primary, or put a proxy in front that follows it",
        ));
    }

    let (ended, closed) = watch::channel(None);
    let notices = Arc::new(Mutex::new(Notices::default()));
    let kept = Arc::clone(&notices);
    let task = tokio::spawn(async move {
        let because = loop {
            match std::future::poll_fn(|cx| connection.poll_message(cx)).await {
                Some(Ok(AsyncMessage::Notice(notice))) => remember(&kept, &notice),
                Some(Ok(_)) => {}
                Some(Err(e)) => {
                    break ClosedBecause {
                        sqlstate: e.code().map(|code| code.code().to_owned()),
                        message: explain::words_of(&e),
                    };
                }
                None => {
                    break ClosedBecause { message: "closed by this side".to_owned(), sqlstate: None };
                }
            }
        };
        tracing::debug!(sqlstate = because.sqlstate, "database connection ended");
        ended.send_replace(Some(because));
    });
    Ok(DataConnection { client, server_version, version_warning, place, closed, notices, task })
}

/// Connects, and tries again while the server cannot be reached, is full, or is a standby.
///
/// `budget` bounds the time spent in all; the pause between tries grows from 0.1 s to 2 s.
///
/// # Errors
/// As [`connect`]; the error of the last try says how often and how long it was tried.
pub async fn connect_within(settings: &ConnectionSettings, budget: Duration) -> Result<DataConnection, ConnectError> {
    let begun = Instant::now();
    let mut pause = Duration::from_millis(100);
    let mut tries = 0;
    loop {
        tries += 1;
        match Box::pin(connect(settings)).await {
            Ok(connection) => return Ok(connection),
            Err(error) if error.is_transient() && begun.elapsed() + pause < budget => {
                tracing::debug!(code = error.code(), tries, "database not reached, trying again");
                tokio::time::sleep(pause).await;
                pause = (pause * 2).min(Duration::from_secs(2));
            }
            Err(error) => return Err(error.with_tries(tries, begun.elapsed())),
        }
    }
}

impl DataConnection {
    /// The server's version; `None` where something in between hides it.
    pub const fn server_version(&self) -> Option<&ServerVersion> {
        self.server_version.as_ref()
    }

    /// A line for the user where the server is newer than any that thrice is tested with.
    pub fn version_warning(&self) -> Option<&str> {
        self.version_warning.as_deref()
    }

    /// `host:port` or the socket file.
    pub fn place(&self) -> &str {
        &self.place
    }

    /// Why the connection ended, if it has. A call can fail a moment before this is known: wait
    /// with [`DataConnection::closed`] where the reason matters.
    pub fn closed_because(&self) -> Option<ClosedBecause> {
        self.closed.borrow().clone()
    }

    /// Waits for the end of the connection and says why it ended.
    pub async fn closed(&self) -> ClosedBecause {
        let mut closed = self.closed.clone();
        let ended = closed.wait_for(Option::is_some).await.ok().and_then(|because| because.clone());
        ended.unwrap_or_else(|| ClosedBecause { message: "closed by this side".to_owned(), sqlstate: None })
    }

    /// How many notices and warnings the server has sent.
    pub fn notice_count(&self) -> u64 {
        self.notices.lock().unwrap_or_else(PoisonError::into_inner).seen
    }

    /// Takes the notices kept since the last call: the newest hundred, oldest first.
    pub fn take_notices(&self) -> Vec<Notice> {
        let mut notices = self.notices.lock().unwrap_or_else(PoisonError::into_inner);
        notices.kept.drain(..).collect()
    }

    /// Drops the socket at once, without the farewell that would tell the server: a transaction in
    /// flight stays open there until the server notices. For a connection in doubt.
    pub fn abandon(self) {
        self.task.abort();
    }

    /// Ends the session and waits until the server has been told, at most `limit`.
    pub async fn close(self, limit: Duration) {
        let Self { client, task, .. } = self;
        drop(client);
        let stop = task.abort_handle();
        if tokio::time::timeout(limit, task).await.is_err() {
            stop.abort();
        }
    }
}

fn remember(notices: &Mutex<Notices>, notice: &tokio_postgres::error::DbError) {
    tracing::debug!(severity = notice.severity(), sqlstate = notice.code().code(), "notice from the server");
    let mut notices = notices.lock().unwrap_or_else(PoisonError::into_inner);
    notices.seen += 1;
    if notices.kept.len() == KEPT_NOTICES {
        notices.kept.pop_front();
    }
    notices.kept.push_back(Notice {
        severity: notice
            .parsed_severity()
            .map_or_else(|| notice.severity().to_owned(), |severity| severity.to_string()),
        sqlstate: notice.code().code().to_owned(),
        message: notice.message().to_owned(),
    });
}
