//! A pooler in transaction mode, seen from outside.
//!
//! Two signs prove one: the server process behind one connection changes between two statements, or two open
//! connections have the same one. Both are provoked: while a second connection is inside a transaction, the first one
//! asks again. A pooler that happens to hand out the same process each time shows neither sign; so the absence of
//! signs is told as that, and no more.

use std::collections::BTreeSet;

use thrice_connect::DataConnection;
use thrice_core::code::ErrorCode;
use tokio_postgres::{Client, Error};

use super::Patient;
use super::check::Report;

/// How often the two connections take turns.
const TURNS: usize = 4;

pub(super) async fn check(patient: &Patient<'_>, connection: &DataConnection, report: &mut Report) {
    let second = match thrice_connect::connect(&patient.database.settings).await {
        Ok(second) => second,
        Err(error) => {
            report.skipped(
                "pooler",
                format!("a pooler was not looked for, it needs a second connection: {}", error.what()),
            );
            return;
        }
    };
    let seen = take_turns(&connection.client, &second.client).await;
    second.close(std::time::Duration::from_secs(2)).await;
    match seen {
        Ok((first, second)) if first.len() > 1 || second.len() > 1 || !first.is_disjoint(&second) => report.warn(
            "pooler",
            ErrorCode::PoolerMode,
            "a pooler in transaction mode is in between: statements of one connection reach several server processes",
            "connect past it: to the server's own port, or to a pool in session mode; otherwise a worker's death is noticed only when its lease ends",
        ),
        Ok(_) => report.ok(
            "pooler",
            "no sign of a pooler in transaction mode (two connections kept their server processes; that is a sign, not a proof)",
        ),
        Err(error) => report.unseen("pooler", "a pooler", &error),
    }
}

/// The server processes that each connection was seen to have.
async fn take_turns(first: &Client, second: &Client) -> Result<(BTreeSet<i32>, BTreeSet<i32>), Error> {
    let (mut of_first, mut of_second) = (BTreeSet::new(), BTreeSet::new());
    for _ in 0..TURNS {
        of_first.insert(process(first).await?);
        // takes whatever process has just become free, and keeps it
        second.batch_execute("begin").await?;
        of_second.insert(process(second).await?);
        of_first.insert(process(first).await?);
        second.batch_execute("rollback").await?;
    }
    Ok((of_first, of_second))
}

async fn process(client: &Client) -> Result<i32, Error> {
    // without a prepared statement, which a pooler may refuse
    let rows = client.query_typed("select pg_catalog.pg_backend_pid()", &[]).await?;
    Ok(rows.first().map_or(0, |row| row.get(0)))
}
