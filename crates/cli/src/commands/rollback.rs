//! `thrice rollback`: the rows that a publish replaced become the partition again.

use std::time::Instant;

use serde_json::json;
use thrice_core::code::ErrorCode;
use thrice_runner::{Against, Examiner, Outcome as Ended, Rollback, RunRequest, Trigger};

use crate::args::{Global, RollbackArgs};
use crate::commands::run::{Lines, edited, item, placed, sentence};
use crate::commands::status::known;
use crate::exit_code::Exit;
use crate::fault::{Fault, Outcome};
use crate::output::{Output, count};
use crate::project::Project;
use crate::signals::Stop;
use crate::{clock, consent, database, selection};

pub(crate) async fn run(global: &Global, args: &RollbackArgs, output: Output) -> Outcome<Exit> {
    let project = Project::load(&global.dir)?;
    let as_of = clock::as_of(global.as_of);
    let loaded = project.pipeline(&args.pipeline)?;
    let partition = &selection::one(loaded, &args.key, as_of, "is put back")?;
    let reason = selection::reason_for("rollback", args.reason.as_deref())?;
    let stop = Stop::listen(output);
    let opening = async {
        let database = database::find(global, Some(&project), output).await?;
        let ledger = database::ledger(&database).await?;
        let cut = known(&ledger, loaded).await?;
        Ok::<_, crate::fault::Failed>((database::runner(&database, ledger, project.lease_ttl, global).await?, cut))
    };
    let (mut runner, cut) = stop.or(opening).await?;
    let Some(cut) = cut else {
        let what = format!("{} has published nothing that {} could go back to", loaded.job.name, partition.key);
        return Err(Fault::new(ErrorCode::NothingKept, what).fix("there is nothing to put back").into());
    };
    let start = partition.interval.start();
    let detail = runner.ledger().partition_detail(cut.pipeline_id, cut.interval_epoch, start).await?;
    if let Some(closed_at) = detail.and_then(|detail| detail.partition.closed_at)
        && !args.reopen
    {
        let (name, key) = (&loaded.job.name, &partition.key);
        return Err(Fault::new(ErrorCode::Closed, format!("{name} {key} is closed since {closed_at}"))
            .why("nothing changes a closed partition unasked")
            .fix(format!("if it must change: thrice rollback {name} {key} --reopen --reason \"…\""))
            .into());
    }
    let planning = runner.plan_rollback(loaded.job.clone(), cut, partition, args.to_attempt, &stop.token);
    let (prepared, rollback) = Box::pin(planning).await.map_err(|error| loaded.placed(error))?;
    // what cannot be put back is said before anybody is asked
    let mut examiner = Examiner::new(runner.settings().clone());
    let target = (&prepared.target, &prepared.columns);
    let looking = examiner.diff(&loaded.job, target, partition, Against::Kept(&rollback), 0, &stop.token);
    let kept = stop.or(async { Box::pin(looking).await.map_err(|problem| crate::fault::Failed::of(&problem)) }).await?;
    rollback.check(&kept.content).map_err(|problem| crate::fault::Failed::of(&problem))?;
    let question = question(&rollback);
    if args.dry_run {
        output.line(format!("would {question}; nothing was written"));
        output.object(json!({
            "schema": "thrice.rollback/1", "dry_run": true, "interval": selection::interval_json(loaded, partition),
            "to": receipt(&rollback.to), "from": receipt(&rollback.from),
        }));
        return Ok(Exit::Ok);
    }
    consent::ask(global, &format!("{question}?"))?;
    let mut request = RunRequest::new(Trigger::Rollback, as_of);
    request.reason = Some(reason);
    request.reopen = args.reopen;
    request.rollback = Some(rollback.clone());
    request.cancel = stop.token.clone();
    let mut lines = Lines { output, show: true };
    let begun = Instant::now();
    let report = Box::pin(runner.run_partition(&prepared, partition, &request, &mut lines)).await;
    if let Err(error) = runner.close().await {
        output.note(format!("warning: {error}"));
    }
    let exit = Exit::of_outcome(&report.outcome);
    match &report.outcome {
        Ended::Published(done) => output.line(format!(
            "put back {} as run #{}; the checksum is that of run #{}",
            count(done.rows.total, "row"),
            done.attempt_no,
            rollback.to.attempt_no
        )),
        Ended::Unchanged(_) | Ended::Failed(_) | Ended::Refused(_) | Ended::Held(_) | Ended::Unknown(_) => {
            output.line(sentence(&loaded.job.name, &report, begun.elapsed(), output.color));
        }
    }
    if let Some(found) = report.outcome.done().and_then(|done| done.edited_since_receipt) {
        output.fault(&edited(loaded, partition, found));
    }
    if let Some(problem) = report.outcome.problem() {
        let mut fault = placed(loaded, partition, problem);
        fault.what = format!("{} {}: {}", loaded.job.name, partition.key, fault.what);
        output.fault(&fault);
    }
    output.object(json!({
        "schema": "thrice.rollback/1", "dry_run": false, "to": receipt(&rollback.to), "from": receipt(&rollback.from),
        "run": item(loaded, &report, stop.exit()), "exit": exit.number(),
    }));
    Ok(stop.exit().unwrap_or(exit))
}

fn question(rollback: &Rollback) -> String {
    let of = |receipt: &thrice_ledger::KeptReceipt| {
        format!("run #{} ({}, {})", receipt.attempt_no, count(receipt.row_count, "row"), receipt.kind)
    };
    format!("put back {} over {}", of(&rollback.to), of(&rollback.from))
}

fn receipt(receipt: &thrice_ledger::KeptReceipt) -> serde_json::Value {
    json!({
        "attempt_no": receipt.attempt_no, "kind": receipt.kind, "rows": receipt.row_count, "checksum": receipt.checksum,
        "published_at": receipt.published_at.to_string(),
    })
}
