//! What dead processes left: claims of workers that are gone, and staging tables that nobody needs. With `--fix` claims
//! are ended by the resolution that a next run would use, and tables are dropped by the rule of the sweep.

use std::collections::BTreeMap;
use std::time::Duration;

use thrice_connect::DataConnection;
use thrice_core::code::ErrorCode;
use thrice_core::retry::RetryPolicy;
use thrice_ledger::{ClaimOf, Ledger, LedgerError, Resolution};
use thrice_runner::Limits;
use thrice_sql_publish::staging;

use super::Patient;
use super::check::Report;
use crate::fault::Failed;
use crate::output::count;

/// How long a claim of the dead is waited for: their publish may still be ending on the server.
const PATIENCE: Duration = Duration::from_secs(10);

pub(super) async fn check(
    patient: &Patient<'_>,
    connection: &mut DataConnection,
    ledger: &Ledger,
    report: &mut Report,
) {
    // claims first: resolution ends runs whose staging tables then belong to nobody
    if let Err(error) = claims(patient, ledger, report).await {
        report.failed("dead_claims", &Failed::from(error));
    }
    if let Err(failed) = tables(patient, connection, ledger, report).await {
        report.failed("staging", &failed);
    }
}

async fn claims(patient: &Patient<'_>, ledger: &Ledger, report: &mut Report) -> Result<(), LedgerError> {
    let dead = ledger.dead_workers().await?;
    let claims = ledger.claims_of(&dead).await?;
    let mut open = 0;
    for claim in &claims {
        let what = describe(claim);
        let ended = if patient.fix { end(patient, ledger, claim).await? } else { Ended::NotTried };
        match ended {
            Ended::Done(how) => report.fixed.push(format!("{what}: {how}")),
            Ended::NotTried => {
                open += 1;
                let fix = format!("thrice run {} {}, or thrice doctor --fix", claim.pipeline_name, claim.interval_key);
                report.warn("dead_claims", ErrorCode::HeldByWorker, what, fix);
            }
            Ended::Open(why) => {
                open += 1;
                let fix = "thrice doctor --fix again, once that has ended";
                report.warn("dead_claims", ErrorCode::OutcomeUnknown, format!("{what}; not freed: {why}"), fix);
            }
        }
    }
    if open == 0 {
        report.ok("dead_claims", "no worker that is gone holds a partition");
    }
    Ok(())
}

fn describe(claim: &ClaimOf) -> String {
    let process = match (&claim.host, claim.os_pid) {
        (Some(host), Some(pid)) => format!("process {pid} on {host}"),
        _ => "a worker".to_owned(),
    };
    let run = claim.attempt_no.map(|no| format!(" with run #{no}")).unwrap_or_default();
    format!("{} {} is claimed by {process}{run}, which is gone", claim.pipeline_name, claim.interval_key)
}

enum Ended {
    NotTried,
    Done(&'static str),
    Open(String),
}

/// Raises the fence behind the dead worker. Where it had begun a run, its receipt is then looked for.
async fn end(patient: &Patient<'_>, ledger: &Ledger, claim: &ClaimOf) -> Result<Ended, LedgerError> {
    let Some(run) = claim.open_run() else {
        return match ledger.release_claim(claim.partition_id, claim.token, PATIENCE).await {
            Ok(true) => Ok(Ended::Done("freed")),
            Ok(false) => Ok(Ended::Done("somebody else freed it meanwhile")),
            Err(error) if error.sqlstate().is_some_and(|state| state.as_str() == "55P03") => {
                Ok(Ended::Open("another session still holds the partition".to_owned()))
            }
            Err(error) => Err(error),
        };
    };
    Ok(match thrice_ledger::resolve(&patient.database.settings, &run, PATIENCE).await? {
        Resolution::Published(_) => Ended::Done("freed; its run has published"),
        Resolution::NotPublished => Ended::Done("freed; its run has not published"),
        Resolution::Open { why } => Ended::Open(why.to_string()),
    })
}

async fn tables(
    patient: &Patient<'_>,
    connection: &mut DataConnection,
    ledger: &Ledger,
    report: &mut Report,
) -> Result<(), Failed> {
    let budgets = budgets(patient.project, ledger).await?;
    let default = RetryPolicy::default().budget;
    let adoptable_for = |pipeline: Option<i32>| pipeline.and_then(|id| budgets.get(&id)).copied().unwrap_or(default);
    let orphans = thrice_runner::staging_for_nobody(ledger, None, adoptable_for).await?;
    let mut left = Vec::new();
    let (mut dropped, timeouts) = (0, Limits::default().checking());
    for name in orphans {
        let gone = patient.fix
            && staging::drop_unused_staging(
                &mut connection.client,
                &name,
                &thrice_runner::staging_is_unused(&name),
                &timeouts,
                &patient.stop.token,
            )
            .await
            .unwrap_or(false);
        if gone { dropped += 1 } else { left.push(name.to_string()) }
    }
    if dropped > 0 {
        report.fixed.push(format!("{}: dropped", count(dropped, "orphaned staging table")));
    }
    if left.is_empty() {
        report.ok("staging", "no orphaned staging tables");
        return Ok(());
    }
    let tables = count(i64::try_from(left.len()).unwrap_or(i64::MAX), "orphaned staging table");
    let names = left.iter().take(3).cloned().collect::<Vec<_>>().join(", ");
    let more = if left.len() > 3 { ", .." } else { "" };
    let (what, fix) = if patient.fix {
        (
            format!("{tables} could not be dropped: {names}{more}"),
            "look who holds or owns them, then thrice doctor --fix",
        )
    } else {
        (format!("{tables}: {names}{more}"), "thrice doctor --fix; a run of the pipeline drops its own, too")
    };
    report.untidy("staging", what, fix);
    Ok(())
}

/// How long the rows of a failed run may be taken over, by the pipeline's number in the ledger.
pub(crate) async fn budgets(
    project: Option<&crate::project::Project>,
    ledger: &Ledger,
) -> Result<BTreeMap<i32, Duration>, LedgerError> {
    let known = ledger.pipelines().await?;
    let pipelines = project.into_iter().flat_map(crate::project::Project::readable);
    Ok(pipelines
        .filter_map(|loaded| {
            let row = known.iter().find(|row| row.pipeline_name == loaded.job.name)?;
            Some((row.pipeline_id, loaded.job.retry.budget))
        })
        .collect())
}
