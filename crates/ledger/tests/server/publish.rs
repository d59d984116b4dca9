//! The fence and the tail: what lets a COMMIT through, and what stops it.

use serde_json::json;
use std::time::Duration;
use thrice_core::failure_class::FailureClass;
use thrice_ledger::{CheckPhase, CheckRow, CheckSeverity, ErrorKind, Failure, PublishTail, ReceiptKind, StagedRun};

use crate::support::{Bench, Ready, Tail, checksum, day};

/// No receipt, no pointer, the run as it was: what a refused publish must leave.
async fn assert_untouched(bench: &Bench, ready: &Ready, status: &str) {
    assert_eq!(bench.ledger.receipt(ready.started.attempt_id).await.unwrap(), None);
    assert_eq!(
        bench
            .db
            .value(&format!(
                "select status from thrice.pipeline_run_ledger where attempt_id = {}",
                ready.started.attempt_id
            ))
            .await,
        status
    );
    assert_eq!(bench.db.value("select count(*) from thrice.events where kind = 'published'").await, "0");
}

#[tokio::test]
async fn a_publish_writes_receipt_pointers_run_and_event_together() {
    let bench = Bench::new().await;
    let process = bench.process().await;
    let ready = bench.published(&process, "2026-03-24", 3).await;
    let receipt = bench.ledger.receipt(ready.started.attempt_id).await.unwrap().unwrap();
    assert_eq!(
        (receipt.kind, receipt.row_count, receipt.checksum.as_str()),
        (ReceiptKind::Publish, 3, checksum(3).as_str())
    );
    assert_eq!((receipt.token, receipt.partition_id), (ready.claim.token, ready.claim.partition_id));
    let id = ready.started.attempt_id;
    let partition =
        "select version, claimed_by, attempts_used, current_attempt_id, data_attempt_id from thrice.partitions";
    assert_eq!(bench.db.value(partition).await, format!("1||0|{id}|{id}"));
    let run = "select status, row_count, checksum, finished_at is not null, staged_at <= validated_at, timings ->> 'stage_ms' from thrice.pipeline_run_ledger";
    assert_eq!(bench.db.value(run).await, format!("published|3|{}|t|t|5", checksum(3)));
    let event = "select kind, actor ->> 'os_user', data ->> 'rows' from thrice.events";
    assert_eq!(bench.db.rows(event).await, ["published|kim|3"]);
    // data and receipt have one transaction
    assert_eq!(bench.db.value("select xid = xmin::text from thrice.publications").await, "t");
}

#[tokio::test]
async fn an_equal_result_moves_the_receipt_and_not_the_rows() {
    let bench = Bench::new().await;
    let process = bench.process().await;
    let first = bench.published(&process, "2026-03-24", 3).await;
    let again = bench.validated(&process, "2026-03-24", 3).await;
    again.publish(&bench.db.client().await, &Tail { kind: "unchanged", ..Tail::default() }).await.unwrap();
    let (old, new) = (first.started.attempt_id, again.started.attempt_id);
    assert_eq!(
        bench.db.value("select version, current_attempt_id, data_attempt_id from thrice.partitions").await,
        format!("2|{new}|{old}")
    );
    assert_eq!(bench.db.rows("select kind from thrice.events order by event_id").await, ["published", "unchanged"]);
}

#[tokio::test]
async fn a_fenced_worker_is_stopped_at_the_lock() {
    let bench = Bench::new().await;
    let (zombie, heir) = (bench.process().await, bench.process().await);
    let ready = bench.validated(&zombie, "2026-03-24", 3).await;
    let (wish, dead) = ([day("2026-03-24")], [zombie.id()]);
    heir.ledger.claim(&bench.request(heir.id(), &wish, &dead)).await.unwrap();
    assert_eq!(ready.refused(&bench.db.client().await, &Tail::default()).await, "TH002");
    assert_untouched(&bench, &ready, "validated").await;
}

