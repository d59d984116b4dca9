//! A COMMIT that takes its time, or that fails: deferred triggers still run in it while the client is already gone.

use std::time::Duration;

use anyhow::{Result, ensure};
use thrice_fault_relay::Fault;

use crate::scene::{Scene, rounds};

/// Work that only COMMIT does. A publish makes constraints immediate before its receipt, so that they speak while they
/// can still be heard; this trigger on the receipt itself defers its own again.
const IN_COMMIT: &str = "
create table public.late (n bigint generated always as identity, armed boolean);
create function public.late_row() returns trigger language plpgsql as $$ begin
  set constraints all deferred;
  insert into public.late (armed) select true from public.switch where is_on;
  return null; end $$;
create trigger late_row after insert on thrice.publications for each row execute function public.late_row();
create table public.switch (is_on boolean); insert into public.switch values (false);
create constraint trigger late_work after insert on public.late deferrable initially deferred
  for each row execute function public.late_work();";

async fn scene_with(late_work: &str) -> Result<Scene> {
    let scene = Scene::new().await?;
    let function = format!(
        "create sequence public.calls; create function public.late_work() returns trigger language plpgsql as \
         $$ begin {late_work} return null; end $$;"
    );
    scene.scratch.execute(&format!("{function}{IN_COMMIT}")).await?;
    scene.run("2026-03-02").await?.expect_code(0);
    scene.scratch.execute("update public.switch set is_on = true").await?;
    Ok(scene)
}

/// The lock barrier waits for the old transaction: a first look without it would find no receipt.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_commit_that_goes_on_for_a_second_after_the_cut() -> Result<()> {
    let scene = scene_with("perform pg_sleep(1);").await?;
    for round in 0..rounds()? {
        for fault in [Fault::lose_reply(Duration::ZERO), Fault::lose_client(Duration::from_secs(3))] {
            scene.change("2026-03-02", round).await?;
            let seen = scene.round("2026-03-02", fault).await?;
            ensure!(seen.resolved && seen.runs.len() == 1, "{fault:?}: {seen:?}");
            ensure!(seen.after_fault > Duration::from_millis(900), "COMMIT did not take its second: {seen:?}");
        }
    }
    Ok(())
}

/// Refused at COMMIT while nobody listens: not published, and so it is said.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_commit_that_fails_after_the_cut() -> Result<()> {
    let scene = scene_with(
        "perform pg_sleep(0.3); if nextval('public.calls') % 2 = 1 then raise exception 'refused late'; end if;",
    )
    .await?;
    for round in 0..rounds()? {
        scene.change("2026-03-02", round).await?;
        let seen = scene.round("2026-03-02", Fault::lose_reply(Duration::ZERO)).await?;
        ensure!(!seen.resolved && seen.runs.len() == 2, "{seen:?}");
    }
    Ok(())
}
