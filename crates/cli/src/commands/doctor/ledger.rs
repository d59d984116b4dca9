//! The ledger: what the role may do in it, its version, and outcomes that are still open.

use thrice_core::code::ErrorCode;
use thrice_ledger::{ErrorKind, Ledger, LedgerError};

use super::Patient;
use super::check::Report;
use crate::database;
use crate::fault::Failed;
use crate::output::count;

/// So many open outcomes are told by name.
const MOST_OPEN: i64 = 100;

/// Hands out the ledger where it can be worked with.
pub(super) async fn check(patient: &Patient<'_>, report: &mut Report) -> Option<Ledger> {
    let ledger = match database::open(&patient.database.settings).await {
        Ok(ledger) => ledger,
        Err(failed) => {
            report.failed("ledger", &failed);
            return None;
        }
    };
    match look(patient, &ledger, report).await {
        Ok(true) => Some(ledger),
        Ok(false) => None,
        Err(error) => {
            report.failed("ledger", &Failed::from(error));
            None
        }
    }
}

async fn look(patient: &Patient<'_>, ledger: &Ledger, report: &mut Report) -> Result<bool, LedgerError> {
    // asked of the catalog: a role that may not even read the version is told what it lacks
    let missing = ledger.missing_privileges().await?;
    if !missing.is_empty() {
        let role = patient.database.settings.user();
        let grants = count(i64::try_from(missing.len()).unwrap_or(i64::MAX), "grant");
        let fix = if ledger.has_worker_role().await? {
            format!("grant thrice_worker to \"{}\";", role.replace('"', "\"\""))
        } else {
            missing.join(" ")
        };
        let what = format!("the role {role} lacks {grants} on the ledger to run anything: {}", missing.join(" "));
        report.fail("ledger_privileges", ErrorCode::PrivilegeMissing, what, fix);
        return Ok(false);
    }
    if let Err(error) = ledger.ensure_current().await {
        if patient.database.private && *error.kind() == ErrorKind::Behind {
            report.ok("ledger", "the ledger of the private PostgreSQL is made or updated by the next run");
        } else {
            report.failed("ledger", &Failed::from(error));
        }
        return Ok(false);
    }
    let info = ledger.migration_info().await?;
    let pipelines = count(i64::try_from(ledger.pipelines().await?.len()).unwrap_or(i64::MAX), "pipeline");
    report.ok("ledger", format!("ledger schema {} of {}, {pipelines} in it, no grant missing", info.known, info.known));
    let open = ledger.open_outcomes(MOST_OPEN).await?;
    for run in &open {
        report.warn(
            "open_outcomes",
            ErrorCode::OutcomeUnknown,
            format!(
                "{} {}: run #{}, begun at {}, sent COMMIT and had no answer",
                run.pipeline_name, run.interval_key, run.attempt_no, run.started_at
            ),
            format!("thrice run {} {}", run.pipeline_name, run.interval_key),
        );
    }
    if open.is_empty() {
        report.ok("open_outcomes", "0 open outcomes");
    }
    Ok(true)
}
