//! A bug case as a project on disk: what its facts mean in thrice's own files, and calls of the command in it.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

use anyhow::{Context, Result};
use thrice_core::identifier::Identifier;
use thrice_core::interval::Interval;
use thrice_core::schedule::{Partition, Schedule};
use thrice_core::time::{Timestamp, Zone};

use crate::cases::Facts;
use crate::process::without_settings;
use crate::temporary_folder::TemporaryFolder;

/// How long a worker that shows no sign of life keeps its partitions, in seconds.
pub(crate) const LEASE_SECONDS: u64 = 3;

/// A project with one pipeline, `case`; removed when the value goes.
#[derive(Debug)]
pub(crate) struct CaseProject {
    folder: TemporaryFolder,
    binary: PathBuf,
    /// The whole intervals of the case, oldest first.
    pub(crate) partitions: Vec<Partition>,
}

impl CaseProject {
    /// Writes the project. Guards are off by being absent; an empty result may replace rows.
    pub(crate) fn write(facts: &Facts, query: &str, schedule: &Schedule, binary: &Path) -> Result<Self> {
        let folder = TemporaryFolder::new("case")?;
        let at = |name: &str| -> Result<Timestamp> { Ok(facts.need(name)?.parse()?) };
        let (from, to) = (at("from")?, at("to")?);
        let partitions = schedule.partitions(Interval::new(from, to)?).collect();
        let zone = Zone::named(facts.need("zone")?)?;

        let mut target = vec![
            format!("table = {}", toml_text(facts.need("target")?)),
            format!("strategy = {}", toml_text(facts.need("strategy")?)),
            "allow_empty = true".to_owned(),
        ];
        if let Some(column) = facts.get("time_column") {
            target.push(format!("interval_column = {}", toml_name(column)?));
        }
        let key = facts.get("key").unwrap_or_default().split(',').map(str::trim).filter(|column| !column.is_empty());
        let key: Vec<String> = key.map(toml_name).collect::<Result<_>>()?;
        if !key.is_empty() {
            target.push(format!("key = [{}]", key.join(", ")));
        }
        if facts.get("strategy") == Some("merge") {
            target.push("rows = \"complete\"".to_owned());
        }

        let zone_text = toml_text(zone.name());
        let pipeline = format!(
            "[interval]\ngrain = {}\ntime_zone = {zone_text}\nstart = \"{}\"\n\n[target]\n{}\n\n[retry]\nfirst_delay = \"1s\"\n\n[timeouts]\nlock = \"1s\"\n",
            toml_text(facts.need("grain")?),
            zone.date(from),
            target.join("\n"),
        );
        let project = format!(
            "[project]\nname = \"case\"\ntime_zone = {zone_text}\n\n[database]\nurl_env = \"DATABASE_URL\"\n\n[lease]\nttl = \"{LEASE_SECONDS}s\"\n"
        );
        fs::create_dir(folder.0.join("pipelines"))?;
        fs::write(folder.0.join("thrice.toml"), project)?;
        fs::write(folder.0.join("pipelines/case.toml"), pipeline)?;
        fs::write(folder.0.join("pipelines/case.sql"), query)?;
        Ok(Self { folder, binary: binary.to_path_buf(), partitions })
    }

    /// Creates the ledger.
    pub(crate) fn migrate(&self, url: &str) -> Result<Output> {
        self.thrice(url).arg("migrate").output().context("thrice migrate")
    }

    /// Produces one partition, whatever is there.
    pub(crate) fn run(&self, url: &str, partition: &Partition) -> Command {
        let mut command = self.thrice(url);
        command.args([
            "run",
            "case",
            partition.key.as_str(),
            "--overwrite-existing",
            "--reason",
            "a case of the bench",
        ]);
        command
    }

    fn thrice(&self, url: &str) -> Command {
        let mut command = Command::new(&self.binary);
        without_settings(&mut command);
        command.arg("-C").arg(&self.folder.0).env("DATABASE_URL", url).env("NO_COLOR", "1").stdin(Stdio::null());
        command
    }
}

/// Starts a call whose output is read at its end.
pub(crate) fn start(mut command: Command) -> Result<Child> {
    command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().context("thrice run")
}

/// A TOML basic string.
fn toml_text(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
}

/// A column's exact name: in double quotes for thrice, as the cases do not fold names.
fn toml_name(name: &str) -> Result<String> {
    Ok(toml_text(&Identifier::new(name)?.to_string()))
}
