//! `strategy = "partition_swap"`: the same promises as of the other strategies, with whole partitions.

use std::time::Duration;

use anyhow::Result;
use thrice_tests::Bench;

use crate::daily;

/// Fingerprint of every row, with its place and the transaction that wrote it.
const PHYSICAL: &str =
    "select md5(string_agg(tableoid || ' ' || ctid || xmin::text || t::text, ',' order by tableoid, ctid)) from m.t t";
const LOGICAL: &str = "select md5(string_agg(t::text, ',' order by t::text)) from m.t t";
const PARTITIONS: &str = "select string_agg(inhrelid::regclass::text, ' ' order by inhrelid::regclass::text) from pg_inherits where inhparent = 'm.t'::regclass";
const PREPARED: &str = "select count(*) from pg_class where relnamespace = 'thrice_staging'::regnamespace and relname like 'p%' and relkind = 'r'";
const AT: &str = "t.day::timestamp at time zone 'Asia/Seoul'";
const SQL: &str =
    "select day, shop, sum(v) as total from m.src where at >= :interval_start and at < :interval_end group by 1, 2";
const SWAPPED: &str = "strategy = \"partition_swap\"\nkey = [\"day\", \"shop\"]\n";

/// Three shops on each of five days; rows of the 1st are there before thrice comes, and partitions of the 1st and the 2nd.
async fn shops(more: &str) -> Result<Bench> {
    Bench::new(
        "Asia/Seoul",
        "create schema m;
         create table m.src (at timestamptz, day date, shop int, v numeric);
         insert into m.src
           select at, (at at time zone 'Asia/Seoul')::date, n % 3, n + 0.25
             from generate_series(0, 119) n, lateral (select '2025-02-28 15:00Z'::timestamptz + n * interval '1 hour') x (at);
         create table m.t (day date not null, shop int, total numeric, unique (day, shop)) partition by range (day);
         create table m.first partition of m.t for values from ('2025-03-01') to ('2025-03-02');
         create table m.second partition of m.t for values from ('2025-03-02') to ('2025-03-03');
         insert into m.t values ('2025-03-01', 9, 1)",
        &[daily("t", "2025-03-01", "m.t", "day", &format!("{SWAPPED}{more}"), SQL)],
    )
    .await
}

const DAYS: &str = "run t 2025-03-02 2025-03-03 2025-03-04";

