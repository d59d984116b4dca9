//! `thrice lint`: what can be said of pipelines without running them; with `--db` also what the server says.

use serde_json::json;
use thrice_runner::NotPrepared;

use crate::args::{Global, Lint};
use crate::exit_code::Exit;
use crate::fault::{Failed, Fault, Outcome};
use crate::output::{Output, count};
use crate::project::{Loaded, Project};
use crate::signals::Stop;
use crate::{clock, database};

pub(crate) async fn run(global: &Global, args: &Lint, output: Output) -> Outcome<Exit> {
    let project = Project::load(&global.dir)?;
    let mut findings = project.findings(&args.pipelines)?;
    let broken = findings.iter().any(|fault| !fault.warning);
    if args.db && !broken {
        findings.extend(ask_server(global, args, &project, output).await?);
    }
    let errors = findings.iter().filter(|fault| !fault.warning).count();
    let warnings = findings.len() - errors;
    for fault in &findings {
        output.report(&fault.text(output.color_err));
    }
    let denied = args.deny.is_some() && warnings > 0;
    let exit = if errors > 0 {
        Failed(findings.clone()).exit()
    } else if denied {
        Exit::Usage
    } else {
        Exit::Ok
    };
    output.line(match (errors, warnings) {
        (0, 0) => "no findings".to_owned(),
        (errors, warnings) => format!("{}, {}", many(errors, "error"), many(warnings, "warning")),
    });
    if args.db && broken {
        output.note("the database was not asked: correct the errors first");
    }
    output.object(&json!({
        "schema": "thrice.lint/1", "problems": findings.iter().map(Fault::json).collect::<Vec<_>>(), "exit": exit.number(),
    }));
    Ok(exit)
}

fn many(number: usize, noun: &str) -> String {
    count(i64::try_from(number).unwrap_or(i64::MAX), noun)
}

/// Examines targets and describes queries; writes nothing.
async fn ask_server(global: &Global, args: &Lint, project: &Project, output: Output) -> Outcome<Vec<Fault>> {
    let stop = Stop::listen();
    let database = database::find(global, Some(project), output).await?;
    let mut examiner = thrice_runner::Examiner::new(database.settings);
    let mut faults = Vec::new();
    for loaded in project.chosen(&args.pipelines)? {
        let Some(sample) = sample(loaded, clock::as_of(global.as_of)) else { continue };
        match examiner.examine(&loaded.job, &sample, &stop.token).await {
            Ok(found) => faults.extend(found.warnings.iter().map(Fault::of_finding)),
            Err(error) => faults.extend(placed(loaded, error).0),
        }
    }
    Ok(faults)
}

/// A pipeline's error with its place in the query.
pub(crate) fn placed(loaded: &Loaded, error: NotPrepared) -> Failed {
    let position = match &error {
        NotPrepared::Problem(problem) => problem.position,
        NotPrepared::Findings(_) => None,
    };
    let mut failed = Failed::from(error);
    if let Some(fault) = failed.0.first_mut() {
        loaded.place(fault, position);
    }
    failed
}

/// A partition with whose values the query is described.
pub(crate) fn sample(loaded: &Loaded, as_of: thrice_core::time::Timestamp) -> Option<thrice_core::schedule::Partition> {
    loaded.job.schedule.latest_complete(as_of).or_else(|| loaded.job.schedule.partition_at(loaded.due.start))
}
