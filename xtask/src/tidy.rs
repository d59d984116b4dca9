//! `cargo xtask tidy`: rules about the source that no compiler knows.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, bail};
use serde_json::Value;
use thrice_core::code::ErrorCode;

use crate::process::{cargo, read, root};

/// Which crates of ours a crate may depend on. A crate that is not here is refused, so that its arrows are drawn first.
const ARROWS: [(&str, &[&str]); 12] = [
    ("thrice-core", &[]),
    ("thrice-connect", &[]),
    ("thrice-fault-relay", &[]),
    ("thrice-local-postgres", &[]),
    ("thrice-pipeline", &["thrice-core"]),
    ("thrice-ledger", &["thrice-core", "thrice-connect"]),
    ("thrice-sql-publish", &["thrice-core"]),
    ("thrice-checks", &["thrice-core"]),
    (
        "thrice-runner",
        &["thrice-core", "thrice-connect", "thrice-pipeline", "thrice-ledger", "thrice-sql-publish", "thrice-checks"],
    ),
    ("thrice-cli", &["*"]),
    ("thrice-tests", &["*"]),
    ("xtask", &["*"]),
];

/// What `core` must never be built with: it decides, and waits for nothing.
const NOT_IN_CORE: [&str; 4] = ["tokio", "tokio-postgres", "sqlx", "futures-util"];

/// Lines of code, tests not counted, above which a file most likely holds two ideas.
const ONE_IDEA: usize = 500;

/// Larger files, each with the one idea that it holds.
const LARGE: [(&str, &str); 4] = [
    ("crates/cli/src/args.rs", "the words of every command, with their help"),
    ("crates/core/src/why.rs", "why a partition stands where it stands: every status has its causes"),
    ("crates/pipeline/src/lint.rs", "the rules of lint, a function each"),
    ("crates/sql-publish/src/target.rs", "every finding about a target, in the order in which they are looked for"),
];

/// Migrations that databases out there have run, with git's hash of each.
const RELEASED: &str = "crates/ledger/migrations/RELEASED";

/// `cargo xtask tidy`
pub(crate) fn run(arguments: &[String]) -> Result<()> {
    if !arguments.is_empty() {
        bail!("cargo xtask tidy");
    }
    check()
}

/// All rules; every breach is told.
pub(crate) fn check() -> Result<()> {
    let files = sources()?;
    let mut wrong = Vec::new();
    for file in &files {
        let text = fs::read_to_string(root()?.join(file)).with_context(|| file.clone())?;
        wrong.extend(of_file(file, &text));
    }
    wrong.extend(
        LARGE
            .iter()
            .filter(|(name, _)| !files.iter().any(|file| file == name))
            .map(|(name, _)| format!("xtask/src/tidy.rs: {name} is excused for its length and does not exist")),
    );
    wrong.extend(of_codes()?);
    wrong.extend(of_arrows(&metadata()?)?);
    wrong.extend(of_core()?);
    wrong.extend(of_migrations()?);
    if wrong.is_empty() {
        println!("{} source files, {} error codes, {} crates: tidy", files.len(), ErrorCode::ALL.len(), ARROWS.len());
        return Ok(());
    }
    bail!("{} things to tidy:\n  {}", wrong.len(), wrong.join("\n  "))
}

/// Rust files that git knows.
fn sources() -> Result<Vec<String>> {
    let listed = read(Command::new("git").args(["ls-files", "*.rs"]).current_dir(root()?))?;
    let there = |file: &&str| root().is_ok_and(|root| root.join(file).exists());
    Ok(listed.lines().filter(there).map(ToOwned::to_owned).collect())
}

/// A first line that says what the file is about, and not more than one idea.
fn of_file(file: &str, text: &str) -> Vec<String> {
    let mut wrong = Vec::new();
    if !text.starts_with("//! ") && !text.starts_with("#!") {
        wrong.push(format!("{file}:1: no line `//! …` that says what the file is about"));
    }
    let code = text.lines().take_while(|line| line.trim() != "#[cfg(test)]").count();
    let in_tests = file.contains("/tests/") || file.starts_with("tests/");
    if code > ONE_IDEA && !in_tests && !LARGE.iter().any(|(name, _)| *name == file) {
        wrong.push(format!("{file}: {code} lines; over {ONE_IDEA} there are most likely two ideas in it"));
    }
    wrong
}

