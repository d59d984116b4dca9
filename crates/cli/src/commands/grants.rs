//! `thrice grants --print`: the statements that let a login work or look. Printed, not run: they are the owner's.

use std::collections::BTreeSet;

use serde_json::json;
use thrice_ledger::Ledger;
use thrice_pipeline::relations::{self, Relation};

use crate::args::Global;
use crate::exit_code::Exit;
use crate::fault::Outcome;
use crate::output::Output;
use crate::project::{Loaded, Project};

const ROLE: &str = "thrice_worker";

pub(crate) fn run(global: &Global, output: Output) -> Outcome<Exit> {
    let project = Project::find(&global.dir)?;
    let pipelines = project.as_ref().map_or_else(|| Ok(Vec::new()), |project| project.chosen(&[]))?;
    let then = format!(
        "-- Then, for each login:  grant {ROLE} to LOGIN;   or, to look and no more:  grant thrice_reader to LOGIN;"
    );
    let parts = std::iter::once(Ledger::grants_sql().trim_end().to_owned());
    let parts: Vec<String> = parts.chain(pipelines.into_iter().map(of_pipeline)).chain([then]).collect();
    let sql = parts.join("\n\n");
    output.lines(sql.lines().map(ToOwned::to_owned));
    output.object(json!({ "schema": "thrice.grants/1", "sql": sql, "exit": Exit::Ok.number() }));
    Ok(Exit::Ok)
}

/// What a worker needs to read the pipeline's sources and to replace rows of its target.
fn of_pipeline(loaded: &Loaded) -> String {
    let target = &loaded.job.target;
    let sources: Vec<Relation> =
        relations::of(&loaded.job.query_text).into_iter().filter(|relation| !is_system(relation)).collect();
    let mut schemas: BTreeSet<String> = sources.iter().filter_map(|relation| relation.schema.clone()).collect();
    schemas.insert(target.schema.readable());
    let schemas: Vec<String> = schemas.into_iter().collect();
    let names: Vec<String> = sources.iter().map(ToString::to_string).collect();
    let update = if loaded.job.strategy.updates() { "update, " } else { "" };
    let mut lines = vec![
        format!("-- pipeline {}", loaded.job.name),
        format!("grant usage on schema {} to {ROLE};", schemas.join(", ")),
        format!("grant select, insert, {update}delete on {} to {ROLE};", target.readable()),
    ];
    if loaded.job.strategy.swaps() {
        lines.extend([
            format!("grant create on schema {} to {ROLE};", target.schema.readable()),
            format!(
                "-- {} swaps partitions, which only the owner of the table and of its partitions may do.",
                loaded.job.name
            ),
            format!("-- Give both to a role of their own, and that role to the worker:  grant OWNER to {ROLE};"),
        ]);
    }
    if sources.iter().any(|relation| relation.schema.is_none()) {
        lines.push("-- a name without a schema is the one that search_path finds".to_owned());
    }
    if !names.is_empty() {
        lines.push(format!("grant select on {} to {ROLE};", names.join(", ")));
    }
    lines.join("\n")
}

/// Everybody may read the catalog.
fn is_system(relation: &Relation) -> bool {
    match relation.schema.as_deref() {
        Some(schema) => matches!(schema, "pg_catalog" | "information_schema"),
        None => relation.name.starts_with("pg_"),
    }
}
