//! Whether a query names its own target as a relation: what a run reads there is what the run before it wrote.

use thrice_core::identifier::{Identifier, TableName};

use crate::query_shape::{Clause, Shape};

/// The target, as the query of the same pipeline may name it.
pub(crate) struct OwnTarget<'a> {
    pub(crate) table: &'a TableName,
    pub(crate) interval_column: Option<&'a Identifier>,
    /// The pipeline's search path, where its file has one; the role's own is not known here.
    pub(crate) search_path: Option<&'a [Identifier]>,
}

impl OwnTarget<'_> {
    /// First and last token of the first place that names it behind FROM, JOIN, a comma of FROM, or TABLE.
    pub(crate) fn named_in(&self, shape: &Shape<'_>) -> Option<(usize, usize)> {
        let on_path = self.search_path.is_some_and(|path| path.iter().any(|schema| schema == &self.table.schema));
        (0..shape.len()).find_map(|first| {
            if !begins_relation(shape, first) {
                return None;
            }
            let table = self.table.table.as_str();
            let name = shape.name(first)?;
            let last = if shape.text(first + 1) == "." {
                (name == self.table.schema.as_str() && shape.name(first + 2)? == table).then_some(first + 2)?
            } else {
                (on_path && name == table && !is_cte(shape, table)).then_some(first)?
            };
            // a function of that name, or a table of another database's spelling
            (!matches!(shape.text(last + 1), "(" | ".")).then_some((first, last))
        })
    }
}

fn begins_relation(shape: &Shape<'_>, index: usize) -> bool {
    let Some(before) = index.checked_sub(1) else { return false };
    let before = if shape.is(before, "only") { before.saturating_sub(1) } else { before };
    match shape.text(before) {
        "," => shape.clause(before) == Clause::From,
        "(" => shape.clause(index) == Clause::From || shape.clause(before) == Clause::From,
        _ => {
            shape.is(before, "join")
                || (shape.is(before, "from") && shape.clause(before) == Clause::From)
                || (shape.is(before, "table") && shape.clause_word(before).is_some())
        }
    }
}

/// `with NAME as (…)`: it hides the table of that name.
fn is_cte(shape: &Shape<'_>, name: &str) -> bool {
    (0..shape.len()).any(|index| {
        shape.name(index).as_deref() == Some(name)
            && shape.is(index + 1, "as")
            && (shape.text(index + 2) == "(" || shape.is(index + 2, "materialized") || shape.is(index + 2, "not"))
    })
}
