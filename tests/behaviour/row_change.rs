//! `rows = { change = "-50%..+100%" }`: a partition against the median of those published before it.

use anyhow::Result;
use thrice_tests::{Bench, PipelineText};

use crate::daily;

const SQL: &str = "select at::date as day, id from g.src where at >= :interval_start and at < :interval_end";

fn pipeline(severity: &str) -> PipelineText {
    let check = format!(
        "[[checks]]\nname = \"usual\"\nseverity = \"{severity}\"\nrows = {{ min = 1, change = \"-50%..+100%\" }}\n"
    );
    daily("t", "2025-06-01", "g.t", "day", &format!("allow_empty = true\n{check}"), SQL)
}

/// Days with these numbers of rows, from the first of June on.
async fn days(severity: &str, counts: &[u32]) -> Result<Bench> {
    let bench = Bench::new(
        "UTC",
        "create schema g; create table g.src (at timestamptz, id int); create table g.t (day date, id int)",
        &[pipeline(severity)],
    )
    .await?;
    for (day, count) in counts.iter().enumerate() {
        bench.db.execute(&rows(day + 1, *count)).await?;
    }
    Ok(bench)
}

fn rows(day: usize, count: u32) -> String {
    format!("insert into g.src select '2025-06-{day:02} 10:00Z', n from generate_series(1, {count}) n")
}

/// The check's newest result.
const SAID: &str =
    "select passed, severity, observed, expected #>> '{change,median}', expected #>> '{change,of_partitions}'
  from thrice.check_results where check_name = 'usual' order by attempt_id desc limit 1";

#[tokio::test(flavor = "multi_thread")]
async fn a_partition_is_compared_with_those_before_it() -> Result<()> {
    let bench = days("error", &[4, 10, 8, 4, 3]).await?;
    // of two nothing is usual
    bench.call("run t 2025-06-01 2025-06-02")?.expect_code(0);
    bench.call("run t 2025-06-03")?.expect_code(0);
    assert_eq!(bench.db.rows(SAID).await?, ["t|error|8||2"]);
    // 4 is half of 8, the median of 4, 8 and 10, and just passes; again unchanged, it is not compared with itself
    bench.call("run t 2025-06-04")?.expect_code(0);
    assert_eq!(bench.db.rows(SAID).await?, ["t|error|4|8|3"]);
    bench.call("run t 2025-06-04")?.expect_code(0).expect_text("unchanged");
    assert_eq!(bench.db.rows(SAID).await?, ["t|error|4|8|3"]);
    // the median of 4, 4, 8 and 10 is 6; an unchanged receipt is no partition more
    bench.call("run t 2025-06-05")?.expect_code(0);
    assert_eq!(bench.db.rows(SAID).await?, ["t|error|3|6|4"]);
    bench.db.execute(&format!("delete from g.src where at > '2025-06-05'; {}", rows(5, 2))).await?;
    bench
        .call("run t 2025-06-05")?
        .expect_code(4)
        .expect_error("TH0705")
        .expect_text("2 rows, -66.6666% against 6, the median of the 4 published before; -50%..+100% expected");
    assert_eq!(bench.db.rows(SAID).await?, ["f|error|2|6|4"]);
    assert_eq!(bench.db.value("select count(*) from g.t where day = '2025-06-05'").await?, "3");
    bench.db.execute(&rows(5, 11)).await?;
    bench.call("run t 2025-06-05")?.expect_code(4).expect_text("13 rows, +116.6666% against 6");
    Ok(())
}

/// Seven partitions before it and no more; what comes after it is not asked.
#[tokio::test(flavor = "multi_thread")]
async fn the_last_seven_say_what_is_usual() -> Result<()> {
    let bench = days("error", &[1000, 1000, 2, 2, 2, 2, 2, 2, 2, 3]).await?;
    bench.db.execute("update g.src set id = id").await?;
    bench.project.write(&pipeline("warn"))?;
    bench.call("run t --from 2025-06-01 --to 2025-06-09")?.expect_code(0);
    bench.project.write(&pipeline("error"))?;
    bench.call("run t 2025-06-10")?.expect_code(0);
    assert_eq!(bench.db.rows(SAID).await?, ["t|error|3|2|7"]);
    bench.call("run t 2025-06-01")?.expect_code(0);
    assert_eq!(bench.db.rows(SAID).await?, ["t|error|1000||0"]);
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_warning_is_on_record_and_publishes() -> Result<()> {
    let bench = days("warn", &[5, 5, 5, 100]).await?;
    bench.call("run t --from 2025-06-01 --to 2025-06-04")?.expect_code(0);
    assert_eq!(bench.db.rows(SAID).await?, ["f|warn|100|5|3"]);
    assert_eq!(bench.db.value("select count(*) from g.t where day = '2025-06-04'").await?, "100");
    Ok(())
}
