//! What thrice refuses to do, and what it takes to do it all the same. A refusal changes nothing.

use anyhow::Result;
use thrice_tests::Bench;

use crate::daily;

const SQL: &str = "select at::date as day, id, v from g.src where at >= :interval_start and at < :interval_end";

/// One row a day from the 1st to the 20th of June, in Seoul.
async fn bench(more: &str) -> Result<Bench> {
    Bench::new(
        "Asia/Seoul",
        "create schema g;
         create table g.src (at timestamptz, id int, v int);
         insert into g.src select '2025-06-01 03:00Z'::timestamptz + n * interval '1 day', n + 1, 10 * (n + 1) from generate_series(0, 19) n;
         create table g.t (day date, id int, v int)",
        &[daily("t", "2025-06-01", "g.t", "day", more, SQL)],
    )
    .await
}

/// Everything that a refusal must leave as it was.
async fn state(bench: &Bench) -> Result<Vec<String>> {
    let mut state = bench.db.rows("select ctid, xmin, t from g.t t order by ctid").await?;
    state.extend(bench.db.rows("select p.partition_id, current_attempt_id, data_attempt_id, version, closed_at from thrice.partitions p where data_attempt_id is not null order by 1").await?);
    state.extend(bench.db.rows("select r from thrice.publications r order by attempt_id").await?);
    Ok(state)
}

