//! A folder that goes with its value.

use std::fs;
use std::path::PathBuf;

use anyhow::Result;

use crate::process::target;

/// Folder of a temporary project, removed when the value goes.
#[derive(Debug)]
pub(crate) struct TemporaryFolder(pub(crate) PathBuf);

impl TemporaryFolder {
    /// An empty folder in `target`.
    pub(crate) fn new(name: &str) -> Result<Self> {
        let folder = target()?.join("xtask").join(format!("{name}-{}", std::process::id()));
        if folder.exists() {
            fs::remove_dir_all(&folder)?;
        }
        fs::create_dir_all(&folder)?;
        Ok(Self(folder))
    }
}

impl Drop for TemporaryFolder {
    fn drop(&mut self) {
        if let Err(error) = fs::remove_dir_all(&self.0) {
            eprintln!("{}: {error}", self.0.display());
        }
    }
}
