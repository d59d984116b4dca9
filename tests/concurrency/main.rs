//! Readers and writers at once: what a reader sees during publishes, what two processes on one partition do, and what
//! becomes of a worker that comes back after its partition was taken over.
//!
//! Rounds: `THRICE_READER_PUBLISHES` (default 200), `THRICE_RACE_ROUNDS` (default 10).

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use anyhow::{Context, Result};
use thrice_tests::{Bench, PipelineText};

fn rounds(name: &str, default: usize) -> usize {
    std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(default)
}

/// One day of 400 rows whose values all equal `src.v`: every sum is a multiple of 400, and a mix is not.
async fn bench() -> Result<Bench> {
    let toml = "[interval]\ngrain = \"day\"\nstart = \"2025-03-01\"\n[target]\ntable = \"m.t\"\ninterval_column = \"day\"\nkey = [\"day\", \"n\"]\n[retry]\nfirst_delay = \"1s\"\n";
    let sql = "select :interval_date as day, n, v from m.src where at >= :interval_start and at < :interval_end";
    let pipeline = PipelineText { name: "t".into(), toml: toml.into(), sql: sql.into() };
    Bench::new(
        "Asia/Seoul",
        "create schema m;
         create table m.src (at timestamptz, n int, v bigint);
         insert into m.src select t, n, 1 from generate_series(1, 400) n,
           (values ('2025-03-01 03:00Z'::timestamptz), ('2025-03-02 03:00Z'), ('2025-03-03 03:00Z')) d (t);
         create table m.t (day date, n int, v bigint, primary key (day, n))",
        &[pipeline],
    )
    .await
}

