//! A project folder made for one test.

use std::path::Path;

use anyhow::Result;
use tempfile::TempDir;

use crate::process::Thrice;

/// One pipeline's two files.
#[derive(Debug, Clone)]
pub struct PipelineText {
    /// Pipeline name.
    pub name: String,
    /// TOML text.
    pub toml: String,
    /// SQL text.
    pub sql: String,
}

impl PipelineText {
    /// A pipeline of two texts.
    pub fn new(name: &str, toml: &str, sql: &str) -> Self {
        Self { name: name.to_owned(), toml: toml.to_owned(), sql: sql.to_owned() }
    }
}

/// A folder with `thrice.toml` and pipelines, and the URL its calls use.
#[derive(Debug)]
pub struct Project {
    folder: TempDir,
    url: String,
}

impl Project {
    /// Writes the files; `zone` is the project's time zone.
    pub fn new(url: &str, zone: &str, pipelines: &[PipelineText]) -> Result<Self> {
        let folder = tempfile::Builder::new().prefix("thrice-test").tempdir()?;
        let toml =
            format!("[project]\nname = \"test\"\ntime_zone = \"{zone}\"\n\n[database]\nurl_env = \"DATABASE_URL\"\n");
        std::fs::write(folder.path().join("thrice.toml"), toml)?;
        std::fs::create_dir(folder.path().join("pipelines"))?;
        let project = Self { folder, url: url.to_owned() };
        for pipeline in pipelines {
            project.write(pipeline)?;
        }
        Ok(project)
    }

    /// Writes or replaces one pipeline.
    pub fn write(&self, pipeline: &PipelineText) -> Result<()> {
        let base = self.folder.path().join("pipelines");
        std::fs::write(base.join(format!("{}.toml", pipeline.name)), &pipeline.toml)?;
        std::fs::write(base.join(format!("{}.sql", pipeline.name)), &pipeline.sql)?;
        Ok(())
    }

    /// The folder.
    pub fn path(&self) -> &Path {
        self.folder.path()
    }

    /// The URL that calls use.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// A call of the binary in this project.
    pub fn thrice<S: AsRef<std::ffi::OsStr>>(&self, args: impl IntoIterator<Item = S>) -> Thrice {
        Thrice::new(self.folder.path(), &self.url).args(args)
    }

    /// The same call through another URL.
    pub fn thrice_through<S: AsRef<std::ffi::OsStr>>(&self, url: &str, args: impl IntoIterator<Item = S>) -> Thrice {
        Thrice::new(self.folder.path(), url).args(args)
    }
}