#[tokio::test(flavor = "multi_thread")]
async fn three_runs_are_one_run() -> Result<()> {
    let bench = shops("").await?;
    bench.call(DAYS)?.expect_code(0);
    let physical = bench.db.value(PHYSICAL).await?;
    assert_eq!(bench.db.value(PARTITIONS).await?, "m.first m.second m.t_2025_03_03 m.t_2025_03_04");
    for _ in 0..2 {
        bench.call(DAYS)?.expect_code(0);
        assert_eq!(bench.db.value(PHYSICAL).await?, physical, "an equal result writes nothing, and prepares nothing");
    }
    let kinds = "select string_agg(kind || ' ' || strategy, ',' order by attempt_id) from thrice.publications";
    let publish = ["publish partition_swap"; 3].join(",");
    assert_eq!(bench.db.value(kinds).await?, format!("{publish},{}", ["unchanged partition_swap"; 6].join(",")));

    // a shop that vanishes, one that changes: what goes is counted, what stays is compared
    bench.db.execute("update m.src set v = v + 1 where day = '2025-03-02' and shop = 1; delete from m.src where day = '2025-03-02' and shop = 2").await?;
    let out = bench.call("run t 2025-03-02 --json")?.expect_code(0).json()?;
    let rows = &out["items"][0]["rows"];
    assert_eq!((&rows["deleted"], &rows["inserted"], &rows["updated"]), (&3.into(), &2.into(), &0.into()), "{out}");
    let keys = "select comparison -> 'keys' from thrice.publications order by attempt_id desc limit 1";
    assert_eq!(bench.db.value(keys).await?, r#"{"added": 0, "equal": 1, "changed": 1, "removed": 1}"#);
    assert_eq!(
        bench.db.value("select string_agg(shop::text, ' ' order by shop) from m.t where day = '2025-03-02'").await?,
        "0 1"
    );
    assert_eq!(bench.db.value(PARTITIONS).await?, "m.first m.second m.t_2025_03_03 m.t_2025_03_04");

    // somebody edits the partition behind thrice's back: told, and put right
    bench.db.execute("update m.second set total = 0 where shop = 0").await?;
    bench.call("run t 2025-03-02")?.expect_code(0).expect_text("TH0538");
    assert_eq!(bench.staging_tables().await?, 0);
    let broken = bench.broken_invariants("(select * from m.t where shop <> 9)", AT).await?;
    assert_eq!(broken, [""; 0]);
    Ok(())
}

/// From one strategy to the other and back: the same rows.
#[tokio::test(flavor = "multi_thread")]
async fn swapped_as_if_replaced() -> Result<()> {
    let bench = shops("").await?;
    bench.call(DAYS)?.expect_code(0);
    let once = bench.db.value(LOGICAL).await?;
    for more in [
        "key = [\"day\", \"shop\"]\n",
        "strategy = \"merge\"\nrows = \"complete\"\nkey = [\"day\", \"shop\"]\n",
        SWAPPED,
    ] {
        bench.db.execute("update m.src set v = v + 1").await?;
        bench.call(DAYS)?.expect_code(0);
        bench.project.write(&daily("t", "2025-03-01", "m.t", "day", more, SQL))?;
        bench.db.execute("update m.src set v = v - 1").await?;
        bench.call(DAYS)?.expect_code(0);
        assert_eq!(bench.db.value(LOGICAL).await?, once, "{more}");
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn existing_rows_failed_checks_and_empty_results_leave_the_target_alone() -> Result<()> {
    let bench = shops("\n[[checks]]\nexpression = \"total < 1000\"\n").await?;
    let before = bench.db.value(PHYSICAL).await?;
    bench.call("run t 2025-03-01")?.expect_code(5).expect_error("TH0531");
    assert_eq!(bench.db.value(PHYSICAL).await?, before);
    bench.call("adopt t --from 2025-03-01 --to 2025-03-01 --reason before --yes")?.expect_code(0);
    bench.call("run t 2025-03-01 --accept-drop --reason rebuilt")?.expect_code(0);
    bench.call("run t 2025-03-02")?.expect_code(0);

    let published = bench.db.value(PHYSICAL).await?;
    bench.db.execute("update m.src set v = 5000").await?;
    bench.call("run t 2025-03-02")?.expect_code(4).expect_error("TH0705");
    bench.db.execute("delete from m.src where day = '2025-03-02'").await?;
    bench.call("run t 2025-03-02")?.expect_code(5).expect_error("TH0706");
    assert_eq!(bench.db.value(PHYSICAL).await?, published);
    assert_eq!(bench.db.value(PREPARED).await?, "0");
    bench.call("run t 2025-03-02 --accept-drop --reason closed")?.expect_code(0);
    assert_eq!(bench.db.value("select count(*) from m.second").await?, "0");

    // rows in the first partition that nobody accounts for, replaced on request
    bench.db.execute("create table m.third partition of m.t for values from ('2025-03-03') to ('2025-03-04'); insert into m.third values ('2025-03-03', 1, 1); update m.src set v = 1").await?;
    bench.call("run t 2025-03-03")?.expect_code(5).expect_error("TH0531");
    let out = bench.call("run t 2025-03-03 --overwrite-existing --reason rebuilt --json")?.expect_code(0).json()?;
    assert_eq!(out["items"][0]["rows"]["deleted"], 1, "{out}");
    Ok(())
}

/// What would take too much away is refused under the lock, and before anybody is locked out.
#[tokio::test(flavor = "multi_thread")]
async fn guards_look_before_the_swap() -> Result<()> {
    let bench = shops("\n[guards]\nremoved = \"10%\"\n").await?;
    bench.call("run t 2025-03-02")?.expect_code(0);
    let published = bench.db.value(PHYSICAL).await?;
    bench.db.execute("delete from m.src where day = '2025-03-02' and shop = 2").await?;
    bench.call("run t 2025-03-02")?.expect_code(5).expect_error("TH0704");
    assert_eq!(bench.db.value(PHYSICAL).await?, published);
    assert_eq!(bench.db.value(PREPARED).await?, "0");
    bench.call("run t 2025-03-02 --accept-drop --reason closed")?.expect_code(0);
    assert_eq!(bench.db.value("select count(*) from m.second").await?, "2");
    Ok(())
}

/// A partition that does not fit is refused before anything is claimed, by its run and by `lint --db`.
#[tokio::test(flavor = "multi_thread")]
async fn what_cannot_be_swapped_is_refused_before_work() -> Result<()> {
    let bench = shops("").await?;
    bench.db.execute("create table m.rest partition of m.t for values from ('2025-03-05') to ('2025-04-01')").await?;
    bench.call("run t 2025-03-05")?.expect_code(2).expect_error("TH0418");
    bench.db.execute("create view m.of_second as select * from m.second").await?;
    bench.call("run t 2025-03-02")?.expect_code(5).expect_error("TH0414").expect_text("view m.of_second");
    assert_eq!(bench.db.value("select count(*) from thrice.pipeline_run_ledger").await?, "0");
    bench
        .db
        .execute("create table m.child (day date, shop int, foreign key (day, shop) references m.t (day, shop))")
        .await?;
    bench.call("lint --db")?.expect_text("TH0414").expect_text("23503");
    bench.call("run t 2025-03-03")?.expect_code(5).expect_error("TH0414");
    Ok(())
}

/// A reader that stays for longer than the swap waits: the swap lets others pass, comes again, and prepares nothing anew.
#[tokio::test(flavor = "multi_thread")]
async fn a_swap_comes_again_when_the_reader_has_gone() -> Result<()> {
    let bench = shops("\n[timeouts]\nlock = \"1s\"\n").await?;
    bench.call("run t 2025-03-02")?.expect_code(0);
    bench.db.execute("update m.src set v = v + 1").await?;
    let reader = bench.db.connect().await?;
    reader.batch_execute("begin; select * from m.t").await?;
    let running = bench.thrice("run t 2025-03-02").start()?;
    bench.wait_for(PREPARED, "1", Duration::from_secs(30)).await?;
    let prepared = "select string_agg(relname, ' ') from pg_class where relnamespace = 'thrice_staging'::regnamespace and relname like 'p%' and relkind = 'r'";
    let name = bench.db.value(prepared).await?;
    // another reader waits behind it no longer than the limit says
    let begun = std::time::Instant::now();
    while begun.elapsed() < Duration::from_millis(2500) {
        let asked = std::time::Instant::now();
        bench.db.value("select count(*) from m.t where day = '2025-03-02'").await?;
        assert!(asked.elapsed() < Duration::from_millis(1700), "{:?}", asked.elapsed());
    }
    assert_eq!(bench.db.value(prepared).await?, name, "it waits for its turn");
    reader.batch_execute("commit").await?;
    running.wait_at_most(Duration::from_mins(1))?.expect_code(0);
    assert_eq!(
        bench.runs().await?,
        ["2025-03-02|1|published||", "2025-03-02|2|published||"],
        "one run, whatever it waited for"
    );
    assert_eq!(bench.staging_tables().await?, 0);
    Ok(())
}

/// A prepared table of a run that is gone belongs to nobody; one that waits for its publish is let alone.
#[tokio::test(flavor = "multi_thread")]
async fn doctor_drops_what_dead_runs_prepared() -> Result<()> {
    let bench = shops("").await?;
    let waiting = bench.thrice("run t 2025-03-02").failpoints("after_prepare=return(sleep:4000)").start()?;
    bench.wait_for(PREPARED, "1", Duration::from_secs(30)).await?;
    bench.call("doctor --fix")?;
    assert_eq!(bench.db.value(PREPARED).await?, "1", "its run is open");
    waiting.wait()?.expect_code(0);
    bench.thrice("run t 2025-03-03").failpoints("after_prepare=return(kill)").run()?.expect_killed();
    assert_eq!(bench.db.value(PREPARED).await?, "1");
    // the run still counts as open: whoever claims the partition next ends it
    bench.call("run t 2025-03-03")?.expect_code(0);
    bench.thrice("run t 2025-03-04").failpoints("after_prepare=return(kill)").run()?.expect_killed();
    bench.db.execute("create table thrice_staging.p_987654 (day date)").await?;
    bench.call("run t 2025-03-04")?.expect_code(0);
    bench.call("doctor --fix")?;
    assert_eq!(bench.staging_tables().await?, 0);
    assert_eq!(bench.db.value("select count(distinct day) from m.t where shop < 9").await?, "3");
    Ok(())
}

/// A worker that is a member of the owner's role needs nothing else.
#[tokio::test(flavor = "multi_thread")]
async fn a_worker_of_the_owners_role_swaps() -> Result<()> {
    let bench = shops("").await?;
    let (login, url) = bench.worker_login("swapper").await?;
    let owner = format!("owner_{}", bench.db.name());
    bench
        .db
        .execute(&format!(
            "create role {owner}; grant all on schema m to {owner}; alter table m.t owner to {owner}; alter table m.first owner to {owner};
             alter table m.second owner to {owner}; alter table m.src owner to {owner}; grant usage on schema m to {login}"
        ))
        .await?;
    let run = |words: &str| bench.thrice(words).env("DATABASE_URL", &url).run();
    run(DAYS)?.expect_code(2).expect_error("TH0410");
    bench.db.execute(&format!("grant {owner} to {login}; grant create on schema m to {login}")).await?;
    run(DAYS)?.expect_code(0);
    bench.db.execute("update m.src set v = v + 1").await?;
    run(DAYS)?.expect_code(0);
    let owners = format!(
        "select count(*) from pg_class where relnamespace = 'm'::regnamespace and relkind in ('r', 'p') and pg_get_userbyid(relowner) <> '{owner}'"
    );
    assert_eq!(bench.db.value(&owners).await?, "0");
    assert_eq!(bench.staging_tables().await?, 0);
    bench
        .db
        .execute(&format!("reassign owned by {owner} to current_user; drop owned by {owner}; drop role {owner}"))
        .await
}
