//! Against a real PostgreSQL, named by `THRICE_TEST_DATABASE_URL` (a superuser; TCP or socket).
#![expect(clippy::unwrap_used, clippy::panic, reason = "helpers of tests, too, stop at the first surprise")]

use std::time::Duration;

use sqlx::Connection as _;
use thrice_connect::{ConnectError, ConnectionSettings, DataConnection, Sources, connect, connect_within};
use thrice_local_postgres::{LocalPostgres, Surroundings};

fn settings() -> ConnectionSettings {
    let url = std::env::var("THRICE_TEST_DATABASE_URL")
        .unwrap_or_else(|_| panic!("THRICE_TEST_DATABASE_URL is not set: run the tests through `cargo xtask test`"));
    let sources = Sources { flag_url: Some(url), ..Sources::of_process(None, None).0 };
    ConnectionSettings::resolve(&sources).unwrap().unwrap().0
}

async fn refusal(settings: &ConnectionSettings) -> ConnectError {
    connect(settings).await.unwrap_err()
}

async fn text(connection: &DataConnection, sql: &str) -> String {
    connection.client.query_one(sql, &[]).await.unwrap().get(0)
}

#[tokio::test]
async fn both_drivers_reach_the_same_session_settings() {
    let settings = settings()
        .with_application_name("thrice-connect-test")
        .with_option("search_path", r#""odd schema", pg_catalog"#)
        .with_option("work_mem", "3MB");
    let sql = "select concat_ws('|', current_user, current_database(), current_setting('application_name'), \
               current_setting('search_path'), current_setting('work_mem'))";
    let ours = connect(&settings).await.unwrap();
    let by_tokio_postgres = text(&ours, sql).await;
    let mut other = sqlx::PgConnection::connect_with(&settings.sqlx()).await.unwrap();
    let by_sqlx: String = sqlx::query_scalar(sql).fetch_one(&mut other).await.unwrap();
    assert_eq!(by_tokio_postgres, by_sqlx);
    assert!(by_sqlx.ends_with(r#"|thrice-connect-test|"odd schema", pg_catalog|3MB"#), "{by_sqlx}");
    assert!(ours.server_version().unwrap().major() >= 15);
}

#[tokio::test]
async fn a_connection_terminated_while_idle_says_so_with_its_sqlstate() {
    let settings = settings();
    let victim = connect(&settings).await.unwrap();
    let killer = connect(&settings).await.unwrap();
    assert_eq!(victim.closed_because(), None);
    let pid: i32 = victim.client.query_one("select pg_backend_pid()", &[]).await.unwrap().get(0);
    // The driver closes the statement on its own after the query; an answer behind that proves the session idle. Where
    // the end meets a message that is under way, it is taken for the answer to that, and its SQLSTATE is lost.
    victim.client.batch_execute("").await.unwrap();
    killer.client.execute("select pg_terminate_backend($1)", &[&pid]).await.unwrap();
    let because = tokio::time::timeout(Duration::from_secs(5), victim.closed()).await.unwrap();
    assert_eq!(because.sqlstate.as_deref(), Some("57P01"));
    // The call itself has no SQLSTATE: the reason is known only from the connection.
    let error = victim.client.query_one("select 1", &[]).await.unwrap_err();
    assert!(error.is_closed() && error.code().is_none());
    assert_eq!(victim.closed_because(), Some(because));
}

#[tokio::test]
async fn notices_are_counted_and_the_newest_hundred_kept() {
    let connection = connect(&settings()).await.unwrap();
    connection
        .client
        .batch_execute("do $$ begin for i in 1..120 loop raise warning 'nr %', i; end loop; end $$")
        .await
        .unwrap();
    assert_eq!(connection.notice_count(), 120);
    let kept = connection.take_notices();
    assert_eq!(kept.len(), 100);
    let newest = kept.last().unwrap();
    assert_eq!(
        (newest.severity.as_str(), newest.sqlstate.as_str(), newest.message.as_str()),
        ("WARNING", "01000", "nr 120")
    );
    assert!(connection.take_notices().is_empty());
}

#[tokio::test]
async fn a_missing_database_and_a_wrong_setting_are_told_apart() {
    let settings = settings();
    let missing = refusal(&settings.clone().with_database("no such db")).await;
    assert_eq!((missing.code(), missing.sqlstate()), ("TH0405", Some("3D000")));
    assert!(missing.to_string().contains("no such db"));
    assert!(!missing.is_transient());

    let option = refusal(&settings.clone().with_option("work_mem", "plenty")).await;
    assert_eq!((option.code(), option.sqlstate()), ("TH0402", Some("22023")));
}

/// The server of the other tests may trust everybody; a private one never does.
#[tokio::test]
async fn a_wrong_password_is_said_and_not_shown() {
    let base = tempfile::tempdir().unwrap();
    std::fs::set_permissions(base.path(), std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let local = LocalPostgres::of_project(base.path());
    let mut here = Surroundings::of_process();
    here.thrice_pg_bin = std::env::var_os("THRICE_TEST_PG_BIN").map(Into::into).or(here.thrice_pg_bin);
    let running = local.ensure_running(&here, "shop").await.unwrap();
    let socket = running.socket_dir.to_str().unwrap();
    let settings = ConnectionSettings::new(socket, running.port, running.user, running.database);

    let wrong = refusal(&settings.clone().with_password("QZXJ")).await;
    let none = refusal(&settings).await;
    let right = connect(&settings.with_password(running.password)).await;
    let right_is_ok = right.map(DataConnection::abandon).is_ok();
    local.stop(true).await.unwrap();

    assert_eq!((wrong.code(), wrong.sqlstate()), ("TH0404", Some("28P01")));
    assert!(!format!("{wrong} {wrong:?} {}", wrong.fix()).contains("QZXJ"));
    assert!(!wrong.is_transient());
    assert_eq!(none.code(), "TH0404");
    assert!(none.fix().contains("PGPASSWORD"), "{}", none.fix());
    assert!(right_is_ok, "the right password was refused");
}

#[tokio::test]
async fn an_unreachable_server_is_tried_within_the_budget() {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    drop(listener);
    let closed = ConnectionSettings::new("127.0.0.1", port, "u", "d");
    let error = connect_within(&closed, Duration::from_millis(700)).await.unwrap_err();
    let (tries, waited) = error.tries();
    assert_eq!(error.code(), "TH0403");
    assert!(tries >= 2 && waited < Duration::from_secs(2), "{tries} in {waited:?}");
    assert!(error.to_string().contains(&format!("127.0.0.1:{port}, tried {tries} times")), "{error}");

    let no_socket = refusal(&ConnectionSettings::new("/nowhere", 1, "u", "d")).await;
    assert_eq!(no_socket.code(), "TH0403");
    assert!(no_socket.to_string().contains("/nowhere/.s.PGSQL.1"), "{no_socket}");
}

#[tokio::test]
async fn a_server_that_never_answers_is_given_up() {
    // Accepts (the backlog does) and says nothing.
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let silent =
        ConnectionSettings::new("127.0.0.1", port, "u", "d").with_connect_timeout(Some(Duration::from_millis(300)));
    let error = refusal(&silent).await;
    assert_eq!(error.code(), "TH0403");
    assert!(error.to_string().contains("0.3 s"), "{error}");
}

#[tokio::test]
async fn a_server_that_hangs_up_is_unreachable() {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            drop(stream);
        }
    });
    let error = refusal(&ConnectionSettings::new("127.0.0.1", port, "u", "d")).await;
    assert_eq!(error.code(), "TH0403");
}

#[tokio::test]
async fn abandoning_leaves_no_time_for_a_farewell_and_closing_gives_it() {
    let settings = settings();
    let watcher = connect(&settings).await.unwrap();
    let sessions = async |name: &str| -> i64 {
        let sql = "select count(*) from pg_stat_activity where application_name = $1";
        watcher.client.query_one(sql, &[&name]).await.unwrap().get(0)
    };
    for (name, graceful) in [("connect-closed", true), ("connect-abandoned", false)] {
        let connection = connect(&settings.clone().with_application_name(name)).await.unwrap();
        assert_eq!(sessions(name).await, 1);
        if graceful {
            connection.close(Duration::from_secs(1)).await;
        } else {
            connection.abandon();
        }
        let begun = std::time::Instant::now();
        while sessions(name).await > 0 {
            assert!(begun.elapsed() < Duration::from_secs(5), "{name} is still there");
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }
}
