//! `cargo xtask mutants`: breaks the line behind each promise, in a copy of the checkout, and watches its test turn red.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::cluster::Cluster;
use crate::migrations;
use crate::process::{cargo, read, root};
use crate::psql::Session;
use crate::server::{self, MAJORS};

/// One line that is broken, and the test that must notice.
struct Mutant {
    name: &'static str,
    /// File, the text in it, and what takes its place; all of them together are one mutant.
    edits: &'static [(&'static str, &'static str, &'static str)],
    package: &'static str,
    test: &'static str,
}

const LOCK: &str = "crates/ledger/sql/lock_and_check_fence.sql";
const TAIL: &str = "crates/ledger/sql/publish_tail.sql";
const RESOLVE: &str = "crates/ledger/src/resolve.rs";
const PUBLISH: &str = "crates/sql-publish/src/publish.rs";
const COMPARE: &str = "where partition_id = $1 and fence = $3 and claimed_by is not distinct from $4::uuid";
const BARRIER: &str = "    sqlx::query_file!(\"sql/barrier.sql\", run.partition_id, run.token).fetch_optional(&mut *transaction).await?;\n";
const OUTCOME: &str = "    sqlx::query_file!(\"sql/outcome.sql\", run.partition_id, run.token + 1).fetch_all(&mut *transaction).await?;\n";
const FIRST: &str = "    lock(steps, request).await?;\n";

const MUTANTS: [Mutant; 8] = [
    Mutant {
        // either check alone stops an old worker: both have to go
        name: "the fence is checked nowhere",
        edits: &[
            (LOCK, "p.fence = $2::int8,", "$2::int8 is not null,"),
            (TAIL, COMPARE, "where partition_id = $1 and $4::uuid is not null"),
        ],
        package: "thrice-ledger",
        test: "a_fenced_worker_is_stopped_at_the_lock",
    },
    Mutant {
        name: "the fence is not compared again at the end",
        edits: &[(TAIL, COMPARE, "where partition_id = $1 and $4::uuid is not null")],
        package: "thrice-ledger",
        test: "the_tail_checks_the_fence_again",
    },
    Mutant {
        name: "the lock comes after the data",
        edits: &[
            (PUBLISH, FIRST, ""),
            (
                PUBLISH,
                "    let mut last = Pins::tool();\n",
                "    lock(steps, request).await?;\n    let mut last = Pins::tool();\n",
            ),
        ],
        package: "thrice-sql-publish",
        test: "the_gate_comes_before_the_data",
    },
    Mutant {
        name: "the receipt is written in a transaction of its own",
        edits: &[(
            PUBLISH,
            "    let receipt = run_under(",
            "    steps.execute(\"end\", \"commit\", &[]).await?;\n    let receipt = run_under(",
        )],
        package: "thrice-sql-publish",
        test: "a_gate_that_raises_or_is_silent_stops_everything",
    },
    Mutant {
        name: "rows written are not compared with rows staged",
        edits: &[
            (PUBLISH, "    if written == expected {", "    if written == expected || expected > 0 {"),
            (PUBLISH, "    if content == *staged {", "    if content == *staged || staged.rows > 0 {"),
        ],
        package: "thrice-sql-publish",
        test: "staging_that_a_crash_emptied_never_publishes_an_empty_day",
    },
    Mutant {
        name: "the ledger does not compare rows written with rows staged",
        edits: &[(
            TAIL,
            "thrice.assert((select written_ok from judged)",
            "thrice.assert((select written_ok or true from judged)",
        )],
        package: "thrice-ledger",
        test: "rows_written_must_be_rows_staged",
    },
    Mutant {
        // ending the open runs waits for the publish too: the first look is one without both
        name: "the receipt is looked for without the barrier",
        edits: &[(RESOLVE, BARRIER, ""), (RESOLVE, OUTCOME, "")],
        package: "thrice-ledger",
        test: "the_barrier_waits_for_a_commit_that_is_under_way",
    },
    Mutant {
        name: "an error-free COMMIT is believed without the receipt",
        edits: &[(PUBLISH, "        Ok(rows) if rows.is_empty() => ", "        Ok(rows) if rows.len() > 9 => ")],
        package: "thrice-sql-publish",
        test: "commit",
    },
];

