//! `thrice init`: a project that runs, with a sample source to load. Nothing is ever overwritten.

use std::path::{Path, PathBuf};

use serde_json::json;
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
    let has_url = std::env::var_os("DATABASE_URL").is_some_and(|url| !url.is_empty());
    let created = write(&dir, has_url)?;
    for path in &created {
        output.line(format!("created {path}"));
    }
    let next = next(args.folder.as_deref(), has_url);
    output.note("next:");
    for command in &next {
        output.note(format!("  {command}"));
    }
    output.object(&json!({ "schema": "thrice.init/1", "created": created, "next": next }));
    Ok(Exit::Ok)
}

/// What to type to see it run.
fn next(folder: Option<&Path>, has_url: bool) -> Vec<String> {
    let mut next: Vec<String> = folder.map(|folder| format!("cd {}", folder.display())).into_iter().collect();
    next.extend(if has_url {
        vec!["psql \"$DATABASE_URL\" -f sample.sql".to_owned(), "thrice migrate".to_owned()]
    } else {
        vec!["thrice pg psql -f sample.sql".to_owned()]
    });
    next.push("thrice run daily_order_summary 2026-03-24".to_owned());
    next.push("thrice status daily_order_summary --month 2026-03".to_owned());
    next
}

/// Writes the project, or nothing where a file is in the way.
pub(crate) fn write(dir: &Path, has_url: bool) -> Outcome<Vec<String>> {
    let name = dir
        .canonicalize()
        .unwrap_or_else(|_| dir.to_path_buf())
        .file_name()
        .map_or_else(|| "project".to_owned(), |name| name.to_string_lossy().into_owned());
    let mut files: Vec<(PathBuf, String)> = vec![(PathBuf::from("thrice.toml"), thrice_toml(&name, has_url))];
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

fn thrice_toml(name: &str, has_url: bool) -> String {
    let database = if has_url {
        "url_env = \"DATABASE_URL\"    # the name of the environment variable; passwords never stand in this file"
    } else {
        "mode = \"local\"             # a private PostgreSQL under .thrice/; or: url_env = \"DATABASE_URL\""
    };
    let name: String = name.chars().filter(|c| !c.is_control() && *c != '"' && *c != '\\').collect();
    format!(
        "[project]\nname = \"{name}\"\ntime_zone = \"Asia/Seoul\"    # default of the pipelines: an IANA name\n\n[database]\n{database}\n"
    )
}
