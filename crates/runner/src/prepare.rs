//! Everything about a pipeline that is settled once, before any partition is claimed: its row in the ledger, its target
//! examined, its query described, its columns matched. What is wrong here is refused before work begins.

use thrice_connect::{ConnectionSettings, DataConnection};
use thrice_core::actor::Actor;
use thrice_core::column_bounds::ColumnBounds;
use thrice_core::reason::Reason;
use thrice_core::schedule::Partition;
use thrice_ledger::{Ledger, LedgerError, PipelineCut, PipelineRecord, Recut};
use thrice_sql_publish::columns::{self, ColumnMap};
use thrice_sql_publish::history;
use thrice_sql_publish::target::{self, ExamineRequest, Target};
use thrice_sql_publish::{CancellationToken, Finding, PublishError, access, query};
use tokio_postgres::Client;

use crate::job::Job;
use crate::patience::Patience;
use crate::problem;
use crate::report::{Problem, Progress, Step};
use crate::runner::Runner;

/// A pipeline that may be run.
#[derive(Debug)]
pub struct Prepared {
    /// What is run.
    pub job: Job,
    /// Which of the ledger's partitions are its own.
    pub row: PipelineCut,
    /// Its target as examined.
    pub target: Target,
    /// The columns that query and target share.
    pub columns: ColumnMap,
    /// What was found and does not stop the work.
    pub warnings: Vec<Finding>,
}

/// What stops a pipeline before any of its partitions is touched.
#[derive(Debug)]
pub enum NotPrepared {
    /// The target or the columns are not as they must be; errors first, then warnings.
    Findings(Vec<Finding>),
    /// Something else.
    Problem(Box<Problem>),
}

impl From<Problem> for NotPrepared {
    fn from(problem: Problem) -> Self {
        Self::Problem(Box::new(problem))
    }
}

impl Runner {
    /// Examines target and query and brings the pipeline's row in the ledger up to date.
    ///
    /// `sample` is the pipeline's first partition, whichever are to be run: what a column cannot hold is refused for the
    /// pipeline, and not for some of its partitions. The query is described with its values, nothing is executed.
    /// `progress` hears of what is tried again.
    ///
    /// # Errors
    /// [`NotPrepared`]; nothing but, at most, the pipeline's row has been written.
    pub async fn prepare(
        &mut self,
        job: Job,
        sample: &Partition,
        stop: &CancellationToken,
        progress: &mut dyn Progress,
    ) -> Result<Prepared, NotPrepared> {
        self.patience = Patience::of(stop);
        let examined = Box::pin(self.examine_patiently(&job, sample, stop, progress)).await?;
        let target = job.target.to_string();
        let grain = job.schedule.grain().to_string();
        let record = record(&job, &target, &grain);
        let registering = self.patience.ledger(self.ledger().register_pipeline(&record));
        let row = registering.await.map_err(|error| problem::of_ledger(&error))?;
        let Examined { target, columns, warnings } = examined;
        Ok(Prepared { job, row: row.into(), target, columns, warnings })
    }

    /// Tries again what may pass: a lock on the target, a server that restarts. No run exists yet that could count.
    async fn examine_patiently(
        &mut self,
        job: &Job,
        sample: &Partition,
        stop: &CancellationToken,
        progress: &mut dyn Progress,
    ) -> Result<Examined, NotPrepared> {
        let begun = std::time::Instant::now();
        let mut failed = 0;
        loop {
            let over = self.patience.token();
            let error = match self.client().await {
                Ok(client) => match over.run_until_cancelled(Box::pin(examine(client, job, sample, stop))).await {
                    Some(Ok(examined)) => return Ok(examined),
                    Some(Err(error)) => error,
                    None => problem::of_publish(&PublishError::given_up("examine the target")).into(),
                },
                Err(problem) => problem.into(),
            };
            failed += 1;
            let NotPrepared::Problem(problem) = &error else { return Err(error) };
            if problem.is_connection_lost() {
                self.abandon_connection();
            }
            let delay = job.retry.next_delay(failed, None, begun.elapsed(), false, 0.0);
            let Some(delay) = delay.filter(|_| problem.is_transient()) else { return Err(error) };
            tracing::info!(event = "retrying", pipeline = job.name, code = problem.code.id(), failed);
            progress.step(&Step::Retrying { problem: (**problem).clone(), after: delay });
            tokio::select! {
                () = stop.cancelled() => return Err(error),
                () = tokio::time::sleep(delay) => {}
            }
        }
    }
}

/// The definition as the ledger keeps it.
fn record<'a>(job: &'a Job, target: &'a str, grain: &'a str) -> PipelineRecord<'a> {
    PipelineRecord {
        name: &job.name,
        target,
        strategy: job.strategy.as_str(),
        grain,
        time_zone: job.schedule.zone().name(),
        lane: &job.lane,
        code_hash: &job.code_hash,
        query: &job.query_text,
        definition: &job.definition,
        git_revision: job.git_revision.as_deref(),
    }
}

/// Brings the definition in the ledger up to date where the ledger knows the pipeline: what reports join is judged by it,
/// also when nothing is due.
///
/// # Errors
/// [`LedgerError`], as [`Ledger::register_pipeline`].
pub async fn keep_definition(ledger: &Ledger, job: &Job) -> Result<(), LedgerError> {
    if ledger.cut_of_pipeline(&job.name).await?.is_none() {
        return Ok(());
    }
    let grain = job.schedule.grain().to_string();
    ledger.register_pipeline(&record(job, &job.target.to_string(), &grain)).await.map(drop)
}

