//! The project on disk: finds it, reads its files, and hands out checked pipelines.

use std::path::{Path, PathBuf};
use std::time::Duration;

use thrice_core::code::ErrorCode;
use thrice_core::due::DuePolicy;
use thrice_core::text::did_you_mean;
use thrice_pipeline::diagnostic::{Diagnostic, Diagnostics};
use thrice_pipeline::{Definition, Pipeline, Query, project, together};
use thrice_runner::Job;

use crate::fault::{Failed, Fault, Outcome, Place, io_fault};
use crate::{git, job};

/// Name of the project file.
pub(crate) const FILE: &str = "thrice.toml";
const PIPELINES: &str = "pipelines";
/// A file of a project is read up to one byte more than it may have.
const MOST_BYTES: u64 = 256 * 1024 + 1;

/// Where the project says that its database is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum DatabaseChoice {
    /// In this environment variable.
    Env(String),
    /// The private server of the project.
    Local,
    /// Nothing is said.
    Unsaid,
}

/// A project whose files were read.
#[derive(Debug)]
pub(crate) struct Project {
    pub(crate) root: PathBuf,
    pub(crate) name: String,
    /// The zone of pipelines that name none.
    pub(crate) time_zone: Option<String>,
    /// The text of `thrice.toml`.
    pub(crate) text: String,
    pub(crate) database: DatabaseChoice,
    pub(crate) lease_ttl: Duration,
    /// Pipelines by name, those with errors included.
    pipelines: Vec<(String, Result<Loaded, Vec<Fault>>)>,
}

/// A checked pipeline.
#[derive(Debug)]
pub(crate) struct Loaded {
    pub(crate) job: Job,
    pub(crate) due: DuePolicy,
    pub(crate) paused: bool,
    pub(crate) warnings: Vec<Fault>,
    query: Query,
}

impl Project {
    /// The project's folder: `dir`, or the nearest one above it with a `thrice.toml`.
    pub(crate) fn root(dir: &Path) -> Outcome<PathBuf> {
        let start = dir.canonicalize().map_err(|error| io_fault("cannot enter", dir, &error))?;
        let found = start.ancestors().find(|folder| folder.join(FILE).is_file()).map(Path::to_path_buf);
        found.ok_or_else(|| {
            Fault::new(ErrorCode::FileMissing, format!("no {FILE} in {} or above it", start.display()))
                .fix("thrice init, or -C with the project's folder")
                .into()
        })
    }

    /// The project, if there is one; for commands that can do without.
    pub(crate) fn find(dir: &Path) -> Outcome<Option<Self>> {
        match Self::root(dir) {
            Ok(_) => Self::load(dir).map(Some),
            Err(_) => Ok(None),
        }
    }

    /// Reads `thrice.toml` and every pipeline.
    pub(crate) fn load(dir: &Path) -> Outcome<Self> {
        let root = Self::root(dir)?;
        let bytes = read(&root.join(FILE))?;
        let checked = project::Project::read(FILE, &bytes).map_err(|found| Failed(faults(&found, &bytes)))?;
        let settings = checked.value;
        let mut definitions = Vec::new();
        let mut pipelines: Vec<(String, Result<Loaded, Vec<Fault>>)> = Vec::new();
        for (name, path) in files(&root)? {
            let shown = format!("{PIPELINES}/{name}.toml");
            let bytes = read(&path)?;
            match Definition::read(&settings, &name, &shown, &bytes) {
                Ok(checked) => definitions.push((checked.value, faults(&checked.warnings, &bytes))),
                Err(found) => pipelines.push((name, Err(faults(&found, &bytes)))),
            }
        }
        let all: Vec<&Definition> = definitions.iter().map(|(definition, _)| definition).collect();
        let shared = together::check(&all);
        if shared.has_errors() {
            let text = |file: &str| readable(&std::fs::read(root.join(file)).unwrap_or_default());
            return Err(Failed(shared.iter().map(|found| Fault::of_diagnostic(found, text)).collect()));
        }
        let git_revision = git::revision(&root);
        for (definition, warnings) in definitions {
            let name = definition.name.clone();
            let mut loaded = load(&root, definition, warnings)?;
            if let Ok(loaded) = &mut loaded {
                loaded.job.git_revision.clone_from(&git_revision);
            }
            pipelines.push((name, loaded));
        }
        pipelines.sort_by(|a, b| a.0.cmp(&b.0));
        let database = match settings.database {
            project::Database::UrlEnv(name) => DatabaseChoice::Env(name),
            project::Database::Local => DatabaseChoice::Local,
            project::Database::None => DatabaseChoice::Unsaid,
        };
        Ok(Self {
            root,
            name: settings.name,
            time_zone: settings.time_zone.map(|zone| zone.name().to_owned()),
            text: String::from_utf8_lossy(&bytes).into_owned(),
            database,
            lease_ttl: settings.lease_ttl.as_std(),
            pipelines,
        })
    }

