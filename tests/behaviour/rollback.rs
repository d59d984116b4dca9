//! Rows that a publish replaced are kept, and come back by a run of their own.

use anyhow::Result;
use thrice_tests::{Bench, PipelineText};

const SETUP: &str = "create schema d; create table d.src (day date, shop int, amount numeric(9,2), note text);
    insert into d.src select '2026-03-24', n, n, case when n % 2 = 0 then 'even' end from generate_series(1, 6) n;
    insert into d.src select '2026-03-25', n, n, null from generate_series(1, 3) n;
    create table d.t (day date, shop int, amount numeric(9,2) not null, note text, at timestamptz, primary key (day, shop))";
const SQL: &str = "select day, shop, amount, note from d.src where day = :interval_date";
const AS_OF: &str = "--as-of 2026-03-26T00:00:00Z";
const SWAPPED: &str = "strategy = \"partition_swap\"\n";
const STRATEGIES: [&str; 3] = ["", "strategy = \"merge\"\nrows = \"complete\"\n", SWAPPED];

fn setup(strategy: &str) -> String {
    if strategy == SWAPPED { format!("{SETUP} partition by range (day)") } else { SETUP.to_owned() }
}
/// All of the table but the time of its publish.
const ALL: &str =
    "select day || ' ' || shop || ' ' || amount || ' ' || coalesce(note, '-') from d.t order by day, shop";

fn days(more: &str) -> PipelineText {
    let toml = format!(
        "[interval]\ngrain = \"day\"\nstart = \"2026-03-24\"\ncatch_up = \"all\"\n\n[target]\ntable = \"d.t\"\n\
         interval_column = \"day\"\nkey = [\"day\", \"shop\"]\npublished_at = \"at\"\n{more}"
    );
    PipelineText::new("t", &toml, SQL)
}

async fn checksum(bench: &Bench) -> Result<String> {
    bench
        .db
        .value("select r.row_count || ' ' || r.checksum from thrice.partitions p join thrice.publications r on r.attempt_id = p.data_attempt_id where p.interval_key = '2026-03-24'")
        .await
}

/// Changes, additions and losses of three publishes, undone one by one and at once; the other day never moves.
#[tokio::test(flavor = "multi_thread")]
async fn what_was_replaced_comes_back_with_its_checksum() -> Result<()> {
    for strategy in STRATEGIES {
        let kept = days(&format!("keep_old_for = \"7d\"\n{strategy}"));
        let bench = Bench::new("UTC", &setup(strategy), &[kept]).await?;
        bench.call(&format!("run {AS_OF}"))?.expect_code(0);
        let (first, first_sum) = (bench.db.rows(ALL).await?, checksum(&bench).await?);
        bench
            .db
            .execute("update d.src set amount = amount + 0.5, note = 'changed' where day = '2026-03-24' and shop <= 2")
            .await?;
        bench.db.execute("delete from d.src where day = '2026-03-24' and shop = 6; insert into d.src values ('2026-03-24', 7, 7, 'new')").await?;
        bench.call(&format!("run t 2026-03-24 {AS_OF}"))?.expect_code(0);
        let (second, second_sum) = (bench.db.rows(ALL).await?, checksum(&bench).await?);
        assert_ne!(first, second);
        bench.db.execute("update d.src set amount = 99 where day = '2026-03-24' and shop in (1, 3, 7)").await?;
        bench.db.execute("insert into d.src values ('2026-03-24', 6, 66, 'again')").await?;
        bench.call(&format!("run t 2026-03-24 {AS_OF}"))?.expect_code(0);
        let third = bench.db.rows(ALL).await?;
        bench.call("show t 2026-03-24")?.expect_code(0).expect_text("what it replaced is kept until");
        bench.call(&format!("run t 2026-03-24 {AS_OF}"))?.expect_code(0).expect_text("unchanged");

        bench.call(&format!("rollback t 2026-03-24 {AS_OF}"))?.expect_code(5).expect_error("TH0501");
        let asked =
            bench.call(&format!("rollback t 2026-03-24 --reason wrong {AS_OF}"))?.expect_code(5).expect_error("TH0503");
        assert!(asked.stderr().contains("put back run #2 (6 rows, publish) over run #3"), "{}", asked.stderr());
        let dry = bench
            .call(&format!("rollback t 2026-03-24 --reason wrong --dry-run --json {AS_OF}"))?
            .expect_code(0)
            .json()?;
        assert_eq!((&dry["to"]["attempt_no"], &dry["from"]["attempt_no"]), (&2.into(), &3.into()), "{dry}");
        assert_eq!(bench.db.rows(ALL).await?, third);

        let back =
            bench.call(&format!("rollback t 2026-03-24 --reason wrong --yes --json {AS_OF}"))?.expect_code(0).json()?;
        assert_eq!(back["run"]["outcome"], "published", "{back}");
        assert_eq!((bench.db.rows(ALL).await?, checksum(&bench).await?), (second.clone(), second_sum.clone()));
        // a rollback is a run: it can be undone, and what lies before it can be reached over it
        bench.call(&format!("rollback t 2026-03-24 --reason right --yes {AS_OF}"))?.expect_code(0);
        assert_eq!(bench.db.rows(ALL).await?, third);
        bench.call(&format!("rollback t 2026-03-24 --to-attempt 1 --reason both-wrong --yes {AS_OF}"))?.expect_code(0);
        assert_eq!((bench.db.rows(ALL).await?, checksum(&bench).await?), (first.clone(), first_sum.clone()));
        let kinds = "select string_agg(kind, ' ' order by token) from thrice.publications join thrice.partitions using (partition_id)
                      where interval_key = '2026-03-24'";
        assert_eq!(bench.db.value(kinds).await?, "publish publish publish unchanged rollback rollback rollback");
        let runs = "select string_agg(trigger, ' ' order by attempt_no) from thrice.pipeline_run_ledger where target_date = '2026-03-24'";
        assert_eq!(bench.db.value(runs).await?, "schedule manual manual manual rollback rollback rollback");
        assert_eq!(bench.broken_invariants("d.t", "day").await?, Vec::<String>::new());
        assert_eq!(bench.staging_tables().await?, 0);
    }
    Ok(())
}

