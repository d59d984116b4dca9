//! The cut of time: partitions of the ledger that begin or end where no interval does, by the file or by the time-zone
//! data in use. Reported, never cut anew.

use thrice_core::code::ErrorCode;
use thrice_ledger::{ErrorKind, Ledger, LedgerError, PartitionRow};

use super::Patient;
use super::check::Report;
use crate::cut::{is_of_file, moved, published};
use crate::fault::{Failed, Fault};
use crate::output::count_of;
use crate::project::{Loaded, Project};

/// Hands out the names of the pipelines whose partitions do not fit.
pub(super) async fn check(patient: &Patient<'_>, ledger: &Ledger, report: &mut Report) -> Vec<String> {
    let mut unfit = Vec::new();
    for loaded in patient.project.into_iter().flat_map(Project::readable) {
        match one(ledger, loaded, report).await {
            Ok(true) => {}
            Ok(false) => unfit.push(loaded.job.name.clone()),
            Err(error) => report.failed("cuts", &Failed::from(error)),
        }
    }
    unfit
}

/// Whether what is published is cut as the file says.
async fn one(ledger: &Ledger, loaded: &Loaded, report: &mut Report) -> Result<bool, LedgerError> {
    let name = &loaded.job.name;
    let Some(cut) = ledger.cut_of_pipeline(name).await? else { return Ok(true) };
    let rows = published(ledger, &cut).await?;
    if rows.is_empty() {
        return Ok(true);
    }
    if !is_of_file(&cut, loaded) {
        match thrice_runner::may_register(ledger, &loaded.job).await {
            Err(error) if matches!(error.kind(), ErrorKind::IntervalsChanged { .. }) => {
                report.fault("cuts", &Fault::of_problem(&thrice_runner::problem_of_ledger(&error)), name);
            }
            Err(error) => return Err(error),
            Ok(()) => {}
        }
        return Ok(false);
    }
    let moved = moved(loaded, &rows);
    let Some(first) = moved.first() else {
        let partitions = count_of(rows.len(), "published partition");
        report.ok("cuts", format!("{name}: bounds of {partitions} are those of the time-zone data in use"));
        return Ok(true);
    };
    report.warn(
        "cuts",
        ErrorCode::ZoneDataDiffers,
        format!(
            "{name}: {} of {} are not cut as the time-zone data in use would cut them; first {}",
            moved.len(),
            count_of(rows.len(), "published partition"),
            both(loaded, first)
        ),
        format!(
            "nothing is cut anew by itself. Where this data is too old or wrong: update it. Where it is right: thrice recut {name} --reason \"…\", then adopt"
        ),
    );
    Ok(false)
}

/// A partition as it was cut, and as it would be.
fn both(loaded: &Loaded, row: &PartitionRow) -> String {
    let zone = loaded.job.schedule.zone();
    let span = |start, end| format!("[{}, {})", zone.rfc3339(start), zone.rfc3339(end));
    let now = loaded.job.schedule.partition_at(row.interval_start);
    let now = now.map_or_else(|| "none".to_owned(), |now| span(now.interval.start(), now.interval.end()));
    format!("{} {}, now {now}", row.interval_key, span(row.interval_start, row.interval_end))
}
