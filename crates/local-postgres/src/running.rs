//! The private server of a project: one cluster, shared by whoever works in the project.

use std::fs;
use std::path::{Path, PathBuf};

use tokio_postgres::NoTls;

use crate::binaries::Surroundings;
use crate::cluster_file::{ClusterFile, host_id};
use crate::create::{self, USER};
use crate::error::{LocalPostgresError, io};
use crate::home;
use crate::postmaster;
use crate::server_user::ServerUser;

/// The number in the socket's name. The folder tells clusters apart, so one number does for all.
const PORT: u16 = 5432;

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
        f.debug_struct("Running").field("socket_dir", &self.socket_dir).field("port", &self.port).field("started", &self.started).finish_non_exhaustive()
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
        Self { pointer: project.as_ref().join(".thrice/pg") }
    }

    /// Uses the server that runs, or starts it, or makes it; then makes sure that `database` exists.
    ///
    /// Safe to call from many processes at once: one starts it, the others use it.
    ///
    /// # Errors
    /// [`LocalPostgresError`].
    pub async fn ensure_running(&self, surroundings: &Surroundings, database: &str) -> Result<Running, LocalPostgresError> {
        fs::create_dir_all(&self.pointer).map_err(io("cannot make", &self.pointer))?;
        let (file, major, started) = {
            let _lock = self.lock().await?;
            self.ensure_locked(surroundings).await?
        };
        let running = Running {
            socket_dir: file.socket.clone(),
            port: file.port,
            user: USER.to_owned(),
            password: file.password.clone(),
            database: database.to_owned(),
            started,
            major,
        };
        self.ensure_database(&file, database).await?;
        Ok(running)
    }

    async fn ensure_locked(&self, surroundings: &Surroundings) -> Result<(ClusterFile, u32, bool), LocalPostgresError> {
        let user = ServerUser::of_process()?;
        let known = ClusterFile::read(&self.pointer)?;
        if let Some(file) = &known
            && file.host_id != host_id()
        {
            return Err(LocalPostgresError::OtherHost { path: file.folder.clone() });
        }
        let folder = match &known {
            Some(file) => file.folder.clone(),
            None => home::cluster_folder(&self.pointer, &user)?,
        };
        let data = folder.join("data");
        let made = fs::read_to_string(data.join("PG_VERSION")).ok().and_then(|text| text.trim().parse::<u32>().ok());
        if let (Some(file), Some(major)) = (&known, made)
            && postmaster::living(&data).is_some_and(|pid| pid.ready)
        {
            return Ok((file.clone(), major, false));
        }
        let last = known.as_ref().map(|file| file.bin.as_path());
        let binaries = surroundings.find_binaries(last, made)?;
        let password = match &known {
            Some(file) if made.is_some() => file.password.clone(),
            _ => create::password()?,
        };
        if folder == self.pointer {
            home::private_folder(&folder, &user)?;
        }
        let socket = home::socket_folder(&folder, PORT, surroundings, &user)?;
        let mut file = ClusterFile {
            folder: folder.clone(),
            bin: binaries.bin.clone(),
            port: PORT,
            socket: socket.clone(),
            password,
            system_identifier: known.and_then(|file| file.system_identifier),
            host_id: host_id(),
        };
        if made.is_none() {
            // the password is known before the cluster exists: a kill in between leaves nothing that cannot be opened
            file.write(&self.pointer)?;
            create::create(&folder, &binaries, &file.password, &user)?;
        }
        create::configure(&folder, PORT, &socket, &user)?;
        postmaster::start(&folder, &binaries, &user).await?;
        file.system_identifier = Some(self.system_identifier(&file).await?);
        file.write(&self.pointer)?;
        Ok((file, binaries.major, true))
    }

    /// Stops the server, unless sessions of other thrice processes are connected and it is not forced.
    ///
    /// # Errors
    /// [`LocalPostgresError::InUse`], [`LocalPostgresError::NotStopped`].
    pub async fn stop(&self, force: bool) -> Result<Stopped, LocalPostgresError> {
        let Some(file) = ClusterFile::read(&self.pointer)? else { return Ok(Stopped::Before) };
        let _lock = self.lock().await?;
        let data = file.folder.join("data");
        if !force && postmaster::living(&data).is_some() {
            let client = connect(&file, "postgres").await?;
            let row = client
                .query_one("select count(*) from pg_stat_activity where pid <> pg_backend_pid() and application_name like 'thrice%'", &[])
                .await?;
            let sessions: i64 = row.try_get(0)?;
            if sessions > 0 {
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
        Ok(match postmaster::living(&file.folder.join("data")) {
            Some(living) => Status::Running { pid: living.pid, folder: file.folder, socket_dir: file.socket },
            None => Status::Stopped { folder: file.folder },
        })
    }

    /// Where the server writes its log; `None` where no server was ever made.
    ///
    /// # Errors
    /// [`LocalPostgresError::Io`] where its file cannot be read.
    pub fn log_path(&self) -> Result<Option<PathBuf>, LocalPostgresError> {
        Ok(ClusterFile::read(&self.pointer)?.map(|file| postmaster::log_path(&file.folder)))
    }

    /// Held while a server is looked for, made, started or stopped; given back by dropping the file.
    async fn lock(&self) -> Result<fs::File, LocalPostgresError> {
        let path = self.pointer.join("start.lock");
        let file = fs::File::options().create(true).truncate(false).write(true).open(&path).map_err(io("cannot open", &path))?;
        loop {
            match file.try_lock() {
                Ok(()) => return Ok(file),
                Err(fs::TryLockError::WouldBlock) => tokio::time::sleep(std::time::Duration::from_millis(30)).await,
                Err(fs::TryLockError::Error(source)) => {
                    return Err(LocalPostgresError::Io { what: "cannot lock", path, source });
                }
            }
        }
    }

    async fn system_identifier(&self, file: &ClusterFile) -> Result<String, LocalPostgresError> {
        let client = connect(file, "postgres").await?;
        Ok(client.query_one("select system_identifier::text from pg_control_system()", &[]).await?.try_get(0)?)
    }

    async fn ensure_database(&self, file: &ClusterFile, database: &str) -> Result<(), LocalPostgresError> {
        let client = connect(file, "postgres").await?;
        let there = client.query_opt("select 1 from pg_database where datname = $1", &[&database]).await?.is_some();
        if there {
            return Ok(());
        }
        let quoted = database.replace('"', "\"\"");
        match client.batch_execute(&format!("create database \"{quoted}\"")).await {
            // another process made it at the same moment
            Err(error) if error.code().is_some_and(|code| matches!(code.code(), "42P04" | "23505")) => Ok(()),
            other => Ok(other?),
        }
    }
}

async fn connect(file: &ClusterFile, database: &str) -> Result<tokio_postgres::Client, LocalPostgresError> {
    let mut config = tokio_postgres::Config::new();
    config.host_path(&file.socket).port(file.port).user(USER).password(&file.password).dbname(database).application_name("local-postgres");
    let (client, connection) = config.connect(NoTls).await?;
    tokio::spawn(async move {
        if let Err(error) = connection.await {
            tracing::debug!(%error, "a connection to the private server ended");
        }
    });
    Ok(client)
}
