//! `[guards]`: a publish that would take away or change too much of what is published is refused, and what it takes to let
//! it through. A refusal changes nothing.

use anyhow::Result;
use thrice_tests::{Bench, PipelineText};

use crate::daily;

const SQL: &str = "select at::date as day, id, v from g.src where at >= :interval_start and at < :interval_end";
const RUN: &str = "run t 2025-06-03";

fn pipeline(more: &str) -> PipelineText {
    daily("t", "2025-06-01", "g.t", "day", more, SQL)
}

/// A hundred rows on the 3rd of June, with the ids 1 to 100, published.
async fn published(more: &str) -> Result<Bench> {
    let bench = Bench::new(
        "Asia/Seoul",
        "create schema g;
         create table g.src (at timestamptz, id int, v int);
         insert into g.src select '2025-06-03 03:00Z', n, n from generate_series(1, 100) n;
         create table g.t (day date, id int, v int, primary key (day, id));
         create table g.fired (n int);
         create function g.told() returns trigger language plpgsql as $$ begin insert into g.fired values (1); return null; end $$;",
        &[pipeline(more)],
    )
    .await?;
    bench.call(RUN)?.expect_code(0);
    Ok(bench)
}

/// Everything that a refusal must leave as it was.
async fn state(bench: &Bench) -> Result<Vec<String>> {
    let mut state = bench.db.rows("select ctid, xmin, t from g.t t order by ctid").await?;
    state.extend(bench.db.rows("select p.partition_id, current_attempt_id, data_attempt_id, version, closed_at from thrice.partitions p where data_attempt_id is not null order by 1").await?);
    state.extend(bench.db.rows("select r from thrice.publications r order by attempt_id").await?);
    Ok(state)
}

/// What the guards said of the newest run: name, severity, figure, of how many, overridden.
async fn said(bench: &Bench) -> Result<Vec<String>> {
    bench
        .db
        .rows(
            "select check_name, severity, passed, observed, expected ->> 'of', expected ->> 'max', expected ->> 'overridden'
               from thrice.check_results
              where phase = 'guard' and attempt_id = (select max(attempt_id) from thrice.pipeline_run_ledger) order by 1",
        )
        .await
}

const KEY: &str = "key = [\"day\", \"id\"]\n";

#[tokio::test(flavor = "multi_thread")]
async fn too_few_rows() -> Result<()> {
    let bench = published("").await?;
    bench.db.execute("delete from g.src where id > 50").await?;
    bench.call(RUN)?.expect_code(0);
    bench.db.execute("insert into g.src select '2025-06-03 03:00Z', n, n from generate_series(51, 100) n").await?;
    bench.call(RUN)?.expect_code(0);
    bench.db.execute("delete from g.src where id > 38").await?;
    let before = state(&bench).await?;
    let out = bench.call(&format!("{RUN} --json"))?.expect_code(5).expect_error("TH0704");
    assert_eq!(state(&bench).await?, before);
    assert_eq!(bench.runs().await?[3], "2025-06-03|4|failed|guard|");
    assert_eq!(said(&bench).await?, ["shrink|error|f|62|100|50%|false"]);
    assert_eq!(bench.staging_tables().await?, 1, "the rows stay to be looked at");
    let error = &out.json()?["items"][0]["error"];
    assert!(
        error["message"]
            .to_string()
            .contains("100 rows are published and 38 are staged: 62% fewer, and at most 50% may go")
    );
    assert!(error["help"].to_string().contains("thrice run t 2025-06-03 --accept-drop --reason"), "{error}");
    bench.call(&format!("{RUN} --accept-drop"))?.expect_code(5).expect_error("TH0501");
    assert_eq!(state(&bench).await?, before);
    bench
        .project
        .thrice(["run", "t", "2025-06-03", "--accept-drop", "--reason", "half were test orders"])
        .run()?
        .expect_code(0);
    assert_eq!(bench.db.value("select count(*) from g.t").await?, "38");
    assert_eq!(said(&bench).await?, ["shrink|warn|f|62|100|50%|true"]);
    let reason = "select reason from thrice.pipeline_run_ledger where status = 'published' and reason is not null";
    assert_eq!(bench.db.rows(reason).await?, ["half were test orders"]);
    Ok(())
}

