//! What strategies, comparison and checks cost on one big partition: write-ahead log of a merge, and the server's time for single
//! statements.

use anyhow::{Context, Result};

use crate::bench::Plan;
use crate::bench::figures::{Spread, ratios};
use crate::bench::report::{Mark, Table};
use crate::bench::scene::Scene;
use crate::bench::statements::Log;
use crate::process::read;

const DAY: &str = "2026-03-24";
const TABLES: &str = "drop schema if exists few cascade;
    create schema few;
    create table few.src (n int primary key, v numeric(12, 2) not null, note text);
    insert into few.src select n, n, md5(n::text) from generate_series(1, 200000) n;
    create table few.replaced (day date not null, n int not null, v numeric(12, 2), note text, primary key (day, n));
    create table few.merged (like few.replaced including all);
    create table few.compared (like few.replaced including all);
    create table few.checked (n int, v numeric(12, 2), note text, kind text, day date)";

fn pipeline(scene: &Scene, name: &str, more: &str, sql: &str) -> Result<()> {
    let toml = format!(
        "[interval]\ngrain = \"day\"\nstart = \"2026-03-01\"\n\
         [target]\ntable = \"few.{name}\"\ninterval_column = \"day\"\n{more}"
    );
    scene.pipeline(name, &toml, sql)
}

/// A hundredth of 200,000 rows has changed: what `merge` and `delete_insert` write to the write-ahead log for it.
pub(crate) fn log_of_a_merge(scene: &Scene, plan: &Plan) -> Result<Table> {
    let sql = "select date '2026-03-24' as day, n, v, note from few.src where :interval_date = date '2026-03-24'";
    pipeline(scene, "replaced", "key = [\"day\", \"n\"]\n", sql)?;
    pipeline(scene, "merged", "strategy = \"merge\"\nrows = \"complete\"\nkey = [\"day\", \"n\"]\n", sql)?;
    scene.reset()?;
    scene.session.run(TABLES)?;
    let (mut replaced, mut merged) = (Vec::new(), Vec::new());
    for rep in 0..=plan.reps {
        scene.session.run(&format!("update few.src set v = v + 1 where n % 100 = {}", rep % 100))?;
        for (name, figures) in [("replaced", &mut replaced), ("merged", &mut merged)] {
            let before = scene.value("select pg_current_wal_insert_lsn()")?;
            read(scene.thrice().args(["run", name, DAY, "-q"]))?;
            let bytes = scene.value(&format!("select pg_current_wal_insert_lsn() - '{before}'"))?;
            // the first publish fills the table
            if rep > 0 {
                figures.push(bytes.parse::<f64>()? / 1_048_576.0);
            }
        }
        let differ = "select count(*) from (table few.replaced except table few.merged) d";
        anyhow::ensure!(scene.value(differ)? == "0", "the two tables differ");
    }
    let ratio = Spread::of(&ratios(&merged, &replaced));
    let mark = Mark { what: "log of a merge to log of a delete_insert".to_owned(), ratio: ratio.median, most: 0.10 };
    let title = "1 % of 200,000 rows has changed: write-ahead log".to_owned();
    let mut table = Table::new(title, &["", "MiB: least / median / greatest", "ratio"], mark);
    table.row(&["`delete_insert`".to_owned(), Spread::of(&replaced).text(1), "1".to_owned()]);
    table.row(&["`merge`".to_owned(), Spread::of(&merged).text(1), ratio.text(3)]);
    Ok(table)
}

