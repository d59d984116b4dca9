//! What is tried again, how often, and what a run leaves on the server when it is given up.

use std::time::Duration;

use anyhow::Result;
use thrice_tests::Bench;

use crate::daily;

const LIMIT: Duration = Duration::from_mins(1);

/// A query that sleeps for the seconds in `y.nap`, per row of the day.
const SLOW: &str = "select at, v, (select pg_sleep(s) from y.nap)::text as note from y.src
  where at >= :interval_start and at < :interval_end";

async fn bench(more: &str, nap: f64) -> Result<Bench> {
    Bench::new(
        "Europe/Berlin",
        &format!(
            "create schema y;
             create table y.nap (s float8); insert into y.nap values ({nap});
             create table y.src (at timestamptz, v int);
             insert into y.src select '2025-01-10 09:00Z'::timestamptz + n * interval '1 day', n from generate_series(0, 9) n;
             create table y.t (at timestamptz, v int, note text)"
        ),
        &[daily("t", "2025-01-01", "y.t", "at", more, SLOW)],
    )
    .await
}

/// Statements of other sessions that run in this database.
fn active(bench: &Bench) -> String {
    format!(
        "select count(*) from pg_stat_activity where datname = '{}' and backend_type = 'client backend'
            and pid <> pg_backend_pid() and (state = 'active' or state like 'idle in transaction%')",
        bench.db.name()
    )
}