/// Each error code has its page, and each page its code.
fn of_codes() -> Result<Vec<String>> {
    let folder = root()?.join("crates/cli/codes");
    let mut pages = BTreeSet::new();
    for entry in fs::read_dir(&folder).with_context(|| folder.display().to_string())? {
        let name = entry?.file_name().to_string_lossy().into_owned();
        pages.insert(name.trim_end_matches(".md").to_owned());
    }
    let codes: BTreeSet<String> = ErrorCode::ALL.iter().map(|code| code.id().to_owned()).collect();
    let missing = codes.difference(&pages).map(|code| format!("crates/cli/codes/{code}.md is missing"));
    let stray = pages.difference(&codes).map(|page| format!("crates/cli/codes/{page}.md belongs to no code"));
    Ok(missing.chain(stray).collect())
}

fn metadata() -> Result<Value> {
    let text = read(cargo()?.args(["metadata", "--no-deps", "--format-version", "1"]))?;
    serde_json::from_str(&text).context("cargo metadata")
}

/// Dependencies between our crates go one way.
fn of_arrows(metadata: &Value) -> Result<Vec<String>> {
    let packages = metadata["packages"].as_array().context("no packages in cargo metadata")?;
    let mut wrong = Vec::new();
    for package in packages {
        let name = package["name"].as_str().unwrap_or_default();
        let Some((_, allowed)) = ARROWS.iter().find(|(known, _)| *known == name) else {
            wrong.push(format!("{name}: xtask/src/tidy.rs does not say which crates it may depend on"));
            continue;
        };
        let dependencies = package["dependencies"].as_array().context("no dependencies in cargo metadata")?;
        // what only its tests use is no arrow
        for dependency in dependencies.iter().filter(|dependency| dependency["kind"].is_null()) {
            let on = dependency["name"].as_str().unwrap_or_default();
            let ours = ARROWS.iter().any(|(known, _)| *known == on);
            if ours && !allowed.contains(&"*") && !allowed.contains(&on) {
                wrong.push(format!("{name} depends on {on}: that arrow is not in the design"));
            }
        }
    }
    Ok(wrong)
}

fn of_core() -> Result<Vec<String>> {
    let tree =
        read(cargo()?.args(["tree", "-q", "-p", "thrice-core", "-e", "normal", "--prefix", "none", "-f", "{p}"]))?;
    let inside: BTreeSet<&str> = tree.lines().filter_map(|line| line.split_whitespace().next()).collect();
    Ok(NOT_IN_CORE
        .iter()
        .filter(|name| inside.contains(**name))
        .map(|name| format!("thrice-core is built with {name}"))
        .collect())
}

/// A migration that has been released stays as it is: databases out there have run it.
fn of_migrations() -> Result<Vec<String>> {
    let text = fs::read_to_string(root()?.join(RELEASED)).with_context(|| RELEASED.to_owned())?;
    let mut wrong = Vec::new();
    for line in text.lines().filter(|line| !line.starts_with('#')) {
        let Some((hash, name)) = line.split_once(' ') else { bail!("{RELEASED}: {line:?} is no hash and name") };
        let file = Path::new("crates/ledger/migrations").join(name);
        let now = read(Command::new("git").arg("hash-object").arg(&file).current_dir(root()?)).unwrap_or_default();
        if now.trim() != hash {
            wrong.push(format!("{}: a released migration has changed or gone; write a new one", file.display()));
        }
    }
    Ok(wrong)
}

#[cfg(test)]
mod unit {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_file_says_what_it_is_about_and_holds_one_idea() {
        assert!(of_file("crates/x/src/a.rs", "//! What it is about.\n").is_empty());
        assert_eq!(of_file("crates/x/src/a.rs", "use std::fs;\n").len(), 1);
        let long = format!("//! Long.\n{}", "fn f() {}\n".repeat(ONE_IDEA));
        assert_eq!(of_file("crates/x/src/a.rs", &long).len(), 1);
        let tested = format!("//! Short.\n#[cfg(test)]\n{}", "fn f() {}\n".repeat(ONE_IDEA));
        assert!(of_file("crates/x/src/a.rs", &tested).is_empty());
    }

    #[test]
    fn an_arrow_that_was_not_drawn_is_told() {
        let package = |name: &str, on: &str, kind: Value| json!({ "packages": [{ "name": name, "dependencies": [{ "name": on, "kind": kind }] }] });
        assert!(of_arrows(&package("thrice-ledger", "thrice-core", Value::Null)).unwrap().is_empty());
        assert_eq!(of_arrows(&package("thrice-core", "thrice-ledger", Value::Null)).unwrap().len(), 1);
        assert!(of_arrows(&package("thrice-core", "thrice-ledger", json!("dev"))).unwrap().is_empty());
        assert_eq!(of_arrows(&package("thrice-new", "serde", Value::Null)).unwrap().len(), 1);
    }
}