/// What was published by another strategy goes back all the same.
#[tokio::test(flavor = "multi_thread")]
async fn publishes_of_two_strategies_are_undone_together() -> Result<()> {
    let bench = Bench::new("UTC", SETUP, &[days("keep_old_for = \"7d\"\n")]).await?;
    bench.call(&format!("run {AS_OF}"))?.expect_code(0);
    let first = bench.db.rows(ALL).await?;
    for (turn, strategy) in [STRATEGIES[1], STRATEGIES[0], STRATEGIES[1]].into_iter().enumerate() {
        bench.project.write(&days(&format!("keep_old_for = \"7d\"\n{strategy}")))?;
        bench
            .db
            .execute(&format!(
                "update d.src set amount = amount + {turn} + 1 where day = '2026-03-24' and shop % 3 = {turn}"
            ))
            .await?;
        bench.db.execute(&format!("delete from d.src where day = '2026-03-24' and shop = {turn} + 4")).await?;
        bench.call(&format!("run t 2026-03-24 {AS_OF}"))?.expect_code(0);
    }
    bench.call(&format!("rollback t 2026-03-24 --to-attempt 1 --reason all-wrong --yes {AS_OF}"))?.expect_code(0);
    assert_eq!(bench.db.rows(ALL).await?, first);
    Ok(())
}

