//! Late data as a contract: revisits, provisional and final, closed and reopened, and what reports join.

use std::collections::BTreeMap;

use anyhow::Result;
use thrice_tests::{Bench, PipelineText};

use crate::daily;

const SQL: &str = "select at, v from d.src where at >= :interval_start and at < :interval_end";
const SETUP: &str =
    "create schema d; create table d.src (at timestamptz, v int); create table d.t (at timestamptz, v int)";

fn pipeline(late: &str) -> PipelineText {
    let mut pipeline = daily("t", "2026-03-01", "d.t", "at", "allow_empty = true\n", SQL);
    pipeline.toml = format!("{}\n[late_data]\n{late}\n", pipeline.toml);
    pipeline
}

async fn bench(late: &str) -> Result<Bench> {
    Bench::new("Asia/Seoul", SETUP, &[pipeline(late)]).await
}

/// A run in the night after a day of March 2026.
fn night_after(day: i32) -> String {
    let next = if day < 31 { format!("2026-03-{:02}", day + 1) } else { format!("2026-04-{:02}", day - 30) };
    format!("--as-of {next}T03:00:00+09:00")
}

/// Key, maturity and rows of what is published.
async fn published(bench: &Bench) -> Result<Vec<String>> {
    bench
        .db
        .rows(
            "select concat_ws(' ', right(interval_key, 2)::int, maturity, row_count) from thrice.partition_status
              where pipeline_name = 't' order by interval_start",
        )
        .await
}

/// Numbers that look random and are the same each time.
struct Dice(u64);

impl Dice {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % bound
    }
}

/// What the model knows of a published day.
struct Day {
    reached: i32,
    rows: usize,
    closed: bool,
}

/// A month in which rows come up to five days late and the scheduler misses some nights. After every night the ledger, the
/// table and the view say what an independent model says; what is closed never changes.
#[tokio::test(flavor = "multi_thread")]
async fn a_month_of_late_rows() -> Result<()> {
    const REVISITS: [i32; 2] = [1, 3];
    let bench = bench("revisit = [1, 3]\nfinal_after = 1\nclose_after = 3").await?;
    let mut dice = Dice(42);
    let mut arrived: Vec<(i32, i32)> = Vec::new(); // day of the row, day it came
    let mut model: BTreeMap<i32, Day> = BTreeMap::new();
    for today in 1..=31 {
        for day in (today - 5).max(1)..=today {
            let rows = if day == today { dice.below(4) } else { dice.below(2) };
            for _ in 0..rows {
                arrived.push((day, today));
                let insert = format!(
                    "insert into d.src values ('2026-03-{day:02} 12:00+09'::timestamptz + {} * interval '1 second', {today})",
                    arrived.len()
                );
                bench.db.execute(&insert).await?;
            }
        }
        if matches!(today, 9 | 10 | 20) {
            continue; // the scheduler was down
        }
        bench.call(&format!("run {}", night_after(today)))?.expect_code(0);
        for day in 1..=today {
            let reached = REVISITS.into_iter().rfind(|revisit| day + revisit <= today).unwrap_or(0);
            let rows = arrived.iter().filter(|(of, _)| *of == day).count();
            match model.get_mut(&day) {
                None => drop(model.insert(day, Day { reached, rows, closed: reached >= 3 })),
                Some(known) if !known.closed && reached > known.reached => {
                    *known = Day { reached, rows, closed: reached >= 3 };
                }
                Some(_) => {}
            }
        }
        let wanted: Vec<String> = model
            .iter()
            .map(|(day, known)| {
                let maturity = match (known.closed, known.reached) {
                    (true, _) => "closed",
                    (false, 0) => "provisional",
                    (false, _) => "final",
                };
                format!("{day} {maturity} {}", known.rows)
            })
            .collect();
        assert_eq!(published(&bench).await?, wanted, "after day {today}");
        let rows: usize = model.values().map(|day| day.rows).sum();
        assert_eq!(bench.db.value("select count(*) from d.t").await?, rows.to_string(), "after day {today}");
        let through = "select to_char(thrice.published_through('t') at time zone 'Asia/Seoul', 'MMDDHH24')";
        let next = if today < 31 { format!("03{:02}00", today + 1) } else { "040100".to_owned() };
        assert_eq!(bench.db.value(through).await?, next);
    }
    let late = arrived.iter().filter(|(day, came)| came - day > 3).count();
    assert!(late > 10, "rows that no revisit sees: {late}");
    let triggers =
        bench.db.rows("select trigger || count(*) from thrice.pipeline_run_ledger group by trigger order by 1").await?;
    assert_eq!(triggers.len(), 2, "{triggers:?}");
    assert!(triggers[0].starts_with("revisit") && triggers[1] == "schedule31", "{triggers:?}");
    Ok(())
}