#[tokio::test(flavor = "multi_thread")]
async fn readers_see_the_old_day_or_the_new_one() -> Result<()> {
    let bench = bench().await?;
    bench.call("run t 2025-03-02")?.expect_code(0);
    let (done, looks) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicU64::new(0)));
    let mut readers = Vec::new();
    for isolation in ["read committed", "repeatable read"] {
        let client = bench.db.connect().await?;
        let (done, looks) = (done.clone(), looks.clone());
        readers.push(tokio::spawn(async move {
            let mut newest = 0;
            while !done.load(Ordering::Relaxed) {
                client.batch_execute(&format!("begin isolation level {isolation}")).await?;
                let mut seen = Vec::new();
                for _ in 0..2 {
                    let row = client
                        .query_one(
                            "select count(*), coalesce(sum(v), 0)::bigint from m.t where day = '2025-03-02'",
                            &[],
                        )
                        .await?;
                    seen.push((row.get::<_, i64>(0), row.get::<_, i64>(1)));
                }
                client.batch_execute("commit").await?;
                for (count, sum) in &seen {
                    anyhow::ensure!(*count == 400 && sum % 400 == 0, "{isolation}: {count} rows, sum {sum}");
                    anyhow::ensure!(*sum >= newest, "{isolation}: sum {sum} after {newest}");
                    newest = *sum;
                }
                anyhow::ensure!(isolation == "read committed" || seen[0] == seen[1], "a snapshot moved: {seen:?}");
                looks.fetch_add(1, Ordering::Relaxed);
            }
            anyhow::Ok(())
        }));
    }
    let publishes = rounds("THRICE_READER_PUBLISHES", 200);
    for round in 0..publishes {
        bench.db.execute(&format!("update m.src set v = {} where at = '2025-03-02 03:00Z'", round + 2)).await?;
        let ended = bench.call("run t 2025-03-02 --json")?.expect_code(0).json()?;
        assert_eq!(ended["items"][0]["outcome"], "published", "{ended}");
    }
    done.store(true, Ordering::Relaxed);
    for reader in readers {
        reader.await??;
    }
    let looks = looks.load(Ordering::Relaxed);
    println!("{publishes} publishes, {looks} looks, no mix");
    assert!(looks > 100, "only {looks} looks");
    assert_eq!(bench.db.value("select sum(v) from m.t").await?, ((publishes + 1) * 400).to_string());
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn two_processes_on_one_partition() -> Result<()> {
    let bench = bench().await?;
    let count = rounds("THRICE_RACE_ROUNDS", 10);
    let mut held = 0;
    for round in 0..count {
        bench.db.execute(&format!("update m.src set v = {} where at = '2025-03-02 03:00Z'", round + 2)).await?;
        let started: Vec<_> = (0..2).map(|_| bench.thrice("run t 2025-03-02").start()).collect::<Result<_>>()?;
        let mut codes = Vec::new();
        for running in started {
            let ended = running.wait_at_most(Duration::from_secs(60))?;
            codes.push(ended.code().with_context(|| ended.stderr())?);
        }
        assert!(codes.contains(&0) && codes.iter().all(|code| matches!(code, 0 | 7)), "round {round}: {codes:?}");
        held += codes.iter().filter(|code| **code == 7).count();
        assert_eq!(
            bench.db.value("select count(*) || ' ' || sum(v) from m.t where day = '2025-03-02'").await?,
            format!("400 {}", (round + 2) * 400)
        );
    }
    println!("{count} races, {held} calls found the partition taken");
    let broken = bench.broken_invariants("m.t", "t.day::timestamp at time zone 'Asia/Seoul'").await?;
    assert!(broken.is_empty(), "{broken:?}");
    let overlapping = "select count(*) from thrice.pipeline_run_ledger a join thrice.pipeline_run_ledger b
         on a.partition_id = b.partition_id and a.attempt_id < b.attempt_id and a.finished_at > b.started_at and a.status = 'published' and b.status = 'published'";
    assert_eq!(bench.db.value(overlapping).await?, "0", "two runs of one partition worked at once");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn two_processes_on_two_partitions() -> Result<()> {
    let bench = bench().await?;
    for _ in 0..rounds("THRICE_RACE_ROUNDS", 10) {
        let started: Vec<_> = ["2025-03-01", "2025-03-03"]
            .iter()
            .map(|day| bench.thrice(&format!("run t {day}")).start())
            .collect::<Result<_>>()?;
        for running in started {
            running.wait_at_most(Duration::from_secs(60))?.expect_code(0);
        }
    }
    assert_eq!(bench.db.value("select count(*) from m.t").await?, "800");
    let broken = bench.broken_invariants("m.t", "t.day::timestamp at time zone 'Asia/Seoul'").await?;
    assert!(broken.is_empty(), "{broken:?}");
    Ok(())
}

/// A worker stops with its rows staged; its sessions that prove it alive are ended, another publishes newer rows; then it goes on.
#[tokio::test(flavor = "multi_thread")]
async fn a_worker_that_comes_back_is_fenced() -> Result<()> {
    let bench = bench().await?;
    for (round, place) in ["after_stage", "after_validate", "publish_begun"].into_iter().enumerate() {
        let (old, new) = (100 * round + 10, 100 * round + 20);
        let set = |v: usize| format!("update m.src set v = {v} where at = '2025-03-02 03:00Z'");
        bench.db.execute(&set(old)).await?;
        let zombie = bench.thrice("run t 2025-03-02 --json").failpoints(&format!("{place}=1*return(stop)")).start()?;
        let state = format!("/proc/{}/stat", zombie.pid());
        let stopped = || {
            std::fs::read_to_string(&state)
                .is_ok_and(|stat| stat.rsplit(')').next().is_some_and(|rest| rest.trim_start().starts_with('T')))
        };
        for _ in 0..1000 {
            if stopped() {
                break;
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        assert!(stopped(), "{place} was not reached");
        // its sign of life goes; the session that does its work stays
        bench.db.rows("select pg_terminate_backend(w.backend_pid) from thrice.workers w").await?;
        bench.db.execute(&set(new)).await?;
        bench.call("run t 2025-03-02")?.expect_code(0);
        let published = bench.db.value("select sum(v) from m.t where day = '2025-03-02'").await?;
        assert_eq!(published, (400 * new).to_string(), "{place}");
        zombie.signal("CONT")?;
        let ended = zombie.wait_at_most(Duration::from_secs(60))?;
        assert_eq!(ended.code(), Some(7), "{place}: {}\n{}", ended.stdout(), ended.stderr());
        assert_eq!(
            bench.db.value("select sum(v) from m.t where day = '2025-03-02'").await?,
            published,
            "{place}: older over newer"
        );
    }
    let broken = bench.broken_invariants("m.t", "t.day::timestamp at time zone 'Asia/Seoul'").await?;
    assert!(broken.is_empty(), "{broken:?}");
    Ok(())
}
