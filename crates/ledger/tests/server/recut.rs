//! A new cut of time: what stays, who is shut out, and who may ask for it.

use serde_json::json;
use thrice_core::actor::Actor;
use thrice_core::reason::Reason;
use thrice_ledger::{ErrorKind, Ledger, Recut};

use crate::support::{Bench, Tail, day, grant, record};

fn asked() -> (Actor, Reason) {
    (Actor { os_user: Some("kim".to_owned()), on_behalf_of: None }, Reason::new("hours instead of days").unwrap())
}

/// Receipts keep their epoch, the event tells both cuts, and whoever works by the old one publishes nothing any more.
#[tokio::test]
async fn a_new_cut_opens_an_epoch_and_shuts_out_the_old_one() {
    let bench = Bench::new().await;
    let process = bench.process().await;
    bench.published(&process, "2026-03-23", 3).await;
    let under_way = bench.validated(&process, "2026-03-24", 1).await;
    let definition = json!({"target": {}});
    let mut hourly = record("daily", "delete_insert", &definition);
    (hourly.grain, hourly.time_zone) = ("hour", "Asia/Tokyo");
    let (actor, reason) = asked();
    let done = bench.ledger.recut_pipeline(&hourly, &actor, &reason).await.unwrap();
    let expected =
        Recut { old_grain: "day".to_owned(), old_time_zone: "Asia/Seoul".to_owned(), interval_epoch: 2, published: 1 };
    assert_eq!(done, Some(expected));
    let cut = bench.ledger.cut_of_pipeline("daily").await.unwrap().unwrap();
    assert_eq!((cut.interval_epoch, cut.grain.as_str(), cut.time_zone.as_str()), (2, "hour", "Asia/Tokyo"));
    let receipts = "select p.interval_epoch || ' ' || p.interval_key || ' ' || r.row_count
                      from thrice.publications r join thrice.partitions p using (partition_id)";
    assert_eq!(bench.db.rows(receipts).await, ["1 2026-03-23 3"]);
    assert_eq!(bench.db.value("select count(*) from thrice.partition_status").await, "0");
    let told =
        bench.db.value("select data || jsonb_build_object('by', actor) from thrice.events where kind = 'recut'").await;
    let told: serde_json::Value = serde_json::from_str(&told).unwrap();
    assert_eq!(told["reason"], "hours instead of days");
    assert_eq!((&told["published"], &told["by"]["os_user"]), (&json!(1), &json!("kim")));
    assert!(told["by"]["session_user"].is_string(), "{told}");
    assert_eq!(told["old"], json!({"grain": "day", "time_zone": "Asia/Seoul", "interval_epoch": 1}));
    assert_eq!(told["new"], json!({"grain": "hour", "time_zone": "Asia/Tokyo", "interval_epoch": 2}));
    // by its token, and by its next wish
    assert_eq!(under_way.refused(&bench.db.client().await, &Tail::default()).await, "TH002");
    let days = [day("2026-03-25")];
    assert_eq!(process.ledger.claim(&bench.request(process.id(), &days, &[])).await.unwrap(), []);
    // the definition comes with the next run, and opens no epoch of its own
    let row = bench.ledger.register_pipeline(&hourly).await.unwrap();
    assert_eq!((row.interval_epoch, row.grain.as_str()), (2, "hour"));
}

#[tokio::test]
async fn a_new_cut_waits_for_a_publish_that_is_under_way() {
    let bench = Bench::new().await;
    let process = bench.process().await;
    let ready = bench.validated(&process, "2026-03-24", 5).await;
    let client = bench.db.client().await;
    ready.lock(&client, false).await.unwrap();
    ready.tail(&client, &Tail::default()).await.unwrap();
    let ledger = bench.ledger.clone();
    let recutting = tokio::spawn(async move {
        let definition = json!({"target": {}});
        let mut hourly = record("daily", "delete_insert", &definition);
        hourly.grain = "hour";
        let (actor, reason) = asked();
        ledger.recut_pipeline(&hourly, &actor, &reason).await.unwrap()
    });
    tokio::time::sleep(std::time::Duration::from_millis(200)).await;
    assert!(!recutting.is_finished());
    client.batch_execute("commit").await.unwrap();
    assert_eq!(recutting.await.unwrap().unwrap().published, 1, "the receipt is counted");
}

