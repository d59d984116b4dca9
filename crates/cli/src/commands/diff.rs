//! `thrice diff`: what a run of a partition would change, or what its last publish has changed. Nothing is written.

use std::io::IsTerminal;

use serde_json::{Value, json};
use thrice_core::code::ErrorCode;
use thrice_core::text::printable;
use thrice_runner::{Against, Examined, Examiner, Rollback};
use thrice_sql_publish::columns::ColumnMap;
use thrice_sql_publish::diff::{Difference, Sample};
use thrice_sql_publish::target::Target;

use crate::args::{Diff, Global};
use crate::commands::show::compared_line;
use crate::commands::status::known;
use crate::exit_code::Exit;
use crate::fault::{Fault, Outcome};
use crate::output::Output;
use crate::project::{Loaded, Project};
use crate::signals::Stop;
use crate::{clock, database, selection};

/// Rows with their values that a terminal gets unasked.
const SAMPLES: i64 = 20;

pub(crate) async fn run(global: &Global, args: &Diff, output: Output) -> Outcome<Exit> {
    let project = Project::load(&global.dir)?;
    let as_of = clock::as_of(global.as_of);
    let loaded = project.pipeline(&args.pipeline)?;
    let partition = &selection::one(loaded, &args.key, as_of, "is compared")?;
    if loaded.job.strategy.takes_changes() {
        let what =
            format!("{} publishes changes, and no rows of an interval could be compared with them", loaded.job.name);
        return Err(Fault::new(ErrorCode::BadArgument, what).fix("compare by a query of your own").into());
    }
    let attempt = match args.against.as_deref() {
        None => None,
        Some("kept") => Some(None),
        Some(number) => Some(Some(number.parse::<i32>().map_err(|_| {
            Fault::new(ErrorCode::BadArgument, format!("--against {number} names neither kept rows nor a run"))
                .fix("--against kept, or the number of a run, such as --against 1")
        })?)),
    };
    // values are for whoever asks for them, and never for a log by accident
    let shows_values = args.limit.is_some() || !output.json && std::io::stdout().is_terminal();
    let most = if shows_values { args.limit.map_or(SAMPLES, i64::from) } else { 0 };
    let stop = Stop::listen(output);
    let database = stop.or(database::find(global, Some(&project), output)).await?;
    let mut examiner = Examiner::new(database.settings.clone());
    let (target, columns, kept) = match attempt {
        None => {
            let first = loaded.first();
            let sample = first.as_ref().unwrap_or(partition);
            let looking = Box::pin(examiner.examine(&loaded.job, sample, &stop.token)).await;
            let Examined { target, columns, .. } = looking.map_err(|error| loaded.placed(error))?;
            (target, columns, None)
        }
        Some(to) => kept(global, &project, loaded, &database, partition, to, &stop).await?,
    };
    let against = kept.as_ref().map_or(Against::Query, Against::Kept);
    let comparing = examiner.diff(&loaded.job, (&target, &columns), partition, against, most, &stop.token);
    let mut found = stop
        .or(async {
            Box::pin(comparing).await.map_err(|problem| {
                let mut fault = Fault::of_problem(&problem);
                loaded.place(&mut fault, problem.position);
                crate::fault::Failed::from(fault)
            })
        })
        .await?;
    if let Some(kept) = &kept {
        if kept.check(&found.content).is_err() {
            output.note(format!(
                "warning: the kept rows are not all those of run #{}: somebody else has changed the interval in between",
                kept.to.attempt_no
            ));
        }
        turn(&mut found);
    }
    let names: Vec<String> = columns.columns().iter().map(|name| name.as_str().to_owned()).collect();
    output.lines(lines(loaded, partition.key.as_str(), kept.as_ref(), &target, &names, &found));
    let shown = i64::try_from(found.samples.len()).unwrap_or(i64::MAX);
    if shows_values && shown == most && shown > 0 {
        output.note(format!("only {shown} of the rows that differ may be shown here; --limit N shows more"));
    }
    output.object(json!({
        "schema": "thrice.diff/1",
        "interval": selection::interval_json(loaded, partition),
        "against": kept.as_ref().map_or_else(|| json!("query"), |kept| json!({ "attempt_no": kept.to.attempt_no })),
        "comparison": found.comparison,
        "columns": found.columns.iter().map(|(name, rows)| (name.as_str().to_owned(), json!(rows))).collect::<serde_json::Map<_, _>>(),
        "sample": found.samples.iter().map(|sample| sample_json(sample, &names)).collect::<Vec<_>>(),
    }));
    Ok(Exit::Ok)
}

