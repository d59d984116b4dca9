//! A scratch database with the ledger in it, and a project that works on it.

use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use tokio::sync::Mutex;

use crate::database::Scratch;
use crate::process::{Finished, Thrice};
use crate::project::{PipelineText, Project};

/// Roles belong to the whole server: one test at a time makes them.
static ROLES: Mutex<()> = Mutex::const_new(());

/// A database of its own with a current ledger, and a project folder.
#[derive(Debug)]
pub struct Bench {
    /// The database.
    pub db: Scratch,
    /// The project.
    pub project: Project,
}

impl Bench {
    /// Makes the database, runs `setup` in it, writes the project, and migrates.
    pub async fn new(zone: &str, setup: &str, pipelines: &[PipelineText]) -> Result<Self> {
        let db = Scratch::new().await?;
        db.execute(setup).await?;
        let project = Project::new(&db.url(), zone, pipelines)?;
        project.thrice(["migrate"]).run()?.expect_code(0);
        Ok(Self { db, project })
    }

    /// A call of the binary.
    pub fn thrice(&self, words: &str) -> Thrice {
        self.project.thrice(words.split_whitespace())
    }

    /// `thrice` with these words, to its end.
    pub fn call(&self, words: &str) -> Result<Finished> {
        self.thrice(words).run()
    }

    /// A login that may work for thrice, and its URL. `prefix` is made unique.
    pub async fn worker_login(&self, prefix: &str) -> Result<(String, String)> {
        let _one = ROLES.lock().await;
        let login = format!("{prefix}_{}", self.db.name());
        let grants = thrice_ledger::Ledger::grants_sql().replace(":\"dbname\"", self.db.name());
        self.db.execute(&grants).await?;
        self.db
            .execute(&format!("drop role if exists {login}; create role {login} login in role thrice_worker"))
            .await?;
        Ok((login.clone(), self.db.url_as(&login)))
    }

    /// All runs, oldest first: key, number, status, class, SQLSTATE.
    pub async fn runs(&self) -> Result<Vec<String>> {
        self.db
            .rows(
                "select p.interval_key, l.attempt_no, l.status, l.failure_class, l.sqlstate
                   from thrice.pipeline_run_ledger l join thrice.partitions p using (partition_id)
                  order by l.attempt_id",
            )
            .await
    }

    /// All receipts, oldest first: key, number, kind, rows.
    pub async fn receipts(&self) -> Result<Vec<String>> {
        self.db
            .rows(
                "select p.interval_key, l.attempt_no, r.kind, r.row_count
                   from thrice.publications r join thrice.pipeline_run_ledger l using (attempt_id)
                   join thrice.partitions p on p.partition_id = r.partition_id
                  order by r.attempt_id",
            )
            .await
    }

    /// Number of tables in the staging schema.
    pub async fn staging_tables(&self) -> Result<u32> {
        let count =
            "select count(*) from pg_class where relnamespace = 'thrice_staging'::regnamespace and relkind = 'r'";
        Ok(self.db.value(count).await?.parse()?)
    }

    /// Asks until the first column of the first row is `wanted`; what it was last is in the error.
    pub async fn wait_for(&self, sql: &str, wanted: &str, limit: Duration) -> Result<()> {
        let begun = Instant::now();
        loop {
            let seen = self.db.value(sql).await?;
            if seen == wanted {
                return Ok(());
            }
            if begun.elapsed() > limit {
                bail!("{seen:?} instead of {wanted:?} after {limit:?}: {sql}");
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }

    /// The invariants that hold at every commit point, for a target whose rows lie in `interval_start, interval_end`
    /// when the instant expression `at` does. Empty: all hold.
    pub async fn broken_invariants(&self, target: &str, at: &str) -> Result<Vec<String>> {
        let sql = INVARIANTS.replace("$target", target).replace("$at", at);
        self.db.rows(&sql).await.context("invariants")
    }
}

/// What must be empty. I1 and I2: rows in the interval are those of the run that the partition points at, and there are none
/// without it. I3: tokens grow. I6: the pointers are the newest receipts. I9: a published run has a receipt, a failed one none.
const INVARIANTS: &str = "
select 'I1 rows ' || p.interval_key || ': receipt ' || coalesce(r.row_count::text, 'none') || ', target ' || n.n
  from thrice.partitions p
  left join thrice.publications r on r.attempt_id = p.data_attempt_id
  cross join lateral (select count(*) n from $target t where ($at) >= p.interval_start and ($at) < p.interval_end) n
 where coalesce(r.row_count, 0) <> n.n
union all
select 'I1 rows outside every published partition: ' || count(*)
  from $target t
 where not exists (select from thrice.partitions p
                    where p.data_attempt_id is not null and ($at) >= p.interval_start and ($at) < p.interval_end)
having count(*) > 0
union all
select 'I3 tokens of ' || partition_id from (
  select partition_id, token <= lag(token) over (partition by partition_id order by published_at, attempt_id) as back
    from thrice.publications) t where back
union all
select 'I4 fence of ' || p.interval_key from thrice.partitions p
 where exists (select from thrice.publications r where r.partition_id = p.partition_id and r.token > p.fence)
union all
select 'I6 current of ' || p.interval_key from thrice.partitions p
 where p.current_attempt_id is distinct from (
   select r.attempt_id from thrice.publications r where r.partition_id = p.partition_id order by r.token desc limit 1)
union all
select 'I6 data of ' || p.interval_key from thrice.partitions p
 where p.data_attempt_id is distinct from (
   select r.attempt_id from thrice.publications r where r.partition_id = p.partition_id and r.kind <> 'unchanged'
    order by r.token desc limit 1)
union all
select 'I9 run ' || l.attempt_id || ' is ' || l.status || ', receipt ' || (r.attempt_id is not null)
  from thrice.pipeline_run_ledger l left join thrice.publications r using (attempt_id)
 where (l.status = 'published') <> (r.attempt_id is not null)";
