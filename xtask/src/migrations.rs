//! The ledger's migrations, on a database of a throwaway cluster.

use std::fs;
use std::path::PathBuf;

use anyhow::{Context, Result};

use crate::process::root;
use crate::psql::Session;

/// Runs all of them, oldest first.
pub(crate) fn run(session: &Session) -> Result<()> {
    let folder = root()?.join("crates/ledger/migrations");
    let entries = fs::read_dir(&folder).with_context(|| folder.display().to_string())?.flatten();
    // the list of released ones stands beside them
    let is_sql = |file: &PathBuf| file.extension().is_some_and(|extension| extension == "sql");
    let mut files: Vec<PathBuf> = entries.map(|file| file.path()).filter(is_sql).collect();
    files.sort();
    for file in files {
        session.run(&fs::read_to_string(&file)?).with_context(|| file.display().to_string())?;
    }
    Ok(())
}
