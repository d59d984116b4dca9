//! `column >= start and column < end` for the type the interval column has. Never a cast of the column, so that
//! indexes and partitions are used.

use thrice_core::column_bounds::ColumnBounds;
use tokio_postgres::types::Type;

use crate::steps::Param;
use crate::target::{IntervalColumn, Target};

impl Target {
    /// That a row is in the interval, over `$1` and `$2`; of a whole table every row is. The operators are named with their
    /// schema: the statement may run on the user's search path.
    pub(crate) fn inside(&self) -> String {
        self.inside_of("")
    }

    /// The same for the relation that the statement calls `alias`, a name with its dot.
    pub(crate) fn inside_of(&self, alias: &str) -> String {
        match &self.interval {
            Some(IntervalColumn { name, .. }) => {
                format!("{alias}{name} operator(pg_catalog.>=) $1 and {alias}{name} operator(pg_catalog.<) $2")
            }
            None => "true".to_owned(),
        }
    }
}

/// The values of `$1` and `$2`; none for a whole table, whose predicate has no bounds.
pub(crate) fn params(bounds: &ColumnBounds) -> Vec<Param<'_>> {
    match bounds {
        ColumnBounds::Dates { start, end } => vec![(start as _, Type::DATE), (end as _, Type::DATE)],
        ColumnBounds::LocalTimes { start, end } => vec![(start as _, Type::TIMESTAMP), (end as _, Type::TIMESTAMP)],
        ColumnBounds::Instants { start, end } => vec![(start as _, Type::TIMESTAMPTZ), (end as _, Type::TIMESTAMPTZ)],
        ColumnBounds::WholeTable => Vec::new(),
    }
}
