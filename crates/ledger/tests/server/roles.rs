//! The roles: a worker's login walks the whole road with nothing but its membership, and can do no more than that.

use std::time::Duration;

use serde_json::json;
use thrice_ledger::{Ledger, WorkerLease};

use crate::support::{Bench, Process, Tail, grant, open};

#[tokio::test]
async fn a_member_of_thrice_worker_walks_the_road_and_no_further() {
    let bench = Bench::new().await;
    let login = format!("{}_app", bench.db.name);
    drop(grant(&bench.db).await);
    let _one = grant(&bench.db).await;
    bench.db.execute(&format!("create role {login} login password 'secret' in role thrice_worker")).await;
    let road = walk(&bench, &login).await;
    bench.db.execute(&format!("drop owned by {login}; drop role {login}")).await;
    road.unwrap();
}

async fn walk(bench: &Bench, login: &str) -> Result<(), tokio::task::JoinError> {
    let settings = bench.db.settings().with_user(login).with_password("secret");
    let mut config = bench.db.config();
    config.user(login).password("secret");
    let ledger = Ledger::open(&settings).await.unwrap();
    let bench = Bench {
        ledger: ledger.clone(),
        pipeline: bench.pipeline.clone(),
        db: crate::support::Scratch::borrowed(&bench.db),
    };
    tokio::spawn(async move {
        ledger.ensure_current().await.unwrap();
        let definition = json!({"changed": true});
        ledger.register_pipeline(&crate::support::record("daily", "delete_insert", &definition)).await.unwrap();
        let lease = WorkerLease::register(&ledger, "test-host", 1, Duration::from_mins(1)).await.unwrap();
        let process = Process { ledger: ledger.clone(), lease };
        let ready = bench.validated(&process, "2026-03-24", 3).await;
        process.ledger.record_checks(ready.started.attempt_id, &[]).await.unwrap();
        let client = open(&config).await;
        ready.publish(&client, &Tail::default()).await.unwrap();
        let again = bench.validated(&process, "2026-03-24", 3).await;
        process.ledger.mark_unknown(again.started.attempt_id, again.claim.token).await.unwrap();
        let asked = thrice_ledger::UnknownRun {
            partition_id: again.claim.partition_id,
            attempt_id: again.started.attempt_id,
            attempt_no: again.started.attempt_no,
            token: again.claim.token,
            backend_pid: None,
            xid: None,
        };
        let settings = ledger_settings(&bench, &config);
        let resolution = thrice_ledger::resolve(&settings, &asked, Duration::from_secs(5)).await.unwrap();
        assert_eq!(resolution, thrice_ledger::Resolution::NotPublished);
        bench.ledger.staging_left_behind(None).await.unwrap();
        bench.ledger.runs(None, None, 10).await.unwrap();
        for forbidden in [
            "delete from thrice.publications",
            "update thrice.publications set row_count = 0",
            "insert into thrice.meta (system_identifier) values (1)",
            "delete from thrice.pipeline_run_ledger",
            "update thrice.pipeline_run_ledger set actor = '{}'",
            "delete from thrice.events",
            "delete from thrice.partitions",
            "update thrice.pipelines set paused = true",
            "update thrice.lanes set slots = 100",
            "drop table thrice.events",
            "create table thrice.mine (n int)",
        ] {
            let error = client.batch_execute(forbidden).await.expect_err(forbidden);
            assert_eq!(error.code().unwrap().code(), "42501", "{forbidden}");
        }
        // nothing is missing, so there is nothing that the role would have to make
        ledger.migrate().await.unwrap();
        process.lease.close().await.unwrap();
    })
    .await
}

fn ledger_settings(bench: &Bench, config: &tokio_postgres::Config) -> thrice_connect::ConnectionSettings {
    bench.db.settings().with_user(config.get_user().unwrap()).with_password("secret")
}
