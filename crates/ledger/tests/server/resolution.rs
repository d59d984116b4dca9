//! COMMITs without an answer.

use std::time::{Duration, Instant};

use thrice_ledger::{ErrorKind, Resolution, StillOpen, UnknownRun, resolve};

use crate::support::{Bench, Ready, Tail, day, until};

const PATIENCE: Duration = Duration::from_secs(20);

fn unknown(ready: &Ready) -> UnknownRun {
    UnknownRun {
        partition_id: ready.claim.partition_id,
        attempt_id: ready.started.attempt_id,
        attempt_no: ready.started.attempt_no,
        token: ready.claim.token,
        backend_pid: None,
        xid: None,
    }
}

async fn backend(client: &tokio_postgres::Client) -> i32 {
    client.query_one("select pg_backend_pid()", &[]).await.unwrap().get(0)
}

#[tokio::test]
async fn published_although_the_answer_was_lost() {
    let bench = Bench::new().await;
    let process = bench.process().await;
    let ready = bench.published(&process, "2026-03-24", 3).await;
    let Resolution::Published(receipt) = resolve(&bench.db.settings(), &unknown(&ready), PATIENCE).await.unwrap()
    else {
        panic!("not published");
    };
    assert_eq!((receipt.attempt_id, receipt.row_count), (ready.started.attempt_id, 3));
    assert_eq!(bench.db.value("select status from thrice.pipeline_run_ledger").await, "published");
    // the same question again has the same answer
    assert!(matches!(
        resolve(&bench.db.settings(), &unknown(&ready), PATIENCE).await.unwrap(),
        Resolution::Published(_)
    ));
}

#[tokio::test]
async fn not_published_is_final() {
    let bench = Bench::new().await;
    let process = bench.process().await;
    let ready = bench.validated(&process, "2026-03-24", 3).await;
    let marked = process.ledger.mark_unknown(ready.started.attempt_id, ready.claim.token).await.unwrap();
    assert!(marked.open && marked.marked);
    assert_eq!(bench.db.value("select status from thrice.pipeline_run_ledger").await, "unknown");
    assert_eq!(resolve(&bench.db.settings(), &unknown(&ready), PATIENCE).await.unwrap(), Resolution::NotPublished);
    assert_eq!(
        bench.db.value("select status, failure_class from thrice.pipeline_run_ledger").await,
        "failed|abandoned"
    );
    assert_eq!(bench.db.value("select fence, claimed_by from thrice.partitions").await, "2|");
    let events = "select kind, data ->> 'was', data ->> 'published' from thrice.events order by event_id";
    assert_eq!(bench.db.rows(events).await, ["unknown||", "resolved|unknown|false"]);
    // whatever the old publish still sends, it is too late
    assert_eq!(ready.refused(&bench.db.client().await, &Tail::default()).await, "TH002");
    assert_eq!(resolve(&bench.db.settings(), &unknown(&ready), PATIENCE).await.unwrap(), Resolution::NotPublished);
}

#[tokio::test]
async fn the_barrier_waits_for_a_commit_that_is_under_way() {
    let bench = Bench::new().await;
    let process = bench.process().await;
    let ready = bench.validated(&process, "2026-03-24", 3).await;
    // a deferred trigger keeps the COMMIT busy: a first look would say that there is no receipt
    bench
        .db
        .execute(
            "create function mart.slow() returns trigger language plpgsql as $$ begin perform pg_sleep(1.5); return null; end $$;
             create constraint trigger slow after insert on mart.daily deferrable initially deferred for each row execute function mart.slow()",
        )
        .await;
    let publishing = bench.db.client().await;
    ready.lock(&publishing, false).await.unwrap();
    publishing.batch_execute("insert into mart.daily values ('2026-03-24', 1)").await.unwrap();
    ready.tail(&publishing, &Tail::default()).await.unwrap();
    let asked = UnknownRun { backend_pid: Some(backend(&publishing).await), ..unknown(&ready) };
    let commit = tokio::spawn(async move { publishing.batch_execute("commit").await });
    until("the commit is under way", async || {
        bench.db.value("select count(*) from pg_stat_activity where state = 'active' and wait_event = 'PgSleep' and datname = current_database()").await == "1"
    })
    .await;
    assert_eq!(bench.ledger.receipt(ready.started.attempt_id).await.unwrap(), None, "a first look");
    let resolution = resolve(&bench.db.settings(), &asked, PATIENCE).await.unwrap();
    assert!(matches!(resolution, Resolution::Published(_)), "{resolution:?}");
    commit.await.unwrap().unwrap();
}

