//! The project on disk: finds it, reads its files, and hands out checked pipelines.

use std::path::{Path, PathBuf};
use std::time::Duration;

use thrice_core::code::ErrorCode;
use thrice_core::due::DuePolicy;
use thrice_core::schedule::Partition;
use thrice_core::text::did_you_mean;
use thrice_pipeline::diagnostic::{Diagnostic, Diagnostics};
use thrice_pipeline::{Definition, Pipeline, Query, project, together};
use thrice_runner::{Job, NotPrepared};

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
        for (name, path) in files(&root, "toml")? {
            let shown = format!("{PIPELINES}/{name}.toml");
            let bytes = read(&path)?;
            match Definition::read(&settings, &name, &shown, &bytes) {
                Ok(checked) => definitions.push((checked.value, faults(&checked.warnings, &bytes))),
                Err(found) => pipelines.push((name, Err(faults(&found, &bytes)))),
            }
        }
        if pipelines.is_empty() {
            let alone = queries_alone(&root, &definitions)?;
            pipelines.extend(alone.into_iter().map(|(name, fault)| (name, Err(vec![fault]))));
        }
        let shared = shared(&root, &definitions);
        let git_revision = git::revision(&root);
        for (definition, warnings) in definitions {
            let name = definition.name.clone();
            let conflicts: Vec<Fault> =
                shared.iter().filter(|(files, _)| files.contains(&definition.file)).map(|(_, f)| f.clone()).collect();
            if !conflicts.is_empty() {
                pipelines.push((name, Err(conflicts)));
                continue;
            }
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
        let faults = each_once(self.broken().flat_map(|(_, faults)| faults));
        if !faults.is_empty() {
            return Err(Failed(faults));
        }
        Ok(self.readable().collect())
    }

    /// The pipelines with errors.
    pub(crate) fn broken(&self) -> impl Iterator<Item = (&str, &[Fault])> {
        self.pipelines.iter().filter_map(|(name, loaded)| Some((name.as_str(), loaded.as_ref().err()?.as_slice())))
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
        Ok(each_once(self.pipelines.iter().filter(|(name, _)| wanted(name)).flat_map(|(_, loaded)| match loaded {
            Ok(loaded) => &loaded.warnings,
            Err(faults) => faults,
        })))
    }

    /// No file of the project has the name of this pipeline.
    pub(crate) fn is_gone(&self, name: &str) -> bool {
        !self.pipelines.iter().any(|(known, _)| known == name)
    }

    /// Refuses a name that no pipeline has.
    pub(crate) fn known_name(&self, name: &str) -> Outcome<()> {
        if self.is_gone(name) { Err(unknown(name, self).into()) } else { Ok(()) }
    }
}

impl Loaded {
    /// The first partition, by which the pipeline is judged as a whole: lint and every run of it say the same.
    pub(crate) fn first(&self) -> Option<Partition> {
        self.job.schedule.partition_at(self.due.start)
    }

    /// The query names the target itself, and lint has told.
    pub(crate) const fn names_target(&self) -> bool {
        self.query.names_target()
    }

    /// Why the pipeline cannot be run, with its place in the query.
    pub(crate) fn placed(&self, error: NotPrepared) -> Failed {
        let position = match &error {
            NotPrepared::Problem(problem) => problem.position,
            NotPrepared::Findings(_) => None,
        };
        let mut failed = Failed::from(error);
        if let Some(fault) = failed.0.first_mut() {
            self.place(fault, position);
        }
        failed
    }

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

/// What is wrong between pipelines stands at each of them, and is told once.
pub(crate) fn each_once<'a>(faults: impl IntoIterator<Item = &'a Fault>) -> Vec<Fault> {
    let mut once: Vec<Fault> = Vec::new();
    for fault in faults {
        let place = |fault: &Fault| fault.place.as_ref().map(|place| (place.file.clone(), place.span.clone()));
        if !once.iter().any(|known| known.what == fault.what && place(known) == place(fault)) {
            once.push(fault.clone());
        }
    }
    once
}

/// What only shows when all pipelines are seen together, with the files that it concerns.
fn shared(root: &Path, definitions: &[(Definition, Vec<Fault>)]) -> Vec<(Vec<String>, Fault)> {
    let all: Vec<&Definition> = definitions.iter().map(|(definition, _)| definition).collect();
    let text = |file: &str| readable(&std::fs::read(root.join(file)).unwrap_or_default());
    let of = |found: &Diagnostic| {
        let files = std::iter::once(found.file.clone()).chain(found.other.as_ref().map(|other| other.file.clone()));
        (files.collect(), Fault::of_diagnostic(found, text))
    };
    together::check(&all).iter().map(of).collect()
}

/// Queries beside which no file says when to run them, and which no pipeline names.
fn queries_alone(root: &Path, definitions: &[(Definition, Vec<Fault>)]) -> Outcome<Vec<(String, Fault)>> {
    let mut alone = Vec::new();
    for (name, _) in files(root, "sql")? {
        let file = format!("{PIPELINES}/{name}.sql");
        if definitions.iter().any(|(definition, _)| definition.name == name || definition.sql_path == file) {
            continue;
        }
        let fault = Fault::new(ErrorCode::FileMissing, format!("{PIPELINES}/{name}.toml is missing"))
            .at(Place::file(file))
            .why("a pipeline is a query and a TOML file, which says its intervals and its target")
            .fix("write that file, or keep the query outside of pipelines/ where it is none of a pipeline");
        alone.push((name, fault));
    }
    Ok(alone)
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

/// Pipeline files of an ending by name, sorted.
fn files(root: &Path, wanted: &str) -> Outcome<Vec<(String, PathBuf)>> {
    let folder = root.join(PIPELINES);
    let entries = match std::fs::read_dir(&folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(io_fault("cannot read", &folder, &error).into()),
    };
    let mut found = Vec::new();
    for entry in entries {
        let path = entry.map_err(|error| io_fault("cannot read", &folder, &error))?.path();
        if path.extension().is_some_and(|ending| ending == wanted)
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
