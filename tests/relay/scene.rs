//! One pipeline behind a relay, and the comparison of what a call says with what is true.

use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use serde_json::Value;
use thrice_fault_relay::{Fault, FaultRelay, Listen, Plan, Upstream};
use thrice_tests::process::Finished;
use thrice_tests::{PipelineText, Project, Scratch};

const PIPELINE: &str = "day_totals";
const TOML: &str = r#"
[interval]
grain = "day"
time_zone = "Asia/Seoul"
start = "2026-03-01"

[target]
table = "mart.day_totals"
strategy = "delete_insert"
interval_column = "dt"
key = ["dt", "shop"]

[retry]
first_delay = "0s"

[timeouts]
lock = "2s"
"#;
const SQL: &str = "select timezone('Asia/Seoul', at)::date as dt, shop, count(*) as orders, sum(amount) as total
from ods.orders where at >= :interval_start and at < :interval_end group by 1, 2";
const TABLES: &str = "create schema ods; create schema mart;
create table ods.orders (id bigint primary key, shop int not null, at timestamptz not null, amount numeric(12, 2) not null);
insert into ods.orders select n, n % 40, timestamptz '2026-03-01 00:00+09' + n * interval '5 minutes', n % 977 / 100.0
  from generate_series(0, 2000) n;
create table mart.day_totals (dt date not null, shop int not null, orders bigint not null, total numeric(14, 2) not null,
  primary key (dt, shop));";
/// What the target must hold: the query in other words, for all days of `source`.
const EXPECTED: &str = "select dt, shop, count(*), sum(amount) from
  (select *, (at at time zone 'Asia/Seoul')::date as dt from ods.orders) o where dt = ";
const OPEN: [&str; 4] = ["started", "staged", "validated", "unknown"];

/// How often each way is tried.
pub(crate) fn rounds() -> Result<usize> {
    std::env::var("THRICE_RELAY_ROUNDS").map_or(Ok(3), |text| text.parse().context("THRICE_RELAY_ROUNDS is no number"))
}

/// A database, a project and a relay between them.
pub(crate) struct Scene {
    pub(crate) scratch: Scratch,
    pub(crate) relay: FaultRelay,
    project: Project,
    url: String,
}

/// One run of the ledger, with its receipt.
#[derive(Debug)]
pub(crate) struct RunRow {
    pub(crate) attempt_no: i64,
    pub(crate) status: String,
    pub(crate) class: String,
    /// Kind and checksum.
    pub(crate) receipt: Option<(String, String)>,
}

/// What a round showed.
#[derive(Debug)]
pub(crate) struct Round {
    pub(crate) runs: Vec<RunRow>,
    pub(crate) resolved: bool,
    /// From the fault to the end of the call.
    pub(crate) after_fault: Duration,
}

impl Scene {
    pub(crate) async fn new() -> Result<Self> {
        Self::with("").await
    }

    /// `toml` stands behind the pipeline's own, which ends in `[timeouts]`.
    pub(crate) async fn with(toml: &str) -> Result<Self> {
        let scratch = Scratch::new().await?;
        scratch.execute(TABLES).await?;
        let text = PipelineText { name: PIPELINE.to_owned(), toml: format!("{TOML}{toml}"), sql: SQL.to_owned() };
        let project = Project::new(&scratch.url(), "Asia/Seoul", &[text])?;
        project.thrice(["migrate"]).run()?.expect_code(0);
        let relay = FaultRelay::start(Upstream::tcp(scratch.address()), Listen::tcp()).await?;
        let url = scratch.url_through(&relay.address().to_string());
        Ok(Self { scratch, relay, project, url })
    }

    /// The publish's COMMIT and no other: only its transaction names the run.
    pub(crate) fn lose(fault: Fault) -> Plan {
        Plan::on_commit(fault).in_transaction_with("thrice:")
    }

    /// `thrice run P KEY --json` through the relay.
    pub(crate) async fn run(&self, key: &str) -> Result<Finished> {
        self.run_at(&self.url, key).await
    }

    /// The same past the relay.
    pub(crate) async fn run_direct(&self, key: &str) -> Result<Finished> {
        self.run_at(self.project.url(), key).await
    }

    async fn run_at(&self, url: &str, key: &str) -> Result<Finished> {
        let call =
            self.project.thrice_through(url, ["run", PIPELINE, key, "--json", "--as-of", "2026-04-01T00:00:00+09:00"]);
        tokio::task::spawn_blocking(|| call.run()).await?
    }

    /// Other source rows for a day, so that its next publish has something to write.
    pub(crate) async fn change(&self, key: &str, round: usize) -> Result<()> {
        self.scratch
            .execute(&format!(
                "update ods.orders set amount = amount + {} where id % 3 = {} \
                 and (at at time zone 'Asia/Seoul')::date = '{key}'",
                round + 1,
                round % 3
            ))
            .await
    }

    /// The newest attempt's number; 0 before the first.
    pub(crate) async fn newest(&self, key: &str) -> Result<i64> {
        let sql = format!(
            "select coalesce(max(l.attempt_no), 0) from thrice.pipeline_run_ledger l where target_date = '{key}'"
        );
        Ok(self.scratch.value(&sql).await?.parse()?)
    }

