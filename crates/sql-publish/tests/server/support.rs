//! A database for each test, and the whole road in one call.

use std::{
    sync::atomic::{AtomicU32, Ordering},
    time::{Duration, Instant},
};

use thrice_core::{
    column_bounds::ColumnBounds,
    identifier::{Identifier, TableName},
    publish_strategy::PublishStrategy,
    time::civil::Date,
};
use thrice_sql_publish::{
    CancellationToken, Finding, PublishError, SqlValue, Statement, StatementCache,
    columns::{ColumnMap, ColumnsPolicy, check_assignable, match_columns},
    probe::{Probe, Quiet},
    publish::{ExistingRows, Gate, PublishOutcome, PublishRequest, publish},
    query::{UserQuery, describe},
    session::{Limit, Session, Timeouts},
    staging::{Place, StageRequest, Staged, StagingName, stage},
    staging_mode::{Durable, StagingMode},
    strategy::{self, Parts, PublishPlan, partition_swap},
    swap::prepare::{self, Preparation, PreparedPartition},
    target::{Examination, ExamineRequest, Target, examine},
};
use tokio_postgres::{Client, Config, NoTls, SimpleQueryMessage};

/// A database that lives as long as the test.
pub(crate) struct Scratch {
    admin: Config,
    pub(crate) name: String,
}

static NEXT: AtomicU32 = AtomicU32::new(0);

impl Scratch {
    /// A new, empty database with the schema for staging tables.
    pub(crate) async fn new() -> Self {
        let url = std::env::var("THRICE_TEST_DATABASE_URL").unwrap_or_else(|_| {
            panic!(
                "THRICE_TEST_DATABASE_URL is not set: these tests need a PostgreSQL server and a superuser on it; \
                 run `cargo xtask test`, which brings one"
            )
        });
        let admin: Config = url.parse().expect("THRICE_TEST_DATABASE_URL is a PostgreSQL URL");
        let name = format!("thrice_publish_{}_{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
        let scratch = Self { admin, name };
        connect(&scratch.admin).await.batch_execute(&format!("create database {}", scratch.name)).await.unwrap();
        scratch.client().await.batch_execute("create schema thrice_staging").await.unwrap();
        scratch
    }

    /// A database that has run `setup`.
    pub(crate) async fn with(setup: &str) -> (Self, Client) {
        let scratch = Self::new().await;
        let client = scratch.client().await;
        client.batch_execute(setup).await.unwrap();
        (scratch, client)
    }

    pub(crate) async fn client(&self) -> Client {
        connect(self.admin.clone().dbname(&self.name)).await
    }

    /// A login without any right, named after the database.
    pub(crate) async fn role(&self, client: &Client, suffix: &str) -> String {
        let role = format!("{}_{suffix}", self.name);
        client.batch_execute(&format!("create role {role} login")).await.unwrap();
        role
    }

    pub(crate) async fn client_as(&self, role: &str) -> Client {
        connect(self.admin.clone().dbname(&self.name).user(role)).await
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let (admin, name) = (self.admin.clone(), self.name.clone());
        let dropped = std::thread::spawn(move || {
            tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
                let client = connect(&admin).await;
                client.batch_execute(&format!("drop database if exists {name} with (force)")).await.unwrap();
                let roles = "select rolname::text from pg_roles where starts_with(rolname, $1)";
                let roles = client.query(roles, &[&format!("{name}_")]).await;
                for row in roles.unwrap() {
                    client.batch_execute(&format!("drop role {}", row.get::<_, String>(0))).await.unwrap();
                }
            });
        });
        let dropped = dropped.join().is_ok();
        assert!(dropped || std::thread::panicking(), "the scratch database {} could not be dropped", self.name);
    }
}

async fn connect(config: &Config) -> Client {
    let (client, connection) = config.connect(NoTls).await.expect("the server of THRICE_TEST_DATABASE_URL answers");
    tokio::spawn(async move { drop(connection.await) });
    client
}

pub(crate) fn id(name: &str) -> Identifier {
    Identifier::new(name).unwrap()
}

pub(crate) fn ids(names: &[&str]) -> Vec<Identifier> {
    names.iter().map(|name| id(name)).collect()
}

pub(crate) fn date(text: &str) -> Date {
    text.parse().unwrap()
}

/// One local date.
pub(crate) fn day(text: &str) -> ColumnBounds {
    let start = date(text);
    ColumnBounds::Dates { start, end: start.tomorrow().unwrap() }
}

pub(crate) fn instants(start: &str, end: &str) -> ColumnBounds {
    ColumnBounds::Instants { start: start.parse().unwrap(), end: end.parse().unwrap() }
}

pub(crate) fn timeouts() -> Timeouts {
    Timeouts::new(Limit::Default(Duration::from_secs(30)))
}

/// One cell as text.
pub(crate) async fn one(client: &Client, sql: &str) -> String {
    let rows = client.simple_query(sql).await.unwrap();
    let row = rows.iter().find_map(|message| {
        if let SimpleQueryMessage::Row(row) = message { Some(row.get(0).unwrap_or("null").to_owned()) } else { None }
    });
    row.unwrap_or_else(|| "no row".to_owned())
}

