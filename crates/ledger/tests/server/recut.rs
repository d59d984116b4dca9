//! A new cut of time: what stays, who is shut out, and who may ask for it.

use serde_json::json;
use thrice_core::Partition;
use thrice_core::actor::Actor;
use thrice_core::reason::Reason;
use thrice_ledger::{ClaimRequest, ErrorKind, Ledger, Recut};

use crate::support::{Bench, Process, Tail, day, grant, record, seoul};

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
    let expected = Recut {
        old_grain: "day".to_owned(),
        old_time_zone: "Asia/Seoul".to_owned(),
        interval_epoch: 2,
        published: 1,
        shut_out: 1,
    };
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

/// Workers that claim all the time while the cut changes: none keeps a partition of the old one.
#[tokio::test(flavor = "multi_thread")]
async fn no_claim_slips_by_a_new_cut() {
    let bench = Bench::new().await;
    let (one, other) = (bench.process().await, bench.process().await);
    let days: Vec<Partition> =
        std::iter::successors(Some(day("2000-01-01")), |day| seoul().next(day)).take(4000).collect();
    let (actor, reason) = asked();
    let mut shut_out = 0;
    for epoch in 1..=20 {
        let claiming = |process: &Process, days: Vec<Partition>| {
            let (ledger, worker, pipeline_id) = (process.ledger.clone(), process.id(), bench.pipeline.pipeline_id);
            tokio::spawn(async move {
                for (done, day) in days.iter().enumerate() {
                    let wish = ClaimRequest {
                        worker,
                        pipeline_id,
                        interval_epoch: epoch,
                        partitions: std::slice::from_ref(day),
                        most: 1,
                        explicit: false,
                        reopen: false,
                        dead: &[],
                    };
                    if ledger.claim(&wish).await.unwrap().is_empty() {
                        return done;
                    }
                }
                days.len()
            })
        };
        let (even, odd): (Vec<_>, Vec<_>) = days.iter().cloned().enumerate().partition(|(index, _)| index % 2 == 0);
        let strip = |half: Vec<(usize, Partition)>| half.into_iter().map(|(_, day)| day).collect::<Vec<_>>();
        let tasks = [claiming(&one, strip(even)), claiming(&other, strip(odd))];
        let claimed = format!("select count(*) >= 4 from thrice.partitions where interval_epoch = {epoch}");
        while bench.db.value(&claimed).await != "t" {}
        let definition = json!({"target": {}});
        let mut next = record("daily", "delete_insert", &definition);
        next.grain = if epoch % 2 == 1 { "hour" } else { "day" };
        let done = bench.ledger.recut_pipeline(&next, &actor, &reason).await.unwrap().unwrap();
        shut_out += done.shut_out;
        for task in tasks {
            assert!(task.await.unwrap() < days.len() / 2, "the claims ended with the cut");
        }
        let kept = "select count(*) from thrice.partitions where claimed_by is not null";
        assert_eq!(bench.db.value(kept).await, "0", "epoch {epoch}");
    }
    assert_eq!(bench.db.value("select count(*) from thrice.partitions").await, shut_out.to_string());
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
