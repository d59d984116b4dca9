//! `thrice gc`: staging tables that nobody needs any more, and kept rows whose time is over.

use serde_json::json;
use thrice_core::retry::RetryPolicy;
use thrice_runner::Limits;
use thrice_sql_publish::history::{self, HistoryTable};
use thrice_sql_publish::staging;

use crate::args::{Gc, Global};
use crate::commands::doctor::budgets;
use crate::exit_code::Exit;
use crate::fault::{Failed, Fault, Outcome};
use crate::output::{Output, count, count_of};
use crate::project::Project;
use crate::signals::Stop;
use crate::{consent, database};

pub(crate) async fn run(global: &Global, args: &Gc, output: Output) -> Outcome<Exit> {
    let project = Project::load(&global.dir)?;
    let stop = Stop::listen(output);
    let opening = async {
        let database = database::find(global, Some(&project), output).await?;
        let ledger = database::ledger(&database).await?;
        let budgets = budgets(Some(&project), &ledger).await?;
        let default = RetryPolicy::default().budget;
        let adoptable_for =
            |pipeline: Option<i32>| pipeline.and_then(|id| budgets.get(&id)).copied().unwrap_or(default);
        let tables = thrice_runner::staging_for_nobody(&ledger, None, adoptable_for).await?;
        let expired = ledger.expired_history().await?;
        Ok::<_, Failed>((thrice_connect::connect(&database.settings).await?, tables, expired))
    };
    let (mut connection, tables, expired) = stop.or(opening).await?;
    let timeouts = Limits::default().checking();
    let names: Vec<String> = tables.iter().map(ToString::to_string).collect();
    let bytes = history::sizes(&mut connection.client, &names, &timeouts, &stop.token)
        .await
        .map_err(|error| Fault::of_problem(&thrice_runner::problem_of_publish(&error)))?;
    let partitions: i64 = expired.iter().map(|kept| kept.partitions).sum();
    let what = format!(
        "{} ({}), and the kept rows of {} whose time is over",
        count_of(tables.len(), "staging table"),
        size(bytes),
        count(partitions, "partition")
    );
    if args.dry_run {
        output.line(format!("would drop {what}; nothing was dropped"));
        output.object(json!({
            "schema": "thrice.gc/1", "dry_run": true, "staging_tables": names, "staging_bytes": bytes, "partitions": partitions,
        }));
        return Ok(Exit::Ok);
    }
    if tables.is_empty() && expired.is_empty() {
        output.line("nothing to drop");
    } else {
        consent::ask(global, &format!("drop {what}?"))?;
    }
    let (mut dropped, mut left, mut rows) = (0, Vec::new(), 0);
    for name in &tables {
        let unused = thrice_runner::staging_is_unused(name);
        let dropping = staging::drop_unused_staging(&mut connection.client, name, &unused, &timeouts, &stop.token);
        match dropping.await {
            Ok(true) => dropped += 1,
            // somebody has taken it up meanwhile
            Ok(false) => {}
            Err(error) => left.push(format!("{name}: {}", error.message())),
        }
    }
    for kept in &expired {
        let record = thrice_runner::history_is_forgotten(&kept.attempts);
        let forgetting = async {
            let table = HistoryTable::parse(&kept.relation)?;
            history::forget(&mut connection.client, &table, &kept.attempts, &record, &timeouts, &stop.token).await
        };
        match forgetting.await {
            Ok(gone) => rows += gone,
            Err(error) => left.push(format!("{}: {}", kept.relation, error.message())),
        }
    }
    for what in &left {
        output.fault(
            &Fault::new(thrice_core::code::ErrorCode::NotSwept, format!("not dropped: {what}"))
                .why("somebody reads it, or another role owns it")
                .fix("thrice gc again, as a member of thrice_worker or the owner"),
        );
    }
    let exit = if left.is_empty() { Exit::Ok } else { Exit::Unavailable };
    if dropped > 0 || rows > 0 {
        output.line(format!(
            "dropped {}, deleted {} that were kept",
            count(dropped, "staging table"),
            count(rows, "row")
        ));
    }
    output.object(json!({
        "schema": "thrice.gc/1", "dry_run": false, "staging_dropped": dropped, "rows_deleted": rows, "left": left,
        "exit": exit.number(),
    }));
    Ok(stop.exit().unwrap_or(exit))
}

/// Bytes for people.
fn size(bytes: i64) -> String {
    let units = ["KiB", "MiB", "GiB", "TiB"];
    if bytes < 1024 {
        return format!("{bytes} B");
    }
    // in tenths of the unit
    let (mut tenths, mut unit) = (bytes.saturating_mul(10) / 1024, 0);
    while tenths >= 10_240 && unit + 1 < units.len() {
        tenths /= 1024;
        unit += 1;
    }
    format!("{}.{} {}", tenths / 10, tenths % 10, units.get(unit).copied().unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::size;

    #[test]
    fn sizes_for_people() {
        for (bytes, text) in [(0, "0 B"), (1023, "1023 B"), (8192, "8.0 KiB"), (1_288_490_189, "1.2 GiB")] {
            assert_eq!(size(bytes), text);
        }
    }
}
