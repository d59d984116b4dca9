//! `thrice migrate`: creates or updates the ledger.

use serde_json::json;
use thrice_connect::ConnectionSettings;
use thrice_core::code::ErrorCode;
use thrice_core::identifier::Identifier;
use thrice_ledger::LedgerError;

use crate::args::{Global, Migrate};
use crate::database;
use crate::exit_code::Exit;
use crate::fault::{Failed, Outcome};
use crate::output::Output;
use crate::project::Project;

pub(crate) async fn run(global: &Global, args: &Migrate, output: Output) -> Outcome<Exit> {
    let project = Project::find(&global.dir)?;
    let database = database::find(global, project.as_ref(), output).await?;
    let ledger = database::open(&database.settings).await?;
    let refused = |error| refused(error, &database.settings);
    let before = ledger.migration_info().await.map_err(refused)?;
    let info = if args.info { before.clone() } else { ledger.migrate().await.map_err(refused)? };
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
    output.object(json!({
        "schema": "thrice.migrate/1",
        "current": info.current,
        "known": info.known,
        "applied": applied,
        "pending": info.pending.iter().map(|(version, what)| json!({ "version": version, "what": what })).collect::<Vec<_>>(),
    }));
    Ok(Exit::Ok)
}

/// A worker's role is no help here: the ledger belongs to whoever makes it.
fn refused(error: LedgerError, settings: &ConnectionSettings) -> Failed {
    let mut failed = Failed::from(error);
    for fault in failed.0.iter_mut().filter(|fault| fault.code == ErrorCode::PrivilegeMissing) {
        let name = |text: &str| Identifier::new(text).map_or_else(|_| text.to_owned(), |name| name.readable());
        let (database, user) = (name(settings.database()), name(settings.user()));
        fault.why = Some("the ledger is made and updated by the owner of its schemas".to_owned());
        fault.fix = Some(format!(
            "thrice migrate as the owner of schema thrice; where there is none yet, as the owner of the database: grant create on database {database} to {user};"
        ));
    }
    failed
}
