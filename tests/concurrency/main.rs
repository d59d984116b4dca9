//! Readers during a publish, and several workers at once.
//!
//! `THRICE_RACE_ROUNDS` says how often two processes race for one partition (10 without it), `THRICE_REPUBLISHES` how often
//! the day is published again under the readers' eyes (100). Each by each strategy.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use thrice_tests::{Bench, PipelineText};
use tokio_postgres::Client;

const LIMIT: Duration = Duration::from_mins(2);

fn number(name: &str, default: u32) -> Result<u32> {
    std::env::var(name).map_or(Ok(default), |text| text.parse().context(name.to_owned()))
}

const REPLACED: &str = "";
const MERGED: &str = "strategy = \"merge\"\nrows = \"complete\"\nkey = [\"at\"]\n";
const SWAPPED: &str = "strategy = \"partition_swap\"\n";

fn pipeline(sql: &str, strategy: &str) -> PipelineText {
    let toml = format!(
        "[interval]\ngrain = \"day\"\nstart = \"2025-05-01\"\ncatch_up = \"all\"\n\
         [target]\ntable = \"c.t\"\ninterval_column = \"at\"\n{strategy}\
         [retry]\nattempts = 3\nfirst_delay = \"1s\"\n"
    );
    PipelineText::new("t", &toml, sql)
}

/// Rows without a mark of the run that wrote them: equal sources give equal results.
const PLAIN: &str = "select at, v, 0::bigint as mark from c.src where at >= :interval_start and at < :interval_end";
/// Every run of the query marks its rows with another number, so no two runs are equal, and a mix of two shows.
const MARKED: &str = "with run as materialized (select nextval('c.marks') as mark)
 select at, v, mark from c.src, run where at >= :interval_start and at < :interval_end";

async fn bench(sql: &str) -> Result<Bench> {
    bench_of(sql, REPLACED).await
}

/// Six days of 300 rows. A publish that writes while another one does fails: the trigger takes a lock without waiting.
async fn bench_of(sql: &str, strategy: &str) -> Result<Bench> {
    let cut = if strategy == SWAPPED { " partition by range (at)" } else { "" };
    let setup = format!(
        "create schema c;
         create sequence c.marks;
         create table c.src (at timestamptz, v int);
         insert into c.src select '2025-04-30 15:00Z'::timestamptz + n * interval '4 minutes 48 seconds', 1 from generate_series(0, 1799) n;
         create table c.t (at timestamptz not null, v int, mark bigint){cut};
         create index on c.t (at)"
    );
    Bench::new("Asia/Seoul", &setup, &[pipeline(sql, strategy)]).await
}

/// On one partition two publishes never write at the same time.
const ALONE: &str = "
  create function c.alone() returns trigger language plpgsql as $$
    begin
      if not pg_try_advisory_xact_lock(4711) then raise exception 'two publishes at once'; end if;
      return null;
    end $$;
  create trigger alone before insert or update or delete on c.t for each statement execute function c.alone()";

const AT: &str = "t.at";

async fn settled(bench: &Bench, what: &str) -> Result<()> {
    let broken = bench.broken_invariants("c.t", AT).await?;
    assert!(broken.is_empty(), "{what}: {broken:?}\n{:?}", bench.runs().await?);
    let open = "select count(*) from thrice.pipeline_run_ledger where status not in ('published', 'failed')";
    assert_eq!(bench.db.value(open).await?, "0", "{what}: {:?}", bench.runs().await?);
    Ok(())
}

/// What a reader of one day saw: rows and sum.
type Seen = BTreeSet<(i64, i64)>;

const LOOK: &str =
    "select count(*), coalesce(sum(v), 0)::int8 from c.t where at >= '2025-05-01 15:00Z' and at < '2025-05-02 15:00Z'";

async fn look(client: &Client) -> Result<(i64, i64)> {
    let row = client.query_one(LOOK, &[]).await?;
    Ok((row.get(0), row.get(1)))
}

async fn read_committed(client: Client, done: Arc<AtomicBool>) -> Result<(Seen, u64)> {
    let (mut seen, mut polls) = (Seen::new(), 0);
    while !done.load(Ordering::Relaxed) {
        seen.insert(look(&client).await?);
        polls += 1;
    }
    Ok((seen, polls))
}

