//! `thrice init`: a project that runs, with a sample source to load. Nothing is ever overwritten.

use std::fs;
use std::io::Write;
use std::path::Path;

use serde_json::json;
use thrice_connect::{ConnectErrorKind, ConnectionSettings, Sources};
use thrice_core::code::ErrorCode;
use thrice_pipeline::keys::File;

use crate::args::{Global, Init};
use crate::exit_code::Exit;
use crate::fault::{Fault, Outcome, io_fault};
use crate::output::Output;
use crate::schema_files;

/// The files of a new project, by their paths in it.
pub(crate) const FILES: [(&str, &str); 3] = [
    ("pipelines/daily_order_summary.toml", include_str!("../../template/daily_order_summary.toml")),
    ("pipelines/daily_order_summary.sql", include_str!("../../template/daily_order_summary.sql")),
    ("sample.sql", include_str!("../../template/sample.sql")),
];
const IGNORE: &str = ".gitignore";
/// What git must not see: the private server's files.
const IGNORED: &str = ".thrice/";
/// The most bytes that the name of a project may have.
const NAME: usize = 100;

/// What became of the folder.
#[derive(Debug)]
pub(crate) struct Written {
    /// Paths of new files.
    created: Vec<String>,
    /// Paths of files that were there and have a line more.
    extended: Vec<String>,
}

pub(crate) fn run(global: &Global, args: &Init, output: Output) -> Outcome<Exit> {
    let dir = match &args.folder {
        Some(dir) => global.dir.join(dir),
        None => global.dir.clone(),
    };
    let server = Server::of_environment()?;
    let written = write(&dir, server)?;
    output.lines(written.created.iter().map(|path| format!("created {path}")));
    output.lines(written.extended.iter().map(|path| format!("added {IGNORED} to {path}")));
    output.note(format!("database: {}", server.told()));
    let next = next(args.folder.as_deref(), server);
    output.note("next:");
    for command in &next {
        output.note(format!("  {command}"));
    }
    output.object(json!({
        "schema": "thrice.init/1", "created": written.created, "extended": written.extended,
        "database": server.word(), "next": next, "exit": Exit::Ok.number(),
    }));
    Ok(Exit::Ok)
}

/// Where a new project has its database: what the environment names comes first in every later call as well.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Server {
    /// `DATABASE_URL` is set.
    Url,
    /// It is not, but `PGHOST` or `PGDATABASE` is.
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

/// Writes the project, or nothing where a file is in the way. A `.gitignore` is not: it gets the line that it lacks.
pub(crate) fn write(dir: &Path, server: Server) -> Outcome<Written> {
    // a folder that is not there yet has its name from the words alone
    let folder = dir.canonicalize().or_else(|_| std::path::absolute(dir)).unwrap_or_default();
    let name = folder.file_name().unwrap_or_default().to_string_lossy();
    let mut files: Vec<(&str, String)> = vec![("thrice.toml", thrice_toml(&project_name(&name), server))];
    files.extend(FILES.iter().map(|(path, text)| (*path, (*text).to_owned())));
    files.extend(schema_files::texts());
    // also a link that leads nowhere is something in the way
    let there = |path: &str| dir.join(path).symlink_metadata().is_ok();
    let in_the_way: Vec<&str> = files.iter().map(|(path, _)| *path).filter(|path| there(path)).collect();
    if !in_the_way.is_empty() {
        return Err(Fault::new(ErrorCode::BadArgument, format!("already there: {}", in_the_way.join(", ")))
            .why("nothing is overwritten; no file was written")
            .fix("thrice init in another folder")
            .into());
    }
    // read before anything is written: what cannot be read ends the call with nothing done
    let ignore = if there(IGNORE) { Some(lacking(&dir.join(IGNORE))?) } else { None };
    let mut written = Written { created: Vec::new(), extended: Vec::new() };
    for (path, text) in files {
        create(dir, path, &text)?;
        written.created.push(path.to_owned());
    }
    match ignore {
        None => {
            create(dir, IGNORE, &format!("{IGNORED}\n"))?;
            written.created.push(IGNORE.to_owned());
        }
        Some(Some(line)) => {
            append(&dir.join(IGNORE), &line)?;
            written.extended.push(IGNORE.to_owned());
        }
        Some(None) => {}
    }
    Ok(written)
}

/// The folder's name as the file of a project may hold it.
fn project_name(folder: &str) -> String {
    let name: String = folder.chars().filter(|c| !c.is_control() && *c != '"' && *c != '\\').collect();
    let name = name.get(..name.floor_char_boundary(NAME)).unwrap_or_default().trim();
    if name.is_empty() { "project".to_owned() } else { name.to_owned() }
}

fn create(dir: &Path, path: &str, text: &str) -> Outcome<()> {
    let at = dir.join(path);
    if let Some(parent) = at.parent() {
        fs::create_dir_all(parent).map_err(|error| io_fault("cannot make the folder", parent, &error))?;
    }
    let file = fs::File::create_new(&at).and_then(|mut file| file.write_all(text.as_bytes()));
    Ok(file.map_err(|error| io_fault("cannot write", &at, &error))?)
}

/// What a `.gitignore` lacks, with the line end before it that it may lack as well.
fn lacking(path: &Path) -> Outcome<Option<String>> {
    let bytes = fs::read(path).map_err(|error| io_fault("cannot read", path, &error))?;
    let text = String::from_utf8_lossy(&bytes);
    let ignored = |line: &str| line.trim_end().trim_start_matches('/').trim_end_matches('/') == ".thrice";
    if text.lines().any(ignored) {
        return Ok(None);
    }
    let end = if text.contains("\r\n") { "\r\n" } else { "\n" };
    let before = if text.is_empty() || text.ends_with('\n') { "" } else { end };
    Ok(Some(format!("{before}{IGNORED}{end}")))
}

fn append(path: &Path, text: &str) -> Outcome<()> {
    let file = fs::File::options().append(true).open(path).and_then(|mut file| file.write_all(text.as_bytes()));
    Ok(file.map_err(|error| io_fault("cannot write", path, &error))?)
}

fn thrice_toml(name: &str, server: Server) -> String {
    format!(
        "{}\n\n[project]\nname = \"{name}\"\ntime_zone = \"Asia/Seoul\"    # default of the pipelines: an IANA name\n\n[database]\n{}\n",
        schema_files::header(File::Project),
        server.in_file()
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_of_a_project_is_one_that_its_file_may_hold() {
        assert_eq!(project_name("shop"), "shop");
        assert_eq!(project_name("a\"b\\c\u{1b}"), "abc");
        assert_eq!(project_name("\""), "project");
        assert_eq!(project_name("/"), "/");
        let long = project_name(&"가게".repeat(30));
        assert_eq!((long.len(), long.chars().count()), (99, 33));
    }

    #[test]
    fn each_file_of_a_project_names_its_schema() {
        assert!(thrice_toml("shop", Server::Url).starts_with(&format!("{}\n", schema_files::header(File::Project))));
        let pipelines =
            FILES.iter().filter(|(path, _)| Path::new(path).extension().is_some_and(|ending| ending == "toml"));
        for (path, text) in pipelines {
            assert!(text.starts_with(&format!("{}\n", schema_files::header(File::Pipeline))), "{path}");
        }
    }
}
