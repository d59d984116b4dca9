//! Rows in a target that no receipt accounts for: a first publish over them is refused. Only a few open intervals are
//! looked at, each until its first row and within a time limit.

use std::collections::BTreeSet;
use std::time::Duration;

use thrice_connect::DataConnection;
use thrice_core::code::ErrorCode;
use thrice_core::column_bounds::ColumnBounds;
use thrice_core::schedule::Partition;
use thrice_core::time::Timestamp;
use thrice_ledger::{Ledger, LedgerError};
use thrice_sql_publish::peek;
use thrice_sql_publish::session::{Limit, Timeouts};
use thrice_sql_publish::target::Target;

use super::Patient;
use super::check::Report;
use crate::fault::Failed;
use crate::project::Loaded;

/// So many of the newest open intervals are looked at, and the oldest one.
const NEWEST: usize = 3;
/// Without an index an interval without rows costs a scan of the table.
const LIMIT: Duration = Duration::from_secs(5);

pub(super) async fn check(
    patient: &Patient<'_>,
    connection: &mut DataConnection,
    ledger: &Ledger,
    targets: &[(&Loaded, Target)],
    report: &mut Report,
) {
    for (loaded, target) in targets {
        let open = match open(ledger, loaded, patient.as_of).await {
            Ok(open) => open,
            Err(error) => {
                report.failed("existing_rows", &Failed::from(error));
                continue;
            }
        };
        one(patient, connection, loaded, target, &open, report).await;
    }
}

async fn one(
    patient: &Patient<'_>,
    connection: &mut DataConnection,
    loaded: &Loaded,
    target: &Target,
    open: &[Partition],
    report: &mut Report,
) {
    let (name, table) = (&loaded.job.name, loaded.job.target.readable());
    let timeouts = Timeouts::new(Limit::Explicit(LIMIT));
    let mut holding: Vec<&Partition> = Vec::new();
    for partition in open {
        let (zone, grain) = (loaded.job.schedule.zone(), loaded.job.schedule.grain());
        let Ok(bounds) = ColumnBounds::of(partition, zone, grain, target.interval_column_type()) else { continue };
        match peek::holds_rows(&mut connection.client, target, &bounds, &timeouts, &patient.stop.token).await {
            Ok(true) => holding.push(partition),
            Ok(false) => {}
            Err(error) => {
                let what =
                    format!("{name}: rows without a receipt were not looked for in {table}: {}", error.message());
                return report.skipped("existing_rows", what);
            }
        }
    }
    holding.sort_by_key(|partition| partition.interval.start());
    let (Some(first), Some(last)) = (holding.first(), holding.last()) else {
        let intervals = open.len();
        return report.ok(
            "existing_rows",
            format!("{name}: no rows without a receipt in {table} ({intervals} open intervals looked at)"),
        );
    };
    let keys: Vec<&str> = holding.iter().map(|partition| partition.key.as_str()).collect();
    report.warn(
        "existing_rows",
        ErrorCode::ExistingRows,
        format!(
            "{name}: {table} holds rows that no receipt accounts for, in {} (of {} open intervals looked at)",
            keys.join(", "),
            open.len()
        ),
        format!("thrice adopt {name} --from {} --to {} --reason \"…\"", first.key, last.key),
    );
}

/// The newest intervals that are due and have no receipt, and the oldest one.
async fn open(ledger: &Ledger, loaded: &Loaded, as_of: Timestamp) -> Result<Vec<Partition>, LedgerError> {
    let mut published = BTreeSet::new();
    if let Some(row) = ledger.pipeline(&loaded.job.name).await? {
        let rows = ledger.partitions(row.pipeline_id, row.interval_epoch, loaded.due.start, as_of).await?;
        published.extend(rows.iter().filter(|row| row.data_attempt_id.is_some()).map(|row| row.interval_start));
    }
    let due = loaded.due.all_due(&loaded.job.schedule, as_of);
    let mut open: Vec<Partition> = due.filter(|partition| !published.contains(&partition.interval.start())).collect();
    let newest = open.split_off(open.len().saturating_sub(NEWEST));
    open.truncate(1);
    open.extend(newest);
    Ok(open)
}
