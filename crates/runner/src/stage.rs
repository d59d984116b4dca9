//! The step from `started` to `staged`: the query into a staging table, or an earlier run's staging under a new name.

use thrice_core::identifier::Identifier;
use thrice_ledger::{StagedRun, data_plane};
use thrice_sql_publish::query::UserQuery;
use thrice_sql_publish::staging::{self, EMPTY, Place, StageRequest, Staged, StagingName};
use thrice_sql_publish::staging_mode::Durable;
use thrice_sql_publish::{PublishError, Statement};
use tokio_postgres::types::Type;

use crate::attempt::Work;
use crate::failpoints::Failpoints;
use crate::failure::Failing;
use crate::patience::on_data;
use crate::resume::Adopted;
use crate::runner::Runner;
use crate::source_checks;

/// The role that staging tables are handed over to, so that every worker's login can adopt and drop them.
pub(crate) const OWNER: &str = "thrice_worker";

impl Runner {
    pub(crate) async fn stage(&mut self, work: &mut Work<'_>) -> Result<Staged, Box<Failing>> {
        let job = &work.prepared.job;
        let query = match &work.request.rollback {
            Some(rollback) => rollback.query(&work.prepared.target, &work.bounds),
            None => job.query_for(work.partition),
        };
        let spare = self.spent.take(&work.prepared.target, &work.prepared.columns);
        let again = match &spare {
            Some(spare) => self.stage_into(work, &query, &spare.name, Place::Spent(spare.emptying())).await.map(Some),
            None => Ok(None),
        };
        let staged = match (again, spare) {
            (Ok(Some(staged)), Some(spare)) => {
                work.staging_rows = spare.rows_with(staged.content.rows);
                work.staging = Some(spare.name);
                staged
            }
            (Err(failing), Some(spare)) if !failing.is_of_spent_staging() => {
                // rolled back, it is as it was; after a COMMIT that was not answered nobody knows
                if !failing.connection_is_lost() {
                    self.spent.give_back(spare);
                }
                return Err(failing);
            }
            // none is there, or somebody has dropped or changed it: nothing of it is needed
            (_, spoilt) => {
                if let Some(spare) = spoilt {
                    tracing::debug!(name = %spare.name, "a staging table cannot be used again; another one is made");
                    self.statements().forget(spare.name.table().table.as_str());
                }
                let (partition, attempt) = (work.claim.partition_id.to_string(), work.started.attempt_id.to_string());
                let name = StagingName::of(&partition, &attempt).map_err(Failing::publish)?;
                let staged = self.stage_into(work, &query, &name, Place::New(&Durable)).await;
                work.staging = Some(name);
                let staged = staged?;
                work.staging_rows = staged.content.rows;
                staged
            }
        };
        for setting in &staged.settings_moved {
            tracing::warn!(setting, pipeline = job.name, "the query changed a session setting; it was set back");
        }
        Ok(staged)
    }

    async fn stage_into(
        &mut self,
        work: &mut Work<'_>,
        query: &UserQuery,
        name: &StagingName,
        place: Place<'_>,
    ) -> Result<Staged, Box<Failing>> {
        let job = &work.prepared.job;
        let (attempt_id, token) = (work.started.attempt_id, work.claim.token);
        let relation = name.to_string();
        let after = move |staged: &Staged| vec![mark_staged(attempt_id, token, &relation, staged)];
        let owner = Identifier::new(OWNER).ok();
        let over = self.patience.token();
        let (client, statements) = self.client_and_statements().await.map_err(Failing::problem)?;
        let request = StageRequest {
            target: &work.prepared.target,
            columns: &work.prepared.columns,
            query,
            staging: name.table(),
            place,
            session: &job.session,
            timeouts: &job.limits.staging(),
            owner: owner.as_ref(),
            after: &after,
            probe: &Failpoints,
            statements: &statements,
            stop: work.stop,
        };
        // old rows are compared with their receipt, and not with a source that has moved on
        let asked = if work.request.rollback.is_some() { &[] } else { job.reconciliations.as_slice() };
        let questions: Vec<Statement> =
            asked.iter().map(|check| source_checks::question(check, name.table(), work.partition)).collect();
        let staging = staging::stage_and_ask(client, &request, &questions);
        let staged = on_data(&over, "stage the rows", staging).await;
        let (staged, answers) = staged.map_err(|error| source_checks::failing(error, asked))?;
        work.source_checks = source_checks::judge(asked, &answers)?;
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

impl Failing {
    /// A table that was to be used again is not what it was.
    fn is_of_spent_staging(&self) -> bool {
        let of = |error: &PublishError| error.what() == EMPTY && !error.is_connection_lost() && !error.is_cancelled();
        self.error.as_ref().is_some_and(of)
    }
}

/// The run's row says `staged` in the transaction that fills the table. It raises where that is not possible, so COMMIT
/// can leave with it.
fn mark_staged(attempt_id: i64, token: i64, relation: &str, staged: &Staged) -> Statement {
    Statement::new("mark the run staged", data_plane::MARK_STAGED)
        .bind(attempt_id, Type::INT8)
        .bind(token, Type::INT8)
        .bind(relation.to_owned(), Type::TEXT)
        .bind(staged.content.rows, Type::INT8)
        .bind(staged.content.checksum.clone(), Type::TEXT)
        .bind(None::<String>, Type::TEXT)
}
