//! What the ledger knows of all partitions of a pipeline, in as few rows as it takes: stretches of published ones, what is
//! unsettled, and every detail of those that are shown.

use std::collections::BTreeMap;

use thrice_core::partition_status::PartitionStatus;
use thrice_core::schedule::Partition;
use thrice_core::time::Timestamp;
use thrice_ledger::{Ledger, PartitionRow, PipelineCut};

use super::{Seen, derive, known, reopened};
use crate::fault::Outcome;
use crate::project::Loaded;

/// A pipeline's history, as far as one instant knows it.
#[derive(Debug, Default)]
pub(super) struct History {
    cut: Option<PipelineCut>,
    /// By the start of its interval.
    seen: BTreeMap<Timestamp, Seen>,
    /// Half-open, in their order; every partition inside is published, and nothing is to be said of it.
    stretches: Vec<(Timestamp, Timestamp)>,
}

/// Of all that is due, shown or not: how many failed or are missing.
#[derive(Debug, Default)]
pub(super) struct InAll {
    pub(super) failed: usize,
    pub(super) missing: usize,
    /// The newest one that is missing.
    pub(super) newest_missing: Option<String>,
}

impl History {
    pub(super) async fn load(ledger: &Ledger, loaded: &Loaded, as_of: Timestamp) -> Outcome<Self> {
        let Some(cut) = known(ledger, loaded).await? else { return Ok(Self::default()) };
        let stretches = ledger.published_stretches(&cut, loaded.due.start).await?;
        let rows = ledger.unsettled(&cut, loaded.due.start).await?;
        let mut history = Self { cut: Some(cut), seen: BTreeMap::new(), stretches };
        history.add(ledger, loaded, rows, as_of).await?;
        Ok(history)
    }

    /// The partitions with their status, those included that the ledger has never heard of.
    pub(super) async fn show(
        &mut self,
        ledger: &Ledger,
        loaded: &Loaded,
        partitions: Vec<Partition>,
        as_of: Timestamp,
    ) -> Outcome<Vec<(Partition, Seen)>> {
        if let (Some(cut), Some(first), Some(last)) = (&self.cut, partitions.first(), partitions.last()) {
            let (from, to) = (first.interval.start().max(loaded.due.start), last.interval.end());
            let rows = ledger.partitions(cut.pipeline_id, cut.interval_epoch, from, to).await?;
            self.add(ledger, loaded, rows, as_of).await?;
        }
        let with_status = |partition: Partition| {
            let seen = self.seen.get(&partition.interval.start()).cloned();
            let seen = seen.unwrap_or_else(|| derive(loaded, &partition, None, as_of));
            (partition, seen)
        };
        Ok(partitions
            .into_iter()
            .map(with_status)
            .filter(|(_, seen)| seen.status != PartitionStatus::Outside)
            .collect())
    }

    async fn add(
        &mut self,
        ledger: &Ledger,
        loaded: &Loaded,
        rows: Vec<PartitionRow>,
        as_of: Timestamp,
    ) -> Outcome<()> {
        let reopened = match &self.cut {
            Some(cut) if !rows.is_empty() => reopened(ledger, loaded, cut).await?,
            _ => return Ok(()),
        };
        for row in rows {
            if let Some(partition) = loaded.job.schedule.partition_at(row.interval_start) {
                let seen = derive(loaded, &partition, Some((&row, reopened.contains(&row.interval_start))), as_of);
                self.seen.insert(row.interval_start, seen);
            }
        }
        Ok(())
    }

    /// The end of the stretch that an instant lies in.
    fn stretch_end(&self, at: Timestamp) -> Option<Timestamp> {
        let before = self.stretches.partition_point(|(start, _)| *start <= at).checked_sub(1)?;
        self.stretches.get(before).map(|(_, end)| *end).filter(|end| at < *end)
    }

    /// The start of the newest partition that the ledger knows.
    pub(super) fn newest(&self, loaded: &Loaded) -> Option<Timestamp> {
        let stretch = self.stretches.last().and_then(|(_, end)| last_before(loaded, *end));
        let in_stretch = stretch.map(|partition| partition.interval.start());
        in_stretch.max(self.seen.last_key_value().map(|(start, _)| *start))
    }

    /// Keys of the last one that is published without a gap from the first partition on, and of the newest published one.
    pub(super) fn fresh_to(&self, loaded: &Loaded) -> (Option<String>, Option<String>) {
        let key = |partition: Partition| partition.key.to_string();
        if *loaded.job.schedule.grain() == thrice_core::grain::Grain::Table {
            let table = self.seen.values().find(|seen| seen.status.is_published()).map(|seen| seen.key.clone());
            return (table.clone(), table);
        }
        let published = |at: &Timestamp| self.seen.get(at).is_some_and(|seen| seen.status.is_published());
        let mut fresh = loaded.due.start;
        loop {
            fresh = match (self.stretch_end(fresh), published(&fresh).then(|| loaded.job.schedule.partition_at(fresh)))
            {
                (Some(end), _) => end,
                (None, Some(Some(partition))) => partition.interval.end(),
                (None, _) => break,
            };
        }
        let newest_seen = self.seen.iter().rev().find(|(_, seen)| seen.status.is_published()).map(|(start, _)| *start);
        let newest_seen = newest_seen.and_then(|start| loaded.job.schedule.partition_at(start));
        let newest_stretch = self.stretches.last().and_then(|(_, end)| last_before(loaded, *end));
        let newest =
            [newest_seen, newest_stretch].into_iter().flatten().max_by_key(|partition| partition.interval.start());
        let fresh = (fresh > loaded.due.start).then(|| last_before(loaded, fresh)).flatten();
        (fresh.map(key), newest.map(key))
    }

    /// Counts what is due; stretches of published partitions are stepped over.
    pub(super) fn in_all(&self, loaded: &Loaded, as_of: Timestamp) -> InAll {
        let mut all = InAll::default();
        let schedule = &loaded.job.schedule;
        let mut at = loaded.due.start;
        loop {
            if let Some(end) = self.stretch_end(at) {
                at = end;
            }
            let Some(partition) = schedule.partition_at(at).filter(|found| loaded.due.check(found, as_of).is_ok())
            else {
                return all;
            };
            let status = self.seen.get(&partition.interval.start()).map(|seen| seen.status);
            match status.unwrap_or_else(|| derive(loaded, &partition, None, as_of).status) {
                PartitionStatus::Failed(_) => all.failed += 1,
                PartitionStatus::Missing => {
                    all.missing += 1;
                    all.newest_missing = Some(partition.key.to_string());
                }
                PartitionStatus::Closed
                | PartitionStatus::Final
                | PartitionStatus::Provisional
                | PartitionStatus::Running
                | PartitionStatus::Waiting(_)
                | PartitionStatus::Outside => {}
            }
            at = partition.interval.end();
        }
    }
}

/// The partition that ends at an instant, or holds the time before it.
fn last_before(loaded: &Loaded, end: Timestamp) -> Option<Partition> {
    let schedule = &loaded.job.schedule;
    schedule.latest_complete(end).filter(|partition| partition.interval.start() >= loaded.due.start)
}
