//! A COMMIT that takes its time: deferred triggers still run in it while the client is already gone.

use std::time::Duration;

use anyhow::{Result, ensure};
use thrice_fault_relay::Fault;

use crate::scene::{Scene, rounds};

/// The lock barrier waits for the old transaction: a first look without it would find no receipt.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_commit_that_goes_on_for_a_second_after_the_cut() -> Result<()> {
    let scene = Scene::new().await?;
    scene
        .scratch
        .execute(
            "create table public.slow (n int); insert into public.slow values (0);
             create function public.slow() returns trigger language plpgsql as
               $$ begin if (select n from public.slow) > 0 then perform pg_sleep(1); end if; return null; end $$;
             create constraint trigger slow after insert on thrice.publications
               deferrable initially deferred for each row execute function public.slow()",
        )
        .await?;
    scene.run("2026-03-02").await?.expect_code(0);
    scene.scratch.execute("update public.slow set n = 1").await?;
    for round in 0..rounds() {
        for fault in [Fault::lose_reply(Duration::ZERO), Fault::lose_client(Duration::from_secs(3))] {
            scene.change("2026-03-02", round).await?;
            let seen = scene.round("2026-03-02", fault).await?;
            ensure!(seen.resolved && seen.runs.len() == 1, "{fault:?}: {seen:?}");
            ensure!(seen.took > Duration::from_secs(1), "the answer came before the COMMIT was through: {seen:?}");
        }
    }
    Ok(())
}

/// A deferred constraint that refuses at COMMIT while nobody listens: not published, and so it is said.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_commit_that_fails_after_the_cut() -> Result<()> {
    let scene = Scene::new().await?;
    scene
        .scratch
        .execute(
            "create sequence public.calls;
             create function public.refuse() returns trigger language plpgsql as
               $$ begin if nextval('public.calls') % 2 = 1 then perform pg_sleep(0.3); raise exception 'no'; end if;
                  return null; end $$;
             create constraint trigger refuse after insert on thrice.publications
               deferrable initially deferred for each row execute function public.refuse()",
        )
        .await?;
    for round in 0..rounds() {
        scene.change("2026-03-02", round).await?;
        let seen = scene.round("2026-03-02", Fault::lose_reply(Duration::ZERO)).await?;
        ensure!(!seen.resolved && seen.runs.len() == 2, "{seen:?}");
    }
    Ok(())
}
