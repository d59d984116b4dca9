//! `cargo xtask real DIR`: pipelines over public data, each interval once and three times, against their checksums.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

use anyhow::{Context, Result, bail};
use thrice_core::grain::Grain;
use thrice_core::interval_set;
use thrice_core::schedule::Schedule;
use thrice_core::time::Zone;

use crate::cluster::Cluster;
use crate::process::{read, run as call, without_settings};
use crate::psql::Session;
use crate::temporary_folder::TemporaryFolder;
use crate::{binary, pg, server};

/// One pipeline.
struct Real {
    grain: &'static str,
    name: &'static str,
    column: &'static str,
    key: &'static [&'static str],
    zone: &'static str,
    first: &'static str,
    last: &'static str,
}

const PIPELINES: [Real; 4] = [
    Real {
        grain: "day",
        name: "flights_daily",
        column: "day",
        key: &["day", "origin", "carrier"],
        zone: "America/New_York",
        first: "2013-01-01",
        last: "2013-12-31",
    },
    Real {
        grain: "day",
        name: "weather_hours",
        column: "hour_start",
        key: &["hour_start", "origin"],
        zone: "America/New_York",
        first: "2013-10-28",
        last: "2013-11-10",
    },
    Real {
        grain: "day",
        name: "seattle_days",
        column: "day",
        key: &["day"],
        zone: "America/Los_Angeles",
        first: "2010-01-01",
        last: "2010-12-31",
    },
    Real {
        grain: "month",
        name: "seattle_months",
        column: "month",
        key: &["month"],
        zone: "America/Los_Angeles",
        first: "2012-01",
        last: "2015-12",
    },
];

/// How many published partitions one call recomputes at most.
const A_CALL: usize = 7;

/// `cargo xtask real DIR [--pg V]`
pub(crate) fn run(arguments: &[String]) -> Result<()> {
    let (dir, major) = match arguments {
        [dir] => (dir, 15),
        [dir, flag, major] if flag == "--pg" => (dir, pg::number(major)?),
        _ => bail!("cargo xtask real DIR [--pg V]"),
    };
    let dir = Path::new(dir).canonicalize().with_context(|| dir.clone())?;
    for tool in ["psql", "python3"] {
        read(Command::new(tool).arg("--version"))
            .with_context(|| format!("the loader of {} needs {tool}", dir.display()))?;
    }
    let bench = Bench { cluster: Cluster::start(&server::of_version(major)?)?, binary: binary::plain()?, dir };
    bench.load()?;
    let project = bench.project()?;
    bench.thrice(&project, &["migrate"])?;
    let mut wrong = 0;
    for round in 1..=3 {
        let begun = Instant::now();
        for pipeline in &PIPELINES {
            bench.every_interval(&project, pipeline, round)?;
        }
        println!("round {round}: {:.1} s", begun.elapsed().as_secs_f64());
        // what the middle round wrote is what the last one replaces
        if round != 2 {
            wrong += bench.compare(round)?;
        }
    }
    if wrong == 0 { Ok(()) } else { bail!("{wrong} checksums differ") }
}

struct Bench {
    cluster: Cluster,
    binary: PathBuf,
    dir: PathBuf,
}

impl Bench {
    fn load(&self) -> Result<()> {
        call(Command::new("sh").arg(self.dir.join("load.sh")).envs([
            ("PGHOST", "127.0.0.1"),
            ("PGPORT", &self.cluster.port.to_string()),
            ("PGUSER", "postgres"),
            ("PGDATABASE", "postgres"),
        ]))
    }

    fn project(&self) -> Result<TemporaryFolder> {
        let project = TemporaryFolder::new("real")?;
        let pipelines = project.0.join("pipelines");
        fs::create_dir(&pipelines)?;
        fs::write(
            project.0.join("thrice.toml"),
            "[project]\nname = \"real\"\n\n[database]\nurl_env = \"DATABASE_URL\"\n",
        )?;
        for Real { grain, name, column, key, zone, first, .. } in &PIPELINES {
            let toml = format!(
                "[interval]\ngrain = \"{grain}\"\ntime_zone = \"{zone}\"\nstart = \"{first}\"\n\n[target]\ntable = \"real_out.{name}\"\ninterval_column = \"{column}\"\nkey = [\"{}\"]\n",
                key.join("\", \"")
            );
            fs::write(pipelines.join(format!("{name}.toml")), toml)?;
            fs::copy(self.dir.join(format!("pipelines/{name}.sql")), pipelines.join(format!("{name}.sql")))?;
        }
        Ok(project)
    }

    fn thrice(&self, project: &TemporaryFolder, words: &[&str]) -> Result<()> {
        let mut command = Command::new(&self.binary);
        without_settings(&mut command);
        command.arg("-C").arg(&project.0).arg("-q").args(words).env("DATABASE_URL", self.cluster.url());
        read(command.stdin(Stdio::null())).map(drop)
    }

    /// Every interval once: all in one call where nothing is published yet, else a few a call.
    fn every_interval(&self, project: &TemporaryFolder, pipeline: &Real, round: u32) -> Result<()> {
        if round == 1 {
            return self.thrice(project, &["run", pipeline.name, "--from", pipeline.first, "--to", pipeline.last]);
        }
        let schedule = Schedule::new(Grain::parse(pipeline.grain)?, Zone::named(pipeline.zone)?);
        // both ends are named, so this instant decides nothing
        let as_of = "2026-01-01T00:00:00Z".parse()?;
        let intervals = interval_set::range(&schedule, pipeline.first, pipeline.last, as_of)?;
        for some in intervals.chunks(A_CALL) {
            let keys = some.iter().map(|interval| interval.key.as_str());
            self.thrice(project, &["run", pipeline.name].into_iter().chain(keys).collect::<Vec<_>>())?;
        }
        Ok(())
    }

    /// Prints one line a target; answers how many differ.
    fn compare(&self, round: u32) -> Result<usize> {
        let got = Session::open(&self.cluster.url())?.rows(&fs::read_to_string(self.dir.join("checksum.sql"))?)?;
        let expected = fs::read_to_string(self.dir.join("expected.txt"))?;
        let mut wrong = 0;
        for Real { name, .. } in &PIPELINES {
            let mine = |line: &&str| line.split('|').next() == Some(name);
            let got = got.iter().map(String::as_str).find(mine).unwrap_or("no such target");
            let want = expected.lines().find(mine).unwrap_or("no such line");
            wrong += usize::from(got != want);
            println!("{}  after {round} of each  {got}  expected {want}", if got == want { "ok  " } else { "FAIL" });
        }
        Ok(wrong)
    }
}
