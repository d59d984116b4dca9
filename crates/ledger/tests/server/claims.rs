//! Who gets a partition, and what becomes of a claim that ends without a run.

use std::collections::BTreeSet;
use std::time::Duration;

use thrice_core::failure_class::FailureClass;
use thrice_ledger::{ErrorKind, Failure};

use crate::support::{Bench, Tail, day, days};

#[tokio::test]
async fn four_workers_share_a_hundred_partitions() {
    let bench = Bench::new().await;
    let wish: Vec<_> = ["2026-01", "2026-03", "2026-05", "2026-07"].iter().flat_map(|m| days(m, 25)).collect();
    // half of them exist already, so that both ways to a claim are raced for
    let first = bench.process().await;
    let half = first.ledger.claim(&bench.request(first.id(), &wish[..50], &[])).await.unwrap();
    for claim in &half {
        assert!(first.ledger.give_back(claim).await.unwrap());
    }
    let mut working = tokio::task::JoinSet::new();
    for _ in 0..4 {
        let process = bench.process().await;
        let (wish, pipeline, epoch) = (wish.clone(), bench.pipeline.pipeline_id, bench.pipeline.interval_epoch);
        working.spawn(async move {
            let mut got = Vec::new();
            loop {
                let request = thrice_ledger::ClaimRequest {
                    worker: process.id(),
                    pipeline_id: pipeline,
                    interval_epoch: epoch,
                    partitions: &wish,
                    most: 7,
                    explicit: false,
                    reopen: false,
                    dead: &[],
                };
                let claims = process.ledger.claim(&request).await.unwrap();
                assert!(claims.len() <= 7);
                if claims.is_empty() {
                    return (process, got); // kept alive: its claims stay
                }
                got.extend(claims);
            }
        });
    }
    let (mut all, mut processes) = (Vec::new(), Vec::new());
    while let Some(done) = working.join_next().await {
        let (process, got) = done.unwrap();
        processes.push(process);
        all.extend(got);
    }
    let distinct: BTreeSet<i64> = all.iter().map(|claim| claim.partition_id).collect();
    assert_eq!((all.len(), distinct.len()), (100, 100));
    assert_eq!(bench.db.value("select count(*) from thrice.partitions where claimed_by is not null").await, "100");
    assert_eq!(bench.db.value("select count(*) from thrice.partitions where fence = 2").await, "50");
}

#[tokio::test]
async fn the_wishes_order_decides() {
    let bench = Bench::new().await;
    let process = bench.process().await;
    let wish = [day("2026-03-09"), day("2026-03-01"), day("2026-03-05")];
    let mut request = bench.request(process.id(), &wish, &[]);
    request.most = 2;
    process.ledger.claim(&request).await.unwrap();
    let got = bench.db.rows("select interval_key from thrice.partitions order by 1").await;
    assert_eq!(got, ["2026-03-01", "2026-03-09"]);
    let row = bench
        .db
        .value("select target_date, interval_start at time zone 'UTC', interval_end at time zone 'UTC' from thrice.partitions where interval_key = '2026-03-09'")
        .await;
    assert_eq!(row, "2026-03-09|2026-03-08 15:00:00|2026-03-09 15:00:00");
}

#[tokio::test]
async fn a_living_workers_claim_is_left_alone_and_explained() {
    let bench = Bench::new().await;
    let (holder, other) = (bench.process().await, bench.process().await);
    let claim = bench.claim(&holder, "2026-03-24").await;
    holder.start(&claim).await;
    let wish = [day("2026-03-24")];
    let dead = other.ledger.dead_workers().await.unwrap();
    assert!(dead.is_empty());
    assert_eq!(other.ledger.claim(&bench.request(other.id(), &wish, &dead)).await.unwrap(), []);
    let epoch = bench.pipeline.interval_epoch;
    let why =
        other.ledger.holder_of(bench.pipeline.pipeline_id, epoch, wish[0].interval.start()).await.unwrap().unwrap();
    assert_eq!(
        (why.worker_id, why.alive, why.host.as_deref(), why.os_pid),
        (Some(holder.id()), true, Some("test-host"), Some(1234))
    );
    assert_eq!((why.attempt_no, why.run_status.as_deref()), (Some(1), Some("started")));
    assert!(why.claimed_at.unwrap() <= why.asked_at);
    let never = day("2026-03-25").interval.start();
    assert_eq!(other.ledger.holder_of(bench.pipeline.pipeline_id, epoch, never).await.unwrap(), None);
}

#[tokio::test]
async fn a_dead_workers_partition_is_taken_at_once() {
    let bench = Bench::new().await;
    let (victim, heir) = (bench.process_with(Duration::from_hours(1)).await, bench.process().await);
    let old = bench.claim(&victim, "2026-03-24").await;
    let run = victim.start(&old).await;
    let victim = victim.die().await;

    crate::support::until("the session is gone", async || heir.ledger.dead_workers().await.unwrap() == [victim]).await;
    let (wish, dead) = ([day("2026-03-24")], [victim]);
    let claims = heir.ledger.claim(&bench.request(heir.id(), &wish, &dead)).await.unwrap();
    assert_eq!((claims[0].token, claims[0].taken_over, claims[0].attempts_used), (old.token + 1, Some(victim), 2));
    assert_eq!(bench.db.rows("select kind, data ->> 'token' from thrice.events").await, ["taken_over|2"]);

    let ended = heir.ledger.open_runs_end(old.partition_id, claims[0].token).await.unwrap();
    assert_eq!(
        (ended.len(), ended[0].attempt_id, ended[0].published, ended[0].status.as_str()),
        (1, run.attempt_id, false, "started")
    );
    assert_eq!(heir.ledger.open_runs_end(old.partition_id, claims[0].token).await.unwrap(), []);
    assert_eq!(
        bench.db.value("select status, failure_class from thrice.pipeline_run_ledger").await,
        "failed|abandoned"
    );
    assert_eq!(heir.start(&claims[0]).await.attempt_no, 2);
    // nothing is left of the dead one after the next process has come
    bench.process().await;
    assert_eq!(bench.db.value(&format!("select count(*) from thrice.workers where worker_id = '{victim}'")).await, "0");
}

