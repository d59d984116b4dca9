//! `thrice diff`: published rows against what the query gives now, and against those that a publish replaced. Nothing is left.

use anyhow::Result;
use serde_json::json;
use thrice_tests::{Bench, PipelineText};

const SETUP: &str = "create schema d; create table d.src (day date, shop int, amount numeric(9,2), note text);
    insert into d.src select '2026-03-24', n, n, case when n % 2 = 0 then 'even' end from generate_series(1, 6) n;
    create table d.t (day date, shop int, amount numeric(9,2) not null, note text, at timestamptz, primary key (day, shop))";
const SQL: &str = "select day, shop, amount, note from d.src where day = :interval_date";

fn days(more: &str) -> PipelineText {
    let toml = format!(
        "[interval]\ngrain = \"day\"\nstart = \"2026-03-24\"\ncatch_up = \"all\"\n\n[target]\ntable = \"d.t\"\n\
         interval_column = \"day\"\npublished_at = \"at\"\n{more}"
    );
    PipelineText::new("t", &toml, SQL)
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_run_would_change_and_what_one_has_changed() -> Result<()> {
    let bench = Bench::new("UTC", SETUP, &[days("key = [\"day\", \"shop\"]\nkeep_old_for = \"1d\"\n")]).await?;
    // nothing is published: all of it would be new
    let new = bench.call("diff t 2026-03-24 --json")?.expect_code(0).json()?;
    assert_eq!(new["comparison"]["keys"], json!({ "added": 6, "removed": 0, "changed": 0, "equal": 0 }), "{new}");
    assert_eq!(bench.db.value("select count(*) from thrice.pipelines").await?, "0");
    bench.call("run t 2026-03-24")?.expect_code(0);
    let same = bench.call("diff t 2026-03-24 --limit 5 --json")?.expect_code(0).json()?;
    assert_eq!(same["comparison"]["keys"]["equal"], 6, "{same}");
    assert_eq!((&same["sample"], &same["columns"]), (&json!([]), &json!({ "amount": 0, "note": 0 })), "{same}");

    bench
        .db
        .execute(
            "update d.src set amount = 20.5, note = null where shop = 2; update d.src set amount = 4.00 where shop = 4",
        )
        .await?;
    bench.db.execute("delete from d.src where shop = 6; insert into d.src values ('2026-03-24', 7, 7, 'new')").await?;
    let before = bench.db.rows("select * from d.t").await?;
    let changed = bench.call("diff t 2026-03-24 --limit 5 --json")?.expect_code(0).json()?;
    assert_eq!(
        changed["comparison"]["keys"],
        json!({ "added": 1, "removed": 1, "changed": 1, "equal": 4 }),
        "{changed}"
    );
    assert_eq!(
        changed["comparison"]["sums"],
        json!({ "amount": { "before": "21.00", "after": "40.50" } }),
        "{changed}"
    );
    assert_eq!(changed["columns"], json!({ "amount": 1, "note": 1 }), "{changed}");
    let row = |shop: &str, amount: &str, note: serde_json::Value| json!({ "day": "2026-03-24", "shop": shop, "amount": amount, "note": note });
    let (updated, gone, added) = (
        json!({ "before": row("2", "2.00", json!("even")), "after": row("2", "20.50", json!(null)) }),
        json!({ "before": row("6", "6.00", json!("even")), "after": null }),
        json!({ "before": null, "after": row("7", "7.00", json!("new")) }),
    );
    assert_eq!(changed["sample"], json!([updated, gone, added]), "{changed}");
    // a pipe gets no values unasked
    let text = bench.call("diff t 2026-03-24")?.expect_code(0).stdout();
    assert!(text.contains("6 → 6 rows   keys +1 ~1 -1 =4   amount 21.00 → 40.50") && !text.contains("even"), "{text}");
    let text = bench.call("diff t 2026-03-24 --limit 1")?.expect_code(0).stdout();
    assert!(text.contains("~ 2026-03-24, 2   amount 2.00 → 20.50  note even → null"), "{text}");

    assert_eq!(bench.db.rows("select * from d.t").await?, before);
    assert_eq!(bench.staging_tables().await?, 0);
    assert_eq!(bench.runs().await?.len(), 1);

    bench.call("diff t 2026-03-24 --against kept")?.expect_code(5).expect_error("TH0520");
    bench.call("run t 2026-03-24")?.expect_code(0);
    for against in ["kept", "1"] {
        let kept =
            bench.call(&format!("diff t 2026-03-24 --against {against} --limit 5 --json"))?.expect_code(0).json()?;
        assert_eq!(kept["comparison"], changed["comparison"], "{kept}");
        assert_eq!((&kept["sample"], &kept["columns"]), (&changed["sample"], &changed["columns"]), "{kept}");
    }
    bench.call("diff t 2026-03-24 --against all")?.expect_code(2);
    bench.call("diff t 2026-03-24,2026-03-25")?.expect_code(2);
    assert_eq!(bench.staging_tables().await?, 0);
    Ok(())
}

/// Without a key there are rows and sums; a query that fails is shown where it fails.
#[tokio::test(flavor = "multi_thread")]
async fn without_a_key_and_with_a_broken_query() -> Result<()> {
    let bench = Bench::new("UTC", SETUP, &[days("")]).await?;
    bench.call("run t 2026-03-24")?.expect_code(0);
    bench.db.execute("update d.src set amount = amount + 1").await?;
    let found = bench.call("diff t 2026-03-24 --limit 5 --json")?.expect_code(0).json()?;
    assert_eq!(found["comparison"]["keys"], json!(null), "{found}");
    assert_eq!(found["comparison"]["rows"], json!({ "before": 6, "after": 6 }), "{found}");
    bench.project.write(&PipelineText { sql: SQL.replace("amount,", "amount / (shop - 3),"), ..days("") })?;
    bench.call("diff t 2026-03-24")?.expect_code(8).expect_error("TH0602");
    bench.project.write(&PipelineText { sql: SQL.replace("amount,", "amount / (shop - 3) as amount,"), ..days("") })?;
    bench.call("diff t 2026-03-24")?.expect_code(8).expect_text("22012");
    assert_eq!(bench.staging_tables().await?, 0);
    Ok(())
}
