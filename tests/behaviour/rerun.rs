//! Running a partition again: three runs are one run, and nothing outside the interval moves.

use anyhow::Result;
use thrice_tests::Bench;

use crate::daily;

/// Fingerprint of every row of the target, with its place in the heap and the transaction that wrote it.
const PHYSICAL: &str = "select md5(string_agg(ctid || xmin::text || t::text, ',' order by ctid)) from m.t t";
/// Fingerprint of every row of the target.
const LOGICAL: &str = "select md5(string_agg(t::text, ',' order by t::text)) from m.t t";

const SQL: &str =
    "select day, shop, sum(v) as total from m.src where at >= :interval_start and at < :interval_end group by 1, 2";

/// Three shops on each of five days; the rows of the 1st and 5th are there before thrice comes.
async fn shops() -> Result<Bench> {
    Bench::new(
        "Asia/Seoul",
        "create schema m;
         create table m.src (at timestamptz, day date, shop int, v numeric);
         insert into m.src
           select at, (at at time zone 'Asia/Seoul')::date, n % 3, n + 0.25
             from generate_series(0, 119) n, lateral (select '2025-02-28 15:00Z'::timestamptz + n * interval '1 hour') x (at);
         create table m.t (day date not null, shop int, total numeric, unique (day, shop));
         insert into m.t values ('2025-03-01', 9, 1), ('2025-03-05', 9, 5)",
        &[daily("t", "2025-03-01", "m.t", "day", "key = [\"day\", \"shop\"]\n", SQL)],
    )
    .await
}

#[tokio::test(flavor = "multi_thread")]
async fn three_runs_are_one_run() -> Result<()> {
    let bench = shops().await?;
    let days = "run t 2025-03-02 2025-03-03 2025-03-04";
    bench.call(days)?.expect_code(0);
    let once = bench.db.value(LOGICAL).await?;
    let model = "select count(*) from (
        (select day, shop, total from m.t where shop <> 9 except all
         select day, shop, sum(v) from m.src where day between '2025-03-02' and '2025-03-04' group by 1, 2)
        union all
        (select day, shop, sum(v) from m.src where day between '2025-03-02' and '2025-03-04' group by 1, 2 except all
         select day, shop, total from m.t where shop <> 9)) d";
    assert_eq!(bench.db.value(model).await?, "0");
    assert_eq!(bench.db.value("select count(*) from m.t").await?, "11");
    for _ in 0..2 {
        bench.call(days)?.expect_code(0);
        assert_eq!(bench.db.value(LOGICAL).await?, once);
    }
    assert_eq!(bench.runs().await?.len(), 9);
    assert_eq!(
        bench
            .broken_invariants("(select * from m.t where shop <> 9)", "t.day::timestamp at time zone 'Asia/Seoul'")
            .await?,
        [""; 0]
    );
    Ok(())
}

