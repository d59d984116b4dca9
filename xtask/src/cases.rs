//! `cargo xtask cases`: bug cases through the real binary. A case is a folder with `case.md` (facts), `setup.sql`,
//! `pipeline.sql`, the steps' own SQL files, `expect.sql` and `expected.txt`.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::thread::JoinHandle;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use thrice_core::grain::Grain;
use thrice_core::interval::Interval;
use thrice_core::schedule::{Partition, Schedule};
use thrice_core::time::{Timestamp, Zone};

use crate::cluster::Cluster;
use crate::psql::Session;
use crate::{server, test};

/// Codes of exit that a test bench must not take for a refusal: a bug, and an open outcome.
const NOT_A_REFUSAL: [i32; 2] = [1, 9];

/// `cargo xtask cases DIR [NNN…]`
pub(crate) fn run(arguments: &[String]) -> Result<()> {
    let mut words: Vec<&String> = arguments.iter().collect();
    let mut major = 15;
    if let Some(at) = words.iter().position(|word| *word == "--pg") {
        major = words.get(at + 1).context("--pg needs a version")?.parse()?;
        words.drain(at..=at + 1);
    }
    let (dir, only) = words.split_first().context("cargo xtask cases DIR [NNN…]")?;
    let binary = test::plain_binary()?;
    let cluster = Cluster::start(&server::of_version(major)?)?;
    let mut folders: Vec<PathBuf> = fs::read_dir(dir)
        .with_context(|| (*dir).clone())?
        .flatten()
        .map(|entry| entry.path())
        .filter(|path| path.join("case.md").is_file())
        .collect();
    folders.sort();
    let (mut passed, mut failed, mut not_built) = (0, Vec::new(), 0);
    for folder in folders {
        let name = folder.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        let number = name.split('-').next().unwrap_or_default().to_owned();
        if !only.is_empty() && !only.iter().any(|wanted| **wanted == number) {
            continue;
        }
        match one(&folder, &number, &cluster, &binary) {
            Ok(Verdict::Passed(note)) => {
                passed += 1;
                println!("ok         {name}   {note}");
            }
            Ok(Verdict::NotBuilt(what)) => {
                not_built += 1;
                println!("not built  {name}   {what}");
            }
            Ok(Verdict::Failed(why)) => {
                println!("FAIL       {name}   {why}");
                failed.push(number);
            }
            Err(error) => {
                println!("FAIL       {name}   {error:#}");
                failed.push(number);
            }
        }
    }
    println!("\n{passed} passed, {} failed, {not_built} not built, on PostgreSQL {major}", failed.len());
    if failed.is_empty() { Ok(()) } else { bail!("failed: {}", failed.join(" ")) }
}

enum Verdict {
    Passed(String),
    NotBuilt(String),
    Failed(String),
}

/// Facts of `case.md`: lines `- key: value`.
fn facts(folder: &Path) -> Result<BTreeMap<String, String>> {
    let text = fs::read_to_string(folder.join("case.md"))?;
    Ok(text
        .lines()
        .filter_map(|line| line.strip_prefix("- ")?.split_once(": "))
        .map(|(key, value)| (key.to_owned(), value.trim().trim_matches('`').to_owned()))
        .collect())
}

