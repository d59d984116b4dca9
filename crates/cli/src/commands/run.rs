//! `thrice run`: what is due, or the named partitions, one after the other.

use std::time::{Duration, Instant};

use serde_json::{Value, json};
use thrice_core::code::ErrorCode;
use thrice_core::failure_class::FailureClass;
use thrice_core::partition_status::PartitionStatus;
use thrice_core::schedule::Partition;
use thrice_core::time::Timestamp;
use thrice_ledger::Ledger;
use thrice_runner::{
    Outcome as Ended, PartitionReport, Prepared, Problem, Progress, RunRequest, Runner, Step, Trigger,
};

use crate::args::{Global, Run};
use crate::exit_code::Exit;
use crate::fault::{Failed, Fault, Outcome};
use crate::output::{Output, count, paint};
use crate::project::{Loaded, Project};
use crate::signals::Stop;
use crate::{clock, database, selection};

/// More published partitions than this in one call are a backfill.
const MOST_PUBLISHED: usize = 7;
/// How long `--wait` waits for another worker.
const WAIT: Duration = Duration::from_hours(1);

pub(crate) async fn run(global: &Global, args: &Run, output: Output) -> Outcome<Exit> {
    let project = Project::load(&global.dir)?;
    let as_of = clock::as_of(global.as_of);
    let named = !args.keys.is_empty() || args.from.is_some() || args.to.is_some();
    let mut request = request(args, named)?;
    let pipelines = project.chosen(args.pipeline.as_slice())?;
    if named && args.pipeline.is_none() {
        return Err(Fault::new(ErrorCode::BadArgument, "--from and --to need a pipeline")
            .fix("thrice run P --from K --to K")
            .into());
    }
    // what is wrong with the words is told before a database is looked for
    let mut asked = Vec::new();
    for loaded in pipelines {
        let partitions = if named {
            let from = args.from.as_deref();
            Some(selection::partitions(loaded, &args.keys, from, args.to.as_deref(), as_of)?)
        } else {
            None
        };
        if let Some(partitions) = &partitions {
            selection::may_run_all(loaded, partitions, as_of, args.early)?;
        }
        asked.push((loaded, partitions));
    }
    let database = database::find(global, Some(&project), output).await?;
    let ledger = database::ledger(&database).await?;
    let (mut plan, mut left) = (Vec::new(), Vec::new());
    for (loaded, partitions) in asked {
        let partitions = match partitions {
            Some(partitions) => {
                refuse_backfill(&ledger, loaded, &partitions).await?;
                partitions
            }
            None if loaded.paused => {
                output.note(format!("{}: paused", loaded.job.name));
                Vec::new()
            }
            None => {
                let due = due(&ledger, loaded, as_of).await?;
                tell_left(loaded, &due.left, output);
                left.extend(due.left.into_iter().map(|(exit, _)| exit));
                due.partitions
            }
        };
        plan.push((loaded, partitions));
    }
    if args.dry_run {
        return Ok(dry_run(&plan, args, output));
    }
    let stop = Stop::listen();
    request.cancel = stop.token.clone();
    let mut runner = database::runner(&database, ledger, project.lease_ttl, global).await?;
    let mut call = Call {
        output,
        show: global.verbose > 0 || plan.iter().map(|(_, partitions)| partitions.len()).sum::<usize>() == 1,
        begun: Instant::now(),
        items: Vec::new(),
        outcomes: Vec::new(),
        exits: Vec::new(),
        left,
    };
    for (loaded, partitions) in &plan {
        call.pipeline(&mut runner, loaded, partitions, &request, &stop).await;
    }
    if let Err(error) = runner.close().await {
        output.note(format!("warning: {error}"));
    }
    Ok(call.end(args, &stop))
}

