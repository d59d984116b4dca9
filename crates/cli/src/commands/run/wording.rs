//! What `run` says: steps, one line for each partition, the objects of `--json`.

use std::time::Duration;

use serde_json::{Value, json};
use thrice_core::code::ErrorCode;
use thrice_core::failure_class::FailureClass;
use thrice_core::schedule::Partition;
use thrice_runner::{Edited, Outcome as Ended, PartitionReport, Problem, Progress, Step};

use crate::exit_code::Exit;
use crate::fault::Fault;
use crate::output::{Output, count, paint};
use crate::project::Loaded;
use crate::remedy::remedies;
use crate::selection;

/// Steps as lines on standard error.
pub(crate) struct Lines {
    pub(crate) output: Output,
    /// Show every step, not only those that someone waits for.
    pub(crate) show: bool,
}

impl Progress for Lines {
    fn step(&mut self, step: &Step) {
        let text = match step {
            Step::Claimed { taken_over: true } => "took over from a worker that is gone".to_owned(),
            Step::Claimed { taken_over: false } => return,
            Step::Staged { rows, resumed_from: Some(no), .. } => {
                format!("staged     {}   adopted from run #{no}", count(*rows, "row"))
            }
            Step::Staged { rows, took, .. } => format!("staged     {}   {}", count(*rows, "row"), seconds(*took)),
            Step::Checked { passed, total, took } => {
                format!("checks     {passed} of {total} passed   {}", seconds(*took))
            }
            Step::Resolving => "COMMIT was not answered; asking the ledger".to_owned(),
            Step::NotRecorded { problem, error, again: Some(after) } => {
                format!("failed: {}; the ledger cannot be told ({error}), again in {}", problem.what, seconds(*after))
            }
            Step::NotRecorded { problem, error, again: None } => format!(
                "failed: {}; the ledger could not be told ({error}): the next run of the partition ends this one",
                problem.what
            ),
            Step::Retrying { problem, after } => format!("retrying in {}: {}", seconds(*after), problem.what),
        };
        let always =
            matches!(step, Step::Resolving | Step::Retrying { .. } | Step::NotRecorded { .. } | Step::Claimed { .. });
        if self.show || always {
            self.output.note(text);
        }
    }
}

pub(super) fn seconds(time: Duration) -> String {
    format!("{:.1}s", time.as_secs_f64())
}

/// `5 published, 1 failed`: outcomes in the order in which they are good.
pub(super) fn counts(outcomes: &[&str]) -> String {
    ["published", "unchanged", "failed", "refused", "held", "unknown"]
        .into_iter()
        .map(|word| (outcomes.iter().filter(|outcome| **outcome == word).count(), word))
        .filter(|(count, _)| *count > 0)
        .map(|(count, word)| format!("{count} {word}"))
        .collect::<Vec<_>>()
        .join(", ")
}

/// The one line that says what became of a partition.
pub(crate) fn sentence(name: &str, report: &PartitionReport, took: Duration, color: bool) -> String {
    let ansi = if report.outcome.done().is_some() { "32" } else { "31;1" };
    let mut parts =
        vec![name.to_owned(), report.partition.key.to_string(), paint(color, ansi, report.outcome.as_str())];
    match &report.outcome {
        Ended::Published(done) => {
            parts.push(count(done.rows.total, "row"));
            let changed = if done.rows.updated > 0 { format!("~{} ", done.rows.updated) } else { String::new() };
            parts.push(format!("+{} {changed}-{}", done.rows.inserted, done.rows.deleted));
        }
        Ended::Unchanged(done) => {
            parts.push(count(done.rows.total, "row"));
            parts.push("nothing written".to_owned());
        }
        Ended::Failed(problem) | Ended::Refused(problem) | Ended::Held(problem) | Ended::Unknown(problem) => {
            parts.extend(problem.class.map(|class| class.as_str().to_owned()));
            parts.push(problem.code.to_string());
        }
    }
    parts.push(seconds(took));
    let problem = report.outcome.problem();
    let run = report.outcome.done().map(|done| done.attempt_no).or_else(|| problem?.attempt_no);
    parts.extend(run.map(|no| format!("run #{no}")));
    if report.outcome.done().is_some_and(|done| done.resolved) {
        parts.push("(its COMMIT was lost; the receipt was found)".to_owned());
    }
    let again = problem.and_then(|problem| problem.retry_in);
    parts.extend(again.map(|after| format!("tried again by `thrice run` in {}", seconds(after))));
    parts.join("  ")
}

