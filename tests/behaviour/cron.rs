//! Boundaries by a cron expression: three shifts, across a change of the clocks.

use anyhow::Result;
use thrice_tests::{Bench, PipelineText};

const SETUP: &str = "create schema d; create table d.src (at timestamptz not null);
    insert into d.src select generate_series('2026-03-07 00:00-05'::timestamptz, '2026-03-10 00:00-04', interval '10 minutes');
    create table d.t (shift timestamptz not null, n bigint not null)";
const SQL: &str = "select :interval_start as shift, count(*) as n from d.src
                    where at >= :interval_start and at < :interval_end having count(*) > 0";
const AS_OF: &str = "--as-of 2026-03-09T14:00:00-04:00";

fn shifts() -> PipelineText {
    let toml = "[interval]\ncron = \"0 6,14,22 * * *\"\nstart = \"2026-03-07T06:00\"\ncatch_up = \"all\"\n\n\
                [target]\ntable = \"d.t\"\ninterval_column = \"shift\"\nkey = [\"shift\"]\n";
    PipelineText::new("t", toml, SQL)
}

/// Every shift is published once, the one in which the clocks went forward with an hour less; a rerun changes nothing; a key
/// that is no tick is refused with its neighbours.
#[tokio::test(flavor = "multi_thread")]
async fn shifts_are_published_from_tick_to_tick() -> Result<()> {
    let bench = Bench::new("America/New_York", SETUP, &[shifts()]).await?;
    bench.call(&format!("run {AS_OF}"))?.expect_code(0);
    let rows = "select to_char(shift at time zone 'America/New_York', 'DD HH24') || ' ' || n from d.t order by shift";
    let wanted = ["07 06 48", "07 14 48", "07 22 42", "08 06 48", "08 14 48", "08 22 48", "09 06 48"];
    assert_eq!(bench.db.rows(rows).await?, wanted);
    let keys =
        "select interval_key from thrice.partition_status where pipeline_name = 't' order by interval_start limit 1";
    assert_eq!(bench.db.value(keys).await?, "2026-03-07T06:00");
    let again = bench.call(&format!("run t 2026-03-08 --json {AS_OF}"))?.expect_code(0).json()?;
    assert_eq!(again["items"].as_array().map(Vec::len), Some(3), "{again}");
    assert!(again["items"].as_array().into_iter().flatten().all(|item| item["outcome"] == "unchanged"), "{again}");
    assert_eq!(bench.db.rows(rows).await?, wanted);
    bench
        .call(&format!("run t 2026-03-08T07:00 {AS_OF}"))?
        .expect_code(2)
        .expect_error("TH0110")
        .expect_text("write 2026-03-08T06:00 or 2026-03-08T14:00");
    bench.call(&format!("run t 2026-03-09T14:00 {AS_OF}"))?.expect_code(5).expect_error("TH0116");
    let status = bench.call(&format!("status t --json {AS_OF}"))?.expect_code(0).json()?;
    assert_eq!(status["pipelines"][0]["fresh_to"], "2026-03-09T06:00", "{status}");
    Ok(())
}
