//! The private server of a project: one cluster, shared by whoever works in the project.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use tokio_postgres::NoTls;

use crate::binaries::Surroundings;
use crate::cluster_file::{ClusterFile, Elsewhere, Host};
use crate::create::{self, USER};
use crate::error::{LocalPostgresError, io};
use crate::home;
use crate::postmaster;
use crate::server_user::ServerUser;

/// The number in the socket's name. The folder tells clusters apart, so one number does for all.
const PORT: u16 = 5432;
/// How long another process may take to find, make and start the server.
const LOCK: Duration = Duration::from_mins(5);
/// How long a running server may take to let us in.
const ANSWER: Duration = Duration::from_secs(20);
/// How long sessions that are just being closed may still be there when the server is to be stopped.
const GOODBYE: Duration = Duration::from_millis(500);

/// The private PostgreSQL of one project.
#[derive(Debug, Clone)]
pub struct LocalPostgres {
    pointer: PathBuf,
}

/// A server that answers.
#[derive(Clone)]
pub struct Running {
    /// Folder of its socket.
    pub socket_dir: PathBuf,
    /// Number in the socket's name.
    pub port: u16,
    /// Its superuser.
    pub user: String,
    /// The superuser's password. Not part of the debug text.
    pub password: String,
    /// The database.
    pub database: String,
    /// This call started it.
    pub started: bool,
    /// Major version.
    pub major: u32,
}

impl std::fmt::Debug for Running {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Running")
            .field("socket_dir", &self.socket_dir)
            .field("port", &self.port)
            .field("started", &self.started)
            .finish_non_exhaustive()
    }
}

/// How a project's private server stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Status {
    /// None was ever made.
    None,
    /// It was made and does not run.
    Stopped {
        /// Its files.
        folder: PathBuf,
    },
    /// It runs.
    Running {
        /// Its main process.
        pid: u32,
        /// Its files.
        folder: PathBuf,
        /// Folder of its socket.
        socket_dir: PathBuf,
    },
}

/// What stopping did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stopped {
    /// It ran and has ended.
    Now,
    /// It did not run.
    Before,
}

impl LocalPostgres {
    /// Of the project in this folder; its files go to `.thrice/pg` there.
    pub fn of_project(project: impl AsRef<Path>) -> Self {
        // programs are run from another folder than this process's
        let project = project.as_ref();
        let project = project.canonicalize().or_else(|_| std::path::absolute(project));
        Self { pointer: project.unwrap_or_default().join(".thrice/pg") }
    }

    /// Uses the server that runs, or starts it, or makes it; then makes sure that `database` exists.
    ///
    /// Safe to call from many processes at once: one starts it, the others use it.
    ///
    /// # Errors
    /// [`LocalPostgresError`].
    pub async fn ensure_running(
        &self,
        surroundings: &Surroundings,
        database: &str,
    ) -> Result<Running, LocalPostgresError> {
        self.make_pointer()?;
        let _lock = self.lock().await?;
        let (file, major, started) = Box::pin(self.ensure_locked(surroundings)).await?;
        ensure_database(&file, database).await?;
        Ok(Running {
            socket_dir: file.socket,
            port: file.port,
            user: USER.to_owned(),
            password: file.password,
            database: database.to_owned(),
            started,
            major,
        })
    }

    /// `.thrice` is made enterable whatever the umask is, since another user may have to run the server.
    fn make_pointer(&self) -> Result<(), LocalPostgresError> {
        let outer = self.pointer.parent().filter(|outer| !outer.exists());
        fs::create_dir_all(&self.pointer).map_err(io("cannot make", &self.pointer))?;
        if let Some(outer) = outer {
            fs::set_permissions(outer, fs::Permissions::from_mode(0o755)).map_err(io("cannot open", outer))?;
        }
        Ok(())
    }

