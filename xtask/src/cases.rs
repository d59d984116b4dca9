//! `cargo xtask cases`: bug cases through the real binary. A case is a folder with `case.md` (facts), `setup.sql`,
//! `pipeline.sql`, the steps' own SQL files, `expect.sql` and `expected.txt`.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::thread::{JoinHandle, sleep};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use thrice_core::grain::Grain;
use thrice_core::schedule::Schedule;
use thrice_core::time::Zone;

use crate::case_project::{CaseProject, LEASE_SECONDS, start};
use crate::cluster::Cluster;
use crate::psql::Session;
use crate::{binary, pg, server};

/// Exit codes that are never an answer: a bug, and an open outcome.
const NO_ANSWER: [i32; 2] = [1, 9];
/// Exit code where another process works on the partition.
const HELD: i32 = 7;
/// Error code of a feature that a later version has.
const NOT_BUILT: &str = "TH0226";
/// Words of a case that takes a refusal for right as well.
const OR_REFUSED: &str = "(or the run is refused";
/// Exit code where a check failed.
const REFUSED_BY_CHECK: i32 = 4;
/// The one fault that the bench makes itself: the first step's runs stop before they publish and go on after the last.
const ZOMBIE: &str = "attempt A publishes after attempt B";

/// `cargo xtask cases DIR [NNN…] [--pg V] [-v]`
pub(crate) fn run(arguments: &[String]) -> Result<()> {
    let call = Call::parse(arguments)?;
    let folders = call.folders()?;
    let bench = Bench {
        cluster: Cluster::start(&server::of_version(call.major)?)?,
        plain: binary::plain()?,
        failpoints: if folders.iter().any(|folder| Facts::read(folder).is_ok_and(|facts| facts.get("inject").is_some()))
        {
            Some(binary::with_failpoints()?)
        } else {
            None
        },
    };
    let (mut passed, mut not_built, mut failed) = (0, 0, Vec::new());
    for folder in folders {
        let name = name_of(&folder);
        let begun = Instant::now();
        let (verdict, story) = bench.case(&folder);
        let (word, note) = match verdict {
            Ok(Verdict::Passed(note)) => {
                passed += 1;
                ("ok       ", note)
            }
            Ok(Verdict::NotBuilt(what)) => {
                not_built += 1;
                ("not built", what)
            }
            Ok(Verdict::Failed(why)) => {
                failed.push(number_of(&name));
                ("FAIL     ", why)
            }
            Err(error) => {
                failed.push(number_of(&name));
                ("FAIL     ", format!("{error:#}"))
            }
        };
        println!("{word}  {name}  {note}  {:.1} s", begun.elapsed().as_secs_f64());
        if call.verbose || word.starts_with("FAIL") {
            story.lines.iter().for_each(|line| println!("{line}"));
        }
    }
    println!("\n{passed} passed, {} failed, {not_built} not built, on PostgreSQL {}", failed.len(), call.major);
    if failed.is_empty() { Ok(()) } else { bail!("failed: {}", failed.join(" ")) }
}

/// What was asked for.
struct Call {
    dir: PathBuf,
    only: Vec<String>,
    major: u32,
    verbose: bool,
}

impl Call {
    fn parse(arguments: &[String]) -> Result<Self> {
        let (mut places, mut major, mut verbose) = (Vec::new(), 15, false);
        let mut words = arguments.iter();
        while let Some(word) = words.next() {
            match word.as_str() {
                "--pg" => major = pg::number(words.next().context("--pg needs a version")?)?,
                "-v" => verbose = true,
                flag if flag.starts_with('-') => bail!("{flag} is not known; cargo xtask help"),
                other => places.push(other.to_owned()),
            }
        }
        if places.is_empty() {
            bail!("cargo xtask cases DIR [NNN…] [--pg V] [-v]");
        }
        let dir = PathBuf::from(places.remove(0));
        Ok(Self { dir, only: places, major, verbose })
    }

    /// The folders of cases, in order.
    fn folders(&self) -> Result<Vec<PathBuf>> {
        let entries = fs::read_dir(&self.dir).with_context(|| self.dir.display().to_string())?;
        let mut folders: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
        folders.retain(|folder| {
            let wanted = self.only.is_empty() || self.only.contains(&number_of(&name_of(folder)));
            wanted && folder.join("case.md").is_file()
        });
        folders.sort();
        if folders.is_empty() {
            bail!("no such case in {}", self.dir.display());
        }
        Ok(folders)
    }
}