    /// The runs after attempt `after`, oldest first.
    pub(crate) async fn runs(&self, key: &str, after: i64) -> Result<Vec<RunRow>> {
        let sql = format!(
            "select l.attempt_no, l.status, l.failure_class, p.kind, p.checksum from thrice.pipeline_run_ledger l \
             left join thrice.publications p using (attempt_id) where l.target_date = '{key}' and l.attempt_no > {after} \
             order by l.attempt_no"
        );
        let rows = self.scratch.rows(&sql).await?;
        rows.iter()
            .map(|row| {
                let [attempt_no, status, class, kind, checksum] =
                    row.split('|').collect::<Vec<_>>().try_into().ok().context("five columns")?;
                Ok(RunRow {
                    attempt_no: attempt_no.parse()?,
                    status: status.to_owned(),
                    class: class.to_owned(),
                    receipt: (!kind.is_empty()).then(|| (kind.to_owned(), checksum.to_owned())),
                })
            })
            .collect()
    }

    /// Runs a day while `fault` waits for its COMMIT, and holds every word of the answer against the database.
    pub(crate) async fn round(&self, key: &str, fault: Fault) -> Result<Round> {
        let (before, fired) = (self.newest(key).await?, self.relay.fired());
        self.relay.disarm();
        self.relay.arm(Self::lose(fault));
        let begun = Instant::now();
        let (finished, met) = tokio::join!(self.run(key), async {
            // a call that never sends its COMMIT must not hang the test
            let met = tokio::time::timeout(Duration::from_mins(2), self.relay.wait_fired(fired + 1));
            met.await.map(|()| begun.elapsed()).unwrap_or_default()
        });
        let (finished, took) = (finished?.expect_code(0), begun.elapsed());
        ensure!(self.relay.fired() == fired + 1, "the fault did not meet exactly one COMMIT");
        let runs = self.runs(key, before).await?;
        let resolved = self
            .hold_against(key, &finished, &runs)
            .await
            .with_context(|| format!("{fault:?} on {key}: {runs:?}\n{}\n{}", finished.stdout(), finished.stderr()))?;
        Ok(Round { runs, resolved, after_fault: took.saturating_sub(met) })
    }

    /// Whether a call that ended well told the truth about `runs`, the runs of its time.
    pub(crate) async fn hold_against(&self, key: &str, finished: &Finished, runs: &[RunRow]) -> Result<bool> {
        let json = finished.json()?;
        let item = json["items"].get(0).context("one item")?;
        let (newest, lost) = runs.split_last().context("a run")?;
        let outcome = item["outcome"].as_str().unwrap_or_default();
        let (kind, checksum) = newest.receipt.as_ref().context("the last run has no receipt")?;
        ensure!(
            outcome == if kind == "publish" { "published" } else { kind.as_str() },
            "outcome {outcome}, receipt {kind}"
        );
        ensure!(item["attempt_no"].as_i64() == Some(newest.attempt_no), "another run is named");
        ensure!(item["checksum"].as_str() == Some(checksum), "another checksum is named");
        let resolved = item["resolved"].as_bool().context("`resolved`")?;
        let failed = item["failed_attempts"].as_array().map_or(0, Vec::len);
        ensure!(failed == lost.len(), "{failed} failed attempts are told of, {} are in the ledger", lost.len());
        for run in lost {
            ensure!(run.status == "failed" && run.class == "abandoned", "a lost run without a receipt is `abandoned`");
            ensure!(run.receipt.is_none(), "a run was given up although it has a receipt");
        }
        self.is_sound(key).await?;
        self.nothing_is_staged().await?;
        Ok(resolved)
    }

    /// What holds in the database at rest, whatever happened before.
    pub(crate) async fn is_sound(&self, key: &str) -> Result<()> {
        for run in self.runs(key, 0).await? {
            ensure!((run.status == "published") == run.receipt.is_some(), "status and receipt disagree: {run:?}");
            ensure!(!OPEN.contains(&run.status.as_str()), "left open: {run:?}");
        }
        let unsound = "select p.interval_key from thrice.partitions p where p.claimed_by is not null \
             or p.current_attempt_id is distinct from (select attempt_id from thrice.publications r \
                  where r.partition_id = p.partition_id order by token desc limit 1) \
             or p.data_attempt_id is distinct from (select attempt_id from thrice.publications r \
                  where r.partition_id = p.partition_id and kind = 'publish' order by token desc limit 1)";
        ensure!(self.scratch.rows(unsound).await?.is_empty(), "a partition is claimed, or points at another receipt");
        let expected = self.scratch.rows(&format!("{EXPECTED} '{key}' group by 1, 2 order by 1, 2")).await?;
        let held =
            self.scratch.rows(&format!("select * from mart.day_totals where dt = '{key}' order by 1, 2")).await?;
        ensure!(
            !expected.is_empty() && expected == held,
            "the target differs: {} rows, {} held",
            expected.len(),
            held.len()
        );
        let receipt = format!(
            "select r.row_count from thrice.partitions p join thrice.publications r on r.attempt_id = p.data_attempt_id \
             where p.target_date = '{key}'"
        );
        ensure!(self.scratch.value(&receipt).await? == held.len().to_string(), "the receipt counts other rows");
        Ok(())
    }

    /// No staging table is left.
    async fn nothing_is_staged(&self) -> Result<()> {
        let left = self
            .scratch
            .rows("select relname from pg_class where relnamespace = 'thrice_staging'::regnamespace and relkind = 'r'")
            .await?;
        ensure!(left.is_empty(), "staging left behind: {left:?}");
        Ok(())
    }
}

/// The item's error code, of a call that did not end well.
pub(crate) fn error_code(finished: &Finished) -> Result<String> {
    let json: Value = finished.json()?;
    Ok(json["items"][0]["error"]["code"].as_str().context("an error code")?.to_owned())
}