/// Also the physical place of rows outside: they are neither deleted nor written again.
#[tokio::test(flavor = "multi_thread")]
async fn rows_outside_the_interval_are_untouched() -> Result<()> {
    let bench = shops().await?;
    bench.call("run t 2025-03-02 2025-03-04")?.expect_code(0);
    let outside = "select string_agg(ctid || ':' || xmin || t, ',' order by ctid) from m.t t where day <> '2025-03-03'";
    let before = bench.db.value(outside).await?;
    bench.call("run t 2025-03-03")?.expect_code(0);
    bench.db.execute("update m.src set v = v + 1 where day = '2025-03-03'").await?;
    bench.call("run t 2025-03-03")?.expect_code(0);
    assert_eq!(bench.db.value(outside).await?, before);
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn vanished_source_rows_vanish() -> Result<()> {
    let bench = shops().await?;
    bench.call("run t 2025-03-03")?.expect_code(0);
    assert_eq!(bench.db.rows("select shop from m.t where day = '2025-03-03' order by 1").await?, ["0", "1", "2"]);
    bench.db.execute("delete from m.src where day = '2025-03-03' and shop = 1").await?;
    let out = bench.call("run t 2025-03-03 --json")?.expect_code(0).json()?;
    assert_eq!(bench.db.rows("select shop from m.t where day = '2025-03-03' order by 1").await?, ["0", "2"]);
    assert_eq!(out["items"][0]["rows"]["total"], 2, "{out}");
    assert_eq!(out["items"][0]["rows"]["deleted"], 3, "{out}");
    assert_eq!(bench.receipts().await?, ["2025-03-03|1|publish|3", "2025-03-03|2|publish|2"]);
    Ok(())
}

/// The same result again: a receipt, and not one write to the target.
#[tokio::test(flavor = "multi_thread")]
async fn an_equal_result_writes_nothing() -> Result<()> {
    let bench = shops().await?;
    bench.call("run t 2025-03-03")?.expect_code(0);
    let before = bench.db.value(PHYSICAL).await?;
    let size = bench.db.value("select pg_relation_size('m.t')").await?;
    for _ in 0..2 {
        let out = bench.call("run t 2025-03-03 --json")?.expect_code(0).json()?;
        assert_eq!(out["items"][0]["outcome"], "unchanged", "{out}");
    }
    assert_eq!(bench.db.value(PHYSICAL).await?, before);
    assert_eq!(bench.db.value("select pg_relation_size('m.t')").await?, size);
    assert_eq!(
        bench.receipts().await?,
        ["2025-03-03|1|publish|3", "2025-03-03|2|unchanged|3", "2025-03-03|3|unchanged|3"]
    );
    let pointers = "select c.attempt_no || ' ' || d.attempt_no from thrice.partitions p
        join thrice.pipeline_run_ledger c on c.attempt_id = p.current_attempt_id
        join thrice.pipeline_run_ledger d on d.attempt_id = p.data_attempt_id";
    assert_eq!(bench.db.value(pointers).await?, "3 1");
    Ok(())
}

/// When it was published is no part of what was published.
#[tokio::test(flavor = "multi_thread")]
async fn the_published_at_column_is_left_out() -> Result<()> {
    let bench = Bench::new(
        "UTC",
        "create schema m;
         create table m.src (at timestamptz, v int);
         insert into m.src values ('2025-03-03 10:00Z', 1), ('2025-03-03 11:00Z', 2);
         create table m.t (at timestamptz, v int, loaded timestamptz not null)",
        &[daily(
            "t",
            "2025-03-01",
            "m.t",
            "at",
            "published_at = \"loaded\"\n",
            "select at, v from m.src where at >= :interval_start and at < :interval_end",
        )],
    )
    .await?;
    bench.call("run t 2025-03-03")?.expect_code(0);
    let first = bench.db.rows("select v, loaded from m.t order by v").await?;
    assert_eq!(bench.db.value("select count(*) from m.t where loaded > now() - interval '5 minutes'").await?, "2");
    let out = bench.call("run t 2025-03-03 --json")?.expect_code(0).json()?;
    assert_eq!(out["items"][0]["outcome"], "unchanged", "{out}");
    assert_eq!(bench.db.rows("select v, loaded from m.t order by v").await?, first);
    bench.db.execute("update m.src set v = 3 where v = 2").await?;
    bench.call("run t 2025-03-03")?.expect_code(0);
    let later = bench.db.rows("select v, loaded from m.t order by v").await?;
    assert_ne!(later[0], first[0], "the row that is new carries the new time, and so does its neighbour");
    assert_eq!(bench.receipts().await?.len(), 3);
    Ok(())
}

/// Somebody edits the target by hand. The next run sees that it is not what its receipt says, puts it right and tells, be
/// its own result the same as before or another one.
#[tokio::test(flavor = "multi_thread")]
async fn an_edited_target_is_noticed_and_replaced() -> Result<()> {
    for (edit, rows_before) in [
        ("update m.t set total = 0 where day = '2025-03-03' and shop = 0", 3),
        ("delete from m.t where day = '2025-03-03' and shop = 1", 2),
        ("insert into m.t values ('2025-03-03', 77, 77)", 4),
        ("update m.t set day = '2025-03-02' where day = '2025-03-03' and shop = 2", 2),
    ] {
        for source in ["", "; update m.src set v = v + 1 where day = '2025-03-03'"] {
            let bench = shops().await?;
            bench.call("run t 2025-03-03")?.expect_code(0);
            bench.db.execute(&format!("{edit}{source}")).await?;
            let out = bench.call("run t 2025-03-03 --json")?.expect_code(0).expect_error("TH0538");
            let item = &out.json()?["items"][0];
            assert_eq!(item["outcome"], "published", "{edit}: {item}");
            let told = serde_json::json!({ "rows_before": rows_before, "receipt_rows": 3 });
            assert_eq!(item["edited_since_receipt"], told, "{edit}{source}: {item}");
            let event = "select data -> 'edited_since_receipt' from thrice.events where kind = 'published' order by event_id desc";
            assert_eq!(serde_json::from_str::<serde_json::Value>(&bench.db.value(event).await?)?, told);
            let wrong = "select count(*) from (
                select day, shop, total from m.t where day = '2025-03-03' except all
                select day, shop, sum(v) from m.src where day = '2025-03-03' group by 1, 2) d";
            assert_eq!(bench.db.value(wrong).await?, "0", "{edit}");
            assert_eq!(bench.receipts().await?, ["2025-03-03|1|publish|3", "2025-03-03|2|publish|3"]);
            // put right, there is nothing more to tell
            let out = bench.call("run t 2025-03-03 --json")?.expect_code(0);
            assert!(!out.stderr().contains("TH0538"), "{}", out.stderr());
            assert_eq!(out.json()?["items"][0]["outcome"], "unchanged", "{edit}");
        }
    }
    Ok(())
}

