//! `merge` with `rows = "changes"`: the query gives what has changed, by key over the whole table.

use anyhow::Result;
use thrice_tests::{Bench, PipelineText};

const SETUP: &str = "create schema d;
    create table d.src (day date, id int, no int, op text, name text);
    insert into d.src values
      ('2026-03-24', 1, 1, 'I', 'one'), ('2026-03-24', 2, 2, 'I', 'two'), ('2026-03-24', 1, 3, 'U', 'one again'),
      ('2026-03-25', 2, 4, 'U', 'two again'), ('2026-03-25', 3, 5, 'I', 'three'),
      ('2026-03-26', 1, 6, 'D', 'one again'), ('2026-03-26', 3, 7, 'U', 'three again');
    create table d.t (day date not null, id int primary key, no int not null, op text not null, name text, at timestamptz);
    insert into d.t values ('2026-01-01', 9, 0, 'I', 'from before')";
const SQL: &str = "select day, id, no, op, name from d.src where day = :interval_date";
/// Without a version a key changes once in an interval.
const LAST: &str =
    "select distinct on (id) day, id, no, op, name from d.src where day = :interval_date order by id, no desc";
const AS_OF: &str = "--as-of 2026-03-27T00:00:00Z";
const ALL: &str = "select id || ' ' || no || ' ' || op || ' ' || name from d.t order by id";
const END: [&str; 4] = ["1 6 D one again", "2 4 U two again", "3 7 U three again", "9 0 I from before"];

fn pipeline(more: &str, sql: &str) -> PipelineText {
    let toml = format!(
        "[interval]\ngrain = \"day\"\nstart = \"2026-03-24\"\ncatch_up = \"all\"\n\n[target]\ntable = \"d.t\"\n\
         interval_column = \"day\"\nstrategy = \"merge\"\nrows = \"changes\"\nkey = [\"id\"]\noperation = \"op\"\n\
         published_at = \"at\"\n{more}\n"
    );
    PipelineText::new("t", &toml, sql)
}

/// Newest first, oldest first, again: with a version the table is always the same, and what was there before stays.
#[tokio::test(flavor = "multi_thread")]
async fn with_a_version_any_order_gives_the_same_table() -> Result<()> {
    let bench = Bench::new("UTC", SETUP, &[pipeline("version = \"no\"", SQL)]).await?;
    for run in ["2026-03-26", "2026-03-24", "2026-03-25"] {
        bench.call(&format!("run t {run} {AS_OF}"))?.expect_code(0);
    }
    assert_eq!(bench.db.rows(ALL).await?, END);
    let stamps = bench.db.rows("select at::text from d.t where at is not null order by id").await?;
    for _ in 0..2 {
        for run in ["2026-03-25", "2026-03-24", "2026-03-26"] {
            let again = bench.call(&format!("run t {run} --json {AS_OF}"))?.expect_code(0).json()?;
            assert_eq!(again["items"][0]["outcome"], "unchanged", "{again}");
        }
    }
    assert_eq!(bench.db.rows("select at::text from d.t where at is not null order by id").await?, stamps);
    // a corrected source: an old interval again leaves newer changes alone
    bench
        .db
        .execute("update d.src set name = 'TWO' where no = 2; update d.src set name = 'THREE' where no = 7")
        .await?;
    for run in ["2026-03-26", "2026-03-24"] {
        bench.call(&format!("run t {run} {AS_OF}"))?.expect_code(0);
    }
    assert_eq!(bench.db.rows(ALL).await?, [END[0], END[1], "3 7 U THREE", END[3]]);
    // rows that somebody else took away come back
    bench.db.execute("delete from d.t where id = 3").await?;
    let back = bench.call(&format!("run t 2026-03-26 --json {AS_OF}"))?.expect_code(0).json()?;
    assert_eq!(
        (&back["items"][0]["outcome"], &back["items"][0]["rows"]["inserted"]),
        (&"published".into(), &1.into()),
        "{back}"
    );
    Ok(())
}

/// Without a version only the newest interval can be published again.
#[tokio::test(flavor = "multi_thread")]
async fn without_a_version_older_intervals_are_refused() -> Result<()> {
    let bench = Bench::new("UTC", SETUP, &[pipeline("", LAST)]).await?;
    for run in ["2026-03-24", "2026-03-25", "2026-03-26", "2026-03-26"] {
        bench.call(&format!("run t {run} {AS_OF}"))?.expect_code(0);
    }
    assert_eq!(bench.db.rows(ALL).await?, END);
    bench.db.execute("update d.src set name = 'older' where no = 2").await?;
    let refused = bench.call(&format!("run t 2026-03-24 {AS_OF}"))?.expect_code(5).expect_error("TH0539");
    assert!(refused.stderr().contains("2026-03-26 is published already"), "{}", refused.stderr());
    assert_eq!(bench.db.rows(ALL).await?, END);
    let newest = "select string_agg(kind, ' ' order by attempt_id) from thrice.publications";
    assert_eq!(bench.db.value(newest).await?, "publish publish publish unchanged");
    Ok(())
}

