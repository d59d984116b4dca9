//! Signs of life.

use std::time::Duration;

use thrice_ledger::{ErrorKind, LostLease};
use tokio::time::timeout;

use crate::support::{Bench, day, until};

#[tokio::test]
async fn the_heartbeat_renews_the_lease_and_moves_it_to_its_own_session() {
    let bench = Bench::new().await;
    let process = bench.process_with(Duration::from_secs(2)).await;
    let row =
        format!("select backend_pid, expires_at > now() from thrice.workers where worker_id = '{}'", process.id());
    let first = bench.db.value(&row).await;
    tokio::time::sleep(Duration::from_secs(3)).await;
    let later = bench.db.value(&row).await;
    assert!(later.ends_with("|t"), "the lease ran out: {later}");
    assert_ne!(first.split('|').next(), later.split('|').next(), "still on the first connection");
    assert!(bench.ledger.dead_workers().await.unwrap().is_empty());
    assert!(timeout(Duration::from_millis(10), process.lease.lost()).await.is_err());
}

#[tokio::test]
async fn the_heartbeat_survives_the_end_of_its_session() {
    let bench = Bench::new().await;
    let process = bench.process_with(Duration::from_secs(2)).await;
    let pid = format!("select backend_pid from thrice.workers where worker_id = '{}'", process.id());
    let first = bench.db.value(&pid).await;
    until("the first beat", async || bench.db.value(&pid).await != first).await;
    let second = bench.db.value(&pid).await;
    bench.db.execute(&format!("select pg_terminate_backend({second})")).await;
    until("a new session", async || ![&first, &second].contains(&&bench.db.value(&pid).await)).await;
    assert!(bench.ledger.dead_workers().await.unwrap().is_empty());
}

#[tokio::test]
async fn a_forgotten_worker_learns_it() {
    let bench = Bench::new().await;
    let process = bench.process_with(Duration::from_secs(1)).await;
    bench.db.execute("delete from thrice.workers").await;
    let why = timeout(Duration::from_secs(5), process.lease.lost()).await.unwrap();
    assert_eq!(why, LostLease::Forgotten);
    assert!(process.lease.lost_token().is_cancelled());
    let wish = [day("2026-03-24")];
    let error = process.ledger.claim(&bench.request(process.id(), &wish, &[])).await.unwrap_err();
    assert_eq!(*error.kind(), ErrorKind::WorkerGone);
}

#[tokio::test]
async fn a_worker_that_cannot_renew_expires_by_its_own_count() {
    let bench = Bench::new().await;
    let process = bench.process_with(Duration::from_secs(1)).await;
    // its renewals wait for this lock; nobody answers them
    let blocker = bench.db.client().await;
    blocker.batch_execute("begin; lock table thrice.workers in access exclusive mode").await.unwrap();
    let why = timeout(Duration::from_secs(10), process.lease.lost()).await.unwrap();
    assert_eq!(why, LostLease::Expired);
    blocker.batch_execute("rollback").await.unwrap();
}

#[tokio::test]
async fn closing_frees_what_is_still_claimed() {
    let bench = Bench::new().await;
    let process = bench.process().await;
    let claim = bench.claim(&process, "2026-03-24").await;
    process.lease.close().await.unwrap();
    assert_eq!(bench.db.value("select count(*) from thrice.workers").await, "0");
    assert_eq!(bench.db.value("select fence, claimed_by from thrice.partitions").await, format!("{}|", claim.token));
    let next = bench.process().await;
    assert_eq!(bench.claim(&next, "2026-03-24").await.token, claim.token + 1);
}

#[tokio::test]
async fn dropping_a_lease_ends_it_as_well() {
    let bench = Bench::new().await;
    let process = bench.process().await;
    drop(process.lease);
    until("the row is gone", async || bench.db.value("select count(*) from thrice.workers").await == "0").await;
}

#[tokio::test]
async fn closing_does_not_wait_for_a_publish_that_holds_its_partition() {
    let bench = Bench::new().await;
    let process = bench.process().await;
    let ready = bench.validated(&process, "2026-03-24", 1).await;
    let publishing = bench.db.client().await;
    ready.lock(&publishing, false).await.unwrap();
    let error = timeout(Duration::from_secs(8), process.lease.close()).await.expect("it waited").unwrap_err();
    assert_eq!(error.sqlstate().unwrap().as_str(), "55P03");
    // the publish goes on unharmed
    ready.tail(&publishing, &crate::support::Tail::default()).await.unwrap();
    publishing.batch_execute("commit").await.unwrap();
    assert!(process.ledger.receipt(ready.started.attempt_id).await.unwrap().is_some());
}