/// Seven nights without a run: one recomputation serves both missed revisits.
#[tokio::test(flavor = "multi_thread")]
async fn missed_revisits_are_one_recomputation() -> Result<()> {
    let bench = bench("revisit = [1, 3]").await?;
    bench.call(&format!("run {}", night_after(1)))?.expect_code(0);
    bench.db.execute("insert into d.src values ('2026-03-01 12:00+09', 1)").await?;
    let again = bench.call(&format!("run {} --json", night_after(8)))?.expect_code(0).json()?;
    assert_eq!(again["items"].as_array().map(Vec::len), Some(8), "seven days and the first again: {again}");
    let runs = "select count(*) || ' ' || max(revisit) || ' ' || max(row_count) from thrice.pipeline_run_ledger where target_date = '2026-03-01'";
    assert_eq!(bench.db.value(runs).await?, "2 3 1");
    assert_eq!(published(&bench).await?[0], "1 final 1");
    bench.call(&format!("run {} --detailed-exitcode", night_after(8)))?.expect_code(3);
    Ok(())
}

/// `window = 3` makes the newest three days each night, the seed's other policy.
#[tokio::test(flavor = "multi_thread")]
async fn a_window_makes_the_newest_days_each_night() -> Result<()> {
    let bench = bench("window = 3").await?;
    for day in 1..=4 {
        bench.call(&format!("run {}", night_after(day)))?.expect_code(0);
    }
    let runs = "select right(interval_key, 1) || ':' || string_agg(coalesce(l.revisit, -1)::text, ',' order by l.attempt_id)
                  from thrice.pipeline_run_ledger l join thrice.partitions p using (partition_id) group by interval_key order by 1";
    assert_eq!(bench.db.rows(runs).await?, ["1:0,1,2", "2:0,1,2", "3:0,1", "4:0"]);
    Ok(())
}

/// A policy that is new to a pipeline makes again what fell due with the newest days, not all of its history.
#[tokio::test(flavor = "multi_thread")]
async fn a_new_policy_leaves_the_history_alone() -> Result<()> {
    let bench =
        Bench::new("Asia/Seoul", SETUP, &[daily("t", "2026-03-01", "d.t", "at", "allow_empty = true\n", SQL)]).await?;
    for day in 1..=12 {
        bench.call(&format!("run {}", night_after(day)))?.expect_code(0);
    }
    let mut with = pipeline("revisit = [1, 3]");
    with.toml = with.toml.replace("catch_up = \"all\"", "catch_up = 2");
    bench.project.write(&with)?;
    // the receipts were written today, so by their time every revisit was due: nothing is made again
    let dry = bench.call(&format!("run --dry-run --json {}", night_after(12)))?.expect_code(0).json()?;
    assert_eq!(dry["items"].as_array().map(Vec::len), Some(0), "{dry}");
    bench.call(&format!("run t 2026-03-12 {}", night_after(12)))?.expect_code(0);
    let seen = published(&bench).await?;
    assert!(seen[..11].iter().all(|line| line.contains("final")), "{seen:?}");
    assert_eq!(seen[11], "12 provisional 0", "made under the policy, before its first revisit");
    Ok(())
}

