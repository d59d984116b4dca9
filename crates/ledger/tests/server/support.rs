//! A database for each test, and the road of a run up to any of its steps.

use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use serde_json::json;
use thrice_connect::{ConnectionSettings, Sources};
use thrice_core::actor::Actor;
use thrice_core::{Grain, Partition, Schedule, Zone};
use thrice_ledger::{
    Claim, ClaimRequest, Ledger, NewRun, PipelineRecord, PipelineRow, StageMode, StagedRun, StartedRun, Trigger, Uuid,
    WorkerLease, data_plane,
};
use tokio_postgres::{Client, Config, NoTls, SimpleQueryMessage};

static NEXT: AtomicU32 = AtomicU32::new(0);

/// Roles belong to the whole server: one test at a time makes them.
static ROLES: tokio::sync::Mutex<()> = tokio::sync::Mutex::const_new(());

/// Makes the three roles, and keeps other tests from doing so.
pub(crate) async fn grant(db: &Scratch) -> tokio::sync::MutexGuard<'static, ()> {
    let one = ROLES.lock().await;
    db.execute(Ledger::grants_sql()).await;
    one
}

/// A database that lives as long as the test.
pub(crate) struct Scratch {
    admin: Config,
    pub(crate) name: String,
    owned: bool,
}

impl Scratch {
    /// The same database, not dropped with this value.
    pub(crate) fn borrowed(other: &Self) -> Self {
        Self { admin: other.admin.clone(), name: other.name.clone(), owned: false }
    }

    pub(crate) async fn empty() -> Self {
        let url = std::env::var("THRICE_TEST_DATABASE_URL").unwrap_or_else(|_| {
            panic!(
                "THRICE_TEST_DATABASE_URL is not set: these tests need a PostgreSQL server and a superuser on it; \
                 run `cargo xtask test`, which brings one"
            )
        });
        let admin: Config = url.parse().expect("THRICE_TEST_DATABASE_URL is a PostgreSQL URL");
        let name = format!("thrice_ledger_{}_{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
        let scratch = Self { admin, name, owned: true };
        let admin = open(&scratch.admin).await;
        admin.batch_execute(&format!("drop database if exists {} with (force)", scratch.name)).await.unwrap();
        admin.batch_execute(&format!("create database {}", scratch.name)).await.unwrap();
        scratch
    }

    /// What the ledger connects with.
    pub(crate) fn settings(&self) -> ConnectionSettings {
        let sources = Sources { flag_url: std::env::var("THRICE_TEST_DATABASE_URL").ok(), ..Sources::default() };
        let (settings, _origin) = ConnectionSettings::resolve(&sources).unwrap().unwrap();
        settings.with_database(self.name.clone())
    }

    /// The same server and database for tokio-postgres.
    pub(crate) fn config(&self) -> Config {
        let mut config = self.admin.clone();
        config.dbname(&self.name);
        config
    }

    pub(crate) async fn client(&self) -> Client {
        open(&self.config()).await
    }

    pub(crate) async fn execute(&self, sql: &str) {
        self.client().await.batch_execute(sql).await.unwrap_or_else(|error| panic!("{sql}: {error:?}"));
    }

    /// Rows as text, columns joined by `|`, null empty.
    pub(crate) async fn rows(&self, sql: &str) -> Vec<String> {
        let messages = self.client().await.simple_query(sql).await.unwrap_or_else(|error| panic!("{sql}: {error:?}"));
        let text = |message: &SimpleQueryMessage| {
            let SimpleQueryMessage::Row(row) = message else { return None };
            Some((0..row.len()).map(|i| row.get(i).unwrap_or_default()).collect::<Vec<_>>().join("|"))
        };
        messages.iter().filter_map(text).collect()
    }

    /// The single value of a query.
    pub(crate) async fn value(&self, sql: &str) -> String {
        self.rows(sql).await.pop().unwrap_or_else(|| panic!("no row: {sql}"))
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        if !self.owned {
            return;
        }
        let (admin, name) = (self.admin.clone(), self.name.clone());
        let dropping = std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
            runtime.block_on(async {
                open(&admin)
                    .await
                    .batch_execute(&format!("drop database if exists {name} with (force)"))
                    .await
                    .unwrap();
            });
        });
        assert!(dropping.join().is_ok() || std::thread::panicking(), "{} was not dropped", self.name);
    }
}

pub(crate) async fn open(config: &Config) -> Client {
    let (client, connection) = config.connect(NoTls).await.expect("the server of THRICE_TEST_DATABASE_URL answers");
    tokio::spawn(connection);
    client
}

