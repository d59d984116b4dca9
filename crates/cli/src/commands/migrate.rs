//! `thrice migrate`: creates or updates the ledger.

use serde_json::json;

use crate::args::{Global, Migrate};
use crate::database;
use crate::exit_code::Exit;
use crate::fault::Outcome;
use crate::output::Output;
use crate::project::Project;

pub(crate) async fn run(global: &Global, args: &Migrate, output: Output) -> Outcome<Exit> {
    let project = Project::find(&global.dir)?;
    let database = database::find(global, project.as_ref(), output).await?;
    let ledger = database::open(&database.settings).await?;
    let before = ledger.migration_info().await?;
    let info = if args.info { before.clone() } else { ledger.migrate().await? };
    if info.current > Some(info.known) {
        ledger.ensure_current().await?;
    }
    let applied = before.pending.len() - info.pending.len();
    let current = info.current.map_or_else(|| "none".to_owned(), |version| version.to_string());
    let head = format!("ledger schema {current} of {}", info.known);
    output.line(match (applied, info.pending.len()) {
        (0, 0) => format!("{head}, nothing to do"),
        (applied, 0) => format!("{head}, {applied} applied"),
        (_, pending) => format!("{head}, {pending} to apply: thrice migrate"),
    });
    output.object(&json!({
        "schema": "thrice.migrate/1",
        "current": info.current,
        "known": info.known,
        "applied": applied,
        "pending": info.pending.iter().map(|(version, what)| json!({ "version": version, "what": what })).collect::<Vec<_>>(),
    }));
    Ok(Exit::Ok)
}
