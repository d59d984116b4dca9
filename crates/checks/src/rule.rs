//! What is checked, and over which rows.

use std::{fmt, time::Duration};

use serde::Serialize;
use thrice_core::{
    column_bounds::ColumnBounds,
    identifier::{Identifier, TableName},
    time::Timestamp,
};

use crate::{
    check_query::CheckQuery,
    row_change::RowChange,
    value::{Share, Value},
};

/// A named check.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Check {
    /// Its name in results. Unique among the checks of one pass.
    pub name: String,
    /// Whether a failure stops the publish.
    pub severity: Severity,
    /// What must hold.
    pub rule: Rule,
}

impl Check {
    /// A check that stops the publish.
    pub fn error(name: impl Into<String>, rule: Rule) -> Self {
        Self { name: name.into(), severity: Severity::Error, rule }
    }

    /// A check that is recorded and no more.
    pub fn warn(name: impl Into<String>, rule: Rule) -> Self {
        Self { name: name.into(), severity: Severity::Warn, rule }
    }

    /// The checks that always hold: every row inside the interval, no null and no duplicate key, and not empty unless
    /// that is allowed. Without a key there is nothing to say about keys, and of a whole table nothing about the interval.
    pub fn always(subject: &Subject, allow_empty: bool) -> Vec<Self> {
        let mut checks = Vec::new();
        if subject.interval_column.is_some() {
            checks.push(Self::error("inside the interval", Rule::InsideInterval));
        }
        if !subject.key.is_empty() {
            checks.push(Self::error("key not null", Rule::KeyNotNull));
            checks.push(Self::error("key unique", Rule::KeyUnique));
        }
        if !allow_empty {
            checks.push(Self::error("not empty", Rule::NotEmpty));
        }
        checks
    }

    /// What holds of the column that says what a change is.
    pub fn operation(column: &Identifier) -> [Self; 2] {
        let words = ["I", "U", "D"].map(Value::text).to_vec();
        [
            Self::error("operation not null", Rule::NotNull(vec![column.clone()])),
            Self::error("operation I, U or D", Rule::AcceptedValues { column: column.clone(), values: words }),
        ]
    }
}

/// What must hold of the staged rows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Rule {
    /// The number of rows lies between the two, both included.
    Rows {
        /// At least so many.
        min: Option<u64>,
        /// At most so many.
        max: Option<u64>,
        /// By so much they may differ from the median of the partitions published before, which [`Compiled::against`] is
        /// told. Where fewer than three are known, or their median is 0, any number passes.
        ///
        /// [`Compiled::against`]: crate::Compiled::against
        change: Option<RowChange>,
    },
    /// None of these columns is null in any row.
    NotNull(Vec<Identifier>),
    /// No two rows agree in all these columns. Rows with a null among them agree with none, as in a unique index.
    Unique(Vec<Identifier>),
    /// A boolean SQL expression over one row is not false. As in a CHECK constraint, null passes; say
    /// [`Rule::NotNull`] where it must not.
    Expression(String),
    /// No more than a share of the rows has a null in the column. No rows have none.
    NullRate {
        /// The column.
        column: Identifier,
        /// At most so much of all rows.
        max: Share,
    },
    /// Every value of the column lies between the two, both included. Null passes; NaN is greater than every number.
    Range {
        /// The column.
        column: Identifier,
        /// The least.
        min: Option<Value>,
        /// The greatest.
        max: Option<Value>,
    },
    /// Every value of the column is one of these, which are read as the column's type. Null passes.
    AcceptedValues {
        /// The column.
        column: Identifier,
        /// The values.
        values: Vec<Value>,
    },
    /// The number of different values of the column lies between the two, both included. Null is no value; no rows have
    /// none.
    Distinct {
        /// The column.
        column: Identifier,
        /// At least so many.
        min: Option<u64>,
        /// At most so many.
        max: Option<u64>,
    },
    /// A POSIX regular expression of the server's matches somewhere in every value of the column. Null passes.
    Matches {
        /// The column.
        column: Identifier,
        /// The expression; case counts, `^` and `$` bind it to the ends.
        pattern: String,
    },
    /// For every row another table has one whose key has the same values. As with a foreign key, a row with a null among
    /// the columns passes.
    References {
        /// The columns.
        columns: Vec<Identifier>,
        /// The other table.
        table: TableName,
        /// Its columns, one for each.
        key: Vec<Identifier>,
    },
    /// The newest time of the column is no older than this at the end of the interval, so that a run gives the same
    /// whenever it is done. A date counts from its midnight, a time without a zone in that of the session. Nulls and
    /// infinities are no times; where there is no time at all the rule does not hold.
    Freshness {
        /// A column of type date, timestamp or timestamptz.
        column: Identifier,
        /// The greatest age.
        max_age: Duration,
    },
    /// The query finds no row.
    Query(CheckQuery),
    /// Every row's interval column is not null and inside the interval: a row outside could never be replaced.
    InsideInterval,
    /// No key column is null in any row.
    KeyNotNull,
    /// No two rows have the same key. Two nulls count as the same.
    KeyUnique,
    /// There is at least one row.
    NotEmpty,
}

impl Rule {
    /// It holds names, values or SQL that somebody wrote, and that may not fit the rows.
    pub(crate) const fn is_written(&self) -> bool {
        !matches!(self, Self::Rows { .. } | Self::InsideInterval | Self::KeyNotNull | Self::KeyUnique | Self::NotEmpty)
    }

    /// It wants to know how many rows other partitions have.
    pub const fn compares_partitions(&self) -> bool {
        matches!(self, Self::Rows { change: Some(_), .. })
    }

    /// It looks at the interval itself, and not only at the interval column's bounds.
    pub(crate) fn takes_interval(&self) -> bool {
        if let Self::Query(query) = self { query.takes_interval() } else { matches!(self, Self::Freshness { .. }) }
    }
}

/// Whether a failure stops the publish.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// It does.
    Error,
    /// It is recorded.
    Warn,
}

impl Severity {
    /// The word in the ledger.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Error => "error",
            Self::Warn => "warn",
        }
    }
}

impl fmt::Display for Severity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// The rows that are checked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Subject {
    /// The table that holds them, and nothing else.
    pub table: TableName,
    /// The column that places a row in the interval; `None`: the rows are a whole table, and none can be outside.
    pub interval_column: Option<Identifier>,
    /// The interval, as values of that column.
    pub bounds: ColumnBounds,
    /// First instant of the interval.
    pub start: Timestamp,
    /// First instant after it.
    pub end: Timestamp,
    /// Columns that tell rows apart. May be empty.
    pub key: Vec<Identifier>,
}
