//! Turns the text of a pipeline's TOML and SQL files into a checked pipeline, or into diagnostics with places.
pub mod diagnostic;
pub mod lint;
pub mod placeholders;
mod query_shape;
mod select_guard;
pub mod source_text;
pub mod sql_lexer;

pub use diagnostic::{Checked, Diagnostic, Diagnostics};