    async fn ensure_locked(&self, surroundings: &Surroundings) -> Result<(ClusterFile, u32, bool), LocalPostgresError> {
        let known = ClusterFile::read(&self.pointer)?.filter(|file| !file.is_copy(&self.pointer));
        let folder = match &known {
            Some(file) => file.folder(&self.pointer),
            None => home::cluster_folder(&self.pointer, &ServerUser::of_process()?)?,
        };
        let data = folder.join("data");
        let made = major_of(&data);
        let user = ServerUser::of_cluster(&data)?;
        let known = match (known, made) {
            // nothing was made with it
            (_, None) => None,
            (Some(file), Some(_)) => Some(file),
            (None, Some(_)) => return Err(LocalPostgresError::PasswordLost { path: folder }),
        };
        let here = Host::here();
        if let (Some(file), Some(major)) = (&known, made) {
            let lives = postmaster::wait_for_living(&folder).await?;
            if lives && postmaster::was_moved(&data) {
                postmaster::stop(&data, false).await?;
            } else if lives {
                let file = ClusterFile { socket: file.socket_now(&self.pointer), ..file.clone() };
                recognise(&file, &folder).await?;
                return Ok((file, major, false));
            }
            if !file.host.may_be(&here) && postmaster::pid_file(&data).is_some() {
                return Err(LocalPostgresError::OtherHost { path: folder });
            }
        }

        let last = known.as_ref().map(|file| file.bin.as_path());
        let binaries = surroundings.find_binaries(last, made)?;
        if folder == self.pointer {
            home::private_folder(&folder, &user)?;
        }
        let socket = home::socket_folder(&folder, PORT, surroundings, &user)?;
        let elsewhere =
            (folder != self.pointer).then(|| Elsewhere { folder: folder.clone(), pointer: self.pointer.clone() });
        let mut file = ClusterFile {
            elsewhere,
            bin: binaries.bin.clone(),
            port: PORT,
            socket: socket.clone(),
            password: known.as_ref().map_or_else(create::password, |file| Ok(file.password.clone()))?,
            system_identifier: known.and_then(|file| file.system_identifier),
            host: here,
        };
        // the password is known before the cluster exists, and where it runs before it runs: a kill in between leaves
        // nothing that cannot be opened
        file.write(&self.pointer)?;
        if made.is_none() {
            create::create(&folder, &binaries, &file.password, &user)?;
        }
        create::configure(&folder, PORT, &socket, &user)?;
        postmaster::start(&folder, &binaries, &user).await?;
        let identifier = recognise(&file, &folder).await?;
        if file.system_identifier.is_none() {
            file.system_identifier = Some(identifier);
            file.write(&self.pointer)?;
        }
        Ok((file, binaries.major, true))
    }

    /// Stops the server, unless somebody is connected and it is not forced.
    ///
    /// The caller's own sessions count as well: close them first.
    ///
    /// # Errors
    /// [`LocalPostgresError::InUse`], [`LocalPostgresError::NotStopped`].
    pub async fn stop(&self, force: bool) -> Result<Stopped, LocalPostgresError> {
        let Some(file) = ClusterFile::read(&self.pointer)? else { return Ok(Stopped::Before) };
        let _lock = self.lock().await?;
        let data = file.folder(&self.pointer).join("data");
        if !force && postmaster::living(&data).is_some_and(|living| living.ready) {
            let sessions = sessions(&file, &self.pointer).await?;
            if !sessions.is_empty() {
                return Err(LocalPostgresError::InUse { sessions });
            }
        }
        Ok(if postmaster::stop(&data, force).await? { Stopped::Now } else { Stopped::Before })
    }

    /// How it stands. Starts nothing.
    ///
    /// # Errors
    /// [`LocalPostgresError::Io`] where its file cannot be read.
    pub fn status(&self) -> Result<Status, LocalPostgresError> {
        let Some(file) = ClusterFile::read(&self.pointer)? else { return Ok(Status::None) };
        let (folder, socket_dir) = (file.folder(&self.pointer), file.socket_now(&self.pointer));
        Ok(match postmaster::living(&folder.join("data")) {
            Some(living) => Status::Running { pid: living.pid, folder, socket_dir },
            None => Status::Stopped { folder },
        })
    }

    /// Where the server writes its log; `None` where no server was ever made.
    ///
    /// # Errors
    /// [`LocalPostgresError::Io`] where its file cannot be read.
    pub fn log_path(&self) -> Result<Option<PathBuf>, LocalPostgresError> {
        Ok(ClusterFile::read(&self.pointer)?.map(|file| postmaster::log_path(&file.folder(&self.pointer))))
    }

