//! How long a swap of 1,000,000 rows keeps readers out, beside the time that a `delete_insert` takes to publish the same rows.

use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Result, bail};

use crate::bench::Plan;
use crate::bench::figures::{Spread, ratios};
use crate::bench::report::{Mark, Table};
use crate::bench::scene::Scene;
use crate::process::read;

const DAY: &str = "2026-03-24";

/// The day is published anew each time, first by one strategy, then by the other.
pub(crate) fn lock(scene: &Scene, plan: &Plan) -> Result<Table> {
    for (name, strategy) in [("big_rows", "delete_insert"), ("big_parts", "partition_swap")] {
        let toml = format!(
            "[interval]\ngrain = \"day\"\nstart = \"2026-03-01\"\n\
             [target]\ntable = \"big.{name}\"\nstrategy = \"{strategy}\"\ninterval_column = \"day\"\nkey = [\"day\", \"n\"]\n"
        );
        scene.pipeline(name, &toml, include_str!("swap.sql"))?;
    }
    scene.reset()?;
    scene.session.run(include_str!("swap_tables.sql"))?;
    let (mut rows, mut held) = (Vec::new(), Vec::new());
    for rep in 0..=plan.reps {
        scene.session.run("update big.moves set v = v + 1; checkpoint")?;
        read(scene.thrice().args(["run", "big_rows", DAY, "-q"]))?;
        // the first publish attaches and swaps nothing
        let watcher = if rep == 0 { None } else { Some(watch(scene)?) };
        read(scene.thrice().args(["run", "big_parts", DAY, "-q"]))?;
        let Some(watcher) = watcher else { continue };
        held.push(end_of(watcher)?);
        rows.push(scene.value(PUBLISH_TIME)?.parse()?);
        if scene.value("select count(*) from (table big.big_rows except table big.big_parts) d")? != "0" {
            bail!("the two tables differ");
        }
    }
    let ratio = Spread::of(&ratios(&held, &rows));
    let mark =
        Mark { what: "lock of a swap to publish of a delete_insert".to_owned(), ratio: ratio.median, most: 0.05 };
    let title = "Swap of 1,000,000 rows: how long readers are kept out".to_owned();
    let mut table = Table::new(title, &["", "ms: least / median / greatest", "ratio"], mark);
    table.row(&["`delete_insert`, publish".to_owned(), Spread::of(&rows).text(0), "1".to_owned()]);
    table.row(&["`partition_swap`, exclusive lock".to_owned(), Spread::of(&held).text(1), ratio.text(4)]);
    Ok(table)
}

const PUBLISH_TIME: &str = "select l.timings ->> 'publish' from thrice.pipeline_run_ledger l join thrice.partitions p using (partition_id) \
     join thrice.pipelines y using (pipeline_id) where y.pipeline_name = 'big_rows' order by l.attempt_id desc limit 1";

/// A session that looks at the server's locks all the time, until the exclusive one has come and gone.
fn watch(scene: &Scene) -> Result<Child> {
    let mut command = scene.client(&scene.psql);
    command.args(["-X", "-A", "-t", "-q", "-v", "ON_ERROR_STOP=1", "-c", include_str!("swap_watch.sql")]);
    command.args(["-c", "select round(ms::numeric, 1) from big.held order by at desc limit 1"]);
    let child = command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn()?;
    let begun = Instant::now();
    while scene.value("select count(*) from pg_stat_activity where query like 'do $$ declare first%'")? == "0" {
        if begun.elapsed() > Duration::from_secs(10) {
            bail!("the session that watches the locks did not begin");
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    Ok(child)
}

fn end_of(watcher: Child) -> Result<f64> {
    let output = watcher.wait_with_output()?;
    if !output.status.success() {
        bail!("the session that watches the locks: {}", output.status);
    }
    Ok(String::from_utf8(output.stdout)?.trim().parse()?)
}