fn one(folder: &Path, number: &str, cluster: &Cluster, binary: &Path) -> Result<Verdict> {
    let facts = facts(folder)?;
    let fact = |name: &str| facts.get(name).map(String::as_str);
    let need = |name: &str| fact(name).with_context(|| format!("case.md has no {name}"));
    let Ok(grain) = Grain::parse(need("grain")?) else {
        return Ok(Verdict::NotBuilt(format!("grain {}", need("grain")?)));
    };
    if fact("inject").is_some() {
        return Ok(Verdict::NotBuilt("a fault has to be injected: see the suites under tests/".to_owned()));
    }
    let database = format!("case_{number}");
    let admin = Session::open(&cluster.url())?;
    admin.execute(&format!("drop database if exists {database} with (force)"))?;
    admin.execute(&format!("create database {database}"))?;
    let url = format!("{}/{database}", cluster.url().trim_end_matches("/postgres"));
    let session = Session::open(&url)?;
    let file = |name: &str| fs::read_to_string(folder.join(name)).with_context(|| name.to_owned());
    session.execute(&file("setup.sql")?).context("setup.sql")?;
    session.execute("reset all")?;

    let project = Project::write(&facts, &file("pipeline.sql")?, grain)?;
    let migrated = project.thrice(binary, &url, ["migrate".to_owned()]).output()?;
    if !migrated.status.success() {
        bail!("migrate: {}", String::from_utf8_lossy(&migrated.stderr));
    }
    let login = fact("login");
    if let Some(login) = login {
        let grants = include_str!("../../crates/ledger/grants.sql").replace(":\"dbname\"", &database);
        session.execute(&grants).context("grants")?;
        session.execute(&format!("grant thrice_worker to {login}"))?;
    }
    let run_url = match login {
        Some(login) => url.replace("//postgres@", &format!("//{login}@")),
        None => url.clone(),
    };
    let partitions = partitions(&facts, grain)?;
    let mut exits = Vec::new();
    let mut codes = BTreeSet::new();
    let mut holds: Vec<JoinHandle<Result<()>>> = Vec::new();
    for step in need("steps")?.split(',').map(str::trim) {
        match step {
            "run" => {
                for partition in &partitions {
                    note(&project.run(binary, &run_url, partition).output()?, &mut exits, &mut codes);
                }
            }
            "parallel" => {
                for partition in &partitions {
                    let started: Vec<_> = (0..2)
                        .map(|_| {
                            project
                                .run(binary, &run_url, partition)
                                .stdout(std::process::Stdio::piped())
                                .stderr(std::process::Stdio::piped())
                                .spawn()
                        })
                        .collect::<std::io::Result<_>>()?;
                    for child in started {
                        let output = child.wait_with_output()?;
                        // the other one had the partition
                        if output.status.code() != Some(7) {
                            note(&output, &mut exits, &mut codes);
                        }
                    }
                }
            }
            hold if hold.starts_with("hold") => {
                let (sql, url) = (file(hold)?, url.clone());
                holds.push(std::thread::spawn(move || Session::open(&url)?.execute(&sql)));
                std::thread::sleep(Duration::from_millis(700));
            }
            other => session.execute(&file(other)?).with_context(|| other.to_owned())?,
        }
    }
    for hold in holds {
        hold.join().map_err(|_| anyhow::anyhow!("a holding session panicked"))??;
    }
    if codes.contains("TH0226") {
        return Ok(Verdict::NotBuilt(format!("strategy {}", fact("strategy").unwrap_or("?"))));
    }
    let ledger = session.rows("select distinct coalesce(sqlstate, error_code, failure_class) from thrice.pipeline_run_ledger where status = 'failed'")?;
    codes.extend(ledger);
    let fresh = Session::open(&url)?;
    fresh.execute("set time zone 'UTC'")?;
    let got = fresh.rows(&file("expect.sql")?)?.join("\n");
    let want = file("expected.txt")?;
    drop(fresh);
    drop(session);
    let verdict = judge(need("outcome")?, &exits, &codes, got.trim(), want.trim());
    admin.execute(&format!("drop database if exists {database} with (force)"))?;
    Ok(verdict)
}

fn note(output: &Output, exits: &mut Vec<i32>, codes: &mut BTreeSet<String>) {
    exits.push(output.status.code().unwrap_or(-1));
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    codes.extend(text.split("error[").skip(1).filter_map(|rest| rest.split(']').next()).map(ToOwned::to_owned));
}