#[tokio::test]
async fn an_expired_lease_is_dead_too() {
    let bench = Bench::new().await;
    let (sleeper, heir) = (bench.process().await, bench.process().await);
    bench.claim(&sleeper, "2026-03-24").await;
    bench
        .db
        .execute(&format!(
            "update thrice.workers set expires_at = now() - interval '1 second' where worker_id = '{}'",
            sleeper.id()
        ))
        .await;
    assert_eq!(heir.ledger.dead_workers().await.unwrap(), [sleeper.id()]);
}

#[tokio::test]
async fn a_worker_never_takes_from_itself() {
    let bench = Bench::new().await;
    let process = bench.process().await;
    bench.claim(&process, "2026-03-24").await;
    let (wish, dead) = ([day("2026-03-24")], [process.id()]);
    assert_eq!(process.ledger.claim(&bench.request(process.id(), &wish, &dead)).await.unwrap(), []);
}

#[tokio::test]
async fn only_the_claims_owner_starts_a_run() {
    let bench = Bench::new().await;
    let (process, other) = (bench.process().await, bench.process().await);
    let claim = bench.claim(&process, "2026-03-24").await;
    let actor = thrice_core::actor::Actor::default();
    let theirs = other.ledger.start_run(&other.new_run(&claim, &actor)).await.unwrap_err();
    assert_eq!(*theirs.kind(), ErrorKind::Fenced);
    assert!(theirs.code().is_some());
    let mut old = claim.clone();
    old.token -= 1;
    assert_eq!(*process.ledger.start_run(&process.new_run(&old, &actor)).await.unwrap_err().kind(), ErrorKind::Fenced);
    let run = process.start(&claim).await;
    assert_eq!(run.attempt_no, 1);
    let id: thrice_ledger::Uuid = run.run_id.parse().unwrap();
    assert_eq!((id.get_version_num(), id.get_variant()), (7, uuid::Variant::RFC4122));
    let row = "select pipeline_name, target_date, status, token, trigger, actor ->> 'os_user', actor ->> 'session_user', output_partition from thrice.pipeline_run_ledger";
    let user = bench.db.value("select current_user").await;
    assert_eq!(
        bench.db.value(row).await,
        format!("daily|2026-03-24|started|1|manual|kim|{user}|\"mart\".\"daily\"/2026-03-24")
    );
}

#[tokio::test]
async fn a_claim_given_back_leaves_the_retry_budget_as_it_was() {
    let bench = Bench::new().await;
    let process = bench.process().await;
    let claim = bench.claim(&process, "2026-03-24").await;
    let run = process.start(&claim).await;
    let failure = Failure {
        partition_id: claim.partition_id,
        attempt_id: run.attempt_id,
        token: claim.token,
        class: FailureClass::Transient,
        sqlstate: Some("40P01"),
        error_code: Some("TH0420"),
        message: "deadlock",
        retry_after: Some(Duration::from_hours(1)),
    };
    let failed = process.ledger.fail(&failure).await.unwrap();
    assert!(failed.ended && failed.released && failed.retry_at.is_some());
    let state =
        "select fence, claimed_by, attempts_used, retry_at > now() + interval '59 minutes' from thrice.partitions";
    assert_eq!(bench.db.value(state).await, "1||1|t");

    // by itself it waits for its time; a person does not
    let wish = [day("2026-03-24")];
    let mut request = bench.request(process.id(), &wish, &[]);
    assert_eq!(process.ledger.claim(&request).await.unwrap(), []);
    request.explicit = true;
    let asked = process.ledger.claim(&request).await.unwrap().pop().unwrap();
    assert_eq!((asked.attempts_used, asked.attempts_before, asked.retry_before), (1, 1, failed.retry_at));
    assert!(process.ledger.give_back(&asked).await.unwrap());
    assert_eq!(bench.db.value(state).await, "2||1|t");
    assert!(!process.ledger.give_back(&asked).await.unwrap(), "given back twice");
    // the second attempt of the same budget
    bench.db.execute("update thrice.partitions set retry_at = now()").await;
    assert_eq!(bench.claim(&process, "2026-03-24").await.attempts_used, 2);
}

#[tokio::test]
async fn closed_partitions_are_claimed_only_to_be_reopened() {
    let bench = Bench::new().await;
    let process = bench.process().await;
    let ready = bench.validated(&process, "2026-03-24", 3).await;
    ready.publish(&bench.db.client().await, &Tail { close: true, ..Tail::default() }).await.unwrap();
    let wish = [day("2026-03-24")];
    let mut request = bench.request(process.id(), &wish, &[]);
    request.explicit = true;
    assert_eq!(process.ledger.claim(&request).await.unwrap(), []);
    request.reopen = true;
    assert_eq!(process.ledger.claim(&request).await.unwrap().len(), 1);
    assert_eq!(bench.db.rows("select kind from thrice.events order by event_id").await, ["published", "closed"]);
}

#[tokio::test]
async fn an_older_cut_of_time_is_not_claimed() {
    let bench = Bench::new().await;
    let process = bench.process().await;
    let wish = [day("2026-03-24")];
    let mut request = bench.request(process.id(), &wish, &[]);
    request.interval_epoch += 1;
    assert_eq!(process.ledger.claim(&request).await.unwrap(), []);
}
