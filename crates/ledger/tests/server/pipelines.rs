//! Definitions: kept, compared, and refused where they would cut time anew.

use serde_json::json;
use thrice_ledger::{ErrorKind, RecordedCut};

use crate::support::{Bench, record};

#[tokio::test]
async fn an_unchanged_definition_writes_nothing() {
    let bench = Bench::new().await;
    let mark = "select xmin, updated_at from thrice.pipelines";
    let before = bench.db.value(mark).await;
    let again =
        bench.ledger.register_pipeline(&record("daily", "delete_insert", &json!({"target": {}}))).await.unwrap();
    assert_eq!((again.pipeline_id, again.interval_epoch), (bench.pipeline.pipeline_id, 1));
    assert_eq!(bench.db.value(mark).await, before);
}

#[tokio::test]
async fn every_code_hash_keeps_its_text() {
    let bench = Bench::new().await;
    let definition = json!({"target": {}});
    let mut new = record("daily", "delete_insert", &definition);
    (new.code_hash, new.query, new.git_revision) = (b"code two", "select 2", Some("abc"));
    bench.ledger.register_pipeline(&new).await.unwrap();
    let id = bench.pipeline.pipeline_id;
    let old = bench.ledger.code_version(id, crate::support::CODE).await.unwrap().unwrap();
    let now = bench.ledger.code_version(id, b"code two").await.unwrap().unwrap();
    assert_eq!(
        (old.query.as_str(), now.query.as_str(), now.git_revision.as_deref()),
        ("select 1", "select 2", Some("abc"))
    );
    assert!(bench.ledger.code_version(id, b"never").await.unwrap().is_none());
    assert_eq!(bench.ledger.pipelines().await.unwrap()[0].code_hash, b"code two");
}

#[tokio::test]
async fn a_new_grain_opens_an_epoch_until_something_is_published() {
    let bench = Bench::new().await;
    let definition = json!({"target": {}});
    let mut hourly = record("daily", "delete_insert", &definition);
    hourly.grain = "hour";
    assert_eq!(bench.ledger.register_pipeline(&hourly).await.unwrap().interval_epoch, 1, "nothing was cut yet");
    let daily = record("daily", "delete_insert", &definition);
    bench.ledger.register_pipeline(&daily).await.unwrap();
    let process = bench.process().await;
    let ready = bench.validated(&process, "2026-03-24", 1).await;
    assert_eq!(
        bench.ledger.register_pipeline(&hourly).await.unwrap().interval_epoch,
        2,
        "a partition was cut the old way"
    );
    bench.ledger.register_pipeline(&daily).await.unwrap();
    bench.db.execute("update thrice.pipelines set interval_epoch = 1").await;
    ready.publish(&bench.db.client().await, &crate::support::Tail::default()).await.unwrap();
    let error = bench.ledger.register_pipeline(&hourly).await.unwrap_err();
    let recorded =
        RecordedCut { pipeline: "daily".to_owned(), grain: "day".to_owned(), time_zone: "Asia/Seoul".to_owned() };
    assert_eq!(*error.kind(), ErrorKind::IntervalsChanged { recorded: Box::new(recorded) });
    assert_eq!(bench.ledger.pipeline("daily").await.unwrap().unwrap().grain, "day");
}

