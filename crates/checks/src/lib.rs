//! Checks and guards: what must hold of rows before anyone may read them, as SQL, and the verdict.
//!
//! The checks of one table become one statement that passes over its rows once:
//!
//! ```
//! use thrice_checks::{Check, Rule, Subject, compile};
//! use thrice_core::{identifier::{Identifier, TableName}, column_bounds::ColumnBounds, time::civil::date};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let subject = Subject {
//!     table: TableName::parse("app.daily_next")?,
//!     interval_column: Some(Identifier::new("day")?),
//!     bounds: ColumnBounds::Dates { start: date(2026, 3, 24), end: date(2026, 3, 25) },
//!     start: "2026-03-24T00:00:00Z".parse()?,
//!     end: "2026-03-25T00:00:00Z".parse()?,
//!     key: vec![Identifier::new("day")?, Identifier::new("store")?],
//! };
//! let mut checks = Check::always(&subject, false);
//! checks.push(Check::error("no negative totals", Rule::Expression("total >= 0".into())));
//! checks.push(Check::warn("a usual day", Rule::Rows { min: Some(100), max: None, change: None }));
//! let compiled = compile(&checks, &subject);
//! assert!(compiled.sql().contains("total >= 0"));
//! # Ok(())
//! # }
//! ```
//!
//! [`run`] evaluates them in the caller's transaction and returns a [`Verdict`]. This crate publishes nothing.

pub mod check_query;
pub mod compile;
pub mod evaluate;
pub mod figure;
pub mod guard;
pub mod guard_limits;
mod literal;
pub mod reconcile;
pub mod row_change;
pub mod rule;
pub mod value;
pub mod verdict;

pub use check_query::{CheckQuery, ConstantType, Part};
pub use compile::{Compiled, compile};
pub use evaluate::{CheckError, run, sample_keys};
pub use figure::Figure;
pub use guard::GuardVerdict;
pub use guard_limits::{GuardLimits, KeyCounts, Limit, OnViolation};
pub use reconcile::{Decimal, Figures, Reconciliation, Tolerance};
pub use row_change::{Change, RowChange};
pub use rule::{Check, Rule, Severity, Subject};
pub use value::{Share, Value};
pub use verdict::{CheckResult, Phase, Verdict};
