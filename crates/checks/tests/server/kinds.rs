//! Each kind of a check on a column or of other tables: rows that keep it, rows that break it, nulls, no rows at all, odd
//! names.

use std::time::Duration;

use thrice_checks::{
    Check, CheckError, CheckQuery, CheckResult, ConstantType, Figure, Part, Rule, Share, Subject, Value, compile, run,
};
use thrice_core::{
    column_bounds::ColumnBounds,
    identifier::{Identifier, TableName},
    time::civil::date,
};
use tokio_postgres::Client;

use crate::support::{Scratch, names};

/// A search path with operators of its own shows that none of them is taken.
const SETUP: &str = r#"
    create schema trap;
    create function trap.never(int, int) returns bool language sql immutable as 'select false';
    create operator trap.= (leftarg = int, rightarg = int, function = trap.never);
    create operator trap.>= (leftarg = int, rightarg = int, function = trap.never);
    create schema s; create schema "D im";
    create table s."odd Stage" ("the ""day""" date, store int, total numeric, note text, at timestamptz, local timestamp, ok bool);
    create table "D im"."it's" ("the ""id""" bigint, region text);
    insert into "D im"."it's" values (1, 'a'), (2, 'b'), (2, null), (null, 'c');
    set search_path = trap, pg_catalog;
    set timezone = 'Asia/Seoul'"#;

fn subject() -> Subject {
    Subject {
        table: TableName::new(Identifier::new("s").unwrap(), Identifier::new("odd Stage").unwrap()),
        interval_column: Some(Identifier::new("the \"day\"").unwrap()),
        bounds: ColumnBounds::Dates { start: date(2026, 3, 24), end: date(2026, 3, 25) },
        start: "2026-03-23T15:00:00Z".parse().unwrap(),
        end: "2026-03-24T15:00:00Z".parse().unwrap(),
        key: names(&["the \"day\"", "store"]),
    }
}

fn column(name: &str) -> Identifier {
    Identifier::new(name).unwrap()
}

struct Table {
    _db: Scratch,
    client: Client,
}

impl Table {
    async fn new() -> Self {
        let (db, client) = Scratch::with(SETUP).await;
        Self { _db: db, client }
    }

    async fn fill(&mut self, columns: &str, rows: &str) {
        let insert = if rows.is_empty() {
            String::new()
        } else {
            format!("insert into s.\"odd Stage\" ({columns}) values {rows}")
        };
        self.client.batch_execute(&format!("truncate s.\"odd Stage\"; {insert}")).await.unwrap();
    }

    async fn try_check(&mut self, rule: &Rule) -> Result<CheckResult, CheckError> {
        let transaction = self.client.build_transaction().read_only(true).start().await.unwrap();
        // beside others, as in a run
        let mut checks = Check::always(&subject(), true);
        checks.push(Check::error("it", rule.clone()));
        checks.push(Check::error("expression", Rule::Expression("true".into())));
        let mut verdict = run(transaction.client(), &compile(&checks, &subject()), None).await?;
        Ok(verdict.results.remove(checks.len() - 2))
    }

    /// Whether it passes, and its figure.
    async fn check(&mut self, rule: &Rule) -> (bool, Option<i64>) {
        let result = self.try_check(rule).await.unwrap_or_else(|error| panic!("{rule:?}: {error:?}"));
        assert_eq!(result.passed, result.message.is_empty(), "{result:?}");
        let figure = result.observed.map(|figure| match figure {
            Figure::Count(count) => count,
            Figure::Decimal(text) => panic!("{text} is no count"),
        });
        (result.passed, figure)
    }
}