#[tokio::test]
async fn a_publish_whose_commit_never_came_is_ended() {
    let bench = Bench::new().await;
    let process = bench.process().await;
    let ready = bench.validated(&process, "2026-03-24", 3).await;
    let publishing = bench.db.client().await;
    ready.lock(&publishing, false).await.unwrap();
    ready.tail(&publishing, &Tail::default()).await.unwrap();
    let xid: String = publishing.query_one("select pg_current_xact_id()::text", &[]).await.unwrap().get(0);
    let asked = UnknownRun { backend_pid: Some(backend(&publishing).await), xid: Some(xid), ..unknown(&ready) };
    // its row cannot be marked: the publish holds it. Nor is that waited for
    let marked = process.ledger.mark_unknown(ready.started.attempt_id, ready.claim.token).await.unwrap();
    assert!(marked.open && !marked.marked);
    let began = Instant::now();
    assert_eq!(resolve(&bench.db.settings(), &asked, PATIENCE).await.unwrap(), Resolution::NotPublished);
    assert!(began.elapsed() < Duration::from_secs(10), "{:?}", began.elapsed());
    assert!(publishing.batch_execute("commit").await.is_err(), "the session still lives");
    assert_eq!(bench.ledger.receipt(ready.started.attempt_id).await.unwrap(), None);
}

#[tokio::test]
async fn a_session_of_another_run_is_never_ended() {
    let bench = Bench::new().await;
    let process = bench.process().await;
    let ready = bench.validated(&process, "2026-03-24", 3).await;
    // somebody at a psql prompt holds the row
    let stranger = bench.db.client().await;
    stranger.batch_execute("begin; select 1 from thrice.partitions for update").await.unwrap();
    let resolution = resolve(&bench.db.settings(), &unknown(&ready), Duration::from_secs(2)).await.unwrap();
    assert_eq!(resolution, Resolution::Open { why: StillOpen::HeldByAnother { pid: None, application_name: None } });
    stranger.batch_execute("rollback").await.expect("it was ended");
    assert_eq!(bench.db.value("select status from thrice.pipeline_run_ledger").await, "validated");
    assert_eq!(bench.db.value("select fence from thrice.partitions").await, "1");
}

#[tokio::test]
async fn a_working_publish_keeps_its_outcome_open() {
    let bench = Bench::new().await;
    let process = bench.process().await;
    let ready = bench.validated(&process, "2026-03-24", 3).await;
    let publishing = bench.db.client().await;
    ready.lock(&publishing, false).await.unwrap();
    let pid = backend(&publishing).await;
    let working = tokio::spawn(async move {
        publishing.batch_execute("select pg_sleep(30)").await.ok();
        publishing
    });
    let resolution = resolve(&bench.db.settings(), &unknown(&ready), Duration::from_secs(2)).await.unwrap();
    let Resolution::Open { why: StillOpen::Working { pid: seen, .. } } = resolution else { panic!("{resolution:?}") };
    assert_eq!(seen, pid);
    // and nobody may claim it meanwhile, not even from a dead worker
    let heir = bench.process().await;
    let (wish, dead) = ([day("2026-03-24")], [process.id()]);
    assert_eq!(heir.ledger.claim(&bench.request(heir.id(), &wish, &dead)).await.unwrap(), []);
    bench.db.execute(&format!("select pg_cancel_backend({pid})")).await;
    working.await.unwrap().batch_execute("rollback").await.unwrap();
}

