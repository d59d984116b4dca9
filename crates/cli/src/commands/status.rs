//! `thrice status`: the calendar of a pipeline, and the gate `--require published`.

mod calendar;
mod history;

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};
use thrice_core::code::ErrorCode;
use thrice_core::failure_class::FailureClass;
use thrice_core::grain::Grain;
use thrice_core::late_policy::Published;
use thrice_core::partition_status::{PartitionFacts, PartitionFlag, PartitionStatus, Waiting};
use thrice_core::run_state::RunState;
use thrice_core::schedule::Partition;
use thrice_core::time::Timestamp;
use thrice_ledger::{ErrorKind, Ledger, PartitionRow, PipelineCut};

use self::calendar::calendar;
use self::history::{History, InAll};
use crate::args::{Global, Require, Status};
use crate::cut::is_of_file;
use crate::exit_code::Exit;
use crate::fault::{Fault, Outcome};
use crate::output::Output;
use crate::project::{Loaded, Project};
use crate::{clock, database, selection};

/// A partition as status and run see it.
#[derive(Debug, Clone)]
pub(crate) struct Seen {
    pub(crate) key: String,
    pub(crate) status: PartitionStatus,
    pub(crate) flags: Vec<PartitionFlag>,
    pub(crate) attempt_no: Option<i32>,
    pub(crate) rows: Option<i64>,
    /// It failed for good, by other code than today's: that one gets its own chance.
    pub(crate) failed_with_other_code: bool,
    /// What the late-data policy has to know of it, where it is published.
    pub(crate) published: Option<Published>,
    /// The ledger has it as closed; it may be so by the policy alone.
    pub(crate) marked_closed: bool,
    /// How its last run failed, where that stands in the way of another one that nobody asks for.
    pub(crate) failed_over_published: Option<FailedRun>,
}

/// The last run of a partition, which failed.
#[derive(Debug, Clone, Copy)]
pub(crate) struct FailedRun {
    pub(crate) class: Option<FailureClass>,
}

pub(crate) async fn run(global: &Global, args: &Status, output: Output) -> Outcome<Exit> {
    let project = Project::load(&global.dir)?;
    let as_of = clock::as_of(global.as_of);
    let pipelines = project.chosen(args.pipeline.as_slice())?;
    let mut ranges = Vec::new();
    for loaded in &pipelines {
        ranges.push(range(loaded, args, as_of)?);
    }
    let database = database::find(global, Some(&project), output).await?;
    let ledger = database::ledger(&database).await?;
    let (mut objects, mut unmet, mut required) = (Vec::new(), Vec::new(), 0);
    for (loaded, partitions) in pipelines.iter().zip(ranges) {
        let mut history = History::load(&ledger, loaded, as_of).await?;
        tell_other_cut(&ledger, loaded, output).await?;
        let partitions = partitions.unwrap_or_else(|| last_weeks(loaded, &history, as_of));
        let seen = history.show(&ledger, loaded, partitions, as_of).await?;
        if seen.is_empty() {
            unmet.push(format!("{} has no partition in the range", loaded.job.name));
        }
        required += seen.len();
        unmet.extend(
            seen.iter()
                .filter(|(_, seen)| !meets(args.require, seen.status))
                .map(|(partition, seen)| format!("{} {} is {}", loaded.job.name, partition.key, seen.status.as_str())),
        );
        let all = history.in_all(loaded, as_of);
        output.lines(calendar(loaded, &seen, &history, &all, output));
        objects.push(object(loaded, &seen, &history, &all));
    }
    let unmet = unmet_requirement(args.require, required, &unmet);
    let exit = unmet.as_ref().map_or(Exit::Ok, |fault| fault.exit);
    output.object(json!({
        "schema": "thrice.status/1", "pipelines": objects,
        "required": args.require.map(Require::word), "met": unmet.is_none(), "exit": exit.number(),
    }));
    if let Some(fault) = unmet {
        output.fault(&fault);
    }
    Ok(exit)
}

/// Whether a partition meets what is required; unasked, that it is published.
const fn meets(required: Option<Require>, status: PartitionStatus) -> bool {
    match required {
        Some(Require::Final) => matches!(status, PartitionStatus::Final | PartitionStatus::Closed),
        Some(Require::Published) | None => status.is_published(),
    }
}