/// Everything a run needs, with plain defaults.
pub(crate) struct Road<'a> {
    pub(crate) table: &'a str,
    pub(crate) interval_column: &'a str,
    pub(crate) key: &'a [&'a str],
    pub(crate) published_at: Option<&'a str>,
    pub(crate) policy: ColumnsPolicy,
    pub(crate) query: &'a str,
    pub(crate) values: Vec<SqlValue>,
    pub(crate) bounds: ColumnBounds,
    pub(crate) session: Session,
    pub(crate) timeouts: Timeouts,
    pub(crate) strategy: PublishStrategy,
    pub(crate) version: Option<&'a str>,
    pub(crate) mode: &'a dyn StagingMode,
    pub(crate) existing_rows: ExistingRows,
    pub(crate) commit_timeout: Duration,
    pub(crate) stop: CancellationToken,
}

/// Where a road ended before its publish.
#[derive(Debug)]
pub(crate) enum Early {
    Refused(Vec<Finding>),
    Failed(PublishError),
}

impl From<PublishError> for Early {
    fn from(error: PublishError) -> Self {
        Self::Failed(error)
    }
}

impl Early {
    pub(crate) fn error(self) -> PublishError {
        match self {
            Self::Failed(error) => error,
            Self::Refused(findings) => panic!("refused: {findings:?}"),
        }
    }

    pub(crate) fn findings(self) -> Vec<Finding> {
        match self {
            Self::Refused(findings) => findings,
            Self::Failed(error) => panic!("failed: {error}"),
        }
    }
}

pub(crate) struct Prepared {
    pub(crate) target: Target,
    pub(crate) columns: ColumnMap,
}

impl<'a> Road<'a> {
    pub(crate) fn new(table: &'a str, interval_column: &'a str, query: &'a str, bounds: ColumnBounds) -> Self {
        Self {
            table,
            interval_column,
            key: &[],
            published_at: None,
            policy: ColumnsPolicy::Exact,
            query,
            values: Vec::new(),
            bounds,
            session: Session::in_zone("UTC"),
            timeouts: timeouts(),
            strategy: PublishStrategy::DeleteInsert,
            version: None,
            mode: &Durable,
            existing_rows: ExistingRows::MayBeReplaced,
            commit_timeout: Duration::from_secs(10),
            stop: CancellationToken::new(),
        }
    }

    pub(crate) async fn examine(&self, client: &mut Client) -> Examination {
        let request = ExamineRequest {
            table: TableName::parse(self.table).unwrap(),
            interval_column: (!self.interval_column.is_empty()).then(|| id(self.interval_column)),
            key: ids(self.key),
            published_at: self.published_at.map(id),
            strategy: self.strategy,
            version: self.version.map(id),
            operation: None,
        };
        examine(client, &request, &self.timeouts, &self.stop).await.unwrap()
    }

    pub(crate) fn user_query(&self) -> UserQuery {
        UserQuery::new(self.query, self.values.clone())
    }

    pub(crate) async fn prepare(&self, client: &mut Client) -> Result<Prepared, Early> {
        let examination = self.examine(client).await;
        let Some(target) = examination.target else { return Err(Early::Refused(examination.findings)) };
        let described = describe(client, &self.user_query(), &self.session, &self.timeouts, &self.stop).await?;
        let columns = match_columns(&target, &described, self.policy).map_err(Early::Refused)?;
        let findings = check_assignable(client, &target, &described, &columns, &self.timeouts, &self.stop).await?;
        if !findings.is_empty() {
            return Err(Early::Refused(findings));
        }
        Ok(Prepared { target, columns })
    }

    pub(crate) async fn stage(
        &self,
        client: &mut Client,
        prepared: &Prepared,
        attempt: &str,
    ) -> Result<Staged, PublishError> {
        self.stage_with(client, prepared, attempt, &|_| Vec::new(), &Quiet).await
    }

    pub(crate) async fn stage_with(
        &self,
        client: &mut Client,
        prepared: &Prepared,
        attempt: &str,
        after: &(dyn Fn(&Staged) -> Vec<Statement> + Send + Sync),
        probe: &dyn Probe,
    ) -> Result<Staged, PublishError> {
        let name = StagingName::of(self.table, attempt).unwrap();
        let query = self.user_query();
        let request = StageRequest {
            target: &prepared.target,
            columns: &prepared.columns,
            query: &query,
            staging: name.table(),
            place: Place::New(self.mode),
            session: &self.session,
            timeouts: &self.timeouts,
            owner: None,
            after,
            probe,
            statements: &StatementCache::default(),
            stop: &self.stop,
        };
        stage(client, &request).await
    }

    pub(crate) async fn publish(
        &self,
        client: &mut Client,
        prepared: &Prepared,
        staged: &Staged,
        gate: Gate,
    ) -> PublishOutcome {
        self.publish_with(client, prepared, staged, gate, &Quiet).await
    }

