//! `thrice run` without names: what is due, newest first, and what is left to a person.

use anyhow::Result;
use thrice_tests::{Bench, PipelineText};

use crate::daily;

const SQL: &str = "select at, v, 100 / (v - 6) as w from d.src where at >= :interval_start and at < :interval_end";

/// Ten days in Los Angeles from 1 March 2025, one of which (v = 6, the 6th) divides by zero; the clocks move on the 9th.
fn pipeline(catch_up: &str, sql: &str) -> PipelineText {
    let mut pipeline = daily("t", "2025-03-01", "d.t", "at", "", sql);
    pipeline.toml = pipeline.toml.replace("catch_up = \"all\"", &format!("catch_up = {catch_up}"));
    pipeline
}

async fn bench(catch_up: &str) -> Result<Bench> {
    Bench::new(
        "America/Los_Angeles",
        "create schema d;
         create table d.src (at timestamptz, v int);
         insert into d.src select ('2025-03-01 12:00'::timestamp + (n - 1) * interval '1 day') at time zone 'America/Los_Angeles', n from generate_series(1, 10) n;
         create table d.t (at timestamptz, v int, w int)",
        &[pipeline(catch_up, SQL)],
    )
    .await
}

/// Keys in the order in which they were run.
async fn keys(bench: &Bench) -> Result<Vec<String>> {
    bench
        .db
        .rows("select p.interval_key from thrice.pipeline_run_ledger join thrice.partitions p using (partition_id) order by attempt_id")
        .await
}

#[tokio::test(flavor = "multi_thread")]
async fn the_newest_first_and_no_more_than_the_catch_up() -> Result<()> {
    let bench = bench("3").await?;
    let now = "run --as-of 2025-03-06T07:59:59Z";
    // midnight of the 5th is 08:00Z: the 5th has not ended yet, the 4th has
    bench.call(now)?.expect_code(0);
    assert_eq!(keys(&bench).await?, ["2025-03-04", "2025-03-03", "2025-03-02"]);
    bench.call(now)?.expect_code(0);
    assert_eq!(keys(&bench).await?.last().map(String::as_str), Some("2025-03-01"));
    bench.call(now)?.expect_code(0);
    assert_eq!(keys(&bench).await?.len(), 4, "all of them are published");
    bench.call(&format!("{now} --detailed-exitcode"))?.expect_code(3);
    bench.call("run --as-of 2025-03-06T08:00:00Z")?.expect_code(0);
    assert_eq!(keys(&bench).await?.last().map(String::as_str), Some("2025-03-05"));
    let triggers = bench.db.rows("select distinct trigger from thrice.pipeline_run_ledger").await?;
    assert_eq!(triggers, ["schedule"]);
    Ok(())
}

/// A day of 23 hours ends at 07:00Z.
#[tokio::test(flavor = "multi_thread")]
async fn a_short_day_is_due_an_hour_earlier() -> Result<()> {
    let bench = bench("1").await?;
    bench.call("run --as-of 2025-03-10T06:59:59Z")?.expect_code(0);
    bench.call("run --as-of 2025-03-10T07:00:00Z")?.expect_code(0);
    assert_eq!(keys(&bench).await?, ["2025-03-08", "2025-03-09"]);
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_is_caught_up_where_nothing_is_asked_for() -> Result<()> {
    let bench = bench("0").await?;
    bench.call("run --as-of 2025-03-08T12:00:00Z --detailed-exitcode")?.expect_code(3);
    assert_eq!(keys(&bench).await?, [""; 0]);
    Ok(())
}

/// Failed for good: not run again by itself, and the exit tells until somebody has looked.
#[tokio::test(flavor = "multi_thread")]
async fn what_failed_for_good_is_left_and_told() -> Result<()> {
    let bench = bench("\"all\"").await?;
    let now = "run --as-of 2025-03-08T12:00:00Z";
    bench.call(now)?.expect_code(8);
    assert_eq!(keys(&bench).await?.len(), 7, "one failure does not stop the others");
    assert_eq!(bench.db.value("select count(*) from d.t").await?, "6");
    for _ in 0..2 {
        bench.call(now)?.expect_code(8).expect_text("2025-03-06");
    }
    assert_eq!(keys(&bench).await?.len(), 7, "it was left alone");
    // a later day comes: it is run, and the old failure is still told
    bench.call("run --as-of 2025-03-09T12:00:00Z")?.expect_code(8);
    assert_eq!(keys(&bench).await?.last().map(String::as_str), Some("2025-03-08"));
    // named, it is run
    bench.db.execute("update d.src set v = 7 where v = 6").await?;
    bench.call("run t 2025-03-06")?.expect_code(0);
    bench.call("run --as-of 2025-03-09T12:00:00Z")?.expect_code(0);
    Ok(())
}

/// Corrected code is another question: the failed interval gets a chance with it, without being named.
#[tokio::test(flavor = "multi_thread")]
async fn new_code_gets_a_new_chance() -> Result<()> {
    let bench = bench("\"all\"").await?;
    let now = "run --as-of 2025-03-08T12:00:00Z";
    bench.call(now)?.expect_code(8);
    bench.project.write(&pipeline("\"all\"", &SQL.replace("(v - 6)", "nullif(v - 6, 0)")))?;
    bench.call(now)?.expect_code(0);
    let runs = bench.runs().await?;
    assert_eq!(runs.len(), 8, "only the failed one: {runs:?}");
    assert_eq!(runs[7], "2025-03-06|2|published||");
    assert_eq!(bench.db.value("select count(*) from thrice.code_versions").await?, "2");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_dry_run_writes_nothing() -> Result<()> {
    let bench = bench("2").await?;
    let out = bench.call("run --dry-run --as-of 2025-03-05T12:00:00Z --json")?.expect_code(0).json()?;
    let told: Vec<_> =
        out["items"].as_array().into_iter().flatten().map(|item| item["interval"]["key"].clone()).collect();
    assert_eq!(told, ["2025-03-04", "2025-03-03"], "{out}");
    for table in ["partitions", "pipeline_run_ledger", "workers", "publications", "events", "pipelines"] {
        assert_eq!(bench.db.value(&format!("select count(*) from thrice.{table}")).await?, "0", "{table}");
    }
    assert_eq!(bench.db.value("select count(*) from d.t").await?, "0");
    assert_eq!(bench.staging_tables().await?, 0);
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_paused_pipeline_runs_only_by_name() -> Result<()> {
    let bench = bench("\"all\"").await?;
    let mut paused = pipeline("\"all\"", SQL);
    paused.toml.insert_str(0, "paused = true\n");
    bench.project.write(&paused)?;
    bench.call("run --as-of 2025-03-05T12:00:00Z --detailed-exitcode")?.expect_code(3);
    assert_eq!(keys(&bench).await?, [""; 0]);
    bench.call("run t 2025-03-02")?.expect_code(0);
    assert_eq!(keys(&bench).await?, ["2025-03-02"]);
    Ok(())
}

/// Two pipelines, one of which cannot run at all: the other is not held up, and the exit tells.
#[tokio::test(flavor = "multi_thread")]
async fn a_broken_pipeline_does_not_stop_the_others() -> Result<()> {
    let bench = bench("\"all\"").await?;
    bench.project.write(&daily("a_broken", "2025-03-01", "d.nowhere", "at", "", SQL))?;
    let out = bench.call("run --as-of 2025-03-03T12:00:00Z")?;
    assert_eq!(out.code(), Some(2), "{}{}", out.stdout(), out.stderr());
    out.expect_error("TH0417");
    assert_eq!(keys(&bench).await?, ["2025-03-02", "2025-03-01"]);
    Ok(())
}
