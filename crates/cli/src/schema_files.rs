//! The schemas for editors as files of a project, and the line by which a file names its own.

use std::fs;
use std::path::Path;

use serde_json::Value;
use thrice_pipeline::keys::File;
use thrice_pipeline::schema;

use crate::fault::{Outcome, io_fault};

/// Beside the pipelines and not under `.thrice/`, which git does not see: who clones the project has them as well.
const FILES: [(File, &str); 2] = [(File::Project, "schemas/thrice.json"), (File::Pipeline, "schemas/pipeline.json")];

/// The first line of a file, which taplo and what is built on it (Even Better TOML) read.
pub(crate) const fn header(file: File) -> &'static str {
    match file {
        File::Project => "#:schema ./schemas/thrice.json",
        File::Pipeline => "#:schema ../schemas/pipeline.json",
    }
}

/// The schema of a kind of files, with where it comes from.
pub(crate) fn schema(file: File) -> Value {
    let mut schema = schema::of_file(file);
    let made = concat!("made by thrice ", env!("CARGO_PKG_VERSION"), "; `thrice export schema --write` renews it");
    schema["$comment"] = made.into();
    schema
}

/// The files by their paths in a project.
pub(crate) fn texts() -> Vec<(&'static str, String)> {
    FILES.map(|(file, path)| (path, format!("{:#}\n", schema(file)))).into()
}

/// Writes those that are not there or say something else, and gives their paths.
pub(crate) fn renew(root: &Path) -> Outcome<Vec<&'static str>> {
    let mut written = Vec::new();
    for (path, text) in texts() {
        let at = root.join(path);
        if fs::read_to_string(&at).is_ok_and(|now| now == text) {
            continue;
        }
        if let Some(folder) = at.parent() {
            fs::create_dir_all(folder).map_err(|error| io_fault("cannot make the folder", folder, &error))?;
        }
        fs::write(&at, text).map_err(|error| io_fault("cannot write", &at, &error))?;
        written.push(path);
    }
    Ok(written)
}
