//! `thrice ledger`: runs, newest first.

use serde_json::{Value, json};
use thrice_ledger::RunRow;
use unicode_width::UnicodeWidthStr;

use crate::args::{Global, Ledger};
use crate::database;
use crate::exit_code::Exit;
use crate::fault::Outcome;
use crate::output::Output;
use crate::project::Project;

pub(crate) async fn run(global: &Global, args: &Ledger, output: Output) -> Outcome<Exit> {
    let project = Project::find(&global.dir)?;
    if let (Some(project), Some(name)) = (&project, &args.pipeline) {
        project.known_name(name)?;
    }
    let database = database::find(global, project.as_ref(), output).await?;
    let ledger = database::ledger(&database).await?;
    let runs = ledger.runs(args.pipeline.as_deref(), args.since, args.limit).await?;
    output.object(json!({ "schema": "thrice.ledger/1", "runs": runs.iter().map(as_json).collect::<Vec<_>>() }));
    if runs.is_empty() {
        output.note("no runs");
        return Ok(Exit::Ok);
    }
    for line in lines_of(&runs) {
        output.line(line);
    }
    Ok(Exit::Ok)
}

/// Runs as a table.
pub(crate) fn lines_of(runs: &[RunRow]) -> Vec<String> {
    let head = ["run", "pipeline", "key", "outcome", "rows", "trigger", "by", "when", "note"];
    let mut rows = vec![head.map(ToOwned::to_owned)];
    rows.extend(runs.iter().map(cells));
    table(&rows)
}

fn cells(run: &RunRow) -> [String; 9] {
    let note = match (&run.failure_class, &run.error_code) {
        (Some(class), Some(code)) => format!("{class}: {code}"),
        (Some(class), None) => class.clone(),
        (None, _) => run.reason.clone().unwrap_or_default(),
    };
    [
        format!("#{}", run.attempt_no),
        run.pipeline_name.clone(),
        run.interval_key.clone(),
        outcome(run).to_owned(),
        run.row_count.map_or_else(|| "-".to_owned(), |rows| rows.to_string()),
        run.trigger.clone(),
        who(&run.actor),
        run.started_at.strftime("%Y-%m-%d %H:%M:%SZ").to_string(),
        note,
    ]
}

/// What became of a run, in one word: the kind of its receipt, or its state.
pub(crate) fn outcome(run: &RunRow) -> &str {
    match run.receipt_kind.as_deref() {
        Some("publish") => "published",
        Some("adopt") => "adopted",
        Some(kind) => kind,
        None => &run.status,
    }
}

/// The claimed person, else the user of the system, else of the database.
pub(crate) fn who(actor: &Value) -> String {
    ["on_behalf_of", "os_user", "session_user"]
        .iter()
        .find_map(|key| actor.get(key).and_then(Value::as_str))
        .unwrap_or("-")
        .to_owned()
}

/// The code hash of a run. The ledger keeps the bytes of the text that people see.
pub(crate) fn code_hash(run: &RunRow) -> Option<String> {
    run.code_hash.as_deref().map(|hash| String::from_utf8_lossy(hash).into_owned())
}

/// A run as `--json` spells it.
pub(crate) fn as_json(run: &RunRow) -> Value {
    json!({
        "pipeline": run.pipeline_name,
        "key": run.interval_key,
        "attempt_no": run.attempt_no,
        "run_id": run.run_id,
        "status": run.status,
        "outcome": outcome(run),
        "failure_class": run.failure_class,
        "sqlstate": run.sqlstate,
        "error_code": run.error_code,
        "error_message": run.error_message,
        "rows": {
            "total": run.row_count,
            "inserted": run.rows_inserted,
            "updated": run.rows_updated,
            "deleted": run.rows_deleted,
        },
        "comparison": run.comparison,
        "replaced_rows_kept_until": run.history_expires_at.map(|at| at.to_string()),
        "checksum": run.checksum,
        "code_hash": code_hash(run),
        "trigger": run.trigger,
        "actor": run.actor,
        "reason": run.reason,
        "token": run.token,
        "resumed_from": run.resumed_from,
        "started_at": run.started_at.to_string(),
        "finished_at": run.finished_at.map(|at| at.to_string()),
    })
}

/// Columns padded to their widest cell, two spaces apart.
pub(crate) fn table<const N: usize>(rows: &[[String; N]]) -> Vec<String> {
    let mut widths = [0; N];
    for row in rows {
        for (width, cell) in widths.iter_mut().zip(row) {
            *width = (*width).max(cell.width());
        }
    }
    rows.iter()
        .map(|row| {
            let padded = |(cell, width): (&String, usize)| format!("{cell}{}", " ".repeat(width - cell.width()));
            let cells: Vec<String> = row.iter().zip(widths).map(padded).collect();
            cells.join("  ").trim_end().to_owned()
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wide_letters_take_two_columns() {
        let rows = [["#1", "일일_주문", "x"], ["#2", "ab", "y"]].map(|row| row.map(ToOwned::to_owned));
        assert_eq!(table(&rows), ["#1  일일_주문  x", "#2  ab         y"]);
    }
}