#[tokio::test(flavor = "multi_thread")]
async fn a_locked_target_is_tried_again() -> Result<()> {
    let bench = bench("[retry]\nattempts = 3\nfirst_delay = \"1s\"\n[timeouts]\nlock = \"1s\"\n", 0.0).await?;
    bench.call("run t 2025-01-10")?.expect_code(0);
    bench.db.execute("update y.src set v = 100").await?;
    let holder = bench.db.connect().await?;
    holder.batch_execute("begin; select * from y.t for update").await?;
    let run = bench.thrice("run t 2025-01-10").start()?;
    bench.wait_for("select count(*) from thrice.pipeline_run_ledger where sqlstate = '55P03'", "1", LIMIT).await?;
    holder.batch_execute("rollback").await?;
    run.wait_at_most(LIMIT)?.expect_code(0);
    assert_eq!(bench.runs().await?[1..], ["2025-01-10|2|failed|transient|55P03", "2025-01-10|3|published||"]);
    assert_eq!(bench.db.rows("select v from y.t").await?, ["100"]);
    // the second run did not ask the query again: it took over what the first had staged
    let resumed = "select resumed_from is not null from thrice.pipeline_run_ledger where attempt_no = 3";
    assert_eq!(bench.db.value(resumed).await?, "t");
    let triggers = bench.db.rows("select trigger from thrice.pipeline_run_ledger order by attempt_no").await?;
    assert_eq!(triggers, ["manual", "manual", "retry"]);
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_permanent_is_not_tried_again() -> Result<()> {
    let bench = bench("[retry]\nattempts = 5\nfirst_delay = \"1s\"\n", 0.0).await?;
    for (break_it, repair, code) in [
        ("alter table y.t add constraint c check (v < 0)", "alter table y.t drop constraint c", "23514"),
        (
            "alter table y.t alter column v type smallint; update y.src set v = 40000",
            "alter table y.t alter column v type int; update y.src set v = 1",
            "22003",
        ),
        (
            "create function y.no() returns trigger language plpgsql as 'begin raise ''no''; end';
             create trigger no before insert on y.t for each row execute function y.no()",
            "drop trigger no on y.t",
            "P0001",
        ),
        (
            "create function y.lose() returns trigger language plpgsql as 'begin return null; end';
             create trigger lose before insert on y.t for each row execute function y.lose()",
            "drop trigger lose on y.t",
            "TH012",
        ),
    ] {
        bench.db.execute(&format!("delete from thrice.check_results; {break_it}")).await?;
        let before = bench.runs().await?.len();
        let out = bench.call("run t 2025-01-10")?;
        assert!(matches!(out.code(), Some(2 | 8)), "{code}: {:?}\n{}\n{}", out.code(), out.stdout(), out.stderr());
        let runs = bench.runs().await?;
        assert_eq!(runs.len(), before + 1, "{code}: {runs:?}\n{}", out.stderr());
        assert!(runs[before].ends_with(&format!("|failed|permanent|{code}")), "{runs:?}");
        assert_eq!(bench.db.value("select count(*) from y.t").await?, "0");
        assert_eq!(bench.staging_tables().await?, 0, "{code}");
        bench.db.execute(repair).await?;
    }
    Ok(())
}

/// A trigger that drops rows will do so again: exit 8, and the words say where to look.
#[tokio::test(flavor = "multi_thread")]
async fn a_trigger_that_drops_rows_is_permanent() -> Result<()> {
    let bench = bench("", 0.0).await?;
    bench
        .db
        .execute(
            "create function y.lose() returns trigger language plpgsql as 'begin return null; end';
             create trigger lose before insert on y.t for each row execute function y.lose()",
        )
        .await?;
    bench.call("run t 2025-01-10")?.expect_code(8).expect_error("TH0606").expect_text("a trigger returned null");
    assert_eq!(bench.runs().await?, ["2025-01-10|1|failed|permanent|TH012"]);
    Ok(())
}

/// A crash of the server empties what is staged. It is staged again, and the day is not published empty.
#[tokio::test(flavor = "multi_thread")]
async fn staging_that_lost_its_rows_is_made_again() -> Result<()> {
    let bench = bench("[retry]\nattempts = 3\nfirst_delay = \"1s\"\n", 0.0).await?;
    let run = bench.thrice("run t 2025-01-10").failpoints("after_validate=1*return(sleep:3000)").start()?;
    bench.wait_for("select count(*) from thrice.pipeline_run_ledger where status = 'validated'", "1", LIMIT).await?;
    let staged = bench.db.value("select 'thrice_staging.' || relname from pg_class where relnamespace = 'thrice_staging'::regnamespace and relkind = 'r'").await?;
    bench.db.execute(&format!("truncate {staged}")).await?;
    run.wait_at_most(LIMIT)?.expect_code(0);
    assert_eq!(bench.runs().await?, ["2025-01-10|1|failed|transient|TH011", "2025-01-10|2|published||"]);
    assert_eq!(bench.db.rows("select v from y.t").await?, ["0"]);
    Ok(())
}

/// The lock is never given: as many runs as the policy has, then exit 7; the next call may try again.
#[tokio::test(flavor = "multi_thread")]
async fn a_budget_that_is_used_up() -> Result<()> {
    let more = "[retry]\nattempts = 2\nbudget = \"6s\"\nfirst_delay = \"1s\"\n[timeouts]\nlock = \"1s\"\n";
    let bench = bench(more, 0.0).await?;
    let holder = bench.db.connect().await?;
    holder.batch_execute("begin; lock table y.t in share mode").await?;
    bench.thrice("run t 2025-01-10").start()?.wait_at_most(LIMIT)?.expect_code(7);
    let twice = ["2025-01-10|1|failed|transient|55P03", "2025-01-10|2|failed|transient|55P03"];
    assert_eq!(bench.runs().await?, twice);
    assert_eq!(bench.db.value("select count(*) from y.t").await?, "0");
    holder.batch_execute("rollback").await?;
    bench.call("run t 2025-01-10")?.expect_code(0);
    assert_eq!(bench.runs().await?[2], "2025-01-10|3|published||");
    // what the failed runs staged is kept for the length of the budget, and then it goes
    tokio::time::sleep(Duration::from_secs(7)).await;
    bench.call("run t 2025-01-10")?.expect_code(0);
    assert_eq!(bench.staging_tables().await?, 0);
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_slow_query_is_ended_on_the_server() -> Result<()> {
    let bench = bench("[retry]\nattempts = 3\nfirst_delay = \"1s\"\n[timeouts]\nstage = \"1s\"\n", 30.0).await?;
    bench
        .thrice("run t 2025-01-10")
        .start()?
        .wait_at_most(Duration::from_secs(20))?
        .expect_code(8)
        .expect_error("TH0603");
    assert_eq!(bench.runs().await?, ["2025-01-10|1|failed|timeout|57014"]);
    bench.wait_for(&active(&bench), "0", Duration::from_secs(10)).await?;
    assert_eq!(bench.staging_tables().await?, 0);
    Ok(())
}

/// Where the pipeline says that a time-out may pass, it is tried again like a lock.
#[tokio::test(flavor = "multi_thread")]
async fn a_timeout_that_counts_as_transient() -> Result<()> {
    let more = "[retry]\nattempts = 2\nfirst_delay = \"1s\"\non_timeout = true\n[timeouts]\nstage = \"1s\"\n";
    let bench = bench(more, 30.0).await?;
    let run = bench.thrice("run t 2025-01-10").start()?;
    bench.wait_for("select count(*) from thrice.pipeline_run_ledger where status = 'failed'", "1", LIMIT).await?;
    bench.db.execute("update y.nap set s = 0").await?;
    run.wait_at_most(LIMIT)?.expect_code(0);
    assert_eq!(bench.runs().await?, ["2025-01-10|1|failed|transient|57014", "2025-01-10|2|published||"]);
    Ok(())
}

async fn stopped(signal: &str, code: i32) -> Result<()> {
    let bench = bench("", 120.0).await?;
    let run = bench.thrice("run t 2025-01-10 2025-01-11").start()?;
    let sleeping = format!(
        "select count(*) from pg_stat_activity where datname = '{}' and wait_event = 'PgSleep'",
        bench.db.name()
    );
    bench.wait_for(&sleeping, "1", LIMIT).await?;
    run.signal(signal)?;
    run.wait_at_most(Duration::from_secs(30))?.expect_code(code);
    bench.wait_for(&active(&bench), "0", Duration::from_secs(10)).await?;
    let runs = bench.runs().await?;
    assert_eq!(runs.len(), 1, "the second interval was not begun: {runs:?}");
    assert!(runs[0].starts_with("2025-01-10|1|failed|cancelled|"), "{runs:?}");
    assert_eq!(bench.staging_tables().await?, 0);
    assert_eq!(bench.db.value("select count(*) from thrice.workers").await?, "0");
    assert_eq!(bench.db.value("select count(*) from thrice.partitions where claimed_by is not null").await?, "0");
    // nothing stands in the way of the next call
    bench.db.execute("update y.nap set s = 0").await?;
    bench.call("run t 2025-01-10")?.expect_code(0);
    assert_eq!(bench.db.rows("select v from y.t").await?, ["0"]);
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn sigterm_during_a_slow_query() -> Result<()> {
    stopped("TERM", 143).await
}

#[tokio::test(flavor = "multi_thread")]
async fn ctrl_c_during_a_slow_query() -> Result<()> {
    stopped("INT", 130).await
}

/// Stopped while it waits for its next attempt: it ends at once and tells that it was stopped.
#[tokio::test(flavor = "multi_thread")]
async fn sigterm_during_the_wait_for_a_retry() -> Result<()> {
    let bench = bench("[retry]\nattempts = 3\nfirst_delay = \"2m\"\n[timeouts]\nlock = \"1s\"\n", 0.0).await?;
    let holder = bench.db.connect().await?;
    holder.batch_execute("begin; lock table y.t in share mode").await?;
    let run = bench.thrice("run t 2025-01-10").start()?;
    bench.wait_for("select count(*) from thrice.pipeline_run_ledger where status = 'failed'", "1", LIMIT).await?;
    run.signal("TERM")?;
    run.wait_at_most(Duration::from_secs(20))?.expect_code(143);
    assert_eq!(bench.runs().await?, ["2025-01-10|1|failed|transient|55P03"]);
    Ok(())
}

/// Somebody ends the session of a run while it stages: a new run on a new connection publishes.
#[tokio::test(flavor = "multi_thread")]
async fn a_lost_connection_is_tried_again() -> Result<()> {
    let bench = bench("[retry]\nattempts = 3\nfirst_delay = \"1s\"\n", 120.0).await?;
    let run = bench.thrice("run t 2025-01-10").start()?;
    let sleeping = format!("from pg_stat_activity where datname = '{}' and wait_event = 'PgSleep'", bench.db.name());
    bench.wait_for(&format!("select count(*) {sleeping}"), "1", LIMIT).await?;
    bench.db.execute("update y.nap set s = 0").await?;
    bench.db.execute(&format!("select pg_terminate_backend(pid) {sleeping}")).await?;
    run.wait_at_most(LIMIT)?.expect_code(0);
    let runs = bench.runs().await?;
    assert_eq!(runs.len(), 2, "{runs:?}");
    assert!(runs[0].starts_with("2025-01-10|1|failed|transient|"), "{runs:?}");
    assert_eq!(runs[1], "2025-01-10|2|published||");
    Ok(())
}

/// An administrator ends a statement, and no signal reached the call: exit 8, not that of a Ctrl-C. It is not tried again.
#[tokio::test(flavor = "multi_thread")]
async fn a_statement_that_somebody_else_cancelled() -> Result<()> {
    let bench = bench("[retry]\nattempts = 3\nfirst_delay = \"1s\"\n", 120.0).await?;
    let run = bench.thrice("run t 2025-01-10").start()?;
    let sleeping = format!("from pg_stat_activity where datname = '{}' and wait_event = 'PgSleep'", bench.db.name());
    bench.wait_for(&format!("select count(*) {sleeping}"), "1", LIMIT).await?;
    bench.db.execute(&format!("select pg_cancel_backend(pid) {sleeping}")).await?;
    run.wait_at_most(LIMIT)?.expect_code(8).expect_error("TH0601").expect_text("pg_cancel_backend");
    assert_eq!(bench.runs().await?, ["2025-01-10|1|failed|cancelled|57014"]);
    Ok(())
}

/// The target goes between two steps: the code is that of a missing target, whichever step meets it.
#[tokio::test(flavor = "multi_thread")]
async fn a_target_that_is_dropped_in_the_middle_of_a_run() -> Result<()> {
    for (published, place, status) in [
        (false, "after_start", "started"),
        (false, "after_validate", "validated"),
        (true, "after_validate", "validated"),
    ] {
        let bench = bench("", 0.0).await?;
        if published {
            bench.call("run t 2025-01-10")?.expect_code(0);
            bench.db.execute("update y.src set v = 100").await?;
        }
        let run = bench.thrice("run t 2025-01-10").failpoints(&format!("{place}=1*return(sleep:3000)")).start()?;
        let there = format!("select count(*) from thrice.pipeline_run_ledger where status = '{status}'");
        bench.wait_for(&there, "1", LIMIT).await?;
        bench.db.execute("drop table y.t").await?;
        run.wait_at_most(LIMIT)?.expect_code(2).expect_error("TH0417").expect_text("was there when the run began");
        let runs = bench.runs().await?;
        assert!(runs.last().is_some_and(|run| run.ends_with("|failed|permanent|42P01")), "{place}: {runs:?}");
    }
    Ok(())
}
