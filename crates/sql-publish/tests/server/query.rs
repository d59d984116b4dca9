//! The server as the gate of the user's query.

use thrice_sql_publish::{
    CancellationToken, PublishError, SqlValue,
    query::{QueryColumn, UserQuery, describe},
    session::Session,
};
use tokio_postgres::Client;

use crate::support::{Scratch, code, id, one, timeouts};

async fn ask(client: &mut Client, text: &str) -> Result<Vec<QueryColumn>, PublishError> {
    let query = UserQuery::new(text, vec![SqlValue::Instant("2026-03-24T00:00:00Z".parse().unwrap())]);
    describe(client, &query, &Session::in_zone("UTC"), &timeouts(), &CancellationToken::new()).await
}

#[tokio::test]
async fn names_and_types_come_from_the_server() {
    let (_db, mut client) = Scratch::with("create type mood as enum ('ok', 'bad')").await;
    let columns =
        ask(&mut client, "select $1::timestamptz as \"at \"\"x\", 'ok'::mood as m, 'x' as t, array[1] -- the end")
            .await
            .unwrap();
    let columns: Vec<(&str, &str)> = columns.iter().map(|c| (c.name.as_str(), c.type_name.as_str())).collect();
    assert_eq!(columns, [("at \"x", "timestamptz"), ("m", "mood"), ("t", "text"), ("array", "_int4")]);
}

#[tokio::test]
async fn whatever_is_not_one_select_is_refused_and_nothing_happens() {
    let (_db, mut client) = Scratch::with("create table victim (id int); insert into victim values (1)").await;
    for (text, sqlstate) in [
        ("select 1; drop table victim", "42601"),
        ("select 1) q; drop table victim; --", "42601"),
        ("with gone as (delete from victim returning *) select * from gone", "0A000"),
        ("select 1 as a into other", "42601"),
        ("delete from victim", "42601"),
        ("", "42601"),
    ] {
        let error = ask(&mut client, text).await.unwrap_err();
        assert_eq!(code(&error), sqlstate, "{text}");
    }
    assert_eq!(one(&client, "select count(*) from victim").await, "1");
}

#[tokio::test]
async fn positions_count_characters_of_the_users_own_text() {
    let (_db, mut client) = Scratch::with("create table t (a int)").await;
    let text = "select '한글 ü' as x, nope from t";
    let error = ask(&mut client, text).await.unwrap_err();
    assert_eq!(code(&error), "42703");
    let at = error.position().unwrap();
    assert_eq!(text.chars().skip(at - 1).collect::<String>(), "nope from t");
    let text = "select (1";
    assert_eq!(
        ask(&mut client, text).await.unwrap_err().position(),
        Some(text.len() + 1),
        "behind the text means its end"
    );
}

#[tokio::test]
async fn the_users_path_finds_the_users_tables() {
    let (_db, mut client) = Scratch::with("create schema \"Odd one\"; create table \"Odd one\".t (a int)").await;
    let query = UserQuery::new("select a from t", vec![]);
    let mut session = Session::in_zone("UTC");
    let stop = CancellationToken::new();
    assert_eq!(code(&describe(&mut client, &query, &session, &timeouts(), &stop).await.unwrap_err()), "42P01");
    session.search_path = Some(vec![id("nowhere"), id("Odd one")]);
    assert_eq!(describe(&mut client, &query, &session, &timeouts(), &stop).await.unwrap().len(), 1);
    assert_eq!(one(&client, "show search_path").await, "\"$user\", public", "nothing leaks out of the transaction");
}

#[tokio::test]
async fn no_plan_stays_on_the_server() {
    let (_db, mut client) = Scratch::with("create table t (a int)").await;
    ask(&mut client, "select a from t").await.unwrap();
    assert_eq!(one(&client, "select count(*) from pg_prepared_statements where statement like '%from t%'").await, "0");
}
