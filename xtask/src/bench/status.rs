//! `thrice status` over a long history, against psql running one indexed count over the same ledger.

use std::process::Command;

use anyhow::Result;

use crate::bench::Plan;
use crate::bench::cold::{milliseconds, pair};
use crate::bench::figures::{Spread, ratios};
use crate::bench::report::Table;
use crate::bench::scene::Scene;
use crate::process::read;

/// 100,000 published hours of a UTC pipeline: the first by a run, the others as runs would have left them.
pub(crate) fn measure(scene: &Scene, plan: &Plan) -> Result<Table> {
    hours(scene, "end = \"2021-05-29T16\"\n")?;
    let (mut bare, mut ours, mut each) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..plan.reps * 3 {
        bare.push(milliseconds(&mut count(scene))?);
        let mut command = scene.thrice();
        ours.push(milliseconds(command.args(["status", "hourly"]))?);
        let mut command = scene.thrice();
        let range = ["--from", "2010-01-01T00", "--to", "2021-05-29T15"];
        each.push(milliseconds(command.args(["status", "hourly"]).args(range))?);
    }
    let title = "thrice status over 100,000 partitions";
    let mut table = pair(title, ("psql, one indexed count", &bare), ("thrice status", &ours), 3.0);
    let ratio = Spread::of(&ratios(&each, &bare));
    table.row(&["thrice status, every one of them shown".to_owned(), Spread::of(&each).text(1), ratio.text(2)]);
    Ok(table)
}

/// The history, and a pipeline whose `[interval]` has `more` lines.
pub(crate) fn hours(scene: &Scene, more: &str) -> Result<()> {
    scene.reset()?;
    scene.session.run("create table road.hourly (at timestamptz primary key, n int not null)")?;
    scene.pipeline(
        "hourly",
        &format!("[interval]\ngrain = \"hour\"\ntime_zone = \"UTC\"\nstart = \"2010-01-01T00\"\n{more}\n[target]\ntable = \"road.hourly\"\ninterval_column = \"at\"\n"),
        "select :interval_start as at, 1 as n\nwhere :interval_end > :interval_start\n",
    )?;
    read(scene.thrice().args(["run", "hourly", "2010-01-01T00", "-q"]))?;
    scene.session.run(include_str!("history.sql"))
}

/// One process that counts the published hours by the ledger's index.
pub(crate) fn count(scene: &Scene) -> Command {
    let count = "select count(*) from thrice.partitions where pipeline_id = (select pipeline_id from thrice.pipelines where pipeline_name = 'hourly') \
                 and interval_epoch = 1 and interval_start >= '2010-01-01Z' and data_attempt_id is not null";
    let mut command = scene.client(&scene.psql);
    command.args(["-X", "-q", "-A", "-t", "-c", count]);
    command
}
