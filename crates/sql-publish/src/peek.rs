//! A quick look whether an interval of a target holds rows at all.

use thrice_core::column_bounds::ColumnBounds;
use tokio_postgres::Client;
use tokio_util::sync::CancellationToken;

use crate::{
    bounds,
    error::PublishError,
    session::{Pins, Timeouts, get, pin},
    steps::Steps,
    target::Target,
};

/// Whether the interval holds a row. Stops at the first one; without an index on the interval column an empty interval
/// costs a scan, so give it a limit.
pub async fn holds_rows(
    client: &mut Client,
    target: &Target,
    bounds: &ColumnBounds,
    timeouts: &Timeouts,
    stop: &CancellationToken,
) -> Result<bool, PublishError> {
    let transaction = client
        .build_transaction()
        .read_only(true)
        .start()
        .await
        .map_err(|error| PublishError::driver("begin", error))?;
    let holds = {
        let mut steps = Steps::new(&transaction, stop);
        let pinned = pin(&steps, &Pins::timeouts(timeouts).and(Pins::tool())).await?;
        steps.limit(pinned.statement_timeout());
        let predicate = bounds::predicate(&target.interval_column);
        let text = format!("select exists (select from {} where {predicate})", target.table);
        get(&steps.row("look for existing rows", &text, &bounds::params(bounds)).await?, 0)?
    };
    transaction.rollback().await.map_err(|error| PublishError::driver("end the reading transaction", error))?;
    Ok(holds)
}