/// Looks twice in one snapshot, the second time after a publish may have happened.
async fn repeatable_read(client: Client, done: Arc<AtomicBool>) -> Result<(Seen, u64)> {
    let (mut seen, mut polls) = (Seen::new(), 0);
    while !done.load(Ordering::Relaxed) {
        client.batch_execute("begin isolation level repeatable read").await?;
        let first = look(&client).await?;
        tokio::time::sleep(Duration::from_millis(30 * (polls % 20))).await;
        let second = look(&client).await?;
        ensure!(first == second, "one snapshot, two answers: {first:?} and {second:?}");
        client.batch_execute("commit").await?;
        seen.insert(first);
        polls += 1;
    }
    Ok((seen, polls))
}

async fn readers_see_the_old_or_the_new_rows(strategy: &str) -> Result<()> {
    let bench = bench_of(PLAIN, strategy).await?;
    bench.call("run t 2025-05-01 2025-05-02 2025-05-03")?.expect_code(0);
    let done = Arc::new(AtomicBool::new(false));
    let mut readers = Vec::new();
    for _ in 0..2 {
        readers.push(tokio::spawn(read_committed(bench.db.connect().await?, Arc::clone(&done))));
        // the documented exception: a snapshot from before a swap reads the table that came, where it holds nothing yet
        if strategy != SWAPPED {
            readers.push(tokio::spawn(repeatable_read(bench.db.connect().await?, Arc::clone(&done))));
        }
    }
    // old: 300 rows of 1. new: 450 rows of 7
    let to_new = "update c.src set v = 7 where at >= '2025-05-01 15:00Z' and at < '2025-05-02 15:00Z';
                  insert into c.src select at + interval '1 second', 7 from c.src where at >= '2025-05-01 15:00Z' and at < '2025-05-02 03:00Z'";
    let to_old = "delete from c.src a using c.src b where a.at = b.at + interval '1 second';
                  update c.src set v = 1";
    let times = number("THRICE_REPUBLISHES", 100)?;
    for n in 0..times {
        bench.db.execute(if n % 2 == 0 { to_new } else { to_old }).await?;
        let project = bench.thrice("run t 2025-05-02");
        tokio::task::spawn_blocking(move || project.run()).await??.expect_code(0);
    }
    done.store(true, Ordering::Relaxed);
    let (mut all, mut polls) = (Seen::new(), 0);
    for reader in readers {
        let (seen, times) = reader.await??;
        all.extend(seen);
        polls += times;
    }
    assert_eq!(all, Seen::from([(300, 300), (450, 3150)]), "after {polls} looks");
    assert!(polls > u64::from(times), "only {polls} looks at {times} publishes");
    let kinds = "select count(*) from thrice.publications where kind = 'publish'";
    assert_eq!(bench.db.value(kinds).await?, (3 + times).to_string());
    settled(&bench, "after all publishes").await
}

/// Both processes want the same partition: never both at once in the target, and whoever comes second waits or says so.
async fn two_processes_on_one_partition(strategy: &str) -> Result<()> {
    let bench = bench_of(MARKED, strategy).await?;
    // a swap fires no triggers: one that would not hear of it is refused
    if strategy != SWAPPED {
        bench.db.execute(ALONE).await?;
    }
    let mut held = 0;
    for round in 0..number("THRICE_RACE_ROUNDS", 10)? {
        bench.db.execute(&format!("update c.src set v = {round}")).await?;
        // at different places, so that they meet at different places
        let plan = [
            "",
            "stage_filled=return(sleep:100)",
            if strategy == SWAPPED {
                "publish_attached=return(sleep:150)"
            } else {
                "publish_deleted=return(sleep:150)"
            },
            "publish_receipt=return(sleep:2500)",
        ];
        let plan = plan[usize::try_from(round % 4)?];
        let one = bench.thrice("run t 2025-05-02").failpoints(plan).start()?;
        let other = bench.thrice("run t 2025-05-02").start()?;
        let codes = [one.wait_at_most(LIMIT)?, other.wait_at_most(LIMIT)?].map(|run| {
            assert!(
                matches!(run.code(), Some(0 | 7)),
                "round {round}: {:?}\n{}\n{}",
                run.status(),
                run.stdout(),
                run.stderr()
            );
            run.code()
        });
        assert!(codes.contains(&Some(0)), "round {round}: {codes:?}");
        held += u32::from(codes.contains(&Some(7)));
        let seen = "select count(*) || ' ' || sum(v) || ' ' || count(distinct mark) from c.t";
        assert_eq!(bench.db.value(seen).await?, format!("300 {} 1", 300 * round), "round {round}, {codes:?}");
        settled(&bench, &format!("round {round}")).await?;
    }
    // a receipt that was written later has the greater token, and each is another run's
    let order = "select count(*) from (select token <= lag(token) over (order by published_at) as back from thrice.publications) t where back";
    assert_eq!(bench.db.value(order).await?, "0");
    let refused =
        bench.db.rows("select distinct failure_class from thrice.pipeline_run_ledger where status = 'failed'").await?;
    assert_eq!(refused, [""; 0], "who waits has no run that failed; {held} times one was held up");
    Ok(())
}

