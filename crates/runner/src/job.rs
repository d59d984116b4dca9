//! What is run: a pipeline as the runner needs it. Made from a checked pipeline, or by a service itself.

use std::time::Duration;

use serde_json::Value;
use thrice_checks::{Check, GuardLimits, Reconciliation};
use thrice_core::due::DuePolicy;
use thrice_core::identifier::{Identifier, TableName};
use thrice_core::late_policy::{LatePolicy, Maturity, Published};
use thrice_core::publish_strategy::PublishStrategy;
use thrice_core::retry::RetryPolicy;
use thrice_core::schedule::{Partition, Schedule};
use thrice_core::time::Timestamp;
use thrice_sql_publish::columns::ColumnsPolicy;
use thrice_sql_publish::query::UserQuery;
use thrice_sql_publish::session::{Limit, Session, Timeouts};
use thrice_sql_publish::value::SqlValue;

/// One pipeline, ready to be run for any of its partitions.
#[derive(Debug, Clone)]
pub struct Job {
    /// Name of the pipeline.
    pub name: String,
    /// Its intervals.
    pub schedule: Schedule,
    /// When they are due.
    pub due: DuePolicy,
    /// When published ones are made again, final and closed.
    pub late: LatePolicy,
    /// The query, with `$1`, `$2` … in the order of `params`.
    pub query: String,
    /// What the parameters stand for.
    pub params: Vec<Param>,
    /// The table it publishes into.
    pub target: TableName,
    /// How its rows are replaced.
    pub strategy: PublishStrategy,
    /// A column that grows with every change of a key; only where the query gives changes.
    pub version: Option<Identifier>,
    /// A column that says what a change is: `I`, `U` or `D`; only where the query gives changes.
    pub operation: Option<Identifier>,
    /// The column that places a row in the interval; `None` for a whole table, and only for one.
    pub interval_column: Option<Identifier>,
    /// Columns that tell rows apart; may be empty.
    pub key: Vec<Identifier>,
    /// The column that takes the time of the publish.
    pub published_at: Option<Identifier>,
    /// Which columns of the target the query must deliver.
    pub columns: ColumnsPolicy,
    /// A result without rows is a result.
    pub allow_empty: bool,
    /// How long rows that a publish replaces are kept; zero: not at all.
    pub keep_old_for: Duration,
    /// Checks besides those that always hold.
    pub checks: Vec<Check>,
    /// What the rows are compared with in the snapshot of the query.
    pub reconciliations: Vec<Reconciliation>,
    /// How much of what is published one publish may take away or change.
    pub guards: GuardLimits,
    /// How often and how long a partition is tried.
    pub retry: RetryPolicy,
    /// Limits of the steps.
    pub limits: Limits,
    /// What the query sees.
    pub session: Session,
    /// The lane its scheduled runs belong to.
    pub lane: String,
    /// Hash of everything that decides what the rows are.
    pub code_hash: Vec<u8>,
    /// The whole definition, for the ledger.
    pub definition: Value,
    /// The query as it stands in its file, for the ledger.
    pub query_text: String,
    /// Revision of the files, where they are under version control.
    pub git_revision: Option<String>,
}

/// What a parameter of the query stands for.
#[derive(Debug, Clone, PartialEq)]
pub enum Param {
    /// Start of the interval, `timestamptz`.
    IntervalStart,
    /// End of the interval, `timestamptz`; not inside.
    IntervalEnd,
    /// Local date of the interval's start, `date`.
    IntervalDate,
    /// A value that is the same for every interval.
    Value(SqlValue),
}

/// Limits of the steps; `None` where the files say nothing, so that a limit of the role or the server stays.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Limits {
    /// The query into staging.
    pub stage: Option<Duration>,
    /// Checks and guards.
    pub checks: Option<Duration>,
    /// Waits for locks.
    pub lock: Option<Duration>,
    /// Each statement of the publish.
    pub publish: Option<Duration>,
}

const STAGE: Duration = Duration::from_mins(30);
const CHECKS: Duration = Duration::from_mins(5);
const LOCK: Duration = Duration::from_secs(5);
const SWAP_LOCK: Duration = Duration::from_secs(1);
const PUBLISH: Duration = Duration::from_mins(10);

impl Limits {
    /// Limits of the staging transaction.
    pub fn staging(&self) -> Timeouts {
        self.timeouts(self.stage, STAGE)
    }

    /// Limits of the checks, and of looking at the target.
    pub fn checking(&self) -> Timeouts {
        self.timeouts(self.checks, CHECKS)
    }

    /// Limits of the publish. A swap waits for its lock more briefly, since new readers of the target wait behind it.
    pub fn publishing(&self, strategy: PublishStrategy) -> Timeouts {
        let lock = if strategy.swaps() { SWAP_LOCK } else { LOCK };
        Timeouts { lock: self.lock.unwrap_or(lock), ..self.timeouts(self.publish, PUBLISH) }
    }

    /// How long COMMIT may take before its outcome counts as unknown.
    pub fn commit(&self) -> Duration {
        self.publish.unwrap_or(PUBLISH)
    }

    fn timeouts(&self, written: Option<Duration>, default: Duration) -> Timeouts {
        let limit = written.map_or(Limit::Default(default), Limit::Explicit);
        Timeouts { lock: self.lock.unwrap_or(LOCK), ..Timeouts::new(limit) }
    }
}

impl Job {
    /// Which revisit a run of the partition at `as_of` is; `None` where the pipeline has none.
    pub fn revisit(&self, partition: &Partition, as_of: Timestamp) -> Option<u32> {
        let reached = || self.late.reached(&self.schedule, &self.due, partition, as_of);
        (!self.late.revisits().is_empty()).then(reached)
    }

    /// Whether a publish of the partition at `as_of` is its last: nothing changes it afterwards.
    pub fn closes(&self, partition: &Partition, as_of: Timestamp) -> bool {
        let reached = self.revisit(partition, as_of).unwrap_or(0);
        let published = Published { reached, ..Published::default() };
        self.late.maturity(&self.schedule, &self.due, partition, published, as_of) == Maturity::Closed
    }

    /// The query for one partition.
    pub fn query_for(&self, partition: &Partition) -> UserQuery {
        let value = |param: &Param| match param {
            Param::IntervalStart => SqlValue::Instant(partition.interval.start()),
            Param::IntervalEnd => SqlValue::Instant(partition.interval.end()),
            Param::IntervalDate => SqlValue::Date(partition.target_date),
            Param::Value(value) => value.clone(),
        };
        UserQuery::new(self.query.clone(), self.params.iter().map(value).collect())
    }
}
