//! A throwaway cluster: copied from a template, started, stopped and removed when the value goes, or when this process
//! ends in any other way. One for tests does not flush to disk; one for the benchmark does.

use std::fs;
use std::net::TcpListener;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};

use crate::process;
use crate::server::{self, Server};
use crate::server_user::{private_folder, run_as};

/// Runs a server until it ends or our end of the pipe closes, which the kernel does for us however we end; then
/// removes its files. SIGINT is PostgreSQL's fast shutdown.
const KEEPER: &str = r#"
files=$1 sockets=$2; shift 2
exec 3<&0
"$@" </dev/null 3<&- &
server=$!
(read -r nothing <&3; kill -INT "$server") 2>/dev/null &
watcher=$!
exec 3<&- </dev/null
wait "$server"; code=$?
kill "$watcher" 2>/dev/null
rm -rf "$files" "$sockets"
exit "$code"
"#;

/// For tests: fast, and nobody needs the data after a crash of the machine.
const FOR_TESTS: [&str; 3] = ["fsync=off", "full_page_writes=off", "shared_buffers=128MB"];
/// For the benchmark: everything that keeps data safe is on, and nothing else happens meanwhile.
const FOR_BENCH: [&str; 4] = ["fsync=on", "shared_buffers=512MB", "max_wal_size=8GB", "checkpoint_timeout=1h"];

/// What the names of folders for sockets begin with.
const SOCKETS: &str = "thrice-xtask-";

/// A running server with superuser `postgres` and no password, reached by a port of this machine or a socket.
#[derive(Debug)]
pub(crate) struct Cluster {
    pub(crate) server: Server,
    pub(crate) port: u16,
    folder: PathBuf,
    keeper: Child,
}

impl Cluster {
    /// Starts a new cluster for tests.
    pub(crate) fn start(server: &Server) -> Result<Self> {
        Self::start_with(server, &FOR_TESTS)
    }

    /// Starts a new cluster that flushes to disk as a real one does.
    pub(crate) fn start_for_bench(server: &Server) -> Result<Self> {
        Self::start_with(server, &FOR_BENCH)
    }

    fn start_with(server: &Server, settings: &[&str]) -> Result<Self> {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        sweep()?;
        let template = template(server)?;
        // a port that is free now may be taken a moment later
        let mut tries = 0;
        loop {
            let number = NUMBER.fetch_add(1, Ordering::Relaxed);
            let name = format!("run-{}-{number}", std::process::id());
            match Self::start_once(server, &template, &name, settings) {
                Ok(cluster) => return Ok(cluster),
                Err(error) if tries < 2 => eprintln!("once more: {error:#}"),
                Err(error) => return Err(error),
            }
            tries += 1;
        }
    }

    fn start_once(server: &Server, template: &Path, name: &str, more: &[&str]) -> Result<Self> {
        let folder = server::folder()?.join(name);
        private_folder(&folder)?;
        let data = folder.join("data");
        let mut copy = Command::new("cp");
        copy.arg("-Rp").arg(template).arg(&data);
        run_as(&mut copy)?;
        process::read(&mut copy)?;
        let sockets = PathBuf::from(format!("/tmp/{SOCKETS}{name}"));
        private_folder(&sockets)?;
        let port = TcpListener::bind(("127.0.0.1", 0))?.local_addr()?.port();
        let mut settings = vec![
            "listen_addresses=127.0.0.1".to_owned(),
            format!("port={port}"),
            format!("unix_socket_directories={}", sockets.display()),
        ];
        let always = ["max_connections=200", "timezone=UTC"];
        settings.extend(always.iter().chain(more).map(|setting| (*setting).to_owned()));
        let log = fs::File::create(log_of(server)?)?;
        let mut command = Command::new("sh");
        command.args(["-c", KEEPER, "keeper"]).arg(&data).arg(&sockets);
        command.arg(server.bin.join("postgres")).arg("-D").arg(&data);
        for setting in &settings {
            command.args(["-c", setting]);
        }
        // a group of its own: Ctrl-C reaches us, and by our end the keeper
        command.stdin(Stdio::piped()).stdout(log.try_clone()?).stderr(log).process_group(0);
        run_as(&mut command)?;
        let keeper = command.spawn().context("sh")?;
        let mut cluster = Self { server: server.clone(), port, folder, keeper };
        cluster.wait()?;
        Ok(cluster)
    }