fn request(args: &Run, named: bool) -> Outcome<RunRequest> {
    let mut request = RunRequest::new(if named { Trigger::Manual } else { Trigger::Schedule });
    for (given, flag) in [
        (args.overwrite_existing, "--overwrite-existing"),
        (args.accept_drop, "--accept-drop"),
        (args.reopen, "--reopen"),
        (args.early, "--early"),
    ] {
        if given {
            if !named {
                let what = format!("{flag} needs the partitions by name");
                return Err(Fault::new(ErrorCode::BadArgument, what).fix("thrice run P K… --reason \"…\"").into());
            }
            selection::reason_for(flag, args.reason.as_deref())?;
        }
    }
    request.reason = selection::reason(args.reason.as_deref())?;
    request.overwrite_existing = args.overwrite_existing;
    request.accept_drop = args.accept_drop;
    request.reopen = args.reopen;
    request.wait = args.wait.then_some(WAIT);
    Ok(request)
}

/// What `run` takes by itself, and what it leaves to a person.
struct Due {
    /// Due and without an end, newest first, within the catch-up.
    partitions: Vec<Partition>,
    /// Failed for good: class and key, newest first.
    left: Vec<(Exit, String)>,
}

async fn due(ledger: &Ledger, loaded: &Loaded, as_of: Timestamp) -> Outcome<Due> {
    let statuses = crate::commands::status::statuses(ledger, loaded, as_of).await?;
    let partitions = loaded.due.to_run(&loaded.job.schedule, as_of, |start| {
        statuses.get(&start).is_some_and(|seen| {
            // an open outcome, or the claim of a worker that may be dead: running it asks the ledger first;
            // other code than the one that failed gets its own chance
            seen.status.is_settled() && seen.status != PartitionStatus::Running && !seen.failed_with_other_code
        })
    });
    let left = statuses
        .values()
        .rev()
        .filter(|seen| !seen.failed_with_other_code)
        .filter_map(|seen| match seen.status {
            PartitionStatus::Failed(class) => Some((of_class(class), seen.key.clone())),
            _ => None,
        })
        .collect();
    Ok(Due { partitions, left })
}

const fn of_class(class: Option<FailureClass>) -> Exit {
    match class {
        Some(FailureClass::Check) => Exit::Checks,
        Some(FailureClass::Guard) => Exit::Refused,
        Some(FailureClass::Transient | FailureClass::Abandoned | FailureClass::Fenced) => Exit::Unavailable,
        Some(FailureClass::Permanent | FailureClass::Timeout | FailureClass::Cancelled) | None => Exit::Sql,
    }
}

fn tell_left(loaded: &Loaded, left: &[(Exit, String)], output: Output) {
    let keys: Vec<&str> = left.iter().take(5).map(|(_, key)| key.as_str()).collect();
    if !keys.is_empty() {
        let more = if left.len() > keys.len() { ", …" } else { "" };
        let name = &loaded.job.name;
        output.note(format!("{name}: {} failed for good and is left to you: {}{more}", left.len(), keys.join(", ")));
        output.note(format!("look: thrice show {name} {0}   again: thrice run {name} {0}", keys[0]));
    }
}

async fn refuse_backfill(ledger: &Ledger, loaded: &Loaded, partitions: &[Partition]) -> Outcome<()> {
    if partitions.len() <= MOST_PUBLISHED {
        return Ok(());
    }
    let (Some(first), Some(last)) = (partitions.first(), partitions.last()) else { return Ok(()) };
    let Some(row) = ledger.pipeline(&loaded.job.name).await? else { return Ok(()) };
    let known =
        ledger.partitions(row.pipeline_id, row.interval_epoch, first.interval.start(), last.interval.end()).await?;
    let published = known
        .iter()
        .filter(|row| {
            row.data_attempt_id.is_some() && partitions.iter().any(|p| p.interval.start() == row.interval_start)
        })
        .count();
    if published <= MOST_PUBLISHED {
        return Ok(());
    }
    let what = format!(
        "{published} of the {} partitions are published; a call recomputes at most {MOST_PUBLISHED}",
        partitions.len()
    );
    Err(Fault::new(ErrorCode::ThatIsABackfill, what)
        .why("recomputing published partitions in bulk wants a plan, a canary and a way back")
        .fix("name at most 7 partitions in one call; backfills are not built in this version")
        .into())
}

