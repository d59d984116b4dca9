//! Stages and publishes one partition on one connection: the rows of one data interval of one table, replaced in one
//! transaction together with whatever record the caller keeps.
//!
//! The road is [`target::examine`] → [`query::describe`] → [`columns::match_columns`] → [`staging::stage`] →
//! (the caller's checks) → [`publish::publish`]. A service that fills its own staging table begins at the last step:
//!
//! ```no_run
//! use std::time::Duration;
//! use thrice_core::{
//!     column_bounds::ColumnBounds, identifier::{Identifier, TableName}, publish_strategy::PublishStrategy, time::civil::date,
//! };
//! use thrice_sql_publish::{
//!     checksum, columns::ColumnMap, probe::Quiet, publish, session::{Limit, Session, Timeouts}, staging::Staged,
//!     strategy, target, CancellationToken, Statement, StatementCache,
//! };
//! use tokio_postgres::types::Type;
//!
//! # async fn example(client: &mut tokio_postgres::Client) -> Result<(), Box<dyn std::error::Error>> {
//! let (stop, timeouts) = (CancellationToken::new(), Timeouts::new(Limit::Default(Duration::from_secs(600))));
//! let request = target::ExamineRequest {
//!     table: TableName::parse("mart.daily")?,
//!     interval_column: Some(Identifier::new("day")?),
//!     key: vec![Identifier::new("day")?, Identifier::new("store")?],
//!     published_at: None,
//!     strategy: PublishStrategy::DeleteInsert,
//!     version: None,
//!     operation: None,
//! };
//! let examination = target::examine(client, &request, &timeouts, &stop).await?;
//! let Some(target) = examination.target else { return Err(format!("{:?}", examination.findings).into()) };
//!
//! // the service filled app.daily_next itself
//! let columns = ColumnMap::of(vec![Identifier::new("day")?, Identifier::new("store")?, Identifier::new("total")?]);
//! let next = TableName::parse("app.daily_next")?;
//! let content = checksum::of_table(client, &next, columns.columns(), &timeouts, &stop).await?;
//! let staged = Staged::known(next, content);
//!
//! let parts = strategy::Parts { target: &target, columns: &columns, staging: &staged.relation, keep: None };
//! let outcome = publish::publish(client, &publish::PublishRequest {
//!     target: &target,
//!     columns: &columns,
//!     bounds: &ColumnBounds::Dates { start: date(2026, 3, 24), end: date(2026, 3, 25) },
//!     staged: &staged,
//!     plan: &strategy::delete_insert::plan(&parts),
//!     existing_rows: publish::ExistingRows::MayBeReplaced,
//!     session: &Session::in_zone("Asia/Seoul"),
//!     timeouts: &timeouts,
//!     commit_timeout: Duration::from_secs(30),
//!     application_name: "app:daily",
//!     gate: publish::Gate {
//!         first: vec![Statement::new("lock the day", "select 1 from app.days where day = '2026-03-24' for update")],
//!         last: vec![Statement::new("write the receipt", "insert into app.receipts (day, xid) values ('2026-03-24', pg_current_xact_id())")],
//!         confirm: Some(Statement::new("read the receipt", "select 1 from app.receipts where day = '2026-03-24'")),
//!     },
//!     probe: &Quiet,
//!     statements: &StatementCache::default(),
//!     stop: &stop,
//! }).await;
//! match outcome {
//!     publish::PublishOutcome::Committed(done) => println!("{} rows", done.content.rows),
//!     publish::PublishOutcome::RolledBack(error) => return Err(error.into()),
//!     publish::PublishOutcome::Unknown { xid, .. } => println!("find out what became of {xid} before anything else"),
//! }
//! # Ok(())
//! # }
//! ```
//!
//! A [strategy](thrice_core::publish_strategy::PublishStrategy) that swaps has one step more before its publish,
//! [`swap::prepare`](mod@swap::prepare).
//!
//! This crate holds no SQL of any ledger: what must share its transactions comes as [`Statement`]s from the caller.
//! It never retries; [`error::PublishError`] says what a retry would need to know.

pub mod access;
mod behind;
mod bounds;
pub mod cancel;
mod changed_keys;
pub mod checksum;
pub mod columns;
mod comparison;
pub mod diff;
pub mod error;
pub mod finding;
pub mod history;
mod open_transaction;
pub mod peek;
pub mod probe;
pub mod publish;
pub mod query;
pub mod session;
mod short_hash;
pub mod staging;
pub mod staging_mode;
pub mod statement;
pub mod statement_cache;
mod steps;
pub mod strategy;
pub mod swap;
pub mod target;
mod target_sql;
pub mod value;

pub use error::PublishError;
pub use finding::{Finding, Severity};
pub use open_transaction::OpenTransaction;
pub use statement::Statement;
pub use statement_cache::StatementCache;
pub use tokio_util::sync::CancellationToken;
pub use value::SqlValue;