#[tokio::test]
async fn a_fence_that_moves_while_the_publish_waits_is_seen() {
    let bench = Bench::new().await;
    let (zombie, heir) = (bench.process().await, bench.process().await);
    let ready = bench.validated(&zombie, "2026-03-24", 3).await;
    // the take-over has raised the fence and not yet committed; the zombie comes to the lock meanwhile
    let taking = bench.db.client().await;
    taking.batch_execute("begin").await.unwrap();
    taking
        .batch_execute(&format!("update thrice.partitions set fence = fence + 1, claimed_by = '{}'", heir.id()))
        .await
        .unwrap();
    let config = bench.db.config();
    let publish = tokio::spawn(async move {
        let client = crate::support::open(&config).await;
        ready.refused(&client, &Tail::default()).await
    });
    let waiting =
        "select count(*) from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()";
    crate::support::until("the zombie waits", async || bench.db.value(waiting).await == "1").await;
    taking.batch_execute("commit").await.unwrap();
    assert_eq!(publish.await.unwrap(), "TH002");
}

#[tokio::test]
async fn the_tail_checks_the_fence_again() {
    // as if the lock had been forgotten: the tail alone must stop it
    let bench = Bench::new().await;
    let (zombie, heir) = (bench.process().await, bench.process().await);
    let ready = bench.validated(&zombie, "2026-03-24", 3).await;
    let (wish, dead) = ([day("2026-03-24")], [zombie.id()]);
    heir.ledger.claim(&bench.request(heir.id(), &wish, &dead)).await.unwrap();
    let client = bench.db.client().await;
    client.batch_execute("begin").await.unwrap();
    let error = ready.tail(&client, &Tail::default()).await.unwrap_err();
    assert_eq!(error.code().unwrap().code(), "TH002");
    client.batch_execute("rollback").await.unwrap();
    assert_untouched(&bench, &ready, "validated").await;
}

#[tokio::test]
async fn a_claim_that_was_released_does_not_publish() {
    let bench = Bench::new().await;
    let process = bench.process().await;
    let ready = bench.validated(&process, "2026-03-24", 3).await;
    bench.db.execute("update thrice.partitions set claimed_by = null").await; // the fence stays
    assert_eq!(ready.refused(&bench.db.client().await, &Tail::default()).await, "TH002");
}

#[tokio::test]
async fn a_run_that_was_not_validated_does_not_publish() {
    let bench = Bench::new().await;
    let process = bench.process().await;
    let claim = bench.claim(&process, "2026-03-24").await;
    let started = process.start(&claim).await;
    let ready = Ready { claim: claim.clone(), started: started.clone(), worker: process.id(), rows: 3 };
    let client = bench.db.client().await;
    assert_eq!(ready.refused(&client, &Tail::default()).await, "TH010");
    process.stage(&claim, &started, 3).await;
    assert_eq!(ready.refused(&client, &Tail::default()).await, "TH010");
    assert_untouched(&bench, &ready, "staged").await;
    // nor one that the ledger has never heard of
    let mut unknown = ready.clone();
    unknown.started.attempt_id += 1000;
    assert_eq!(unknown.refused(&client, &Tail::default()).await, "TH010");
}

#[tokio::test]
async fn rows_written_must_be_rows_staged() {
    let bench = Bench::new().await;
    let process = bench.process().await;
    let ready = bench.validated(&process, "2026-03-24", 3).await;
    let client = bench.db.client().await;
    // an unlogged table after a crash: nothing was there to insert
    assert_eq!(ready.refused(&client, &Tail { inserted: Some(0), ..Tail::default() }).await, "TH011");
    assert_untouched(&bench, &ready, "validated").await;
}

