//! `thrice why`: the causes behind a partition's status in sentences, what would change it, and the command to paste.

mod sentences;

use serde_json::{Value, json};
use thrice_core::code::ErrorCode;
use thrice_core::late_policy::Published;
use thrice_core::partition_status::PartitionFacts;
use thrice_core::run_state::RunState;
use thrice_core::schedule::Partition;
use thrice_core::time::Timestamp;
use thrice_core::why::{Cause, FailedRun, Holder, LateData, OpenRun, Question, Receipt, Why};
use thrice_ledger::{ErrorKind, Ledger, PartitionDetail, RunRow};

use self::sentences::{Words, detail};
use crate::args::{Global, Why as Args};
use crate::commands::run::to_run;
use crate::commands::status::{facts, known, statuses, tell_other_cut};
use crate::exit_code::Exit;
use crate::fault::{Fault, Outcome};
use crate::output::Output;
use crate::project::{Loaded, Project};
use crate::{clock, database, selection};

pub(crate) async fn run(global: &Global, args: &Args, output: Output) -> Outcome<Exit> {
    let project = Project::load(&global.dir)?;
    let as_of = clock::as_of(global.as_of);
    let loaded = project.pipeline(&args.pipeline)?;
    let partition = match &args.key {
        Some(key) => named(loaded, key, as_of)?,
        None => newest(loaded, as_of)?,
    };
    let database = database::find(global, Some(&project), output).await?;
    let ledger = database::ledger(&database).await?;
    let why = answer(&ledger, loaded, &partition, as_of).await?;
    tell_other_cut(&ledger, loaded, output).await?;
    // asked about no interval by name, a published one is not the whole answer
    let next = args.key.is_none().then(|| following(loaded, &partition)).flatten();
    let next = next.filter(|_| why.status.is_published());

    let words = Words::of(loaded, &partition);
    output.line(format!("{}  {}   {}", loaded.job.name, partition.key, why.status.as_str()));
    output.line(format!("  {}", selection::span_text(loaded, &partition)));
    output.lines(why.causes.iter().flat_map(|cause| words.sentences(cause)));
    if let Some((next, due_at)) = &next {
        output.line(format!("the next one, {}, is due at {}", next.key, words.instant(*due_at)));
    }
    let advice = words.advice(&why);
    output.lines(advice.lines());
    output.object(json!({
        "schema": "thrice.why/1",
        "pipeline": loaded.job.name,
        "interval": selection::interval_json(loaded, &partition),
        "status": why.status.as_str(),
        "causes": why.causes.iter().map(|cause| cause_json(loaded, cause)).collect::<Vec<_>>(),
        "action": advice.action(),
        "next": next.as_ref().map(|(next, due_at)| json!({
            "key": next.key.as_str(), "due_at": loaded.job.schedule.zone().rfc3339(*due_at),
        })),
    }));
    Ok(Exit::Ok)
}

fn cause_json(loaded: &Loaded, cause: &Cause) -> Value {
    let zone = loaded.job.schedule.zone();
    json!({
        "kind": cause.kind(),
        "detail": detail(zone, cause),
        "until": cause.until().map(|until| zone.rfc3339(until)),
    })
}

fn named(loaded: &Loaded, key: &str, as_of: Timestamp) -> Outcome<Partition> {
    let keys = [key.to_owned()];
    let mut partitions = selection::partitions(loaded, &keys, None, None, as_of)?;
    match (partitions.len(), partitions.pop()) {
        (1, Some(partition)) => Ok(partition),
        (many, _) => {
            let what = format!("{key} names {many} intervals; one is explained at a time");
            Err(Fault::new(ErrorCode::BadKey, what).fix(format!("thrice status {} for many", loaded.job.name)).into())
        }
    }
}

/// The newest partition that is due; where none is yet, the first of the pipeline that is not.
fn newest(loaded: &Loaded, as_of: Timestamp) -> Outcome<Partition> {
    let due = loaded.due.newest_due(&loaded.job.schedule, as_of).next();
    due.or_else(|| loaded.job.schedule.partition_at(loaded.due.start)).ok_or_else(|| {
        Fault::new(ErrorCode::NoIntervals, format!("{} has no intervals", loaded.job.name))
            .fix("move start and end in [interval] apart")
            .into()
    })
}

