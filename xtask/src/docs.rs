//! `cargo xtask docs`: the pages of the book that are made from the code, whether they are fresh, and the book itself.

mod book;
mod codes_page;
mod commands_page;
mod files_page;
mod ledger_page;
mod ledger_texts;

use std::fs;
use std::path::PathBuf;

use anyhow::{Context, Result, bail};

use crate::binary;
use crate::process::root;

/// Stands below the title of a page that is made.
const NOTE: &str = "<!-- made by `cargo xtask docs`: a change by hand is lost -->";

/// `cargo xtask docs [--check | --build]`
pub(crate) fn run(arguments: &[String]) -> Result<()> {
    match arguments {
        [] => write(),
        [flag] if flag == "--check" => check(),
        [flag] if flag == "--build" => book::build(),
        _ => bail!("cargo xtask docs [--check | --build]"),
    }
}

/// Fails where a page is not what the code says.
pub(crate) fn check() -> Result<()> {
    let mut stale = Vec::new();
    for (path, text) in pages()? {
        if fs::read_to_string(&path).ok().as_deref() != Some(&*text) {
            stale.push(format!("  {}", path.display()));
        }
    }
    if stale.is_empty() {
        println!("the reference is what the code says");
        return Ok(());
    }
    bail!("run cargo xtask docs and commit:\n{}", stale.join("\n"))
}

fn write() -> Result<()> {
    for (path, text) in pages()? {
        fs::write(&path, text).with_context(|| path.display().to_string())?;
        println!("{}", path.display());
    }
    Ok(())
}

/// The pages that are made, by their files.
fn pages() -> Result<Vec<(PathBuf, String)>> {
    let folder = root()?.join("docs/src/reference");
    let pages = [
        ("commands.md", commands_page::page(&binary::plain()?)?),
        ("files.md", files_page::page()?),
        ("error-codes.md", codes_page::page()?),
        ("ledger.md", ledger_page::page()?),
    ];
    pages.into_iter().map(|(name, text)| Ok((folder.join(name), with_note(&text)?))).collect()
}

fn with_note(text: &str) -> Result<String> {
    let (title, rest) = text.split_once('\n').context("a page has a title")?;
    Ok(format!("{title}\n\n{NOTE}\n{rest}"))
}