/// What `--require` found. A range that holds nothing meets no requirement: most often it is not the one that was meant.
fn unmet_requirement(asked: Option<Require>, required: usize, unmet: &[String]) -> Option<Fault> {
    let asked = asked?;
    if unmet.is_empty() && required > 0 {
        return None;
    }
    if required == 0 {
        let what = "there is nothing to check: the range holds no partition of what was asked for";
        return Some(
            Fault::new(ErrorCode::RequirementNotMet, what)
                .why("a gate that opens on nothing would open on a mistyped range")
                .fix("name a range between the pipeline's start and its newest interval"),
        );
    }
    let more = (unmet.len() > 5).then(|| format!("and {} more", unmet.len() - 5));
    let told: Vec<String> = unmet.iter().take(5).cloned().chain(more).collect();
    let what = format!("{} of {required} not {}: {}", unmet.len(), asked.word(), told.join(", "));
    Some(Fault::new(ErrorCode::RequirementNotMet, what).fix("thrice run; then look at those that failed"))
}

/// Says why nothing is published where the pipeline has published into another table, or by another cut of time.
pub(crate) async fn tell_other_cut(ledger: &Ledger, loaded: &Loaded, output: Output) -> Outcome<()> {
    match thrice_runner::may_register(ledger, &loaded.job).await {
        Err(error) if matches!(error.kind(), ErrorKind::TargetChanged { .. } | ErrorKind::IntervalsChanged { .. }) => {
            let mut fault = Fault::of_problem(&thrice_runner::problem_of_ledger(&error));
            fault.warning = true;
            output.fault(&fault);
            Ok(())
        }
        // definitions are not for everybody who may look
        Err(error) if !matches!(error.kind(), ErrorKind::TargetTaken { .. } | ErrorKind::Permission) => {
            Err(error.into())
        }
        _ => Ok(()),
    }
}

/// The calendar of the last weeks.
pub(crate) async fn lines_of(
    ledger: &Ledger,
    loaded: &Loaded,
    as_of: Timestamp,
    output: Output,
) -> Outcome<Vec<String>> {
    let mut history = History::load(ledger, loaded, as_of).await?;
    let seen = history.show(ledger, loaded, last_weeks(loaded, &history, as_of), as_of).await?;
    Ok(calendar(loaded, &seen, &history, &history.in_all(loaded, as_of), output))
}

/// The range that was asked for; `None`: none was.
fn range(loaded: &Loaded, args: &Status, as_of: Timestamp) -> Outcome<Option<Vec<Partition>>> {
    if let Some(month) = &args.month {
        return selection::partitions(loaded, std::slice::from_ref(month), None, None, as_of).map(Some);
    }
    if args.from.is_some() || args.to.is_some() {
        return selection::partitions(loaded, &[], args.from.as_deref(), args.to.as_deref(), as_of).map(Some);
    }
    Ok(None)
}

/// What is shown unasked: the last weeks that have ended. Where all that the ledger knows is older, the weeks up to its
/// newest partition: a calendar of nothing but gaps says less than the one they follow.
fn last_weeks(loaded: &Loaded, history: &History, as_of: Timestamp) -> Vec<Partition> {
    if let Some(table) = selection::whole_table(loaded) {
        return table;
    }
    let schedule = &loaded.job.schedule;
    let back = match schedule.grain() {
        Grain::Hour => 48,
        Grain::Day | _ => 42,
    };
    let ended = |last: Option<Partition>| -> Vec<Partition> {
        let mut partitions: Vec<Partition> =
            std::iter::successors(last, |partition| schedule.previous(partition)).take(back).collect();
        partitions.reverse();
        partitions
    };
    let end = loaded.due.end.map_or(as_of, |end| end.min(as_of));
    let latest = ended(schedule.latest_complete(end));
    match (latest.first(), history.newest(loaded)) {
        (Some(first), Some(newest)) if newest < first.interval.start() => ended(schedule.partition_at(newest)),
        _ => latest,
    }
}

/// What the ledger knows of the pipeline, where it is about the table and the cut of time that the file names: a receipt
/// counts for one table, and for one interval.
pub(crate) async fn known(ledger: &Ledger, loaded: &Loaded) -> Outcome<Option<PipelineCut>> {
    let row = ledger.cut_of_pipeline(&loaded.job.name).await?;
    Ok(row.filter(|row| row.target == loaded.job.target.to_string() && is_of_file(row, loaded)))
}

