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
/// A log longer than this is put aside at the next start.
const LONG_LOG: u64 = 16 * 1024 * 1024;
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
    let dead = stat.rsplit(')').next().is_some_and(|rest| rest.trim_start().starts_with(['Z', 'X']));
    let here = fs::read_link(folder.join("cwd")).ok().zip(data.canonicalize().ok());
    !dead && here.is_some_and(|(cwd, data)| cwd == data)
}

/// The living main process of the cluster.
pub(crate) fn living(data: &Path) -> Option<PidFile> {
    pid_file(data).filter(
        |file| {
            if Path::new("/proc/self").exists() { is_server(file.pid, data) } else { answers(data) }
        },
    )
}

/// True where the folder was moved under a running server: it goes on, but no longer finds all of its files.
pub(crate) fn was_moved(data: &Path) -> bool {
    let Ok(text) = fs::read_to_string(data.join("postmaster.pid")) else { return false };
    let here = data.canonicalize().unwrap_or_else(|_| data.to_path_buf());
    text.lines().nth(1).is_some_and(|started_in| Path::new(started_in) != here)
}

/// Where the system does not list its processes: whether somebody listens at the socket named in `postmaster.pid`.
fn answers(data: &Path) -> bool {
    let Ok(text) = fs::read_to_string(data.join("postmaster.pid")) else { return false };
    let mut lines = text.lines().skip(3);
    let (Some(port), Some(folder)) = (lines.next(), lines.next()) else { return false };
    std::os::unix::net::UnixStream::connect(Path::new(folder).join(format!(".s.PGSQL.{port}"))).is_ok()
}

/// Server processes that outlived their main process. They may still commit: a new server waits for them.
fn orphans(data: &Path) -> Vec<u32> {
    let Ok(entries) = fs::read_dir("/proc") else { return Vec::new() };
    let pids = entries.flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    pids.filter(|pid| is_server(*pid, data)).collect()
}

/// Waits for a server that somebody has started and that is not ready yet: it may be recovering from a crash.
///
/// `false` where it ended instead.
pub(crate) async fn wait_for_living(folder: &Path) -> Result<bool, LocalPostgresError> {
    let data = folder.join("data");
    let begun = Instant::now();
    while let Some(file) = living(&data) {
        if file.ready {
            return Ok(true);
        }
        if begun.elapsed() > START {
            return Err(LocalPostgresError::NotReady { seconds: START.as_secs(), log: log_path(folder) });
        }
        tokio::time::sleep(PAUSE).await;
    }
    Ok(false)
}

/// Starts the server in a process group of its own, so that Ctrl-C on us does not reach it, and waits until it is ready.
pub(crate) async fn start(folder: &Path, binaries: &Binaries, user: &ServerUser) -> Result<(), LocalPostgresError> {
    let data = folder.join("data");
    wait_for_orphans(&data).await;
    let log = log_path(folder);
    put_long_log_aside(&log);
    let file = fs::File::options().create(true).append(true).open(&log).map_err(io("cannot write", &log))?;
    let again = file.try_clone().map_err(io("cannot write", &log))?;
    let mut command = Command::new(binaries.bin.join("postgres"));
    command.arg("-D").arg(&data).stdin(Stdio::null()).stdout(again).stderr(file).process_group(0);
    // PGOPTIONS, PGPORT and their family are meant for clients
    for (name, _) in std::env::vars_os().filter(|(name, _)| name.as_encoded_bytes().starts_with(b"PG")) {
        command.env_remove(name);
    }
    if let Some(stale) = pid_file(&data) {
        // the server then skips the test of this number, and still checks that the old shared memory is unused
        command.env("PG_GRANDPARENT_PID", stale.pid.to_string());
    }
    user.run_as(&mut command);
    let child = command
        .spawn()
        .map_err(|error| LocalPostgresError::Program { program: "postgres", message: error.to_string() })?;
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
        if living(data).is_some_and(|file| file.ready) {
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

/// Orphans finish what they are at; after a while they are told to end, and in the end to drop everything.
async fn wait_for_orphans(data: &Path) {
    let begun = Instant::now();
    let mut told = [(ORPHANS, "-TERM"), (ORPHANS * 3, "-QUIT")].into_iter().peekable();
    loop {
        let left = orphans(data);
        if left.is_empty() || begun.elapsed() > START {
            return;
        }
        if let Some((_, signal_name)) = told.next_if(|(after, _)| begun.elapsed() > *after) {
            for pid in left {
                tracing::warn!(pid, signal_name, "a process of a server that died is told to end");
                signal(pid, signal_name);
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
    // the shell's own kill: the program of that name is not everywhere
    let sent = Command::new("/bin/sh").args(["-c", "kill \"$1\" \"$2\"", "sh", name]).arg(pid.to_string()).status();
    if let Err(error) = sent {
        tracing::warn!(pid, name, %error, "no signal could be sent");
    }
}

/// One old log is kept beside the new one.
fn put_long_log_aside(log: &Path) {
    if fs::metadata(log).is_ok_and(|data| data.len() > LONG_LOG)
        && let Err(error) = fs::rename(log, log.with_extension("1"))
    {
        tracing::warn!(%error, log = %log.display(), "the long log stays where it is");
    }
}

fn last_lines(log: &Path) -> String {
    let text = fs::read(log).map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).unwrap_or_default();
    let lines: Vec<&str> = text.lines().rev().take(3).collect();
    lines.into_iter().rev().collect::<Vec<_>>().join(" · ")
}
