//! `thrice init`: a project that runs, with a sample source to load. Nothing is ever overwritten.

use std::path::{Path, PathBuf};

use serde_json::json;
use thrice_connect::{ConnectErrorKind, ConnectionSettings, Sources};
use thrice_core::code::ErrorCode;

use crate::args::{Global, Init};
use crate::exit_code::Exit;
use crate::fault::{Fault, Outcome, io_fault};
use crate::output::Output;

/// The files of a new project, by their paths in it.
pub(crate) const FILES: [(&str, &str); 4] = [
    ("pipelines/daily_order_summary.toml", include_str!("../../template/daily_order_summary.toml")),
    ("pipelines/daily_order_summary.sql", include_str!("../../template/daily_order_summary.sql")),
    ("sample.sql", include_str!("../../template/sample.sql")),
    (".gitignore", ".thrice/\n"),
];

pub(crate) fn run(global: &Global, args: &Init, output: Output) -> Outcome<Exit> {
    let dir = match &args.folder {
        Some(dir) => global.dir.join(dir),
        None => global.dir.clone(),
    };
    let server = Server::of_environment()?;
    let created = write(&dir, server)?;
    for path in &created {
        output.line(format!("created {path}"));
    }
    output.note(format!("database: {}", server.told()));
    let next = next(args.folder.as_deref(), server);
    output.note("next:");
    for command in &next {
        output.note(format!("  {command}"));
    }
    output.object(&json!({ "schema": "thrice.init/1", "created": created, "database": server.word(), "next": next }));
    Ok(Exit::Ok)
}

/// Where a new project has its database: what the environment names comes first in every later call as well.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Server {
    /// DATABASE_URL is set.
    Url,
    /// It is not, but PGHOST or PGDATABASE is.
    PgVariables,
    /// Nothing is set: the project has one of its own.
    Private,
}

impl Server {
    /// Whether the server that is named can be reached so is asked later; an empty variable names none.
    fn of_environment() -> Outcome<Self> {
        let url = std::env::var_os("DATABASE_URL");
        if url.is_some_and(|url| !url.is_empty()) {
            return Ok(Self::Url);
        }
        match ConnectionSettings::resolve(&Sources::of_process(None, None).0) {
            Ok(None) => Ok(Self::Private),
            Err(error) if error.kind() == ConnectErrorKind::Malformed => Err(error.into()),
            Ok(Some(_)) | Err(_) => Ok(Self::PgVariables),
        }
    }

    const fn word(self) -> &'static str {
        match self {
            Self::Url => "url_env",
            Self::PgVariables => "pg_variables",
            Self::Private => "local",
        }
    }

    const fn told(self) -> &'static str {
        match self {
            Self::Url => "the one in DATABASE_URL; thrice.toml names the variable",
            Self::PgVariables => "the one in the PG* variables, until DATABASE_URL is set",
            Self::Private => {
                "a private PostgreSQL under .thrice/, since DATABASE_URL is not set; \
                 for a server of yours write url_env = \"DATABASE_URL\" in thrice.toml"
            }
        }
    }

    const fn in_file(self) -> &'static str {
        match self {
            Self::Url | Self::PgVariables => {
                "url_env = \"DATABASE_URL\"    # the name of the environment variable; passwords never stand in this file"
            }
            Self::Private => {
                "mode = \"local\"             # a private PostgreSQL under .thrice/; or: url_env = \"DATABASE_URL\""
            }
        }
    }
}

/// What to type to see it run.
fn next(folder: Option<&Path>, server: Server) -> Vec<String> {
    let mut next: Vec<String> = folder.map(|folder| format!("cd {}", folder.display())).into_iter().collect();
    let load: &[&str] = match server {
        Server::Url => &["psql \"$DATABASE_URL\" -f sample.sql", "thrice migrate"],
        Server::PgVariables => &["psql -f sample.sql", "thrice migrate"],
        Server::Private => &["thrice pg psql -f sample.sql"],
    };
    next.extend(load.iter().map(|&command| command.to_owned()));
    next.push("thrice run daily_order_summary 2026-03-24".to_owned());
    next.push("thrice status daily_order_summary --month 2026-03".to_owned());
    next
}

/// Writes the project, or nothing where a file is in the way.
pub(crate) fn write(dir: &Path, server: Server) -> Outcome<Vec<String>> {
    let name = dir
        .canonicalize()
        .unwrap_or_else(|_| dir.to_path_buf())
        .file_name()
        .map_or_else(|| "project".to_owned(), |name| name.to_string_lossy().into_owned());
    let mut files: Vec<(PathBuf, String)> = vec![(PathBuf::from("thrice.toml"), thrice_toml(&name, server))];
    files.extend(FILES.iter().map(|(path, text)| (PathBuf::from(path), (*text).to_owned())));
    let in_the_way: Vec<String> = files
        .iter()
        .map(|(path, _)| path)
        .filter(|path| dir.join(path).exists())
        .map(|path| path.display().to_string())
        .collect();
    if !in_the_way.is_empty() {
        return Err(Fault::new(ErrorCode::BadArgument, format!("already there: {}", in_the_way.join(", ")))
            .why("nothing is overwritten; no file was written")
            .fix("thrice init in another folder")
            .into());
    }
    let mut created = Vec::new();
    for (path, text) in files {
        let at = dir.join(&path);
        if let Some(parent) = at.parent() {
            std::fs::create_dir_all(parent).map_err(|error| io_fault("cannot make the folder", parent, &error))?;
        }
        std::fs::write(&at, text).map_err(|error| io_fault("cannot write", &at, &error))?;
        created.push(path.display().to_string());
    }
    Ok(created)
}

fn thrice_toml(name: &str, server: Server) -> String {
    let name: String = name.chars().filter(|c| !c.is_control() && *c != '"' && *c != '\\').collect();
    format!(
        "[project]\nname = \"{name}\"\ntime_zone = \"Asia/Seoul\"    # default of the pipelines: an IANA name\n\n[database]\n{}\n",
        server.in_file()
    )
}