/// What the ledger knows of a pipeline whose published partitions stand as they are: of those only where they begin, in
/// their order.
pub(crate) async fn settled_and_not(
    ledger: &Ledger,
    loaded: &Loaded,
    as_of: Timestamp,
) -> Outcome<(Vec<Timestamp>, BTreeMap<Timestamp, Seen>)> {
    let Some(cut) = known(ledger, loaded).await? else { return Ok(Default::default()) };
    let published = ledger.published_starts(&cut, loaded.due.start).await?;
    let rows = ledger.unsettled(&cut, loaded.due.start).await?;
    Ok((published, seen(ledger, loaded, &cut, rows, as_of).await?))
}

/// Every partition that the ledger knows of the pipeline, by the start of its interval.
pub(crate) async fn statuses(ledger: &Ledger, loaded: &Loaded, as_of: Timestamp) -> Outcome<BTreeMap<Timestamp, Seen>> {
    let Some(cut) = known(ledger, loaded).await? else { return Ok(BTreeMap::new()) };
    let (from, to) = (loaded.due.start, Timestamp::from_second(253_370_764_800).unwrap_or(Timestamp::MAX));
    let rows = ledger.partitions(cut.pipeline_id, cut.interval_epoch, from, to).await?;
    seen(ledger, loaded, &cut, rows, as_of).await
}

async fn seen(
    ledger: &Ledger,
    loaded: &Loaded,
    cut: &PipelineCut,
    rows: Vec<PartitionRow>,
    as_of: Timestamp,
) -> Outcome<BTreeMap<Timestamp, Seen>> {
    if rows.is_empty() {
        return Ok(BTreeMap::new());
    }
    let reopened = reopened(ledger, loaded, cut).await?;
    let mut seen = BTreeMap::new();
    for row in rows {
        if let Some(partition) = loaded.job.schedule.partition_at(row.interval_start) {
            let reopened = reopened.contains(&row.interval_start);
            seen.insert(row.interval_start, derive(loaded, &partition, Some((&row, reopened)), as_of));
        }
    }
    Ok(seen)
}

/// The status of one partition, of which the ledger may know nothing.
pub(crate) fn derive(
    loaded: &Loaded,
    partition: &Partition,
    row: Option<(&PartitionRow, bool)>,
    as_of: Timestamp,
) -> Seen {
    let facts = row.map(|(row, reopened)| facts(loaded, partition, row, reopened, as_of)).unwrap_or_default();
    let published = row.and_then(|(row, reopened)| published(loaded, partition, row, reopened));
    let row = row.map(|(row, _)| row);
    let status = PartitionStatus::derive(&facts, loaded.due.check(partition, as_of), as_of);
    let other_code = |hash: Option<&Vec<u8>>| hash.is_some_and(|hash| *hash != loaded.job.code_hash);
    Seen {
        key: partition.key.as_str().to_owned(),
        status,
        flags: PartitionStatus::flags(&facts),
        attempt_no: row.and_then(|row| row.last_attempt_no),
        rows: row.and_then(|row| row.row_count),
        failed_with_other_code: matches!(status, PartitionStatus::Failed(_))
            && other_code(row.and_then(|row| row.last_code_hash.as_ref())),
        published,
        marked_closed: facts.closed,
        failed_over_published: failed_over_published(&facts, as_of)
            .filter(|_| !other_code(row.and_then(|row| row.last_code_hash.as_ref()))),
    }
}

/// The class of the last run of a published partition, where it failed and nothing says that it is tried again now.
fn failed_over_published(facts: &PartitionFacts, as_of: Timestamp) -> Option<FailedRun> {
    let Some((RunState::Failed, class)) = facts.last_run.filter(|_| facts.published) else { return None };
    let again = match facts.retry_at {
        Some(at) => at <= as_of,
        None => class == Some(FailureClass::Abandoned),
    };
    (!again).then_some(FailedRun { class })
}

