//! A throwaway cluster: made from a template, started, stopped and removed when the value goes. Its files are not
//! flushed to disk: it is for tests only.

use std::fs;
use std::net::TcpListener;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};

use crate::process;
use crate::server::{Server, base};

/// A running server with superuser `postgres` and no password, on a port of this machine only.
#[derive(Debug)]
pub(crate) struct Cluster {
    pub(crate) server: Server,
    pub(crate) port: u16,
    folder: PathBuf,
    child: Child,
}

impl Cluster {
    /// Starts a new cluster.
    pub(crate) fn start(server: &Server) -> Result<Self> {
        let template = template(server)?;
        let folder = base()?.join(format!("run-{}-{}", server.major, std::process::id()));
        if folder.exists() {
            fs::remove_dir_all(&folder)?;
        }
        process::read(Command::new("cp").args(["-a", "--reflink=auto"]).arg(&template).arg(&folder))?;
        // a free port; another process could take it in between, which then fails loudly
        let port = TcpListener::bind(("127.0.0.1", 0))?.local_addr()?.port();
        let sockets = format!("/tmp/thrice-xtask-{port}");
        fs::create_dir_all(&sockets)?;
        give(Path::new(&sockets))?;
        fs::write(
            folder.join("postgresql.auto.conf"),
            format!(
                "listen_addresses = '127.0.0.1'\nport = {port}\nunix_socket_directories = '{sockets}'\nmax_connections = 200\nfsync = off\nfull_page_writes = off\nlog_min_messages = warning\nlog_line_prefix = '%m [%p] %q%a '\nshared_buffers = '128MB'\n"
            ),
        )?;
        give(&folder)?;
        let log = fs::File::create(base()?.join(format!("log-{}.txt", server.major)))?;
        let mut command = Command::new(server.bin.join("postgres"));
        command
            .arg("-D")
            .arg(&folder)
            .current_dir("/")
            .stdin(Stdio::null())
            .stdout(log.try_clone()?)
            .stderr(log)
            .process_group(0);
        as_server_user(&mut command)?;
        let child = command.spawn().with_context(|| process::line(&command))?;
        let mut cluster = Self { server: server.clone(), port, folder, child };
        cluster.wait()?;
        Ok(cluster)
    }

    /// Superuser's URL of the database `postgres`.
    pub(crate) fn url(&self) -> String {
        format!("postgres://postgres@127.0.0.1:{}/postgres", self.port)
    }

    fn wait(&mut self) -> Result<()> {
        let begun = Instant::now();
        while begun.elapsed() < Duration::from_mins(1) {
            if let Some(status) = self.child.try_wait()? {
                bail!("the server ended at once: {status}; its log is in {}", base()?.display());
            }
            let ready = fs::read_to_string(self.folder.join("postmaster.pid"))
                .is_ok_and(|text| text.lines().nth(7).is_some_and(|line| line.trim() == "ready"));
            if ready {
                return Ok(());
            }
            std::thread::sleep(Duration::from_millis(50));
        }
        bail!("the server was not ready within a minute")
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        // SIGINT is the fast shutdown
        let pid = self.child.id().to_string();
        drop(Command::new("kill").args(["-INT", &pid]).status());
        let begun = Instant::now();
        while begun.elapsed() < Duration::from_secs(20) {
            if matches!(self.child.try_wait(), Ok(Some(_))) {
                break;
            }
            std::thread::sleep(Duration::from_millis(50));
        }
        drop(self.child.kill());
        drop(self.child.wait());
        drop(fs::remove_dir_all(&self.folder));
        drop(fs::remove_dir_all(format!("/tmp/thrice-xtask-{}", self.port)));
    }
}

/// A cluster as initdb makes it, kept for the next time.
fn template(server: &Server) -> Result<PathBuf> {
    let version = process::read(Command::new(server.bin.join("postgres")).arg("--version"))?;
    let name: String = version.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).collect();
    let folder = base()?.join(format!("template-{}", name.trim_matches('-')));
    if folder.join("PG_VERSION").exists() {
        return Ok(folder);
    }
    let making = base()?.join(format!("making-{}", std::process::id()));
    if making.exists() {
        fs::remove_dir_all(&making)?;
    }
    fs::create_dir_all(&making)?;
    give(&making)?;
    let mut command = Command::new(server.bin.join("initdb"));
    command
        .args(["-U", "postgres", "-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync", "-D"])
        .arg(&making)
        .current_dir("/");
    as_server_user(&mut command)?;
    process::read(&mut command)?;
    if fs::rename(&making, &folder).is_err() {
        // another process made it meanwhile
        fs::remove_dir_all(&making)?;
    }
    Ok(folder)
}

/// Root may not run a server: it is run as `postgres`, else as `nobody`.
pub(crate) fn is_root() -> bool {
    process::read(Command::new("id").arg("-u")).is_ok_and(|id| id.trim() == "0")
}

fn server_user() -> Result<Option<(u32, u32)>> {
    if !is_root() {
        return Ok(None);
    }
    for user in ["postgres", "nobody"] {
        let id = |flag: &str| process::read(Command::new("id").args([flag, user])).ok()?.trim().parse().ok();
        if let (Some(uid), Some(gid)) = (id("-u"), id("-g")) {
            return Ok(Some((uid, gid)));
        }
    }
    bail!("this is root, and neither a user postgres nor nobody exists to run a server as")
}

fn as_server_user(command: &mut Command) -> Result<()> {
    if let Some((uid, gid)) = server_user()? {
        command.uid(uid).gid(gid);
    }
    Ok(())
}

/// Hands a folder to the server's user.
fn give(folder: &Path) -> Result<()> {
    if let Some((uid, gid)) = server_user()? {
        process::read(Command::new("chown").arg("-R").arg(format!("{uid}:{gid}")).arg(folder))?;
    }
    process::read(Command::new("chmod").arg("0700").arg(folder)).map(drop)
}
