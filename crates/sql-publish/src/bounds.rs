//! `column >= start and column < end` for the type the interval column has. Never a cast of the column, so that
//! indexes and partitions are used.

use thrice_core::{column_bounds::ColumnBounds, identifier::Identifier};
use tokio_postgres::types::Type;

use crate::steps::Param;

/// The predicate over `$1` and `$2`. The operators are named with their schema: the statement may run on the user's
/// search path.
pub(crate) fn predicate(column: &Identifier) -> String {
    format!("{column} operator(pg_catalog.>=) $1 and {column} operator(pg_catalog.<) $2")
}

/// The same for a column of the relation that the statement calls `alias`.
pub(crate) fn predicate_of(alias: &str, column: &Identifier) -> String {
    format!("{alias}.{column} operator(pg_catalog.>=) $1 and {alias}.{column} operator(pg_catalog.<) $2")
}

/// The values of `$1` and `$2`.
pub(crate) fn params(bounds: &ColumnBounds) -> [Param<'_>; 2] {
    match bounds {
        ColumnBounds::Dates { start, end } => [(start as _, Type::DATE), (end as _, Type::DATE)],
        ColumnBounds::LocalTimes { start, end } => [(start as _, Type::TIMESTAMP), (end as _, Type::TIMESTAMP)],
        ColumnBounds::Instants { start, end } => [(start as _, Type::TIMESTAMPTZ), (end as _, Type::TIMESTAMPTZ)],
    }
}