/// The partition after this one, if the pipeline has it, and when it is due.
fn following(loaded: &Loaded, partition: &Partition) -> Option<(Partition, Timestamp)> {
    let next = loaded.job.schedule.next(partition)?;
    let ends_inside = loaded.due.end.is_none_or(|end| next.interval.end() <= end);
    let due_at = loaded.due.due_at(&next);
    ends_inside.then_some((next, due_at))
}

/// Gathers what the ledger knows and asks for the causes.
pub(crate) async fn answer(ledger: &Ledger, loaded: &Loaded, partition: &Partition, as_of: Timestamp) -> Outcome<Why> {
    let start = partition.interval.start();
    let seen = statuses(ledger, loaded, as_of).await?;
    let within_catch_up = to_run(loaded, &seen, as_of).iter().any(|taken| taken.interval.start() == start);
    let (mut detail, mut holder) = (None, None);
    if let Some(row) = known(ledger, loaded).await? {
        detail = ledger.partition_detail(row.pipeline_id, row.interval_epoch, start).await?;
        holder = match ledger.holder_of(row.pipeline_id, row.interval_epoch, start).await {
            Ok(holder) => holder,
            // who works where is not for everybody who may look
            Err(error) if matches!(error.kind(), ErrorKind::Permission) => None,
            Err(error) => return Err(error.into()),
        };
    }
    let row = detail.as_ref().map(|detail| &detail.partition);
    let published = seen.get(&start).and_then(|seen| seen.published);
    let reopened = published.is_some_and(|published| published.reopened);
    Ok(Why::of(&Question {
        partition,
        policy: &loaded.due,
        as_of,
        facts: row.map_or_else(PartitionFacts::default, |row| facts(loaded, partition, row, reopened, as_of)),
        paused: loaded.paused,
        within_catch_up,
        holder: holder.filter(|holder| holder.worker_id.is_some()).map(|holder| Holder {
            host: holder.host,
            os_pid: holder.os_pid,
            since: holder.claimed_at,
            lease_until: holder.expires_at,
            alive: holder.alive,
        }),
        open_run: detail.as_ref().and_then(open_run),
        failures: detail.as_ref().map(|detail| failures(loaded, detail)).unwrap_or_default(),
        most_tries: loaded.job.retry.attempts,
        receipt: row
            .filter(|row| row.data_attempt_id.is_some())
            .map(|row| Receipt { published_at: row.data_published_at, rows: row.row_count }),
        closed_at: row.and_then(|row| row.closed_at),
        late: published.map(|published| late(loaded, partition, published, as_of)),
    }))
}

fn late(loaded: &Loaded, partition: &Partition, published: Published, as_of: Timestamp) -> LateData {
    let job = &loaded.job;
    LateData {
        due: job.late.revisits_due(&job.schedule, &job.due, partition, published, as_of).last().copied(),
        next: job.late.next_revisit(&job.schedule, &job.due, partition, published, as_of),
        close_after: job.late.close_after(),
    }
}

fn open_run(detail: &PartitionDetail) -> Option<OpenRun> {
    let run = detail.runs.last()?;
    let state: RunState = run.status.parse().ok()?;
    (!state.is_ended()).then_some(OpenRun { attempt_no: run.attempt_no, state, started_at: Some(run.started_at) })
}

/// The failed runs of the current budget, oldest first.
fn failures(loaded: &Loaded, detail: &PartitionDetail) -> Vec<FailedRun> {
    let budget = usize::try_from(detail.partition.attempts_used.max(1)).unwrap_or(1);
    let newest = detail.runs.iter().rev().take(budget).take_while(|run| run.status == RunState::Failed.as_str());
    let mut failures: Vec<FailedRun> = newest.map(|run| failure(loaded, run)).collect();
    failures.reverse();
    failures
}

fn failure(loaded: &Loaded, run: &RunRow) -> FailedRun {
    FailedRun {
        attempt_no: run.attempt_no,
        class: run.failure_class.as_deref().and_then(|word| word.parse().ok()),
        code: run.error_code.as_deref().and_then(ErrorCode::from_id),
        sqlstate: run.sqlstate.clone(),
        message: run.error_message.clone(),
        finished_at: run.finished_at,
        other_code: run.code_hash.as_ref().is_some_and(|hash| *hash != loaded.job.code_hash),
    }
}
