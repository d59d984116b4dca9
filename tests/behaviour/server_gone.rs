//! The server goes away in the middle of a run, and somebody wants the call to end: it does, at the first signal.

use std::time::{Duration, Instant};

use anyhow::Result;
use thrice_fault_relay::{Fault, FaultRelay, Listen, Plan, Then, Until, Upstream};
use thrice_tests::Bench;

use crate::daily;

/// Two seconds of patience, and what a busy machine needs besides.
const SOON: Duration = Duration::from_secs(8);

const SQL: &str = "select at, (select pg_sleep(s) from w.nap)::text as note from w.src
  where at >= :interval_start and at < :interval_end";

/// A run through a relay whose query sleeps for a minute.
async fn bench() -> Result<(Bench, FaultRelay)> {
    let bench = Bench::new(
        "UTC",
        "create schema w; create table w.nap (s float8); insert into w.nap values (60);
         create table w.src (at timestamptz); insert into w.src values ('2025-01-10 09:00Z'), ('2025-01-11 09:00Z');
         create table w.t (at timestamptz, note text)",
        &[daily("t", "2025-01-01", "w.t", "at", "[retry]\nattempts = 9\nbudget = \"30m\"\n", SQL)],
    )
    .await?;
    let relay = FaultRelay::start(Upstream::tcp(bench.db.address()), Listen::tcp()).await?;
    Ok((bench, relay))
}

fn start(bench: &Bench, relay: &FaultRelay) -> Result<thrice_tests::process::Running> {
    let url = bench.db.url_through(&relay.address().to_string());
    bench.project.thrice_through(&url, ["run", "t", "2025-01-10", "2025-01-11"]).start()
}

async fn asleep(bench: &Bench) -> Result<()> {
    let sql = format!(
        "select count(*) from pg_stat_activity where datname = '{}' and wait_event = 'PgSleep'",
        bench.db.name()
    );
    bench.wait_for(&sql, "1", Duration::from_mins(1)).await
}

/// Stops the call after `after` and sees that it ends soon, in words, with the signal's exit, and that the next call goes on.
async fn ends_at_the_signal(
    bench: &Bench,
    relay: &FaultRelay,
    run: thrice_tests::process::Running,
    signal: &str,
    after: Duration,
) -> Result<()> {
    tokio::time::sleep(after).await;
    run.signal(signal)?;
    let begun = Instant::now();
    let done = tokio::task::spawn_blocking(move || run.wait_at_most(Duration::from_mins(2))).await??;
    assert!(begun.elapsed() < SOON, "{signal} after {after:?}: {:?}\n{}", begun.elapsed(), done.stderr());
    let done = done.expect_code(if signal == "TERM" { 143 } else { 130 });
    done.expect_text("stopping").expect_text("error[TH");
    assert_eq!(bench.db.value("select count(*) from w.t").await?, "0");
    // the server notices that the process is gone
    relay.release();
    bench.db.execute("update w.nap set s = 0").await?;
    bench.call("run t 2025-01-10")?.expect_code(0);
    assert_eq!(bench.db.value("select count(*) from w.t").await?, "1");
    Ok(())
}

/// Every connection is closed and no new one is made, as when the server is down. What the call waits for at the time of
/// the signal differs: the ledger that is to be told, the next attempt, a connection.
#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_is_down() -> Result<()> {
    for (signal, after) in [("TERM", 300), ("INT", 2500), ("TERM", 15_000)] {
        let (bench, relay) = bench().await?;
        let run = start(&bench, &relay)?;
        asleep(&bench).await?;
        relay.refuse();
        relay.cut_all();
        ends_at_the_signal(&bench, &relay, run, signal, Duration::from_millis(after)).await?;
    }
    Ok(())
}

/// No packet passes, and nothing is closed: even the cancel of the query reaches nobody.
#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_does_not_answer() -> Result<()> {
    let silence = Fault::BlackHole { forwarded: true, until: Until::Released, then_cut: true };
    for (text, nap) in [("pg_sleep", 60), ("-- The first statement of a publish", 0), ("-- The checks have passed", 0)]
    {
        let (bench, relay) = bench().await?;
        bench.db.execute(&format!("update w.nap set s = {nap}")).await?;
        relay.arm(Plan::on_text(text, silence).then(Then::Refuse));
        let run = start(&bench, &relay)?;
        relay.wait_fired(1).await;
        ends_at_the_signal(&bench, &relay, run, "TERM", Duration::from_millis(500)).await?;
    }
    Ok(())
}

/// The server comes back: what was tried again was told, and a run whose end could not be recorded in time does not stand
/// in its own way.
#[tokio::test(flavor = "multi_thread")]
async fn what_is_tried_again_is_told() -> Result<()> {
    let (bench, relay) = bench().await?;
    let run = start(&bench, &relay)?;
    asleep(&bench).await?;
    relay.refuse();
    relay.cut_all();
    tokio::time::sleep(Duration::from_secs(12)).await;
    relay.accept_again();
    bench.db.execute("update w.nap set s = 0").await?;
    let done = tokio::task::spawn_blocking(move || run.wait_at_most(Duration::from_mins(2))).await??.expect_code(0);
    done.expect_text("the ledger cannot be told").expect_text("retrying in");
    let runs = bench.runs().await?;
    assert!(runs[0].starts_with("2025-01-10|1|failed|transient|"), "{runs:?}");
    assert_eq!(runs[1..], ["2025-01-10|2|published||", "2025-01-11|1|published||"]);
    assert_eq!(bench.db.value("select count(*) from w.t").await?, "2");
    Ok(())
}
