//! W1 and W2: many partitions in one call, against the same work as pipelined, prepared SQL with one commit a partition.

use std::fs;
use std::process::Command;
use std::time::Duration;

use anyhow::{Result, bail};

use crate::bench::Plan;
use crate::bench::figures::{Spread, ratios};
use crate::bench::measure::{self, Took};
use crate::bench::report::{Mark, Table};
use crate::bench::scene::Scene;

/// A range of days over one source.
pub(crate) struct Workload {
    name: &'static str,
    what: &'static str,
    source: &'static str,
    start: &'static str,
    days: u32,
    most: f64,
}

/// Large partitions: the query is the work.
pub(crate) const W1: Workload = Workload {
    name: "W1",
    what: "365 days of 10,000 orders each into 500 rows a day",
    source: "many",
    start: "2025-01-01",
    days: 365,
    most: 1.8,
};

/// Small partitions: the protocol is the work.
pub(crate) const W2: Workload = Workload {
    name: "W2",
    what: "3,650 days of 100 orders each into about 91 rows a day",
    source: "few",
    start: "2016-01-01",
    days: 3650,
    most: 6.0,
};

/// What the server counted during one run, a partition.
#[derive(Debug, Clone, Copy, Default)]
struct Counted {
    wal_kib: f64,
    flushes: f64,
    catalog_rows: f64,
}

#[derive(Debug, Default)]
struct Contender {
    ms: Vec<f64>,
    counted: Vec<Counted>,
    peak_mib: f64,
}

/// Both contenders in turn.
pub(crate) fn measure(scene: &Scene, workload: &Workload, plan: &Plan) -> Result<Table> {
    let Workload { name, what, source, start, .. } = workload;
    let days = plan.days.unwrap_or(workload.days).min(workload.days);
    scene.daily(&format!("source.{source}"), start)?;
    let last = scene.value(&format!("select date '{start}' + {}", days - 1))?;
    scene.session.run(&format!(
        "drop table if exists source.expected; create table source.expected as select * from source.days_of_{source} where day <= '{last}'"
    ))?;
    let expected = scene.value("select source.content('source.expected')")?;
    let script = scene.project.0.join(format!("{name}.pgbench"));
    fs::write(&script, pipelined(workload))?;
    let (mut bare, mut road) = (Contender::default(), Contender::default());
    let mut steps = String::new();
    for _ in 0..plan.reps {
        scene.reset()?;
        let mut command = scene.client(&scene.pgbench);
        command.args(["-n", "-M", "prepared", "-c", "1", "-j", "1", "-D", "i=-1", "-t", &days.to_string(), "-f"]);
        one(scene, &mut bare, command.arg(&script), ("plain.daily", &expected), days)?;
        let mut command = scene.thrice();
        command.args(["run", "daily", "--from", start, "--to", &last, "-q"]);
        one(scene, &mut road, &mut command, ("road.daily", &expected), days)?;
        steps = medians_of_steps(scene)?;
        let newest = |contender: &Contender| contender.ms.last().copied().unwrap_or_default();
        println!("pipelined SQL {:.2} ms, thrice {:.2} ms a partition", newest(&bare), newest(&road));
    }
    let ratio = Spread::of(&ratios(&road.ms, &bare.ms));
    let columns = [
        "contender",
        "ms a partition: least / median / greatest",
        "ratio",
        "WAL KiB",
        "flushes",
        "catalog rows",
        "peak MiB",
    ];
    let mark = Mark { what: format!("{name}: thrice to pipelined SQL"), ratio: ratio.median, most: workload.most };
    let mut table = Table::new(format!("{name}: {what}"), &columns, mark);
    table.row(&bare.cells("pipelined SQL: no staging, no checks, no receipt", "1"));
    table.row(&road.cells("thrice run", &ratio.text(2)));
    table.note(steps);
    Ok(table)
}

impl Contender {
    fn cells(&self, name: &str, ratio: &str) -> [String; 7] {
        let median =
            |figure: fn(&Counted) -> f64| Spread::of(&self.counted.iter().map(figure).collect::<Vec<_>>()).median;
        [
            name.to_owned(),
            Spread::of(&self.ms).text(2),
            ratio.to_owned(),
            format!("{:.1}", median(|counted| counted.wal_kib)),
            format!("{:.2}", median(|counted| counted.flushes)),
            format!("{:.1}", median(|counted| counted.catalog_rows)),
            format!("{:.0}", self.peak_mib),
        ]
    }
}

fn one(scene: &Scene, contender: &mut Contender, command: &mut Command, result: (&str, &str), days: u32) -> Result<()> {
    let before = counters(scene)?;
    let Took { wall, peak_mib } = measure::run(command, true)?;
    let after = counters(scene)?;
    let (table, expected) = result;
    let got = scene.value(&format!("select source.content('{table}')"))?;
    if got != expected {
        bail!("{table} holds {got}, one set-based statement gives {expected}");
    }
    let each = |after: f64, before: f64| (after - before) / f64::from(days);
    contender.ms.push(wall.as_secs_f64() * 1000.0 / f64::from(days));
    contender.peak_mib = contender.peak_mib.max(peak_mib);
    contender.counted.push(Counted {
        wal_kib: each(after.wal_kib, before.wal_kib),
        flushes: each(after.flushes, before.flushes),
        catalog_rows: each(after.catalog_rows, before.catalog_rows),
    });
    Ok(())
}

/// The server's own counters. Sessions report theirs at most once a second, and at their end.
fn counters(scene: &Scene) -> Result<Counted> {
    std::thread::sleep(Duration::from_millis(1200));
    let flushes = if scene.cluster.server.major >= 18 {
        "(select sum(fsyncs) from pg_stat_io where object = 'wal')"
    } else {
        "wal_sync"
    };
    let line = scene.value(&format!(
        "select (wal_bytes / 1024)::float8, {flushes}::float8, (select sum(n_tup_ins + n_tup_upd + n_tup_del)::float8 \
         from pg_stat_sys_tables where schemaname = 'pg_catalog') from pg_stat_wal"
    ))?;
    let figures: Vec<f64> = line.split('|').map(str::parse).collect::<Result<_, _>>()?;
    let [wal_kib, flushes, catalog_rows] = figures[..] else { bail!("three counters, not {line}") };
    Ok(Counted { wal_kib, flushes, catalog_rows })
}

/// Where a run's time goes, by its own account in the ledger.
fn medians_of_steps(scene: &Scene) -> Result<String> {
    let line = scene.value(
        "select string_agg(format('%s %s', step, ms), ', ' order by place) from (\
         select step, array_position(array['claim', 'stage', 'check', 'publish'], step) as place, \
         percentile_disc(0.5) within group (order by (timings ->> step)::float8) as ms \
         from thrice.pipeline_run_ledger, unnest(array['claim', 'stage', 'check', 'publish']) as step group by step) s",
    )?;
    Ok(format!("Median milliseconds of a run's steps, by its own account in whole ones: {line}."))
}

/// A script for pgbench: delete, insert from the query, a ledger row, one commit; sent as one pipeline.
fn pipelined(Workload { source, start, .. }: &Workload) -> String {
    include_str!("pipelined.pgbench")
        .replace("{day}", &format!("(date '{start}' + :i::int)"))
        .replace("{source}", source)
}
