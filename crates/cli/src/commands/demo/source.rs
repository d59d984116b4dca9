//! The source of the demonstration, and the answer that plain SQL gives.

use std::time::Duration;

use thrice_connect::ConnectionSettings;
use thrice_core::code::ErrorCode;

use crate::fault::{Fault, Outcome};

/// A fresh source, an empty target, no ledger: the demonstration starts anew each time, in its own private server. Only
/// tables of its own go, and nothing that hangs on them: `sample.sql` refuses schemas that are somebody else's.
pub(super) async fn load(settings: &ConnectionSettings) -> Outcome<()> {
    execute(settings, "drop schema if exists thrice, thrice_staging, thrice_history cascade").await?;
    execute(settings, &format!("begin; {FORGET}; {}; commit", include_str!("../../../template/sample.sql"))).await
}

const FORGET: &str = "drop table if exists ods.orders, mart.daily_order_summary";

/// Adds to the amount of one order of the day: something new to publish.
pub(super) async fn add_to_an_order(settings: &ConnectionSettings, amount: i32) -> Outcome<()> {
    let sql = format!(
        "update ods.orders set amount = amount + {amount}
          where order_id = (select min(order_id) from ods.orders
                             where order_time >= '2026-03-24 00:00+09' and status = 'paid')"
    );
    execute(settings, &sql).await
}

async fn execute(settings: &ConnectionSettings, sql: &str) -> Outcome<()> {
    let data = thrice_connect::connect(settings).await?;
    let done = data.client.batch_execute(sql).await;
    data.close(Duration::from_secs(2)).await;
    done.map_err(|error| Fault::new(ErrorCode::SqlFailed, error.to_string()).into())
}

/// Compares the whole target with one statement over the source, without intervals and without our checksum.
pub(super) async fn equals_plain_sql(settings: &ConnectionSettings) -> Outcome<bool> {
    const DIFFERENCE: &str = "
        with plain as (
          select timezone('Asia/Seoul', order_time)::date as dt, store_id, count(*) as order_count, sum(amount) as total_amount
          from ods.orders where status = 'paid' group by 1, 2
        ), published as (
          select dt, store_id, order_count, total_amount from mart.daily_order_summary
        )
        select (select count(*) from (table plain except all table published) a)
             + (select count(*) from (table published except all table plain) b)";
    let data = thrice_connect::connect(settings).await?;
    let row = data.client.query_one(DIFFERENCE, &[]).await;
    data.close(Duration::from_secs(2)).await;
    let differing: i64 =
        row.and_then(|row| row.try_get(0)).map_err(|error| Fault::new(ErrorCode::SqlFailed, error.to_string()))?;
    Ok(differing == 0)
}
