//! `thrice recut`: a pipeline that has published goes on with another grain, another zone, or the zone's newer rules.

use serde_json::{Value, json};
use thrice_core::code::ErrorCode;
use thrice_core::schedule::Partition;
use thrice_core::time::Timestamp;
use thrice_ledger::{Ledger, PartitionRow, PipelineCut};

use crate::args::{Global, Recut};
use crate::cut::{is_of_file, moved, published};
use crate::database::Database;
use crate::exit_code::Exit;
use crate::fault::{Fault, Outcome};
use crate::output::{Output, count_of};
use crate::project::{Loaded, Project};
use crate::{consent, database, selection};

/// So many open outcomes are looked through.
const MOST_OPEN: i64 = 1000;

pub(crate) async fn run(global: &Global, args: &Recut, output: Output) -> Outcome<Exit> {
    let project = Project::load(&global.dir)?;
    let loaded = project.pipeline(&args.pipeline)?;
    let reason = selection::reason_for("recut", args.reason.as_deref())?;
    let database = database::find(global, Some(&project), output).await?;
    let ledger = database::ledger(&database).await?;
    let name = &loaded.job.name;
    let Some(cut) = ledger.cut_of_pipeline(name).await? else {
        return Ok(not_needed(
            loaded,
            "the ledger does not know it yet: its first run takes the cut of the file",
            output,
        ));
    };
    let rows = published(&ledger, &cut).await?;
    // what an earlier cut left in the table is not accounted for either
    let mut earlier = Vec::new();
    for interval_epoch in 1..cut.interval_epoch {
        earlier.extend(published(&ledger, &PipelineCut { interval_epoch, ..cut.clone() }).await?);
    }
    if rows.is_empty() {
        return Ok(not_needed(
            loaded,
            "nothing is published: the next run takes the cut of the file by itself",
            output,
        ));
    }
    if is_of_file(&cut, loaded) && moved(loaded, &rows).is_empty() {
        return Ok(not_needed(loaded, "what is published is cut as the file says", output));
    }
    refuse_open_outcomes(&ledger, name, &cut).await?;
    if !args.keep_rows {
        refuse_rows(&database, loaded, name).await?;
    }
    let range = range_of(loaded, rows.iter().chain(&earlier));
    output.lines(lines(loaded, &cut, &rows, range.as_ref()));
    consent::ask(global, &question(name, &cut, &rows))?;
    let actor = database::actor(&database, global);
    let Some(done) = thrice_runner::recut(&ledger, &loaded.job, &actor, &reason).await? else {
        return Ok(not_needed(loaded, "the ledger does not know it any more", output));
    };
    output.line(format!("{name}  recut: partitions belong to epoch {} from now on", done.interval_epoch));
    if done.shut_out > 0 {
        let runs = count_of(usize::try_from(done.shut_out).unwrap_or(usize::MAX), "run");
        output.note(format!("{name}: {runs} of the old cut under way will publish nothing"));
    }
    output.object(json!({
        "schema": "thrice.recut/1",
        "pipeline": name,
        "outcome": "recut",
        "old": { "grain": done.old_grain, "zone": done.old_time_zone, "interval_epoch": cut.interval_epoch, "published": done.published },
        "shut_out": done.shut_out,
        "new": { "grain": loaded.job.schedule.grain().to_string(), "zone": loaded.job.schedule.zone().name(), "interval_epoch": done.interval_epoch },
        "next": range.map(|(first, last)| adopt(name, &first, &last)),
    }));
    Ok(Exit::Ok)
}

fn not_needed(loaded: &Loaded, why: &str, output: Output) -> Exit {
    output.line(format!("{}  nothing to recut: {why}", loaded.job.name));
    output.object(json!({
        "schema": "thrice.recut/1", "pipeline": loaded.job.name, "outcome": "not_needed", "why": why,
        "old": Value::Null, "new": Value::Null, "next": Value::Null,
    }));
    Exit::Ok
}

/// A run whose COMMIT was not answered is resolved by the next run of its partition, and a partition of an old cut has none.
async fn refuse_open_outcomes(ledger: &Ledger, name: &str, cut: &PipelineCut) -> Outcome<()> {
    let open = ledger.open_outcomes(MOST_OPEN).await?;
    let Some(run) = open.iter().find(|run| run.pipeline_name == name) else { return Ok(()) };
    let what = format!("the COMMIT of {name} {}, run #{}, has no answer yet", run.interval_key, run.attempt_no);
    Err(Fault::new(ErrorCode::OutcomeUnknown, what)
        .why("only another run of that partition can ask the ledger what became of it, and a new cut has no such partition")
        .fix(format!(
            "with the grain {} and the zone {} in the file: thrice run {name} {}; then recut",
            cut.grain, cut.time_zone, run.interval_key
        ))
        .into())
}

