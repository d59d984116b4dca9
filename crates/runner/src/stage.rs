//! The step from `started` to `staged`: the query into a staging table, or an earlier run's staging under a new name.

use thrice_core::identifier::Identifier;
use thrice_ledger::{StagedRun, data_plane};
use thrice_sql_publish::Statement;
use thrice_sql_publish::staging::{self, StageRequest, Staged, StagingName};
use thrice_sql_publish::staging_mode::Durable;
use tokio_postgres::types::Type;

use crate::attempt::Work;
use crate::failpoints::Failpoints;
use crate::failure::Failing;
use crate::patience::on_data;
use crate::resume::Adopted;
use crate::runner::Runner;
use crate::spent_staging::FEW_ROWS;

/// The role that staging tables are handed over to, so that every worker's login can adopt and drop them.
const OWNER: &str = "thrice_worker";

impl Runner {
    pub(crate) async fn stage(&mut self, work: &Work<'_>) -> Result<Staged, Box<Failing>> {
        let job = &work.prepared.job;
        let (attempt_id, token) = (work.started.attempt_id, work.claim.token);
        let name =
            StagingName::of(&work.claim.partition_id.to_string(), &attempt_id.to_string()).map_err(Failing::publish)?;
        let query = job.query_for(work.partition);
        let relation = name.to_string();
        let after = move |staged: &Staged| vec![mark_staged(attempt_id, token, &relation, staged)];
        let owner = Identifier::new(OWNER).ok();
        // an interval of a pipeline is about as large as the one before it
        let few = self.last_staged.is_some_and(|(id, rows)| id == work.prepared.row.pipeline_id && rows <= FEW_ROWS);
        let mode = if few { Durable::Logged } else { Durable::Unlogged };
        let over = self.patience.token();
        let (client, statements) = self.client_and_statements().await.map_err(Failing::problem)?;
        let request = StageRequest {
            target: &work.prepared.target,
            columns: &work.prepared.columns,
            query: &query,
            staging: name.table(),
            mode: &mode,
            session: &job.session,
            timeouts: &job.limits.staging(),
            owner: owner.as_ref(),
            after: &after,
            probe: &Failpoints,
            statements: &statements,
            stop: work.stop,
        };
        let staged =
            on_data(&over, "stage the rows", staging::stage(client, &request)).await.map_err(Failing::of_query)?;
        self.last_staged = Some((work.prepared.row.pipeline_id, staged.content.rows));
        for setting in &staged.settings_moved {
            tracing::warn!(setting, pipeline = job.name, "the query changed a session setting; it was set back");
        }
        Ok(staged)
    }

    /// The new run takes over what an earlier one staged.
    pub(crate) async fn adopt_staging(&mut self, work: &Work<'_>, adopted: Adopted) -> Result<Staged, Box<Failing>> {
        let staged = StagedRun {
            attempt_id: work.started.attempt_id,
            token: work.claim.token,
            staging_relation: Some(&adopted.relation),
            rows: adopted.staged.content.rows,
            checksum: &adopted.staged.content.checksum,
            input_manifest_uri: None,
        };
        self.patience.ledger(self.ledger().mark_staged(&staged)).await.map_err(Failing::ledger)?;
        Ok(adopted.staged)
    }
}

/// The run's row says `staged` in the transaction that fills the table.
fn mark_staged(attempt_id: i64, token: i64, relation: &str, staged: &Staged) -> Statement {
    Statement::new("mark the run staged", data_plane::MARK_STAGED)
        .bind(attempt_id, Type::INT8)
        .bind(token, Type::INT8)
        .bind(relation.to_owned(), Type::TEXT)
        .bind(staged.content.rows, Type::INT8)
        .bind(staged.content.checksum.clone(), Type::TEXT)
        .bind(None::<String>, Type::TEXT)
        .must_return_row()
}
