//! The figure of a result.

use std::fmt;

use serde::Serialize;

/// A count, or a number that may have digits behind the point.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub enum Figure {
    /// Rows, keys, seconds: a number in JSON.
    Count(i64),
    /// Decimal text as the server writes it: a string in JSON, so that no digit is lost.
    Decimal(String),
}

impl From<i64> for Figure {
    fn from(count: i64) -> Self {
        Self::Count(count)
    }
}

impl fmt::Display for Figure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Count(count) => count.fmt(f),
            Self::Decimal(text) => f.write_str(text),
        }
    }
}