    /// Held while a server is looked for, made, started or stopped; given back by dropping the file.
    async fn lock(&self) -> Result<fs::File, LocalPostgresError> {
        let path = self.pointer.join("start.lock");
        let mut options = fs::File::options();
        let file = options.create(true).truncate(false).write(true).open(&path).map_err(io("cannot open", &path))?;
        let begun = Instant::now();
        loop {
            match file.try_lock() {
                Ok(()) => return Ok(file),
                Err(fs::TryLockError::WouldBlock) if begun.elapsed() > LOCK => {
                    return Err(LocalPostgresError::Busy { path, seconds: LOCK.as_secs() });
                }
                Err(fs::TryLockError::WouldBlock) => tokio::time::sleep(Duration::from_millis(30)).await,
                Err(fs::TryLockError::Error(source)) => {
                    return Err(LocalPostgresError::Io { what: "cannot lock", path, source });
                }
            }
        }
    }
}

/// The major version that made a cluster; `None` where there is none.
fn major_of(data: &Path) -> Option<u32> {
    fs::read_to_string(data.join("PG_VERSION")).ok()?.trim().parse().ok()
}

/// Logs in and makes sure that it is this cluster's server that answers.
async fn recognise(file: &ClusterFile, folder: &Path) -> Result<String, LocalPostgresError> {
    let client = connect(file).await.map_err(|error| {
        let code = if let LocalPostgresError::Server(error) = &error { error.code() } else { None };
        if code == Some(&tokio_postgres::error::SqlState::INVALID_PASSWORD) {
            LocalPostgresError::PasswordLost { path: folder.to_path_buf() }
        } else {
            error
        }
    })?;
    let row = client.query_one("select system_identifier::text from pg_control_system()", &[]).await?;
    let identifier: String = row.try_get(0)?;
    if file.system_identifier.as_ref().is_some_and(|known| *known != identifier) {
        return Err(LocalPostgresError::OtherServer { socket_dir: file.socket.clone() });
    }
    Ok(identifier)
}

/// Whoever is connected still when those that are about to end have ended: `psql of user thrice in thrice (process 4711)`.
async fn sessions(file: &ClusterFile, pointer: &Path) -> Result<Vec<String>, LocalPostgresError> {
    const OTHERS: &str = "select format('%s of user %s in %s (process %s)', \
                                 coalesce(nullif(application_name, ''), 'a program'), usename, datname, pid) \
                          from pg_stat_activity \
                          where pid <> pg_backend_pid() and backend_type = 'client backend' order by backend_start";
    let client = connect(&ClusterFile { socket: file.socket_now(pointer), ..file.clone() }).await?;
    let begun = Instant::now();
    loop {
        let rows = client.query(OTHERS, &[]).await?;
        let sessions: Vec<String> = rows.iter().map(|row| row.try_get(0)).collect::<Result<_, _>>()?;
        if sessions.is_empty() || begun.elapsed() > GOODBYE {
            return Ok(sessions);
        }
        tokio::time::sleep(Duration::from_millis(25)).await;
    }
}

async fn ensure_database(file: &ClusterFile, database: &str) -> Result<(), LocalPostgresError> {
    let client = connect(file).await?;
    let there = client.query_opt("select 1 from pg_database where datname = $1", &[&database]).await?.is_some();
    if there {
        return Ok(());
    }
    let quoted = database.replace('"', "\"\"");
    match client.batch_execute(&format!("create database \"{quoted}\"")).await {
        // the session of a starter that was killed has made it in this moment
        Err(error) if error.code().is_some_and(|code| matches!(code.code(), "42P04" | "23505")) => Ok(()),
        made => Ok(made?),
    }
}

async fn connect(file: &ClusterFile) -> Result<tokio_postgres::Client, LocalPostgresError> {
    let mut config = tokio_postgres::Config::new();
    config.host_path(&file.socket).port(file.port).user(USER).password(&file.password);
    config.dbname("postgres").application_name("local-postgres");
    let connecting = Box::pin(config.connect(NoTls));
    let (client, connection) = tokio::time::timeout(ANSWER, connecting)
        .await
        .map_err(|_| LocalPostgresError::NoAnswer { socket_dir: file.socket.clone() })??;
    tokio::spawn(async move {
        if let Err(error) = connection.await {
            tracing::debug!(%error, "a connection to the private server ended");
        }
    });
    Ok(client)
}
