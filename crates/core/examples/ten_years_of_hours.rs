//! Ten years of hourly partitions, half of them published: what a run would take, newest first, one at a time.
//!
//! `cargo run --release -p thrice-core --example ten_years_of_hours`

use std::io::Write;
use std::time::{Duration, Instant};

use thrice_core::due::{CatchUp, DuePolicy};
use thrice_core::{Grain, Schedule, Zone};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let schedule = Schedule::new(Grain::Hour, Zone::named("America/New_York")?);
    let first = schedule.partition_for_key("2016-01-01T00")?.interval.start();
    let policy = DuePolicy { start: first, end: None, delay: Duration::ZERO, catch_up: CatchUp::All };
    let as_of = "2025-12-29T05:00:00Z".parse()?;
    let published = |start: thrice_core::time::Timestamp| (start.as_second() / 3600) % 2 == 0;

    let began = Instant::now();
    let (mut all, mut open) = (0, 0);
    // nothing is collected, so memory does not grow with the years
    for partition in policy.newest_due(&schedule, as_of) {
        all += 1;
        open += usize::from(!published(partition.interval.start()));
    }
    let peak = std::fs::read_to_string("/proc/self/status")
        .ok()
        .and_then(|status| status.lines().find(|line| line.starts_with("VmHWM")).map(str::to_owned))
        .unwrap_or_default();
    writeln!(std::io::stdout(), "{open} of {all} partitions to run, found in {:?}  {peak}", began.elapsed())?;
    Ok(())
}