/// Whether the ledger would take the pipeline as it is defined now. Writes nothing.
///
/// # Errors
/// [`LedgerError`], as [`Ledger::register_pipeline`] would answer.
pub async fn may_register(ledger: &Ledger, job: &Job) -> Result<(), LedgerError> {
    let grain = job.schedule.grain().to_string();
    ledger.may_register(&record(job, &job.target.to_string(), &grain)).await
}

/// Opens a new cut of time with the grain and the zone of the definition; `None`: the ledger does not know the pipeline.
///
/// # Errors
/// [`LedgerError`], as [`Ledger::recut_pipeline`].
pub async fn recut(ledger: &Ledger, job: &Job, actor: &Actor, reason: &Reason) -> Result<Option<Recut>, LedgerError> {
    let grain = job.schedule.grain().to_string();
    ledger.recut_pipeline(&record(job, &job.target.to_string(), &grain), actor, reason).await
}

/// Examines targets and queries without a ledger and without writing anything.
#[derive(Debug)]
pub struct Examiner {
    settings: ConnectionSettings,
    data: Option<DataConnection>,
}

impl Examiner {
    /// Connects when it is first needed.
    pub const fn new(settings: ConnectionSettings) -> Self {
        Self { settings, data: None }
    }

    /// Examines one pipeline. `sample` is its first partition: the query is described with its values.
    ///
    /// # Errors
    /// [`NotPrepared`].
    pub async fn examine(
        &mut self,
        job: &Job,
        sample: &Partition,
        stop: &CancellationToken,
    ) -> Result<Examined, NotPrepared> {
        let data = self.connection().await?;
        examine(&mut data.client, job, sample, stop).await
    }

    /// Plans the query of a pipeline that was examined: whether it reads its own target.
    ///
    /// # Errors
    /// [`NotPrepared`]: privileges on what the query reads are missing, which only planning finds, or it cannot be planned.
    pub async fn reads_target(
        &mut self,
        job: &Job,
        sample: &Partition,
        target: &Target,
        stop: &CancellationToken,
    ) -> Result<bool, NotPrepared> {
        let query = job.query_for(sample);
        let timeouts = job.limits.checking();
        let data = self.connection().await?;
        let missing = access::missing_grants(&mut data.client, &query, &job.session, &timeouts, stop)
            .await
            .map_err(|error| problem::of_query(&error))?;
        if !missing.is_empty() {
            return Err(NotPrepared::Findings(missing));
        }
        let reads = query::reads_target(&mut data.client, &query, target, &job.session, &timeouts, stop).await;
        Ok(reads.map_err(|error| problem::of_query(&error))?)
    }

    pub(crate) async fn connection(&mut self) -> Result<&mut DataConnection, Problem> {
        let fresh = match self.data.take() {
            Some(data) => data,
            None => thrice_connect::connect(&self.settings).await.map_err(|error| problem::of_connect(&error))?,
        };
        Ok(self.data.insert(fresh))
    }
}

/// What the pipeline says about its target.
pub(crate) fn examine_request(job: &Job) -> ExamineRequest {
    ExamineRequest {
        table: job.target.clone(),
        interval_column: job.interval_column.clone(),
        key: job.key.clone(),
        published_at: job.published_at.clone(),
        strategy: job.strategy,
        version: job.version.clone(),
        operation: job.operation.clone(),
    }
}

async fn examine(
    client: &mut Client,
    job: &Job,
    sample: &Partition,
    stop: &CancellationToken,
) -> Result<Examined, NotPrepared> {
    let timeouts = job.limits.checking();
    let request = examine_request(job);
    let examination =
        target::examine(client, &request, &timeouts, stop).await.map_err(|error| problem::of_publish(&error))?;
    let Some(target) = examination.target else { return Err(NotPrepared::Findings(examination.findings)) };
    let mut findings = examination.findings;
    if !job.keep_old_for.is_zero() {
        findings.extend(history::reserved_names(&target));
        if findings.iter().any(Finding::is_error) {
            return Err(NotPrepared::Findings(findings));
        }
    }
    let zone = job.schedule.zone();
    if let Err(error) = ColumnBounds::of(sample, zone, job.schedule.grain(), target.interval_column_type()) {
        return Err(problem::of_bounds(&error, job).into());
    }
    let query = job.query_for(sample);
    let described = query::describe(client, &query, &job.session, &timeouts, stop)
        .await
        .map_err(|error| problem::of_query(&error))?;
    let columns = columns::match_columns(&target, &described, job.columns).map_err(NotPrepared::Findings)?;
    let types = columns::check_assignable(client, &target, &described, &columns, &timeouts, stop)
        .await
        .map_err(|error| problem::of_publish(&error))?;
    findings.extend(types);
    if findings.iter().any(Finding::is_error) {
        return Err(NotPrepared::Findings(findings));
    }
    Ok(Examined { target, columns, warnings: findings })
}

/// A target and a query that fit each other.
#[derive(Debug)]
pub struct Examined {
    /// The target.
    pub target: Target,
    /// The columns that query and target share.
    pub columns: ColumnMap,
    /// What was found and does not stop the work.
    pub warnings: Vec<Finding>,
}
