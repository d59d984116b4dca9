//! Staging tables whose rows are published. One of few rows takes the rows of a later partition of its pipeline: making
//! and dropping a table costs more than such a partition itself. The others are dropped at once.

use thrice_ledger::data_plane;
use thrice_sql_publish::columns::ColumnMap;
use thrice_sql_publish::session::Timeouts;
use thrice_sql_publish::staging::{self, Emptying, Staged, StagingName};
use thrice_sql_publish::target::Target;
use thrice_sql_publish::{CancellationToken, Statement};
use tokio_postgres::types::Type;

use crate::attempt::Work;
use crate::failpoints::{self, hit};
use crate::patience::on_data;
use crate::runner::Runner;

/// A table of more rows than this is not used again.
const FEW_ROWS: i64 = 2_000;
/// A table is truncated when so many dead rows are in it: every statement about it reads past them.
const DEAD_ROWS: i64 = 8_000;
/// So many tables are kept, one a pipeline.
const MOST: usize = 32;

/// A table whose rows nobody needs, and what it was made for.
#[derive(Debug)]
pub(crate) struct Spare {
    pub(crate) name: StagingName,
    target: Target,
    columns: ColumnMap,
    /// Rows in it, dead and alive.
    rows: i64,
}

impl Spare {
    /// How it is emptied.
    pub(crate) const fn emptying(&self) -> Emptying {
        if self.rows > DEAD_ROWS { Emptying::Truncate } else { Emptying::Delete }
    }

    /// The rows in it, once `more` have come.
    pub(crate) const fn rows_with(&self, more: i64) -> i64 {
        match self.emptying() {
            Emptying::Truncate => more,
            Emptying::Delete => self.rows.saturating_add(more),
        }
    }
}

/// Tables that may be used again, and must be dropped in the end.
#[derive(Debug, Default)]
pub(crate) struct SpentStaging {
    spares: Vec<Spare>,
    timeouts: Option<Timeouts>,
}

impl SpentStaging {
    /// A table of exactly these columns; it is then in use. `None`: there is none.
    pub(crate) fn take(&mut self, target: &Target, columns: &ColumnMap) -> Option<Spare> {
        let index = self.spares.iter().position(|spare| spare.target == *target && spare.columns == *columns)?;
        Some(self.spares.swap_remove(index))
    }

    /// It was not used.
    pub(crate) fn give_back(&mut self, spare: Spare) {
        self.spares.push(spare);
    }
}

/// Asks the ledger whether no open run names a staging table; for [`staging::drop_unused_staging`].
pub fn staging_is_unused(name: &StagingName) -> Statement {
    Statement::new("see whether a run uses the staging table", data_plane::STAGING_IS_UNUSED)
        .bind(name.table().table.as_str().to_owned(), Type::TEXT)
}

impl Runner {
    /// The receipt is known, so nobody needs the rows any more. `rows` are all that are in the table, dead ones too.
    pub(crate) async fn spend(&mut self, work: &Work<'_>, name: StagingName, staged: &Staged, rows: i64) {
        let timeouts = work.prepared.job.limits.checking();
        // what an earlier process staged may be read by whoever still takes itself for its worker
        if staged.content.rows > FEW_ROWS || work.resumed_from.is_some() || self.spent.spares.len() >= MOST {
            hit(failpoints::BEFORE_DROP);
            self.drop_tables(&[name], &timeouts, work.stop).await;
            hit(failpoints::AFTER_DROP);
            return;
        }
        let (target, columns) = (work.prepared.target.clone(), work.prepared.columns.clone());
        self.spent.spares.push(Spare { name, target, columns, rows });
        self.spent.timeouts = Some(timeouts);
    }

    /// Drops what is left.
    pub(crate) async fn drop_spent(&mut self, stop: &CancellationToken) {
        let SpentStaging { spares, timeouts } = std::mem::take(&mut self.spent);
        let Some(timeouts) = timeouts else { return };
        let names: Vec<StagingName> = spares.into_iter().map(|spare| spare.name).collect();
        hit(failpoints::BEFORE_DROP);
        // a table that somebody reads stops the others as well: then each for itself
        if !self.drop_tables(&names, &timeouts, stop).await && names.len() > 1 {
            for name in names {
                self.drop_tables(&[name], &timeouts, stop).await;
            }
        }
        hit(failpoints::AFTER_DROP);
    }

    /// Drops a table that nobody needed when it was looked for, unless somebody uses it by now.
    pub(crate) async fn drop_unused(
        &mut self,
        name: &StagingName,
        timeouts: &Timeouts,
        stop: &CancellationToken,
    ) -> bool {
        let over = self.patience.token();
        let client = match self.client().await {
            Ok(client) => client,
            Err(problem) => {
                tracing::debug!(what = problem.what, %name, "a staging table stays for the next sweep");
                return false;
            }
        };
        let unused = staging_is_unused(name);
        let dropping = staging::drop_unused_staging(client, name, &unused, timeouts, stop);
        let dropped = on_data(&over, "drop a staging table", dropping).await;
        if let Err(error) = &dropped {
            if error.is_connection_lost() {
                self.abandon_connection();
            }
            tracing::debug!(%error, %name, "a staging table stays for the next sweep");
        }
        dropped.unwrap_or_default()
    }

    /// Drops staging tables, all or none; a failure leaves them to the next sweep.
    pub(crate) async fn drop_tables(
        &mut self,
        names: &[StagingName],
        timeouts: &Timeouts,
        stop: &CancellationToken,
    ) -> bool {
        let over = self.patience.token();
        let dropped = match self.client_and_statements().await {
            Ok((client, statements)) => {
                for name in names {
                    statements.forget(name.table().table.as_str());
                }
                on_data(&over, "drop staging tables", staging::drop_staging(client, names, timeouts, stop)).await
            }
            Err(problem) => {
                tracing::debug!(what = problem.what, "staging tables stay for the next sweep");
                return false;
            }
        };
        if let Err(error) = &dropped {
            if error.is_connection_lost() {
                self.abandon_connection();
            }
            tracing::debug!(%error, ?names, "staging tables stay for the next sweep");
        }
        dropped.is_ok()
    }
}
