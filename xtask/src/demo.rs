//! `cargo xtask demo`: builds the command and shows it, with a server brought along where none is installed.

use std::process::Command;

use anyhow::Result;

use crate::process::run as call;
use crate::{server, test};

/// `cargo xtask demo [ARGS…]`
pub(crate) fn run(arguments: &[String]) -> Result<()> {
    let binary = test::plain_binary()?;
    let mut command = Command::new(binary);
    command.arg("demo").args(arguments);
    if server::installed().is_empty() {
        let fetched = server::any()?;
        println!("no PostgreSQL is installed: using version {} from {}", fetched.major, fetched.bin.display());
        command.env("THRICE_PG_BIN", &fetched.bin);
    }
    call(&mut command)
}
