//! `thrice lint`: what can be said of pipelines without running them; with `--db` also what the server says.

mod show_sql;

use serde_json::{Value, json};
use thrice_core::code::ErrorCode;
use thrice_core::schedule::Partition;
use thrice_ledger::{ErrorKind, Ledger};
use thrice_runner::{Examiner, NotPrepared};

use self::show_sql::ChecksSql;
use crate::args::{Global, Lint};
use crate::database;
use crate::exit_code::Exit;
use crate::fault::{Failed, Fault, Outcome};
use crate::output::{Output, count_of};
use crate::project::{Loaded, Project};
use crate::signals::Stop;

pub(crate) async fn run(global: &Global, args: &Lint, output: Output) -> Outcome<Exit> {
    let project = Project::load(&global.dir)?;
    let mut findings = project.findings(&args.pipelines)?;
    let broken = findings.iter().any(|fault| !fault.warning);
    let wanted = |name: &str| args.pipelines.is_empty() || args.pipelines.iter().any(|wanted| wanted == name);
    let readable: Vec<&Loaded> = project.readable().filter(|loaded| wanted(&loaded.job.name)).collect();
    if args.db && !readable.is_empty() {
        let stop = Stop::listen(output);
        match stop.or(ask_server(global, &project, &readable, output, &stop)).await {
            Ok(found) => findings.extend(found),
            // what is wrong with the files is told in any case
            Err(failed) if broken => findings.extend(failed.0),
            Err(failed) => return Err(failed),
        }
    }
    let shown: Vec<ChecksSql<'_>> =
        readable.iter().filter(|_| args.show_sql).filter_map(|loaded| ChecksSql::of(&loaded.job)).collect();
    for checks in &shown {
        output.lines(checks.lines());
    }
    let errors = findings.iter().filter(|fault| !fault.warning).count();
    let warnings = findings.len() - errors;
    let denied = args.deny.is_some() && warnings > 0;
    // a warning that fails the call is told like an error
    let telling = Output { quiet: output.quiet && !denied, ..output };
    for fault in &findings {
        telling.fault(fault);
    }
    let exit = if errors > 0 {
        Failed(findings.clone()).exit()
    } else if denied {
        Exit::Usage
    } else {
        Exit::Ok
    };
    output.line(match (errors, warnings) {
        (0, 0) => "no findings".to_owned(),
        (errors, warnings) => format!("{}, {}", count_of(errors, "error"), count_of(warnings, "warning")),
    });
    if denied && errors == 0 {
        output.note("warnings are denied: this call fails for them");
    }
    if project.count() == 0 {
        output.note("the project has no pipelines: add pipelines/NAME.toml and pipelines/NAME.sql");
    }
    if args.db && broken {
        let asked =
            if readable.is_empty() { "the database was not asked" } else { "the database was asked of the others" };
        output.note(format!("{asked}: correct the errors in the files first"));
    }
    let mut object = json!({
        "schema": "thrice.lint/1", "problems": findings.iter().map(Fault::json).collect::<Vec<_>>(), "exit": exit.number(),
    });
    if args.show_sql {
        object["sql"] = shown.iter().map(ChecksSql::json).collect::<Value>();
    }
    output.object(object);
    Ok(exit)
}

/// Examines targets and describes queries; writes nothing.
async fn ask_server(
    global: &Global,
    project: &Project,
    pipelines: &[&Loaded],
    output: Output,
    stop: &Stop,
) -> Outcome<Vec<Fault>> {
    let database = database::find(global, Some(project), output).await?;
    let mut examiner = Examiner::new(database.settings.clone());
    let mut ledger = None;
    let mut faults = Vec::new();
    for loaded in pipelines {
        let Some(sample) = loaded.first() else { continue };
        match ask_about(&mut examiner, loaded, &sample, stop).await {
            Ok(found) => faults.extend(found),
            Err(error) => {
                let failed = loaded.placed(error);
                let away = failed.0.iter().any(|fault| is_about_the_server(fault.code));
                faults.extend(failed.0);
                if away {
                    continue;
                }
            }
        }
        let ledger = match &mut ledger {
            Some(ledger) => ledger,
            None => ledger.insert(database::open(&database.settings).await?),
        };
        faults.extend(ask_ledger(ledger, project, loaded).await?);
    }
    Ok(faults)
}

/// Whether the server itself cannot be used, so that it need not be asked anything else.
const fn is_about_the_server(code: ErrorCode) -> bool {
    matches!(
        code,
        ErrorCode::BadUrl
            | ErrorCode::Unreachable
            | ErrorCode::LoginRefused
            | ErrorCode::DatabaseMissing
            | ErrorCode::TlsFailed
            | ErrorCode::ReadOnlyServer
            | ErrorCode::ServerVersion
            | ErrorCode::ServerExhausted
    )
}

async fn ask_about(
    examiner: &mut Examiner,
    loaded: &Loaded,
    sample: &Partition,
    stop: &Stop,
) -> Result<Vec<Fault>, NotPrepared> {
    let found = examiner.examine(&loaded.job, sample, &stop.token).await?;
    let mut faults: Vec<Fault> = found.warnings.iter().map(Fault::of_finding).collect();
    let missing = examiner.examine_checks(&loaded.job, sample, &found.target, &stop.token).await?;
    faults.extend(missing.iter().map(Fault::of_finding));
    let reads = examiner.reads_target(&loaded.job, sample, &found.target, &stop.token).await?;
    if reads && !loaded.names_target() {
        faults.push(reads_target(loaded));
    }
    Ok(faults)
}

fn reads_target(loaded: &Loaded) -> Fault {
    let (name, target) = (&loaded.job.name, loaded.job.target.readable());
    let mut fault = Fault::new(ErrorCode::MayDiffer, format!("the query of {name} reads {target}, its own target"))
        .why("a second run of the interval reads the rows of the first, and may give others")
        .fix("read the sources; or, where only other intervals are read: -- thrice: allow(own_target) reason");
    fault.warning = true;
    fault
}

/// What the ledger would say to the definition, where there is one that this role may read.
async fn ask_ledger(ledger: &Ledger, project: &Project, loaded: &Loaded) -> Outcome<Option<Fault>> {
    let Err(error) = thrice_runner::may_register(ledger, &loaded.job).await else { return Ok(None) };
    let kind = error.kind();
    if matches!(kind, ErrorKind::Behind | ErrorKind::Permission)
        || matches!(kind, ErrorKind::TargetTaken { by, published: false } if project.is_gone(by))
    {
        return Ok(None);
    }
    let of_the_definition = matches!(
        kind,
        ErrorKind::TargetTaken { .. } | ErrorKind::TargetChanged { .. } | ErrorKind::IntervalsChanged { .. }
    );
    if of_the_definition {
        Ok(Some(Fault::of_problem(&thrice_runner::problem_of_ledger(&error))))
    } else {
        Err(error.into())
    }
}