/// Both take all that is due. Each partition is published, by one of them or by both.
async fn two_processes_on_all_that_is_due(strategy: &str) -> Result<()> {
    let bench = bench_of(MARKED, strategy).await?;
    let due = "run --as-of 2025-05-06T15:00:00Z";
    let runs: Vec<_> = (0..2).map(|_| bench.thrice(due).start()).collect::<Result<_>>()?;
    for run in runs {
        let run = run.wait_at_most(LIMIT)?;
        assert!(matches!(run.code(), Some(0 | 7)), "{:?}\n{}\n{}", run.status(), run.stdout(), run.stderr());
    }
    let each = "select count(*) || ' ' || count(distinct mark) from c.t group by (at at time zone 'Asia/Seoul')::date";
    assert_eq!(bench.db.rows(each).await?, ["300 1"; 6]);
    settled(&bench, "at the end").await?;
    bench.call(&format!("{due} --detailed-exitcode"))?.expect_code(3);
    Ok(())
}

async fn two_processes_on_different_partitions(strategy: &str) -> Result<()> {
    let bench = bench_of(MARKED, strategy).await?;
    let place = if strategy == SWAPPED { "publish_attached" } else { "publish_written" };
    for round in 0..number("THRICE_RACE_ROUNDS", 10)? {
        let one = bench.thrice("run t 2025-05-02").failpoints(&format!("{place}=return(sleep:200)")).start()?;
        let other = bench.thrice("run t 2025-05-03").start()?;
        one.wait_at_most(LIMIT)?.expect_code(0);
        other.wait_at_most(LIMIT)?.expect_code(0);
        let each =
            "select count(*) || ' ' || count(distinct mark) from c.t group by (at at time zone 'Asia/Seoul')::date";
        assert_eq!(bench.db.rows(each).await?, ["300 1"; 2], "round {round}");
    }
    assert_eq!(
        bench.db.value("select count(*) from thrice.pipeline_run_ledger where status <> 'published'").await?,
        "0"
    );
    settled(&bench, "at the end").await
}

/// A second process that does not wait is told who has the partition; with `--wait` it gets its turn.
#[tokio::test(flavor = "multi_thread")]
async fn a_held_partition() -> Result<()> {
    let bench = bench(MARKED).await?;
    let one = bench.thrice("run t 2025-05-02").failpoints("after_stage=return(sleep:6000)").start()?;
    bench.wait_for("select count(*) from thrice.pipeline_run_ledger where status = 'staged'", "1", LIMIT).await?;
    let waiting = bench.thrice("run t 2025-05-02 --wait").start()?;
    bench.call("run t 2025-05-02")?.expect_code(7).expect_error("TH0533");
    one.wait_at_most(LIMIT)?.expect_code(0);
    waiting.wait_at_most(LIMIT)?.expect_code(0);
    assert_eq!(bench.runs().await?, ["2025-05-02|1|published||", "2025-05-02|2|published||"]);
    settled(&bench, "at the end").await
}

/// A worker is stopped, its session ends, another one takes over and publishes. Continued, the first one must not publish.
async fn zombie(point: &str) -> Result<()> {
    let bench = bench(MARKED).await?;
    bench.call("run t 2025-05-02")?.expect_code(0);
    let first = bench.thrice("run t 2025-05-02").failpoints(&format!("{point}=1*return(stop)")).start()?;
    stopped(first.pid()).await?;
    let pid = bench.db.value("select backend_pid from thrice.workers").await?;
    assert_eq!(bench.db.value(&format!("select pg_terminate_backend({pid}, 10000)")).await?, "t");

    bench.db.execute("update c.src set v = 100").await?;
    bench.thrice("run t 2025-05-02").start()?.wait_at_most(LIMIT)?.expect_code(0);
    let seen = "select count(*) || ' ' || sum(v) || ' ' || max(mark) from c.t";
    let published = bench.db.value(seen).await?;
    assert!(published.starts_with("300 30000 "), "{published}");
    settled(&bench, &format!("{point}, taken over")).await?;

    first.signal("CONT")?;
    let ended = first.wait_at_most(LIMIT)?;
    let ended = ended.expect_code(7).expect_error("TH0534");
    assert_eq!(bench.db.value(seen).await?, published, "{point}");
    settled(&bench, &format!("{point}, continued")).await?;
    let runs = bench.runs().await?;
    assert_eq!(runs.len(), 3, "{point}: the one who was shut out does not try again: {runs:?}\n{}", ended.stderr());
    assert!(runs[1].starts_with("2025-05-02|2|failed|"), "{point}: {runs:?}");
    assert_eq!(runs[2], "2025-05-02|3|published||", "{point}: {runs:?}");
    Ok(())
}