#[tokio::test]
async fn null_rate() {
    let mut table = Table::new().await;
    let rule = |max| Rule::NullRate { column: column("the \"day\""), max: Share::millionths(max).unwrap() };
    table.fill("\"the \"\"day\"\"\"", "").await;
    assert_eq!(table.check(&rule(0)).await, (true, Some(0)), "no rows have no nulls");
    table.fill("\"the \"\"day\"\"\"", "('2026-03-24'), (null), ('2026-03-24'), ('2026-03-24')").await;
    assert_eq!(table.check(&rule(250_000)).await, (true, Some(1)));
    assert_eq!(table.check(&rule(249_999)).await, (false, Some(1)));
    let told = table.try_check(&rule(10_000)).await.unwrap();
    assert_eq!(told.message, "1 of 4 rows (25%) with a null in the \"day\", at most 1% expected");
    assert_eq!(told.expected.to_string(), r#"{"max":"1%","null_rate":"the \"day\"","of_rows":4}"#);
}

#[tokio::test]
async fn range() {
    let mut table = Table::new().await;
    let rule = |name: &str, min: Option<Value>, max: Option<Value>| Rule::Range { column: column(name), min, max };
    let (two, four) = (Value::number("2"), Value::number("4"));
    table.fill("store, total", "").await;
    assert_eq!(table.check(&rule("store", two.clone(), four.clone())).await, (true, Some(0)));
    table.fill("store, total", "(2, 2), (4, 4), (null, null)").await;
    assert_eq!(table.check(&rule("store", two.clone(), four.clone())).await, (true, Some(0)), "both ends, and null");
    table.fill("store, total", "(1, 1.99), (5, 4.01), (3, 'NaN'), (-7, -7)").await;
    assert_eq!(table.check(&rule("store", two.clone(), four.clone())).await, (false, Some(3)));
    assert_eq!(table.check(&rule("store", two.clone(), None)).await, (false, Some(2)));
    assert_eq!(table.check(&rule("total", two, four.clone())).await, (false, Some(4)));
    assert_eq!(table.check(&rule("total", Value::number("-7"), None)).await, (true, Some(0)), "NaN is the greatest");
    assert_eq!(table.check(&rule("store", Value::number("-7.5"), Value::number("5e0"))).await, (true, Some(0)));
    let told = table.try_check(&rule("store", Value::number("-1"), four)).await.unwrap();
    assert_eq!(told.message, "2 rows with store not -1 to 4");
    assert_eq!(told.expected.to_string(), r#"{"max":4,"min":-1,"range":"store"}"#);

    let text = |text: &str| Some(Value::text(text));
    table
        .fill(
            "\"the \"\"day\"\"\", at, note",
            "('2026-03-24', '2026-03-24 00:00+09', 'it''s'), ('2026-03-23', '2026-03-23 23:59+09', 'a')",
        )
        .await;
    assert_eq!(table.check(&rule("the \"day\"", text("2026-03-24"), None)).await, (false, Some(1)));
    assert_eq!(
        table.check(&rule("at", text("2026-03-24"), text("infinity"))).await,
        (false, Some(1)),
        "in the session's zone"
    );
    assert_eq!(table.check(&rule("note", text("it's"), None)).await, (false, Some(1)));
}

#[tokio::test]
async fn accepted_values() {
    let mut table = Table::new().await;
    let rule = |name: &str, values: &[&str]| Rule::AcceptedValues {
        column: column(name),
        values: values.iter().map(|value| Value::text(*value)).collect(),
    };
    let odd = ["it's", r"back\slash", r#""quoted""#, "a,b", "NULL", "{}", ""];
    table.fill("note", "").await;
    assert_eq!(table.check(&rule("note", &odd)).await, (true, Some(0)));
    table.fill("note", r#"('it''s'), ('back\slash'), ('"quoted"'), ('a,b'), ('NULL'), ('{}'), (''), (null)"#).await;
    assert_eq!(table.check(&rule("note", &odd)).await, (true, Some(0)));
    assert_eq!(table.check(&rule("note", &["it's"])).await, (false, Some(6)), "null passes");
    table
        .fill("store, total, \"the \"\"day\"\"\", ok", "(1, 1.50, '2026-03-24', true), (2, 'NaN', '2026-03-25', false)")
        .await;
    for (name, one, both) in [
        ("store", &["1"], &["1", "2"]),
        ("total", &["1.5"], &["1.5", "NaN"]),
        ("the \"day\"", &["2026-03-24"], &["2026-03-24", "2026-03-25"]),
        ("ok", &["true"], &["true", "false"]),
    ] {
        assert_eq!(table.check(&rule(name, one)).await, (false, Some(1)), "{name}");
        assert_eq!(table.check(&rule(name, both)).await, (true, Some(0)), "{name}");
    }
    let told = table.try_check(&rule("store", &["1"])).await.unwrap();
    assert_eq!(told.message, "1 row with a value in store that is not accepted");
}

#[tokio::test]
async fn distinct() {
    let mut table = Table::new().await;
    let rule = |min, max| Rule::Distinct { column: column("the \"day\""), min, max };
    table.fill("\"the \"\"day\"\"\"", "").await;
    assert_eq!(table.check(&rule(Some(1), None)).await, (false, Some(0)));
    assert_eq!(table.check(&rule(None, Some(1))).await, (true, Some(0)));
    table.fill("\"the \"\"day\"\"\"", "('2026-03-24'), ('2026-03-24'), ('2026-03-25'), (null), (null)").await;
    assert_eq!(table.check(&rule(Some(2), Some(2))).await, (true, Some(2)), "null is no value");
    assert_eq!(table.check(&rule(Some(3), None)).await, (false, Some(2)));
    let told = table.try_check(&rule(None, Some(1))).await.unwrap();
    assert_eq!(told.message, "2 different values in the \"day\", at most 1 expected");
}

#[tokio::test]
async fn matches() {
    let mut table = Table::new().await;
    let rule = |pattern: &str| Rule::Matches { column: column("note"), pattern: pattern.to_owned() };
    table.fill("note", "").await;
    assert_eq!(table.check(&rule("^a")).await, (true, Some(0)));
    table.fill("note", r"('a1'), ('b2'), ('it''s \ 3'), (null), ('')").await;
    assert_eq!(table.check(&rule(r"\d$")).await, (false, Some(1)), "the empty string; null passes");
    assert_eq!(table.check(&rule("^[ab]")).await, (false, Some(2)));
    assert_eq!(table.check(&rule("^(?:a1|b2|it's \\\\ 3|)$")).await, (true, Some(0)));
    assert_eq!(table.check(&rule("(?i)A1|B2|S|^$")).await, (true, Some(0)));
    let error = table.try_check(&rule("(")).await.unwrap_err();
    assert_eq!(error.sqlstate().unwrap().as_str(), "2201B");
    assert!(error.to_string().starts_with("the check it cannot be evaluated: invalid regular expression"), "{error}");
}

#[tokio::test]
async fn references() {
    let mut table = Table::new().await;
    let other = TableName::parse("\"D im\".\"it's\"").unwrap();
    let rule = |columns: &[&str], key: &[&str]| Rule::References {
        columns: names(columns),
        table: other.clone(),
        key: names(key),
    };
    let id = rule(&["store"], &["the \"id\""]);
    table.fill("store", "").await;
    assert_eq!(table.check(&id).await, (true, Some(0)));
    table.fill("store, note", "(1, 'a'), (2, 'b'), (2, 'a'), (null, 'z'), (3, null)").await;
    assert_eq!(table.check(&id).await, (false, Some(1)));
    let both = rule(&["store", "note"], &["the \"id\"", "region"]);
    assert_eq!(table.check(&both).await, (false, Some(1)), "2, a; a null among them passes");
    let told = table.try_check(&both).await.unwrap();
    assert_eq!(told.message, "1 row with store, note that \"D im\".\"it's\" lacks");
    table.fill("store", "(1), (2), (2), (null)").await;
    assert_eq!(table.check(&id).await, (true, Some(0)));
}

#[tokio::test]
async fn freshness() {
    let mut table = Table::new().await;
    let rule = |name: &str, hours| Rule::Freshness { column: column(name), max_age: Duration::from_hours(hours) };
    table.fill("at", "").await;
    assert_eq!(table.check(&rule("at", 1000)).await, (false, None), "no row is fresh");
    table.fill("at", "(null), ('infinity')").await;
    let told = table.try_check(&rule("at", 1000)).await.unwrap();
    assert_eq!((told.passed, told.message.as_str()), (false, "no row has a time in at"));
    table
        .fill(
            "at, local, \"the \"\"day\"\"\"",
            "('2026-03-24 22:00+09', '2026-03-24 22:00', '2026-03-23'), ('-infinity', null, '2026-03-24'), (null, 'infinity', 'infinity')",
        )
        .await;
    for (name, hours) in [("at", 2), ("local", 2), ("the \"day\"", 24)] {
        let seconds = Some(i64::try_from(hours * 3600).unwrap());
        assert_eq!(table.check(&rule(name, hours)).await, (true, seconds), "{name}");
        assert_eq!(table.check(&rule(name, hours - 1)).await, (false, seconds), "{name}");
    }
    let told = table.try_check(&rule("at", 1)).await.unwrap();
    assert_eq!(told.message, "the newest at is 2h older than the end of the interval, at most 1h expected");
    // younger than the end of the interval
    table.fill("at", "('2026-03-25 01:00+09')").await;
    assert_eq!(table.check(&rule("at", 0)).await, (true, Some(-3600)));
}

#[tokio::test]
async fn a_query_of_ones_own() {
    let mut table = Table::new().await;
    let text = |text: &str| Part::Text(text.to_owned());
    let rule = |parts: Vec<Part>| Rule::Query(CheckQuery(parts));
    let far = rule(vec![
        text("with far as (select * from staged where \"the \"\"day\"\"\" <>"),
        Part::IntervalDate,
        text(" or at >="),
        Part::IntervalEnd,
        text(" or at <"),
        Part::IntervalStart,
        text(" or note ="),
        Part::Constant { text: r"it's \ here".to_owned(), of: ConstantType::Text },
        text(") select * from far cross join (select 1) one -- and no more"),
    ]);
    table.fill("at", "").await;
    assert_eq!(table.check(&far).await, (true, Some(0)));
    table.fill("\"the \"\"day\"\"\", at, note", "('2026-03-24', '2026-03-24 00:00+09', 'a'), (null, null, null)").await;
    assert_eq!(table.check(&far).await, (true, Some(0)));
    table
        .fill(
            "\"the \"\"day\"\"\", at, note",
            r"('2026-03-23', null, null), ('2026-03-24', '2026-03-25 00:00+09', null), (null, '2026-03-23 23:59+09', null), (null, null, 'it''s \ here')",
        )
        .await;
    assert_eq!(table.check(&far).await, (false, Some(4)));
    let told = table.try_check(&far).await.unwrap();
    assert_eq!(told.message, "the query finds 4 rows, none expected");
    // two of them, and the same table read twice
    let twice = rule(vec![text("select 1 from staged a join staged b using (store) where a.note = 'never'")]);
    assert_eq!(table.check(&twice).await, (true, Some(0)));
    // a name that only the rows have is no name here
    let error = table.try_check(&rule(vec![text("select 1 where store = 1")])).await.unwrap_err();
    assert_eq!(error.to_string(), "the check it cannot be evaluated: column \"store\" does not exist");
    let error = table.try_check(&rule(vec![text("select nextval('s.q')")])).await.unwrap_err();
    assert!(matches!(error, CheckError::Check { .. }), "{error}");
}

#[tokio::test]
async fn what_does_not_fit_the_column_is_told_by_the_name_of_the_check() {
    let mut table = Table::new().await;
    table.fill("store, note", "(1, 'canary')").await;
    let rules = [
        Rule::NullRate { column: column("nope"), max: Share::millionths(0).unwrap() },
        Rule::Range { column: column("store"), min: Some(Value::text("low")), max: None },
        Rule::Range { column: column("note"), min: Value::number("1"), max: None },
        Rule::AcceptedValues { column: column("store"), values: vec![Value::text("one")] },
        Rule::Matches { column: column("store"), pattern: "1".to_owned() },
        Rule::References {
            columns: names(&["note"]),
            table: TableName::parse("\"D im\".\"it's\"").unwrap(),
            key: names(&["the \"id\""]),
        },
        Rule::References {
            columns: names(&["note"]),
            table: TableName::parse("no.such").unwrap(),
            key: names(&["id"]),
        },
        Rule::Freshness { column: column("note"), max_age: Duration::ZERO },
        Rule::NotNull(names(&["nope"])),
    ];
    for rule in rules {
        let error = table.try_check(&rule).await.unwrap_err();
        assert!(matches!(&error, CheckError::Check { name, .. } if name == "it"), "{rule:?}: {error}");
        assert!(!error.to_string().contains("canary"), "{error}");
    }
}