/// Closed by hand, refused, reopened with a reason; both are told.
#[tokio::test(flavor = "multi_thread")]
async fn closed_by_hand_and_reopened() -> Result<()> {
    let bench = bench("revisit = [1, 3]").await?;
    bench.call(&format!("run {}", night_after(1)))?.expect_code(0);
    let when = night_after(2);
    bench.call(&format!("close t 2026-03-01 {when}"))?.expect_code(5).expect_error("TH0501");
    bench.call(&format!("close t 2026-03-02 --reason audited {when}"))?.expect_code(5).expect_error("TH0551");
    bench.call(&format!("close t 2026-03-01 --reason audited {when}"))?.expect_code(0).expect_text("closed");
    let again = bench.call(&format!("close t 2026-03-01 --reason audited --json {when}"))?.expect_code(0).json()?;
    assert_eq!(again["items"][0]["outcome"], "closed_before");
    assert_eq!(published(&bench).await?, ["1 closed 0"]);
    // due, and not touched
    let due = bench.call(&format!("run --dry-run --json {when}"))?.expect_code(0).json()?;
    assert_eq!(due["items"][0]["interval"]["key"], "2026-03-02", "{due}");
    assert_eq!(due["items"].as_array().map(Vec::len), Some(1), "{due}");
    bench.call(&format!("run t 2026-03-01 {when}"))?.expect_code(5).expect_error("TH0530");
    bench.call(&format!("run t 2026-03-01 --reopen --reason late {when}"))?.expect_code(0);
    assert_eq!(published(&bench).await?, ["1 closed 0"], "--reopen is for one run");
    bench.call(&format!("reopen t 2026-03-01 --reason corrected {when}"))?.expect_code(0).expect_text("reopened");
    let again = bench.call(&format!("reopen t 2026-03-01 --reason corrected --json {when}"))?.expect_code(0).json()?;
    assert_eq!(again["items"][0]["outcome"], "not_closed");
    bench.call(&format!("run t 2026-03-01 {when}"))?.expect_code(0);
    let told = "select kind || ' ' || (data ->> 'reason') from thrice.events where kind in ('closed', 'reopened') order by event_id";
    assert_eq!(bench.db.rows(told).await?, ["closed audited", "reopened corrected"]);
    let actors =
        "select count(*) from thrice.events where kind in ('closed', 'reopened') and actor ->> 'os_user' is not null";
    assert_eq!(bench.db.value(actors).await?, "2");
    Ok(())
}

/// Where a partition closes some time after its last revisit, the next run writes that down; one that was reopened stays
/// open until it is published again.
#[tokio::test(flavor = "multi_thread")]
async fn time_closes_what_nobody_reopened() -> Result<()> {
    let bench = bench("revisit = [1]\nclose_after = 2").await?;
    bench.call(&format!("run {}", night_after(1)))?.expect_code(0);
    bench.call(&format!("run {}", night_after(2)))?.expect_code(0);
    assert_eq!(published(&bench).await?, ["1 final 0", "2 provisional 0"]);
    // the policy says closed before a run has written it
    let when = night_after(3);
    let status = bench.call(&format!("status t --json {when}"))?.expect_code(0).json()?;
    assert_eq!(status["pipelines"][0]["counts"]["closed"], 1, "{status}");
    bench.call(&format!("run t 2026-03-01 {when}"))?.expect_code(5).expect_error("TH0530");
    bench.call(&format!("run {when}"))?.expect_code(0);
    assert_eq!(published(&bench).await?, ["1 closed 0", "2 final 0", "3 provisional 0"]);
    bench.call(&format!("reopen t 2026-03-01 --reason corrected {when}"))?.expect_code(0);
    bench.call(&format!("run {}", night_after(4)))?.expect_code(0);
    assert_eq!(published(&bench).await?, ["1 final 0", "2 closed 0", "3 final 0", "4 provisional 0"]);
    bench.call(&format!("run t 2026-03-01 {}", night_after(4)))?.expect_code(0);
    assert_eq!(published(&bench).await?[0], "1 closed 0", "published again, it closes by its policy");
    Ok(())
}

/// The gate that waits for the last correction.
#[tokio::test(flavor = "multi_thread")]
async fn a_gate_for_final_rows() -> Result<()> {
    let bench = bench("revisit = [1, 3]\nfinal_after = 1").await?;
    bench.call(&format!("run {}", night_after(1)))?.expect_code(0);
    let gate = |what: &str, day: i32| {
        format!("status t --from 2026-03-01 --to 2026-03-01 --require {what} {}", night_after(day))
    };
    bench.call(&gate("published", 1))?.expect_code(0);
    bench.call(&gate("final", 1))?.expect_code(5).expect_error("TH0551");
    let why = bench.call(&format!("why t 2026-03-01 {}", night_after(1)))?.expect_code(0).stdout();
    assert!(why.contains("provisional") && why.contains("due at 2026-03-03T00:00:00+09:00"), "{why}");
    let due = bench.call(&format!("why t 2026-03-01 {}", night_after(2)))?.expect_code(0).stdout();
    assert!(due.contains("late rows may be there") && due.contains("thrice run t"), "{due}");
    bench.call(&format!("run {}", night_after(2)))?.expect_code(0);
    bench.call(&gate("final", 2))?.expect_code(0);
    Ok(())
}