fn judge(outcome: &str, exits: &[i32], codes: &BTreeSet<String>, got: &str, want: &str) -> Verdict {
    let seen: Vec<&str> = codes.iter().map(String::as_str).collect();
    let note = format!("wanted {outcome}, got exits {exits:?} {}", seen.join(" "));
    if got != want {
        return Verdict::Failed(format!("{note}\n  rows wanted:\n{want}\n  rows got:\n{got}"));
    }
    if let Some(exit) = exits.iter().find(|exit| NOT_A_REFUSAL.contains(exit) || **exit < 0) {
        return Verdict::Failed(format!("{note}: exit {exit}"));
    }
    let refused = exits.iter().any(|exit| *exit != 0) || !codes.is_empty();
    let right = if outcome == "ok" { exits.iter().all(|exit| *exit == 0) } else { refused };
    if right { Verdict::Passed(note) } else { Verdict::Failed(note) }
}

/// The whole intervals inside `[from, to)`.
fn partitions(facts: &BTreeMap<String, String>, grain: Grain) -> Result<Vec<Partition>> {
    let at = |name: &str| -> Result<Timestamp> { Ok(facts.get(name).with_context(|| name.to_owned())?.parse()?) };
    let zone = Zone::named(facts.get("zone").context("zone")?)?;
    let within = Interval::new(at("from")?, at("to")?)?;
    Ok(Schedule::new(grain, zone).partitions(within).collect())
}

/// The case as a project on disk, removed when the value goes.
struct Project {
    folder: PathBuf,
}

impl Project {
    fn write(facts: &BTreeMap<String, String>, query: &str, grain: Grain) -> Result<Self> {
        let get = |name: &str| facts.get(name).map(String::as_str).unwrap_or_default();
        let folder = std::env::temp_dir().join(format!("thrice-case-{}", std::process::id()));
        if folder.exists() {
            fs::remove_dir_all(&folder)?;
        }
        fs::create_dir_all(folder.join("pipelines"))?;
        let project = Self { folder };
        let zone = Zone::named(get("zone"))?;
        let start = zone.date(get("from").parse()?);
        let quote = |text: &str| toml_text(text);
        let keys: Vec<String> = get("key").split(',').map(str::trim).filter(|key| !key.is_empty()).map(quote).collect();
        let key = if keys.is_empty() { String::new() } else { format!("key = [{}]\n", keys.join(", ")) };
        let rows = if get("strategy") == "merge" { "rows = \"complete\"\n" } else { "" };
        fs::write(
            project.folder.join("thrice.toml"),
            format!(
                "[project]\nname = \"case\"\ntime_zone = {}\n[database]\nurl_env = \"DATABASE_URL\"\n",
                quote(zone.name())
            ),
        )?;
        fs::write(
            project.folder.join("pipelines/case.toml"),
            format!(
                "[interval]\ngrain = \"{grain}\"\nstart = \"{start}\"\n[target]\ntable = {}\nstrategy = {}\ninterval_column = {}\n{key}{rows}allow_empty = true\n[retry]\nattempts = 3\nfirst_delay = \"1s\"\n[timeouts]\nlock = \"1s\"\n",
                quote(get("target")),
                quote(get("strategy")),
                quote(get("time_column"))
            ),
        )?;
        fs::write(project.folder.join("pipelines/case.sql"), query)?;
        Ok(project)
    }

    fn thrice(&self, binary: &Path, url: &str, arguments: impl IntoIterator<Item = String>) -> Command {
        let mut command = Command::new(binary);
        command
            .arg("-C")
            .arg(&self.folder)
            .args(arguments)
            .env("DATABASE_URL", url)
            .env("NO_COLOR", "1")
            .stdin(std::process::Stdio::null());
        command
    }

    fn run(&self, binary: &Path, url: &str, partition: &Partition) -> Command {
        let words = ["run", "case", partition.key.as_str(), "--overwrite-existing", "--reason", "a case of the bench"];
        self.thrice(binary, url, words.map(ToOwned::to_owned))
    }
}

impl Drop for Project {
    fn drop(&mut self) {
        drop(fs::remove_dir_all(&self.folder));
    }
}

/// A TOML basic string.
fn toml_text(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
}
