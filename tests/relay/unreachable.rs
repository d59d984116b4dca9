//! The COMMIT is lost and the database cannot be asked: exit 9, nothing runs twice, the next call finds out.

use std::time::Duration;

use anyhow::{Context, Result, ensure};
use thrice_fault_relay::{Fault, Then};

use crate::scene::{Scene, error_code, rounds};

async fn lose_and_come_back(fault: Fault, committed: bool) -> Result<()> {
    let scene = Scene::new().await?;
    // a call gives up asking after a minute: two rounds, the first and one over published rows, are what time allows
    for round in 0..rounds()?.min(2) {
        scene.change("2026-03-02", round).await?;
        let before = scene.newest("2026-03-02").await?;
        scene.relay.arm(Scene::lose(fault).then(Then::Unreachable));
        let finished = scene.run("2026-03-02").await?.expect_code(9);
        ensure!(error_code(&finished)? == "TH0550", "{}", finished.stdout());
        let runs = scene.runs("2026-03-02", before).await?;
        let [open] = runs.as_slice() else { anyhow::bail!("one run, and no other while it is open: {runs:?}") };
        ensure!(open.receipt.is_some() == committed, "{open:?}");
        // a published run's own row was committed with its receipt
        ensure!(open.status == if committed { "published" } else { "validated" }, "{open:?}");

        scene.relay.disarm();
        scene.relay.accept_again();
        let again = scene.run_direct("2026-03-02").await?.expect_code(0);
        let runs = scene.runs("2026-03-02", before).await?;
        scene
            .is_sound("2026-03-02")
            .await
            .with_context(|| format!("{runs:?}\n{}{}{}", finished.stderr(), again.stdout(), again.stderr()))?;
        let receipts: Vec<_> =
            runs.iter().filter_map(|run| run.receipt.as_ref().map(|(kind, _)| kind.as_str())).collect();
        let json = again.json()?;
        let outcome = json["items"][0]["outcome"].as_str().context("an outcome")?;
        if committed {
            ensure!(receipts == ["publish", "unchanged"] && outcome == "unchanged", "{outcome}: {runs:?}");
        } else {
            ensure!(receipts == ["publish"] && outcome == "published", "{outcome}: {runs:?}");
            ensure!(runs[0].status == "failed" && runs[0].class == "abandoned", "{runs:?}");
        }
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_reply_is_lost_and_the_database_with_it() -> Result<()> {
    lose_and_come_back(Fault::lose_reply(Duration::from_millis(10)), true).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_commit_is_lost_and_the_database_with_it() -> Result<()> {
    lose_and_come_back(Fault::CutBefore, false).await
}