/// A migrated database with one pipeline and a ledger on it.
pub(crate) struct Bench {
    pub(crate) ledger: Ledger,
    pub(crate) pipeline: PipelineRow,
    pub(crate) db: Scratch,
}

pub(crate) const CODE: &[u8] = b"code one";

impl Bench {
    pub(crate) async fn new() -> Self {
        Self::with_strategy("delete_insert").await
    }

    pub(crate) async fn with_strategy(strategy: &str) -> Self {
        let db = Scratch::empty().await;
        let ledger = Ledger::open(&db.settings()).await.unwrap();
        ledger.migrate().await.unwrap();
        db.execute("create schema mart; create table mart.daily (dt date not null, n int not null)").await;
        let pipeline = ledger.register_pipeline(&record("daily", strategy, &json!({"target": {}}))).await.unwrap();
        Self { ledger, pipeline, db }
    }

    /// A worker on connections of its own: what a second process would be.
    pub(crate) async fn process(&self) -> Process {
        self.process_with(Duration::from_mins(1)).await
    }

    pub(crate) async fn process_with(&self, ttl: Duration) -> Process {
        let ledger = Ledger::open(&self.db.settings()).await.unwrap();
        let lease = WorkerLease::register(&ledger, "test-host", 1234, ttl).await.unwrap();
        Process { ledger, lease }
    }

    pub(crate) fn request<'a>(&self, worker: Uuid, partitions: &'a [Partition], dead: &'a [Uuid]) -> ClaimRequest<'a> {
        ClaimRequest {
            worker,
            pipeline_id: self.pipeline.pipeline_id,
            interval_epoch: self.pipeline.interval_epoch,
            partitions,
            most: 1000,
            explicit: false,
            reopen: false,
            dead,
        }
    }

    /// Claims one day that must be free.
    pub(crate) async fn claim(&self, process: &Process, key: &str) -> Claim {
        let partitions = [day(key)];
        let claims = process.ledger.claim(&self.request(process.id(), &partitions, &[])).await.unwrap();
        assert_eq!(claims.len(), 1, "{key} is not free");
        claims.into_iter().next().unwrap()
    }

    /// Claims, starts, stages and validates: the run is ready to publish `rows` rows.
    pub(crate) async fn validated(&self, process: &Process, key: &str, rows: i64) -> Ready {
        let claim = self.claim(process, key).await;
        let started = process.start(&claim).await;
        process.stage(&claim, &started, rows).await;
        process.ledger.mark_validated(started.attempt_id, claim.token, &json!({"stage_ms": 5}), &[]).await.unwrap();
        Ready { claim, started, worker: process.id(), rows }
    }

    /// The whole road by the data plane's statements.
    pub(crate) async fn published(&self, process: &Process, key: &str, rows: i64) -> Ready {
        let ready = self.validated(process, key, rows).await;
        let client = self.db.client().await;
        ready.publish(&client, &Tail::default()).await.unwrap();
        ready
    }
}

pub(crate) struct Process {
    pub(crate) ledger: Ledger,
    pub(crate) lease: WorkerLease,
}

impl Process {
    pub(crate) fn id(&self) -> Uuid {
        self.lease.worker_id()
    }

    pub(crate) fn new_run<'a>(&self, claim: &'a Claim, actor: &'a Actor) -> NewRun<'a> {
        NewRun {
            claim,
            worker: self.id(),
            trigger: Trigger::Manual,
            actor,
            reason: Some("a test"),
            code_hash: Some(CODE),
            stage_mode: StageMode::Durable,
            resumed_from: None,
            backend_pid: None,
            backfill_id: None,
            revisit: None,
        }
    }

    pub(crate) async fn start(&self, claim: &Claim) -> StartedRun {
        let actor = Actor { os_user: Some("kim".to_owned()), on_behalf_of: None };
        self.ledger.start_run(&self.new_run(claim, &actor)).await.unwrap()
    }

    pub(crate) async fn stage(&self, claim: &Claim, run: &StartedRun, rows: i64) {
        let relation = format!("s{}", run.attempt_id);
        let staged = StagedRun {
            attempt_id: run.attempt_id,
            token: claim.token,
            staging_relation: Some(&relation),
            rows,
            checksum: &checksum(rows),
            input_manifest_uri: None,
        };
        self.ledger.mark_staged(&staged).await.unwrap();
    }

    /// The process dies: its connections end, its row stays.
    pub(crate) async fn die(self) -> Uuid {
        let id = self.id();
        self.ledger.close().await; // the lease cannot delete its row any more
        drop(self.lease);
        id
    }
}

