//! Which partitions a call may take: what is due, what is left to people, what would be a backfill.

use std::collections::{BTreeMap, BTreeSet};

use thrice_core::code::ErrorCode;
use thrice_core::failure_class::FailureClass;
use thrice_core::partition_status::PartitionStatus;
use thrice_core::revisits_to_run::RevisitsToRun;
use thrice_core::schedule::Partition;
use thrice_core::time::Timestamp;
use thrice_ledger::Ledger;

use crate::commands::status::{Seen, known, settled_and_not, statuses};
use crate::exit_code::Exit;
use crate::fault::{Fault, Outcome};
use crate::output::Output;
use crate::project::Loaded;

/// More published partitions than this in one call are a backfill.
const MOST_PUBLISHED: usize = 7;

/// What `run` takes by itself, and what it leaves to a person.
pub(super) struct Due {
    /// Due and without an end, newest first, within the catch-up.
    pub(super) partitions: Vec<Partition>,
    /// How many more are due beyond it.
    pub(super) beyond: usize,
    /// Failed for good: class and key, newest first.
    pub(super) left: Vec<(Exit, String)>,
    /// Of `partitions`: the starts of those that are published and made again for late rows.
    pub(super) revisits: BTreeSet<Timestamp>,
    /// Starts of partitions that the late-data policy says are closed, and the ledger does not.
    pub(super) over: Vec<Timestamp>,
}

pub(super) async fn due(ledger: &Ledger, loaded: &Loaded, as_of: Timestamp) -> Outcome<Due> {
    if loaded.job.late.revisits().is_empty() && loaded.job.late.close_after().is_none() {
        return due_once(ledger, loaded, as_of).await;
    }
    let statuses = statuses(ledger, loaded, as_of).await?;
    let (mut partitions, mut beyond) = to_run_and_beyond(loaded, &statuses, as_of);
    let late = late(loaded, &statuses, as_of);
    let left = left(&statuses, &late.failed);
    let revisits = late.to_run.partitions.iter().map(|partition| partition.interval.start()).collect();
    partitions.extend(late.to_run.partitions);
    partitions.sort_by_key(|partition| std::cmp::Reverse(partition.interval.start()));
    beyond += late.to_run.beyond;
    let over = over(&statuses);
    Ok(Due { partitions, beyond, left, revisits, over })
}

/// The same for a pipeline whose published partitions stand as they are.
async fn due_once(ledger: &Ledger, loaded: &Loaded, as_of: Timestamp) -> Outcome<Due> {
    let (published, others) = settled_and_not(ledger, loaded, as_of).await?;
    let (partitions, beyond) = loaded.due.to_run_and_beyond(&loaded.job.schedule, as_of, |start| {
        published.binary_search(&start).is_ok() || others.get(&start).is_some_and(is_settled)
    });
    let left = left(&others, &BTreeSet::new());
    Ok(Due { partitions, beyond, left, revisits: BTreeSet::new(), over: over(&others) })
}

/// Partitions that failed for good, newest first. `late`: keys of published ones whose revisit did.
fn left(statuses: &BTreeMap<Timestamp, Seen>, late: &BTreeSet<String>) -> Vec<(Exit, String)> {
    let left = statuses.values().rev().filter_map(|seen| {
        let class = match (seen.status, seen.failed_over_published) {
            (PartitionStatus::Failed(class), _) if !seen.failed_with_other_code => class,
            // only where a revisit would run: a published partition that somebody failed to recompute stands as it is
            (_, Some(run)) if late.contains(&seen.key) => run.class,
            _ => return None,
        };
        Some((of_class(class), seen.key.clone()))
    });
    left.collect()
}

/// Revisits of published partitions.
struct Late {
    to_run: RevisitsToRun,
    /// Keys of those whose last run failed for good.
    failed: BTreeSet<String>,
}

