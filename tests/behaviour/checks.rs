//! A check of every kind that a file can have: rows that pass are published, rows that break one are not, and it is named.

use anyhow::Result;
use serde_json::json;
use thrice_tests::{Bench, PipelineText};

use crate::daily;

const SQL: &str = "select at::date as day, id, v, status, email, store, at from g.src where at >= :interval_start and at < :interval_end";

/// One check of each kind. Its name is the kind.
const CHECKS: &[(&str, &str)] = &[
    ("rows", "rows = { min = 3 }"),
    ("not_null", "not_null = [\"v\"]"),
    ("unique", "unique = [\"email\"]"),
    ("expression", "expression = \"v <> 13\""),
    ("null_rate", "null_rate = { column = \"email\", max = \"50%\" }"),
    ("range", "range = { column = \"v\", min = 0, max = 100.5 }"),
    ("accepted_values", "accepted_values = { column = \"status\", values = [\"paid\", \"it's open\"] }"),
    ("distinct", "distinct = { column = \"id\", min = 3, max = 4 }"),
    ("matches", "matches = { column = \"email\", pattern = '^[^@]+@[^@]+$' }"),
    ("references", "references = { columns = [\"store\"], table = 'g.\"St ores\"', key = ['\"the id\"'] }"),
    ("freshness", "freshness = { column = \"at\", max_age = \"2h\" }"),
    (
        "sql",
        "sql = \"\"\"\nselect store from staged\nwhere at >= :interval_start and :floor > 0\ngroup by store having sum(v) > 150 -- a store sells no more\n\"\"\"",
    ),
];

fn pipeline(severity: &str) -> PipelineText {
    let check =
        |(name, rule): &(&str, &str)| format!("[[checks]]\nname = \"{name}\"\nseverity = \"{severity}\"\n{rule}\n");
    let checks = CHECKS.iter().map(check).collect::<Vec<_>>().concat();
    daily("t", "2025-06-01", "g.t", "day", &format!("{checks}[vars]\nfloor = 1\n"), SQL)
}

async fn bench(severity: &str) -> Result<Bench> {
    Bench::new(
        "Asia/Seoul",
        "create schema g;
         create table g.src (at timestamptz, id int, v int, status text, email text, store int);
         insert into g.src values ('2025-06-03 10:00+09', 1, 10, 'paid', 'a@x', 1), ('2025-06-03 22:00+09', 2, 100, 'it''s open', 'b@x', 1),
           ('2025-06-03 12:00+09', 3, 0, null, null, null);
         create table g.\"St ores\" (\"the id\" bigint);
         insert into g.\"St ores\" values (1), (2);
         create table g.t (day date, id int, v int, status text, email text, store int, at timestamptz)",
        &[pipeline(severity)],
    )
    .await
}

/// What breaks the checks one by one, and the figure that is recorded.
const BREAKS: &[(&str, &str, &str)] = &[
    ("rows", "delete from g.src where id = 3", "2"),
    ("not_null", "update g.src set v = null where id = 3", "1"),
    ("unique", "update g.src set email = 'a@x' where id = 2", "1"),
    ("expression", "update g.src set v = 13 where id = 1", "1"),
    ("null_rate", "update g.src set email = null where id = 2", "2"),
    ("range", "update g.src set v = case id when 1 then -1 else 101 end where id in (1, 2)", "2"),
    ("accepted_values", "update g.src set status = 'lost' where id = 1", "1"),
    ("distinct", "update g.src set id = 2 where id = 3", "2"),
    ("matches", "update g.src set email = 'nobody' where id = 1", "1"),
    ("references", "update g.src set store = 3 where id = 2", "1"),
    ("freshness", "update g.src set at = '2025-06-03 21:59:58+09' where id = 2", "7202"),
    ("sql", "insert into g.src values ('2025-06-03 10:00+09', 4, 50, 'paid', 'c@x', 1)", "1"),
];

const FAILED: &str = "select check_name, observed from thrice.check_results where not passed \
                      and attempt_id = (select max(attempt_id) from thrice.check_results)";

