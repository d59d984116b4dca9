//! How instants and dates travel between PostgreSQL and jiff; the only file that knows of `jiff-sqlx`.
//!
//! The statements name these types in their column aliases (`as "at!: Moment"`), because sqlx has no mapping of its own for jiff.

use jiff_sqlx::ToSqlx;
use sqlx::postgres::{PgTypeInfo, PgValueRef, Postgres};
use sqlx::{Decode, Type, ValueRef as _};
use thrice_core::time::{Timestamp, civil};

/// A `timestamptz` that is never null.
pub(crate) type Moment = jiff_sqlx::Timestamp;
/// A `date` that is never null.
pub(crate) type Day = jiff_sqlx::Date;

/// A `timestamptz` that may be null.
#[derive(Debug)]
pub(crate) struct MaybeMoment(Option<Moment>);

impl Type<Postgres> for MaybeMoment {
    fn type_info() -> PgTypeInfo {
        Moment::type_info()
    }
}

impl<'r> Decode<'r, Postgres> for MaybeMoment {
    fn decode(value: PgValueRef<'r>) -> Result<Self, sqlx::error::BoxDynError> {
        if value.is_null() {
            return Ok(Self(None));
        }
        Ok(Self(Some(Moment::decode(value)?)))
    }
}

impl From<MaybeMoment> for Option<Timestamp> {
    fn from(stored: MaybeMoment) -> Self {
        stored.0.map(Timestamp::from)
    }
}

/// Instants as a parameter.
pub(crate) fn moments(at: impl Iterator<Item = Timestamp>) -> Vec<Moment> {
    at.map(moment).collect()
}

/// One instant as a parameter.
pub(crate) fn moment(at: Timestamp) -> Moment {
    at.to_sqlx()
}

/// Dates as a parameter.
pub(crate) fn days(dates: impl Iterator<Item = civil::Date>) -> Vec<Day> {
    dates.map(ToSqlx::to_sqlx).collect()
}
