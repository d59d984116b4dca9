//! A real SIGKILL at every place between two steps of a run: whatever it leaves, the ledger and the target agree, and the
//! next call of `thrice run` puts everything right at once.
//!
//! `THRICE_KILL_ROUNDS` says how often each place is tried; without it, 2 times.

use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use thrice_runner::failpoints;
use thrice_tests::{Bench, PipelineText};

/// A take-over must not wait for the dead worker's lease, which is 60 seconds long.
const AT_ONCE: Duration = Duration::from_secs(15);

const AT: &str = "t.at";
const SQL: &str =
    "select at, shop, v, repeat('x', 50) as pad from k.src where at >= :interval_start and at < :interval_end";

fn rounds() -> Result<u32> {
    std::env::var("THRICE_KILL_ROUNDS").map_or(Ok(2), |text| text.parse().context("THRICE_KILL_ROUNDS"))
}

fn pipeline(budget: &str, strategy: &str) -> PipelineText {
    let toml = format!(
        "[interval]\ngrain = \"day\"\nstart = \"2025-09-01\"\ncatch_up = \"all\"\n\
         [target]\ntable = \"k.t\"\n{strategy}interval_column = \"at\"\nkey = [\"at\", \"shop\"]\n\
         [[checks]]\nexpression = \"v >= 0\"\n\
         [retry]\nattempts = 5\nbudget = \"{budget}\"\nfirst_delay = \"1s\"\n"
    );
    PipelineText::new("t", &toml, SQL)
}

const REPLACED: &str = "";
/// It keeps what it replaces, and so does a swap.
const MERGED: &str = "strategy = \"merge\"\nrows = \"complete\"\nkeep_old_for = \"1d\"\n";
/// A value grows with every change.
const CHANGED: &str = "strategy = \"merge\"\nrows = \"changes\"\nversion = \"v\"\n";
const SWAPPED: &str = "strategy = \"partition_swap\"\nkeep_old_for = \"1d\"\n";

/// Whether a publish by the strategy meets the place.
fn passes(point: &str, strategy: &str) -> bool {
    match point {
        failpoints::PUBLISH_UPDATED => strategy == MERGED || strategy == CHANGED,
        failpoints::PUBLISH_KEPT => strategy == MERGED || strategy == SWAPPED,
        failpoints::PREPARE_FILLED
        | failpoints::AFTER_PREPARE
        | failpoints::PUBLISH_DETACHED
        | failpoints::PUBLISH_ATTACHED => strategy == SWAPPED,
        failpoints::PUBLISH_DELETED => strategy != SWAPPED && strategy != CHANGED,
        failpoints::PUBLISH_WRITTEN => strategy != SWAPPED,
        _ => true,
    }
}

async fn bench(budget: &str) -> Result<Bench> {
    bench_of(budget, REPLACED).await
}

/// Four days of 200 rows each in a zone with an odd offset. The first three are published, and the second has changed since.
async fn bench_of(budget: &str, strategy: &str) -> Result<Bench> {
    let cut = if strategy == SWAPPED { " partition by range (at)" } else { "" };
    let setup = format!(
        "create schema k;
         create table k.src (at timestamptz, shop int, v int);
         insert into k.src select '2025-08-31 18:15Z'::timestamptz + n * interval '7 minutes 12 seconds', n % 7, n from generate_series(0, 799) n;
         create table k.t (at timestamptz not null, shop int, v int, pad text, unique (at, shop)){cut}"
    );
    let bench = Bench::new("Asia/Kathmandu", &setup, &[pipeline(budget, strategy)]).await?;
    bench.call("run --as-of 2025-09-03T18:15:00Z")?.expect_code(0);
    assert_eq!(bench.db.value("select count(*) from k.t").await?, "600");
    assert_eq!(wrong_rows(&bench, 3).await?, "0");
    Ok(bench)
}