fn name_of(folder: &Path) -> String {
    folder.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default()
}

fn number_of(name: &str) -> String {
    name.split('-').next().unwrap_or_default().to_owned()
}

/// Facts of `case.md`: its lines `- key: value`.
#[derive(Debug)]
pub(crate) struct Facts(BTreeMap<String, String>);

impl Facts {
    fn read(folder: &Path) -> Result<Self> {
        Ok(Self::parse(&fs::read_to_string(folder.join("case.md"))?))
    }

    fn parse(text: &str) -> Self {
        let pairs = text.lines().filter_map(|line| line.strip_prefix("- ")?.split_once(": "));
        Self(pairs.map(|(key, value)| (key.to_owned(), value.trim().trim_matches('`').to_owned())).collect())
    }

    /// A fact that may be absent.
    pub(crate) fn get(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(String::as_str)
    }

    /// A fact that every case has.
    pub(crate) fn need(&self, name: &str) -> Result<&str> {
        self.get(name).with_context(|| format!("case.md has no {name}"))
    }
}

#[derive(Debug, PartialEq, Eq)]
enum Verdict {
    Passed(String),
    NotBuilt(String),
    Failed(String),
}

/// What the calls of one case answered.
#[derive(Debug, Default)]
struct Story {
    exits: Vec<i32>,
    codes: BTreeSet<String>,
    lines: Vec<String>,
}

impl Story {
    fn note(&mut self, what: &str, output: &Output) {
        let exit = output.status.code().unwrap_or(-1);
        let told = String::from_utf8_lossy(&output.stderr);
        self.exits.push(exit);
        let codes = told.split("error[").skip(1).filter_map(|rest| rest.split(']').next());
        self.codes.extend(codes.map(ToOwned::to_owned));
        self.lines.push(format!("    {what}: exit {exit}"));
        self.lines.extend(told.lines().map(|line| format!("      {line}")));
    }
}

/// A server and the binaries.
struct Bench {
    cluster: Cluster,
    plain: PathBuf,
    failpoints: Option<PathBuf>,
}

impl Bench {
    fn case(&self, folder: &Path) -> (Result<Verdict>, Story) {
        let mut story = Story::default();
        let verdict = self.tell(folder, &mut story);
        (verdict, story)
    }

    fn tell(&self, folder: &Path, story: &mut Story) -> Result<Verdict> {
        let facts = Facts::read(folder)?;
        let Ok(grain) = Grain::parse(facts.need("grain")?) else {
            return Ok(Verdict::NotBuilt(format!("grain {}", facts.need("grain")?)));
        };
        let zombie = match facts.get("inject") {
            None => false,
            Some(ZOMBIE) => true,
            Some(other) => return Ok(Verdict::NotBuilt(format!("the bench cannot make this fault: {other}"))),
        };
        let file = |name: &str| fs::read_to_string(folder.join(name)).with_context(|| name.to_owned());
        let database = format!("case_{}", number_of(&name_of(folder)));
        Session::open(&self.cluster.url())?
            .run(&format!("drop database if exists {database} with (force); create database {database}"))?;
        let url = self.cluster.url_of("postgres", &database);
        Session::open(&url)?.run(&file("setup.sql")?).context("setup.sql")?;

        let schedule = Schedule::new(grain, Zone::named(facts.need("zone")?)?);
        let binary = if zombie { self.failpoints.as_ref().unwrap_or(&self.plain) } else { &self.plain };
        let project = CaseProject::write(&facts, &file("pipeline.sql")?, &schedule, binary)?;
        let migrated = project.migrate(&url)?;
        if !migrated.status.success() {
            bail!("thrice migrate: {}", String::from_utf8_lossy(&migrated.stderr));
        }
        let login = facts.get("login").unwrap_or("postgres");
        if login != "postgres" {
            let session = Session::open(&url)?;
            session.run(include_str!("../../crates/ledger/grants.sql")).context("grants")?;
            session.run(&format!("grant thrice_worker to {login}"))?;
        }
        let steps: Vec<&str> = facts.need("steps")?.split(',').map(str::trim).collect();
        let before = {
            let session = Session::open(&url)?;
            session.run("set time zone 'UTC'")?;
            session.rows(&file("expect.sql")?)?.join("\n")
        };
        let walk = Walk { project: &project, admin_url: &url, run_url: self.cluster.url_of(login, &database) };
        let stopped = walk.steps(&steps, &file, zombie, story)?;

        if story.codes.contains(NOT_BUILT) {
            return Ok(Verdict::NotBuilt(format!("strategy {}", facts.need("strategy")?)));
        }
        let ledger = Session::open(&url)?.rows(
            "select distinct coalesce(sqlstate, error_code, failure_class) from thrice.pipeline_run_ledger where status = 'failed'",
        )?;
        story.codes.extend(ledger);
        let fresh = Session::open(&url)?;
        fresh.run("set time zone 'UTC'")?;
        let got = fresh.rows(&file("expect.sql")?)?.join("\n");
        let want = file("expected.txt")?;
        if file("case.md")?.contains(OR_REFUSED)
            && got == before
            && story.exits.iter().all(|exit| *exit == REFUSED_BY_CHECK)
        {
            return Ok(Verdict::Passed(format!(
                "refused by a check and the target as it was, which the case allows: {}",
                in_short(&story.exits)
            )));
        }
        Ok(judge(facts.need("outcome")?, story, &stopped, got.trim(), want.trim()))
    }
}

