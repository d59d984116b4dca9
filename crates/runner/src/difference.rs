//! What a run would change, and what runs have changed: compared without a claim, a run or a row that stays.

use thrice_core::column_bounds::ColumnBounds;
use thrice_core::schedule::Partition;
use thrice_sql_publish::CancellationToken;
use thrice_sql_publish::columns::ColumnMap;
use thrice_sql_publish::diff::{self, DiffRequest, Difference};
use thrice_sql_publish::staging::StagingName;
use thrice_sql_publish::target::Target;

use crate::job::Job;
use crate::prepare::Examiner;
use crate::problem;
use crate::report::Problem;
use crate::rollback::Rollback;

/// The new rows.
#[derive(Debug, Clone, Copy)]
pub enum Against<'a> {
    /// What the query gives now.
    Query,
    /// What a rollback would put back.
    Kept(&'a Rollback),
}

impl Examiner {
    /// Compares what is in the interval with other rows. `most_samples` rows that differ come with their values.
    ///
    /// # Errors
    /// [`Problem`]: the query or the comparison failed.
    pub async fn diff(
        &mut self,
        job: &Job,
        (target, columns): (&Target, &ColumnMap),
        partition: &Partition,
        against: Against<'_>,
        most_samples: i64,
        stop: &CancellationToken,
    ) -> Result<Difference, Problem> {
        let column = target.interval_column_type();
        let bounds = ColumnBounds::of(partition, job.schedule.zone(), job.schedule.grain(), column)
            .map_err(|error| problem::of_bounds(&error, job))?;
        let query = match against {
            Against::Query => job.query_for(partition),
            Against::Kept(rollback) => rollback.query(target, &bounds),
        };
        // it is gone with its transaction: only two comparisons at a time must not meet
        let staging = StagingName::of("diff", &uuid::Uuid::now_v7().to_string());
        let request = DiffRequest {
            target,
            columns,
            query: &query,
            bounds: &bounds,
            staging: &staging.map_err(|error| problem::of_publish(&error))?,
            session: &job.session,
            timeouts: &job.limits.staging(),
            most_samples,
            stop,
        };
        let data = self.connection().await?;
        diff::diff(&mut data.client, &request).await.map_err(|error| problem::of_query(&error))
    }
}
