//! Child processes, with what was run in every error.

use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, Result, bail};

/// The checkout's folder.
pub(crate) fn root() -> Result<PathBuf> {
    let manifest = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
    Ok(manifest.parent().context("xtask has no parent folder")?.to_path_buf())
}

/// Where cargo puts what it builds.
pub(crate) fn target() -> Result<PathBuf> {
    Ok(std::env::var_os("CARGO_TARGET_DIR").map_or(root()?.join("target"), PathBuf::from))
}

/// Runs a command with this terminal's streams; fails where it fails.
pub(crate) fn run(command: &mut Command) -> Result<()> {
    eprintln!("+ {}", line(command));
    let status = command.status().with_context(|| line(command))?;
    if !status.success() {
        bail!("{}: {status}", line(command));
    }
    Ok(())
}

/// Runs a command and returns its standard output.
pub(crate) fn read(command: &mut Command) -> Result<String> {
    let output = command.output().with_context(|| line(command))?;
    if !output.status.success() {
        bail!("{}: {}\n{}", line(command), output.status, String::from_utf8_lossy(&output.stderr));
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// The cargo that runs us, in the checkout's folder, without the shell's own database settings.
pub(crate) fn cargo() -> Result<Command> {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.current_dir(root()?);
    without_settings(&mut command);
    Ok(command)
}

/// What tests themselves read: how often they try something, with which cases, and whether pages are renewed.
const OF_THE_TESTS: [&str; 8] = [
    "THRICE_DOCS_UPDATE",
    "THRICE_INTERVAL_CASES",
    "THRICE_KILL_ROUNDS",
    "THRICE_PUBLISH_SEQUENCES",
    "THRICE_RACE_ROUNDS",
    "THRICE_REPUBLISHES",
    "THRICE_RELAY_ROUNDS",
    "THRICE_TILING_EVERY",
];

/// Takes away every variable that names a database or steers thrice: what a developer has set must not decide a test.
pub(crate) fn without_settings(command: &mut Command) {
    for (name, _) in std::env::vars_os() {
        let text = name.to_string_lossy();
        let ours = text.starts_with("THRICE_") && !OF_THE_TESTS.contains(&text.as_ref());
        if ours || text.starts_with("PG") || ["DATABASE_URL", "DATABASE_ADDRESS", "FAILPOINTS"].contains(&&*text) {
            command.env_remove(&name);
        }
    }
}

/// The command as one could type it.
pub(crate) fn line(command: &Command) -> String {
    let mut words = vec![command.get_program().to_string_lossy().into_owned()];
    words.extend(command.get_args().map(|argument| argument.to_string_lossy().into_owned()));
    words.join(" ")
}