/// A changed result, or other code, over rows that nobody has touched is no edit.
#[tokio::test(flavor = "multi_thread")]
async fn what_is_as_its_receipt_says_is_no_edit() -> Result<()> {
    let bench = shops().await?;
    let quiet = |out: &thrice_tests::Finished| -> Result<()> {
        assert!(!out.stderr().contains("TH0538"), "{}", out.stderr());
        assert_eq!(out.json()?["items"][0]["outcome"], "published");
        assert!(out.json()?["items"][0]["edited_since_receipt"].is_null());
        Ok(())
    };
    quiet(&bench.call("run t 2025-03-03 --json")?.expect_code(0))?;
    bench.db.execute("update m.src set v = v + 1 where day = '2025-03-03'").await?;
    quiet(&bench.call("run t 2025-03-03 --json")?.expect_code(0))?;
    // other columns have another checksum: with other code the count alone is compared
    bench.db.execute("alter table m.t add note text").await?;
    let sql = SQL.replace("as total", "as total, 'n' as note");
    let more = "key = [\"day\", \"shop\"]\n";
    bench.project.write(&daily("t", "2025-03-01", "m.t", "day", more, &sql))?;
    quiet(&bench.call("run t 2025-03-03 --json")?.expect_code(0))?;
    let told = "select count(*) from thrice.events where data ? 'edited_since_receipt'";
    assert_eq!(bench.db.value(told).await?, "0");
    Ok(())
}

/// A day without rows, allowed: published, re-runnable, and filled when rows come.
#[tokio::test(flavor = "multi_thread")]
async fn an_empty_day_is_a_result() -> Result<()> {
    let bench = Bench::new(
        "UTC",
        "create schema m; create table m.src (at timestamptz); create table m.t (at timestamptz)",
        &[daily(
            "t",
            "2025-03-01",
            "m.t",
            "at",
            "allow_empty = true\n",
            "select at from m.src where at >= :interval_start and at < :interval_end",
        )],
    )
    .await?;
    for _ in 0..2 {
        bench.call("run t 2025-03-03")?.expect_code(0);
    }
    assert_eq!(bench.receipts().await?, ["2025-03-03|1|publish|0", "2025-03-03|2|unchanged|0"]);
    bench.db.execute("insert into m.src values ('2025-03-03 23:59:59.999999Z'), ('2025-03-04Z')").await?;
    bench.call("run t 2025-03-03")?.expect_code(0);
    assert_eq!(bench.db.rows("select at from m.t").await?, ["2025-03-03 23:59:59.999999+00"]);
    Ok(())
}