    /// One pipeline by its name.
    pub(crate) fn pipeline(&self, name: &str) -> Outcome<&Loaded> {
        self.known_name(name)?;
        match self.pipelines.iter().find(|(known, _)| known == name) {
            Some((_, Ok(loaded))) => Ok(loaded),
            Some((_, Err(faults))) => Err(Failed(faults.clone())),
            None => Err(unknown(name, self).into()),
        }
    }

    /// The named pipelines, or all of them. One that cannot be read fails the call: nothing is left out silently.
    pub(crate) fn chosen(&self, names: &[String]) -> Outcome<Vec<&Loaded>> {
        if !names.is_empty() {
            return names.iter().map(|name| self.pipeline(name)).collect();
        }
        let faults: Vec<Fault> =
            self.pipelines.iter().filter_map(|(_, loaded)| loaded.as_ref().err()).flatten().cloned().collect();
        if !faults.is_empty() {
            return Err(Failed(faults));
        }
        Ok(self.pipelines.iter().filter_map(|(_, loaded)| loaded.as_ref().ok()).collect())
    }

    /// The pipelines without errors.
    pub(crate) fn readable(&self) -> impl Iterator<Item = &Loaded> {
        self.pipelines.iter().filter_map(|(_, loaded)| loaded.as_ref().ok())
    }

    /// How many pipelines there are, those with errors included.
    pub(crate) fn count(&self) -> usize {
        self.pipelines.len()
    }

    /// What lint has to say of the named pipelines, or of all.
    pub(crate) fn findings(&self, names: &[String]) -> Outcome<Vec<Fault>> {
        for name in names {
            self.known_name(name)?;
        }
        let wanted = |name: &String| names.is_empty() || names.contains(name);
        Ok(self
            .pipelines
            .iter()
            .filter(|(name, _)| wanted(name))
            .flat_map(|(_, loaded)| match loaded {
                Ok(loaded) => loaded.warnings.clone(),
                Err(faults) => faults.clone(),
            })
            .collect())
    }

    /// Refuses a name that no pipeline has.
    pub(crate) fn known_name(&self, name: &str) -> Outcome<()> {
        if self.pipelines.iter().any(|(known, _)| known == name) { Ok(()) } else { Err(unknown(name, self).into()) }
    }
}

impl Loaded {
    /// Gives a fault that points into the rendered query its place in the file.
    pub(crate) fn place(&self, fault: &mut Fault, position: Option<usize>) {
        let Some(at) = position.and_then(|position| self.query.source_offset(position)) else { return };
        let source = self.query.source();
        let end = source.get(at..).and_then(|rest| rest.chars().next()).map_or(at, |c| at + c.len_utf8());
        fault.place = Some(Place {
            file: self.query.file().to_owned(),
            text: source.to_owned(),
            span: Some(at..end),
            label: "the server points here".to_owned(),
            hidden: false,
        });
    }
}

