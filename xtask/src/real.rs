//! `cargo xtask real DIR`: pipelines over public data, once and three times, against their checksums.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, bail};
use thrice_core::grain::Grain;
use thrice_core::interval_set;
use thrice_core::schedule::Schedule;
use thrice_core::time::Zone;

use crate::cluster::Cluster;
use crate::process::{read, run as call};
use crate::psql::Session;
use crate::{server, test};

/// Name, interval column, key, zone, first and last day of each pipeline of grain day.
const PIPELINES: [(&str, &str, &str, &str, &str, &str); 3] = [
    ("flights_daily", "day", "day, origin, carrier", "America/New_York", "2013-01-01", "2013-12-31"),
    ("weather_hours", "hour_start", "hour_start, origin", "America/New_York", "2013-10-28", "2013-11-10"),
    ("seattle_days", "day", "day", "America/Los_Angeles", "2010-01-01", "2010-12-31"),
];

/// `cargo xtask real DIR`
pub(crate) fn run(arguments: &[String]) -> Result<()> {
    let dir = Path::new(arguments.first().context("cargo xtask real DIR")?).canonicalize()?;
    let binary = test::plain_binary()?;
    let cluster = Cluster::start(&server::of_version(15)?)?;
    let port = cluster.port.to_string();
    call(Command::new("sh").arg(dir.join("load.sh")).envs([
        ("PGHOST", "127.0.0.1"),
        ("PGPORT", &port),
        ("PGUSER", "postgres"),
        ("PGDATABASE", "postgres"),
    ]))?;
    let project = std::env::temp_dir().join(format!("thrice-real-{}", std::process::id()));
    fs::create_dir_all(project.join("pipelines"))?;
    fs::write(project.join("thrice.toml"), "[project]\nname = \"real\"\n[database]\nurl_env = \"DATABASE_URL\"\n")?;
    for (name, column, key, zone, first, _) in PIPELINES {
        let key: Vec<String> = key.split(", ").map(|key| format!("\"{key}\"")).collect();
        let toml = format!(
            "[interval]\ngrain = \"day\"\ntime_zone = \"{zone}\"\nstart = \"{first}\"\n[target]\ntable = \"real_out.{name}\"\ninterval_column = \"{column}\"\nkey = [{}]\n",
            key.join(", ")
        );
        fs::write(project.join(format!("pipelines/{name}.toml")), toml)?;
        fs::copy(dir.join(format!("pipelines/{name}.sql")), project.join(format!("pipelines/{name}.sql")))?;
    }
    let thrice = |words: &[&str]| {
        let mut command = Command::new(&binary);
        command.arg("-C").arg(&project).arg("-q").args(words).env("DATABASE_URL", cluster.url());
        read(&mut command)
    };
    thrice(&["migrate"])?;
    let session = Session::open(&cluster.url())?;
    let expected: Vec<String> = fs::read_to_string(dir.join("expected.txt"))?.lines().map(ToOwned::to_owned).collect();
    let mut wrong = 0;
    for round in 1..=3 {
        for (name, _, _, zone, first, last) in PIPELINES {
            if round == 1 {
                thrice(&["run", name, "--from", first, "--to", last])?;
            } else {
                // a call recomputes at most seven published partitions
                let schedule = Schedule::new(Grain::Day, Zone::named(zone)?);
                let days = interval_set::range(&schedule, first, last, "2026-01-01T00:00:00Z".parse()?)?;
                for week in days.chunks(7) {
                    let mut words = vec!["run", name];
                    words.extend(week.iter().map(|day| day.key.as_str()));
                    thrice(&words)?;
                }
            }
        }
        session.execute("set time zone 'UTC'; set datestyle = 'ISO, YMD'; set extra_float_digits = 1")?;
        let got = session.rows(&fs::read_to_string(dir.join("checksum.sql"))?)?;
        for (name, ..) in PIPELINES {
            let line = |lines: &[String]| lines.iter().find(|line| line.starts_with(name)).cloned().unwrap_or_default();
            let same = line(&got) == line(&expected);
            wrong += usize::from(!same);
            println!(
                "{}  after {round} run(s)  {}  expected {}",
                if same { "ok  " } else { "FAIL" },
                line(&got),
                line(&expected)
            );
        }
    }
    fs::remove_dir_all(&project)?;
    if wrong == 0 { Ok(()) } else { bail!("{wrong} checksums differ") }
}