#[tokio::test]
async fn counts_are_found_in_the_transactions_settings() {
    let bench = Bench::new().await;
    let process = bench.process().await;
    let client = bench.db.client().await;
    for (key, inserted, answer) in [("2026-03-24", 3, None), ("2026-03-25", 2, Some("TH011"))] {
        let ready = bench.validated(&process, key, 3).await;
        ready.lock(&client, false).await.unwrap();
        client
            .batch_execute(&format!(
                "select set_config('thrice.rows_deleted', '0', true), set_config('thrice.rows_inserted', '{inserted}', true),
                        set_config('thrice.target_rows', '3', true), set_config('thrice.target_checksum', '{}', true)",
                checksum(3)
            ))
            .await
            .unwrap();
        let sql = thrice_ledger::data_plane::PUBLISH_TAIL;
        let (int, text, json): (Option<i64>, Option<&str>, Option<serde_json::Value>) = (None, None, None);
        let done = client
            .query_one(
                sql,
                &[
                    &ready.claim.partition_id,
                    &ready.started.attempt_id,
                    &ready.claim.token,
                    &ready.worker,
                    &"publish",
                    &int,
                    &int,
                    &int,
                    &int,
                    &text,
                    &int,
                    &text,
                    &int,
                    &json,
                    &json,
                    &false,
                ],
            )
            .await;
        assert_eq!(done.err().and_then(|e| e.code().map(|c| c.code().to_owned())).as_deref(), answer);
        client.batch_execute(if answer.is_none() { "commit" } else { "rollback" }).await.unwrap();
    }
}

#[tokio::test]
async fn rows_read_back_must_be_rows_staged() {
    let bench = Bench::new().await;
    let process = bench.process().await;
    let ready = bench.validated(&process, "2026-03-24", 3).await;
    let client = bench.db.client().await;
    // a trigger on the target swallowed one, changed one, or nobody looked
    assert_eq!(ready.refused(&client, &Tail { target: Some((2, checksum(2))), ..Tail::default() }).await, "TH012");
    assert_eq!(
        ready.refused(&client, &Tail { target: Some((3, "v1:3:9:9".to_owned())), ..Tail::default() }).await,
        "TH012"
    );
    assert_eq!(ready.refused(&client, &Tail { read_back: false, ..Tail::default() }).await, "TH012");
    assert_untouched(&bench, &ready, "validated").await;
    ready.publish(&client, &Tail::default()).await.unwrap();
}

#[tokio::test]
async fn unchanged_needs_an_equal_receipt() {
    let bench = Bench::new().await;
    let process = bench.process().await;
    let client = bench.db.client().await;
    let unchanged = Tail { kind: "unchanged", ..Tail::default() };
    let first = bench.validated(&process, "2026-03-24", 3).await;
    assert_eq!(first.refused(&client, &unchanged).await, "TH013", "without any receipt");
    first.publish(&client, &Tail::default()).await.unwrap();
    let other = bench.validated(&process, "2026-03-24", 4).await;
    assert_eq!(other.refused(&client, &unchanged).await, "TH013", "with another checksum");
    assert_eq!(
        other.refused(&client, &Tail { kind: "unchanged", inserted: Some(4), ..Tail::default() }).await,
        "TH011"
    );
}

#[tokio::test]
async fn a_closed_partition_is_refused_at_the_lock_unless_reopened() {
    let bench = Bench::new().await;
    let process = bench.process().await;
    let ready = bench.validated(&process, "2026-03-24", 3).await;
    bench.db.execute("update thrice.partitions set closed_at = now()").await;
    let client = bench.db.client().await;
    assert_eq!(ready.refused(&client, &Tail::default()).await, "TH003");
    ready.publish(&client, &Tail { reopen: true, ..Tail::default() }).await.unwrap();
}

#[tokio::test]
async fn a_run_publishes_once_and_ends_once() {
    let bench = Bench::new().await;
    let process = bench.process().await;
    let ready = bench.published(&process, "2026-03-24", 3).await;
    let client = bench.db.client().await;
    assert_eq!(ready.refused(&client, &Tail::default()).await, "TH002");
    let failure = Failure {
        partition_id: ready.claim.partition_id,
        attempt_id: ready.started.attempt_id,
        token: ready.claim.token,
        class: FailureClass::Permanent,
        sqlstate: None,
        error_code: None,
        message: "too late",
        retry_after: None,
    };
    let outcome = process.ledger.fail(&failure).await.unwrap();
    assert_eq!((outcome.ended, outcome.released), (false, false));
    for forbidden in [
        "update thrice.publications set row_count = 9",
        "update thrice.pipeline_run_ledger set status = 'failed'",
        "update thrice.partitions set fence = fence - 1",
        "update thrice.partitions set version = 0",
    ] {
        let error = bench.db.client().await.batch_execute(forbidden).await.unwrap_err();
        assert_eq!(error.code().unwrap().code(), "23514", "{forbidden}");
    }
    assert_eq!(bench.db.value("select (timings ->> 'publish')::int >= 0 from thrice.pipeline_run_ledger").await, "t");
}

