//! A statement that the caller hands over to be run inside one of this crate's transactions.

use std::{borrow::Cow, fmt};

use tokio_postgres::types::{ToSql, Type};

/// SQL with its values and their types.
///
/// Values travel as parameters of the stated types, in one round trip and without a prepared statement that outlives
/// it. Text in another table's language (a ledger, an audit) is the caller's: this crate does not look into it.
///
/// ```
/// use thrice_sql_publish::Statement;
/// use tokio_postgres::types::Type;
///
/// let lock = Statement::new("lock the day", "select 1 from app.days where day_id = $1 for no key update")
///     .bind(7_i64, Type::INT8)
///     .must_return_row();
/// assert_eq!(lock.what(), "lock the day");
/// ```
pub struct Statement {
    what: &'static str,
    text: Cow<'static, str>,
    values: Vec<(Box<dyn ToSql + Sync + Send>, Type)>,
    must_return_row: bool,
}

impl Statement {
    /// A statement without values. `what` is a short phrase that errors and traces show, as in `write the receipt`.
    pub fn new(what: &'static str, text: impl Into<Cow<'static, str>>) -> Self {
        Self { what, text: text.into(), values: Vec::new(), must_return_row: false }
    }

    /// Adds the value of the next `$n`.
    #[must_use]
    pub fn bind(mut self, value: impl ToSql + Sync + Send + 'static, of: Type) -> Self {
        self.values.push((Box::new(value), of));
        self
    }

    /// Ends the transaction where the statement returns no row.
    #[must_use]
    pub const fn must_return_row(mut self) -> Self {
        self.must_return_row = true;
        self
    }

    /// The short phrase.
    pub const fn what(&self) -> &'static str {
        self.what
    }

    /// The SQL.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Whether no row is an error.
    pub const fn needs_row(&self) -> bool {
        self.must_return_row
    }

    /// Values and types as the driver takes them.
    pub(crate) fn params(&self) -> Vec<(&(dyn ToSql + Sync), Type)> {
        self.values.iter().map(|(value, of)| (&**value as &(dyn ToSql + Sync), of.clone())).collect()
    }
}

impl fmt::Debug for Statement {
    /// Without the values: they may be somebody's data.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Statement")
            .field("what", &self.what)
            .field("text", &self.text)
            .field("values", &self.values.len())
            .field("must_return_row", &self.must_return_row)
            .finish()
    }
}