/// How many rows of the target differ from what a clean run of the first `days` days gives.
async fn wrong_rows(bench: &Bench, days: u32) -> Result<String> {
    let model = format!(
        "select at, shop, v, repeat('x', 50) as pad from k.src where at < '2025-08-31 18:15Z'::timestamptz + {days} * interval '1 day'"
    );
    let sql =
        format!("select count(*) from ((table k.t except all {model}) union all ({model} except all table k.t)) d");
    bench.db.value(&sql).await
}

async fn settled(bench: &Bench, what: &str) -> Result<()> {
    let broken = bench.broken_invariants("k.t", AT).await?;
    assert!(broken.is_empty(), "{what}: {broken:?}\n{:?}", bench.runs().await?);
    Ok(())
}

/// Waits until the killed process's sessions are gone, so that what is looked at is what stays. At most a few seconds:
/// a session that is idle notices at once, one that runs a statement at its end.
async fn sessions_gone(bench: &Bench) -> Result<()> {
    let sql = format!(
        "select count(*) from pg_stat_activity where datname = '{}' and pid <> pg_backend_pid() and application_name like 'thrice%'",
        bench.db.name()
    );
    bench.wait_for(&sql, "0", Duration::from_secs(30)).await
}

/// Kills at `point`, looks, recovers, looks again.
async fn kill_and_recover(point: &str, round: u32, strategy: &str) -> Result<()> {
    let bench = bench_of("15m", strategy).await?;
    let what = format!("{point}, round {round}, {strategy}");
    // the second day again, with other rows; and the fourth, which is missing
    bench
        .db
        .execute("update k.src set v = v + 1000 where at >= '2025-09-01 18:15Z' and at < '2025-09-02 18:15Z'")
        .await?;
    let plan = format!("{point}=return(kill)");
    // what is published for the first time replaces nothing that could be kept or detached
    let again = round.is_multiple_of(2) || [failpoints::PUBLISH_KEPT, failpoints::PUBLISH_DETACHED].contains(&point);
    let words = if again { "run t 2025-09-02" } else { "run --as-of 2025-09-04T18:15:00Z" };
    bench.thrice(words).failpoints(&plan).start()?.wait_at_most(Duration::from_mins(1))?.expect_killed();
    // at once, whatever the server is still doing with the session
    settled(&bench, &format!("{what}, right after the kill")).await?;
    if round.is_multiple_of(3) {
        sessions_gone(&bench).await?;
        settled(&bench, &format!("{what}, after the sessions went")).await?;
    }

    let begun = Instant::now();
    bench.call("run --as-of 2025-09-04T18:15:00Z")?.expect_code(0);
    bench.call("run t 2025-09-02")?.expect_code(0);
    let took = begun.elapsed();
    assert!(took < AT_ONCE, "{what}: the recovery took {took:?}");

    assert_eq!(wrong_rows(&bench, 4).await?, "0", "{what}");
    if strategy == MERGED {
        let history = bench.db.value("select oid::regclass from pg_class where relnamespace = 'thrice_history'::regnamespace and relkind = 'r'").await?;
        let of_nobody = format!(
            "select count(*) from {history} where thrice_replaced_by not in (select attempt_id from thrice.publications)"
        );
        assert_eq!(bench.db.value(&of_nobody).await?, "0", "{what}: rows were kept of a publish that is none");
    }
    settled(&bench, &format!("{what}, after the recovery")).await?;
    let open = "select count(*) from thrice.pipeline_run_ledger where status not in ('published', 'failed')";
    assert_eq!(bench.db.value(open).await?, "0", "{what}: {:?}", bench.runs().await?);
    let claimed = "select count(*) from thrice.partitions where claimed_by is not null";
    assert_eq!(bench.db.value(claimed).await?, "0", "{what}");
    // a run that was killed is never ended as anything but published or abandoned
    let classes =
        bench.db.rows("select distinct failure_class from thrice.pipeline_run_ledger where status = 'failed'").await?;
    assert!(classes.iter().all(|class| class == "abandoned"), "{what}: {classes:?}");
    // only what may still be adopted is kept; tables of published runs go at once
    let kept = "select count(*) from pg_class c join thrice.pipeline_run_ledger l on l.staging_relation like '%' || c.relname || '%'
        where c.relnamespace = 'thrice_staging'::regnamespace and c.relkind = 'r' and l.status = 'published'";
    assert_eq!(bench.db.value(kept).await?, "0", "{what}");
    // what was prepared for a swap is never adopted
    let prepared =
        "select count(*) from pg_class where relnamespace = 'thrice_staging'::regnamespace and relname like 'p%'";
    assert_eq!(bench.db.value(prepared).await?, "0", "{what}");
    sessions_gone(&bench).await?;
    assert_eq!(bench.db.value("select count(*) from thrice.workers w where exists (select from pg_stat_activity a where a.pid = w.backend_pid and a.backend_start = w.backend_start)").await?, "0");
    Ok(())
}

