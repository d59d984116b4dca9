//! What a service that schedules its own work would ask: which days are due now, which comes next, and when.
//!
//! `cargo run -p thrice-core --example list_due_intervals -- Asia/Seoul 2026-03-26T02:10:00+09:00`

use std::io::Write;

use thrice_core::due::{CatchUp, DuePolicy};
use thrice_core::duration::HumanDuration;
use thrice_core::grain::Grain;
use thrice_core::schedule::Schedule;
use thrice_core::time::{Timestamp, Zone};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let zone = Zone::named(&arguments.next().unwrap_or_else(|| "Asia/Seoul".to_owned()))?;
    let as_of: Timestamp = arguments.next().unwrap_or_else(|| "2026-03-26T02:10:00+09:00".to_owned()).parse()?;

    let schedule = Schedule::new(Grain::Day, zone);
    let first = schedule.partition_for_key("2026-03-20")?;
    let policy = DuePolicy {
        start: first.interval.start(),
        end: None,
        delay: HumanDuration::parse("2h10m")?.as_std(),
        catch_up: CatchUp::Newest(7),
    };
    // this service knows from its own records that the 22nd is done
    let done = schedule.partition_for_key("2026-03-22")?.interval.start();

    let mut out = std::io::stdout();
    for partition in policy.to_run(&schedule, as_of, |start| start == done) {
        let (start, end) = (partition.interval.start(), partition.interval.end());
        writeln!(out, "{}  [{}, {})", partition.key, schedule.zone().rfc3339(start), schedule.zone().rfc3339(end))?;
    }
    if let Some(current) = schedule.partition_at(as_of) {
        writeln!(out, "next: {} is due at {}", current.key, schedule.zone().rfc3339(policy.due_at(&current)))?;
    }
    Ok(())
}