/// A run that only lacks its publish.
#[derive(Clone)]
pub(crate) struct Ready {
    pub(crate) claim: Claim,
    pub(crate) started: StartedRun,
    pub(crate) worker: Uuid,
    pub(crate) rows: i64,
}

/// What a publish tells the tail; what is left out is as it should be.
pub(crate) struct Tail {
    pub(crate) kind: &'static str,
    pub(crate) inserted: Option<i64>,
    pub(crate) target: Option<(i64, String)>,
    pub(crate) read_back: bool,
    pub(crate) close: bool,
    pub(crate) reopen: bool,
}

impl Default for Tail {
    fn default() -> Self {
        Self { kind: "publish", inserted: None, target: None, read_back: true, close: false, reopen: false }
    }
}

impl Ready {
    pub(crate) fn application_name(&self) -> String {
        data_plane::application_name(self.claim.partition_id, self.started.attempt_no)
    }

    /// Begins the publish and takes the lock.
    pub(crate) async fn lock(&self, client: &Client, reopen: bool) -> Result<(), tokio_postgres::Error> {
        client.batch_execute("begin isolation level read committed").await?;
        client.batch_execute(&format!("set local application_name = '{}'", self.application_name())).await?;
        for setting in data_plane::COUNT_SETTINGS {
            client.execute("select set_config($1, '', true)", &[&setting]).await?;
        }
        client
            .query_one(data_plane::LOCK_AND_CHECK_FENCE, &[&self.claim.partition_id, &self.claim.token, &reopen])
            .await
            .map(drop)
    }

    /// Sends the tail.
    pub(crate) async fn tail(&self, client: &Client, tail: &Tail) -> Result<(), tokio_postgres::Error> {
        let nothing: Option<i64> = None;
        let inserted = tail.inserted.unwrap_or(if tail.kind == "publish" { self.rows } else { 0 });
        let target = tail.target.clone().unwrap_or_else(|| (self.rows, checksum(self.rows)));
        let (rows, sum) = if tail.read_back { (Some(target.0), Some(target.1)) } else { (None, None) };
        let (history, seconds, json): (Option<&str>, Option<i64>, Option<serde_json::Value>) = (None, None, None);
        client
            .query_one(
                data_plane::PUBLISH_TAIL,
                &[
                    &self.claim.partition_id,
                    &self.started.attempt_id,
                    &self.claim.token,
                    &self.worker,
                    &tail.kind,
                    &nothing,
                    &Some(inserted),
                    &nothing,
                    &rows,
                    &sum,
                    &nothing,
                    &history,
                    &seconds,
                    &json,
                    &json,
                    &tail.close,
                ],
            )
            .await
            .map(drop)
    }

    /// Lock, tail, COMMIT; on an error ROLLBACK.
    pub(crate) async fn publish(&self, client: &Client, tail: &Tail) -> Result<(), tokio_postgres::Error> {
        let done = match self.lock(client, tail.reopen).await {
            Ok(()) => self.tail(client, tail).await,
            Err(error) => Err(error),
        };
        client.batch_execute(if done.is_ok() { "commit" } else { "rollback" }).await?;
        done
    }

    /// As [`Ready::publish`], for a publish that must be refused: the server's code.
    pub(crate) async fn refused(&self, client: &Client, tail: &Tail) -> String {
        match self.publish(client, tail).await {
            Ok(()) => panic!("published"),
            Err(error) => error.code().unwrap_or_else(|| panic!("no code: {error:?}")).code().to_owned(),
        }
    }
}

pub(crate) fn record<'a>(name: &'a str, strategy: &'a str, definition: &'a serde_json::Value) -> PipelineRecord<'a> {
    PipelineRecord {
        name,
        target: "\"mart\".\"daily\"",
        strategy,
        grain: "day",
        time_zone: "Asia/Seoul",
        lane: "scheduled",
        code_hash: CODE,
        query: "select 1",
        definition,
        git_revision: None,
    }
}

pub(crate) fn checksum(rows: i64) -> String {
    format!("v1:{rows}:1:2")
}

pub(crate) fn seoul() -> Schedule {
    Schedule::new(Grain::Day, Zone::named("Asia/Seoul").unwrap())
}

pub(crate) fn day(key: &str) -> Partition {
    seoul().partition_for_key(key).unwrap()
}

pub(crate) fn days(month: &str, count: u32) -> Vec<Partition> {
    (1..=count).map(|d| day(&format!("{month}-{d:02}"))).collect()
}

/// Waits until a condition holds; fails after ten seconds.
pub(crate) async fn until(what: &str, mut holds: impl AsyncFnMut() -> bool) {
    for _ in 0..500 {
        if holds().await {
            return;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    panic!("never: {what}");
}
