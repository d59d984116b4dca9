//! The server's main process: is it alive, starting it, ending it. `postmaster.pid` is read and never deleted.

use std::fs;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crate::binaries::Binaries;
use crate::error::{LocalPostgresError, io};
use crate::server_user::ServerUser;

/// How long a start may take, crash recovery included.
const START: Duration = Duration::from_mins(2);
/// How long processes of a dead server are waited for before they are told to end.
const ORPHANS: Duration = Duration::from_secs(5);
const PAUSE: Duration = Duration::from_millis(25);

/// What `postmaster.pid` says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct PidFile {
    pub(crate) pid: u32,
    pub(crate) ready: bool,
}

/// Reads `data/postmaster.pid`.
pub(crate) fn pid_file(data: &Path) -> Option<PidFile> {
    let text = fs::read_to_string(data.join("postmaster.pid")).ok()?;
    let mut lines = text.lines();
    let pid = lines.next()?.trim().parse().ok()?;
    Some(PidFile { pid, ready: text.lines().nth(7).is_some_and(|line| line.trim() == "ready") })
}

/// True where the process is a living server of this cluster: not a zombie, and at work in the data folder.
///
/// A process number alone proves nothing: it may be another program's by now, or wait to be reaped.
pub(crate) fn is_server(pid: u32, data: &Path) -> bool {
    let folder = PathBuf::from(format!("/proc/{pid}"));
    let Ok(stat) = fs::read_to_string(folder.join("stat")) else { return false };
    let zombie = stat.rsplit(')').next().is_some_and(|rest| rest.trim_start().starts_with('Z'));
    let here = fs::read_link(folder.join("cwd")).ok().zip(data.canonicalize().ok()).is_some_and(|(cwd, data)| cwd == data);
    !zombie && here
}

/// The living main process of the cluster.
pub(crate) fn living(data: &Path) -> Option<PidFile> {
    pid_file(data).filter(|file| is_server(file.pid, data))
}

/// Server processes that outlived their main process. They may still commit: a new server waits for them.
fn orphans(data: &Path) -> Vec<u32> {
    let Ok(entries) = fs::read_dir("/proc") else { return Vec::new() };
    entries.flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok()).filter(|pid| is_server(*pid, data)).collect()
}

/// Starts the server in a process group of its own, so that Ctrl-C on us does not reach it, and waits until it is ready.
pub(crate) async fn start(folder: &Path, binaries: &Binaries, user: &ServerUser) -> Result<(), LocalPostgresError> {
    let data = folder.join("data");
    wait_for_orphans(&data).await;
    let log = log_path(folder);
    let file = fs::File::options().create(true).append(true).open(&log).map_err(io("cannot write", &log))?;
    let again = file.try_clone().map_err(io("cannot write", &log))?;
    let mut command = Command::new(binaries.bin.join("postgres"));
    command.arg("-D").arg(&data).stdin(Stdio::null()).stdout(again).stderr(file).process_group(0);
    if let Some(stale) = pid_file(&data) {
        // the server then skips the test of this number, and still checks that the old shared memory is unused
        command.env("PG_GRANDPARENT_PID", stale.pid.to_string());
    }
    user.run_as(&mut command);
    let child = command.spawn().map_err(|error| LocalPostgresError::Program { program: "postgres", message: error.to_string() })?;
    wait_until_ready(child, &data, &log).await
}

/// Where the server writes its log.
pub(crate) fn log_path(folder: &Path) -> PathBuf {
    folder.join("log")
}

async fn wait_until_ready(mut child: Child, data: &Path, log: &Path) -> Result<(), LocalPostgresError> {
    let begun = Instant::now();
    let pid = child.id();
    loop {
        if pid_file(data).is_some_and(|file| file.ready && is_server(file.pid, data)) {
            // it lives on without us; reaped here where it ends before we do
            std::thread::spawn(move || drop(child.wait()));
            return Ok(());
        }
        if let Ok(Some(_ended)) = child.try_wait() {
            // another process may have started it at the same moment
            if living(data).is_none_or(|file| file.pid == pid) {
                return Err(LocalPostgresError::Program { program: "postgres", message: last_lines(log) });
            }
        }
        if begun.elapsed() > START {
            return Err(LocalPostgresError::NotReady { seconds: START.as_secs(), log: log.to_path_buf() });
        }
        tokio::time::sleep(PAUSE).await;
    }
}

async fn wait_for_orphans(data: &Path) {
    let begun = Instant::now();
    let mut told = false;
    while !orphans(data).is_empty() && begun.elapsed() < START {
        if begun.elapsed() > ORPHANS && !told {
            told = true;
            for pid in orphans(data) {
                tracing::warn!(pid, "a process of a server that died is told to end");
                signal(pid, "-TERM");
            }
        }
        tokio::time::sleep(PAUSE).await;
    }
}

/// Ends the server: fast, or where that is asked for and not enough, at once. Never SIGKILL.
pub(crate) async fn stop(data: &Path, force: bool) -> Result<bool, LocalPostgresError> {
    let Some(PidFile { pid, .. }) = living(data) else { return Ok(false) };
    signal(pid, "-INT");
    if ended(pid, data, Duration::from_secs(30)).await {
        return Ok(true);
    }
    if force {
        signal(pid, "-QUIT");
        if ended(pid, data, Duration::from_secs(10)).await {
            return Ok(true);
        }
    }
    Err(LocalPostgresError::NotStopped { pid })
}

async fn ended(pid: u32, data: &Path, within: Duration) -> bool {
    let begun = Instant::now();
    while begun.elapsed() < within {
        if !is_server(pid, data) {
            return true;
        }
        tokio::time::sleep(PAUSE).await;
    }
    false
}

fn signal(pid: u32, name: &str) {
    if let Err(error) = Command::new("kill").arg(name).arg(pid.to_string()).status() {
        tracing::warn!(pid, name, %error, "no signal could be sent");
    }
}

fn last_lines(log: &Path) -> String {
    let text = fs::read(log).map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).unwrap_or_default();
    let lines: Vec<&str> = text.lines().rev().take(3).collect();
    lines.into_iter().rev().collect::<Vec<_>>().join(" · ")
}
