//! `cargo xtask demo`: builds the command and shows it, with a server brought along where none is installed.

use std::process::Command;

use anyhow::Result;

use crate::binary;
use crate::process::run as call;
use crate::server::{self, MAJORS};

/// `cargo xtask demo [ARGS…]`
pub(crate) fn run(arguments: &[String]) -> Result<()> {
    let program = binary::plain()?;
    let mut command = Command::new(program);
    command.arg("demo").args(arguments);
    if !MAJORS.iter().any(|major| server::installed(*major).is_some()) {
        let fetched = server::fetched_or_fetch(MAJORS[MAJORS.len() - 1])?;
        let why = if server::hidden() { "what is installed is hidden" } else { "no PostgreSQL is installed" };
        println!("{why}: using version {} in {}", fetched.major, fetched.bin.display());
        command.env("THRICE_PG_BIN", &fetched.bin);
    }
    call(&mut command)
}