/// Old rows against new ones, beside the delete and the insert of the same publish; 100,000 rows, all of which change.
pub(crate) fn comparison(scene: &Scene, plan: &Plan) -> Result<Table> {
    let sql = "select date '2026-03-24' as day, n, v, note from few.src where n <= 100000 and :interval_date = date '2026-03-24'";
    pipeline(scene, "compared", "key = [\"day\", \"n\"]\n", sql)?;
    scene.reset()?;
    scene.session.run(TABLES)?;
    read(scene.thrice().args(["run", "compared", DAY, "-q"]))?;
    let (mut compared, mut written) = (Vec::new(), Vec::new());
    for _ in 0..plan.reps {
        scene.session.run("update few.src set v = v + 1; vacuum analyze few.compared; checkpoint")?;
        let log = Log::begin(scene)?;
        read(scene.thrice().args(["run", "compared", DAY, "-q"]))?;
        compared.push(log.milliseconds(&["jsonb_build_object('rows'", "\"compared\""])?);
        written.push(
            log.milliseconds(&["delete from \"few\".\"compared\""])?
                + log.milliseconds(&["insert into \"few\".\"compared\""])?,
        );
        log.end()?;
    }
    let ratio = Spread::of(&ratios(&compared, &written));
    let mark = Mark { what: "comparison to delete_insert".to_owned(), ratio: ratio.median, most: 0.45 };
    let title = "Old against new, 100,000 rows: time of the statements on the server".to_owned();
    let mut table = Table::new(title, &["", "ms: least / median / greatest", "ratio"], mark);
    table.row(&["delete and insert".to_owned(), Spread::of(&written).text(0), "1".to_owned()]);
    table.row(&["comparison".to_owned(), Spread::of(&compared).text(0), ratio.text(2)]);
    Ok(table)
}

const TEN_CHECKS: &str = "
[[checks]]
rows = { min = 1, max = 10 }
[[checks]]
not_null = [\"n\", \"v\"]
[[checks]]
null_rate = { column = \"note\", max = \"1%\" }
[[checks]]
range = { column = \"v\", min = 0 }
[[checks]]
range = { column = \"n\", min = 1, max = 1000000 }
[[checks]]
accepted_values = { column = \"kind\", values = [\"a\", \"b\", \"c\"] }
[[checks]]
expression = \"v >= n\"
[[checks]]
expression = \"length(note) = 32\"
[[checks]]
null_rate = { column = \"kind\", max = \"0%\" }
[[checks]]
range = { column = \"day\", min = 2026-03-24, max = 2026-03-24 }
";

/// Ten checks of 1,000,000 staged rows in one statement, beside one aggregate that reads all of them. One check fails, so that
/// nothing is published.
pub(crate) fn checks(scene: &Scene, plan: &Plan) -> Result<Table> {
    let sql = "select n, n::numeric(12, 2) as v, md5(n::text) as note, substr('abc', n % 3 + 1, 1) as kind, date '2026-03-24' as day
                 from generate_series(1, 1000000) n where :interval_date = date '2026-03-24'";
    pipeline(scene, "checked", TEN_CHECKS, sql)?;
    scene.reset()?;
    scene.session.run(TABLES)?;
    let (mut checked, mut scanned) = (Vec::new(), Vec::new());
    for _ in 0..plan.reps {
        let log = Log::begin(scene)?;
        let output = scene.thrice().args(["run", "checked", DAY, "-q"]).output().context("thrice run")?;
        anyhow::ensure!(
            output.status.code() == Some(4),
            "a check was to fail: {}",
            String::from_utf8_lossy(&output.stderr)
        );
        let staged =
            scene.value("select staging_relation from thrice.pipeline_run_ledger order by attempt_id desc limit 1")?;
        checked.push(log.milliseconds(&["filter (where", staged.trim_start_matches("thrice_staging.")])?);
        scene
            .session
            .run(&format!("select count(*), sum(v), min(n), max(n), count(note), max(day), min(kind) from {staged}"))?;
        scanned.push(log.milliseconds(&["select count(*), sum(v), min(n)"])?);
        log.end()?;
        scene.session.run(&format!("drop table {staged}"))?;
    }
    let ratio = Spread::of(&ratios(&checked, &scanned));
    let mark = Mark { what: "ten checks to one aggregate".to_owned(), ratio: ratio.median, most: 1.5 };
    let title = "Ten checks of 1,000,000 staged rows: time of the statement on the server".to_owned();
    let mut table = Table::new(title, &["", "ms: least / median / greatest", "ratio"], mark);
    table.note(
        "A `matches` is as dear as the regular expression: one over 32 characters takes longer than all ten of these."
            .to_owned(),
    );
    table.row(&["one aggregate over all rows".to_owned(), Spread::of(&scanned).text(0), "1".to_owned()]);
    table.row(&["ten checks".to_owned(), Spread::of(&checked).text(0), ratio.text(2)]);
    Ok(table)
}
