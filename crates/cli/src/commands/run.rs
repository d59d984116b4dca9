//! `thrice run`: what is due, or the named partitions, one after the other.

mod call;
mod due;
mod wording;

use std::collections::BTreeSet;
use std::time::Duration;

use serde_json::json;
use thrice_core::code::ErrorCode;
use thrice_core::due::CatchUp;
use thrice_core::schedule::Partition;
use thrice_core::time::Timestamp;
use thrice_ledger::Ledger;
use thrice_runner::{RunRequest, Runner, Trigger};

use self::call::Call;
pub(crate) use self::due::to_run;
use self::due::{due, over, refuse_backfill, tell_left};
pub(crate) use self::wording::{Lines, edited, item, placed, sentence};
use crate::args::{Global, Run};
use crate::commands::status::{known, statuses};
use crate::database::Database;
use crate::exit_code::Exit;
use crate::fault::{Fault, Outcome};
use crate::output::{Output, count};
use crate::project::{Loaded, Project, each_once};
use crate::signals::Stop;
use crate::{clock, database, selection};

/// How long `--wait` waits for another worker.
const WAIT: Duration = Duration::from_hours(1);

pub(crate) async fn run(global: &Global, args: &Run, output: Output) -> Outcome<Exit> {
    let project = Project::load(&global.dir)?;
    let as_of = clock::as_of(global.as_of);
    let named = !args.keys.is_empty() || args.from.is_some() || args.to.is_some();
    let broken: Vec<(&str, &[Fault])> = if args.pipeline.is_none() { project.broken().collect() } else { Vec::new() };
    let pipelines = match &args.pipeline {
        Some(name) => vec![project.pipeline(name)?],
        None if project.readable().next().is_none() => project.chosen(&[])?,
        None => project.readable().collect(),
    };
    // a whole table is named by its pipeline: there is nothing else of it
    let is_table = |loaded: &&Loaded| selection::whole_table(loaded).is_some();
    let table = args.pipeline.is_some() && pipelines.iter().all(is_table);
    let mut request = request(args, named || table, as_of)?;
    if named && args.pipeline.is_none() {
        return Err(Fault::new(ErrorCode::BadArgument, "--from and --to need a pipeline")
            .fix("thrice run P --from K --to K")
            .into());
    }
    // one that cannot be read does not stop the others; the exit tells
    for fault in each_once(broken.iter().flat_map(|(_, faults)| faults.iter())) {
        output.fault(&fault);
    }
    // what is wrong with the words is told before a database is looked for
    let mut asked = Vec::new();
    for loaded in pipelines {
        let partitions = if !named && args.pipeline.is_some() {
            selection::whole_table(loaded)
        } else if named {
            let from = args.from.as_deref();
            Some(selection::partitions(loaded, &args.keys, from, args.to.as_deref(), as_of)?)
        } else {
            None
        };
        if let Some(partitions) = &partitions {
            selection::may_run_all(loaded, partitions, as_of, args.early)?;
        }
        asked.push((loaded, partitions));
    }
    let stop = Stop::listen(output);
    request.cancel = stop.token.clone();
    let Planned { database, ledger, plan, beyond, left } =
        stop.or(plan(global, &project, asked, as_of, output)).await?;
    if args.dry_run {
        return Ok(dry_run(&plan, &beyond, &broken, (args, as_of), output));
    }
    let mut runner = stop.or(database::runner(&database, ledger, project.lease_ttl, global)).await?;
    let many = plan.iter().map(|taken| taken.partitions.len()).sum::<usize>() != 1;
    let mut call = Call::new(&project, output, !many || global.verbose > 0, left);
    for (name, faults) in broken {
        call.unreadable(name, faults);
    }
    for taken in &plan {
        if stop.token.is_cancelled() {
            break;
        }
        if taken.partitions.is_empty() {
            keep_definition(&runner, taken, output).await;
        }
        close_what_is_over(&runner, taken, output).await;
        Box::pin(call.pipeline(&mut runner, taken, &request, &stop)).await;
    }
    if let Err(error) = runner.close().await {
        output.note(format!("warning: {error}"));
    }
    Ok(call.end(args, &stop))
}

/// A pipeline with the partitions that were asked for, or with what is due of it.
struct Taken<'p> {
    loaded: &'p Loaded,
    partitions: Vec<Partition>,
    /// The starts of those that are published, and made again because rows may have come late.
    revisits: BTreeSet<Timestamp>,
    /// Starts of partitions that the late-data policy closes.
    over: Vec<Timestamp>,
}

impl Taken<'_> {
    fn is_revisit(&self, partition: &Partition) -> bool {
        self.revisits.contains(&partition.interval.start())
    }
}

/// A changed policy counts from the next `run` on, also of one that finds nothing due. A failure is told; the next run does it.
async fn keep_definition(runner: &Runner, taken: &Taken<'_>, output: Output) {
    if taken.loaded.paused {
        return;
    }
    if let Err(error) = thrice_runner::keep_definition(runner.ledger(), &taken.loaded.job).await {
        output.fault(&Fault { warning: true, ..Fault::of_problem(&thrice_runner::problem_of_ledger(&error)) });
    }
}

