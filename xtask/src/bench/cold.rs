//! W3 and start-up: whole processes, one after the other.

use std::fs;
use std::process::Command;

use anyhow::{Result, bail};

use crate::bench::Plan;
use crate::bench::figures::{Spread, ratios};
use crate::bench::measure;
use crate::bench::report::{Mark, Table};
use crate::bench::scene::Scene;
use crate::process::read;

const DAY: &str = "2025-06-15";

/// W3: one published partition, recomputed with another result each time, by a process of its own.
pub(crate) fn partition(scene: &Scene, plan: &Plan) -> Result<Table> {
    scene.daily("source.many", "2025-01-01")?;
    scene.reset()?;
    // the week around it is published
    read(scene.thrice().args(["run", "daily", "--from", "2025-06-12", "--to", "2025-06-18", "-q"]))?;
    let script = scene.project.0.join("one.sql");
    fs::write(&script, include_str!("one.sql").replace("{day}", DAY))?;
    let (mut bare, mut road) = (Vec::new(), Vec::new());
    for _ in 0..plan.reps * 10 {
        // a new result, so that neither finds its work done
        scene.session.run(&format!(
            "update source.many set amount = amount + 1 where order_id = (select min(order_id) from source.many \
             where ordered_at >= timestamp '{DAY}' at time zone 'Asia/Seoul')"
        ))?;
        let mut command = scene.client(&scene.psql);
        bare.push(milliseconds(command.args(["-X", "-q", "-v", "ON_ERROR_STOP=1", "-f"]).arg(&script))?);
        road.push(milliseconds(scene.thrice().args(["run", "daily", DAY, "-q"]))?);
        let (theirs, ours) = (content(scene, "plain.daily")?, content(scene, "road.daily")?);
        if ours != theirs {
            bail!("the day differs: psql {theirs}, thrice {ours}");
        }
    }
    let title = "W3: one partition of 10,000 orders, re-run with another result by a process of its own";
    Ok(pair(title, ("psql -f", &bare), ("thrice run", &road), 2.5))
}

fn content(scene: &Scene, table: &str) -> Result<String> {
    scene.session.run(&format!(
        "drop table if exists source.one; create table source.one as select * from {table} where day = '{DAY}'"
    ))?;
    scene.value("select source.content('source.one')")
}

/// What needs no database must not look for one.
pub(crate) fn start(scene: &Scene, plan: &Plan) -> Result<Vec<Table>> {
    let mut tables = Vec::new();
    for words in [&["--help"][..], &["explain", "TH0531"][..]] {
        let (mut bare, mut ours) = (Vec::new(), Vec::new());
        for _ in 0..plan.reps * 20 {
            bare.push(milliseconds(Command::new(&scene.psql).arg("--version"))?);
            ours.push(milliseconds(Command::new(&scene.thrice).args(words))?);
        }
        let name = format!("thrice {}", words.join(" "));
        tables.push(pair(&format!("Start-up: {name}"), ("psql --version", &bare), (&name, &ours), 1.5));
    }
    Ok(tables)
}

pub(crate) fn milliseconds(command: &mut Command) -> Result<f64> {
    Ok(measure::run(command, false)?.wall.as_secs_f64() * 1000.0)
}

/// Two contenders, the second judged by its ratio to the first.
pub(crate) fn pair(title: &str, bare: (&str, &[f64]), ours: (&str, &[f64]), most: f64) -> Table {
    let ratio = Spread::of(&ratios(ours.1, bare.1));
    let mark = Mark { what: format!("{} to {}", ours.0, bare.0), ratio: ratio.median, most };
    let mut table = Table::new(title.to_owned(), &["process", "ms: least / median / greatest", "ratio"], mark);
    table.row(&[bare.0.to_owned(), Spread::of(bare.1).text(1), "1".to_owned()]);
    table.row(&[ours.0.to_owned(), Spread::of(ours.1).text(1), ratio.text(2)]);
    table
}
