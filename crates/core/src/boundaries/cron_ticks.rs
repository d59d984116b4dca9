//! Where a cron expression ticks in time, and the intervals between its ticks.
//!
//! The pattern names local times; the zone says when they are. Fixed times of the day tick once: after the gap where the
//! clocks skipped them, in the first pass where they come twice. Patterns with `*` or `/` in minute or hour go by the
//! passing of time: they skip the gap and tick in both passes.

use crate::boundaries::{has_key, just_before};
use crate::cron_pattern::CronPattern;
use crate::interval::Interval;
use crate::interval_key::IntervalKey;
use crate::schedule::Partition;
use crate::time::{Timestamp, Zone, civil};

/// The interval that contains `at`: from the last tick at or before it to the first one after it.
pub(crate) fn at(zone: &Zone, pattern: &CronPattern, at: Timestamp) -> Option<Partition> {
    starting(zone, pattern, last(zone, pattern, at)?)
}

/// The interval that starts with the tick `start`.
pub(crate) fn starting(zone: &Zone, pattern: &CronPattern, start: Timestamp) -> Option<Partition> {
    let interval = Interval::new(start, next(zone, pattern, start)?).ok()?;
    let local = zone.local(start);
    if !has_key(local.date()) {
        return None;
    }
    let minute = format!("{}T{:02}:{:02}", local.date(), local.hour(), local.minute());
    // where a gap ended within a minute, the first instant after it has seconds
    let mut key = if local.second() == 0 { minute } else { format!("{minute}:{:02}", local.second()) };
    if pattern.ticks_in_both_passes() && zone.instants_of(local).len() > 1 {
        key.push_str(&zone.offset_text(start));
    }
    Some(Partition { key: IntervalKey::new(key), interval, target_date: local.date() })
}

/// The first tick after `after`.
pub(crate) fn next(zone: &Zone, pattern: &CronPattern, after: Timestamp) -> Option<Timestamp> {
    if pattern.ticks_in_both_passes() { next_passing(zone, pattern, after) } else { next_fixed(zone, pattern, after) }
}

/// The last tick at or before `at`.
fn last(zone: &Zone, pattern: &CronPattern, at: Timestamp) -> Option<Timestamp> {
    if pattern.ticks_in_both_passes() { last_passing(zone, pattern, at) } else { last_fixed(zone, pattern, at) }
}

fn next_fixed(zone: &Zone, pattern: &CronPattern, after: Timestamp) -> Option<Timestamp> {
    // every tick up to the time on the wall lies at or before `after`; of the later ones, those of a second pass do too
    let mut local = pattern.next_local(zone.local(after), false)?;
    loop {
        let tick = zone.first_instant_at_or_after(local)?;
        if tick > after {
            return Some(tick);
        }
        local = pattern.next_local(local, false)?;
    }
}

fn last_fixed(zone: &Zone, pattern: &CronPattern, at: Timestamp) -> Option<Timestamp> {
    let mut tick = zone.first_instant_at_or_after(pattern.last_local(zone.local(at))?)?;
    while let Some(later) = next_fixed(zone, pattern, tick).filter(|later| *later <= at) {
        tick = later;
    }
    Some(tick)
}

/// Between two changes the clock runs evenly, so each such stretch is searched by itself.
fn next_passing(zone: &Zone, pattern: &CronPattern, after: Timestamp) -> Option<Timestamp> {
    let (mut from, mut inclusive) = (after, false);
    loop {
        let tick = pattern.next_local(zone.local(from), inclusive).and_then(|local| at_offset_of(zone, from, local));
        match (tick, zone.next_transition(from)) {
            (Some(tick), Some(change)) if tick < change => return Some(tick),
            (tick, None) => return tick,
            (_, Some(change)) => (from, inclusive) = (change, true),
        }
    }
}

fn last_passing(zone: &Zone, pattern: &CronPattern, at: Timestamp) -> Option<Timestamp> {
    let mut at = at;
    loop {
        let tick = pattern.last_local(zone.local(at)).and_then(|local| at_offset_of(zone, at, local));
        match (tick, zone.last_transition(at)) {
            (Some(tick), Some(change)) if tick >= change => return Some(tick),
            (tick, None) => return tick,
            (_, Some(change)) => at = just_before(change)?,
        }
    }
}

/// The instant at which a clock that keeps the offset of `at` shows `local`.
fn at_offset_of(zone: &Zone, at: Timestamp, local: civil::DateTime) -> Option<Timestamp> {
    jiff::tz::Offset::from_seconds(zone.offset_seconds(at)).ok()?.to_timestamp(local).ok()
}

/// The starts of all intervals that show a local time: none, one, or both passes.
pub(crate) fn starts_of(zone: &Zone, pattern: &CronPattern, local: civil::DateTime) -> Vec<Timestamp> {
    zone.instants_of(local).into_iter().filter(|at| last(zone, pattern, *at) == Some(*at)).collect()
}