#[tokio::test]
async fn a_new_cut_is_of_the_same_table_and_of_a_known_pipeline() {
    let bench = Bench::new().await;
    let process = bench.process().await;
    bench.published(&process, "2026-03-24", 1).await;
    let definition = json!({"target": {}});
    let (actor, reason) = asked();
    let unknown = record("unknown", "delete_insert", &definition);
    assert_eq!(bench.ledger.recut_pipeline(&unknown, &actor, &reason).await.unwrap(), None);
    let mut moved = record("daily", "delete_insert", &definition);
    (moved.grain, moved.target) = ("hour", "\"mart\".\"other\"");
    let error = bench.ledger.recut_pipeline(&moved, &actor, &reason).await.unwrap_err();
    assert_eq!(*error.kind(), ErrorKind::TargetChanged { recorded: "mart.daily".to_owned() });
    assert_eq!(bench.ledger.cut_of_pipeline("daily").await.unwrap().unwrap().interval_epoch, 1, "nothing was written");
}

/// An operator decides on closing, reopening and cuts; who looks does not.
#[tokio::test]
async fn operators_close_reopen_and_recut_and_readers_do_not() {
    let bench = Bench::new().await;
    let process = bench.process().await;
    bench.published(&process, "2026-03-24", 1).await;
    let _one = grant(&bench.db).await;
    let logins = ["operator", "reader"].map(|role| format!("{}_{role}", bench.db.name));
    for (login, role) in logins.iter().zip(["thrice_operator", "thrice_reader"]) {
        bench.db.execute(&format!("create role {login} login password 'secret' in role {role}")).await;
    }
    let walked = walk(&bench, &logins).await;
    for login in &logins {
        bench.db.execute(&format!("drop owned by {login}; drop role {login}")).await;
    }
    walked.unwrap();
}

async fn walk(bench: &Bench, logins: &[String; 2]) -> Result<(), tokio::task::JoinError> {
    let settings = logins.each_ref().map(|login| bench.db.settings().with_user(login.clone()).with_password("secret"));
    tokio::spawn(async move {
        let definition = json!({"target": {}});
        let mut hourly = record("daily", "delete_insert", &definition);
        hourly.grain = "hour";
        let ((actor, reason), starts) = (asked(), [day("2026-03-24").interval.start()]);
        let [operator, reader] = settings;
        let reader = Ledger::open(&reader).await.unwrap();
        let cut = reader.cut_of_pipeline("daily").await.unwrap().unwrap();
        let refused = [
            reader.close_partitions(&cut, &starts, &actor, &reason).await.unwrap_err(),
            reader.recut_pipeline(&hourly, &actor, &reason).await.unwrap_err(),
        ];
        assert!(refused.iter().all(|error| *error.kind() == ErrorKind::Permission), "{refused:?}");
        let operator = Ledger::open(&operator).await.unwrap();
        assert_eq!(operator.close_partitions(&cut, &starts, &actor, &reason).await.unwrap(), starts);
        assert_eq!(operator.reopen_partitions(&cut, &starts, &actor, &reason).await.unwrap(), starts);
        assert_eq!(operator.recut_pipeline(&hourly, &actor, &reason).await.unwrap().unwrap().interval_epoch, 2);
        hourly.code_hash = b"code two";
        let shut = operator.register_pipeline(&hourly).await.unwrap_err();
        assert_eq!(*shut.kind(), ErrorKind::Permission, "definitions are the workers'");
    })
    .await
}
