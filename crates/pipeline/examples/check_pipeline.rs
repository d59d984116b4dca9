//! What a deployment gate of a service would do: read a project folder, check every pipeline, print what is wrong.
//!
//! `cargo run -p thrice-pipeline --example check_pipeline -- FOLDER`; without a folder it checks a small project of
//! its own.

#![expect(clippy::print_stdout, reason = "the example is a command")]

use std::error::Error;
use std::path::Path;

use thrice_pipeline::diagnostic::Level;
use thrice_pipeline::{Definition, Diagnostic, Diagnostics, Pipeline, Project, together};

const SAMPLE: [(&str, &str); 3] = [
    ("thrice.toml", "[project]\nname = \"shop\"\ntime_zone = \"Asia/Seoul\"\n"),
    (
        "pipelines/daily_sales.toml",
        "[interval]\ngrain = \"day\"\nstart = \"2026-01-01\"\n\
         [target]\ntable = \"mart.daily_sales\"\ninterval_column = \"day\"\nkey = [\"day\", \"store_id\"]\n",
    ),
    (
        "pipelines/daily_sales.sql",
        "select (ordered_at at time zone 'Asia/Seoul')::date as day, store_id, sum(amount) as amount\n\
         from ods.orders\nwhere ordered_at >= :interval_start and ordered_at < :interval_end\ngroup by 1, 2\n",
    ),
];

fn main() -> Result<(), Box<dyn Error>> {
    let sample = std::env::temp_dir().join(format!("thrice-check-pipeline-{}", std::process::id()));
    let given = std::env::args_os().nth(1);
    let folder = given.as_ref().map_or(sample.as_path(), |folder| Path::new(folder));
    if given.is_none() {
        std::fs::create_dir_all(sample.join("pipelines"))?;
        for (file, text) in SAMPLE {
            std::fs::write(sample.join(file), text)?;
        }
    }
    let errors = check_folder(folder);
    if given.is_none() {
        std::fs::remove_dir_all(&sample)?;
    }
    match errors? {
        0 => Ok(()),
        errors => Err(format!("{errors} errors").into()),
    }
}

/// Checks every pipeline of a folder; how many errors there are.
fn check_folder(folder: &Path) -> Result<usize, Box<dyn Error>> {
    let read = |file: &str| std::fs::read(folder.join(file)).map_err(|error| format!("{file}: {error}"));
    let project = Project::read("thrice.toml", &read("thrice.toml")?)?.value;
    let mut names: Vec<String> = std::fs::read_dir(folder.join("pipelines"))?
        .filter_map(|entry| entry.ok()?.file_name().into_string().ok())
        .filter_map(|file| file.strip_suffix(".toml").map(str::to_owned))
        .collect();
    names.sort();

    let (mut findings, mut pipelines) = (Diagnostics::new(), Vec::new());
    for name in &names {
        let file = format!("pipelines/{name}.toml");
        let pipeline = Definition::read(&project, name, &file, &read(&file)?).and_then(|definition| {
            let sql_file = definition.value.sql_path.clone();
            let sql = read(&sql_file)
                .map_err(|why| Diagnostic::error(thrice_core::code::ErrorCode::FileMissing, &file, why))?;
            Pipeline::new(definition.value, &sql_file, &sql)
        });
        match pipeline {
            Ok(checked) => {
                findings.extend(checked.warnings);
                pipelines.push(checked.value);
            }
            Err(refused) => findings.extend(refused),
        }
    }
    findings.extend(together::check(&pipelines.iter().map(Pipeline::definition).collect::<Vec<_>>()));

    for finding in &findings {
        println!("{finding}");
        if !finding.fix.is_empty() {
            println!("  fix: {}", finding.fix);
        }
    }
    for pipeline in &pipelines {
        println!(
            "{} {} -> {}",
            pipeline.code_hash().short(),
            pipeline.name(),
            pipeline.definition().target.table.readable()
        );
    }
    Ok(findings.iter().filter(|finding| finding.level == Level::Error).count())
}
