//! Lost before, inside and after, by closing, by reset and by silence.

use std::time::Duration;

use anyhow::{Result, ensure};
use thrice_fault_relay::{Fault, Until};

use crate::scene::{Round, Scene, rounds};

/// What must have become of the COMMIT.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Truth {
    Committed,
    NotCommitted,
    Either,
    /// The answer came, late.
    Answered,
}

#[expect(clippy::print_stdout, reason = "figures for whoever asks with --nocapture")]
/// Rounds over three days: first publishes and publishes over published rows.
async fn rounds_of(scene: &Scene, name: &str, truth: Truth, fault: impl Fn(usize) -> Fault) -> Result<()> {
    let (mut committed, mut slowest) = (0, Duration::ZERO);
    for round in 0..rounds()? {
        let key = format!("2026-03-0{}", 1 + round % 3);
        scene.change(&key, round).await?;
        let seen = scene.round(&key, fault(round)).await?;
        judge(truth, &seen)?;
        committed += usize::from(seen.resolved);
        slowest = slowest.max(seen.after_fault);
    }
    println!(
        "{name}: {} rounds, {committed} found by resolution, all named right; at most {slowest:.1?} from the fault to the end",
        rounds()?
    );
    Ok(())
}

fn judge(truth: Truth, seen: &Round) -> Result<()> {
    let right = match truth {
        Truth::Committed => seen.resolved && seen.runs.len() == 1,
        Truth::NotCommitted => !seen.resolved && seen.runs.len() == 2,
        // told as resolved exactly when the first run is the one with the receipt
        Truth::Either => seen.resolved == (seen.runs.len() == 1),
        Truth::Answered => !seen.resolved && seen.runs.len() == 1,
    };
    ensure!(right, "should be {truth:?}: {seen:?}");
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn cut_before_the_commit() -> Result<()> {
    rounds_of(&Scene::new().await?, "cut before", Truth::NotCommitted, |_| Fault::CutBefore).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn cut_inside_the_commit() -> Result<()> {
    rounds_of(&Scene::new().await?, "cut inside", Truth::NotCommitted, |round| Fault::CutInside {
        bytes: 1 + round % 11,
    })
    .await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn reply_lost_after_0_1_and_10_milliseconds() -> Result<()> {
    let scene = Scene::new().await?;
    for ms in [0, 1, 10] {
        let fault = Fault::lose_reply(Duration::from_millis(ms));
        rounds_of(&scene, &format!("reply lost, cut after {ms} ms"), Truth::Committed, |_| fault).await?;
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn reply_lost_while_the_servers_side_stays_open() -> Result<()> {
    let fault = Fault::lose_client(Duration::from_secs(1));
    rounds_of(&Scene::new().await?, "client cut, server open", Truth::Committed, |_| fault).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn connection_reset() -> Result<()> {
    let scene = Scene::new().await?;
    for ms in [0, 1, 10] {
        let fault = Fault::Reset { cut: Duration::from_millis(ms) };
        rounds_of(&scene, &format!("reset after {ms} ms"), Truth::Either, |_| fault).await?;
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn black_hole_that_ends_in_a_cut() -> Result<()> {
    let scene = Scene::new().await?;
    let two = Duration::from_secs(2);
    rounds_of(&scene, "silence before the COMMIT, cut after 2 s", Truth::NotCommitted, |_| Fault::black_hole(two))
        .await?;
    let after = Fault::BlackHole { forwarded: true, until: Until::Elapsed(two), then_cut: true };
    rounds_of(&scene, "silence after the COMMIT, cut after 2 s", Truth::Committed, |_| after).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn black_hole_that_passes() -> Result<()> {
    let scene = Scene::new().await?;
    for forwarded in [false, true] {
        let fault = Fault::BlackHole { forwarded, until: Until::Elapsed(Duration::from_secs(2)), then_cut: false };
        rounds_of(&scene, "silence of 2 s, then all passes", Truth::Answered, |_| fault).await?;
    }
    Ok(())
}

/// Nothing ever comes back: the program's own limit ends the wait, and the session that still holds the partition
/// must not keep the resolution from its answer.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn black_hole_without_an_end() -> Result<()> {
    let scene = Scene::with("publish = \"1s\"\n").await?;
    for (forwarded, truth) in [(false, Truth::NotCommitted), (true, Truth::Committed)] {
        let fault = Fault::BlackHole { forwarded, until: Until::Released, then_cut: true };
        rounds_of(&scene, "silence without an end", truth, |_| fault).await?;
        scene.relay.release();
    }
    Ok(())
}

/// The receipt of a run that changed nothing is lost in the same ways.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn receipts_without_new_rows() -> Result<()> {
    let scene = Scene::new().await?;
    scene.run("2026-03-02").await?.expect_code(0);
    for _ in 0..rounds()? {
        judge(Truth::NotCommitted, &scene.round("2026-03-02", Fault::CutBefore).await?)?;
        let seen = scene.round("2026-03-02", Fault::lose_reply(Duration::ZERO)).await?;
        judge(Truth::Committed, &seen)?;
        ensure!(seen.runs[0].receipt.as_ref().is_some_and(|(kind, _)| kind == "unchanged"), "{seen:?}");
    }
    Ok(())
}