/// `cargo xtask mutants [WORD]`: all, or those whose name holds the word.
pub(crate) fn run(arguments: &[String]) -> Result<()> {
    let word = arguments.first().map_or("", String::as_str);
    let chosen: Vec<&Mutant> = MUTANTS.iter().filter(|mutant| mutant.name.contains(word)).collect();
    if chosen.is_empty() {
        bail!("no mutant's name holds {word:?}");
    }
    let copy = copy()?;
    let cluster = Cluster::start(&server::of_version(MAJORS[0])?)?;
    let bench = Bench { copy: &copy, cluster: &cluster };
    bench.migrate()?;
    let mut survivors = Vec::new();
    for mutant in &chosen {
        bench.unbroken(mutant)?;
        let red = bench.turns_red(mutant)?;
        println!(
            "{}  {}   ({} {})",
            if red { "caught  " } else { "SURVIVED" },
            mutant.name,
            mutant.package,
            mutant.test
        );
        if !red {
            survivors.push(mutant.name);
        }
    }
    println!("\n{} of {} mutants caught", chosen.len() - survivors.len(), chosen.len());
    if survivors.is_empty() { Ok(()) } else { bail!("not caught: {}", survivors.join("; ")) }
}

/// The files that git knows or would take, in a folder of their own: the checkout itself is never broken.
fn copy() -> Result<std::path::PathBuf> {
    let copy = crate::process::target()?.join("mutants/checkout");
    if copy.exists() {
        fs::remove_dir_all(&copy)?;
    }
    let files = read(Command::new("git").arg("-C").arg(root()?).args([
        "ls-files",
        "--cached",
        "--others",
        "--exclude-standard",
    ]))?;
    for file in files.lines() {
        let (from, to) = (root()?.join(file), copy.join(file));
        if from.is_file() {
            fs::create_dir_all(to.parent().context("a file without a folder")?)?;
            fs::copy(&from, &to).with_context(|| file.to_owned())?;
        }
    }
    Ok(copy)
}

struct Bench<'a> {
    copy: &'a Path,
    cluster: &'a Cluster,
}

impl Bench<'_> {
    /// The queries of a broken statement are checked against a live ledger: there is no offline data for them.
    fn migrate(&self) -> Result<()> {
        migrations::run(&Session::open(&self.cluster.url())?)
    }

    fn cargo(&self, mutant: &Mutant, words: &[&str]) -> Result<Command> {
        let mut command = cargo()?;
        command
            .current_dir(self.copy)
            .args(["test", "-q", "-p", mutant.package, "--test", "server"])
            .args(words)
            // a folder of its own: broken code must never be linked into anything else
            .env("CARGO_TARGET_DIR", self.copy.with_file_name("target"))
            .env("DATABASE_URL", self.cluster.url())
            .env("SQLX_OFFLINE", "false")
            .env("THRICE_TEST_DATABASE_URL", self.cluster.url())
            .env("THRICE_TEST_PG_BIN", &self.cluster.server.bin);
        Ok(command)
    }

    /// The test is green without the mutant, else its red would prove nothing.
    fn unbroken(&self, mutant: &Mutant) -> Result<()> {
        let output = self.cargo(mutant, &["--", mutant.test])?.output()?;
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        if !output.status.success()
            || !text.lines().any(|line| line.starts_with("test result: ok.") && !line.contains(" 0 passed"))
        {
            bail!(
                "{} {} is not green by itself:\n{text}{}",
                mutant.package,
                mutant.test,
                String::from_utf8_lossy(&output.stderr)
            );
        }
        Ok(())
    }

    fn turns_red(&self, mutant: &Mutant) -> Result<bool> {
        let mut before = Vec::new();
        for (file, from, to) in mutant.edits {
            let path = self.copy.join(file);
            let text = fs::read_to_string(&path)?;
            if text.matches(from).count() != 1 {
                bail!("{}: {file} does not hold exactly once:\n{from}", mutant.name);
            }
            fs::write(&path, text.replacen(from, to, 1))?;
            before.push((path, text));
        }
        // what does not compile is no broken promise
        let built = self.cargo(mutant, &["--no-run"])?.output()?;
        let tested = self.cargo(mutant, &["--", mutant.test])?.output()?;
        for (path, text) in before.into_iter().rev() {
            fs::write(path, text)?;
        }
        if !built.status.success() {
            bail!("{}: does not compile:\n{}", mutant.name, String::from_utf8_lossy(&built.stderr));
        }
        Ok(!tested.status.success())
    }
}