#[tokio::test]
async fn a_pipelined_commit_behind_a_failed_assertion_commits_nothing() {
    let bench = Bench::new().await;
    let process = bench.process().await;
    let ready = bench.validated(&process, "2026-03-24", 3).await;
    let client = bench.db.client().await;
    client.batch_execute("set thrice.rows_inserted = ''").await.unwrap();
    // one message: begin, data, an assertion that fails, commit
    let sql = format!(
        "begin; insert into mart.daily values ('2026-03-24', 1);
         select thrice.assert(fence = 99, 'TH002', 'x') from thrice.partitions where partition_id = {} for no key update; commit",
        ready.claim.partition_id
    );
    assert_eq!(client.batch_execute(&sql).await.unwrap_err().code().unwrap().code(), "TH002");
    client.batch_execute("rollback").await.unwrap();
    assert_eq!(bench.db.value("select count(*) from mart.daily").await, "0");
}

#[tokio::test]
async fn a_failed_run_tells_why_and_frees_the_partition() {
    let bench = Bench::new().await;
    let process = bench.process().await;
    let ready = bench.validated(&process, "2026-03-24", 3).await;
    let failure = Failure {
        partition_id: ready.claim.partition_id,
        attempt_id: ready.started.attempt_id,
        token: ready.claim.token,
        class: FailureClass::Check,
        sqlstate: None,
        error_code: Some("TH0701"),
        message: "3 rows lie outside the interval",
        retry_after: None,
    };
    let outcome = process.ledger.fail(&failure).await.unwrap();
    assert_eq!((outcome.ended, outcome.released, outcome.retry_at), (true, true, None));
    let run = "select status, failure_class, error_code, error_message, finished_at is not null from thrice.pipeline_run_ledger";
    assert_eq!(bench.db.value(run).await, "failed|check|TH0701|3 rows lie outside the interval|t");
    assert_eq!(bench.db.value("select claimed_by, attempts_used, retry_at from thrice.partitions").await, "|1|");
    assert_eq!(bench.db.rows("select kind, data ->> 'class' from thrice.events").await, ["failed|check"]);
    assert_eq!(bench.claim(&process, "2026-03-24").await.attempts_used, 2);
}

#[tokio::test]
async fn a_fenced_worker_ends_its_run_and_not_its_successors_claim() {
    let bench = Bench::new().await;
    let (zombie, heir) = (bench.process().await, bench.process().await);
    let ready = bench.validated(&zombie, "2026-03-24", 3).await;
    let (wish, dead) = ([day("2026-03-24")], [zombie.id()]);
    heir.ledger.claim(&bench.request(heir.id(), &wish, &dead)).await.unwrap();
    let failure = Failure {
        partition_id: ready.claim.partition_id,
        attempt_id: ready.started.attempt_id,
        token: ready.claim.token,
        class: FailureClass::Fenced,
        sqlstate: Some("TH002"),
        error_code: None,
        message: "replaced",
        retry_after: Some(Duration::from_secs(1)),
    };
    let outcome = zombie.ledger.fail(&failure).await.unwrap();
    assert_eq!((outcome.ended, outcome.released, outcome.retry_at), (true, false, None));
    assert_eq!(bench.db.value("select claimed_by, retry_at from thrice.partitions").await, format!("{}|", heir.id()));
    assert_eq!(bench.db.rows("select kind from thrice.events order by event_id").await, ["taken_over", "fenced"]);
}

