//! `thrice migrate`: creates or updates the ledger.

use serde_json::json;
use thrice_ledger::Ledger;

use crate::args::{Global, Migrate};
use crate::database;
use crate::exit_code::Exit;
use crate::fault::Outcome;
use crate::output::Output;
use crate::project::Project;

pub(crate) async fn run(global: &Global, args: &Migrate, output: Output) -> Outcome<Exit> {
    let project = Project::find(&global.dir)?;
    let database = database::find(global, project.as_ref(), output).await?;
    let ledger = Ledger::open(&database.settings).await?;
    let info = if args.info { ledger.migration_info().await? } else { ledger.migrate().await? };
    let current = info.current.map_or_else(|| "none".to_owned(), |version| version.to_string());
    output.line(match info.pending.len() {
        0 => format!("ledger schema {current} of {}, nothing to do", info.known),
        pending => format!("ledger schema {current} of {}, {pending} to apply: thrice migrate", info.known),
    });
    output.object(&json!({
        "schema": "thrice.migrate/1",
        "current": info.current,
        "known": info.known,
        "pending": info.pending.iter().map(|(version, what)| json!({ "version": version, "what": what })).collect::<Vec<_>>(),
    }));
    Ok(Exit::Ok)
}
