//! Each rule on rows that keep it and rows that break it.

use thrice_checks::{Check, CheckError, Compiled, Figure, Rule, Subject, Verdict, compile, run, sample_keys};
use thrice_core::{
    code::ErrorCode,
    column_bounds::ColumnBounds,
    identifier::{Identifier, TableName},
    time::civil::date,
};
use tokio_postgres::Client;

use crate::support::{Scratch, names};

const TABLE: &str =
    "create schema s; create table s.\"odd Stage\" (\"the \"\"day\"\"\" date, store int, total numeric, note text)";

fn subject() -> Subject {
    Subject {
        table: TableName::new(Identifier::new("s").unwrap(), Identifier::new("odd Stage").unwrap()),
        interval_column: Some(Identifier::new("the \"day\"").unwrap()),
        bounds: ColumnBounds::Dates { start: date(2026, 3, 24), end: date(2026, 3, 25) },
        start: "2026-03-24T00:00:00Z".parse().unwrap(),
        end: "2026-03-25T00:00:00Z".parse().unwrap(),
        key: names(&["the \"day\"", "store"]),
    }
}

async fn evaluate(client: &mut Client, checks: &[Check]) -> Result<Verdict, CheckError> {
    let compiled = compile(checks, &subject());
    let transaction = client.build_transaction().read_only(true).start().await.unwrap();
    run(transaction.client(), &compiled, None).await
}

async fn fill(client: &Client, rows: &str) {
    client
        .batch_execute(&format!("truncate s.\"odd Stage\"; insert into s.\"odd Stage\" values {rows}"))
        .await
        .unwrap();
}

async fn observed(client: &mut Client, rule: Rule) -> i64 {
    let verdict = evaluate(client, &[Check::error("it", rule)]).await.unwrap();
    let Some(Figure::Count(count)) = verdict.results[0].observed else { panic!("{verdict:?}") };
    count
}

#[tokio::test]
async fn sound_rows_pass_in_one_statement() {
    let (_db, mut client) = Scratch::with(TABLE).await;
    fill(&client, "('2026-03-24', 1, 5, 'a'), ('2026-03-24', 2, 'NaN', null)").await;
    let mut checks = Check::always(&subject(), false);
    checks.extend([
        Check::error("rows", Rule::Rows { min: Some(2), max: Some(2), change: None }),
        Check::error("total", Rule::NotNull(names(&["total"]))),
        Check::error("unique store", Rule::Unique(names(&["store"]))),
        Check::error("positive", Rule::Expression("total >= 0 -- NaN is greater than all".into())),
    ]);
    let verdict = evaluate(&mut client, &checks).await.unwrap();
    assert!(verdict.passed(), "{verdict:?}");
    assert_eq!(verdict.results.len(), 8);
    assert!(verdict.results.iter().all(|result| result.message.is_empty()));
}

#[tokio::test]
async fn rows_outside_the_interval_and_rows_without_one_are_counted() {
    let (_db, mut client) = Scratch::with(TABLE).await;
    fill(&client, "('2026-03-23', 1), ('2026-03-24', 2), ('2026-03-25', 3), (null, 4), (null, 5), ('infinity', 6)")
        .await;
    let verdict = evaluate(&mut client, &[Check::error("inside", Rule::InsideInterval)]).await.unwrap();
    assert_eq!(verdict.results[0].observed, Some(5.into()));
    assert_eq!(verdict.code(), Some(ErrorCode::RowsOutside));
    assert!(verdict.results[0].message.starts_with("5 rows outside"), "{}", verdict.results[0].message);
}

#[tokio::test]
async fn an_instant_at_the_end_belongs_to_the_next_interval() {
    let (_db, mut client) = Scratch::with(
        "create table public.t (at timestamptz, local timestamp); set timezone = 'America/New_York'; \
         insert into t select x, x at time zone 'UTC' from (values (timestamptz '2026-11-01 05:59:59.999999Z'), ('2026-11-01 06:00Z'), ('2026-11-01 06:59:59.999999Z'), ('2026-11-01 07:00Z')) v (x)",
    )
    .await;
    let (start, end) = ("2026-11-01T06:00:00", "2026-11-01T07:00:00");
    let instants =
        ColumnBounds::Instants { start: format!("{start}Z").parse().unwrap(), end: format!("{end}Z").parse().unwrap() };
    let locals = ColumnBounds::LocalTimes { start: start.parse().unwrap(), end: end.parse().unwrap() };
    for (column, bounds) in [("at", instants), ("local", locals)] {
        let subject = Subject {
            table: TableName::parse("public.t").unwrap(),
            interval_column: Some(Identifier::new(column).unwrap()),
            bounds,
            start: format!("{start}Z").parse().unwrap(),
            end: format!("{end}Z").parse().unwrap(),
            key: Vec::new(),
        };
        let transaction = client.transaction().await.unwrap();
        let verdict =
            run(transaction.client(), &compile(&[Check::error("inside", Rule::InsideInterval)], &subject), None)
                .await
                .unwrap();
        assert_eq!(verdict.results[0].observed, Some(2.into()), "{column}");
    }
}

#[tokio::test]
async fn keys_are_whole_and_come_once() {
    let (_db, mut client) = Scratch::with(TABLE).await;
    fill(&client, "('2026-03-24', 1), ('2026-03-24', 1), ('2026-03-24', 1), ('2026-03-24', 2), (null, 3), ('2026-03-24', null), ('2026-03-24', null)").await;
    assert_eq!(observed(&mut client, Rule::KeyNotNull).await, 3);
    assert_eq!(observed(&mut client, Rule::KeyUnique).await, 3, "two too many of store 1, and one of the nulls");
    assert_eq!(
        observed(&mut client, Rule::Unique(names(&["the \"day\"", "store"]))).await,
        2,
        "nulls agree with nobody"
    );
}