/// What the late-data policy has to know of a published partition.
fn published(loaded: &Loaded, partition: &Partition, row: &PartitionRow, reopened: bool) -> Option<Published> {
    row.data_attempt_id?;
    let job = &loaded.job;
    // a receipt from before the policy: what its run would have been
    let by_time = || {
        let at = row.published_at.unwrap_or(Timestamp::MIN);
        job.late.reached(&job.schedule, &job.due, partition, at)
    };
    let reached = row.revisit.and_then(|revisit| u32::try_from(revisit).ok());
    let reached = reached.unwrap_or_else(|| if job.late.revisits().is_empty() { 0 } else { by_time() });
    Some(Published { reached, closed: row.closed_at.is_some(), reopened, before_policy: row.revisit.is_none() })
}

/// The starts of partitions that were reopened since their last receipt, where the policy asks for them.
pub(crate) async fn reopened(ledger: &Ledger, loaded: &Loaded, cut: &PipelineCut) -> Outcome<BTreeSet<Timestamp>> {
    if loaded.job.late.close_after().is_none() {
        return Ok(BTreeSet::new());
    }
    Ok(ledger.reopened(cut).await?.into_iter().collect())
}

/// What an unpublished partition waits for, and until when, in a sentence.
pub(crate) fn waiting_text(loaded: &Loaded, status: PartitionStatus) -> Option<String> {
    let zone = loaded.job.schedule.zone();
    let (what, until) = waiting(status)?;
    let what = match what {
        "end" => "its interval goes on until",
        "delay" => "due at",
        _ => "tried again by `thrice run` from",
    };
    Some(format!("  {what} {} = {until}", zone.rfc3339(until)))
}

/// The same for `--json`.
pub(crate) fn waiting_json(loaded: &Loaded, status: PartitionStatus) -> Value {
    waiting(status)
        .map_or(Value::Null, |(what, until)| json!({ "for": what, "until": loaded.job.schedule.zone().rfc3339(until) }))
}

const fn waiting(status: PartitionStatus) -> Option<(&'static str, Timestamp)> {
    let PartitionStatus::Waiting(reason) = status else { return None };
    match reason {
        Waiting::End(at) => Some(("end", at)),
        Waiting::Delay(at) => Some(("delay", at)),
        Waiting::Retry(at) => Some(("retry", at)),
    }
}

/// What the ledger says of a partition, as its status is derived from it.
pub(crate) fn facts(
    loaded: &Loaded,
    partition: &Partition,
    row: &PartitionRow,
    reopened: bool,
    as_of: Timestamp,
) -> PartitionFacts {
    let job = &loaded.job;
    let state = row.last_status.as_deref().and_then(|word| word.parse::<RunState>().ok());
    let class = row.last_failure_class.as_deref().and_then(|word| word.parse::<FailureClass>().ok());
    PartitionFacts {
        published: row.data_attempt_id.is_some(),
        row_count: row.row_count,
        other_code: row.receipt_code_hash.as_ref().is_some_and(|hash| *hash != loaded.job.code_hash),
        closed: row.closed_at.is_some(),
        claimed: row.claimed_by.is_some(),
        last_run: state.map(|state| (state, class)),
        retry_at: row.retry_at,
        maturity: published(loaded, partition, row, reopened)
            .map(|published| job.late.maturity(&job.schedule, &job.due, partition, published, as_of)),
    }
}

fn object(loaded: &Loaded, seen: &[(Partition, Seen)], history: &History, all: &InAll) -> Value {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for (_, seen) in seen {
        *counts.entry(seen.status.as_str()).or_default() += 1;
    }
    let (fresh, newest) = history.fresh_to(loaded);
    json!({
        "name": loaded.job.name,
        "zone": loaded.job.schedule.zone().name(),
        "grain": loaded.job.schedule.grain().to_string(),
        "paused": loaded.paused,
        "fresh_to": fresh,
        "newest": newest,
        "counts": counts,
        "in_all": { "failed": all.failed, "missing": all.missing, "newest_missing": all.newest_missing },
        "partitions": seen.iter().map(|(partition, seen)| json!({
            "key": seen.key,
            "interval": selection::interval_json(loaded, partition),
            "status": seen.status.as_str(),
            "waiting": waiting_json(loaded, seen.status),
            "flags": seen.flags.iter().map(|flag| flag.as_str()).collect::<Vec<_>>(),
            "attempt_no": seen.attempt_no,
            "rows": seen.rows,
        })).collect::<Vec<_>>(),
    })
}