/// The steps of one case.
struct Walk<'a> {
    project: &'a CaseProject,
    admin_url: &'a str,
    run_url: String,
}

impl Walk<'_> {
    /// Takes all steps; answers with the exit codes of the runs that were stopped and went on at the end.
    fn steps(
        &self,
        steps: &[&str],
        file: &dyn Fn(&str) -> Result<String>,
        zombie: bool,
        story: &mut Story,
    ) -> Result<Vec<i32>> {
        let (mut holds, mut zombies) = (Vec::new(), Vec::new());
        for (at, step) in steps.iter().enumerate() {
            match *step {
                "run" if zombie && at == 0 => zombies = self.start_and_stop()?,
                "run" => self.run(story)?,
                "parallel" => self.parallel(story)?,
                hold if hold.starts_with("hold") => holds.push(hold_open(self.admin_url, &file(hold)?)),
                other => Session::open(self.admin_url)?.run(&file(other)?).with_context(|| other.to_owned())?,
            }
        }
        let mut exits = Vec::new();
        for zombie in zombies {
            signal("CONT", zombie.id())?;
            let output = zombie.wait_with_output()?;
            let mut own = Story::default();
            own.note("the stopped run", &output);
            story.lines.extend(own.lines);
            exits.extend(own.exits);
        }
        for hold in holds {
            // a session that was ended by the case itself is no fault
            let ended = hold.join().map_err(|_| anyhow::anyhow!("a holding session panicked"))?;
            if let Err(error) = ended {
                story.lines.push(format!("    holding session: {error:#}"));
            }
        }
        Ok(exits)
    }

    fn run(&self, story: &mut Story) -> Result<()> {
        for partition in &self.project.partitions {
            let output = self.project.run(&self.run_url, partition).output()?;
            story.note(&format!("run {}", partition.key), &output);
        }
        Ok(())
    }

    /// Each partition by two processes at once. That one of them finds it held is what should be.
    fn parallel(&self, story: &mut Story) -> Result<()> {
        for partition in &self.project.partitions {
            let both = [0, 1].map(|_| start(self.project.run(&self.run_url, partition)));
            for child in both {
                let output = child?.wait_with_output()?;
                if output.status.code() != Some(HELD) {
                    story.note(&format!("one of two runs of {}", partition.key), &output);
                }
            }
        }
        Ok(())
    }

    /// Runs that are ready to publish and stand still, so long that their leases are over.
    fn start_and_stop(&self) -> Result<Vec<std::process::Child>> {
        let mut children = Vec::new();
        for partition in &self.project.partitions {
            let mut command = self.project.run(&self.run_url, partition);
            command.env("FAILPOINTS", "after_validate=return(stop)");
            let mut child = start(command)?;
            let begun = Instant::now();
            while !is_stopped(child.id()) {
                if child.try_wait()?.is_some() || begun.elapsed() > Duration::from_secs(30) {
                    bail!("the run of {} did not come to its publish", partition.key);
                }
                sleep(Duration::from_millis(20));
            }
            children.push(child);
        }
        sleep(Duration::from_secs(LEASE_SECONDS + 1));
        Ok(children)
    }
}