    /// Superuser's URL of the database `postgres`.
    pub(crate) fn url(&self) -> String {
        self.url_of("postgres", "postgres")
    }

    /// A login's URL of a database.
    pub(crate) fn url_of(&self, login: &str, database: &str) -> String {
        format!("postgres://{login}@127.0.0.1:{}/{database}", self.port)
    }

    /// Where the server writes its log.
    pub(crate) fn log(&self) -> Result<PathBuf> {
        log_of(&self.server)
    }

    fn wait(&mut self) -> Result<()> {
        let begun = Instant::now();
        while begun.elapsed() < Duration::from_mins(1) {
            if let Some(status) = self.keeper.try_wait()? {
                let log = fs::read_to_string(log_of(&self.server)?).unwrap_or_default();
                bail!("the server ended at once: {status}\n{}", log.trim());
            }
            let ready = fs::read_to_string(self.folder.join("data/postmaster.pid"))
                .is_ok_and(|text| text.lines().nth(7).is_some_and(|line| line.trim() == "ready"));
            if ready {
                return Ok(());
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        bail!("the server was not ready within a minute; its log is {}", log_of(&self.server)?.display())
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        // the pipe's end is the sign to stop
        drop(self.keeper.stdin.take());
        if let Err(error) = self.keeper.wait() {
            eprintln!("the keeper of the server on port {}: {error}", self.port);
        }
        if let Err(error) = fs::remove_dir_all(&self.folder) {
            eprintln!("{}: {error}", self.folder.display());
        }
    }
}

/// The log of the last cluster of this version.
fn log_of(server: &Server) -> Result<PathBuf> {
    Ok(server::folder()?.join(format!("log-{}.txt", server.major)))
}

/// A cluster as initdb makes it, kept for the next time.
fn template(server: &Server) -> Result<PathBuf> {
    let version = process::read(Command::new(server.bin.join("postgres")).arg("--version"))?;
    let words: Vec<&str> =
        version.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| !word.is_empty()).collect();
    let base = server::folder()?;
    let folder = base.join(format!("template-{}", words.join("-").to_lowercase()));
    if folder.join("PG_VERSION").exists() {
        return Ok(folder);
    }
    let making = base.join(format!("making-{}-{}", server.major, std::process::id()));
    private_folder(&making)?;
    let mut command = Command::new(server.bin.join("initdb"));
    command.args(["-U", "postgres", "-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync", "-D"]).arg(&making);
    run_as(&mut command)?;
    let made = process::read(&mut command);
    if made.is_err() || fs::rename(&making, &folder).is_err() {
        // another process may have made it meanwhile
        fs::remove_dir_all(&making)?;
        made?;
    }
    Ok(folder)
}

/// Removes what processes left behind that were killed: their servers have ended with them, folders may stay.
fn sweep() -> Result<()> {
    for place in [server::folder()?, PathBuf::from("/tmp")] {
        for entry in fs::read_dir(&place).with_context(|| place.display().to_string())?.flatten() {
            let name = entry.file_name().to_string_lossy().into_owned();
            let owner = match name.trim_start_matches(SOCKETS).split('-').collect::<Vec<_>>()[..] {
                ["run", pid, _] | ["making", _, pid] if pid.parse::<u32>().is_ok() => pid.to_owned(),
                _ => continue,
            };
            let ours = place != Path::new("/tmp") || name.starts_with(SOCKETS);
            let alive = process::read(Command::new("sh").args(["-c", "kill -0 \"$0\"", &owner])).is_ok();
            if ours && !alive {
                // somebody else's, under /tmp, stays
                drop(fs::remove_dir_all(entry.path()));
            }
        }
    }
    Ok(())
}