fn dry_run(plan: &[(&Loaded, Vec<Partition>)], args: &Run, output: Output) -> Exit {
    let mut items = Vec::new();
    for (loaded, partitions) in plan {
        for partition in partitions {
            output.line(format!("{}  {}  {}", loaded.job.name, partition.key, selection::span_text(loaded, partition)));
            items.push(json!({ "pipeline": loaded.job.name, "interval": selection::interval_json(loaded, partition) }));
        }
    }
    let exit = if items.is_empty() && args.detailed_exitcode { Exit::Nothing } else { Exit::Ok };
    output.note(format!("{} would run; nothing was written", items.len()));
    output.object(&json!({ "schema": "thrice.run/1", "dry_run": true, "items": items, "exit": exit.number() }));
    exit
}

/// One call: what it has done so far.
struct Call {
    output: Output,
    /// Show each step, not only one line a partition.
    show: bool,
    begun: Instant,
    items: Vec<Value>,
    /// How each partition ended, in a word.
    outcomes: Vec<&'static str>,
    exits: Vec<Exit>,
    /// Partitions that failed for good earlier: they are not run, and the exit tells.
    left: Vec<Exit>,
}

impl Call {
    async fn pipeline(
        &mut self,
        runner: &mut Runner,
        loaded: &Loaded,
        partitions: &[Partition],
        request: &RunRequest,
        stop: &Stop,
    ) {
        let Some(sample) = partitions.first() else { return };
        let prepared = match runner.prepare(loaded.job.clone(), sample, &stop.token).await {
            Ok(prepared) => prepared,
            Err(error) => {
                let failed = crate::commands::lint::placed(loaded, error);
                self.refused(loaded, &failed);
                return;
            }
        };
        for warning in &prepared.warnings {
            if !self.output.quiet {
                self.output.report(&Fault::of_finding(warning).text(self.output.color_err));
            }
        }
        if let Err(problem) = runner.sweep(&prepared, &stop.token).await {
            self.output.note(format!("warning: staging tables were not looked through: {}", problem.what));
        }
        if let (false, [first, .., last]) = (self.show, partitions) {
            let (early, late) = if first.interval.start() < last.interval.start() { (first, last) } else { (last, first) };
            let span = selection::span_of(loaded, early.interval.start(), late.interval.end());
            self.output.note(format!("{}  {} intervals in {span}", loaded.job.name, partitions.len()));
        }
        for partition in partitions {
            if stop.token.is_cancelled() {
                break;
            }
            self.partition(runner, loaded, &prepared, partition, request).await;
        }
    }

    async fn partition(
        &mut self,
        runner: &mut Runner,
        loaded: &Loaded,
        prepared: &Prepared,
        partition: &Partition,
        request: &RunRequest,
    ) {
        let (output, name) = (self.output, &loaded.job.name);
        if self.show {
            output.note(format!("{name}  {}  {}", partition.key, selection::span_text(loaded, partition)));
        }
        let begun = Instant::now();
        let mut lines = Lines { output, show: self.show };
        let report = Box::pin(runner.run_partition(prepared, partition, request, &mut lines)).await;
        self.exits.push(Exit::of_outcome(&report.outcome));
        output.line(sentence(name, &report, begun.elapsed(), output.color));
        if let Some(problem) = report.outcome.problem() {
            let mut fault = placed(loaded, problem);
            fault.what = format!("{name} {}: {}", partition.key, fault.what);
            output.report(&fault.text(output.color_err));
        }
        self.outcomes.push(report.outcome.as_str());
        self.items.push(item(loaded, &report));
    }

    /// A pipeline that cannot be run at all does not stop the others.
    fn refused(&mut self, loaded: &Loaded, failed: &Failed) {
        self.output.note(format!("{}: nothing was run", loaded.job.name));
        for fault in &failed.0 {
            self.output.report(&fault.text(self.output.color_err));
        }
        self.exits.push(failed.exit());
        self.items.push(json!({
            "pipeline": loaded.job.name,
            "interval": null,
            "outcome": "refused",
            "errors": failed.0.iter().map(Fault::json).collect::<Vec<_>>(),
        }));
    }