#[tokio::test]
async fn steps_follow_one_another() {
    let bench = Bench::new().await;
    let process = bench.process().await;
    let claim = bench.claim(&process, "2026-03-24").await;
    let run = process.start(&claim).await;
    let early = process.ledger.mark_validated(run.attempt_id, claim.token, &json!({}), &[]).await.unwrap_err();
    assert_eq!(*early.kind(), ErrorKind::WrongState);
    process.stage(&claim, &run, 3).await;
    let staged =
        StagedRun { attempt_id: run.attempt_id, token: claim.token, rows: 4, checksum: "x", ..StagedRun::default() };
    let twice = process.ledger.mark_staged(&staged).await.unwrap_err();
    assert_eq!((twice.kind(), twice.sqlstate().unwrap().as_str()), (&ErrorKind::WrongState, "TH010"));
    let check = CheckRow {
        phase: CheckPhase::Staged,
        check_name: "amount >= 0".to_owned(),
        severity: CheckSeverity::Error,
        passed: false,
        observed: Some("12345678901234567890.5".to_owned()),
        expected: Some(json!({"max": 0})),
        sample_keys: None,
    };
    process.ledger.record_checks(run.attempt_id, std::slice::from_ref(&check)).await.unwrap();
    process.ledger.record_checks(run.attempt_id, &[check]).await.unwrap(); // its answer was lost
    let found = process.ledger.checks_of(run.attempt_id).await.unwrap();
    assert_eq!(
        (found.len(), found[0].observed.as_deref(), found[0].passed),
        (1, Some("12345678901234567890.5"), false)
    );
}

#[tokio::test]
async fn existing_rows_are_adopted_by_a_receipt_of_their_own() {
    let bench = Bench::new().await;
    let process = bench.process().await;
    let claim = bench.claim(&process, "2026-03-24").await;
    let actor = thrice_core::actor::Actor::default();
    let mut new = process.new_run(&claim, &actor);
    new.trigger = thrice_ledger::Trigger::Adopt;
    let started = process.ledger.start_run(&new).await.unwrap();
    let ready = Ready { claim, started, worker: process.id(), rows: 17 };
    let client = bench.db.client().await;
    assert_eq!(ready.refused(&client, &Tail { kind: "adopt", read_back: false, ..Tail::default() }).await, "TH012");
    ready.publish(&client, &Tail { kind: "adopt", ..Tail::default() }).await.unwrap();
    let receipt = bench.ledger.receipt(ready.started.attempt_id).await.unwrap().unwrap();
    assert_eq!((receipt.kind, receipt.row_count), (ReceiptKind::Adopt, 17));
    assert_eq!(bench.db.rows("select kind from thrice.events").await, ["adopted"]);
}

#[tokio::test]
async fn a_job_without_sql_publishes_through_the_ledger() {
    let bench = Bench::new().await;
    let process = bench.process().await;
    let ready = bench.validated(&process, "2026-03-24", 3).await;
    let sum = checksum(3);
    let mut tail = PublishTail {
        partition_id: ready.claim.partition_id,
        attempt_id: ready.started.attempt_id,
        token: ready.claim.token,
        worker: process.id(),
        kind: ReceiptKind::Publish,
        rows_deleted: None,
        rows_inserted: Some(2),
        rows_updated: None,
        target_rows: Some(3),
        target_checksum: Some(&sum),
        points_to: None,
        history_relation: None,
        history_kept_for: None,
        input_manifest: None,
        comparison: None,
        close: false,
    };
    let short = process.ledger.publish_elsewhere(&tail, false).await.unwrap_err();
    assert_eq!((short.kind(), short.sqlstate().unwrap().as_str()), (&ErrorKind::Counts, "TH011"));
    tail.rows_inserted = Some(3);
    let manifest = json!({"files": [{"name": "orders.csv", "bytes": 120}]});
    tail.input_manifest = Some(&manifest);
    let receipt = process.ledger.publish_elsewhere(&tail, false).await.unwrap();
    assert_eq!((receipt.row_count, receipt.token), (3, ready.claim.token));
    assert_eq!(
        bench.db.value("select input_manifest #>> '{files,0,name}' from thrice.publications").await,
        "orders.csv"
    );
    assert_eq!(*process.ledger.publish_elsewhere(&tail, false).await.unwrap_err().kind(), ErrorKind::Fenced);
}
