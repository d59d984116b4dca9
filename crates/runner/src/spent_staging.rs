//! Staging tables whose rows are published: small ones are dropped some at a time, because each DROP waits for the disk.

use thrice_sql_publish::CancellationToken;
use thrice_sql_publish::session::Timeouts;
use thrice_sql_publish::staging::{self, StagingName};

use crate::failpoints::{self, hit};
use crate::patience::on_data;
use crate::runner::Runner;

/// So many tables are dropped at a time.
const AT_A_TIME: usize = 32;
/// Tables of more rows than this go at once, and are staged without a write-ahead log.
pub(crate) const FEW_ROWS: i64 = 2_000;

/// Tables that wait to be dropped.
#[derive(Debug, Default)]
pub(crate) struct SpentStaging {
    names: Vec<StagingName>,
    timeouts: Option<Timeouts>,
}

impl Runner {
    /// The receipt is known, so nobody needs the table any more.
    pub(crate) async fn spend(&mut self, name: StagingName, rows: i64, timeouts: Timeouts, stop: &CancellationToken) {
        self.spent.names.push(name);
        self.spent.timeouts = Some(timeouts);
        if rows > FEW_ROWS || self.spent.names.len() >= AT_A_TIME {
            self.drop_spent(stop).await;
        }
    }

    /// Drops what waits to be dropped.
    pub(crate) async fn drop_spent(&mut self, stop: &CancellationToken) {
        let SpentStaging { names, timeouts } = std::mem::take(&mut self.spent);
        let Some(timeouts) = timeouts else { return };
        hit(failpoints::BEFORE_DROP);
        // a table that somebody reads stops the others as well: then each for itself
        if !self.drop_tables(&names, &timeouts, stop).await && names.len() > 1 {
            for name in names {
                self.drop_tables(&[name], &timeouts, stop).await;
            }
        }
        hit(failpoints::AFTER_DROP);
    }

    /// Drops staging tables, all or none; a failure leaves them to the next sweep.
    pub(crate) async fn drop_tables(
        &mut self,
        names: &[StagingName],
        timeouts: &Timeouts,
        stop: &CancellationToken,
    ) -> bool {
        let over = self.patience.token();
        let dropped = match self.client().await {
            Ok(client) => {
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