/// A revisit that fails for good is told and left, and readers keep the rows they had.
#[tokio::test(flavor = "multi_thread")]
async fn a_revisit_that_fails_is_left_and_told() -> Result<()> {
    let bench = bench("revisit = [1]").await?;
    bench.db.execute("insert into d.src values ('2026-03-01 12:00+09', 1)").await?;
    bench.call(&format!("run {}", night_after(1)))?.expect_code(0);
    bench.db.execute("alter table d.src alter v type text using 'x'").await?;
    bench
        .project
        .write(&PipelineText { sql: SQL.replace("at, v from", "at, v::int as v from"), ..pipeline("revisit = [1]") })?;
    bench.call(&format!("run {}", night_after(2)))?.expect_code(8);
    let left = bench.call(&format!("run {}", night_after(2)))?.expect_code(8).expect_text("2026-03-01");
    assert!(left.stderr().contains("failed for good"), "{}", left.stderr());
    assert_eq!(bench.db.value("select count(*) from d.t").await?, "1");
    Ok(())
}

/// Null before the first, then the end of what is there without a gap.
#[tokio::test(flavor = "multi_thread")]
async fn published_through_stops_at_the_first_gap() -> Result<()> {
    let bench = bench("revisit = []").await?;
    let through =
        "select coalesce(to_char(thrice.published_through('t') at time zone 'Asia/Seoul', 'MMDD'), 'nothing')";
    bench.call("run t 2026-03-02")?.expect_code(0);
    assert_eq!(bench.db.value(through).await?, "nothing", "the first day is missing");
    bench.call("run t 2026-03-01")?.expect_code(0);
    assert_eq!(bench.db.value(through).await?, "0303");
    bench.call("run t 2026-03-04")?.expect_code(0);
    assert_eq!(bench.db.value(through).await?, "0303");
    bench.call("run t 2026-03-03")?.expect_code(0);
    assert_eq!(bench.db.value(through).await?, "0305");
    assert_eq!(bench.db.value("select count(*) filter (where outdated) from thrice.partition_status").await?, "0");
    bench.project.write(&PipelineText {
        sql: SQL.replace("select at, v", "select at, v + 1 as v"),
        ..pipeline("revisit = []")
    })?;
    bench.call("run t 2026-03-04")?.expect_code(0);
    let outdated =
        "select string_agg(interval_key, ',' order by interval_key) from thrice.partition_status where outdated";
    assert_eq!(bench.db.value(outdated).await?, "2026-03-01,2026-03-02,2026-03-03");
    Ok(())
}

/// An outage longer than the catch-up: what was missed is worked off over the next runs, and nothing says otherwise.
#[tokio::test(flavor = "multi_thread")]
async fn after_a_long_outage_revisits_are_worked_off() -> Result<()> {
    let mut short = pipeline("revisit = [1, 3]");
    short.toml = short.toml.replace("catch_up = \"all\"", "catch_up = 2");
    let bench = Bench::new("Asia/Seoul", SETUP, &[short]).await?;
    bench.call(&format!("run {}", night_after(1)))?.expect_code(0);
    bench.db.execute("insert into d.src values ('2026-03-01 12:00+09', 1)").await?;
    bench.call(&format!("run {}", night_after(12)))?.expect_code(0);
    assert_eq!(published(&bench).await?[0], "1 final 1", "older than the two newest days, and made again");
    Ok(())
}