/// A row that stands for a whole old interval, such as a sum of a day, would be counted beside the new intervals, or taken
/// for one of them.
async fn refuse_rows(database: &Database, loaded: &Loaded, name: &str) -> Outcome<()> {
    let asking = async {
        let connection = thrice_connect::connect(&database.settings).await?;
        let text = format!("select exists (select from {})", loaded.job.target);
        let rows = connection.client.query_typed(&text, &[]).await;
        connection.close(std::time::Duration::from_secs(2)).await;
        Ok::<_, crate::fault::Failed>(rows)
    };
    let table = loaded.job.target.readable();
    match asking.await?.and_then(|rows| rows.first().map_or(Ok(false), |row| row.try_get(0))) {
        Ok(false) => return Ok(()),
        Ok(true) => {}
        // a table that is not there holds no rows
        Err(error) if error.code().is_some_and(|code| matches!(code.code(), "42P01" | "3F000")) => return Ok(()),
        Err(error) => {
            let said =
                error.as_db_error().map_or_else(|| "the connection failed".to_owned(), |db| db.message().to_owned());
            return Err(Fault::new(ErrorCode::EpochChanged, format!("{table} cannot be looked at: {said}"))
                .why("rows of the old intervals would be counted beside the new ones")
                .fix("recut as a role that may read it; or --keep-rows where each row lies in the new interval that it is of")
                .into());
        }
    }
    Err(Fault::new(ErrorCode::EpochChanged, format!("{table} holds rows of the old intervals of {name}"))
        .why("a row that stands for an old interval would be counted beside the new ones, or taken for one of them")
        .fix(format!(
            "empty {table}, recut, and run the range anew; or --keep-rows where each row lies in the new interval that it is of"
        ))
        .into())
}

/// Both cuts, and what becomes of the rows.
fn lines(
    loaded: &Loaded,
    cut: &PipelineCut,
    rows: &[PartitionRow],
    range: Option<&(Partition, Partition)>,
) -> Vec<String> {
    let (name, schedule) = (&loaded.job.name, &loaded.job.schedule);
    let keys = match rows {
        [only] => only.interval_key.clone(),
        [first, .., last] => format!("{} to {}", first.interval_key, last.interval_key),
        [] => String::new(),
    };
    let (old, new) = (cut.interval_epoch, cut.interval_epoch + 1);
    let mut lines = vec![
        format!("{name}  {} published: {keys}", count_of(rows.len(), "partition")),
        format!("  old  {} in {}   epoch {old}: they keep it, with their receipts", cut.grain, cut.time_zone),
        format!("  new  {} in {}   epoch {new}: begins without a receipt", schedule.grain(), schedule.zone()),
        format!(
            "  rows of {} stay as they are; a run refuses a new interval that holds some (TH0531)",
            loaded.job.target.readable()
        ),
    ];
    let closed = rows.iter().filter(|row| row.closed_at.is_some()).count();
    if closed > 0 {
        lines.push(format!("  {} of them closed: in the new cut nothing is", count_of(closed, "partition")));
    }
    if let Some((first, last)) = range {
        lines.push(format!("  until they are recorded   {}", adopt(name, first, last)));
        lines.push(format!(
            "  or replaced               thrice run {name} {} --overwrite-existing --reason \"…\"",
            first.key
        ));
    }
    lines
}

fn question(name: &str, cut: &PipelineCut, rows: &[PartitionRow]) -> String {
    let working = rows.iter().filter(|row| row.claimed_by.is_some()).count();
    let ended = if working > 0 {
        format!(" {} under way will publish nothing;", count_of(working, "run"))
    } else {
        String::new()
    };
    format!(
        "open epoch {} of {name}, in which none of the {} is published any more?{ended} no row is changed",
        cut.interval_epoch + 1,
        count_of(rows.len(), "published partition")
    )
}

/// The first and the last interval of the new cut over what is published.
fn range_of<'r>(
    loaded: &Loaded,
    rows: impl Iterator<Item = &'r PartitionRow> + Clone,
) -> Option<(Partition, Partition)> {
    let (schedule, due) = (&loaded.job.schedule, &loaded.due);
    let first = schedule.first_from(rows.clone().map(|row| row.interval_start).min()?.max(due.start))?;
    let end = rows.map(|row| row.interval_end).max()?;
    let end = due.end.map_or(end, |last| last.min(end));
    let before_end = Timestamp::from_microsecond(end.as_microsecond() - 1).ok()?;
    let last = schedule.partition_at(before_end).filter(|last| last.interval.start() >= first.interval.start())?;
    Some((first, last))
}

fn adopt(name: &str, first: &Partition, last: &Partition) -> String {
    format!("thrice adopt {name} --from {} --to {} --reason \"…\"", first.key, last.key)
}
