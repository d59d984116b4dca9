//! `thrice show`: one partition, its runs and the checks of the last one.

use serde_json::{Value, json};
use thrice_core::code::ErrorCode;
use thrice_ledger::{CheckResultRow, RunRow};

use crate::args::{Global, Show};
use crate::commands::ledger::{as_json, code_hash, outcome, who};
use crate::commands::status::{derive, known, statuses, waiting_json, waiting_text};
use crate::exit_code::Exit;
use crate::fault::{Fault, Outcome};
use crate::output::{Output, count};
use crate::project::Project;
use crate::{clock, database, selection};

pub(crate) async fn run(global: &Global, args: &Show, output: Output) -> Outcome<Exit> {
    let project = Project::load(&global.dir)?;
    let as_of = clock::as_of(global.as_of);
    let loaded = project.pipeline(&args.pipeline)?;
    let partitions = selection::partitions(loaded, std::slice::from_ref(&args.key), None, None, as_of)?;
    let [partition] = partitions.as_slice() else {
        return Err(Fault::new(
            ErrorCode::BadKey,
            format!("{} names {} intervals; one is shown at a time", args.key, partitions.len()),
        )
        .fix(format!("thrice status {} for many", args.pipeline))
        .into());
    };
    let database = database::find(global, Some(&project), output).await?;
    let ledger = database::ledger(&database).await?;
    let seen = statuses(&ledger, loaded, as_of).await?.remove(&partition.interval.start());
    let detail = match known(&ledger, loaded).await? {
        Some(row) => ledger.partition_detail(row.pipeline_id, row.interval_epoch, partition.interval.start()).await?,
        None => None,
    };
    let seen = seen.unwrap_or_else(|| derive(loaded, partition, None, as_of));
    let Some(detail) = detail else {
        output.line(format!("{}  {}   never run", partition.key, seen.status.as_str()));
        output.line(format!("  {}", selection::span_text(loaded, partition)));
        output.lines(waiting_text(loaded, seen.status));
        output.object(json!({
            "schema": "thrice.show/1", "interval": selection::interval_json(loaded, partition),
            "status": seen.status.as_str(), "waiting": waiting_json(loaded, seen.status), "flags": [], "runs": [],
        }));
        return Ok(Exit::Ok);
    };
    let state = &detail.partition;
    let mut head = vec![partition.key.to_string(), seen.status.as_str().to_owned()];
    if let (Some(rows), Some(checksum)) = (state.row_count, &state.checksum) {
        head.push(count(rows, "row"));
        head.push(checksum.clone());
    }
    head.extend(seen.flags.iter().map(|flag| flag.as_str().to_owned()));
    output.line(head.join("   "));
    output.line(format!("  {}", selection::span_text(loaded, partition)));
    output.lines(waiting_text(loaded, seen.status));
    for run in detail.runs.iter().rev() {
        output.lines(run_lines(run));
    }
    output.lines(detail.last_checks.iter().map(check_line));
    output.object(json!({
        "schema": "thrice.show/1",
        "interval": selection::interval_json(loaded, partition),
        "status": seen.status.as_str(),
        "waiting": waiting_json(loaded, seen.status),
        "flags": seen.flags.iter().map(|flag| flag.as_str()).collect::<Vec<_>>(),
        "rows": state.row_count,
        "checksum": state.checksum,
        "version": state.version,
        "token": state.token,
        "published_at": state.published_at.map(|at| at.to_string()),
        "retry_at": state.retry_at.map(|at| at.to_string()),
        "runs": detail.runs.iter().map(as_json).collect::<Vec<_>>(),
        "checks": detail.last_checks.iter().map(|check| json!({
            "name": check.check_name, "phase": check.phase, "severity": check.severity, "passed": check.passed,
            "observed": check.observed, "expected": check.expected,
        })).collect::<Vec<_>>(),
    }));
    Ok(Exit::Ok)
}

/// One run, and why it failed.
fn run_lines(run: &RunRow) -> Vec<String> {
    let mut parts = vec![
        format!(" #{} {}", run.attempt_no, outcome(run)),
        run.started_at.strftime("%Y-%m-%d %H:%M:%SZ").to_string(),
        run.trigger.clone(),
        format!("by {}", who(&run.actor)),
    ];
    if let (Some(inserted), Some(deleted)) = (run.rows_inserted, run.rows_deleted) {
        let updated = run.rows_updated.filter(|updated| *updated > 0);
        let changed = updated.map_or_else(String::new, |updated| format!("~{updated} "));
        parts.push(format!("+{inserted} {changed}-{deleted}"));
    }
    parts.extend(code_hash(run).map(|hash| format!("code {}", hash.chars().take(8).collect::<String>())));
    parts.extend(run.failure_class.clone());
    parts.extend(run.error_code.clone());
    parts.extend(run.reason.as_ref().map(|reason| format!("\"{reason}\"")));
    let compared = run.comparison.as_ref().and_then(compared_line);
    let message = run.error_message.as_ref().map(|message| format!("    {message}"));
    let kept = run.history_expires_at.map(|until| {
        let until = until.strftime("%Y-%m-%d %H:%M:%SZ");
        format!("    what it replaced is kept until {until}: thrice rollback")
    });
    std::iter::once(parts.join("  ")).chain(compared).chain(kept).chain(message).collect()
}

/// `    100 → 101 rows   keys +1 ~3 -0 =97   total 12.00 → 13.50`: what a publish replaced, as its receipt says.
pub(crate) fn compared_line(comparison: &Value) -> Option<String> {
    let number = |of: &str, name: &str| comparison[of][name].as_i64();
    let mut parts = vec![format!("{} → {} rows", number("rows", "before")?, number("rows", "after")?)];
    if let (Some(added), Some(changed), Some(removed), Some(equal)) =
        (number("keys", "added"), number("keys", "changed"), number("keys", "removed"), number("keys", "equal"))
    {
        parts.push(format!("keys +{added} ~{changed} -{removed} ={equal}"));
    }
    let word = |side: &Value| side.as_str().unwrap_or("null").to_owned();
    for (column, sums) in comparison["sums"].as_object()? {
        if sums["before"] != sums["after"] {
            parts.push(format!("{column} {} → {}", word(&sums["before"]), word(&sums["after"])));
        }
    }
    Some(format!("    {}", parts.join("   ")))
}

fn check_line(check: &CheckResultRow) -> String {
    let mark = match (check.passed, check.severity.as_str()) {
        (true, _) => "ok  ",
        (false, "warn") => "warn",
        (false, _) => "FAIL",
    };
    format!("  {mark} {}  {}", check.check_name, check.observed.as_deref().unwrap_or("-"))
}