/// There is no way back where nothing was kept, nothing fits, or somebody edited the rows in between; nothing moves then.
#[tokio::test(flavor = "multi_thread")]
async fn no_way_back_is_told_and_moves_nothing() -> Result<()> {
    let bench = Bench::new("UTC", SETUP, &[days("")]).await?;
    let rollback = |more: &str| bench.call(&format!("rollback t 2026-03-24 --reason wrong --yes {more} {AS_OF}"));
    rollback("")?.expect_code(5).expect_error("TH0520");
    bench.call(&format!("run {AS_OF}"))?.expect_code(0);
    rollback("")?.expect_code(5).expect_error("TH0520").expect_text("first publish");
    bench.db.execute("update d.src set amount = 9 where shop = 1").await?;
    bench.call(&format!("run t 2026-03-24 {AS_OF}"))?.expect_code(0);
    rollback("")?.expect_code(5).expect_error("TH0520").expect_text("were not kept");
    rollback("--to-attempt 7")?.expect_code(5).expect_error("TH0520").expect_text("has no receipt");
    bench.project.write(&days(&format!("keep_old_for = \"7d\"\n{}", STRATEGIES[1])))?;
    bench.db.execute("update d.src set amount = 8 where shop = 1").await?;
    bench.call(&format!("run t 2026-03-24 {AS_OF}"))?.expect_code(0);
    // the rows that the merge left alone are edited: what is put together is no published state
    bench.db.execute("update d.t set amount = 1000 where shop = 5 and day = '2026-03-24'").await?;
    let before = bench.db.rows(ALL).await?;
    rollback("")?.expect_code(5).expect_error("TH0522");
    assert_eq!(bench.db.rows(ALL).await?, before);
    bench.db.execute("update d.t set amount = 5 where shop = 5 and day = '2026-03-24'").await?;
    // closed is closed
    bench.call(&format!("close t 2026-03-24 --reason audited {AS_OF}"))?.expect_code(0);
    rollback("")?.expect_code(5).expect_error("TH0530");
    bench.call(&format!("reopen t 2026-03-24 --reason reopened {AS_OF}"))?.expect_code(0);
    // the column that the kept rows have is another one now
    bench.db.execute("alter table d.t alter column note type varchar(20)").await?;
    rollback("")?.expect_code(5).expect_error("TH0520").expect_text("do not fit");
    bench.db.execute("alter table d.t alter column note type text").await?;
    rollback("")?.expect_code(0);
    Ok(())
}

/// `gc` deletes what is over, and that is told; what is not over stays.
#[tokio::test(flavor = "multi_thread")]
async fn kept_rows_go_when_their_time_is_over() -> Result<()> {
    let bench = Bench::new("UTC", SETUP, &[days("keep_old_for = \"7d\"\n")]).await?;
    bench.call(&format!("run {AS_OF}"))?.expect_code(0);
    for amount in [11, 12] {
        bench.db.execute(&format!("update d.src set amount = {amount}")).await?;
        bench.call(&format!("run t 2026-03-24 2026-03-25 {AS_OF}"))?.expect_code(0);
    }
    bench.call("gc")?.expect_code(0).expect_text("nothing to drop");
    let kept = "select count(*) from thrice_history.";
    let table = bench
        .db
        .value("select relname from pg_class where relnamespace = 'thrice_history'::regnamespace and relkind = 'r'")
        .await?;
    let kept = format!("{kept}{table}");
    assert_eq!(bench.db.value(&kept).await?, "18");
    bench
        .db
        .execute(
            "update thrice.publications p set history_expires_at = now() - interval '1 hour' from thrice.partitions q
        where q.partition_id = p.partition_id and q.interval_key = '2026-03-24' and p.history_expires_at is not null",
        )
        .await?;
    bench.call("gc --dry-run")?.expect_code(0).expect_text("the kept rows of 1 partition");
    assert_eq!(bench.db.value(&kept).await?, "18");
    bench.call("gc")?.expect_code(5).expect_error("TH0503");
    bench.call("gc --yes")?.expect_code(0).expect_text("deleted 12 rows that were kept");
    assert_eq!(bench.db.value(&kept).await?, "6");
    bench.call("gc --yes")?.expect_code(0).expect_text("nothing to drop");
    let over = bench.call(&format!("rollback t 2026-03-24 --reason wrong --yes {AS_OF}"))?;
    over.expect_code(5).expect_error("TH0520").expect_text("no longer kept");
    bench.call(&format!("rollback t 2026-03-25 --reason wrong --yes {AS_OF}"))?.expect_code(0);
    Ok(())
}

/// A query that no longer works does not stand in the way of the rows it once gave.
#[tokio::test(flavor = "multi_thread")]
async fn a_broken_query_can_be_rolled_back() -> Result<()> {
    let bench = Bench::new("UTC", SETUP, &[days("keep_old_for = \"7d\"\n")]).await?;
    bench.call(&format!("run {AS_OF}"))?.expect_code(0);
    let first = bench.db.rows(ALL).await?;
    bench.db.execute("update d.src set amount = 77").await?;
    bench.call(&format!("run t 2026-03-24 {AS_OF}"))?.expect_code(0);
    bench.db.execute("drop table d.src").await?;
    bench.call(&format!("run t 2026-03-24 {AS_OF}"))?.expect_code(8);
    bench.call(&format!("rollback t 2026-03-24 --reason wrong --yes {AS_OF}"))?.expect_code(0);
    assert_eq!(bench.db.rows(ALL).await?, first);
    Ok(())
}

