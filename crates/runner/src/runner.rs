//! A process that runs partitions: its ledger, its lease, and one connection for the work.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use thrice_connect::{ConnectionSettings, DataConnection};
use thrice_core::actor::Actor;
use thrice_core::code::ErrorCode;
use thrice_core::failure_class::FailureClass;
use thrice_ledger::{Ledger, LedgerError, WorkerLease};
use thrice_sql_publish::history::HistoryTable;
use thrice_sql_publish::{CancellationToken, StatementCache};
use tokio_postgres::Client;

use crate::failure::Unrecorded;
use crate::patience::Patience;
use crate::problem;
use crate::report::Problem;
use crate::spent_staging::SpentStaging;

/// Who runs, and how patient it is.
#[derive(Debug, Clone)]
pub struct RunnerOptions {
    /// Name of this machine, for people.
    pub host: String,
    /// Process id on it.
    pub os_pid: u32,
    /// The lease: after this long without a heartbeat others may take over even where they cannot see our session.
    pub lease_ttl: Duration,
    /// Who asked.
    pub actor: Actor,
    /// How long an unknown COMMIT is asked about before it is left open.
    pub resolve_wait: Duration,
}

/// Runs partitions one after the other on one connection.
#[derive(Debug)]
pub struct Runner {
    ledger: Ledger,
    settings: ConnectionSettings,
    pub(crate) options: RunnerOptions,
    pub(crate) lease: WorkerLease,
    data: Option<DataConnection>,
    /// Prepared on `data`, and thrown away with it.
    statements: Arc<StatementCache>,
    /// The end of the last run, where it could not be recorded.
    pub(crate) unrecorded: Option<Unrecorded>,
    /// How long the call under way waits for others.
    pub(crate) patience: Patience,
    /// Runs of others were found open and ended.
    pub(crate) ended_runs: bool,
    /// Staging tables that later partitions can use, dropped in the end.
    pub(crate) spent: SpentStaging,
    /// Tables of kept rows that are there.
    pub(crate) histories: HashSet<HistoryTable>,
}

/// How long giving the lease back may take.
const FAREWELL: Duration = Duration::from_secs(5);
/// The same after a stop that nothing has answered to.
const SHORT_FAREWELL: Duration = Duration::from_millis(500);

impl Runner {
    /// Registers this process as a worker. The work's connection is made when it is first needed.
    ///
    /// # Errors
    /// [`LedgerError`] where the ledger is missing, of another version, or cannot be written.
    pub async fn open(
        ledger: Ledger,
        settings: ConnectionSettings,
        options: RunnerOptions,
    ) -> Result<Self, LedgerError> {
        ledger.ensure_current().await?;
        let os_pid = i32::try_from(options.os_pid).unwrap_or(i32::MAX);
        let lease = WorkerLease::register(&ledger, &options.host, os_pid, options.lease_ttl).await?;
        Ok(Self {
            ledger,
            settings,
            options,
            lease,
            data: None,
            statements: Arc::default(),
            unrecorded: None,
            patience: Patience::default(),
            ended_runs: false,
            spent: SpentStaging::default(),
            histories: HashSet::new(),
        })
    }

    /// The ledger.
    pub const fn ledger(&self) -> &Ledger {
        &self.ledger
    }

    /// Who asked.
    pub const fn actor(&self) -> &Actor {
        &self.options.actor
    }

    /// How to reach the server.
    pub const fn settings(&self) -> &ConnectionSettings {
        &self.settings
    }

    /// Drops the staging tables that are left, gives the lease back and closes the connection.
    ///
    /// # Errors
    /// [`LedgerError`] where the ledger cannot be reached in time; others then see that this process is gone.
    pub async fn close(mut self) -> Result<(), LedgerError> {
        let limit = if self.patience.is_over() { SHORT_FAREWELL } else { FAREWELL };
        // what is left is dropped by whoever runs the pipeline next
        let _late = tokio::time::timeout(limit, self.drop_spent(&CancellationToken::new())).await;
        let data = async {
            if let Some(data) = self.data {
                data.close(limit.min(Duration::from_secs(2))).await;
            }
        };
        let ((), ended) = tokio::join!(data, tokio::time::timeout(limit, self.lease.close()));
        ended.unwrap_or_else(|_| Err(LedgerError::given_up()))
    }

    /// The connection for the work, made anew where the last one is gone.
    pub(crate) async fn client(&mut self) -> Result<&mut Client, Problem> {
        if self.data.as_ref().is_some_and(|data| data.client.is_closed()) {
            self.data = None;
        }
        if self.data.is_none() {
            let connecting = self.patience.wait(thrice_connect::connect(&self.settings)).await;
            let Some(connected) = connecting else {
                let what = "stopped while connecting to the server";
                return Err(Problem::new(ErrorCode::Stopped, what).class(FailureClass::Cancelled));
            };
            let fresh = connected.map_err(|error| problem::of_connect(&error))?;
            self.data = Some(fresh);
            self.statements = Arc::new(self.statements.for_next_connection());
        }
        match &mut self.data {
            Some(data) => Ok(&mut data.client),
            None => unreachable!("it was made above"),
        }
    }

    /// The prepared statements of the connection.
    pub(crate) fn statements(&self) -> &StatementCache {
        &self.statements
    }

    /// The connection with its prepared statements.
    pub(crate) async fn client_and_statements(&mut self) -> Result<(&mut Client, Arc<StatementCache>), Problem> {
        self.client().await?;
        let statements = Arc::clone(&self.statements);
        Ok((self.client().await?, statements))
    }

    /// Throws the connection away: nobody knows what it is doing.
    pub(crate) fn abandon_connection(&mut self) {
        if let Some(data) = self.data.take() {
            data.abandon();
        }
    }
}