#[tokio::test(flavor = "multi_thread")]
async fn every_kind_passes_and_fails_by_name() -> Result<()> {
    let bench = bench("error").await?;
    bench.call("lint")?.expect_code(0);
    bench.call("lint --db")?.expect_code(0);
    bench.db.execute("create table g.sound as select * from g.src").await?;
    for (nth, (name, change, observed)) in BREAKS.iter().enumerate() {
        // some break two: a row less is a different value less
        bench.db.execute(change).await?;
        let out = bench.call("run t 2025-06-03 --json")?.expect_code(4).expect_error("TH0705");
        let failed = bench.db.rows(FAILED).await?;
        assert!(failed.contains(&format!("{name}|{observed}")), "{name}: {failed:?}");
        let others: Vec<&String> = failed.iter().filter(|row| !row.starts_with(&format!("{name}|"))).collect();
        let expected: &[&str] = if *name == "rows" { &["distinct|2"] } else { &[] };
        assert_eq!(others, expected, "{name}");
        let told = out.json()?["items"][0]["error"]["message"].to_string();
        assert!(told.contains(&format!("{name}: ")), "{name}: {told}");
        assert_eq!(bench.receipts().await?, [""; 0], "{name}");
        assert_eq!(bench.db.value("select count(*) from g.t").await?, "0", "{name}");
        assert_eq!(bench.runs().await?[nth], format!("2025-06-03|{}|failed|check|", nth + 1), "{name}");
        bench.db.execute("truncate g.src; insert into g.src select * from g.sound").await?;
    }
    bench.call("run t 2025-06-03")?.expect_code(0);
    assert_eq!(bench.db.value("select count(*) from g.t").await?, "3");
    let passed = "select check_name, observed from thrice.check_results where passed and severity = 'error' and \
                  attempt_id = (select max(attempt_id) from thrice.check_results) and phase = 'staged' order by 1";
    assert_eq!(
        bench.db.rows(passed).await?,
        [
            "accepted_values|0",
            "distinct|3",
            "expression|0",
            "freshness|7200",
            "inside the interval|0",
            "matches|0",
            "not empty|3",
            "not_null|0",
            "null_rate|1",
            "range|0",
            "references|0",
            "rows|3",
            "sql|0",
            "unique|0"
        ]
    );
    let expected = "select expected::text from thrice.check_results where check_name = 'null_rate' order by attempt_id desc limit 1";
    assert_eq!(
        serde_json::from_str::<serde_json::Value>(&bench.db.value(expected).await?)?,
        json!({ "null_rate": "email", "max": "50%", "of_rows": 3 })
    );
    Ok(())
}

/// Of severity warn, each is recorded and the rows are published.
#[tokio::test(flavor = "multi_thread")]
async fn every_kind_may_warn() -> Result<()> {
    let bench = bench("warn").await?;
    bench
        .db
        .execute(
            "insert into g.src values ('2025-06-04 10:00+09', 1, null, 'lost', 'nobody', 3), ('2025-06-04 10:00+09', 1, 13, 'lost', 'nobody', 3),
               ('2025-06-04 10:00+09', 2, 200, 'lost', null, 3), ('2025-06-04 10:00+09', 2, -1, 'lost', null, 3), ('2025-06-04 10:00+09', 2, -1, 'lost', null, 3)",
        )
        .await?;
    let wanted = CHECKS.iter().map(|(name, _)| *name).filter(|name| *name != "rows");
    bench.call("run t 2025-06-04")?.expect_code(0);
    let mut wanted: Vec<&str> = wanted.collect();
    wanted.sort_unstable();
    let warned = "select check_name from thrice.check_results where not passed and severity = 'warn' order by check_name collate \"C\"";
    assert_eq!(bench.db.rows(warned).await?, wanted);
    assert_eq!(bench.db.value("select count(*) from g.t").await?, "5");
    Ok(())
}

/// A check that does not fit the rows ends the run and is named; nothing is published.
#[tokio::test(flavor = "multi_thread")]
async fn a_check_that_cannot_be_evaluated_is_named() -> Result<()> {
    let bench = bench("error").await?;
    for (rule, told) in [
        ("range = { column = \"nope\", min = 0 }", "column \"nope\" does not exist"),
        ("references = { columns = [\"store\"], table = \"g.gone\" }", "relation \"g.gone\" does not exist"),
        ("matches = { column = \"email\", pattern = \"(\" }", "invalid regular expression"),
        ("sql = \"select 1 from stagged\"", "relation \"stagged\" does not exist"),
        ("sql = \"select * from staged, pg_catalog.pg_advisory_lock(1 / (v - v))\"", "division by zero"),
    ] {
        let more = format!("[[checks]]\nnot_null = [\"day\"]\n[[checks]]\nname = \"the odd one\"\n{rule}\n");
        bench.project.write(&daily("t", "2025-06-01", "g.t", "day", &more, SQL))?;
        let out =
            bench.call("run t 2025-06-03")?.expect_code(8).expect_text("the check the odd one cannot be evaluated");
        out.expect_text(told);
        assert_eq!(bench.db.value("select count(*) from g.t").await?, "0");
    }
    // the transaction of the checks reads only
    bench
        .db
        .execute(
            "create function g.writes() returns int language sql as 'insert into g.src default values returning 1'",
        )
        .await?;
    let more = "[[checks]]\nname = \"writes\"\nsql = \"select g.writes()\"\n";
    bench.project.write(&daily("t", "2025-06-01", "g.t", "day", more, SQL))?;
    bench.call("run t 2025-06-03")?.expect_text("read-only transaction");
    assert_eq!(bench.db.value("select count(*) from g.src").await?, "3");
    Ok(())
}

