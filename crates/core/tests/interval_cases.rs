//! Interval cases handed over as JSON lines; the file is named by `THRICE_INTERVAL_CASES`.
//!
//! Judged: every row of grain hour or day, of the kinds `intervals`, `count`, `align`, `invalid`, and of `due` where no
//! earlier interval is to be redone. Rows of what this version does not build are counted by the reason, not judged.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a test")]

use std::collections::BTreeMap;

use serde_json::Value;
use thrice_core::due::{CatchUp, DuePolicy};
use thrice_core::grain::{Grain, GrainError};
use thrice_core::interval::Interval;
use thrice_core::schedule::{Partition, Schedule};
use thrice_core::time::{Timestamp, Zone};

/// What became of one row.
enum Judged {
    Answer(Value),
    /// Not judged, and why.
    Left(&'static str),
}

fn instant(value: &Value) -> Timestamp {
    value.as_str().unwrap().parse().unwrap()
}

fn texts<'a>(partitions: impl IntoIterator<Item = &'a Partition>) -> Value {
    let pair = |of: &Partition| serde_json::json!([of.interval.start().to_string(), of.interval.end().to_string()]);
    partitions.into_iter().map(pair).collect()
}

fn judge(row: &Value) -> Judged {
    let grain = match Grain::parse(row["grain"].as_str().unwrap()) {
        Ok(grain) => grain,
        Err(GrainError::NotBuilt(_) | GrainError::Unknown(_)) => return Judged::Left("another grain"),
    };
    let kind = row["kind"].as_str().unwrap();
    let rejected = || Judged::Answer(serde_json::json!(["reject"]));
    let zone = match Zone::named(row["zone"].as_str().unwrap()) {
        Ok(zone) => zone,
        Err(_) if kind == "invalid" => return rejected(),
        Err(error) => panic!("{}: {error}", row["id"]),
    };
    // 9999-12-31 in UTC: PostgreSQL has it, the time library ends two hours before
    if row["to"].as_str().is_some_and(|to| to.starts_with("9999-12-31")) {
        return Judged::Left("ends after the time library's last instant");
    }
    let schedule = Schedule::new(grain, zone);
    match kind {
        "intervals" | "count" => {
            let found: Vec<Partition> =
                schedule.partitions(Interval::new(instant(&row["from"]), instant(&row["to"])).unwrap()).collect();
            Judged::Answer(if kind == "count" { serde_json::json!([found.len()]) } else { texts(&found) })
        }
        "align" => Judged::Answer(align(row, &schedule)),
        "due" => due(row, &schedule),
        "invalid" => {
            let refused = match row["literal"].as_str() {
                Some(text) => schedule.partition_for_key(text).is_err(),
                None => Interval::new(instant(&row["from"]), instant(&row["to"])).is_err(),
            };
            if refused { rejected() } else { Judged::Answer(serde_json::json!(["accept"])) }
        }
        other => panic!("{}: a kind {other} of grain {grain} is not known here", row["id"]),
    }
}

fn align(row: &Value, schedule: &Schedule) -> Value {
    let at = instant(&row["from"]);
    let latest = row["mode"] == "latest_complete";
    let mut partition = if latest { schedule.latest_complete(at) } else { schedule.partition_at(at) }.unwrap();
    let offset = row["offset"].as_i64().unwrap_or(0);
    for _ in 0..offset.abs() {
        partition = if offset > 0 { schedule.next(&partition) } else { schedule.previous(&partition) }.unwrap();
    }
    texts([&partition])
}

fn due(row: &Value, schedule: &Schedule) -> Judged {
    if row["lookback"].as_u64().is_some_and(|intervals| intervals > 0) {
        return Judged::Left("redoes earlier intervals");
    }
    let done: Vec<(Timestamp, Timestamp)> =
        row["done"].as_array().unwrap().iter().map(|span| (instant(&span[0]), instant(&span[1]))).collect();
    let policy = DuePolicy {
        start: instant(&row["from"]),
        end: row["to"].as_str().map(|text| text.parse().unwrap()),
        delay: std::time::Duration::from_secs(60 * row["delay_minutes"].as_u64().unwrap_or(0)),
        catch_up: CatchUp::All,
    };
    let mut found = policy.to_run(schedule, instant(&row["now"]), |start| {
        let interval = schedule.partition_at(start).unwrap().interval;
        done.iter().any(|(from, to)| *from <= interval.start() && interval.end() <= *to)
    });
    found.reverse();
    Judged::Answer(texts(&found))
}

#[test]
fn handed_cases_agree() {
    let Some(path) = std::env::var_os("THRICE_INTERVAL_CASES") else {
        println!("THRICE_INTERVAL_CASES names no file: nothing was judged");
        return;
    };
    let (mut right, mut left) = (BTreeMap::<String, usize>::new(), BTreeMap::<&str, usize>::new());
    let mut wrong = Vec::new();
    for line in std::fs::read_to_string(path).unwrap().lines() {
        let row: Value = serde_json::from_str(line).unwrap();
        match judge(&row) {
            Judged::Left(why) => *left.entry(why).or_default() += 1,
            Judged::Answer(got) if got == row["expect"] => {
                *right.entry(format!("{} {}", row["kind"], row["grain"]).replace('"', "")).or_default() += 1;
            }
            Judged::Answer(got) => wrong.push(format!("{}: expected {}, got {got}", row["id"], row["expect"])),
        }
    }
    println!("right {right:?}, not judged {left:?}, {} wrong", wrong.len());
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(right.values().sum::<usize>() > 0, "the file holds no row of grain hour or day");
}
