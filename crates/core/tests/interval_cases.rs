//! Interval cases handed over as JSON lines: the file that `THRICE_INTERVAL_CASES` names, or `cases/handed` in the folder
//! `shared` beside the repository, where there is one.
//!
//! Every row is judged, apart from two kinds, which are counted by the reason: rows of another cron policy than ours
//! (the first instant after a gap, the first of two passes), and rows with an instant that the time library cannot hold.
//! `soft` rows may be answered otherwise; those that are, are listed.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a test")]

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde_json::{Value, json};
use thrice_core::cron_pattern::CronPattern;
use thrice_core::due::{CatchUp, DuePolicy};
use thrice_core::grain::{Grain, GrainError};
use thrice_core::interval::Interval;
use thrice_core::late_policy::{LatePolicy, Published, Revisits};
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

fn pairs<'a>(partitions: impl IntoIterator<Item = &'a Partition>) -> Value {
    let pair = |of: &Partition| json!([of.interval.start().to_string(), of.interval.end().to_string()]);
    partitions.into_iter().map(pair).collect()
}

fn grain(row: &Value) -> Result<Grain, String> {
    let text = row["grain"].as_str().unwrap();
    if let Some(pattern) = text.strip_prefix("cron:") {
        return CronPattern::parse(pattern).map(Grain::Cron).map_err(|error| error.to_string());
    }
    if text == "week" {
        return Grain::week_from(row["week_start"].as_str().unwrap_or("monday")).map_err(|error| error.to_string());
    }
    match Grain::parse(text) {
        // a length that we spell in another way is the same length
        Err(GrainError::OtherWord { write, .. }) => Grain::parse(&write),
        other => other,
    }
    .map_err(|error| error.to_string())
}

