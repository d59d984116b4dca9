//! From days to hours after days were published: refused, then asked for, then adopted and replaced.

use anyhow::Result;
use thrice_tests::{Bench, PipelineText};

use crate::{daily, hourly};

const SETUP: &str = "create schema d; create table d.src (at timestamptz not null, v int not null);
    insert into d.src select at, 1 from generate_series('2026-03-01 00:00+09'::timestamptz, '2026-03-03 23:30+09', interval '30 minutes') at;
    create table d.t (at timestamptz not null, v int not null)";
const SQL: &str = "select at, v from d.src where at >= :interval_start and at < :interval_end";
const AS_OF: &str = "--as-of 2026-03-04T00:00:00+09:00";

fn days() -> PipelineText {
    daily("t", "2026-03-01", "d.t", "at", "", SQL)
}

fn hours() -> PipelineText {
    hourly("t", "2026-03-01T00", "d.t", "at", "", SQL)
}

#[tokio::test(flavor = "multi_thread")]
async fn from_days_to_hours() -> Result<()> {
    let bench = Bench::new("Asia/Seoul", SETUP, &[days()]).await?;
    bench.call("recut t --reason early")?.expect_code(0).expect_text("nothing to recut");
    bench.call(&format!("run {AS_OF}"))?.expect_code(0);
    bench.call("recut t --reason unchanged")?.expect_code(0).expect_text("nothing to recut");
    bench.project.write(&hours())?;
    let all = "select count(*) from d.t";
    assert_eq!(bench.db.value(all).await?, "144");

    // nothing runs, nothing is shown as what it is not, and the way out is told
    bench.call(&format!("run {AS_OF}"))?.expect_code(5).expect_error("TH0535").expect_text("thrice recut t --reason");
    let status = bench.call(&format!("status t --from 2026-03-03T00 --to 2026-03-03T23 {AS_OF}"))?;
    status.expect_code(0).expect_error("TH0535").expect_text("nothing published");
    bench.call("doctor")?.expect_code(5).expect_text("TH0535");

    bench.call("recut t")?.expect_code(5).expect_error("TH0501");
    // sums of a day would be counted beside the hours
    bench.call("recut t --reason finer --yes")?.expect_code(5).expect_error("TH0535").expect_text("--keep-rows");
    let asked = bench.call("recut t --reason finer --keep-rows")?.expect_code(5).expect_error("TH0503");
    let asked = asked.expect_text("3 partitions published: 2026-03-01 to 2026-03-03");
    let asked = asked.expect_text("old  day in Asia/Seoul   epoch 1").expect_text("new  hour in Asia/Seoul   epoch 2");
    asked.expect_text("thrice adopt t --from 2026-03-01T00 --to 2026-03-03T23");
    assert_eq!(bench.db.value("select interval_epoch from thrice.pipelines").await?, "1");

    let done = bench.call("recut t --reason finer --json --yes --keep-rows")?.expect_code(0).json()?;
    assert_eq!((&done["outcome"], &done["old"]["published"]), (&"recut".into(), &3.into()), "{done}");
    assert_eq!((&done["new"]["interval_epoch"], &done["new"]["grain"]), (&2.into(), &"hour".into()), "{done}");
    assert_eq!(done["next"], "thrice adopt t --from 2026-03-01T00 --to 2026-03-03T23 --reason \"…\"");
    bench.call("recut t --reason again")?.expect_code(0).expect_text("nothing to recut");

    // the old cut stays in the ledger, and no row was changed
    let ledger = bench.call("ledger t --json")?.expect_code(0).json()?;
    assert_eq!(ledger["runs"].as_array().map(Vec::len), Some(3), "{ledger}");
    assert_eq!(ledger["runs"][0]["key"], "2026-03-01", "newest run first, and the newest day ran first");
    assert_eq!(bench.db.value(all).await?, "144");
    let status = bench.call(&format!("status t --from 2026-03-03T00 --to 2026-03-03T23 --json {AS_OF}"))?;
    let status = status.expect_code(0).json()?;
    assert_eq!(status["pipelines"][0]["counts"]["missing"], 24, "{status}");

    // rows that no receipt of the new cut accounts for are refused until they are adopted or replaced
    bench.call(&format!("run t 2026-03-03T05 {AS_OF}"))?.expect_code(5).expect_error("TH0531");
    let replaced = format!("run t 2026-03-03T05 --overwrite-existing --reason finer {AS_OF}");
    bench.call(&replaced)?.expect_code(0).expect_text("published");
    bench.db.execute("insert into d.src values ('2026-03-03 06:15+09', 2)").await?;
    let adopted =
        bench.call(&format!("adopt t --from 2026-03-01T00 --to 2026-03-03T23 --reason finer --yes {AS_OF}"))?;
    adopted.expect_code(0).expect_text("71 recorded as published, 1 published before");
    bench.call(&format!("run t 2026-03-03T06 {AS_OF}"))?.expect_code(0).expect_text("+3 -2");
    assert_eq!(bench.db.value(all).await?, "145");
    let status = bench.call(&format!("status t --json {AS_OF}"))?.expect_code(0).json()?;
    assert_eq!(status["pipelines"][0]["fresh_to"], "2026-03-03T23", "{status}");
    let through = "select thrice.published_through('t') at time zone 'Asia/Seoul'";
    assert_eq!(bench.db.value(through).await?, "2026-03-04 00:00:00");

    // a start that moved cuts no interval in two
    let mut later = hours();
    later.toml = later.toml.replace("2026-03-01T00", "2026-03-02T00");
    bench.project.write(&later)?;
    bench.call(&format!("run t 2026-03-03T06 {AS_OF}"))?.expect_code(0).expect_text("unchanged");
    Ok(())
}

/// A zone whose clocks were never changed apart is another zone all the same: its keys and dates are.
#[tokio::test(flavor = "multi_thread")]
async fn another_zone_is_another_cut() -> Result<()> {
    let bench = Bench::new("Asia/Seoul", SETUP, &[days()]).await?;
    bench.call(&format!("run {AS_OF}"))?.expect_code(0);
    let mut there = days();
    there.toml = there.toml.replace("grain = \"day\"", "grain = \"day\"\ntime_zone = \"America/New_York\"");
    bench.project.write(&there)?;
    bench.call("run t 2026-03-02 --as-of 2026-03-04T00:00:00-05:00")?.expect_code(5).expect_error("TH0535");
    bench.call("recut t --reason moved --yes --keep-rows")?.expect_code(0).expect_text("epoch 2");
    bench.call("run t 2026-03-02 --as-of 2026-03-04T00:00:00-05:00")?.expect_code(5).expect_error("TH0531");
    let replace = "run t 2026-03-02 --overwrite-existing --reason moved --as-of 2026-03-04T00:00:00-05:00";
    bench.call(replace)?.expect_code(0);
    let rows = "select count(*) from d.t where at >= '2026-03-02 00:00-05' and at < '2026-03-03 00:00-05'";
    assert_eq!(bench.db.value(rows).await?, "48");
    assert_eq!(bench.db.value("select count(*) from d.t").await?, "144");
    Ok(())
}
