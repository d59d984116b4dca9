//! The schema: made once, by whoever comes first, and only in `thrice*`.

use thrice_ledger::{ErrorKind, Ledger};

use crate::support::Scratch;

#[tokio::test]
async fn migrating_twice_changes_nothing() {
    let db = Scratch::empty().await;
    let ledger = Ledger::open(&db.settings()).await.unwrap();
    let before = ledger.migration_info().await.unwrap();
    assert_eq!(before.current, None);
    assert_eq!(before.pending.first(), Some(&(1, "ledger".to_owned())));
    assert_eq!(*ledger.ensure_current().await.unwrap_err().kind(), ErrorKind::Behind);

    let after = ledger.migrate().await.unwrap();
    assert_eq!((after.current, after.pending.len()), (Some(after.known), 0));
    let tables = "select string_agg(relname || relfilenode, ',' order by relname) from pg_class where relnamespace = 'thrice'::regnamespace";
    let made = db.value(tables).await;
    assert_eq!(ledger.migrate().await.unwrap(), after);
    assert_eq!(db.value(tables).await, made);
    ledger.ensure_current().await.unwrap();
    assert_eq!(
        db.value(
            "select count(*) from thrice.meta m, pg_control_system() c where m.system_identifier = c.system_identifier"
        )
        .await,
        "1"
    );
}

#[tokio::test]
async fn nothing_is_made_in_other_schemas() {
    let db = Scratch::empty().await;
    let ledger = Ledger::open(&db.settings()).await.unwrap();
    ledger.migrate().await.unwrap();
    let outside = "select count(*) from pg_class c join pg_namespace n on n.oid = c.relnamespace
                   where n.nspname !~ '^(pg_|information_schema$|thrice$)'";
    assert_eq!(db.value(outside).await, "0");
    assert_eq!(db.value("select to_regclass('thrice._sqlx_migrations')").await, "thrice._sqlx_migrations");
}

#[tokio::test]
async fn processes_that_migrate_at_once_all_succeed() {
    let db = Scratch::empty().await;
    let mut migrating = tokio::task::JoinSet::new();
    for _ in 0..6 {
        let settings = db.settings();
        migrating.spawn(async move { Ledger::open(&settings).await.unwrap().migrate().await });
    }
    while let Some(done) = migrating.join_next().await {
        let info = done.unwrap().unwrap();
        assert_eq!(info.current, Some(info.known));
    }
    let each_once = "select count(*) = max(version) from thrice._sqlx_migrations";
    assert_eq!(db.value(each_once).await, "t");
    assert_eq!(db.value("select count(*) from thrice.meta").await, "1");
    let locks = "select count(*) from pg_locks where locktype = 'advisory' and database = (select oid from pg_database where datname = current_database())";
    assert_eq!(db.value(locks).await, "0");
}

#[tokio::test]
async fn a_migration_that_fails_leaves_nothing() {
    let db = Scratch::empty().await;
    // something of that name is in the way, near the end of the file
    db.execute("create schema thrice; create table thrice.idempotency_keys (x int)").await;
    let ledger = Ledger::open(&db.settings()).await.unwrap();
    let error = ledger.migrate().await.unwrap_err();
    assert_eq!(error.sqlstate().unwrap().as_str(), "42P07");
    assert_eq!(
        db.rows("select relname from pg_class where relnamespace = 'thrice'::regnamespace and relkind = 'r'").await,
        ["idempotency_keys"]
    );
    db.execute("drop table thrice.idempotency_keys").await;
    ledger.migrate().await.unwrap();
}

#[tokio::test]
async fn a_newer_or_another_ledger_is_refused() {
    let db = Scratch::empty().await;
    let ledger = Ledger::open(&db.settings()).await.unwrap();
    ledger.migrate().await.unwrap();
    db.execute("insert into thrice._sqlx_migrations values (999, 'future', now(), true, '\\x00', 0)").await;
    let error = ledger.ensure_current().await.unwrap_err();
    assert_eq!((error.kind(), error.code().unwrap().id()), (&ErrorKind::Ahead, "TH0411"));
    assert_eq!(*ledger.migrate().await.unwrap_err().kind(), ErrorKind::Ahead);
    db.execute("delete from thrice._sqlx_migrations where version = 999; update thrice._sqlx_migrations set checksum = '\\x00'").await;
    assert_eq!(*ledger.ensure_current().await.unwrap_err().kind(), ErrorKind::Ahead);
    assert_eq!(*ledger.migrate().await.unwrap_err().kind(), ErrorKind::Ahead);
}

#[tokio::test]
async fn why_there_is_no_connection() {
    let db = Scratch::empty().await;
    let absent = Ledger::open(&db.settings().with_database("no_such_database")).await.unwrap_err();
    assert_eq!((absent.kind(), absent.code().unwrap().id()), (&ErrorKind::NoDatabase, "TH0405"));
    let closed = Ledger::open(&db.settings().with_host("127.0.0.1", 1)).await.unwrap_err();
    assert_eq!((closed.kind(), closed.code().unwrap().id()), (&ErrorKind::Unreachable, "TH0403"));
    let ledger = Ledger::open(&db.settings()).await.unwrap();
    let none = ledger.pipelines().await.unwrap_err();
    assert_eq!(*none.kind(), ErrorKind::Behind);
}