macro_rules! at_each {
    ($($name:ident $point:ident)*) => {
        $(
            #[tokio::test(flavor = "multi_thread")]
            async fn $name() -> Result<()> {
                for round in 1..=rounds()? {
                    for strategy in [REPLACED, MERGED, CHANGED, SWAPPED] {
                        if passes(failpoints::$point, strategy) {
                            kill_and_recover(failpoints::$point, round, strategy).await?;
                        }
                    }
                }
                Ok(())
            }
        )*

        /// A place that is added to the road is tried here too.
        #[test]
        fn every_failpoint_is_tried() {
            assert_eq!(failpoints::ALL, [$(failpoints::$point),*]);
        }
    };
}

at_each! {
    killed_before_claim BEFORE_CLAIM
    killed_after_claim AFTER_CLAIM
    killed_after_start AFTER_START
    killed_when_stage_was_filled STAGE_FILLED
    killed_when_stage_was_marked STAGE_MARKED
    killed_after_stage AFTER_STAGE
    killed_after_checks AFTER_CHECKS
    killed_after_validate AFTER_VALIDATE
    killed_when_swapped_in_table_was_filled PREPARE_FILLED
    killed_after_prepare AFTER_PREPARE
    killed_when_publish_had_begun PUBLISH_BEGUN
    killed_when_partition_was_locked PUBLISH_LOCKED
    killed_when_old_rows_were_deleted PUBLISH_DELETED
    killed_when_old_rows_were_kept PUBLISH_KEPT
    killed_when_rows_were_updated PUBLISH_UPDATED
    killed_when_new_rows_were_written PUBLISH_WRITTEN
    killed_when_old_partition_was_detached PUBLISH_DETACHED
    killed_when_new_partition_was_attached PUBLISH_ATTACHED
    killed_when_target_was_read_back PUBLISH_READ_BACK
    killed_when_receipt_was_written PUBLISH_RECEIPT
    killed_after_commit AFTER_COMMIT
    killed_before_drop BEFORE_DROP
    killed_after_drop AFTER_DROP
}

/// Where a rollback is killed, each by each strategy; by more than two rounds of kills everywhere.
const SOME: [&str; 9] = [
    failpoints::AFTER_CLAIM,
    failpoints::STAGE_MARKED,
    failpoints::AFTER_VALIDATE,
    failpoints::PUBLISH_LOCKED,
    failpoints::PUBLISH_KEPT,
    failpoints::PUBLISH_WRITTEN,
    failpoints::PUBLISH_ATTACHED,
    failpoints::PUBLISH_RECEIPT,
    failpoints::AFTER_COMMIT,
];

