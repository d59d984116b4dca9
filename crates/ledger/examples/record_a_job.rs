//! A nightly job that has nothing to do with SQL, kept in the ledger: the export of one day into a file.
//!
//! The ledger gives it what a table gets: one worker per day at a time, a receipt that says what was written, a retry that does not
//! write twice, a worker that was replaced and can no longer report success.
//!
//! ```sh
//! cargo run -p thrice-ledger --example record_a_job -- postgres://localhost/shop 2026-03-24
//! ```

use std::error::Error;
use std::fs;
use std::hash::{DefaultHasher, Hasher as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::json;
use thrice_connect::{ConnectionSettings, Sources};
use thrice_core::actor::Actor;
use thrice_core::failure_class::FailureClass;
use thrice_core::{Grain, Partition, Schedule, Zone};
use thrice_ledger::{
    Claim, ClaimRequest, Failure, Ledger, NewRun, PipelineRecord, PublishTail, ReceiptKind, StageMode, StagedRun,
    StartedRun, Trigger, WorkerLease,
};

/// A result that waits to be put in its place.
struct Export {
    written: PathBuf,
    lines: i64,
    checksum: String,
}

#[tokio::main]
#[expect(clippy::print_stdout, reason = "an example shows what it did")]
async fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let url = arguments.next().or_else(|| std::env::var("THRICE_TEST_DATABASE_URL").ok());
    let key = arguments.next().unwrap_or_else(|| "2026-03-24".to_owned());
    let (sources, _warnings) = Sources::of_process(url, None);
    let Some((settings, _origin)) = ConnectionSettings::resolve(&sources)? else {
        return Err("no database: give a URL as the first argument".into());
    };
    let folder = std::env::temp_dir().join("thrice-record-a-job");
    fs::create_dir_all(&folder)?;

    let ledger = Ledger::open(&settings).await?;
    ledger.migrate().await?;
    let definition = json!({"target": {"folder": "exports"}});
    let pipeline = ledger
        .register_pipeline(&PipelineRecord {
            name: "orders_export",
            target: "file:exports/orders",
            strategy: "delete_insert", // each run replaces the whole file
            grain: "day",
            time_zone: "Asia/Seoul",
            lane: "scheduled",
            code_hash: b"export, version 1",
            query: "-- no SQL: the orders of one day, a line each",
            definition: &definition,
            git_revision: None,
        })
        .await?;

    let day = Schedule::new(Grain::Day, Zone::named("Asia/Seoul")?).partition_for_key(&key)?;
    let worker =
        WorkerLease::register(&ledger, "example", i32::try_from(std::process::id())?, Duration::from_mins(1)).await?;
    let claims = ledger
        .claim(&ClaimRequest {
            worker: worker.worker_id(),
            pipeline_id: pipeline.pipeline_id,
            interval_epoch: pipeline.interval_epoch,
            partitions: std::slice::from_ref(&day),
            most: 1,
            explicit: true,
            reopen: false,
            dead: &ledger.dead_workers().await?,
        })
        .await?;
    let Some(claim) = claims.first() else {
        let holder = ledger.holder_of(pipeline.pipeline_id, pipeline.interval_epoch, day.interval.start()).await?;
        println!("{key} is taken: {holder:?}");
        return Ok(worker.close().await?);
    };
    for left in ledger.open_runs_end(claim.partition_id, claim.token).await? {
        println!("run #{} had been left {}; published: {}", left.attempt_no, left.status, left.published);
    }
    let run = ledger
        .start_run(&NewRun {
            claim,
            worker: worker.worker_id(),
            trigger: Trigger::Manual,
            actor: &Actor { os_user: Some("example".to_owned()), on_behalf_of: None },
            reason: Some("shows how a job is recorded"),
            code_hash: Some(b"export, version 1"),
            stage_mode: StageMode::Durable,
            resumed_from: None,
            backend_pid: None,
            backfill_id: None,
            revisit: None,
        })
        .await?;

    match write_export(&folder, &day, &run) {
        Ok(export) => {
            let receipt = publish(&ledger, &worker, claim, &run, &export, &folder.join(format!("{key}.csv"))).await?;
            println!(
                "{key} #{}: {} lines, {}, receipt of {}",
                run.attempt_no, receipt.row_count, receipt.checksum, receipt.published_at
            );
        }
        Err(error) => {
            let failure = Failure {
                partition_id: claim.partition_id,
                attempt_id: run.attempt_id,
                token: claim.token,
                class: FailureClass::Transient,
                sqlstate: None,
                error_code: None,
                message: &error.to_string(),
                retry_after: Some(Duration::from_mins(1)),
            };
            println!("{key} failed: {:?}", ledger.fail(&failure).await?);
        }
    }
    worker.close().await?;
    ledger.close().await;
    Ok(())
}

/// The work itself: writes beside the place, so that doing it again does no harm.
fn write_export(folder: &Path, day: &Partition, run: &StartedRun) -> std::io::Result<Export> {
    let written = folder.join(format!("{}.{}.part", day.key, run.attempt_id));
    let lines: Vec<String> = (1..=24).map(|order| format!("{},{order},{}", day.key, order * 100)).collect();
    let text = lines.join(
        "
",
    ) + "
";
    fs::write(&written, &text)?;
    let mut hasher = DefaultHasher::new();
    hasher.write(text.as_bytes());
    Ok(Export { written, lines: 24, checksum: format!("{:016x}", hasher.finish()) })
}

/// Staged, validated, put in place, recorded.
async fn publish(
    ledger: &Ledger,
    worker: &WorkerLease,
    claim: &Claim,
    run: &StartedRun,
    export: &Export,
    place: &Path,
) -> Result<thrice_ledger::Receipt, Box<dyn Error>> {
    let staged = StagedRun {
        attempt_id: run.attempt_id,
        token: claim.token,
        rows: export.lines,
        checksum: &export.checksum,
        ..StagedRun::default()
    };
    ledger.mark_staged(&staged).await?;
    if fs::read_to_string(&export.written)?.lines().count() != usize::try_from(export.lines)? {
        return Err("the file is shorter than what was written".into());
    }
    ledger.mark_validated(run.attempt_id, claim.token, &json!({}), &[]).await?;
    fs::rename(&export.written, place)?;
    let tail = PublishTail {
        partition_id: claim.partition_id,
        attempt_id: run.attempt_id,
        token: claim.token,
        worker: worker.worker_id(),
        kind: ReceiptKind::Publish,
        rows_deleted: None,
        rows_inserted: Some(export.lines),
        rows_updated: None,
        target_rows: Some(export.lines),
        target_checksum: Some(&export.checksum),
        points_to: None,
        history_relation: None,
        history_kept_for: None,
        input_manifest: None,
        comparison: None,
        close: false,
    };
    Ok(ledger.publish_elsewhere(&tail, false).await?)
}
