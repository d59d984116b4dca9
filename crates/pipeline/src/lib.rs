//! Turns the text of a pipeline's TOML and SQL files into a checked [`Pipeline`], or into diagnostics that say what is
//! wrong, where, why, and what to write instead.
//!
//! Text in, value out: the crate opens no file and no connection. The caller reads the files and names them.
//!
//! ```
//! use thrice_pipeline::{Definition, Pipeline, Project};
//!
//! let project = Project::read("thrice.toml", b"[project]\nname = \"shop\"\ntime_zone = \"Asia/Seoul\"")?.value;
//! let toml = br#"
//! [interval]
//! grain = "day"
//! start = "2026-01-01"
//! [target]
//! table = "mart.daily_sales"
//! interval_column = "day"
//! "#;
//! let sql = b"select :interval_date as day, count(*) as orders from ods.orders
//!             where ordered_at >= :interval_start and ordered_at < :interval_end";
//!
//! let definition = Definition::read(&project, "daily_sales", "pipelines/daily_sales.toml", toml)?.value;
//! assert_eq!(definition.sql_path, "pipelines/daily_sales.sql");
//! let checked = Pipeline::new(definition, "pipelines/daily_sales.sql", sql)?;
//! assert!(checked.warnings.is_empty());
//! assert_eq!(checked.value.query().params().len(), 3);
//!
//! let slip = toml.as_slice().iter().copied().chain(*b"strategey = \"merge\"").collect::<Vec<u8>>();
//! let refused = Definition::read(&project, "daily_sales", "pipelines/daily_sales.toml", &slip).unwrap_err();
//! let first = refused.iter().next().ok_or("no diagnostic")?;
//! assert_eq!((first.code.id(), first.fix.as_str()), ("TH0205", "write `strategy`"));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod check_expression;
pub mod check_query;
pub mod check_values;
pub mod checks_table;
pub mod code_hash;
mod column_checks;
mod cron_key;
mod cron_lint;
pub mod definition;
pub mod diagnostic;
pub mod guards_table;
pub mod interval_table;
pub mod keys;
pub mod late_table;
mod limits_tables;
pub mod lint;
mod own_target;
mod pipeline;
pub mod placeholders;
pub mod places;
pub mod project;
mod query_shape;
pub mod reconcile_check;
pub mod relations;
pub mod row_change;
pub mod schema;
mod secrets;
mod select_guard;
pub mod session_table;
pub mod source_text;
pub mod sql_lexer;
pub mod target_table;
pub mod together;
mod toml_reader;
mod toml_string;

pub use code_hash::CodeHash;
pub use definition::Definition;
pub use diagnostic::{Checked, Diagnostic, Diagnostics};
pub use pipeline::Pipeline;
pub use placeholders::{Param, Query};
pub use project::Project;
