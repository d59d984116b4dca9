//! An aggregate of staged rows against a figure of the source, on a server.

use thrice_checks::{CheckQuery, Decimal, Figures, Part, Reconciliation, Severity, Share, Tolerance};
use thrice_core::identifier::TableName;
use tokio_postgres::types::{ToSql, Type};
use tokio_postgres::{Client, Error};

use crate::support::Scratch;

const SETUP: &str = "create schema s; create schema other;
    create table s.\"odd Stage\" (v numeric, f float8);
    create table src (at timestamptz, v numeric);
    create function other.never(numeric, numeric) returns bool language sql as 'select true';
    create operator other.= (leftarg = numeric, rightarg = numeric, function = other.never);
    create operator other.<= (leftarg = numeric, rightarg = numeric, function = other.never);
    set search_path = other, public, pg_catalog";

fn check(ours: &str, theirs: Vec<Part>, tolerance: Tolerance) -> Reconciliation {
    Reconciliation {
        name: "sums".to_owned(),
        severity: Severity::Error,
        ours: ours.to_owned(),
        theirs: CheckQuery(theirs),
        tolerance,
    }
}

fn exactly(number: &str) -> Tolerance {
    Tolerance::Absolute(Decimal::parse(number).unwrap())
}

fn share(millionths: u32) -> Tolerance {
    Tolerance::Relative(Share::millionths(millionths).unwrap())
}

async fn ask(client: &Client, check: &Reconciliation) -> Result<Figures, Error> {
    let (start, end) = (
        "2026-03-24T00:00:00Z".parse::<jiff::Timestamp>().unwrap(),
        "2026-03-25T00:00:00Z".parse::<jiff::Timestamp>().unwrap(),
    );
    let mut values: Vec<(&(dyn ToSql + Sync), Type)> = Vec::new();
    if check.takes_interval() {
        values = vec![(&start, Type::TIMESTAMPTZ), (&end, Type::TIMESTAMPTZ)];
    }
    let row = client.query_typed_one(&check.statement(&TableName::parse("s.\"odd Stage\"").unwrap()), &values).await?;
    Ok(Figures { ours: row.get(0), theirs: row.get(1), difference: row.get(2), agree: row.get(3) })
}

/// With these values staged, `sum(v)` against a figure.
async fn agree(client: &Client, staged: &str, theirs: &str, tolerance: Tolerance) -> bool {
    let fill =
        format!("truncate s.\"odd Stage\"; insert into s.\"odd Stage\" (v) select unnest(array[{staged}]::numeric[])");
    client.batch_execute(&fill).await.unwrap();
    let check = check("sum(v)", vec![Part::Text(format!("select {theirs} -- the source"))], tolerance);
    let figures = ask(client, &check).await.unwrap();
    let result = check.judge(&figures);
    assert_eq!(result.passed, result.message.is_empty());
    result.passed
}

#[tokio::test]
async fn exactly_the_tolerance_passes() {
    let (_db, client) = Scratch::with(SETUP).await;
    for (staged, theirs, tolerance, passes) in [
        ("1, 2", "3", exactly("0"), true),
        ("1, 2", "3.00", exactly("0"), true),
        ("1, 2.01", "3", exactly("0"), false),
        ("1, 2.01", "3", exactly("0.01"), true),
        ("1, 2.011", "3", exactly("0.01"), false),
        ("999", "1000", share(1_000), true),
        ("1001", "1000", share(1_000), true),
        ("998.9", "1000", share(1_000), false),
        ("-999", "-1000", share(1_000), true),
        ("0.1", "0", share(1_000_000), false),
        ("0", "0", share(0), true),
    ] {
        assert_eq!(agree(&client, staged, theirs, tolerance.clone()).await, passes, "{staged} {theirs} {tolerance:?}");
    }
}

/// Null is a figure of its own, and so are NaN and the infinities.
#[tokio::test]
async fn nulls_agree_with_nulls_alone() {
    let (_db, client) = Scratch::with(SETUP).await;
    for (staged, theirs, passes) in [
        ("", "null", true),
        ("null", "null", true),
        ("", "0", false),
        ("0", "null", false),
        ("0", "(select 1 where false)", false),
        ("'NaN'", "'NaN'", true),
        ("'NaN'", "1", false),
        ("1", "'NaN'", false),
        ("'Infinity'", "'Infinity'", true),
        ("'Infinity'", "'-Infinity'", false),
    ] {
        assert_eq!(agree(&client, staged, theirs, exactly("5")).await, passes, "{staged} {theirs}");
    }
}

/// The source is asked for the interval; a bare name in it means no column of the staged rows.
#[tokio::test]
async fn the_source_is_asked_for_the_interval() {
    let (_db, client) = Scratch::with(SETUP).await;
    client
        .batch_execute(
            "insert into src values ('2026-03-24 00:00Z', 1), ('2026-03-24 23:59Z', 2), ('2026-03-25 00:00Z', 4);
             insert into s.\"odd Stage\" values (3, 3)",
        )
        .await
        .unwrap();
    let text = |text: &str| Part::Text(text.to_owned());
    let theirs =
        vec![text("select sum(v) from src where at >="), Part::IntervalStart, text(" and at <"), Part::IntervalEnd];
    for ours in ["sum(v)", "sum(f)", "count(*) * 3 /* rows */"] {
        let figures = ask(&client, &check(ours, theirs.clone(), exactly("0"))).await.unwrap();
        assert!(figures.agree, "{ours}: {figures:?}");
    }
    for (ours, theirs, state) in [
        ("v", "select 3", "42803"),
        ("sum(v)", "select f", "42703"),
        ("sum(v)", "select v from src", "21000"),
        ("sum(v)", "select v, v from src", "42601"),
        ("max(at)", "select 3", "42703"),
    ] {
        let error = ask(&client, &check(ours, vec![text(theirs)], exactly("0"))).await.unwrap_err();
        assert_eq!(error.code().map(tokio_postgres::error::SqlState::code), Some(state), "{ours} {theirs}: {error}");
    }
}
