//! What the ledger knows of pipelines: their definition now, and the text behind every code hash.

use serde_json::Value;
use thrice_core::identifier::TableName;
use thrice_core::time::Timestamp;

use crate::error::{ErrorKind, LedgerError, RecordedCut};
use crate::ledger::Ledger;
use crate::stored_time::Moment;

/// A pipeline as its files define it today.
#[derive(Debug, Clone)]
pub struct PipelineRecord<'a> {
    /// Its name, unique in the ledger.
    pub name: &'a str,
    /// The table it writes, in the quoted form of SQL; no other pipeline may have the same.
    pub target: &'a str,
    /// `delete_insert`, `merge`, `partition_swap`, `table_swap` or `append`.
    pub strategy: &'a str,
    /// `hour`, `day` …
    pub grain: &'a str,
    /// IANA name of the zone that cuts its intervals.
    pub time_zone: &'a str,
    /// The lane its scheduled runs work in; it must exist in the ledger.
    pub lane: &'a str,
    /// Hash of everything that decides what the rows are.
    pub code_hash: &'a [u8],
    /// The query's text.
    pub query: &'a str,
    /// The whole definition; later versions of the tool read it.
    pub definition: &'a Value,
    /// The commit of the user's repository, if there is one.
    pub git_revision: Option<&'a str>,
}

/// A pipeline as the ledger holds it.
#[derive(Debug, Clone)]
pub struct PipelineRow {
    /// Its number in the ledger.
    pub pipeline_id: i32,
    /// Its name.
    pub pipeline_name: String,
    /// The table it writes.
    pub target: String,
    /// How it publishes.
    pub strategy: String,
    /// How long its intervals are.
    pub grain: String,
    /// The zone that cuts them.
    pub time_zone: String,
    /// Which cut of time, and which table, its partitions belong to.
    pub interval_epoch: i32,
    /// The lane of its scheduled runs.
    pub lane: String,
    /// An operator has paused it.
    pub paused: bool,
    /// Hash of its newest code.
    pub code_hash: Vec<u8>,
    /// Its newest definition.
    pub definition: Value,
}

/// Which of a pipeline's partitions are those of today's cut.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PipelineCut {
    /// Its number.
    pub pipeline_id: i32,
    /// Grows when the cut of time changes.
    pub interval_epoch: i32,
    /// The table that its receipts are about.
    pub target: String,
    /// How long its intervals are.
    pub grain: String,
    /// The zone that cuts them.
    pub time_zone: String,
}

impl From<PipelineRow> for PipelineCut {
    fn from(row: PipelineRow) -> Self {
        let PipelineRow { pipeline_id, interval_epoch, target, grain, time_zone, .. } = row;
        Self { pipeline_id, interval_epoch, target, grain, time_zone }
    }
}

/// A pipeline in a list.
#[derive(Debug, Clone)]
pub struct PipelineSummary {
    /// Its number in the ledger.
    pub pipeline_id: i32,
    /// Its name.
    pub pipeline_name: String,
    /// The table it writes.
    pub target: String,
    /// How it publishes.
    pub strategy: String,
    /// How long its intervals are.
    pub grain: String,
    /// The zone that cuts them.
    pub time_zone: String,
    /// Which cut of time, and which table, its partitions belong to.
    pub interval_epoch: i32,
    /// The lane of its scheduled runs.
    pub lane: String,
    /// An operator has paused it.
    pub paused: bool,
    /// Hash of its newest code.
    pub code_hash: Vec<u8>,
    /// When it was first registered.
    pub created_at: Timestamp,
    /// When its definition last changed.
    pub updated_at: Timestamp,
}

/// The text that ran under a code hash.
#[derive(Debug, Clone)]
pub struct CodeVersion {
    /// The query.
    pub query: String,
    /// The definition beside it.
    pub definition: Value,
    /// The commit of the user's repository.
    pub git_revision: Option<String>,
    /// When the ledger first saw it.
    pub first_seen_at: Timestamp,
}

/// The pipeline that a target belongs to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TargetOwner {
    /// Its name.
    pub pipeline_name: String,
    /// It has published: its receipts account for the rows there.
    pub published: bool,
}

struct LockedPipeline {
    pipeline_id: i32,
    pipeline_name: String,
    target: String,
    strategy: String,
    grain: String,
    time_zone: String,
    interval_epoch: i32,
    lane: String,
    paused: bool,
    code_hash: Vec<u8>,
    definition: Value,
    has_partitions: bool,
    has_receipts: bool,
}

