//! Grain `table`: the whole table is one partition, made anew whenever its pipeline is named.

use anyhow::Result;
use thrice_tests::{Bench, PipelineText};

const SETUP: &str = "create schema d; create table d.src (id int primary key, name text not null, seen timestamptz);
    insert into d.src select n, 'shop ' || n, '2026-03-24 00:00+09' from generate_series(1, 5) n;
    create table d.t (id int primary key, name text not null, seen timestamptz)";
const SQL: &str = "select id, name, seen from d.src";
const ROWS: &str = "select id || ' ' || name || coalesce(' ' || seen, '') from d.t order by id";

fn shops(strategy: &str) -> PipelineText {
    let toml = format!("[interval]\ngrain = \"table\"\n\n[target]\ntable = \"d.t\"\nkey = [\"id\"]\n{strategy}");
    PipelineText::new("t", &toml, SQL)
}

/// Rows with no place in time are rows of the table like any other; vanished ones vanish; three runs are one.
#[tokio::test(flavor = "multi_thread")]
async fn a_whole_table_is_made_anew_by_name() -> Result<()> {
    for strategy in ["", "strategy = \"merge\"\nrows = \"complete\"\n"] {
        let bench = Bench::new("Asia/Seoul", SETUP, &[shops(strategy)]).await?;
        let listed = bench.call("run --dry-run")?.expect_code(0);
        assert!(listed.stdout().contains("t  table  the whole table"), "{}", listed.stdout());
        bench.call("run")?.expect_code(0);
        assert_eq!(bench.db.rows(ROWS).await?.len(), 5);
        // published, it is not due again; by its pipeline's name it is made again
        bench.call("run --detailed-exitcode")?.expect_code(3);
        let again = bench.call("run t --json")?.expect_code(0).json()?;
        assert_eq!(again["items"][0]["outcome"], "unchanged", "{again}");
        bench
            .db
            .execute("update d.src set seen = 'infinity' where id = 1; update d.src set seen = null where id = 2")
            .await?;
        bench.db.execute("delete from d.src where id = 3; insert into d.src values (6, 'shop 6', '-infinity')").await?;
        let changed = bench.call("run t table --json")?.expect_code(0).json()?;
        assert_eq!(changed["items"][0]["outcome"], "published", "{changed}");
        for _ in 0..3 {
            let same = bench.call("run t --json")?.expect_code(0).json()?;
            assert_eq!(same["items"][0]["outcome"], "unchanged", "{same}");
            assert_eq!(bench.db.rows(ROWS).await?, bench.db.rows(&ROWS.replace("d.t", "d.src")).await?);
        }
        let status = bench.call("status t --json")?.expect_code(0).json()?;
        assert_eq!(status["pipelines"][0]["counts"]["final"], 1, "{status}");
        assert_eq!(status["pipelines"][0]["fresh_to"], "table", "{status}");
        for command in ["show t table", "why t table", "intervals t", "ledger t", "lint t --db", "doctor"] {
            bench.call(command)?.expect_code(0);
        }
        bench.call("close t table --reason audited")?.expect_code(0);
        bench.call("run t")?.expect_code(5).expect_error("TH0530");
        bench.call("run t --reopen --reason audit-over")?.expect_code(0);
    }
    Ok(())
}

/// Rows that no receipt accounts for are refused, adopted, or replaced, as in an interval.
#[tokio::test(flavor = "multi_thread")]
async fn rows_that_were_there_before_are_adopted_or_replaced() -> Result<()> {
    let filled = format!("{SETUP}; insert into d.t select * from d.src");
    let bench = Bench::new("UTC", &filled, &[shops("")]).await?;
    bench.call("run t")?.expect_code(5).expect_error("TH0531");
    bench.call("adopt t --from table --to table --reason loaded-before --yes")?.expect_code(0);
    let same = bench.call("run t --json")?.expect_code(0).json()?;
    assert_eq!(same["items"][0]["outcome"], "unchanged", "{same}");
    Ok(())
}

/// What is said of intervals is said of none.
#[tokio::test(flavor = "multi_thread")]
async fn keys_and_ranges_of_intervals_are_refused() -> Result<()> {
    let bench = Bench::new("UTC", SETUP, &[shops("")]).await?;
    for words in [
        "run t 2026-03-24",
        "run t yesterday",
        "run t --from 2026-03-01 --to 2026-03-02",
        "run t -- -1",
        "status t --month 2026-03",
    ] {
        let refused = bench.call(words)?;
        assert_eq!(refused.code(), Some(2), "{words}: {}", refused.stderr());
    }
    Ok(())
}