/// Killed anywhere, a rollback has happened or not; asked for again it ends where it was to end, once.
#[tokio::test(flavor = "multi_thread")]
async fn a_killed_rollback_is_asked_for_again() -> Result<()> {
    let day = "select md5(string_agg(t::text, ' ' order by at, shop)) from k.t t where at >= '2025-09-01 18:15Z' and at < '2025-09-02 18:15Z'";
    let all = rounds()? > 2;
    for (strategy, like) in [("keep_old_for = \"1d\"\n", REPLACED), (MERGED, MERGED), (SWAPPED, SWAPPED)] {
        let tried = |point: &&str| passes(point, like) && (all || SOME.contains(point));
        for point in failpoints::ALL.into_iter().filter(tried) {
            let bench = bench_of("15m", strategy).await?;
            let old = bench.db.value(day).await?;
            bench.db.execute("update k.src set v = v + 1000 where v % 3 = 0 and at >= '2025-09-01 18:15Z' and at < '2025-09-02 18:15Z'").await?;
            bench.call("run t 2025-09-02")?.expect_code(0);
            let new = bench.db.value(day).await?;
            assert_ne!(old, new);
            let back = "rollback t 2025-09-02 --to-attempt 1 --reason wrong --yes";
            let plan = format!("{point}=return(kill)");
            bench.thrice(back).failpoints(&plan).start()?.wait_at_most(Duration::from_mins(1))?.expect_killed();
            settled(&bench, &format!("{point}, {strategy}, right after the kill")).await?;
            // the claim is the barrier that says which of the two it is
            let again = bench.call(back)?;
            let done = bench.db.value("select count(*) from thrice.publications where kind = 'rollback'").await?;
            match again.code() {
                Some(0) => assert_eq!(done, "1", "{point}: {}", again.stderr()),
                // the first one had committed: its rows are the ones that are there
                Some(5) if done == "1" => {
                    again.expect_error("TH0520");
                }
                other => anyhow::bail!("{point}: {other:?}: {}", again.stderr()),
            }
            assert_eq!(bench.db.value(day).await?, old, "{point}, {strategy}");
            bench.call("run --as-of 2025-09-03T18:15:00Z")?.expect_code(0);
            assert_eq!(bench.db.value(day).await?, old, "{point}, {strategy}");
            settled(&bench, &format!("{point}, {strategy}, in the end")).await?;
            bench.call("run t 2025-09-02")?.expect_code(0);
            assert_eq!(bench.db.value(day).await?, new, "{point}, {strategy}");
            assert_eq!(bench.staging_tables().await?, 0, "{point}, {strategy}");
        }
    }
    Ok(())
}

/// What was staged and not published is taken over by the next run that nobody named, and the query is not asked again.
#[tokio::test(flavor = "multi_thread")]
async fn whole_staging_is_adopted() -> Result<()> {
    for point in
        [failpoints::AFTER_STAGE, failpoints::AFTER_VALIDATE, failpoints::PUBLISH_WRITTEN, failpoints::PUBLISH_RECEIPT]
    {
        let bench = bench("15m").await?;
        let due = "run --as-of 2025-09-04T18:15:00Z";
        bench.thrice(due).failpoints(&format!("{point}=return(kill)")).run()?.expect_killed();
        // rows that came after the snapshot of the killed run: adoption keeps its answer
        bench.db.execute("update k.src set v = v + 5000 where at >= '2025-09-03 18:15Z'").await?;
        let out = bench.call(&format!("{due} --json"))?.expect_code(0).json()?;
        assert_eq!(out["items"][0]["resumed_from"], 1, "{point}: {out}");
        let resumed = "select count(*) from thrice.pipeline_run_ledger l join thrice.pipeline_run_ledger o on o.attempt_id = l.resumed_from
            where l.status = 'published' and o.failure_class = 'abandoned' and o.staging_relation = l.staging_relation";
        assert_eq!(bench.db.value(resumed).await?, "1", "{point}");
        assert_eq!(bench.db.value("select max(v) from k.t").await?, "799", "{point}");
        assert_eq!(bench.staging_tables().await?, 0, "{point}");
        settled(&bench, point).await?;
        // the next run sees the new rows
        bench.call("run t 2025-09-04")?.expect_code(0);
        assert_eq!(wrong_rows(&bench, 4).await?, "0", "{point}");
    }
    Ok(())
}