#[tokio::test]
async fn a_run_whose_worker_died_in_doubt_is_resolved_by_its_heir() {
    let bench = Bench::new().await;
    let victim = bench.process().await;
    let ready = bench.validated(&victim, "2026-03-24", 3).await;
    victim.ledger.mark_unknown(ready.started.attempt_id, ready.claim.token).await.unwrap();
    let victim = victim.die().await;
    let heir = bench.process().await;
    until("the session is gone", async || heir.ledger.dead_workers().await.unwrap().contains(&victim)).await;
    let (wish, dead) = ([day("2026-03-24")], [victim]);
    let claim = heir.ledger.claim(&bench.request(heir.id(), &wish, &dead)).await.unwrap().pop().unwrap();
    let ended = heir.ledger.open_runs_end(claim.partition_id, claim.token).await.unwrap();
    assert_eq!((ended[0].status.as_str(), ended[0].published, ended[0].staged_rows), ("unknown", false, Some(3)));
    // its staging is whole, so the heir may go on from there
    let left = heir.ledger.adoptable(claim.partition_id).await.unwrap().unwrap();
    assert_eq!((left.attempt_id, left.staged_rows), (ready.started.attempt_id, 3));
    assert_eq!(left.code_hash.as_deref(), Some(crate::support::CODE));
}

#[tokio::test]
async fn nothing_is_adopted_from_before_a_publish_or_from_a_permanent_failure() {
    let bench = Bench::new().await;
    let process = bench.process().await;
    let ready = bench.validated(&process, "2026-03-24", 3).await;
    resolve(&bench.db.settings(), &unknown(&ready), PATIENCE).await.unwrap();
    assert!(process.ledger.adoptable(ready.claim.partition_id).await.unwrap().is_some());
    bench.published(&process, "2026-03-24", 4).await;
    assert_eq!(process.ledger.adoptable(ready.claim.partition_id).await.unwrap(), None);
    let bad = bench.validated(&process, "2026-03-25", 3).await;
    let failure = thrice_ledger::Failure {
        partition_id: bad.claim.partition_id,
        attempt_id: bad.started.attempt_id,
        token: bad.claim.token,
        class: thrice_core::failure_class::FailureClass::Check,
        sqlstate: None,
        error_code: None,
        message: "no",
        retry_after: None,
    };
    process.ledger.fail(&failure).await.unwrap();
    assert_eq!(process.ledger.adoptable(bad.claim.partition_id).await.unwrap(), None);
}

#[tokio::test]
async fn another_cluster_and_another_database_are_not_asked() {
    let bench = Bench::new().await;
    let process = bench.process().await;
    let ready = bench.validated(&process, "2026-03-24", 3).await;
    let elsewhere = Bench::new().await;
    let error = resolve(&elsewhere.db.settings(), &unknown(&ready), PATIENCE).await.unwrap_err();
    assert_eq!(*error.kind(), ErrorKind::UnknownRun);
    bench.db.execute("update thrice.meta set system_identifier = system_identifier + 1").await;
    let error = resolve(&bench.db.settings(), &unknown(&ready), PATIENCE).await.unwrap_err();
    assert_eq!(*error.kind(), ErrorKind::OtherCluster);
    assert_eq!(bench.db.value("select fence from thrice.partitions").await, "1", "the fence was moved");
}

#[tokio::test]
async fn a_server_that_does_not_answer_leaves_it_open() {
    let bench = Bench::new().await;
    let process = bench.process().await;
    let ready = bench.validated(&process, "2026-03-24", 3).await;
    let nowhere = bench.db.settings().with_host("127.0.0.1", 1);
    let began = Instant::now();
    let resolution = resolve(&nowhere, &unknown(&ready), Duration::from_secs(1)).await.unwrap();
    assert_eq!(resolution, Resolution::Open { why: StillOpen::Unreachable });
    // a listener that never says anything
    let silent = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let silent_place = bench.db.settings().with_host("127.0.0.1", silent.local_addr().unwrap().port());
    let resolution = resolve(&silent_place, &unknown(&ready), Duration::from_secs(1)).await.unwrap();
    assert_eq!(resolution, Resolution::Open { why: StillOpen::Unreachable });
    assert!(began.elapsed() < Duration::from_secs(6), "{:?}", began.elapsed());
}
