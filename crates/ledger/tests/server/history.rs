//! What people are shown.

use std::time::Duration;

use serde_json::json;
use thrice_core::failure_class::FailureClass;
use thrice_ledger::{Failure, StagingLeft};

use crate::support::{Bench, CODE, Tail, checksum, day, record};

#[tokio::test]
async fn the_calendar_holds_what_a_status_is_derived_from() {
    let bench = Bench::new().await;
    let process = bench.process().await;
    let first = bench.published(&process, "2026-03-24", 3).await;
    let again = bench.validated(&process, "2026-03-24", 3).await;
    again.publish(&bench.db.client().await, &Tail { kind: "unchanged", ..Tail::default() }).await.unwrap();
    let failed = bench.validated(&process, "2026-03-25", 2).await;
    process
        .ledger
        .fail(&Failure {
            partition_id: failed.claim.partition_id,
            attempt_id: failed.started.attempt_id,
            token: failed.claim.token,
            class: FailureClass::Transient,
            sqlstate: Some("40P01"),
            error_code: Some("TH0420"),
            message: "deadlock",
            retry_after: Some(Duration::from_mins(5)),
        })
        .await
        .unwrap();
    let running = bench.claim(&process, "2026-03-26").await;
    process.start(&running).await;
    bench.published(&process, "2026-03-28", 1).await;

    let (from, to) = (day("2026-03-24").interval.start(), day("2026-03-28").interval.start());
    let rows = bench.ledger.partitions(bench.pipeline.pipeline_id, 1, from, to).await.unwrap();
    let keys: Vec<_> = rows.iter().map(|row| row.interval_key.as_str()).collect();
    assert_eq!(keys, ["2026-03-24", "2026-03-25", "2026-03-26"], "half-open, in order");

    let published = &rows[0];
    assert_eq!(published.interval_end, day("2026-03-24").interval.end());
    assert_eq!(published.target_date.to_string(), "2026-03-24");
    assert_eq!(published.current_attempt_id, Some(again.started.attempt_id));
    assert_eq!(published.data_attempt_id, Some(first.started.attempt_id));
    assert_eq!((published.receipt_kind.as_deref(), published.row_count), (Some("unchanged"), Some(3)));
    assert_eq!(
        (published.checksum.as_deref(), published.receipt_code_hash.as_deref()),
        (Some(checksum(3).as_str()), Some(CODE))
    );
    assert!(published.data_published_at < published.published_at);
    assert_eq!((published.last_attempt_no, published.last_status.as_deref()), (Some(2), Some("published")));
    assert_eq!((published.version, published.is_running()), (2, false));

    let retrying = &rows[1];
    assert_eq!(
        (retrying.last_failure_class.as_deref(), retrying.last_sqlstate.as_deref()),
        (Some("transient"), Some("40P01"))
    );
    assert_eq!(
        (retrying.last_error_code.as_deref(), retrying.last_error_message.as_deref()),
        (Some("TH0420"), Some("deadlock"))
    );
    assert_eq!((retrying.attempts_used, retrying.retry_at.is_some(), retrying.published_at), (1, true, None));
    assert_eq!((rows[2].claimed_by, rows[2].is_running()), (Some(process.id()), true));
}

#[tokio::test]
async fn runs_are_listed_newest_first_and_by_partition() {
    let bench = Bench::new().await;
    let process = bench.process().await;
    bench.published(&process, "2026-03-24", 3).await;
    let last = bench.published(&process, "2026-03-25", 4).await;
    let all = bench.ledger.runs(None, None, 10).await.unwrap();
    assert_eq!(all.iter().map(|run| run.interval_key.as_str()).collect::<Vec<_>>(), ["2026-03-25", "2026-03-24"]);
    let run = &all[0];
    assert_eq!(
        (run.trigger.as_str(), run.reason.as_deref(), run.actor["os_user"].as_str()),
        ("manual", Some("a test"), Some("kim"))
    );
    assert_eq!((run.receipt_kind.as_deref(), run.rows_inserted, run.row_count), (Some("publish"), Some(4), Some(4)));
    assert!(
        run.started_at <= run.staged_at.unwrap()
            && run.staged_at <= run.validated_at
            && run.validated_at <= run.finished_at
    );
    assert_eq!(bench.ledger.runs(Some("daily"), None, 1).await.unwrap().len(), 1);
    assert_eq!(bench.ledger.runs(Some("other"), None, 10).await.unwrap().len(), 0);
    let later = run.started_at + jiff::SignedDuration::from_hours(1);
    assert_eq!(bench.ledger.runs(None, Some(later), 10).await.unwrap().len(), 0);

    let detail = bench
        .ledger
        .partition_detail(bench.pipeline.pipeline_id, 1, day("2026-03-25").interval.start())
        .await
        .unwrap()
        .unwrap();
    assert_eq!((detail.runs.len(), detail.partition.partition_id), (1, last.claim.partition_id));
    let never = day("2026-03-26").interval.start();
    assert!(bench.ledger.partition_detail(bench.pipeline.pipeline_id, 1, never).await.unwrap().is_none());
}

#[tokio::test]
async fn staging_belongs_to_the_newest_run_that_names_it() {
    let bench = Bench::new().await;
    let process = bench.process().await;
    let open = bench.validated(&process, "2026-03-24", 3).await;
    let done = bench.published(&process, "2026-03-25", 3).await;
    let (open, done) = (open.started.attempt_id, done.started.attempt_id);
    bench
        .db
        .execute(&format!(
            "create unlogged table thrice_staging.s{open} (n int); create unlogged table thrice_staging.s{done} (n int);
             create unlogged table thrice_staging.nobodys (n int)"
        ))
        .await;
    let names = |left: &[StagingLeft]| -> Vec<_> {
        left.iter().map(|table| (table.relation.clone(), table.status.clone())).collect()
    };
    let left = bench.ledger.staging_left_behind(None).await.unwrap();
    assert_eq!(names(&left), [("nobodys".to_owned(), None)], "a worker that lives uses its tables again");
    process.lease.close().await.unwrap();
    let left = bench.ledger.staging_left_behind(None).await.unwrap();
    assert_eq!(names(&left), [("nobodys".to_owned(), None), (format!("s{done}"), Some("published".to_owned()))]);
    assert!(left[1].seconds_since_end.unwrap() >= 0.0);
    let of_pipeline = bench.ledger.staging_left_behind(Some(bench.pipeline.pipeline_id)).await.unwrap();
    assert_eq!(of_pipeline.len(), 1);
}

/// A receipt from before the policy counts for the revisit that was due when it was written, and that is after the delay.
#[tokio::test]
async fn a_receipt_from_before_a_policy_is_judged_with_the_delay() {
    let bench = Bench::new().await;
    let process = bench.process().await;
    // the day before yesterday: its first revisit is due as today begins, plus the delay
    let key = bench.db.value("select ((now() at time zone 'Asia/Seoul')::date - 2)::text").await;
    bench.published(&process, &key, 1).await;
    for (delay, maturity) in
        [("0", "final"), ("24h", "provisional"), ("1d", "provisional"), ("2w3d4h5m6s", "provisional")]
    {
        let definition = json!({ "target": {}, "interval": { "delay": delay }, "late_data": { "final_after": 1 } });
        bench.ledger.register_pipeline(&record("daily", "delete_insert", &definition)).await.unwrap();
        let found = bench.db.value("select maturity from thrice.partition_status").await;
        assert_eq!(found, maturity, "{delay}");
    }
}