/// Somebody publishes between the question and the claim: what was to come back lies under that publish now.
#[tokio::test(flavor = "multi_thread")]
async fn a_newer_publish_is_not_undone_unasked() -> Result<()> {
    let bench = Bench::new("UTC", SETUP, &[days("keep_old_for = \"7d\"\n")]).await?;
    bench.call(&format!("run {AS_OF}"))?.expect_code(0);
    bench.db.execute("update d.src set amount = 77").await?;
    bench.call(&format!("run t 2026-03-24 {AS_OF}"))?.expect_code(0);
    let rollback = bench
        .thrice(&format!("rollback t 2026-03-24 --reason wrong --yes {AS_OF}"))
        .failpoints("before_claim=return(sleep:2500)")
        .start()?;
    // it has looked once its worker is registered and it waits before its claim
    bench.wait_for("select count(*) from thrice.workers", "1", std::time::Duration::from_secs(20)).await?;
    tokio::time::sleep(std::time::Duration::from_secs(1)).await;
    bench.db.execute("update d.src set amount = 78").await?;
    bench.call(&format!("run t 2026-03-24 {AS_OF}"))?.expect_code(0);
    let newest = bench.db.rows(ALL).await?;
    rollback.wait()?.expect_code(5).expect_error("TH0521");
    assert_eq!(bench.db.rows(ALL).await?, newest);
    bench.call(&format!("rollback t 2026-03-24 --reason wrong --yes {AS_OF}"))?.expect_code(0);
    assert_eq!(bench.db.rows("select distinct amount from d.t where day = '2026-03-24'").await?, ["77.00"]);
    Ok(())
}

/// What cannot be put back is said by a dry run too, and edits after the newest publish are replaced and told.
#[tokio::test(flavor = "multi_thread")]
async fn edits_by_hand_are_told_before_anything_is_written() -> Result<()> {
    let bench = Bench::new("UTC", SETUP, &[days("keep_old_for = \"7d\"\n")]).await?;
    bench.call(&format!("run {AS_OF}"))?.expect_code(0);
    let first = bench.db.rows(ALL).await?;
    bench.db.execute("update d.src set amount = 77").await?;
    bench.call(&format!("run t 2026-03-24 {AS_OF}"))?.expect_code(0);
    bench.db.execute("update d.t set amount = 888 where shop = 1 and day = '2026-03-24'").await?;
    bench.call(&format!("rollback t 2026-03-24 --reason wrong --yes {AS_OF}"))?.expect_code(0).expect_error("TH0538");
    assert_eq!(bench.db.rows(ALL).await?, first);
    // run 2 with a row that it never published: no state to go back to
    for more in ["--dry-run", "--yes"] {
        bench
            .call(&format!("rollback t 2026-03-24 --reason right {more} {AS_OF}"))?
            .expect_code(5)
            .expect_error("TH0522");
    }
    let kept = bench.call(&format!("diff t 2026-03-24 --against kept {AS_OF}"))?.expect_code(0);
    assert!(kept.stderr().contains("the kept rows are not all those of run #2"), "{}", kept.stderr());
    bench.call(&format!("close t 2026-03-24 --reason audited {AS_OF}"))?.expect_code(0);
    let closed = bench.call(&format!("rollback t 2026-03-24 --to-attempt 2 --reason right --dry-run {AS_OF}"))?;
    closed.expect_code(5).expect_error("TH0530").expect_text("thrice rollback t 2026-03-24 --reopen");
    Ok(())
}

/// A column of the name that kept rows have themselves is refused before anything is published.
#[tokio::test(flavor = "multi_thread")]
async fn a_column_named_as_kept_rows_name_theirs() -> Result<()> {
    let bench = Bench::new("UTC", SETUP, &[days("keep_old_for = \"7d\"\n")]).await?;
    bench.db.execute("alter table d.t rename note to thrice_replaced_by").await?;
    bench.project.write(&PipelineText {
        sql: "select day, shop, amount, note as thrice_replaced_by from d.src where day = :interval_date".to_owned(),
        ..days("keep_old_for = \"7d\"\n")
    })?;
    bench.call("lint --db")?.expect_code(2).expect_text("has a column thrice_replaced_by");
    bench.call(&format!("run t 2026-03-24 {AS_OF}"))?;
    assert_eq!(bench.receipts().await?, Vec::<String>::new());
    Ok(())
}
