//! The one statement of a set of checks, word for word. Needs no server.

use std::time::Duration;

use thrice_checks::{Check, CheckQuery, ConstantType, Part, Rule, Share, Subject, Value, compile};
use thrice_core::{
    column_bounds::ColumnBounds,
    identifier::{Identifier, TableName},
    time::civil::date,
};
use tokio_postgres::types::Type;

#[cfg(test)]
mod given {
    use super::{ColumnBounds, Identifier, Subject, TableName, date};

    pub(crate) fn names(names: &[&str]) -> Vec<Identifier> {
        names.iter().map(|name| Identifier::new(*name).unwrap()).collect()
    }

    pub(crate) fn subject(key: &[&str]) -> Subject {
        Subject {
            table: TableName::parse("thrice_staging.s_1").unwrap(),
            interval_column: Some(Identifier::new("dt").unwrap()),
            bounds: ColumnBounds::Dates { start: date(2026, 3, 24), end: date(2026, 3, 25) },
            start: "2026-03-24T00:00:00Z".parse().unwrap(),
            end: "2026-03-25T00:00:00Z".parse().unwrap(),
            key: names(key),
        }
    }
}

#[test]
fn what_always_holds() {
    let subject = given::subject(&["dt", "store_id"]);
    let compiled = compile(&Check::always(&subject, false), &subject);
    assert_eq!(compiled.types(), [Type::DATE, Type::DATE]);
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
        Check::error("rows", Rule::Rows { min: Some(1), max: None, change: None }),
        Check::error("not null", Rule::NotNull(given::names(&["store_id", "odd \"name\""]))),
        Check::warn("unique", Rule::Unique(given::names(&["order_no", "select"]))),
        Check::error("expression", Rule::Expression("total >= 0 -- never negative".into())),
    ];
    let compiled = compile(&checks, &subject);
    assert_eq!(compiled.types(), []);
    insta::assert_snapshot!(compiled.sql());
}

#[test]
fn checks_of_columns() {
    let subject = given::subject(&["dt"]);
    let odd = || Identifier::new("the \"day\"").unwrap();
    let checks = [
        Check::error("null rate", Rule::NullRate { column: odd(), max: Share::millionths(10_000).unwrap() }),
        Check::error("numbers", Rule::Range { column: odd(), min: Value::number("-0.5"), max: Value::number("2e3") }),
        Check::error("text", Rule::Range { column: odd(), min: Some(Value::text(r"it's \ here")), max: None }),
        Check::error(
            "accepted values",
            Rule::AcceptedValues {
                column: odd(),
                values: vec![Value::text(r#"a "quoted" \ it's"#), Value::text("NULL"), Value::number("5").unwrap()],
            },
        ),
        Check::error("distinct", Rule::Distinct { column: odd(), min: Some(1), max: None }),
        Check::warn("matches", Rule::Matches { column: odd(), pattern: r"^\d+'$".into() }),
    ];
    let compiled = compile(&checks, &subject);
    assert_eq!(compiled.types(), []);
    insta::assert_snapshot!(compiled.sql());
}

#[test]
fn checks_that_look_beside_the_rows() {
    let subject = given::subject(&["dt"]);
    let checks = [
        Check::error(
            "references",
            Rule::References {
                columns: given::names(&["store_id", "the \"day\""]),
                table: TableName::parse("dim.\"Stores\"").unwrap(),
                key: given::names(&["id", "day"]),
            },
        ),
        Check::error(
            "freshness",
            Rule::Freshness { column: Identifier::new("at").unwrap(), max_age: Duration::from_mins(90) },
        ),
        Check::error(
            "sql",
            Rule::Query(CheckQuery(vec![
                Part::Text("select 1 from staged where dt <".into()),
                Part::IntervalDate,
                Part::Text(" or at >=".into()),
                Part::IntervalEnd,
                Part::Text(" or region <>".into()),
                Part::Constant { text: "it's".into(), of: ConstantType::Text },
                Part::Text(" -- none".into()),
            ])),
        ),
        Check::error("another", Rule::Query(CheckQuery(vec![Part::Text("select 1 from staged".into())]))),
    ];
    let compiled = compile(&checks, &subject);
    assert_eq!(compiled.types(), [Type::DATE, Type::DATE, Type::TIMESTAMPTZ, Type::TIMESTAMPTZ]);
    insta::assert_snapshot!(compiled.sql());
}