/// Waits until all of a process stands still.
async fn stopped(pid: u32) -> Result<()> {
    for _ in 0..3000 {
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat"))?;
        if stat.rsplit(") ").next().is_some_and(|rest| rest.starts_with('T')) {
            return Ok(());
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    anyhow::bail!("process {pid} did not stop")
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stopped_worker_is_fenced_before_staging() -> Result<()> {
    zombie("after_start").await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stopped_worker_is_fenced_before_its_checks() -> Result<()> {
    zombie("after_stage").await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stopped_worker_is_fenced_before_its_publish() -> Result<()> {
    zombie("after_validate").await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stopped_worker_is_fenced_when_its_publish_has_begun() -> Result<()> {
    zombie("publish_begun").await
}

/// The successor took over what the stopped worker had staged. Continued, that one must not drop it under its hands.
#[tokio::test(flavor = "multi_thread")]
async fn a_fenced_worker_leaves_adopted_staging_alone() -> Result<()> {
    let bench = bench(MARKED).await?;
    let due = "run --as-of 2025-05-01T15:00:00Z";
    let first = bench.thrice(due).failpoints("after_validate=1*return(stop)").start()?;
    stopped(first.pid()).await?;
    let pid = bench.db.value("select backend_pid from thrice.workers").await?;
    assert_eq!(bench.db.value(&format!("select pg_terminate_backend({pid}, 10000)")).await?, "t");
    let second = bench.thrice(due).failpoints("after_validate=return(sleep:6000)").start()?;
    let adopted =
        "select count(*) from thrice.pipeline_run_ledger where status = 'validated' and resumed_from is not null";
    bench.wait_for(adopted, "1", LIMIT).await?;
    first.signal("CONT")?;
    first.wait_at_most(LIMIT)?.expect_code(7).expect_error("TH0534");
    assert_eq!(bench.db.value(adopted).await?, "1", "the successor has not published yet");
    second.wait_at_most(LIMIT)?.expect_code(0);
    assert_eq!(bench.db.value("select count(*) || ' ' || max(mark) from c.t").await?, "300 1");
    assert_eq!(bench.runs().await?, ["2025-05-01|1|failed|abandoned|", "2025-05-01|2|published||"]);
    assert_eq!(bench.staging_tables().await?, 0);
    settled(&bench, "at the end").await
}

/// It holds the lock: the server ends its idle transaction, and the next worker waits for that.
#[tokio::test(flavor = "multi_thread")]
async fn a_stopped_worker_that_holds_the_lock() -> Result<()> {
    zombie("publish_written").await
}

/// Each race by each strategy.
macro_rules! by_each_strategy {
    ($($race:ident $replaced:ident $merged:ident $swapped:ident;)*) => {
        $(
            #[tokio::test(flavor = "multi_thread", worker_threads = 4)]
            async fn $replaced() -> Result<()> {
                $race(REPLACED).await
            }

            #[tokio::test(flavor = "multi_thread", worker_threads = 4)]
            async fn $merged() -> Result<()> {
                $race(MERGED).await
            }

            #[tokio::test(flavor = "multi_thread", worker_threads = 4)]
            async fn $swapped() -> Result<()> {
                $race(SWAPPED).await
            }
        )*
    };
}

by_each_strategy! {
    readers_see_the_old_or_the_new_rows readers_of_replaced_rows readers_of_merged_rows readers_of_swapped_rows;
    two_processes_on_one_partition two_replace_one_partition two_merge_one_partition two_swap_one_partition;
    two_processes_on_all_that_is_due two_replace_all_that_is_due two_merge_all_that_is_due two_swap_all_that_is_due;
    two_processes_on_different_partitions two_replace_different_partitions two_merge_different_partitions two_swap_different_partitions;
}