/// Receipts count for one table: another one is taken while there are none, and refused from the first on.
#[tokio::test]
async fn a_new_target_is_taken_until_something_is_published() {
    let bench = Bench::new().await;
    let definition = json!({"target": {}});
    let (old, mut new) = (record("daily", "delete_insert", &definition), record("daily", "delete_insert", &definition));
    new.target = "\"mart\".\"Other\"";
    assert!(bench.ledger.may_register(&new).await.is_ok());
    assert_eq!(bench.ledger.register_pipeline(&new).await.unwrap().target, new.target);
    bench.ledger.register_pipeline(&old).await.unwrap();
    let process = bench.process().await;
    let ready = bench.validated(&process, "2026-03-24", 1).await;
    let moved = bench.ledger.register_pipeline(&new).await.unwrap();
    assert_eq!(moved.interval_epoch, 2, "the run under way is not one of the new table");
    bench.ledger.register_pipeline(&old).await.unwrap();
    bench.db.execute("update thrice.pipelines set interval_epoch = 1").await;
    ready.publish(&bench.db.client().await, &crate::support::Tail::default()).await.unwrap();
    let before = bench.db.value("select y from thrice.pipelines y").await;
    for error in
        [bench.ledger.may_register(&new).await.unwrap_err(), bench.ledger.register_pipeline(&new).await.unwrap_err()]
    {
        assert_eq!(*error.kind(), ErrorKind::TargetChanged { recorded: "mart.daily".to_owned() });
        assert!(error.to_string().contains("mart.\"Other\""), "{error}");
        assert_eq!(error.code().unwrap().id(), "TH0537");
    }
    assert_eq!(bench.db.value("select y from thrice.pipelines y").await, before);
    let mut renamed = new.clone();
    renamed.name = "daily_other";
    assert_ne!(bench.ledger.register_pipeline(&renamed).await.unwrap().pipeline_id, bench.pipeline.pipeline_id);
}

/// A pipeline of another name takes the table over only from one that has no receipt and that nobody works on.
#[tokio::test]
async fn a_target_goes_along_with_a_new_name_until_something_is_published() {
    let bench = Bench::new().await;
    let definition = json!({"target": {}});
    let renamed = record("renamed", "delete_insert", &definition);
    assert!(!bench.ledger.rename_unpublished("nobody", "renamed").await.unwrap());
    let process = bench.process().await;
    let ready = bench.validated(&process, "2026-03-24", 1).await;
    assert!(!bench.ledger.rename_unpublished("daily", "renamed").await.unwrap(), "somebody works on it");
    ready.publish(&bench.db.client().await, &crate::support::Tail::default()).await.unwrap();
    assert!(!bench.ledger.rename_unpublished("daily", "renamed").await.unwrap(), "it has a receipt");
    let error = bench.ledger.may_register(&renamed).await.unwrap_err();
    assert_eq!(*error.kind(), ErrorKind::TargetTaken { by: "daily".to_owned(), published: true });

    let other = Bench::new().await;
    assert!(!other.ledger.rename_unpublished("daily", "daily").await.unwrap(), "the name is in use");
    assert!(other.ledger.rename_unpublished("daily", "renamed").await.unwrap());
    let row = other.ledger.register_pipeline(&renamed).await.unwrap();
    assert_eq!((row.pipeline_id, row.target.as_str()), (other.pipeline.pipeline_id, renamed.target));
    assert!(other.ledger.pipeline("daily").await.unwrap().is_none());
}

#[tokio::test]
async fn a_target_and_a_lane_are_looked_after() {
    let bench = Bench::new().await;
    let definition = json!({});
    let error = bench.ledger.register_pipeline(&record("other", "merge", &definition)).await.unwrap_err();
    assert_eq!(*error.kind(), ErrorKind::TargetTaken { by: "daily".to_owned(), published: false });
    let mut lost = record("other", "merge", &definition);
    (lost.target, lost.lane) = ("\"mart\".\"other\"", "nowhere");
    let error = bench.ledger.register_pipeline(&lost).await.unwrap_err();
    assert_eq!(*error.kind(), ErrorKind::UnknownLane);
    assert_eq!(bench.ledger.pipelines().await.unwrap().len(), 1);
}

#[tokio::test]
async fn processes_that_register_at_once_agree() {
    let bench = Bench::new().await;
    let mut registering = tokio::task::JoinSet::new();
    for _ in 0..8 {
        let ledger = thrice_ledger::Ledger::open(&bench.db.settings()).await.unwrap();
        registering.spawn(async move {
            let definition = json!({});
            let mut new = record("new", "delete_insert", &definition);
            new.target = "\"mart\".\"new\"";
            ledger.register_pipeline(&new).await.unwrap().pipeline_id
        });
    }
    let mut ids = registering.join_all().await;
    ids.dedup();
    assert_eq!(ids.len(), 1);
}