pub(crate) fn item(loaded: &Loaded, report: &PartitionReport, stopped: Option<Exit>) -> Value {
    let interval = selection::interval_json(loaded, &report.partition);
    let failed_attempts: Vec<Value> =
        report.failed_attempts.iter().map(|problem| placed(loaded, &report.partition, problem).json()).collect();
    let mut item = json!({
        "pipeline": loaded.job.name,
        "interval": interval,
        "outcome": report.outcome.as_str(),
        "failed_attempts": failed_attempts,
    });
    let more = match (report.outcome.done(), report.outcome.problem()) {
        (Some(done), _) => json!({
            "attempt_no": done.attempt_no,
            "run_id": done.run_id,
            "failure_class": null,
            "rows": {
                "total": done.rows.total,
                "inserted": done.rows.inserted,
                "updated": done.rows.updated,
                "deleted": done.rows.deleted,
            },
            "comparison": done.comparison,
            "checks": done.checks,
            "checksum": done.checksum,
            "published_at": done.published_at.to_string(),
            "resolved": done.resolved,
            "edited_since_receipt": done.edited_since_receipt.map(|edited| json!({
                "rows_before": edited.rows_before, "receipt_rows": edited.receipt_rows,
            })),
            "resumed_from": done.resumed_from,
            "ms": {
                "claim": millis(done.times.claim), "stage": millis(done.times.stage),
                "check": millis(done.times.check), "publish": millis(done.times.publish),
            },
            "error": null,
        }),
        (None, Some(problem)) => json!({
            "attempt_no": problem.attempt_no,
            "failure_class": problem.class.map(FailureClass::as_str),
            "checks": problem.checks,
            "error": stopped_by(placed(loaded, &report.partition, problem), stopped).json(),
        }),
        (None, None) => json!({}),
    };
    if let (Some(item), Value::Object(more)) = (item.as_object_mut(), more) {
        item.extend(more);
    }
    item
}

/// A problem of a run with its place in the query, and what to do about it as commands to paste.
pub(crate) fn placed(loaded: &Loaded, partition: &Partition, problem: &Problem) -> Fault {
    let mut fault = Fault::of_problem(problem);
    loaded.place(&mut fault, problem.position);
    let remedies = remedies(problem.code, &loaded.job.name, partition.key.as_str());
    if !remedies.is_empty() {
        let told: Vec<String> = remedies.iter().map(|remedy| format!("{}: {}", remedy.lead, remedy.command)).collect();
        fault.fix = Some(told.join("; "));
    }
    fault
}

/// The fault with the exit of the signal that came, where it tells of one.
pub(super) fn stopped_by(mut fault: Fault, stopped: Option<Exit>) -> Fault {
    fault.exit = fault.exit.of_signal(stopped);
    fault
}

/// What a run replaced that it had not written.
pub(crate) fn edited(loaded: &Loaded, partition: &Partition, edited: Edited) -> Fault {
    let Edited { rows_before, receipt_rows } = edited;
    let held = if rows_before == receipt_rows {
        format!("the interval held {}, but not those of its receipt", count(rows_before, "row"))
    } else {
        format!("the interval held {}, and its receipt says {receipt_rows}", count(rows_before, "row"))
    };
    let what = format!("{} {}: {held}; what others changed was replaced", loaded.job.name, partition.key);
    let mut fault = Fault::new(ErrorCode::EditedSinceReceipt, what)
        .why("a run makes the interval what the query gives, and nothing else")
        .fix(format!("let nobody else write into published intervals of {}", loaded.job.target.readable()));
    fault.warning = true;
    fault
}

fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}