    fn end(self, args: &Run, stop: &Stop) -> Exit {
        let nothing = self.exits.is_empty();
        let exit = match stop.exit() {
            Some(stopped) => stopped,
            None if nothing && self.left.is_empty() && args.detailed_exitcode => Exit::Nothing,
            None => Exit::worst(self.exits.iter().chain(&self.left).copied()),
        };
        if nothing && stop.exit().is_none() {
            self.output.note("nothing is due");
        } else if self.outcomes.len() > 1 {
            self.output.note(format!("{} in {}", counts(&self.outcomes), seconds(self.begun.elapsed())));
        }
        let causes: std::collections::BTreeSet<u8> = self.exits.iter().map(|exit| exit.number()).collect();
        self.output.object(&json!({
            "schema": "thrice.run/1", "items": self.items, "exit": exit.number(), "causes": causes,
        }));
        exit
    }
}

/// Steps as lines on standard error.
struct Lines {
    output: Output,
    show: bool,
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
            Step::Retrying { problem, after } => format!("retrying in {}: {}", seconds(*after), problem.what),
        };
        let always = matches!(step, Step::Resolving | Step::Retrying { .. } | Step::Claimed { .. });
        if self.show || always {
            self.output.note(text);
        }
    }
}

fn seconds(time: Duration) -> String {
    format!("{:.1}s", time.as_secs_f64())
}

/// `5 published, 1 failed`: outcomes in the order in which they are good.
fn counts(outcomes: &[&str]) -> String {
    ["published", "unchanged", "failed", "refused", "held", "unknown"]
        .into_iter()
        .map(|word| (outcomes.iter().filter(|outcome| **outcome == word).count(), word))
        .filter(|(count, _)| *count > 0)
        .map(|(count, word)| format!("{count} {word}"))
        .collect::<Vec<_>>()
        .join(", ")
}

/// The one line that says what became of a partition.
fn sentence(name: &str, report: &PartitionReport, took: Duration, color: bool) -> String {
    let word = report.outcome.as_str();
    let ansi = if report.outcome.done().is_some() { "32" } else { "31;1" };
    let mut line = format!("{name}  {}  {}", report.partition.key, paint(color, ansi, word));
    if let Some(done) = report.outcome.done() {
        line += &format!("  {}", count(done.rows.total, "row"));
        line += &match &report.outcome {
            Ended::Published(_) => format!("  +{} -{}", done.rows.inserted, done.rows.deleted),
            _ => "  nothing written".to_owned(),
        };
        line += &format!("  {}  run #{}", seconds(took), done.attempt_no);
        if done.resolved {
            line += "  (its COMMIT was lost; the receipt was found)";
        }
    }
    if let Some(problem) = report.outcome.problem() {
        if let Some(class) = problem.class {
            line += &format!("  {}", class.as_str());
        }
        line += &format!("  {}  {}", problem.code, seconds(took));
        if let Some(no) = problem.attempt_no {
            line += &format!("  run #{no}");
        }
        if let Some(after) = problem.retry_in {
            line += &format!("  tried again by `thrice run` in {}", seconds(after));
        }
    }
    line
}

fn item(loaded: &Loaded, report: &PartitionReport) -> Value {
    let interval = selection::interval_json(loaded, &report.partition);
    let failed_attempts: Vec<Value> =
        report.failed_attempts.iter().map(|problem| problem_json(loaded, problem)).collect();
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
            "rows": { "total": done.rows.total, "inserted": done.rows.inserted, "deleted": done.rows.deleted },
            "checks": done.checks,
            "checksum": done.checksum,
            "published_at": done.published_at.to_string(),
            "resolved": done.resolved,
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
            "error": problem_json(loaded, problem),
        }),
        (None, None) => json!({}),
    };
    if let (Some(item), Value::Object(more)) = (item.as_object_mut(), more) {
        item.extend(more);
    }
    item
}

fn problem_json(loaded: &Loaded, problem: &Problem) -> Value {
    placed(loaded, problem).json()
}

/// A problem with its place in the query.
fn placed(loaded: &Loaded, problem: &Problem) -> Fault {
    let mut fault = Fault::of_problem(problem);
    loaded.place(&mut fault, problem.position);
    fault
}

fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}
