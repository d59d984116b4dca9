//! The server, the source data and the project that every workload shares.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use anyhow::{Context, Result, bail};

use crate::binary;
use crate::cluster::Cluster;
use crate::process::{read, without_settings};
use crate::psql::Session;
use crate::server::{self, MAJORS};
use crate::temporary_folder::TemporaryFolder;

/// A running server with source data, a project, and the binaries.
pub(crate) struct Scene {
    pub(crate) cluster: Cluster,
    pub(crate) session: Session,
    pub(crate) project: TemporaryFolder,
    pub(crate) thrice: PathBuf,
    pub(crate) psql: PathBuf,
    pub(crate) pgbench: PathBuf,
}

const SOURCE: &str = include_str!("source.sql");
const TARGET: &str = include_str!("target.sql");

impl Scene {
    /// Builds, starts and loads.
    pub(crate) fn set(with_source: bool) -> Result<Self> {
        let server = MAJORS
            .iter()
            .find_map(|major| server::installed(*major))
            .context("the benchmark needs an installed PostgreSQL with its client programs")?;
        let (psql, pgbench) = (program(&server.bin, "psql")?, program(&server.bin, "pgbench")?);
        let thrice = binary::release()?;
        let cluster = Cluster::start_for_bench(&server)?;
        let session = Session::open(&cluster.url())?;
        let project = TemporaryFolder::new("bench")?;
        fs::create_dir(project.0.join("pipelines"))?;
        fs::write(
            project.0.join("thrice.toml"),
            "[project]\nname = \"bench\"\ntime_zone = \"Asia/Seoul\"\n\n[database]\nurl_env = \"DATABASE_URL\"\n",
        )?;
        if with_source {
            let begun = Instant::now();
            session.run(SOURCE)?;
            println!("source data: {:.1} s", begun.elapsed().as_secs_f64());
        }
        Ok(Self { cluster, session, project, thrice, psql, pgbench })
    }

    /// `thrice` in the project, its words to follow.
    pub(crate) fn thrice(&self) -> Command {
        let mut command = Command::new(&self.thrice);
        without_settings(&mut command);
        command.arg("-C").arg(&self.project.0).env("DATABASE_URL", self.cluster.url());
        command
    }

    /// A client program of `PostgreSQL`, connected.
    pub(crate) fn client(&self, program: &Path) -> Command {
        let mut command = Command::new(program);
        without_settings(&mut command);
        command.envs([("PGHOST", "127.0.0.1"), ("PGUSER", "postgres"), ("PGDATABASE", "postgres")]);
        command.env("PGSSLMODE", "disable").env("PGPORT", self.cluster.port.to_string());
        command
    }

    /// Empty targets and an empty ledger, and nothing left to write to disk.
    pub(crate) fn reset(&self) -> Result<()> {
        self.session.run(TARGET)?;
        read(self.thrice().args(["migrate", "-q", "--yes"]))?;
        self.session.run("checkpoint")
    }

    /// One value.
    pub(crate) fn value(&self, sql: &str) -> Result<String> {
        match self.session.rows(sql)?.pop() {
            Some(value) => Ok(value),
            None => bail!("no row: {sql}"),
        }
    }

    /// Writes a pipeline into the project.
    pub(crate) fn pipeline(&self, name: &str, toml: &str, sql: &str) -> Result<()> {
        let folder = self.project.0.join("pipelines");
        fs::write(folder.join(format!("{name}.toml")), toml)?;
        fs::write(folder.join(format!("{name}.sql")), sql)?;
        Ok(())
    }

    /// Writes the pipeline `daily` over one source table; its days begin with `start`.
    pub(crate) fn daily(&self, source: &str, start: &str) -> Result<()> {
        let toml = include_str!("daily.toml").replace("{start}", start);
        self.pipeline("daily", &toml, &include_str!("daily.sql").replace("{source}", source))
    }
}

/// A client program beside the server's, or on the path. What is on the path may be a script that looks for the program
/// first, and takes longer than it.
fn program(bin: &Path, name: &str) -> Result<PathBuf> {
    let server = bin.join("postgres").canonicalize().unwrap_or_else(|_| bin.join("postgres"));
    let beside = [bin.join(name), server.with_file_name(name)].into_iter().find(|program| program.exists());
    let program = beside.unwrap_or_else(|| PathBuf::from(name));
    read(Command::new(&program).arg("--version")).with_context(|| format!("the benchmark needs {name}"))?;
    Ok(program)
}