/// What a rollback would put back, with the columns that were kept.
async fn kept(
    global: &Global,
    project: &Project,
    loaded: &Loaded,
    database: &database::Database,
    partition: &thrice_core::schedule::Partition,
    to: Option<i32>,
    stop: &Stop,
) -> Outcome<(Target, ColumnMap, Option<Rollback>)> {
    let opening = async {
        let ledger = database::ledger(database).await?;
        let cut = known(&ledger, loaded).await?;
        Ok::<_, crate::fault::Failed>((database::runner(database, ledger, project.lease_ttl, global).await?, cut))
    };
    let (mut runner, cut) = stop.or(opening).await?;
    let Some(cut) = cut else {
        let what = format!("{} has published nothing that {} could be compared with", loaded.job.name, partition.key);
        return Err(Fault::new(ErrorCode::NothingKept, what).fix("compare with the query: leave --against out").into());
    };
    let planned = Box::pin(runner.plan_rollback(loaded.job.clone(), cut, partition, to, &stop.token)).await;
    let closed = runner.close().await;
    let (prepared, rollback) = planned.map_err(|error| loaded.placed(error))?;
    closed?;
    Ok((prepared.target, prepared.columns, Some(rollback)))
}

/// Kept rows are the old ones, and the rows that are there the new ones.
fn turn(found: &mut Difference) {
    let swap = |value: &mut Value, one: &str, other: &str| {
        if let Some(object) = value.as_object_mut()
            && let (Some(a), Some(b)) = (object.get(one).cloned(), object.get(other).cloned())
        {
            object.insert(one.to_owned(), b);
            object.insert(other.to_owned(), a);
        }
    };
    swap(&mut found.comparison["rows"], "before", "after");
    swap(&mut found.comparison["keys"], "added", "removed");
    for sums in found.comparison["sums"].as_object_mut().into_iter().flat_map(|sums| sums.values_mut()) {
        swap(sums, "before", "after");
    }
    for sample in &mut found.samples {
        std::mem::swap(&mut sample.before, &mut sample.after);
    }
}

fn lines(
    loaded: &Loaded,
    key: &str,
    kept: Option<&Rollback>,
    target: &Target,
    names: &[String],
    found: &Difference,
) -> Vec<String> {
    let what = match kept {
        None => "published → recomputed".to_owned(),
        Some(kept) => format!("rows of run #{} → rows now (run #{})", kept.to.attempt_no, kept.from.attempt_no),
    };
    let mut lines = vec![format!("{}  {key}  {what}", loaded.job.name)];
    lines.extend(compared_line(&found.comparison));
    if target.key.is_empty() {
        lines.push("    without a key, rows cannot be told apart: name its columns as target.key".to_owned());
    }
    let differ: Vec<String> = found
        .columns
        .iter()
        .filter(|(_, rows)| *rows > 0)
        .map(|(name, rows)| format!("{} {rows}", name.as_str()))
        .collect();
    if !differ.is_empty() {
        lines.push(format!("    differs in: {}", differ.join(", ")));
    }
    let is_key: Vec<bool> = names.iter().map(|name| target.key.iter().any(|key| key.as_str() == name)).collect();
    lines.extend(found.samples.iter().map(|sample| printable(&sample_line(sample, names, &is_key))));
    lines
}

/// ` ~ 2026-06-05, 42   total_amount 310.00 → 290.00`
fn sample_line(sample: &Sample, names: &[String], is_key: &[bool]) -> String {
    let word = |value: &Option<String>| value.clone().unwrap_or_else(|| "null".to_owned());
    let Some(row) = sample.after.as_ref().or(sample.before.as_ref()) else { return String::new() };
    let key: Vec<String> =
        row.iter().zip(is_key).filter(|(_, is_key)| **is_key).map(|(value, _)| word(value)).collect();
    let others = names.iter().enumerate().filter(|(nth, _)| !is_key.get(*nth).copied().unwrap_or_default());
    let (mark, told): (&str, Vec<String>) = match (&sample.before, &sample.after) {
        (Some(before), Some(after)) => (
            "~",
            others
                .filter_map(|(nth, name)| Some((name, before.get(nth)?, after.get(nth)?)))
                .filter(|(_, before, after)| before != after)
                .map(|(name, before, after)| format!("{name} {} → {}", word(before), word(after)))
                .collect(),
        ),
        (before, _) => (
            if before.is_some() { "-" } else { "+" },
            others.filter_map(|(nth, name)| Some(format!("{name} {}", word(row.get(nth)?)))).collect(),
        ),
    };
    format!("  {mark} {}   {}", key.join(", "), told.join("  "))
}

fn sample_json(sample: &Sample, names: &[String]) -> Value {
    let side = |row: &Option<Vec<Option<String>>>| -> Value {
        row.as_ref().map_or(Value::Null, |row| {
            names
                .iter()
                .zip(row)
                .map(|(name, value)| (name.clone(), json!(value)))
                .collect::<serde_json::Map<_, _>>()
                .into()
        })
    };
    json!({ "before": side(&sample.before), "after": side(&sample.after) })
}