/// Small partitions of one call share a staging table. Somebody who drops it between two of them costs another table.
#[tokio::test(flavor = "multi_thread")]
async fn partitions_of_one_call_share_a_staging_table() -> Result<()> {
    let bench = shops().await?;
    let days = ["2025-03-02", "2025-03-03", "2025-03-04"];
    bench.call(&format!("run t {}", days.join(" ")))?.expect_code(0);
    let names = "select count(distinct staging_relation) from thrice.pipeline_run_ledger";
    assert_eq!(bench.db.value(names).await?, "1");
    assert_eq!(bench.staging_tables().await?, 0, "and it is gone with the call");
    let once = bench.db.value(LOGICAL).await?;

    bench.db.execute("update m.src set v = v + 1").await?;
    let running =
        bench.thrice(&format!("run t {}", days.join(" "))).failpoints("after_commit=return(sleep:700)").start()?;
    let published = "select count(*) from thrice.publications where kind = 'publish'";
    for wanted in ["4", "5", "6"] {
        bench.wait_for(published, wanted, std::time::Duration::from_secs(30)).await?;
        // neither a sweep of another call nor doctor takes it from a worker that lives
        bench.call("run t 2025-03-06 --early")?;
        assert_eq!(bench.staging_tables().await?, 1);
        let table = bench
            .db
            .value("select relname from pg_class where relnamespace = 'thrice_staging'::regnamespace and relkind = 'r'")
            .await?;
        bench.db.execute(&format!("drop table thrice_staging.{table}")).await?;
    }
    running.wait()?.expect_code(0);
    assert_eq!(bench.staging_tables().await?, 0);
    bench.db.execute("update m.src set v = v - 1").await?;
    bench.call(&format!("run t {}", days.join(" ")))?.expect_code(0);
    assert_eq!(bench.db.value(LOGICAL).await?, once);
    Ok(())
}

/// A pipeline that goes from one strategy to the other and back: the same table, and a merge leaves equal rows where they are.
#[tokio::test(flavor = "multi_thread")]
async fn merged_as_if_replaced() -> Result<()> {
    let merged = |key: &str| {
        let target = format!("key = [{key}]\nstrategy = \"merge\"\nrows = \"complete\"\n");
        daily("t", "2025-03-01", "m.t", "day", &target, SQL)
    };
    let bench = shops().await?;
    let days = "2025-03-02 2025-03-03 2025-03-04";
    bench.call(&format!("run t {days}"))?.expect_code(0);
    let (once, physical) = (bench.db.value(LOGICAL).await?, bench.db.value(PHYSICAL).await?);

    bench.project.write(&merged("\"day\", \"shop\""))?;
    for _ in 0..2 {
        bench.call(&format!("run t {days}"))?.expect_code(0);
        assert_eq!(bench.db.value(PHYSICAL).await?, physical, "equal rows are not touched");
    }
    // one group of one day, and a shop that vanishes from another
    bench.db.execute("update m.src set v = v + 1 where day = '2025-03-02' and shop = 1; update m.src set shop = 0 where day = '2025-03-03' and shop = 2").await?;
    let changed = bench.call(&format!("run t {days} --json"))?.expect_code(0).json()?;
    let rows: Vec<[i64; 3]> = (0..3)
        .map(|item| {
            ["inserted", "updated", "deleted"].map(|of| changed["items"][item]["rows"][of].as_i64().unwrap_or(-1))
        })
        .collect();
    assert_eq!(rows, [[0, 1, 0], [0, 1, 1], [0, 0, 0]], "{changed}");
    let updated = "select sum(rows_updated) from thrice.publications";
    assert_eq!(bench.db.value(updated).await?, "2");
    // somebody edits the table behind thrice's back: told, and put right
    bench.db.execute("update m.t set total = 0 where day = '2025-03-04' and shop = 0; insert into m.t values ('2025-03-04', 77, 7)").await?;
    bench.call(&format!("run t {days}"))?.expect_code(0).expect_text("TH0538");
    let merged_rows = bench.db.value(LOGICAL).await?;
    bench.project.write(&daily("t", "2025-03-01", "m.t", "day", "key = [\"day\", \"shop\"]\n", SQL))?;
    bench.db.execute("delete from m.t where day between '2025-03-02' and '2025-03-04'").await?;
    bench.call(&format!("run t {days}"))?.expect_code(0);
    assert_eq!(bench.db.value(LOGICAL).await?, merged_rows, "as a replacement gives");
    bench.db.execute("update m.src set v = v - 1 where day = '2025-03-02' and shop = 1; update m.src set shop = 2 where day = '2025-03-03' and extract(hour from at at time zone 'Asia/Seoul')::int % 3 = 2").await?;
    bench.project.write(&merged("\"day\", \"shop\""))?;
    bench.call(&format!("run t {days}"))?.expect_code(0);
    assert_eq!(bench.db.value(LOGICAL).await?, once);

    // rows that no receipt accounts for are refused, then merged over, then adopted
    bench.call("run t 2025-03-05")?.expect_code(5).expect_error("TH0531");
    bench.call("run t 2025-03-05 --overwrite-existing --reason rebuilt")?.expect_code(0);
    bench.call("adopt t --from 2025-03-01 --to 2025-03-01 --reason before --yes")?.expect_code(0);
    let kinds = "select string_agg(kind || ' ' || strategy, ',' order by attempt_id desc) from (select * from thrice.publications order by attempt_id desc limit 2) p";
    assert_eq!(bench.db.value(kinds).await?, "adopt merge,publish merge");
    Ok(())
}