impl Ledger {
    /// Brings a pipeline's row up to its definition and keeps the code's text. Writes nothing where nothing has changed.
    ///
    /// A new grain, time zone or target opens a new epoch of partitions while nothing is published in the old one.
    ///
    /// # Errors
    /// [`ErrorKind::IntervalsChanged`] and [`ErrorKind::TargetChanged`] where partitions are published;
    /// [`ErrorKind::TargetTaken`]; [`ErrorKind::UnknownLane`].
    pub async fn register_pipeline(&self, record: &PipelineRecord<'_>) -> Result<PipelineRow, LedgerError> {
        if let Some(row) = self.pipeline(record.name).await?.filter(|row| record.is_recorded(row)) {
            return Ok(row);
        }
        let error = match self.write_pipeline(record).await {
            Ok(row) => return Ok(row),
            Err(error) => self.explain(record, error).await,
        };
        // another process wrote this very pipeline at the same moment, and its target was met before its name
        if matches!(error.kind(), ErrorKind::TargetTaken { by, .. } if by == record.name) {
            return self.write_pipeline(record).await;
        }
        Err(error)
    }

    /// Whether [`Ledger::register_pipeline`] would take this definition. Writes nothing.
    ///
    /// # Errors
    /// As there, but for a lane.
    pub async fn may_register(&self, record: &PipelineRecord<'_>) -> Result<(), LedgerError> {
        let known = self.pipeline(record.name).await?;
        if let Some(row) = &known
            && record.moves(&row.grain, &row.time_zone, &row.target)
            && sqlx::query_file!("sql/pipeline_published.sql", row.pipeline_id).fetch_one(&self.pool).await?.published
        {
            record.fits((&row.grain, &row.time_zone, &row.target))?;
        }
        match self.target_owner(record.target).await? {
            Some(owner) if owner.pipeline_name != record.name => Err(taken(record, owner)),
            _ => Ok(()),
        }
    }

    /// The pipeline that publishes into a target, in the quoted form of SQL.
    pub async fn target_owner(&self, target: &str) -> Result<Option<TargetOwner>, LedgerError> {
        Ok(sqlx::query_file_as!(TargetOwner, "sql/pipeline_of_target.sql", target).fetch_optional(&self.pool).await?)
    }

    /// Gives a pipeline another name, so that a file that was renamed keeps its target. False, and nothing is written,
    /// where it has published (its receipts keep the name they were written under), where somebody works on it, and
    /// where the new name is in use.
    pub async fn rename_unpublished(&self, name: &str, to: &str) -> Result<bool, LedgerError> {
        let done = sqlx::query_file!("sql/rename_pipeline.sql", name, to).execute(&self.pool).await?;
        Ok(done.rows_affected() == 1)
    }

    /// A pipeline by its name.
    pub async fn pipeline(&self, name: &str) -> Result<Option<PipelineRow>, LedgerError> {
        Ok(sqlx::query_file_as!(PipelineRow, "sql/pipeline_of.sql", name).fetch_optional(&self.pool).await?)
    }

    /// How a pipeline of this name cuts time: enough to look at its partitions, also for a role that may not see definitions.
    pub async fn cut_of_pipeline(&self, name: &str) -> Result<Option<PipelineCut>, LedgerError> {
        Ok(sqlx::query_file_as!(PipelineCut, "sql/cut_of_pipeline.sql", name).fetch_optional(&self.pool).await?)
    }

    /// All pipelines, by name.
    pub async fn pipelines(&self) -> Result<Vec<PipelineSummary>, LedgerError> {
        Ok(sqlx::query_file_as!(PipelineSummary, "sql/pipelines.sql").fetch_all(&self.pool).await?)
    }

    /// The text that ran under a code hash of a pipeline.
    pub async fn code_version(&self, pipeline_id: i32, code_hash: &[u8]) -> Result<Option<CodeVersion>, LedgerError> {
        Ok(sqlx::query_file_as!(CodeVersion, "sql/code_version.sql", pipeline_id, code_hash)
            .fetch_optional(&self.pool)
            .await?)
    }