#[tokio::test(flavor = "multi_thread")]
async fn existing_rows_are_refused_then_adopted() -> Result<()> {
    let bench = bench("").await?;
    bench.db.execute("insert into g.t values ('2025-06-03', 3, 30), ('2025-06-03', 99, 0)").await?;
    let before = state(&bench).await?;
    bench.call("run t 2025-06-03")?.expect_code(5).expect_error("TH0531");
    assert_eq!(state(&bench).await?, before);
    assert_eq!(bench.runs().await?, ["2025-06-03|1|failed|guard|"]);
    // adopt wants a reason and an agreement
    bench.call("adopt t --from 2025-06-03 --to 2025-06-04 --yes")?.expect_code(5).expect_error("TH0501");
    let adopt = ["adopt", "t", "--from", "2025-06-03", "--to", "2025-06-04", "--reason", "the old job loaded it"];
    bench.project.thrice(adopt).run()?.expect_code(5).expect_error("TH0503");
    assert_eq!(state(&bench).await?, before);
    bench.project.thrice(adopt).args(["--yes"]).run()?.expect_code(0);
    assert_eq!(bench.receipts().await?, ["2025-06-03|2|adopt|2"]);
    assert_eq!(bench.db.rows("select id from g.t order by id").await?, ["3", "99"]);
    let told = "select trigger || ' ' || reason from thrice.pipeline_run_ledger where trigger = 'adopt'";
    assert_eq!(bench.db.rows(told).await?, ["adopt the old job loaded it"]);
    // now they are accounted for, and a run may replace them
    bench.call("run t 2025-06-03")?.expect_code(0);
    assert_eq!(bench.db.rows("select id from g.t order by id").await?, ["3"]);
    // adopting again changes nothing
    bench.project.thrice(adopt).args(["--yes"]).run()?.expect_code(0);
    assert_eq!(bench.receipts().await?, ["2025-06-03|2|adopt|2", "2025-06-03|3|publish|1"]);
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn existing_rows_are_overwritten_with_a_reason() -> Result<()> {
    let bench = bench("").await?;
    bench.db.execute("insert into g.t values ('2025-06-03', 98, 30), ('2025-06-04', 99, 0)").await?;
    bench.call("run t 2025-06-03 --overwrite-existing")?.expect_code(5).expect_error("TH0501");
    bench
        .project
        .thrice(["run", "t", "2025-06-03", "--overwrite-existing", "--reason", "x"])
        .run()?
        .expect_code(2)
        .expect_error("TH0502");
    assert_eq!(bench.runs().await?, [""; 0]);
    bench
        .project
        .thrice(["run", "t", "2025-06-03", "--overwrite-existing", "--reason", "a bad load of 2024"])
        .run()?
        .expect_code(0);
    assert_eq!(bench.db.rows("select day, id from g.t order by day").await?, ["2025-06-03|3", "2025-06-04|99"]);
    assert_eq!(bench.db.value("select reason from thrice.pipeline_run_ledger").await?, "a bad load of 2024");
    // an equal result over rows of unknown origin is refused too: nobody can say who wrote them
    bench.db.execute("update g.t set id = 4, v = 40 where id = 99").await?;
    bench.call("run t 2025-06-04")?.expect_code(5).expect_error("TH0531");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn an_empty_result_over_a_published_partition() -> Result<()> {
    let bench = bench("allow_empty = true\n").await?;
    bench.call("run t 2025-06-03 2025-06-04")?.expect_code(0);
    bench.db.execute("delete from g.src where id in (3, 4)").await?;
    let before = state(&bench).await?;
    bench.call("run t 2025-06-03")?.expect_code(5).expect_error("TH0706");
    assert_eq!(state(&bench).await?, before);
    assert_eq!(bench.runs().await?[2], "2025-06-03|2|failed|guard|");
    bench.call("run t 2025-06-03 --accept-drop")?.expect_code(5).expect_error("TH0501");
    bench
        .project
        .thrice(["run", "t", "2025-06-03", "--accept-drop", "--reason", "the shop was shut"])
        .run()?
        .expect_code(0);
    assert_eq!(bench.db.rows("select id from g.t").await?, ["4"]);
    // empty over empty is nothing lost
    bench.call("run t 2025-06-03")?.expect_code(0);
    assert_eq!(
        bench.receipts().await?,
        ["2025-06-03|1|publish|1", "2025-06-04|1|publish|1", "2025-06-03|3|publish|0", "2025-06-03|4|unchanged|0"]
    );
    Ok(())
}

/// Accepted once, an empty day is a published day like any other: running it again is `unchanged`, without a reason.
#[tokio::test(flavor = "multi_thread")]
async fn an_accepted_empty_day_is_rerunnable() -> Result<()> {
    let bench = bench("").await?;
    bench.call("run t 2025-06-03")?.expect_code(0);
    bench.db.execute("delete from g.src where id = 3").await?;
    bench.call("run t 2025-06-03")?.expect_code(5).expect_error("TH0706");
    let accept = ["run", "t", "2025-06-03", "--accept-drop", "--reason", "the shop was shut"];
    bench.project.thrice(accept).run()?.expect_code(0);
    bench.call("run t 2025-06-03")?.expect_code(0).expect_text("unchanged");
    bench.project.thrice(accept).run()?.expect_code(0).expect_text("unchanged");
    assert_eq!(
        bench.receipts().await?,
        ["2025-06-03|1|publish|1", "2025-06-03|3|publish|0", "2025-06-03|4|unchanged|0", "2025-06-03|5|unchanged|0"]
    );
    // rows that come later are published, and guarded again
    bench.db.execute("insert into g.src values ('2025-06-03 03:00Z', 3, 31)").await?;
    bench.call("run t 2025-06-03")?.expect_code(0);
    bench.db.execute("delete from g.src where id = 3").await?;
    bench.call("run t 2025-06-03")?.expect_code(5).expect_error("TH0706");
    assert_eq!(bench.db.rows("select v from g.t").await?, ["31"]);
    Ok(())
}

/// Never published and empty: a check says no, unless the pipeline allows it.
#[tokio::test(flavor = "multi_thread")]
async fn an_empty_first_result() -> Result<()> {
    let bench = bench("").await?;
    bench.call("run t 2025-06-21")?.expect_code(4).expect_error("TH0702");
    assert_eq!(bench.runs().await?, ["2025-06-21|1|failed|check|"]);
    assert_eq!(bench.receipts().await?, [""; 0]);
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_closed_partition() -> Result<()> {
    let bench = bench("").await?;
    bench.call("run t 2025-06-03 2025-06-04")?.expect_code(0);
    bench
        .db
        .execute(
            "update thrice.partitions set closed_at = now() where interval_key = '2025-06-03'; update g.src set v = 0",
        )
        .await?;
    let before = state(&bench).await?;
    bench.call("run t 2025-06-03")?.expect_code(5).expect_error("TH0530");
    assert_eq!(state(&bench).await?, before);
    bench.call("run t 2025-06-03 --reopen")?.expect_code(5).expect_error("TH0501");
    assert_eq!(state(&bench).await?, before);
    // its neighbour is open
    bench.call("run t 2025-06-04")?.expect_code(0);
    bench.project.thrice(["run", "t", "2025-06-03", "--reopen", "--reason", "the auditor asked"]).run()?.expect_code(0);
    assert_eq!(bench.db.rows("select day, v from g.t order by 1").await?, ["2025-06-03|0", "2025-06-04|0"]);
    let reasons = "select reason from thrice.pipeline_run_ledger where reason is not null";
    assert_eq!(bench.db.rows(reasons).await?, ["the auditor asked"]);
    Ok(())
}

/// Closed while a run was under way: the publish itself looks again, under its lock.
#[tokio::test(flavor = "multi_thread")]
async fn a_partition_closed_during_the_run() -> Result<()> {
    let bench = bench("").await?;
    bench.call("run t 2025-06-03")?.expect_code(0);
    bench.db.execute("update g.src set v = 0").await?;
    let run = bench.thrice("run t 2025-06-03").failpoints("after_validate=return(sleep:3000)").start()?;
    let validated = "select count(*) from thrice.pipeline_run_ledger where status = 'validated'";
    bench.wait_for(validated, "1", std::time::Duration::from_mins(1)).await?;
    bench.db.execute("update thrice.partitions set closed_at = now()").await?;
    run.wait_at_most(std::time::Duration::from_mins(1))?.expect_code(5).expect_error("TH0530");
    assert_eq!(bench.db.rows("select v from g.t").await?, ["30"]);
    assert_eq!(bench.runs().await?[1], "2025-06-03|2|failed|guard|TH003");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn intervals_that_may_not_run_yet() -> Result<()> {
    let bench = bench("").await?;
    let mut pipeline = daily("t", "2025-06-01", "g.t", "day", "", SQL);
    pipeline.toml = pipeline.toml.replace("[target]", "delay = \"2h10m\"\nend = \"2025-06-10\"\n[target]");
    bench.project.write(&pipeline)?;
    // the 5th ends at 15:00Z
    for (at, key, code) in [
        ("2025-06-05T14:59:59Z", "2025-06-05", "TH0116"),
        ("2025-06-05T15:00:00Z", "2025-06-05", "TH0117"),
        ("2025-06-05T17:09:59Z", "2025-06-05", "TH0117"),
        ("2025-06-05T17:10:00Z", "2025-05-31", "TH0115"),
        ("2025-07-05T17:10:00Z", "2025-06-10", "TH0115"),
    ] {
        let what = format!("run t {key} --as-of {at}");
        bench.call(&what)?.expect_code(5).expect_error(code);
    }
    assert_eq!(bench.db.value("select count(*) from thrice.partitions").await?, "0");
    bench.call("run t 2025-06-05 --as-of 2025-06-05T15:00:00Z --early")?.expect_code(5).expect_error("TH0501");
    bench
        .call("run t 2025-06-05 --as-of 2025-06-05T14:59:59Z --early --reason cannot")?
        .expect_code(5)
        .expect_error("TH0116");
    bench.call("run t 2025-06-05 --as-of 2025-06-05T15:00:00Z --early --reason needed-now")?.expect_code(0);
    bench.call("run t 2025-06-05 --as-of 2025-06-05T17:10:00Z")?.expect_code(0);
    assert_eq!(bench.db.rows("select day from g.t").await?, ["2025-06-05"]);
    Ok(())
}

/// What `run` would not make yet, or ever, is not taken for made: rows of it would count as final.
#[tokio::test(flavor = "multi_thread")]
async fn intervals_that_may_not_be_adopted_yet() -> Result<()> {
    let bench = bench("").await?;
    let mut pipeline = daily("t", "2025-06-01", "g.t", "day", "", SQL);
    pipeline.toml = pipeline.toml.replace("[target]", "delay = \"2h10m\"\nend = \"2025-06-10\"\n[target]");
    bench.project.write(&pipeline)?;
    bench
        .db
        .execute("insert into g.t select d, 1, 1 from generate_series('2025-05-30'::date, '2025-06-12', '1 day') d")
        .await?;
    for (at, from, to, code, fix) in [
        ("2025-06-05T14:59:59Z", "2025-06-05", "2025-06-05", "TH0116", "wait until it has ended"),
        (
            "2025-06-05T14:59:59Z",
            "2025-06-03",
            "2025-06-06",
            "TH0116",
            "--from 2025-06-03 --to 2025-06-04 names those that may be adopted",
        ),
        ("2025-06-05T15:00:00Z", "2025-06-05", "2025-06-05", "TH0117", "fix: wait until it is due"),
        ("2025-06-05T17:10:00Z", "2025-05-31", "2025-05-31", "TH0115", "set an earlier start"),
        ("2025-07-05T17:10:00Z", "2025-06-10", "2025-06-10", "TH0115", "set a later end"),
    ] {
        let what = format!("adopt t --from {from} --to {to} --reason why --yes --as-of {at}");
        bench.call(&what)?.expect_code(5).expect_error(code).expect_text(fix);
    }
    assert_eq!(bench.receipts().await?, [""; 0]);
    bench
        .call("adopt t --from 2025-06-01 --to 2025-06-05 --reason why --yes --as-of 2025-06-05T17:10:00Z")?
        .expect_code(0);
    assert_eq!(bench.receipts().await?.len(), 5);
    Ok(())
}

/// Eight published partitions in one call are a backfill; eight missing ones are not.
#[tokio::test(flavor = "multi_thread")]
async fn more_than_seven_published_partitions() -> Result<()> {
    let bench = bench("").await?;
    bench.call("run t --from 2025-06-01 --to 2025-06-08")?.expect_code(0);
    let before = state(&bench).await?;
    bench.call("run t --from 2025-06-01 --to 2025-06-08")?.expect_code(5).expect_error("TH0532");
    assert_eq!(state(&bench).await?, before);
    assert_eq!(bench.runs().await?.len(), 8);
    bench.call("run t --from 2025-06-02 --to 2025-06-10")?.expect_code(0);
    assert_eq!(bench.runs().await?.len(), 8 + 9);
    assert_eq!(bench.db.value("select count(*) || ' ' || sum(id) from g.t").await?, "10 55");
    Ok(())
}

/// Every kind of check, each failing by itself: exit 4, and target, receipt and checksum are as they were.
#[tokio::test(flavor = "multi_thread")]
async fn failing_checks_change_nothing() -> Result<()> {
    let bench = bench("key = [\"id\"]\n").await?;
    bench.call("run t 2025-06-03")?.expect_code(0);
    bench.db.execute("update g.src set v = v + 1; insert into g.src values ('2025-06-03 04:00Z', 33, null)").await?;
    let before = state(&bench).await?;
    let mut runs = 1;
    for (check, rows) in [
        ("rows = { min = 3 }", ""),
        ("rows = { max = 1 }", ""),
        ("not_null = [\"v\"]", ""),
        ("unique = [\"day\"]", ""),
        ("expression = \"v <> 31\"", ""),
        ("not_null = [\"day\"]", "insert into g.src values ('2025-06-03 05:00Z', null, 1)"),
    ] {
        if !rows.is_empty() {
            bench.db.execute(rows).await?;
        }
        let more = format!("key = [\"id\"]\n[[checks]]\nname = \"watched\"\n{check}\n");
        bench.project.write(&daily("t", "2025-06-01", "g.t", "day", &more, SQL))?;
        bench.call("run t 2025-06-03")?.expect_code(4);
        runs += 1;
        assert_eq!(state(&bench).await?, before, "{check}");
        let last = bench.runs().await?;
        assert_eq!(last.len(), runs, "a failed check is not tried again");
        assert_eq!(last[runs - 1], format!("2025-06-03|{runs}|failed|check|"), "{check}");
        let failed = "select check_name from thrice.check_results where not passed and attempt_id = (select max(attempt_id) from thrice.check_results)";
        let wanted = if rows.is_empty() { "watched" } else { "key not null" };
        assert_eq!(bench.db.rows(failed).await?, [wanted], "{check}");
    }
    // three duplicates of a key
    bench.db.execute("delete from g.src where id is null; update g.src set id = 3 where id = 33").await?;
    bench.project.write(&daily("t", "2025-06-01", "g.t", "day", "key = [\"id\"]\n", SQL))?;
    bench.call("run t 2025-06-03")?.expect_code(4).expect_error("TH0703");
    assert_eq!(state(&bench).await?, before);
    Ok(())
}

/// A row of the day after, at the very first instant that is not inside.
#[tokio::test(flavor = "multi_thread")]
async fn rows_outside_the_interval_are_refused() -> Result<()> {
    let bench = bench("").await?;
    bench.project.write(&daily(
        "t",
        "2025-06-01",
        "g.t",
        "day",
        "",
        "select at::date as day, id, v from g.src where at >= :interval_start and at < :interval_end + interval '1 day'",
    ))?;
    bench.call("run t 2025-06-03")?.expect_code(4).expect_error("TH0701");
    assert_eq!(bench.db.value("select count(*) from g.t").await?, "0");
    Ok(())
}

/// A check of severity warn is recorded and shown, and does not stop the publish.
#[tokio::test(flavor = "multi_thread")]
async fn a_warning_is_recorded() -> Result<()> {
    let more = "[[checks]]\nname = \"cheap\"\nseverity = \"warn\"\nexpression = \"v < 5\"\n";
    let bench = bench(more).await?;
    let out = bench.call("run t 2025-06-03 --json")?.expect_code(0).json()?;
    assert_eq!(out["items"][0]["outcome"], "published", "{out}");
    let row = "select check_name, severity, passed, observed from thrice.check_results where check_name = 'cheap'";
    assert_eq!(bench.db.rows(row).await?, ["cheap|warn|f|1"]);
    bench.call("show t 2025-06-03")?.expect_code(0).expect_text("cheap");
    Ok(())
}

/// The ledger's own tables would take rows like any other: they are refused by name, before a server is asked.
#[tokio::test(flavor = "multi_thread")]
async fn the_ledger_is_no_target() -> Result<()> {
    let sql =
        "select :interval_start as at, 'published' as kind, '{}'::jsonb as data where :interval_start < :interval_end";
    let more = "columns = \"allow_extra_target\"\n";
    let bench = Bench::new("UTC", "", &[]).await?;
    for table in
        ["thrice.events", "thrice_staging.t", "thrice_history.t", "pg_catalog.pg_class", "information_schema.t"]
    {
        bench.project.write(&daily("own", "2025-06-01", table, "at", more, sql))?;
        for words in [
            "lint",
            "lint --db",
            "run own 2025-06-03",
            "adopt own --from 2025-06-03 --to 2025-06-03 --reason why --yes",
        ] {
            bench.call(words)?.expect_code(2).expect_error("TH0413");
        }
    }
    assert_eq!(bench.db.value("select count(*) from thrice.events").await?, "0");
    assert_eq!(bench.runs().await?, [""; 0]);
    Ok(())
}

fn into(name: &str, table: &str) -> thrice_tests::PipelineText {
    daily(name, "2025-06-01", table, "day", "", SQL)
}

/// Receipts count for one table: rows that nobody accounts for in another one stay, whatever the first one's receipts say.
#[tokio::test(flavor = "multi_thread")]
async fn a_new_target_does_not_inherit_receipts() -> Result<()> {
    let bench = Bench::new(
        "Asia/Seoul",
        "create schema g; create table g.src (at timestamptz, id int, v int); insert into g.src values ('2025-06-03 03:00Z', 3, 30);
         create table g.t (day date, id int, v int); create table g.\"Prod\" (like g.t)",
        &[into("t", "g.t")],
    )
    .await?;
    bench.call("run t 2025-06-03")?.expect_code(0);
    bench.db.execute("insert into g.\"Prod\" select '2025-06-03', n, n from generate_series(1, 1000) n").await?;
    bench.project.write(&into("t", "g.\"Prod\""))?;
    let before = state(&bench).await?;
    for words in
        ["run t 2025-06-03", "run", "adopt t --from 2025-06-03 --to 2025-06-03 --reason why --yes", "lint --db"]
    {
        let out = bench.call(words)?.expect_code(5).expect_error("TH0537");
        assert!(out.stderr().contains("table = 'g.t' under [target]"), "{words}: {}", out.stderr());
    }
    assert_eq!(state(&bench).await?, before);
    assert_eq!(bench.db.value("select count(*) from g.\"Prod\"").await?, "1000");
    // what is published is not in the new table, and the gate says so
    bench.call("status t --from 2025-06-03 --to 2025-06-03 --require published")?.expect_code(5).expect_error("TH0551");
    let out = bench.call("status t --from 2025-06-03 --to 2025-06-03 --json")?.expect_code(0).expect_error("TH0537");
    assert_eq!(out.json()?["pipelines"][0]["counts"]["missing"], 1, "{}", out.stdout());
    // the way out: the new table is another pipeline's
    bench.project.write(&into("t", "g.t"))?;
    bench.project.write(&into("prod", "g.\"Prod\""))?;
    bench.call("lint --db")?.expect_code(0);
    bench.call("run prod 2025-06-03")?.expect_code(5).expect_error("TH0531");
    bench.call("adopt prod --from 2025-06-03 --to 2025-06-03 --reason why --yes")?.expect_code(0);
    bench.call("run prod 2025-06-03")?.expect_code(5).expect_error("TH0704");
    bench.call("run prod 2025-06-03 --accept-drop --reason a-load-test")?.expect_code(0);
    assert_eq!(bench.db.rows("select * from g.\"Prod\"").await?, ["2025-06-03|3|30"]);
    assert_eq!(bench.db.rows("select * from g.t").await?, ["2025-06-03|3|30"]);
    Ok(())
}

/// A pipeline is called like its files. Renamed before it has published, it keeps its table; afterwards it is told why not.
#[tokio::test(flavor = "multi_thread")]
async fn a_renamed_pipeline() -> Result<()> {
    let bench = bench("").await?;
    let rename = |from: &str, to: &str| -> Result<()> {
        for ending in ["toml", "sql"] {
            let folder = bench.project.path().join("pipelines");
            std::fs::rename(folder.join(format!("{from}.{ending}")), folder.join(format!("{to}.{ending}")))?;
        }
        Ok(())
    };
    bench.db.execute("insert into g.t values ('2025-06-03', 99, 0)").await?;
    bench.call("run t 2025-06-03")?.expect_code(5).expect_error("TH0531");
    rename("t", "early")?;
    bench.call("lint --db")?.expect_code(0);
    bench.call("run early 2025-06-04")?.expect_code(0).expect_text("takes over the target of t");
    rename("early", "late")?;
    for words in ["run late 2025-06-04", "lint --db"] {
        let out = bench.call(words)?;
        assert!(matches!(out.code(), Some(2)), "{words}: {:?}", out.code());
        out.expect_error("TH0217")
            .expect_text("early has published into it")
            .expect_text("give the two files the name early again");
    }
    rename("late", "early")?;
    bench.call("run early 2025-06-04")?.expect_code(0);
    assert_eq!(bench.receipts().await?, ["2025-06-04|1|publish|1", "2025-06-04|2|unchanged|1"]);
    Ok(())
}

/// A column that cannot tell the pipeline's hours apart is refused for the pipeline: whichever interval is run, now or then,
/// the answer is that of `lint --db`.
#[tokio::test(flavor = "multi_thread")]
async fn hours_that_come_twice_are_refused_everywhere_alike() -> Result<()> {
    let bench = Bench::new(
        "America/Sao_Paulo",
        "create schema g; create table g.src (at timestamptz); create table g.t (at timestamp);
         insert into g.src select generate_series('2018-06-01Z'::timestamptz, '2018-06-02Z', '1 hour')",
        &[],
    )
    .await?;
    let sql = "select at::timestamp as at from g.src where at >= :interval_start and at < :interval_end";
    // summer time ended for good in February 2019
    for (start, refused) in [("2018-01-01T00", true), ("2019-06-01T00", false)] {
        bench.project.write(&crate::hourly("t", start, "g.t", "at", "allow_empty = true\n", sql))?;
        for words in
            ["lint --db", "lint --db --as-of 2018-06-01T12:00:00Z", "run t 2019-07-01T05", "run t 2026-01-01T05"]
        {
            let out = bench.call(words)?;
            if refused {
                out.expect_code(2).expect_error("TH0224").expect_text("a later start in [interval]");
            } else {
                out.expect_code(0);
            }
        }
    }
    Ok(())
}

/// Through a view the name of the target is not in the query: the server knows, and also whose privileges are missing.
#[tokio::test(flavor = "multi_thread")]
async fn lint_asks_the_server_what_the_query_reads() -> Result<()> {
    let bench = bench("").await?;
    bench.db.execute("create view g.all_days as select * from g.t union all select at::date, id, v from g.src").await?;
    let through = "select day, id, v from g.all_days where day >= :interval_date and day < :interval_end::date";
    bench.project.write(&daily("t", "2025-06-01", "g.t", "day", "", through))?;
    let own = "reads g.t, its own target";
    let quiet = bench.call("lint")?.expect_code(0);
    assert!(!quiet.stderr().contains(own), "{}", quiet.stderr());
    bench.call("lint --db")?.expect_code(0).expect_error("TH0311").expect_text(own);
    let allowed = format!("{through} -- thrice: allow(own_target) the union is by day");
    bench.project.write(&daily("t", "2025-06-01", "g.t", "day", "", &allowed))?;
    let quiet = bench.call("lint --db")?.expect_code(0);
    assert!(!quiet.stderr().contains(own), "{}", quiet.stderr());

    bench.project.write(&daily("t", "2025-06-01", "g.t", "day", "", SQL))?;
    let (login, url) = bench.worker_login("poor").await?;
    bench
        .db
        .execute(&format!("grant usage on schema g to {login}; grant select, insert, delete on g.t to {login}"))
        .await?;
    let words = [["lint", "--db"].as_slice(), &["run", "t", "2025-06-03"]];
    for (words, grant) in words.into_iter().zip(["grant select on \"g\".\"src\" to", "grant select on src to"]) {
        let out = bench.project.thrice_through(&url, words).run()?.expect_code(2).expect_error("TH0410");
        assert!(out.stderr().contains(grant), "{words:?}: {}", out.stderr());
    }
    bench.db.execute(&format!("grant select on g.src to {login}")).await?;
    bench.project.thrice_through(&url, ["lint", "--db"]).run()?.expect_code(0);
    Ok(())
}