/// Staging that is older than the retry budget, or of other code, is an answer to an older question.
#[tokio::test(flavor = "multi_thread")]
async fn old_or_foreign_staging_is_not_adopted() -> Result<()> {
    for other_code in [false, true] {
        let bench = bench(if other_code { "15m" } else { "1s" }).await?;
        let due = "run --as-of 2025-09-04T18:15:00Z";
        bench.thrice(due).failpoints("after_validate=return(kill)").run()?.expect_killed();
        assert_eq!(bench.staging_tables().await?, 1);
        bench.db.execute("update k.src set v = v + 5000 where at >= '2025-09-03 18:15Z'").await?;
        if other_code {
            let mut changed = pipeline("15m", REPLACED);
            changed.sql = changed.sql.replace("repeat('x', 50)", "repeat('x', 25 + 25)");
            bench.project.write(&changed)?;
        } else {
            tokio::time::sleep(Duration::from_millis(1500)).await;
        }
        let out = bench.call(&format!("{due} --json"))?.expect_code(0).json()?;
        assert!(out["items"][0]["resumed_from"].is_null(), "{out}");
        assert_eq!(wrong_rows(&bench, 4).await?, "0");
        settled(&bench, "not adopted").await?;
    }
    Ok(())
}

/// A person who names the partition wants today's answer: nothing is adopted.
#[tokio::test(flavor = "multi_thread")]
async fn a_named_run_asks_the_query_again() -> Result<()> {
    let bench = bench("15m").await?;
    let kill = "after_stage=return(kill)";
    bench.thrice("run --as-of 2025-09-04T18:15:00Z").failpoints(kill).run()?.expect_killed();
    bench.db.execute("update k.src set v = v + 5000 where at >= '2025-09-03 18:15Z'").await?;
    let out = bench.call("run t 2025-09-04 --json")?.expect_code(0).json()?;
    assert!(out["items"][0]["resumed_from"].is_null(), "{out}");
    assert_eq!(wrong_rows(&bench, 4).await?, "0");
    Ok(())
}

/// Staging that the server's crash emptied is not whole: it is made anew, and the day is not published empty.
#[tokio::test(flavor = "multi_thread")]
async fn emptied_staging_is_not_adopted() -> Result<()> {
    let bench = bench("15m").await?;
    let due = "run --as-of 2025-09-04T18:15:00Z";
    bench.thrice(due).failpoints("after_validate=return(kill)").run()?.expect_killed();
    let name = bench
        .db
        .value("select relname from pg_class where relnamespace = 'thrice_staging'::regnamespace and relkind = 'r'")
        .await?;
    bench.db.execute(&format!("truncate thrice_staging.\"{name}\"")).await?;
    let out = bench.call(&format!("{due} --json"))?.expect_code(0).json()?;
    assert!(out["items"][0]["resumed_from"].is_null(), "{out}");
    assert_eq!(wrong_rows(&bench, 4).await?, "0");
    Ok(())
}

/// Emptied between the checks and the publish: rows written are not rows staged, so there is no receipt for it.
#[tokio::test(flavor = "multi_thread")]
async fn staging_emptied_before_the_publish() -> Result<()> {
    let bench = bench("15m").await?;
    let run =
        bench.thrice("run --as-of 2025-09-04T18:15:00Z").failpoints("after_validate=1*return(sleep:3000)").start()?;
    let validated = "select count(*) from thrice.pipeline_run_ledger where status = 'validated'";
    bench.wait_for(validated, "1", Duration::from_mins(1)).await?;
    let name = bench
        .db
        .value("select relname from pg_class where relnamespace = 'thrice_staging'::regnamespace and relkind = 'r'")
        .await?;
    bench.db.execute(&format!("truncate thrice_staging.\"{name}\"")).await?;
    run.wait_at_most(Duration::from_mins(1))?.expect_code(0);
    assert_eq!(wrong_rows(&bench, 4).await?, "0");
    let runs = bench.runs().await?;
    assert!(runs[3].starts_with("2025-09-04|1|failed|transient"), "{runs:?}");
    assert_eq!(runs[4], "2025-09-04|2|published||", "{runs:?}");
    settled(&bench, "emptied").await
}

