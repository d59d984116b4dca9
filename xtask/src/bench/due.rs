//! `thrice run --dry-run` over a long history with gaps, against psql running one indexed count over the same ledger.

use anyhow::Result;

use crate::bench::Plan;
use crate::bench::cold::milliseconds;
use crate::bench::figures::{Spread, ratios};
use crate::bench::measure;
use crate::bench::report::Table;
use crate::bench::scene::Scene;
use crate::bench::status;

/// 87,600 hours of which every other one is published: what is due of them.
pub(crate) fn measure(scene: &Scene, plan: &Plan) -> Result<Table> {
    status::hours(scene, "end = \"2019-12-30T00\"\ncatch_up = \"all\"\n")?;
    scene.session.run(
        "set session_replication_role = replica; \
         create temp table gaps as select partition_id from thrice.partitions where extract(hour from interval_start at time zone 'UTC')::int % 2 = 1; \
         delete from thrice.publications where partition_id in (select partition_id from gaps); \
         delete from thrice.pipeline_run_ledger where partition_id in (select partition_id from gaps); \
         delete from thrice.partitions where partition_id in (select partition_id from gaps); \
         set session_replication_role = origin; drop table gaps",
    )?;
    let (mut bare, mut ours, mut peak_mib) = (Vec::new(), Vec::new(), 0.0_f64);
    for _ in 0..plan.reps * 3 {
        bare.push(milliseconds(&mut status::count(scene))?);
        let mut command = scene.thrice();
        let took = measure::run(command.args(["run", "hourly", "--dry-run", "--json"]), true)?;
        ours.push(took.wall.as_secs_f64() * 1000.0);
        peak_mib = peak_mib.max(took.peak_mib);
    }
    let ratio = Spread::of(&ratios(&ours, &bare));
    let mut table = Table::without_mark(
        "What is due of 87,600 hours, half of them published".to_owned(),
        &["process", "ms: least / median / greatest", "ratio", "peak MiB"],
    );
    table.row(&["psql, one indexed count".to_owned(), Spread::of(&bare).text(1), "1".to_owned(), String::new()]);
    let name = "thrice run --dry-run --json".to_owned();
    table.row(&[name, Spread::of(&ours).text(1), ratio.text(2), format!("{peak_mib:.0}")]);
    Ok(table)
}