/// As many rows as before, of other keys: counted in the publish, before a row is touched or a trigger fires.
#[tokio::test(flavor = "multi_thread")]
async fn too_many_keys_vanish() -> Result<()> {
    for strategy in ["", "strategy = \"merge\"\nrows = \"complete\"\n"] {
        let bench = published(&format!("{KEY}{strategy}")).await?;
        bench.db.execute("create trigger told after delete or insert or update on g.t for each statement execute function g.told()").await?;
        bench.db.execute("update g.src set id = id + 50").await?;
        bench.call(RUN)?.expect_code(0);
        bench.db.execute("truncate g.fired; update g.src set id = id + 51").await?;
        let before = state(&bench).await?;
        bench
            .call(RUN)?
            .expect_code(5)
            .expect_error("TH0704")
            .expect_text("51 of 100 published keys (51%) would vanish, and at most 50% may");
        assert_eq!(state(&bench).await?, before, "{strategy}");
        assert_eq!(bench.db.value("select count(*) from g.fired").await?, "0", "{strategy}");
        assert_eq!(bench.runs().await?[2], "2025-06-03|3|failed|guard|");
        assert_eq!(said(&bench).await?, ["removed|error|f|51|100|50%|false"]);
        assert_eq!(bench.staging_tables().await?, 1);
        bench.call(&format!("{RUN} --accept-drop --reason renumbered"))?.expect_code(0);
        assert_eq!(said(&bench).await?, ["removed|warn|f|51|100|50%|true"]);
        assert_eq!(bench.db.value("select min(id) || ' ' || max(id) from g.t").await?, "102 201", "{strategy}");
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn too_many_rows_change() -> Result<()> {
    let bench = published(&format!("{KEY}[guards]\nchanged = \"10%\"\n")).await?;
    bench.db.execute("update g.src set v = -v where id <= 10").await?;
    bench.call(RUN)?.expect_code(0);
    bench.db.execute("update g.src set v = -v where id <= 11").await?;
    let before = state(&bench).await?;
    bench
        .call(RUN)?
        .expect_code(5)
        .expect_error("TH0704")
        .expect_text("11 of 100 published keys (11%) would get another row");
    assert_eq!(state(&bench).await?, before);
    assert_eq!(said(&bench).await?, ["changed|error|f|11|100|10%|false"]);
    bench.call(&format!("{RUN} --accept-drop --reason prices"))?.expect_code(0);
    assert_eq!(said(&bench).await?, ["changed|warn|f|11|100|10%|true"]);
    // the same again is unchanged, and nothing to guard
    bench.call(RUN)?.expect_code(0).expect_text("unchanged");
    assert_eq!(said(&bench).await?, [""; 0]);
    Ok(())
}

/// Of one that warns, the figure is on record and the rows are published; one of 100% never speaks.
#[tokio::test(flavor = "multi_thread")]
async fn a_guard_may_warn_or_be_off() -> Result<()> {
    let warn = "{ max = \"50%\", on_violation = \"warn\" }";
    let bench = published(&format!("{KEY}[guards]\nremoved = {warn}\nshrink = {warn}\n")).await?;
    bench.db.execute("delete from g.src where id > 1").await?;
    bench.call(RUN)?.expect_code(0);
    assert_eq!(said(&bench).await?, ["removed|warn|f|99|100|50%|false", "shrink|warn|f|99|100|50%|false"]);
    bench.db.execute("insert into g.src select '2025-06-03 03:00Z', n, n from generate_series(2, 100) n").await?;
    bench.call(RUN)?.expect_code(0);
    bench.project.write(&pipeline(&format!("{KEY}[guards]\nremoved = \"100%\"\nshrink = \"100%\"\n")))?;
    bench.db.execute("delete from g.src where id > 1").await?;
    bench.call(RUN)?.expect_code(0);
    assert_eq!(said(&bench).await?, [""; 0]);
    // an empty result is another guard's, whatever these say
    bench.db.execute("delete from g.src").await?;
    bench.call(RUN)?.expect_code(5).expect_error("TH0706");
    Ok(())
}

/// Rows that others put in are no published keys: what equals the receipt puts the interval right without being asked twice.
#[tokio::test(flavor = "multi_thread")]
async fn putting_back_what_others_changed_is_not_guarded() -> Result<()> {
    let bench = published(KEY).await?;
    bench.db.execute("insert into g.t select '2025-06-03', n, n from generate_series(1000, 2000) n").await?;
    bench.call(RUN)?.expect_code(0).expect_text("TH0538");
    assert_eq!(bench.db.value("select count(*) from g.t").await?, "100");
    assert_eq!(said(&bench).await?, [""; 0]);
    Ok(())
}

/// What an overridden guard said stands in the ledger before the receipt does, also where the state `validated` was written
/// earlier.
#[tokio::test(flavor = "multi_thread")]
async fn killed_in_the_publish_the_next_run_is_guarded_again() -> Result<()> {
    let bench = published(KEY).await?;
    bench.db.execute("update g.src set id = id + 51").await?;
    let words = format!("{RUN} --accept-drop --reason renumbered");
    bench.thrice(&words).failpoints("publish_written=return(kill)").run()?.expect_killed();
    assert_eq!(said(&bench).await?, ["removed|warn|f|51|100|50%|true"]);
    assert_eq!(bench.db.value("select max(id) from g.t").await?, "100");
    bench.call(RUN)?.expect_code(5).expect_error("TH0704");
    bench.call(&words)?.expect_code(0);
    assert_eq!(bench.db.value("select max(id) from g.t").await?, "151");
    Ok(())
}
