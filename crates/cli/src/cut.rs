//! Whether the partitions of the ledger are cut as the files of the project say.

use thrice_core::time::Timestamp;
use thrice_ledger::{Ledger, LedgerError, PartitionRow, PipelineCut};

use crate::project::Loaded;

/// Grain and zone of the ledger's partitions are those of the file.
pub(crate) fn is_of_file(cut: &PipelineCut, loaded: &Loaded) -> bool {
    let schedule = &loaded.job.schedule;
    cut.grain == schedule.grain().to_string() && cut.time_zone == schedule.zone().name()
}

/// Every partition of a cut that has a receipt, in order.
pub(crate) async fn published(ledger: &Ledger, cut: &PipelineCut) -> Result<Vec<PartitionRow>, LedgerError> {
    let rows = ledger.partitions(cut.pipeline_id, cut.interval_epoch, first_year(), last_year()).await?;
    Ok(rows.into_iter().filter(|row| row.current_attempt_id.is_some()).collect())
}

/// Of partitions that were cut by this grain in this zone: those that begin or end where no interval does any more,
/// because the zone's rules are known otherwise today.
pub(crate) fn moved<'r>(loaded: &Loaded, rows: &'r [PartitionRow]) -> Vec<&'r PartitionRow> {
    let stands = |row: &&PartitionRow| {
        loaded.job.schedule.partition_at(row.interval_start).is_some_and(|partition| {
            (partition.interval.start(), partition.interval.end()) == (row.interval_start, row.interval_end)
        })
    };
    rows.iter().filter(|row| !stands(row)).collect()
}

/// The years 0001 to 9999, which both sides can write.
fn first_year() -> Timestamp {
    Timestamp::from_second(-62_135_596_800).unwrap_or(Timestamp::MIN)
}

fn last_year() -> Timestamp {
    Timestamp::from_second(253_370_764_800).unwrap_or(Timestamp::MAX)
}
