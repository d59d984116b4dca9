//! `[[checks]] reconcile`: the rows against a figure of the source, in the snapshot that the rows come from.

use std::time::Duration;

use anyhow::Result;
use thrice_tests::{Bench, PipelineText};

use crate::daily;

const SQL: &str =
    "select at::date as day, id, v from g.src where at >= :interval_start and at < :interval_end and v > :least";
const RUN: &str = "run t 2025-06-03";

fn pipeline(severity: &str, more: &str) -> PipelineText {
    let theirs = "select sum(v) from g.src where at >= :interval_start and at < :interval_end";
    let check = format!(
        "[[checks]]\nname = \"sums\"\nseverity = \"{severity}\"\nreconcile = {{ ours = \"sum(v)\", theirs = \"{theirs}\"{more} }}\n"
    );
    daily("t", "2025-06-01", "g.t", "day", &format!("allow_empty = true\n{check}[vars]\nleast = 0\n"), SQL)
}

async fn bench(severity: &str, more: &str) -> Result<Bench> {
    Bench::new(
        "Asia/Seoul",
        "create schema g; create table g.src (at timestamptz, id int, v numeric);
         insert into g.src select '2025-06-03 03:00Z', n, n from generate_series(1, 10) n;
         create table g.t (day date, id int, v numeric)",
        &[pipeline(severity, more)],
    )
    .await
}

/// Phase, result, figure and both sides of the newest run.
const SAID: &str =
    "select phase, passed, severity, observed, expected ->> 'ours', expected ->> 'theirs', expected ->> 'tolerance'
  from thrice.check_results where check_name = 'sums' order by attempt_id desc limit 1";