#[tokio::test]
async fn an_expression_fails_where_it_is_false_and_not_where_it_is_null() {
    let (_db, mut client) = Scratch::with(TABLE).await;
    fill(&client, "('2026-03-24', 1, 5), ('2026-03-24', 2, -1), ('2026-03-24', 3, null), ('2026-03-24', 4, -2)").await;
    assert_eq!(observed(&mut client, Rule::Expression("total >= 0".into())).await, 2);
    assert_eq!(observed(&mut client, Rule::NotNull(names(&["total", "store"]))).await, 1);
    assert_eq!(observed(&mut client, Rule::Rows { min: None, max: None, change: None }).await, 4);
}

#[tokio::test]
async fn an_empty_result_is_empty_and_breaks_nothing_else() {
    let (_db, mut client) = Scratch::with(TABLE).await;
    let verdict = evaluate(&mut client, &Check::always(&subject(), false)).await.unwrap();
    let failed: Vec<&str> = verdict.failures().map(|result| result.name.as_str()).collect();
    assert_eq!(failed, ["not empty"]);
    assert!(evaluate(&mut client, &Check::always(&subject(), true)).await.unwrap().passed());
}

#[tokio::test]
async fn a_faulty_expression_is_named_among_many() {
    let (_db, mut client) = Scratch::with(TABLE).await;
    fill(&client, "('2026-03-24', 1, 0, 'canary')").await;
    for (text, sqlstate, at) in [
        ("total >= 0 and 한글 > 1", "42703", Some(16)),
        ("total +", "42601", Some(8)),
        ("1 / total > 0", "22012", None),
        ("note::int > 0", "22P02", None),
        ("total", "42804", None),
        ("sum(total) > 0", "42803", Some(1)),
    ] {
        let mut checks = Check::always(&subject(), false);
        checks.push(Check::error("sound", Rule::Expression("store > 0".into())));
        checks.push(Check::error("the faulty one", Rule::Expression(text.into())));
        let error = evaluate(&mut client, &checks).await.unwrap_err();
        assert_eq!(error.sqlstate().unwrap().as_str(), sqlstate, "{text}");
        assert!(!error.to_string().contains("canary"), "{error}");
        let CheckError::Check { name, position, .. } = error else { panic!("{text}: {error}") };
        assert_eq!(name, "the faulty one");
        if at.is_some() {
            assert_eq!(position, at, "{text}");
        }
    }
}

#[tokio::test]
async fn the_transaction_survives_a_faulty_expression() {
    let (_db, mut client) = Scratch::with(TABLE).await;
    let transaction = client.transaction().await.unwrap();
    let faulty = compile(&[Check::error("faulty", Rule::Expression("nope".into()))], &subject());
    assert!(matches!(run(transaction.client(), &faulty, None).await, Err(CheckError::Check { .. })));
    let sound = compile(&[Check::error("sound", Rule::NotEmpty)], &subject());
    assert!(!run(transaction.client(), &sound, None).await.unwrap().passed());
}

#[tokio::test]
async fn a_lost_connection_is_not_taken_for_a_failed_check() {
    let (_db, mut client) = Scratch::with(TABLE).await;
    fill(&client, "('2026-03-24', 1)").await;
    let ends = Check::error("ends", Rule::Expression("pg_terminate_backend(pg_backend_pid())".into()));
    let error = evaluate(&mut client, &[ends]).await.unwrap_err();
    assert!(matches!(error, CheckError::Database(_)), "{error}");
    assert!(error.is_connection_lost());
}

#[tokio::test]
async fn sample_keys_come_only_when_asked_for() {
    let (_db, mut client) = Scratch::with(TABLE).await;
    fill(&client, "('2026-03-24', 1), ('2026-03-24', 1), ('2026-03-24', 2), ('2026-03-23', 3), (null, 4)").await;
    let checks = Check::always(&subject(), false);
    let compiled: Compiled = compile(&checks, &subject());
    let transaction = client.transaction().await.unwrap();
    let verdict = run(transaction.client(), &compiled, None).await.unwrap();
    assert!(
        !serde_json::to_string(&verdict.results).unwrap().contains("2026-03"),
        "a verdict holds counts, never values"
    );
    for (rule, expected) in [
        (Rule::InsideInterval, r#"[{"the \"day\"":"2026-03-23","store":"3"},{"the \"day\"":null,"store":"4"}]"#),
        (Rule::KeyUnique, r#"[{"the \"day\"":"2026-03-24","store":"1"},{"the \"day\"":"2026-03-24","store":"1"}]"#),
        (Rule::KeyNotNull, r#"[{"the \"day\"":null,"store":"4"}]"#),
        (
            Rule::Expression("store < 3".into()),
            r#"[{"the \"day\"":"2026-03-23","store":"3"},{"the \"day\"":null,"store":"4"}]"#,
        ),
        (Rule::NotEmpty, "[]"),
    ] {
        let keys = sample_keys(transaction.client(), &compiled, &Check::error("it", rule.clone()), 3).await.unwrap();
        let expected: Vec<serde_json::Value> = serde_json::from_str(expected).unwrap();
        assert_eq!(keys, expected, "{rule:?}");
    }
}
