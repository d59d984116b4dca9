//! `thrice adopt`: existing rows become published partitions.

use serde_json::json;
use thrice_core::code::ErrorCode;
use thrice_runner::Adoption;

use crate::args::{Adopt, Global};
use crate::exit_code::Exit;
use crate::fault::{Fault, Outcome};
use crate::output::{Output, count_of};
use crate::project::Project;
use crate::signals::Stop;
use crate::{clock, consent, database, prepare, selection};

pub(crate) async fn run(global: &Global, args: &Adopt, output: Output) -> Outcome<Exit> {
    let project = Project::load(&global.dir)?;
    let as_of = clock::as_of(global.as_of);
    let loaded = project.pipeline(&args.pipeline)?;
    let partitions = selection::partitions(loaded, &[], Some(&args.from), Some(&args.to), as_of)?;
    selection::may_adopt_all(loaded, &partitions, as_of)?;
    let reason = selection::reason_for("adopt", args.reason.as_deref())?;
    let Some(first) = partitions.first() else {
        return Err(Fault::new(ErrorCode::BadKey, "the range holds no interval").into());
    };
    let question = format!(
        "record the rows of {} of {}, {} to {}, in {} as published? no row is changed",
        count_of(partitions.len(), "interval"),
        loaded.job.name,
        args.from,
        args.to,
        loaded.job.target.readable()
    );
    consent::ask(global, &question)?;
    let stop = Stop::listen(output);
    let opening = async {
        let database = database::find(global, Some(&project), output).await?;
        let ledger = database::ledger(&database).await?;
        database::runner(&database, ledger, project.lease_ttl, global).await
    };
    let mut runner = stop.or(opening).await?;
    let prepared = Box::pin(prepare::prepare(&mut runner, &project, loaded, first, &stop, output)).await?;
    let (mut adopted, mut empty, mut already, mut items, mut exits) = (0, 0, 0, Vec::new(), Vec::new());
    for partition in &partitions {
        if stop.token.is_cancelled() {
            break;
        }
        let outcome = runner.adopt(&prepared, partition, &reason, as_of, &stop.token).await;
        let word = match &outcome {
            Ok(Adoption::Adopted(content)) => {
                adopted += 1;
                items.push(json!({ "key": partition.key.as_str(), "outcome": "adopted", "rows": content.rows, "checksum": content.checksum }));
                continue;
            }
            Ok(Adoption::Empty) => {
                empty += 1;
                "empty"
            }
            Ok(Adoption::AlreadyPublished) => {
                already += 1;
                "already_published"
            }
            Err(problem) => {
                let mut fault = Fault::of_problem(problem);
                if fault.code == ErrorCode::Closed {
                    let (name, key) = (&loaded.job.name, &partition.key);
                    fault.fix = Some(format!("thrice reopen {name} {key} --reason \"…\""));
                }
                output.fault(&Fault { what: format!("{}: {}", partition.key, fault.what), ..fault.clone() });
                exits.push(fault.exit);
                "failed"
            }
        };
        items.push(json!({ "key": partition.key.as_str(), "outcome": word }));
    }
    if let Err(error) = runner.close().await {
        output.note(format!("warning: {error}"));
    }
    let exit = stop.exit().unwrap_or_else(|| Exit::worst(exits.iter().copied()));
    let told = [
        (adopted, "recorded as published"),
        (already, "published before"),
        (empty, "empty and still missing"),
        (exits.len(), "failed"),
    ];
    let told: Vec<String> =
        told.iter().filter(|(count, _)| *count > 0).map(|(count, what)| format!("{count} {what}")).collect();
    output.line(format!("{} of {} counted: {}", items.len(), count_of(partitions.len(), "interval"), told.join(", ")));
    output.object(json!({ "schema": "thrice.adopt/1", "items": items, "exit": exit.number() }));
    Ok(exit)
}