    async fn write_pipeline(&self, record: &PipelineRecord<'_>) -> Result<PipelineRow, LedgerError> {
        let mut transaction = self.pool.begin().await?;
        sqlx::query_file!(
            "sql/register_pipeline.sql",
            record.name,
            record.target,
            record.strategy,
            record.grain,
            record.time_zone,
            record.lane,
            record.code_hash,
            record.definition
        )
        .fetch_optional(&mut *transaction)
        .await?;
        let had = sqlx::query_file_as!(LockedPipeline, "sql/lock_pipeline.sql", record.name)
            .fetch_one(&mut *transaction)
            .await?;
        let new_cut = had.grain != record.grain || had.time_zone != record.time_zone;
        let new_target = had.target != record.target;
        if had.has_receipts {
            record.fits((&had.grain, &had.time_zone, &had.target))?;
        }
        let row = PipelineRow {
            pipeline_id: had.pipeline_id,
            pipeline_name: had.pipeline_name,
            target: record.target.to_owned(),
            strategy: record.strategy.to_owned(),
            grain: record.grain.to_owned(),
            time_zone: record.time_zone.to_owned(),
            // a run that is under way publishes into partitions of the old epoch, which do not count for the new one
            interval_epoch: had.interval_epoch + i32::from((new_cut || new_target) && had.has_partitions),
            lane: record.lane.to_owned(),
            paused: had.paused,
            code_hash: record.code_hash.to_vec(),
            definition: record.definition.clone(),
        };
        let same = !new_cut
            && !new_target
            && had.strategy == row.strategy
            && had.lane == row.lane
            && had.code_hash == row.code_hash
            && had.definition == row.definition;
        if !same {
            sqlx::query_file!(
                "sql/update_pipeline.sql",
                row.pipeline_id,
                row.target,
                row.strategy,
                row.grain,
                row.time_zone,
                row.interval_epoch,
                row.lane,
                row.code_hash,
                row.definition
            )
            .execute(&mut *transaction)
            .await?;
        }
        sqlx::query_file!(
            "sql/keep_code.sql",
            row.pipeline_id,
            record.code_hash,
            record.query,
            record.definition,
            record.git_revision
        )
        .execute(&mut *transaction)
        .await?;
        transaction.commit().await?;
        Ok(row)
    }

    async fn explain(&self, record: &PipelineRecord<'_>, error: LedgerError) -> LedgerError {
        match error.violated() {
            Some("pipelines_target_key") => match self.target_owner(record.target).await {
                Ok(Some(owner)) => taken(record, owner),
                _ => error,
            },
            Some("pipelines_lane_fkey") => {
                LedgerError::new(ErrorKind::UnknownLane, format!("the ledger has no lane {}", record.lane))
            }
            _ => error,
        }
    }
}

fn taken(record: &PipelineRecord<'_>, owner: TargetOwner) -> LedgerError {
    let TargetOwner { pipeline_name: by, published } = owner;
    let what = format!("{} is the target of pipeline {by} already", readable(record.target));
    LedgerError::new(ErrorKind::TargetTaken { by, published }, what)
}

/// A target for people.
fn readable(target: &str) -> String {
    TableName::parse(target).map_or_else(|_| target.to_owned(), |table| table.readable())
}

impl PipelineRecord<'_> {
    /// The cut of time or the table is another one.
    fn moves(&self, grain: &str, time_zone: &str, target: &str) -> bool {
        self.grain != grain || self.time_zone != time_zone || self.target != target
    }

    /// Refuses what would make the receipts of a published pipeline say something they do not say: they were written
    /// for one cut of time and for one table.
    fn fits(&self, (grain, time_zone, target): (&str, &str, &str)) -> Result<(), LedgerError> {
        if self.grain != grain || self.time_zone != time_zone {
            let what = format!(
                "partitions of {} are published with grain {grain} in {time_zone}; grain {} in {} would cut time differently",
                self.name, self.grain, self.time_zone
            );
            let recorded = Box::new(RecordedCut {
                pipeline: self.name.to_owned(),
                grain: grain.to_owned(),
                time_zone: time_zone.to_owned(),
            });
            return Err(LedgerError::new(ErrorKind::IntervalsChanged { recorded }, what));
        }
        self.keeps_target(target)
    }

    /// Refuses another table than the one that the receipts are about.
    pub(crate) fn keeps_target(&self, target: &str) -> Result<(), LedgerError> {
        if self.target != target {
            let (recorded, wanted) = (readable(target), readable(self.target));
            let what = format!("partitions of {} are published into {recorded}; its target is {wanted} now", self.name);
            return Err(LedgerError::new(ErrorKind::TargetChanged { recorded }, what));
        }
        Ok(())
    }

    fn is_recorded(&self, row: &PipelineRow) -> bool {
        row.target == self.target
            && row.strategy == self.strategy
            && row.grain == self.grain
            && row.time_zone == self.time_zone
            && row.lane == self.lane
            && row.code_hash == self.code_hash
            && row.definition == *self.definition
    }
}