#[tokio::test(flavor = "multi_thread")]
async fn figures_that_agree_and_figures_that_do_not() -> Result<()> {
    let bench = bench("error", "").await?;
    bench.call("lint")?.expect_code(0);
    bench.call(RUN)?.expect_code(0);
    assert_eq!(bench.db.rows(SAID).await?, ["source|t|error|0|55|55|0"]);
    // the query drops what is not positive, and the source counts it
    bench.db.execute("insert into g.src values ('2025-06-03 04:00Z', 11, -0.5)").await?;
    let out = bench.call(&format!("{RUN} --json"))?.expect_code(4).expect_error("TH0705");
    assert_eq!(bench.db.rows(SAID).await?, ["source|f|error|0.5|55|54.5|0"]);
    let told = out.json()?;
    let message = told["items"][0]["error"]["message"].to_string();
    assert!(message.contains("sums: sum(v) of the rows is 55, and the source says 54.5; 0 is tolerated"), "{message}");
    let checks = told["items"][0]["checks"].as_array().cloned().unwrap_or_default();
    assert!(checks.iter().any(|check| check["phase"] == "source" && check["observed"] == "0.5"), "{checks:?}");
    assert_eq!(bench.receipts().await?, ["2025-06-03|1|publish|10"]);
    assert_eq!(bench.runs().await?[1], "2025-06-03|2|failed|check|");
    bench.project.write(&pipeline("error", ", tolerance = \"0.5\""))?;
    bench.call(RUN)?.expect_code(0);
    bench.project.write(&pipeline("error", ", tolerance = \"0.9%\""))?;
    bench.call(RUN)?.expect_code(4);
    bench.project.write(&pipeline("error", ", tolerance = \"1%\""))?;
    bench.call(RUN)?.expect_code(0);
    assert_eq!(bench.db.rows(SAID).await?, ["source|t|error|0.5|55|54.5|1%"]);
    bench.call("show t 2025-06-03")?.expect_code(0).expect_text("ok   sums  0.5");
    // a day without rows: sums over nothing are null on both sides
    bench.call("run t 2025-06-05")?.expect_code(0);
    assert_eq!(bench.db.rows(SAID).await?, ["source|t|error||||1%"]);
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_warning_is_on_record_and_publishes() -> Result<()> {
    let bench = bench("warn", "").await?;
    bench.db.execute("insert into g.src values ('2025-06-03 04:00Z', 11, -5)").await?;
    bench.call(RUN)?.expect_code(0);
    assert_eq!(bench.db.rows(SAID).await?, ["source|f|warn|5|55|50|0"]);
    assert_eq!(bench.db.value("select count(*) from g.t").await?, "10");
    Ok(())
}

/// What comes into the source while the query runs is in neither figure.
#[tokio::test(flavor = "multi_thread")]
async fn both_figures_are_of_one_snapshot() -> Result<()> {
    let bench = bench("error", "").await?;
    let mut slow = pipeline("error", "");
    slow.sql = slow.sql.replace("and v > :least", "and v > :least and (id < 10 or pg_catalog.pg_sleep(2) is not null)");
    bench.project.write(&slow)?;
    let run = bench.thrice(RUN).start()?;
    let asleep = "select count(*) from pg_stat_activity where wait_event = 'PgSleep' and datname = current_database()";
    bench.wait_for(asleep, "1", Duration::from_mins(1)).await?;
    bench.db.execute("insert into g.src values ('2025-06-03 04:00Z', 11, 1000)").await?;
    run.wait_at_most(Duration::from_mins(1))?.expect_code(0);
    assert_eq!(bench.db.rows(SAID).await?, ["source|t|error|0|55|55|0"]);
    Ok(())
}

/// Rows that a dead run staged come of a snapshot that is gone: they are staged anew, and compared in a new one. A staging
/// table that takes the rows of several days is asked for those of one.
#[tokio::test(flavor = "multi_thread")]
async fn staged_rows_of_a_dead_run_are_made_anew() -> Result<()> {
    let bench = bench("error", "").await?;
    bench
        .thrice("run t")
        .args(["--as-of", "2025-06-04T00:00:00Z"])
        .failpoints("after_stage=return(kill)")
        .run()?
        .expect_killed();
    bench.db.execute("insert into g.src values ('2025-06-03 04:00Z', 11, -5)").await?;
    let out = bench.call("run t --as-of 2025-06-04T00:00:00Z")?;
    assert!(!out.stderr().contains("adopted"), "{}", out.stderr());
    let failed = "select count(*) from thrice.check_results where check_name = 'sums' and not passed";
    assert_eq!(bench.db.value(failed).await?, "1");
    bench
        .db
        .execute(
            "delete from g.src where id = 11; insert into g.src select at - interval '1 day', id, 2 * v from g.src",
        )
        .await?;
    bench.call("run t 2025-06-01 2025-06-02 2025-06-03")?.expect_code(0);
    let all = "select p.interval_key, c.passed, c.expected ->> 'ours' from thrice.check_results c join thrice.publications r using (attempt_id)
                 join thrice.partitions p on p.current_attempt_id = r.attempt_id where check_name = 'sums' order by 1";
    assert_eq!(bench.db.rows(all).await?, ["2025-06-01|t|", "2025-06-02|t|110", "2025-06-03|t|55"]);
    Ok(())
}

/// A check that cannot be asked ends the run and is named; nothing is published, and nothing stays staged.
#[tokio::test(flavor = "multi_thread")]
async fn a_check_that_cannot_be_asked_is_named() -> Result<()> {
    let bench = bench("error", "").await?;
    for (ours, theirs, told) in [
        ("v", "select 1", "must appear in the GROUP BY"),
        ("sum(v)", "select nope from g.src", "column \\\"nope\\\" does not exist"),
        ("sum(v)", "select v from g.src", "more than one row"),
        ("sum(v)", "select 'secret 123'", "invalid input syntax for type numeric"),
    ] {
        let mut odd = pipeline("error", "");
        let (start, end) = (odd.toml.find("reconcile =").unwrap_or(0), odd.toml.find("[vars]").unwrap_or(0));
        odd.toml.replace_range(start..end, &format!("reconcile = {{ ours = \"{ours}\", theirs = \"{theirs}\" }}\n"));
        bench.project.write(&odd)?;
        let out = bench.call(&format!("{RUN} --json"))?.expect_code(8);
        let message = out.json()?["items"][0]["error"]["message"].to_string();
        assert!(message.contains("the check sums cannot be evaluated") && message.contains(told), "{message}");
        assert!(!message.contains("secret"), "{message}");
        assert_eq!(bench.staging_tables().await?, 0, "{message}");
    }
    assert_eq!(bench.receipts().await?, [""; 0]);
    Ok(())
}
