//! The typed values that a user's query may take as parameters.

use jiff::{Timestamp, civil};
use tokio_postgres::types::{ToSql, Type};

use crate::steps::Param;

/// A value of a placeholder. It travels as a parameter of its type, never as text in the query.
#[derive(Debug, Clone, PartialEq)]
pub enum SqlValue {
    /// `timestamptz`: an instant, in whole microseconds.
    Instant(Timestamp),
    /// `timestamp`: a wall-clock time.
    LocalTime(civil::DateTime),
    /// `date`.
    Date(civil::Date),
    /// `text`.
    Text(String),
    /// `int8`.
    Integer(i64),
    /// `float8`.
    Float(f64),
    /// `bool`.
    Boolean(bool),
}

impl SqlValue {
    /// The type the server is told.
    pub const fn sql_type(&self) -> Type {
        match self {
            Self::Instant(_) => Type::TIMESTAMPTZ,
            Self::LocalTime(_) => Type::TIMESTAMP,
            Self::Date(_) => Type::DATE,
            Self::Text(_) => Type::TEXT,
            Self::Integer(_) => Type::INT8,
            Self::Float(_) => Type::FLOAT8,
            Self::Boolean(_) => Type::BOOL,
        }
    }

    pub(crate) fn param(&self) -> Param<'_> {
        let value: &(dyn ToSql + Sync) = match self {
            Self::Instant(value) => value,
            Self::LocalTime(value) => value,
            Self::Date(value) => value,
            Self::Text(value) => value,
            Self::Integer(value) => value,
            Self::Float(value) => value,
            Self::Boolean(value) => value,
        };
        (value, self.sql_type())
    }
}