fn judge(row: &Value) -> Judged {
    if let Some(policy) = row["policy"].as_object()
        && (policy["gap"] != "first-after" || policy["fold"] != "first")
    {
        return Judged::Left("another cron policy");
    }
    let kind = row["kind"].as_str().unwrap();
    let rejected = || Judged::Answer(json!(["reject"]));
    let known = Zone::named(row["zone"].as_str().unwrap()).map_err(|error| error.to_string());
    let (grain, zone) = match (grain(row), known) {
        (Ok(grain), Ok(zone)) => (grain, zone),
        (Err(_), _) | (_, Err(_)) if kind == "invalid" => return rejected(),
        (Err(error), _) | (_, Err(error)) => panic!("{}: {error}", row["id"]),
    };
    let beyond = |key: &str| row[key].as_str().is_some_and(|text| text.parse::<Timestamp>().is_err());
    if ["from", "to", "now"].into_iter().any(beyond) {
        return Judged::Left("an instant after the time library's last one");
    }
    let schedule = Schedule::new(grain, zone);
    match kind {
        "intervals" | "count" => {
            let limit = row["limit"].as_u64().map_or(usize::MAX, |limit| usize::try_from(limit).unwrap());
            let end = if row["to"].is_null() { Timestamp::MAX } else { instant(&row["to"]) };
            let within = Interval::new(instant(&row["from"]), end).unwrap();
            if kind == "count" {
                return Judged::Answer(json!([schedule.partitions(within).count()]));
            }
            let found: Vec<Partition> = schedule.partitions(within).take(limit).collect();
            Judged::Answer(pairs(&found))
        }
        "align" => Judged::Answer(align(row, &schedule)),
        "due" => Judged::Answer(due(row, &schedule)),
        "cron_next" => Judged::Answer(cron_next(row, &schedule)),
        "invalid" => {
            let refused = match row["literal"].as_str() {
                Some(text) => schedule.partition_for_key(text).is_err(),
                None => Interval::new(instant(&row["from"]), instant(&row["to"])).is_err(),
            };
            if refused { rejected() } else { Judged::Answer(json!(["accept"])) }
        }
        other => panic!("{}: the kind {other} is not known here", row["id"]),
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
    pairs([&partition])
}

fn cron_next(row: &Value, schedule: &Schedule) -> Value {
    let from = instant(&row["from"]);
    let inclusive = row["inclusive"].as_bool().unwrap();
    let count = usize::try_from(row["count"].as_u64().unwrap()).unwrap();
    std::iter::successors(schedule.first_from(from), |partition| schedule.next(partition))
        .map(|partition| partition.interval.start())
        .skip_while(|tick| !inclusive && *tick == from)
        .take(count)
        .map(|tick| tick.to_string())
        .collect()
}

/// What is missing, and what is to be redone: `lookback` counts how many following intervals revisit a partition.
fn due(row: &Value, schedule: &Schedule) -> Value {
    let done: Vec<(Timestamp, Timestamp)> =
        row["done"].as_array().unwrap().iter().map(|span| (instant(&span[0]), instant(&span[1]))).collect();
    let is_done =
        |of: &Partition| done.iter().any(|(from, to)| *from <= of.interval.start() && of.interval.end() <= *to);
    let ends = row["pipeline_end"].as_str().map(|text| text.parse::<Timestamp>().unwrap());
    let until = [row["to"].as_str().map(|text| text.parse().unwrap()), ends].into_iter().flatten().min();
    let as_of = instant(&row["now"]);
    let policy = DuePolicy {
        start: instant(&row["from"]),
        end: until,
        delay: std::time::Duration::from_secs(60 * row["delay_minutes"].as_u64().unwrap_or(0)),
        catch_up: CatchUp::All,
    };
    let lookback = u32::try_from(row["lookback"].as_u64().unwrap_or(0)).unwrap();
    let late = LatePolicy::new(Revisits::Window(lookback + 1), None, None).unwrap();
    // the interval that fell due last: past the pipeline's end nothing is recorded, and earlier runs did their part
    let newest = schedule.latest_complete(as_of).unwrap();
    let accounted = |following: &Partition| {
        is_done(following) || ends.is_some_and(|end| following.interval.start() >= end && *following != newest)
    };
    let found: Vec<Partition> = policy
        .all_due(schedule, as_of)
        .filter(|partition| {
            if !is_done(partition) {
                return true;
            }
            let mut following = std::iter::successors(schedule.next(partition), |p| schedule.next(p));
            let reached = following.by_ref().take_while(|p| accounted(p)).take(lookback as usize).count();
            let published = Published { reached: u32::try_from(reached).unwrap(), ..Published::default() };
            !late.revisits_due(schedule, &policy, partition, published, as_of).is_empty()
        })
        .collect();
    pairs(&found)
}

#[test]
fn handed_cases_agree() {
    let beside = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/cases/handed/intervals.jsonl");
    let path = std::env::var_os("THRICE_INTERVAL_CASES").map_or_else(|| PathBuf::from(beside), PathBuf::from);
    if std::env::var_os("THRICE_INTERVAL_CASES").is_none() && !path.exists() {
        println!("THRICE_INTERVAL_CASES names no file: nothing was judged");
        return;
    }
    let (mut right, mut left) = (BTreeMap::<String, usize>::new(), BTreeMap::<&str, usize>::new());
    let (mut wrong, mut otherwise, mut rows) = (Vec::new(), Vec::new(), 0);
    for line in std::fs::read_to_string(path).unwrap().lines().filter(|line| !line.trim().is_empty()) {
        let row: Value = serde_json::from_str(line).unwrap();
        rows += 1;
        let grain = row["grain"].as_str().unwrap().split(':').next().unwrap();
        match judge(&row) {
            Judged::Left(why) => *left.entry(why).or_default() += 1,
            Judged::Answer(got) if got == row["expect"] => {
                *right.entry(format!("{} {grain}", row["kind"].as_str().unwrap())).or_default() += 1;
            }
            Judged::Answer(got) => {
                let told = format!("{}: expected {}, got {got}", row["id"], row["expect"]);
                if row["soft"] == true { otherwise.push(told) } else { wrong.push(told) }
            }
        }
    }
    let judged: usize = right.values().sum();
    println!("{judged} of {rows} rows right: {right:?}");
    println!("not judged {left:?}; soft and answered otherwise {otherwise:?}; {} wrong", wrong.len());
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(judged > 0, "the file holds no row");
}