    pub(crate) async fn publish_with(
        &self,
        client: &mut Client,
        prepared: &Prepared,
        staged: &Staged,
        gate: Gate,
        probe: &dyn Probe,
    ) -> PublishOutcome {
        let parts =
            Parts { target: &prepared.target, columns: &prepared.columns, staging: &staged.relation, keep: None };
        let plan = match strategy::plan(self.strategy, &parts) {
            Some(plan) => plan,
            None => match self.prepare_swap(client, prepared, staged, probe).await {
                Ok(Preparation::Ready(swap)) => partition_swap::plan(&parts, &swap),
                Ok(Preparation::Refused(findings)) => panic!("refused: {findings:?}"),
                Err(error) => return PublishOutcome::RolledBack(error),
            },
        };
        self.publish_plan(client, prepared, staged, &plan, gate, probe).await
    }

    /// The table that is swapped in. The number of a run is that of its staging table's name.
    pub(crate) async fn prepare_swap(
        &self,
        client: &mut Client,
        prepared: &Prepared,
        staged: &Staged,
        probe: &dyn Probe,
    ) -> Result<Preparation, PublishError> {
        let number = u32::from_str_radix(&staged.relation.table.as_str()[2..9], 16).unwrap();
        let request = prepare::PrepareRequest {
            target: &prepared.target,
            columns: &prepared.columns,
            bounds: &self.bounds,
            staged,
            name: &StagingName::prepared(i64::from(number) + 1).unwrap(),
            label: "2026-03-24",
            owner: None,
            session: &self.session,
            timeouts: &self.timeouts,
            probe,
            stop: &self.stop,
        };
        prepare::prepare(client, &request).await
    }

    /// From examination to the table that is swapped in.
    pub(crate) async fn ready(&self, client: &mut Client, attempt: &str) -> (Prepared, Staged, PreparedPartition) {
        let prepared = self.prepare(client).await.unwrap();
        let staged = self.stage(client, &prepared, attempt).await.unwrap();
        match self.prepare_swap(client, &prepared, &staged, &Quiet).await.unwrap() {
            Preparation::Ready(swap) => (prepared, staged, *swap),
            Preparation::Refused(findings) => panic!("refused: {findings:?}"),
        }
    }

    pub(crate) fn swap_plan(prepared: &Prepared, staged: &Staged, swap: &PreparedPartition) -> PublishPlan {
        let parts =
            Parts { target: &prepared.target, columns: &prepared.columns, staging: &staged.relation, keep: None };
        partition_swap::plan(&parts, swap)
    }

    pub(crate) async fn publish_plan(
        &self,
        client: &mut Client,
        prepared: &Prepared,
        staged: &Staged,
        plan: &PublishPlan,
        gate: Gate,
        probe: &dyn Probe,
    ) -> PublishOutcome {
        let request = PublishRequest {
            target: &prepared.target,
            columns: &prepared.columns,
            bounds: &self.bounds,
            staged,
            plan,
            existing_rows: self.existing_rows,
            session: &self.session,
            timeouts: &self.timeouts,
            commit_timeout: self.commit_timeout,
            application_name: "thrice:1#1",
            gate,
            probe,
            statements: &StatementCache::default(),
            stop: &self.stop,
        };
        publish(client, &request).await
    }

    /// From examination to COMMIT, as run number `attempt`.
    pub(crate) async fn run(
        &self,
        client: &mut Client,
        attempt: &str,
    ) -> Result<thrice_sql_publish::publish::Published, Early> {
        let prepared = self.prepare(client).await?;
        let staged = self.stage(client, &prepared, attempt).await?;
        match self.publish(client, &prepared, &staged, Gate::default()).await {
            PublishOutcome::Committed(published) => Ok(published),
            PublishOutcome::RolledBack(error) => Err(error.into()),
            PublishOutcome::Unknown { error, .. } => panic!("outcome unknown: {error}"),
        }
    }
}

pub(crate) fn code(error: &PublishError) -> String {
    error.sqlstate().map(|code| code.to_string()).unwrap_or_default()
}

/// Codes of findings, errors with a `!`.
pub(crate) fn codes(findings: &[Finding]) -> Vec<String> {
    findings.iter().map(|finding| format!("{}{}", finding.code, if finding.is_error() { "!" } else { "" })).collect()
}

async fn sleepers(client: &Client) -> String {
    one(client, "select count(*) from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid() and state = 'active'").await
}

/// Waits until no other session of this database runs a statement; a statement that goes on fails the test.
pub(crate) async fn until_quiet(client: &Client) {
    let begun = Instant::now();
    while sleepers(client).await != "0" {
        assert!(begun.elapsed() < Duration::from_secs(5), "a statement is still running");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

/// xorshift: the same sequences on every machine.
pub(crate) struct Dice(pub(crate) u64);

impl Dice {
    pub(crate) fn below(&mut self, most: u32) -> u32 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        u32::try_from(self.0 % u64::from(most)).unwrap()
    }
}