/// Constants in checks are those of the pipeline's zone for every partition of a call, also for those whose checks are
/// prepared: the database has another zone.
#[tokio::test(flavor = "multi_thread")]
async fn constants_mean_the_same_for_every_partition() -> Result<()> {
    let more = "[[checks]]\nexpression = \"at >= case extract(day from day) when 1 then timestamptz '2025-06-01' when 2 then '2025-06-02' \
                when 3 then '2025-06-03' else '2025-06-04' end\"\n\
                [[checks]]\nrange = { column = \"at\", min = \"2025-06-01\", max = \"2025-06-05\" }\n";
    let sql = "select at::date as day, at from g.src where at >= :interval_start and at < :interval_end";
    let bench = Bench::new(
        "Asia/Seoul",
        "do $$ begin execute format('alter database %I set timezone to ''UTC''', current_database()); end $$;
         create schema g; create table g.t (day date, at timestamptz);
         create table g.src as select '2025-06-01 00:00+09'::timestamptz + n * interval '1 day' as at from generate_series(0, 3) n",
        &[daily("t", "2025-06-01", "g.t", "day", more, sql)],
    )
    .await?;
    bench.call("run t --from 2025-06-01 --to 2025-06-04")?.expect_code(0);
    assert_eq!(bench.db.value("select count(*) from g.t").await?, "4");
    // and where receipts are there
    bench.call("run t --from 2025-06-01 --to 2025-06-04")?.expect_code(0);
    // a check that does not fit is named, also where the table has been used before
    let more =
        "[[checks]]\nname = \"odd\"\nexpression = \"day < '2025-06-02' or 1 / (extract(day from day) - 2) > -9\"\n";
    bench.project.write(&daily("t", "2025-06-01", "g.t", "day", more, sql))?;
    let out = bench.call("run t --from 2025-06-01 --to 2025-06-04")?.expect_code(8);
    out.expect_text("the check odd cannot be evaluated: division by zero");
    Ok(())
}

/// Bare names in checks are looked up as in the query, whether something is published or not, and in every partition of a
/// call.
#[tokio::test(flavor = "multi_thread")]
async fn names_mean_the_same_for_every_partition() -> Result<()> {
    let more = "[[checks]]\nexpression = \"is_fine(v)\"\n\
                [[checks]]\nsql = \"select id from staged where id not in (select id from known)\"\n";
    let sql = "select at::date as day, id, v from src where at >= :interval_start and at < :interval_end";
    let bench = Bench::new(
        "Asia/Seoul",
        "create table public.src as select '2025-06-01 00:00+09'::timestamptz + n * interval '1 day' as at, n as id, n as v from generate_series(0, 3) n;
         create table public.known as select id from src;
         create function public.is_fine(int) returns bool language sql as 'select $1 < 100';
         create schema g; create table g.t (day date, id int, v int)",
        &[daily("t", "2025-06-01", "g.t", "day", more, sql)],
    )
    .await?;
    for _ in 0..2 {
        bench.call("run t --from 2025-06-01 --to 2025-06-04")?.expect_code(0);
    }
    // and where the pipeline says in which schemas
    bench.db.execute("create schema own; alter table public.known set schema own; alter function public.is_fine(int) set schema own").await?;
    let more = format!("{more}[session]\nsearch_path = [\"own\", \"public\"]\n");
    bench.project.write(&daily("t", "2025-06-01", "g.t", "day", &more, sql))?;
    bench.call("run t --from 2025-06-01 --to 2025-06-04")?.expect_code(0);
    assert_eq!(bench.receipts().await?.len(), 12);
    Ok(())
}

/// `lint --db` and `doctor` plan the checks: what they may not read, and what does not fit, is told without a run.
#[tokio::test(flavor = "multi_thread")]
async fn checks_are_planned_before_a_run() -> Result<()> {
    let bench = bench("error").await?;
    let (login, url) = bench.worker_login("checker").await?;
    bench.db.execute("create table g.other (n int)").await?;
    let grants = format!(
        "grant usage on schema g to {login}; grant select, insert, delete on g.t to {login}; grant select on g.src to {login}"
    );
    bench.db.execute(&grants).await?;
    for (rule, grant) in [
        (
            "references = { columns = [\"store\"], table = 'g.\"St ores\"', key = ['\"the id\"'] }",
            "grant select on \"g\".\"St ores\" to",
        ),
        ("sql = \"select from staged where v in (select n from g.other)\"", "grant select on \"g\".\"other\" to"),
        (
            "reconcile = { ours = \"count(*)\", theirs = \"select count(*) from g.other\" }",
            "grant select on \"g\".\"other\" to",
        ),
    ] {
        let check = format!("[[checks]]\nname = \"it\"\n{rule}\n");
        bench.project.write(&daily("t", "2025-06-01", "g.t", "day", &check, SQL))?;
        for words in [["lint", "--db"].as_slice(), &["doctor"]] {
            let out = bench.project.thrice_through(&url, words).run()?;
            let told = format!("{}{}", out.stdout(), out.stderr());
            assert!(out.code() != Some(0) && told.contains("TH0410") && told.contains(grant), "{words:?}: {told}");
        }
        bench.call("lint --db")?.expect_code(0);
    }
    let odd = "[[checks]]\nname = \"it\"\nrange = { column = \"nope\", min = 0 }\n";
    bench.project.write(&daily("t", "2025-06-01", "g.t", "day", odd, SQL))?;
    let told = "the check it cannot be evaluated: column \"nope\" does not exist";
    bench.call("lint --db")?.expect_code(8).expect_error("TH0601").expect_text(told);
    Ok(())
}
