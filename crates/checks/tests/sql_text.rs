//! The one statement of a set of checks, word for word. Needs no server.

use thrice_checks::{Check, Rule, Subject, compile};
use thrice_core::{
    column_bounds::ColumnBounds,
    identifier::{Identifier, TableName},
    time::civil::date,
};

#[cfg(test)]
mod given {
    use super::{ColumnBounds, Identifier, Subject, TableName, date};

    pub(crate) fn names(names: &[&str]) -> Vec<Identifier> {
        names.iter().map(|name| Identifier::new(*name).unwrap()).collect()
    }

    pub(crate) fn subject(key: &[&str]) -> Subject {
        Subject {
            table: TableName::parse("thrice_staging.s_1").unwrap(),
            interval_column: Identifier::new("dt").unwrap(),
            bounds: ColumnBounds::Dates { start: date(2026, 3, 24), end: date(2026, 3, 25) },
            key: names(key),
        }
    }
}

#[test]
fn what_always_holds() {
    let subject = given::subject(&["dt", "store_id"]);
    let compiled = compile(&Check::always(&subject, false), &subject);
    assert!(compiled.takes_bounds());
    insta::assert_snapshot!(compiled.sql());
}

#[test]
fn what_always_holds_without_a_key_and_with_empty_days() {
    let subject = given::subject(&[]);
    insta::assert_snapshot!(compile(&Check::always(&subject, true), &subject).sql());
}

#[test]
fn a_pipelines_own_checks() {
    let subject = given::subject(&["dt"]);
    let checks = [
        Check::error("rows", Rule::Rows { min: Some(1), max: None }),
        Check::error("not null", Rule::NotNull(given::names(&["store_id", "odd \"name\""]))),
        Check::warn("unique", Rule::Unique(given::names(&["order_no", "select"]))),
        Check::error("expression", Rule::Expression("total >= 0 -- never negative".into())),
    ];
    let compiled = compile(&checks, &subject);
    assert!(!compiled.takes_bounds());
    insta::assert_snapshot!(compiled.sql());
}