fn unknown(name: &str, project: &Project) -> Fault {
    let names: Vec<&str> = project.pipelines.iter().map(|(known, _)| known.as_str()).collect();
    let fault = Fault::new(ErrorCode::UnknownPipeline, format!("no pipeline is called {name:?}"));
    match did_you_mean(name, names.iter().copied()) {
        Some(near) => fault.fix(format!("did you mean {near}?")),
        None if names.is_empty() => fault.fix(format!("add {PIPELINES}/{name}.toml and {PIPELINES}/{name}.sql")),
        None => fault.fix(format!("known are: {}", names.join(", "))),
    }
}

fn load(root: &Path, definition: Definition, mut warnings: Vec<Fault>) -> Outcome<Result<Loaded, Vec<Fault>>> {
    let path = root.join(&definition.sql_path);
    if let (Ok(real), Ok(root)) = (path.canonicalize(), root.canonicalize())
        && !real.starts_with(&root)
    {
        let what = format!("{} leads out of the project, to {}", definition.sql_path, real.display());
        return Ok(Err(vec![
            Fault::new(ErrorCode::OutsideProject, what)
                .at(Place::file(&definition.sql_path))
                .why("a pipeline is what stands in its project")
                .fix("put the query under the project's folder"),
        ]));
    }
    if !path.is_file() {
        let what = format!("{} is missing", definition.sql_path);
        return Ok(Err(vec![
            Fault::new(ErrorCode::FileMissing, what)
                .at(Place::file(&definition.file))
                .why("a pipeline is a TOML file and a query, which stands beside it unless `sql` names another")
                .fix("write the query there, or name another file with sql = \"…\""),
        ]));
    }
    let bytes = read(&path)?;
    let (due, paused, sql_path) = (definition.due_policy(), definition.paused, definition.sql_path.clone());
    let checked = match Pipeline::new(definition, &sql_path, &bytes) {
        Ok(checked) => checked,
        Err(found) => return Ok(Err(faults(&found, &bytes))),
    };
    warnings.extend(faults(&checked.warnings, &bytes));
    let pipeline = checked.value;
    Ok(Ok(Loaded { job: job::of(&pipeline), due, paused, warnings, query: pipeline.query().clone() }))
}

/// Pipeline files by name, sorted.
fn files(root: &Path) -> Outcome<Vec<(String, PathBuf)>> {
    let folder = root.join(PIPELINES);
    let entries = match std::fs::read_dir(&folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(io_fault("cannot read", &folder, &error).into()),
    };
    let mut found = Vec::new();
    for entry in entries {
        let path = entry.map_err(|error| io_fault("cannot read", &folder, &error))?.path();
        if path.extension().is_some_and(|ending| ending == "toml")
            && let Some(name) = path.file_stem().and_then(|name| name.to_str())
        {
            found.push((name.to_owned(), path.clone()));
        }
    }
    found.sort();
    Ok(found)
}

fn read(path: &Path) -> Outcome<Vec<u8>> {
    use std::io::Read;
    let mut bytes = Vec::new();
    std::fs::File::open(path)
        .and_then(|file| file.take(MOST_BYTES).read_to_end(&mut bytes))
        .map_err(|error| io_fault("cannot read", path, &error))?;
    Ok(bytes)
}

fn faults(found: &Diagnostics, bytes: &[u8]) -> Vec<Fault> {
    found.iter().map(|diagnostic| fault(diagnostic, bytes)).collect()
}

fn fault(diagnostic: &Diagnostic, bytes: &[u8]) -> Fault {
    let own = |file: &str| if file == diagnostic.file { readable(bytes) } else { String::new() };
    Fault::of_diagnostic(diagnostic, own)
}

/// The text up to the first byte that is none: places before it stay true.
fn readable(bytes: &[u8]) -> String {
    let end = std::str::from_utf8(bytes).map_or_else(|error| error.valid_up_to(), str::len);
    String::from_utf8_lossy(bytes.get(..end).unwrap_or_default()).into_owned()
}