/// What cannot be a change is refused before the target is touched.
#[tokio::test(flavor = "multi_thread")]
async fn what_is_no_change_is_refused() -> Result<()> {
    let bench = Bench::new("UTC", SETUP, &[pipeline("version = \"no\"", SQL)]).await?;
    let before = bench.db.rows(ALL).await?;
    for (spoil, mend) in [
        ("update d.src set id = null where no = 1", "update d.src set id = 1 where no = 1"),
        (
            "update d.src set no = 2 where no = 1; update d.src set id = 2 where no = 2",
            "update d.src set id = 1, no = 1 where name = 'one'",
        ),
        ("update d.src set op = 'X' where no = 1", "update d.src set op = 'I' where no = 1"),
        ("update d.src set op = null where no = 1", "update d.src set op = 'I' where no = 1"),
        ("insert into d.src select '2026-03-24', 1, 1, 'U', 'twice'", "delete from d.src where name = 'twice'"),
    ] {
        bench.db.execute(spoil).await?;
        let refused = bench.call(&format!("run t 2026-03-24 {AS_OF}"))?;
        assert!(matches!(refused.code(), Some(4 | 8)), "{spoil}: {}", refused.stderr());
        assert_eq!(bench.db.rows(ALL).await?, before, "{spoil}");
        bench.db.execute(mend).await?;
    }
    bench.call(&format!("run t 2026-03-24 {AS_OF}"))?.expect_code(0);
    bench.call(&format!("rollback t 2026-03-24 --reason wrong --yes {AS_OF}"))?.expect_code(5).expect_error("TH0520");
    bench.call(&format!("diff t 2026-03-24 {AS_OF}"))?.expect_code(2);
    Ok(())
}

/// `THRICE_RACE_ROUNDS` rounds, 5 without it. Publishes of different days by many processes at once: one at a time has the target, and none is lost.
#[tokio::test(flavor = "multi_thread")]
async fn days_at_once_wait_for_the_target() -> Result<()> {
    let bench = Bench::new("UTC", SETUP, &[pipeline("version = \"no\"\n[retry]\nfirst_delay = \"1s\"", SQL)]).await?;
    bench.db.execute("insert into d.src select date '2026-03-24' + n % 3, 100 + n % 40, 1000 + n, 'U', 'v' || n from generate_series(0, 599) n").await?;
    bench.call(&format!("run t 2026-03-24 {AS_OF}"))?.expect_code(0);
    let rounds: u32 = std::env::var("THRICE_RACE_ROUNDS").map_or(Ok(5), |text| text.parse())?;
    for _ in 0..rounds {
        bench.db.execute("update d.src set no = no + 1000, name = name || '.' where no >= 1000").await?;
        let started: Vec<_> = ["2026-03-24", "2026-03-25", "2026-03-26"]
            .iter()
            .map(|day| bench.thrice(&format!("run t {day} {AS_OF}")).start())
            .collect::<Result<_>>()?;
        for running in started {
            running.wait()?.expect_code(0);
        }
        let wrong = "select count(*) from (select distinct on (id) id, no, name from d.src where no >= 1000 order by id, no desc) s
            left join d.t t on (t.id, t.no, t.name) = (s.id, s.no, s.name) where t.id is null";
        assert_eq!(bench.db.value(wrong).await?, "0");
    }
    Ok(())
}

/// What is due is applied oldest first, and what fails holds back what comes after it.
#[tokio::test(flavor = "multi_thread")]
async fn without_a_version_due_intervals_run_in_their_order() -> Result<()> {
    let bench = Bench::new("UTC", SETUP, &[pipeline("", LAST)]).await?;
    bench.db.execute("update d.src set op = 'X' where no = 5").await?;
    let held = bench.call(&format!("run {AS_OF}"))?.expect_code(4);
    assert!(held.stderr().contains("1 later interval left"), "{}", held.stderr());
    assert_eq!(bench.receipts().await?, ["2026-03-24|1|publish|2"]);
    bench.db.execute("update d.src set op = 'I' where no = 5").await?;
    bench.call(&format!("run t 2026-03-26 2026-03-25 {AS_OF}"))?.expect_code(0);
    assert_eq!(bench.db.rows(ALL).await?, END);
    // what would be made later is refused before
    for wrong in ["[late_data]\nrevisit = [1]", ""] {
        let mut text = pipeline(wrong, LAST);
        if wrong.is_empty() {
            text.toml = text.toml.replace("catch_up = \"all\"", "catch_up = 3");
        }
        bench.project.write(&text)?;
        bench.call("lint")?.expect_code(2).expect_text("changes without a version are applied in their order");
    }
    Ok(())
}

/// A version that is no number and no time would put 9 behind 10.
#[tokio::test(flavor = "multi_thread")]
async fn a_version_has_an_order() -> Result<()> {
    let bench = Bench::new("UTC", SETUP, &[pipeline("version = \"name\"", SQL)]).await?;
    bench.call("lint --db")?.expect_code(2).expect_text("target.version names name");
    bench.project.write(&pipeline("version = \"id\"", SQL))?;
    bench.call("lint")?.expect_code(2).expect_text("target.version");
    Ok(())
}