/// Reopened, a partition is open in every place that says where it stands, also where its last publish had closed it.
#[tokio::test(flavor = "multi_thread")]
async fn what_is_reopened_is_shown_as_open() -> Result<()> {
    let bench = bench("revisit = [1]\nclose_after = 1").await?;
    bench.call(&format!("run {}", night_after(1)))?.expect_code(0);
    bench.call(&format!("run {}", night_after(2)))?.expect_code(0);
    let when = night_after(3);
    assert_eq!(published(&bench).await?, ["1 closed 0", "2 provisional 0"]);
    bench.call(&format!("reopen t 2026-03-01 --reason invoice {when}"))?.expect_code(0);
    let status =
        bench.call(&format!("status t --from 2026-03-01 --to 2026-03-01 --json {when}"))?.expect_code(0).json()?;
    assert_eq!(status["pipelines"][0]["counts"]["final"], 1, "{status}");
    let why = bench.call(&format!("why t 2026-03-01 {when}"))?.expect_code(0).stdout();
    assert!(!why.contains("closed"), "{why}");
    bench.call(&format!("run t 2026-03-01 {when}"))?.expect_code(0);
    assert_eq!(published(&bench).await?[0], "1 closed 0");
    Ok(())
}

/// A policy that is added later closes what it says is over before anything is published into it.
#[tokio::test(flavor = "multi_thread")]
async fn a_later_policy_closes_before_a_named_run() -> Result<()> {
    let bench = bench("revisit = [1]").await?;
    bench.call(&format!("run {}", night_after(1)))?.expect_code(0);
    bench.call(&format!("run {}", night_after(2)))?.expect_code(0);
    bench.project.write(&pipeline("revisit = [1]\nclose_after = 1"))?;
    bench.call(&format!("run t 2026-03-01 {}", night_after(2)))?.expect_code(5).expect_error("TH0530");
    Ok(())
}

/// What lies before a later start is no gap.
#[tokio::test(flavor = "multi_thread")]
async fn published_through_begins_with_the_start() -> Result<()> {
    let bench = bench("revisit = []").await?;
    bench.call("run t 2026-03-01 2026-03-04")?.expect_code(0);
    let mut later = pipeline("revisit = []");
    later.toml = later.toml.replace("start = \"2026-03-01\"", "start = \"2026-03-04\"");
    bench.project.write(&later)?;
    bench.call("run t 2026-03-05")?.expect_code(0);
    let through = "select to_char(thrice.published_through('t') at time zone 'Asia/Seoul', 'MMDD')";
    assert_eq!(bench.db.value(through).await?, "0306");
    Ok(())
}

/// Adopted rows are as settled as the time of their adoption says, and are made again like any others.
#[tokio::test(flavor = "multi_thread")]
async fn adopted_rows_are_revisited() -> Result<()> {
    let bench = bench("revisit = [1, 3]\nclose_after = 3").await?;
    bench.db.execute("insert into d.t values ('2026-03-01 12:00+09', 1); insert into d.src select * from d.t").await?;
    let adopt = format!("adopt t --from 2026-03-01 --to 2026-03-01 --reason old --yes {}", night_after(1));
    bench.call(&adopt)?.expect_code(0).expect_text("1 recorded as published");
    assert_eq!(published(&bench).await?, ["1 provisional 1"]);
    bench.db.execute("insert into d.src values ('2026-03-01 13:00+09', 2)").await?;
    bench.call(&format!("run {}", night_after(2)))?.expect_code(0);
    assert_eq!(published(&bench).await?, ["1 provisional 2", "2 provisional 0"]);
    Ok(())
}

/// A policy that is changed counts from the next run on, also where that finds nothing due.
#[tokio::test(flavor = "multi_thread")]
async fn a_changed_policy_counts_without_a_publish() -> Result<()> {
    let bench = bench("revisit = [1, 3]\nfinal_after = 1").await?;
    for day in 1..=3 {
        bench.call(&format!("run {}", night_after(day)))?.expect_code(0);
    }
    assert_eq!(published(&bench).await?, ["1 final 0", "2 final 0", "3 provisional 0"]);
    bench.project.write(&pipeline("revisit = [1, 3]\nfinal_after = 3"))?;
    bench.call(&format!("run {} --dry-run", night_after(3)))?.expect_code(0);
    assert_eq!(published(&bench).await?[0], "1 final 0", "a dry run writes nothing");
    bench.call(&format!("run {}", night_after(3)))?.expect_code(0).expect_text("nothing is due");
    assert_eq!(published(&bench).await?, ["1 provisional 0", "2 provisional 0", "3 provisional 0"]);
    let status =
        bench.call(&format!("status t --from 2026-03-01 --to 2026-03-01 --require final {}", night_after(3)))?;
    status.expect_code(5).expect_error("TH0551");
    Ok(())
}