/// After its grace, nothing is left in staging: neither of killed runs nor of published ones.
#[tokio::test(flavor = "multi_thread")]
async fn staging_is_swept_after_its_grace() -> Result<()> {
    for strategy in [MERGED, SWAPPED] {
        swept_after_its_grace(strategy).await?;
    }
    Ok(())
}

async fn swept_after_its_grace(strategy: &str) -> Result<()> {
    let bench = bench_of("1s", strategy).await?;
    for point in failpoints::ALL.into_iter().filter(|point| passes(point, strategy)) {
        bench
            .db
            .execute("update k.src set v = v + 1 where at >= '2025-09-01 18:15Z' and at < '2025-09-02 18:15Z'")
            .await?;
        bench.thrice("run t 2025-09-02").failpoints(&format!("{point}=return(kill)")).run()?.expect_killed();
        settled(&bench, point).await?;
    }
    sessions_gone(&bench).await?;
    let due = "run --as-of 2025-09-04T18:15:00Z";
    bench.call("run t 2025-09-02")?.expect_code(0);
    tokio::time::sleep(Duration::from_millis(1500)).await;
    bench.call(due)?.expect_code(0);
    assert_eq!(bench.staging_tables().await?, 0, "{:?}", bench.runs().await?);
    assert_eq!(wrong_rows(&bench, 4).await?, "0");
    settled(&bench, "all of them on one partition").await
}

/// Killed three times in a row, each time during the recovery from the one before.
#[tokio::test(flavor = "multi_thread")]
async fn killed_while_recovering() -> Result<()> {
    let bench = bench("15m").await?;
    let due = "run --as-of 2025-09-04T18:15:00Z";
    for point in
        [failpoints::PUBLISH_DELETED, failpoints::AFTER_CLAIM, failpoints::AFTER_STAGE, failpoints::AFTER_COMMIT]
    {
        bench.thrice(due).failpoints(&format!("{point}=return(kill)")).run()?.expect_killed();
        settled(&bench, point).await?;
    }
    let begun = Instant::now();
    bench.call(due)?.expect_code(0);
    assert!(begun.elapsed() < AT_ONCE, "{:?}", begun.elapsed());
    assert_eq!(wrong_rows(&bench, 4).await?, "0");
    settled(&bench, "at the end").await
}

/// What looks for broken invariants finds them: each statement breaks one.
#[tokio::test(flavor = "multi_thread")]
async fn the_invariants_can_be_seen_broken() -> Result<()> {
    for (broken, statement) in [
        ("I1 rows 2025-09-01: receipt 200, target 199", "delete from k.t where at = '2025-08-31 18:15Z'"),
        ("I1 rows outside every published partition: 1", "insert into k.t values ('2025-10-01Z', 0, 0, '')"),
        (
            "I4 fence of 2025-09-02",
            "alter table thrice.partitions disable trigger user; update thrice.partitions set fence = 0 where interval_key = '2025-09-02'",
        ),
        (
            "I6 current of 2025-09-02",
            "alter table thrice.partitions disable trigger all; update thrice.partitions set current_attempt_id = null where interval_key = '2025-09-02'",
        ),
        (
            "I6 data of 2025-09-02",
            "alter table thrice.partitions disable trigger all; update thrice.partitions set data_attempt_id = null where interval_key = '2025-09-02'",
        ),
    ] {
        let bench = bench("15m").await?;
        settled(&bench, "before").await?;
        bench.db.execute(statement).await?;
        let seen = bench.broken_invariants("k.t", AT).await?;
        assert!(seen.iter().any(|line| line == broken), "{broken}: {seen:?}");
    }
    let bench = bench("15m").await?;
    bench
        .db
        .execute("alter table thrice.pipeline_run_ledger disable trigger user; update thrice.pipeline_run_ledger set status = 'failed' where attempt_no = 1")
        .await?;
    let seen = bench.broken_invariants("k.t", AT).await?;
    assert!(seen.iter().filter(|line| line.starts_with("I9")).count() == 3, "{seen:?}");
    Ok(())
}
