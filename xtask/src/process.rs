//! Child processes, with what was run in every error.

use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, Result, bail};

/// The checkout's folder.
pub(crate) fn root() -> Result<PathBuf> {
    let manifest = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
    Ok(manifest.parent().context("xtask has no parent folder")?.to_path_buf())
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

/// The cargo that runs us.
pub(crate) fn cargo() -> Command {
    Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
}

/// The command as one could type it.
pub(crate) fn line(command: &Command) -> String {
    let mut words = vec![command.get_program().to_string_lossy().into_owned()];
    words.extend(command.get_args().map(|argument| argument.to_string_lossy().into_owned()));
    words.join(" ")
}