/// A target that is altered in the middle of a call: what comes after is of the new type, as in a call of its own.
#[tokio::test(flavor = "multi_thread")]
async fn a_target_altered_between_two_partitions() -> Result<()> {
    let thirds = SQL.replace("sum(v) as total", "sum(v) / 7 as total");
    let bench = Bench::new(
        "Asia/Seoul",
        "create schema m;
         create table m.src (at timestamptz, day date, shop int, v numeric);
         insert into m.src select '2025-02-28 15:00Z'::timestamptz + n * interval '1 hour', '2025-03-01'::date + n / 24, n % 3, n + 0.25 from generate_series(0, 119) n;
         create table m.t (day date not null, shop int, total numeric(14, 2), unique (day, shop))",
        &[daily("t", "2025-03-01", "m.t", "day", "key = [\"day\", \"shop\"]\n", &thirds)],
    )
    .await?;
    let pause = "after_commit=1*return(sleep:1500)->off";
    for (damage, days) in [
        ("alter table m.t alter total type numeric", "2025-03-01 2025-03-02 2025-03-03"),
        (
            "do $$ begin execute (select format('alter table thrice_staging.%I drop column shop', relname) from pg_class where relnamespace = 'thrice_staging'::regnamespace and relkind = 'r'); end $$",
            "2025-03-04 2025-03-05",
        ),
    ] {
        let published = bench.db.value("select count(*) from thrice.publications").await?.parse::<u32>()?;
        let running = bench.thrice(&format!("run t {days}")).failpoints(pause).start()?;
        let next = (published + 1).to_string();
        bench.wait_for("select count(*) from thrice.publications", &next, std::time::Duration::from_secs(30)).await?;
        bench.db.execute(damage).await?;
        running.wait()?.expect_code(0);
    }
    let rounded = "select count(*) from m.t t join (select day, shop, sum(v) / 7 as exact from m.src group by 1, 2) s using (day, shop) where t.total <> s.exact";
    assert_eq!(bench.db.value(rounded).await?, "3", "only those that were there before");
    bench.call("run t 2025-03-01 2025-03-02 2025-03-03 2025-03-04 2025-03-05")?.expect_code(0);
    assert_eq!(bench.db.value(rounded).await?, "0");
    assert_eq!(bench.staging_tables().await?, 0);
    Ok(())
}

/// A worker whose lease's session is gone looks dead, and works on: a sweep leaves the staging table that it has just filled.
#[tokio::test(flavor = "multi_thread")]
async fn a_sweep_looks_again_before_it_drops() -> Result<()> {
    let bench = shops().await?;
    let running = bench
        .thrice("run t 2025-03-02 2025-03-03 2025-03-04")
        .failpoints("stage_filled=1*off->1*return(sleep:2500)->off")
        .start()?;
    let receipts = "select count(*) from thrice.publications";
    bench.wait_for(receipts, "1", std::time::Duration::from_secs(30)).await?;
    bench.db.execute("select pg_terminate_backend(backend_pid) from thrice.workers").await?;
    // its sweep waits for the lock on the table that the other fills
    bench.call("run t 2025-03-06 --early")?;
    running.wait()?.expect_code(0);
    assert_eq!(bench.db.value("select count(*) from thrice.pipeline_run_ledger where status = 'failed'").await?, "0");
    let days = "select string_agg(distinct day::text, ' ' order by day::text) from m.t where shop <> 9";
    assert_eq!(bench.db.value(days).await?, "2025-03-02 2025-03-03 2025-03-04");
    Ok(())
}
