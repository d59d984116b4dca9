//! Interval cases handed over as JSON lines; the file is named by `THRICE_INTERVAL_CASES`.
//!
//! Rows of grains that this version does not build are counted, not judged.

use std::collections::BTreeMap;

use serde_json::Value;
use thrice_core::grain::Grain;
use thrice_core::interval::Interval;
use thrice_core::schedule::{Partition, Schedule};
use thrice_core::time::{Timestamp, Zone};

/// `None` past the last instant that the time library holds (9999-12-30T22:00Z).
fn instant(value: &Value) -> Option<Timestamp> {
    value.as_str().and_then(|text| text.parse().ok())
}

fn text(partition: &Partition) -> Value {
    serde_json::json!([partition.interval.start().to_string(), partition.interval.end().to_string()])
}

fn answer(row: &Value, schedule: &Schedule) -> Option<Value> {
    match row["kind"].as_str()? {
        "intervals" | "count" => {
            let within = Interval::new(instant(&row["from"])?, instant(&row["to"])?).ok()?;
            let found: Vec<Partition> = schedule.partitions(within).collect();
            Some(if row["kind"] == "count" {
                serde_json::json!([found.len()])
            } else {
                found.iter().map(text).collect()
            })
        }
        "align" => {
            let at = instant(&row["from"])?;
            let mut partition = if row["mode"] == "latest_complete" {
                schedule.latest_complete(at)?
            } else {
                schedule.partition_at(at)?
            };
            let offset = row["offset"].as_i64().unwrap_or(0);
            for _ in 0..offset.abs() {
                partition = if offset > 0 { schedule.next(&partition)? } else { schedule.previous(&partition)? };
            }
            Some(serde_json::json!([text(&partition)]))
        }
        _ => None,
    }
}

#[test]
fn handed_cases_agree() {
    let Some(path) = std::env::var_os("THRICE_INTERVAL_CASES") else {
        println!("THRICE_INTERVAL_CASES names no file: nothing was judged");
        return;
    };
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    let mut wrong = Vec::new();
    for line in std::fs::read_to_string(path).unwrap().lines() {
        let row: Value = serde_json::from_str(line).unwrap();
        let zone = Zone::named(row["zone"].as_str().unwrap_or("UTC"));
        let (Ok(grain), Ok(zone)) = (Grain::parse(row["grain"].as_str().unwrap_or_default()), zone) else {
            *counts.entry("other grain").or_default() += 1;
            continue;
        };
        match answer(&row, &Schedule::new(grain, zone)) {
            None => *counts.entry("other kind or out of range").or_default() += 1,
            Some(got) if got == row["expect"] => *counts.entry("right").or_default() += 1,
            Some(got) => wrong.push(format!("{}: expected {}, got {got}", row["id"], row["expect"])),
        }
    }
    println!("{counts:?}, {} wrong", wrong.len());
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