/// A script in another session, left running.
fn hold_open(url: &str, script: &str) -> JoinHandle<Result<()>> {
    let (url, script) = (url.to_owned(), script.to_owned());
    let holding = std::thread::spawn(move || Session::open(&url)?.run(&script));
    sleep(Duration::from_millis(700));
    holding
}

fn signal(name: &str, pid: u32) -> Result<()> {
    crate::process::read(Command::new("sh").args(["-c", "kill -\"$0\" \"$1\"", name, &pid.to_string()])).map(drop)
}

fn is_stopped(pid: u32) -> bool {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit_once(") ").is_some_and(|(_, rest)| rest.starts_with('T'))
}

fn judge(outcome: &str, story: &Story, stopped: &[i32], got: &str, want: &str) -> Verdict {
    let codes: Vec<&str> = story.codes.iter().map(String::as_str).collect();
    let overtaken = if stopped.is_empty() { String::new() } else { format!(", of the overtaken runs {stopped:?}") };
    let note = format!("wanted {outcome}, got exits {}{overtaken} {}", in_short(&story.exits), codes.join(" "));
    if got != want {
        return Verdict::Failed(format!("{note}\n    rows wanted:\n{want}\n    rows got:\n{got}\n"));
    }
    if story.exits.iter().chain(stopped).any(|exit| NO_ANSWER.contains(exit) || *exit < 0) {
        return Verdict::Failed(note);
    }
    let all_passed = story.exits.iter().all(|exit| *exit == 0);
    let right = if outcome == "ok" { all_passed } else { !all_passed || !story.codes.is_empty() };
    // what was overtaken must not say that it has published
    if right && !stopped.contains(&0) { Verdict::Passed(note) } else { Verdict::Failed(note) }
}

/// Exit codes in order, equal neighbours counted: `0 ×3, 8`.
fn in_short(exits: &[i32]) -> String {
    let groups = exits.chunk_by(|a, b| a == b);
    let texts: Vec<String> = groups
        .filter_map(|group| Some((group.first()?, group.len())))
        .map(|(exit, many)| if many == 1 { exit.to_string() } else { format!("{exit} ×{many}") })
        .collect();
    texts.join(", ")
}

#[cfg(test)]
mod unit {
    use super::*;

    fn story(exits: &[i32], codes: &[&str]) -> Story {
        Story { exits: exits.to_vec(), codes: codes.iter().map(|code| (*code).to_owned()).collect(), lines: Vec::new() }
    }

    fn passes(outcome: &str, story: &Story, stopped: &[i32]) -> bool {
        matches!(judge(outcome, story, stopped, "1|2", "1|2"), Verdict::Passed(_))
    }

    #[test]
    fn an_outcome_is_told_by_exit_codes_and_ledger() {
        assert!(passes("ok", &story(&[0, 0], &[]), &[]));
        assert!(passes("ok", &story(&[0], &["55P03"]), &[]), "a failed attempt before the one that published");
        assert!(!passes("ok", &story(&[0, 4], &[]), &[]));
        assert!(passes("reject DUPKEY", &story(&[4], &[]), &[]));
        assert!(passes("reject 55P03", &story(&[0, 0], &["55P03"]), &[]));
        assert!(!passes("reject 55P03", &story(&[0, 0], &[]), &[]));
    }

    #[test]
    fn a_bug_an_open_outcome_and_a_signal_are_no_answer() {
        for exit in [1, 9, -1] {
            assert!(!passes("reject DUPKEY", &story(&[exit, 4], &[]), &[]));
        }
    }

    #[test]
    fn an_overtaken_run_must_not_succeed() {
        assert!(passes("ok", &story(&[0], &[]), &[7]));
        assert!(!passes("ok", &story(&[0], &[]), &[0]));
    }

    #[test]
    fn equal_exit_codes_are_counted() {
        assert_eq!(in_short(&[0, 8, 0, 0, 0]), "0, 8, 0 ×3");
        assert_eq!(in_short(&[]), "");
    }

    #[test]
    fn rows_decide_first() {
        assert!(matches!(judge("ok", &story(&[0], &[]), &[], "1|2", "1|3"), Verdict::Failed(_)));
    }

    #[test]
    fn facts_are_lines_of_a_list() {
        let facts = Facts::parse("# name\n- target: `a.b`\n- zone: UTC\ntext - no: fact\n");
        assert_eq!(facts.get("target"), Some("a.b"));
        assert_eq!(facts.get("zone"), Some("UTC"));
        assert!(facts.get("no").is_none() && facts.need("no").is_err());
    }
}