fn late(loaded: &Loaded, statuses: &BTreeMap<Timestamp, Seen>, as_of: Timestamp) -> Late {
    let (job, mut failed) = (&loaded.job, BTreeSet::new());
    if job.late.revisits().is_empty() {
        return Late { to_run: RevisitsToRun::default(), failed };
    }
    let published: Vec<(Partition, &Seen)> = statuses
        .iter()
        .filter(|(_, seen)| seen.published.is_some())
        .filter_map(|(start, seen)| Some((job.schedule.partition_at(*start)?, seen)))
        .collect();
    let facts = |seen: &Seen| seen.published.unwrap_or_default();
    let mut to_run = job.late.revisits_to_run(
        &job.schedule,
        &job.due,
        as_of,
        published.iter().map(|(partition, seen)| (partition, facts(seen))),
    );
    to_run.partitions.retain(|partition| {
        let seen = statuses.get(&partition.interval.start());
        let stands_in_the_way = seen.is_some_and(|seen| seen.failed_over_published.is_some());
        if stands_in_the_way {
            failed.extend(seen.map(|seen| seen.key.clone()));
        }
        !stands_in_the_way
    });
    Late { to_run, failed }
}

/// Partitions whose last correction is made and whose time is over, for the ledger to close.
pub(super) fn over(statuses: &BTreeMap<Timestamp, Seen>) -> Vec<Timestamp> {
    let is_over = |seen: &Seen| seen.status == PartitionStatus::Closed && !seen.marked_closed;
    statuses.iter().filter(|(_, seen)| is_over(seen)).map(|(start, _)| *start).collect()
}

/// The partitions that `run` takes by itself, newest first.
pub(crate) fn to_run(loaded: &Loaded, statuses: &BTreeMap<Timestamp, Seen>, as_of: Timestamp) -> Vec<Partition> {
    let mut partitions = to_run_and_beyond(loaded, statuses, as_of).0;
    partitions.extend(late(loaded, statuses, as_of).to_run.partitions);
    partitions
}

/// The same, and how many more are due beyond the catch-up.
fn to_run_and_beyond(
    loaded: &Loaded,
    statuses: &BTreeMap<Timestamp, Seen>,
    as_of: Timestamp,
) -> (Vec<Partition>, usize) {
    loaded.due.to_run_and_beyond(&loaded.job.schedule, as_of, |start| statuses.get(&start).is_some_and(is_settled))
}

/// An open outcome, or the claim of a worker that may be dead, is not: running it asks the ledger first. Other code than
/// the one that failed gets its own chance.
fn is_settled(seen: &Seen) -> bool {
    seen.status.is_settled() && seen.status != PartitionStatus::Running && !seen.failed_with_other_code
}

const fn of_class(class: Option<FailureClass>) -> Exit {
    match class {
        Some(FailureClass::Check) => Exit::Checks,
        Some(FailureClass::Guard) => Exit::Refused,
        Some(FailureClass::Transient | FailureClass::Abandoned | FailureClass::Fenced) => Exit::Unavailable,
        Some(FailureClass::Permanent | FailureClass::Timeout | FailureClass::Cancelled) | None => Exit::Sql,
    }
}

pub(super) fn tell_left(loaded: &Loaded, left: &[(Exit, String)], output: Output) {
    let keys: Vec<&str> = left.iter().take(5).map(|(_, key)| key.as_str()).collect();
    if !keys.is_empty() {
        let more = if left.len() > keys.len() { ", .." } else { "" };
        let name = &loaded.job.name;
        output.note(format!("{name}: {} failed for good and is left to you: {}{more}", left.len(), keys.join(", ")));
        output.note(format!("look: thrice show {name} {0}   again: thrice run {name} {0}", keys[0]));
    }
}

pub(super) async fn refuse_backfill(ledger: &Ledger, loaded: &Loaded, partitions: &[Partition]) -> Outcome<()> {
    if partitions.len() <= MOST_PUBLISHED {
        return Ok(());
    }
    let (Some(first), Some(last)) = (partitions.first(), partitions.last()) else { return Ok(()) };
    let Some(row) = known(ledger, loaded).await? else { return Ok(()) };
    let rows =
        ledger.partitions(row.pipeline_id, row.interval_epoch, first.interval.start(), last.interval.end()).await?;
    let published = rows
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