/// Writes down what the policy says: time alone closes no row of the ledger. A failure is told; the next run does it.
async fn close_what_is_over(runner: &Runner, taken: &Taken<'_>, output: Output) {
    if taken.over.is_empty() {
        return;
    }
    let name = &taken.loaded.job.name;
    let closing = async {
        let Some(cut) = known(runner.ledger(), taken.loaded).await? else { return Ok(0) };
        let closed = runner.ledger().close_by_policy(&cut, &taken.over, runner.actor()).await?;
        Ok::<i64, crate::fault::Failed>(closed)
    };
    match closing.await {
        Ok(0) => {}
        Ok(closed) => output.note(format!("{name}: {} closed by late_data.close_after", count(closed, "partition"))),
        Err(failed) => failed.0.iter().for_each(|fault| output.fault(fault)),
    }
}

/// What a call is about to do, and where.
struct Planned<'p> {
    database: Database,
    ledger: Ledger,
    plan: Vec<Taken<'p>>,
    /// How many partitions of a pipeline are due beyond the catch-up.
    beyond: Vec<(&'p Loaded, usize)>,
    /// How partitions ended that are left to a person.
    left: Vec<Exit>,
}

/// What is to be run. Only reads.
async fn plan<'p>(
    global: &Global,
    project: &'p Project,
    asked: Vec<(&'p Loaded, Option<Vec<Partition>>)>,
    as_of: Timestamp,
    output: Output,
) -> Outcome<Planned<'p>> {
    let database = database::find(global, Some(project), output).await?;
    let ledger = database::ledger(&database).await?;
    let (mut plan, mut left, mut beyond) = (Vec::new(), Vec::new(), Vec::new());
    for (loaded, partitions) in asked {
        let mut taken = Taken { loaded, partitions: Vec::new(), revisits: BTreeSet::new(), over: Vec::new() };
        match partitions {
            Some(partitions) => {
                refuse_backfill(&ledger, loaded, &partitions).await?;
                if loaded.job.late.close_after().is_some() {
                    taken.over = over(&statuses(&ledger, loaded, as_of).await?);
                }
                taken.partitions = partitions;
            }
            None if loaded.paused => output.note(format!("{}: paused", loaded.job.name)),
            None => {
                let due = due(&ledger, loaded, as_of).await?;
                tell_left(loaded, &due.left, output);
                left.extend(due.left.into_iter().map(|(exit, _)| exit));
                beyond.push((loaded, due.beyond));
                (taken.partitions, taken.revisits, taken.over) = (due.partitions, due.revisits, due.over);
            }
        }
        plan.push(taken);
    }
    Ok(Planned { database, ledger, plan, beyond, left })
}

fn request(args: &Run, named: bool, as_of: Timestamp) -> Outcome<RunRequest> {
    let mut request = RunRequest::new(if named { Trigger::Manual } else { Trigger::Schedule }, as_of);
    for (given, flag) in [
        (args.overwrite_existing, "--overwrite-existing"),
        (args.accept_drop, "--accept-drop"),
        (args.reopen, "--reopen"),
        (args.early, "--early"),
    ] {
        if given {
            if !named {
                let what = format!("{flag} needs the partitions by name");
                return Err(Fault::new(ErrorCode::BadArgument, what).fix("thrice run P K… --reason \"…\"").into());
            }
            selection::reason_for(flag, args.reason.as_deref())?;
        }
    }
    request.reason = selection::reason(args.reason.as_deref())?;
    request.overwrite_existing = args.overwrite_existing;
    request.accept_drop = args.accept_drop;
    request.reopen = args.reopen;
    request.wait = args.wait.then_some(WAIT);
    Ok(request)
}

fn dry_run(
    plan: &[Taken<'_>],
    beyond: &[(&Loaded, usize)],
    broken: &[(&str, &[Fault])],
    (args, as_of): (&Run, Timestamp),
    output: Output,
) -> Exit {
    let count = plan.iter().map(|taken| taken.partitions.len()).sum::<usize>();
    let each = || plan.iter().flat_map(|taken| taken.partitions.iter().map(move |partition| (taken, partition)));
    if !output.json {
        for (taken, partition) in each() {
            let again = if taken.is_revisit(partition) { "  again, for late rows" } else { "" };
            let span = selection::span_text(taken.loaded, partition);
            output.line(format!("{}  {}  {span}{again}", taken.loaded.job.name, partition.key));
        }
    }
    let nothing = count == 0 && args.detailed_exitcode;
    let broken = broken.iter().flat_map(|(_, faults)| faults.iter()).map(|fault| fault.exit);
    let exit = Exit::worst(broken.chain(nothing.then_some(Exit::Nothing)));
    output.note(format!("{count} would run; nothing was written"));
    for (loaded, more) in beyond.iter().filter(|(_, more)| *more > 0) {
        let due = if *more == 1 { "1 more is due".to_owned() } else { format!("{more} more are due") };
        let name = &loaded.job.name;
        let then = match loaded.due.catch_up {
            CatchUp::Newest(0) => "name them",
            CatchUp::Newest(_) | CatchUp::All => "a later `thrice run` takes them, or name them",
        };
        output.note(format!("{name}: {due} beyond interval.catch_up: {then}"));
    }
    let beyond: serde_json::Map<String, serde_json::Value> =
        beyond.iter().map(|(loaded, more)| (loaded.job.name.clone(), json!(more))).collect();
    let object = json!({
        "schema": "thrice.run/1", "dry_run": true, "beyond_catch_up": beyond, "exit": exit.number(),
    });
    let item = |(taken, partition): (&Taken<'_>, &Partition)| {
        json!({
            "pipeline": taken.loaded.job.name,
            "interval": selection::interval_json(taken.loaded, partition),
            "revisit": taken.is_revisit(partition).then(|| taken.loaded.job.revisit(partition, as_of)).flatten(),
        })
    };
    output.object_with_items(&object, each().map(item));
    exit
}
