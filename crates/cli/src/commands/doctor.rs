//! `thrice doctor`: looks at files, connection, server, ledger and targets, and says of each whether it will do; with
//! `--fix` it also does what is safe. One file for each group of checks.

mod check;
mod connection;
mod cuts;
mod existing;
mod files;
mod ledger;
mod leftovers;
mod pooler;
mod search_path;
mod server;
mod targets;
mod zone_age;
mod zones;

use serde_json::json;
use thrice_connect::DataConnection;
use thrice_core::time::Timestamp;

use self::check::{Check, Report};
pub(crate) use self::leftovers::budgets;
use crate::args::{Doctor, Global};
use crate::clock;
use crate::database::{self, Database};
use crate::exit_code::Exit;
use crate::fault::Outcome;
use crate::output::Output;
use crate::project::Project;
use crate::signals::Stop;

/// What the checks look at.
struct Patient<'a> {
    project: Option<&'a Project>,
    database: &'a Database,
    as_of: Timestamp,
    /// Do what is safe.
    fix: bool,
    stop: Stop,
}

pub(crate) async fn run(global: &Global, args: &Doctor, output: Output) -> Outcome<Exit> {
    let mut report = Report::default();
    let project = files::check(&global.dir, &mut report);
    let reached = match database::find(global, project.as_ref(), output).await {
        Ok(database) => connection::connect(&database, &mut report).await.map(|connection| (database, connection)),
        Err(failed) => {
            report.failed("connection", &failed);
            None
        }
    };
    if let Some((database, mut connection)) = reached {
        let patient = Patient {
            project: project.as_ref(),
            database: &database,
            as_of: clock::as_of(global.as_of),
            fix: args.fix,
            stop: Stop::listen(output),
        };
        examine(&patient, &mut connection, &mut report).await;
        if let Some(exit) = patient.stop.exit() {
            return Ok(exit);
        }
        return Ok(end(&report, true, output));
    }
    Ok(end(&report, false, output))
}

async fn examine(patient: &Patient<'_>, connection: &mut DataConnection, report: &mut Report) {
    connection::check(patient, connection, report).await;
    pooler::check(patient, connection, report).await;
    server::check(patient, connection, report).await;
    search_path::check(patient, connection, report).await;
    zones::check(patient, connection, report).await;
    if let Some(ledger) = ledger::check(patient, report).await {
        leftovers::check(patient, connection, &ledger, report).await;
        let unfit = cuts::check(patient, &ledger, report).await;
        let mut targets = targets::check(patient, report).await;
        // which of their intervals are open cannot be told
        targets.retain(|(loaded, _)| !unfit.contains(&loaded.job.name));
        existing::check(patient, connection, &ledger, &targets, report).await;
    } else {
        targets::check(patient, report).await;
    }
}

fn end(report: &Report, reached: bool, output: Output) -> Exit {
    for check in &report.checks {
        output.lines(check.lines(output.color));
    }
    for done in &report.fixed {
        output.line(format!("fixed {done}"));
    }
    let (failed, warnings) = (report.failures(), report.warnings());
    let ending = if warnings == 1 { "" } else { "s" };
    output.line(format!("{failed} failed, {warnings} warning{ending}"));
    let exit = match (reached, failed) {
        (false, _) => Exit::Unavailable,
        (true, 0) => Exit::Ok,
        (true, _) => Exit::Refused,
    };
    output.object(json!({
        "schema": "thrice.doctor/1",
        "checks": report.checks.iter().map(Check::json).collect::<Vec<_>>(),
        "fixed": report.fixed,
        "failed": failed,
        "warnings": warnings,
        "exit": exit.number(),
    }));
    exit
}
