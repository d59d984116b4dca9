//! Where an hour begins: when the local clock shows a full hour or enters another hour, so both passes of a repeated hour
//! are intervals, and a shift of half an hour makes one hour longer or shorter.

use crate::boundaries::{day, just_before};
use crate::grain::Grain;
use crate::interval::Interval;
use crate::interval_key::{IntervalKey, parse_offset};
use crate::key_error::KeyError;
use crate::read_key::{parse_date, split_hour_key, suggest_hour};
use crate::schedule::Partition;
use crate::time::{Timestamp, Zone, civil, offset_text};

/// The hour that contains `at`.
pub(crate) fn at(zone: &Zone, at: Timestamp) -> Option<Partition> {
    let interval = Interval::new(hour_start(zone, at)?, hour_end(zone, at)?).ok()?;
    let local = zone.local(interval.start());
    if !(1..=9999).contains(&local.date().year()) {
        return None;
    }
    let mut key = format!("{}T{:02}", local.date(), local.hour());
    if passes_of_hour(zone, interval, local).len() > 1 {
        key.push_str(&zone.offset_text(interval.start()));
    }
    Some(Partition { key: IntervalKey::new(key), interval, target_date: local.date() })
}

/// The newest hour boundary at or before `at`.
fn hour_start(zone: &Zone, at: Timestamp) -> Option<Timestamp> {
    let mut at = at;
    loop {
        let full_hour = full_hour_before(zone, at)?;
        let Some(change) = zone.last_transition(at) else { return Some(full_hour) };
        if full_hour >= change {
            return Some(full_hour);
        }
        if begins_an_hour(zone, change)? {
            return Some(change);
        }
        at = just_before(change)?;
    }
}

/// The first hour boundary after `at`.
fn hour_end(zone: &Zone, at: Timestamp) -> Option<Timestamp> {
    let mut at = at;
    loop {
        let full_hour = full_hour_before(zone, at)?.checked_add(jiff::SignedDuration::from_hours(1)).ok()?;
        match zone.next_transition(at) {
            Some(change) if change <= full_hour => {
                if begins_an_hour(zone, change)? {
                    return Some(change);
                }
                at = change;
            }
            _ => return Some(full_hour),
        }
    }
}

/// The last instant at or before `at` at which the clock, kept at `at`'s offset, showed a full hour.
fn full_hour_before(zone: &Zone, at: Timestamp) -> Option<Timestamp> {
    let local = at.as_second().checked_add(i64::from(zone.offset_seconds(at)))?;
    // a fraction of a second before 1970 rounds towards zero; floor it first
    let floor = i64::from(at.subsec_nanosecond() < 0);
    let into_hour = (local - floor).rem_euclid(3600);
    Timestamp::from_second(at.as_second() - floor - into_hour).ok()
}

/// Whether the clock change at `change` begins an hour: it shows a full hour, or another hour than before.
fn begins_an_hour(zone: &Zone, change: Timestamp) -> Option<bool> {
    let (after, before) = (zone.local(change), zone.local(just_before(change)?));
    let full = after.minute() == 0 && after.second() == 0 && after.subsec_nanosecond() == 0;
    Some(full || (after.date(), after.hour()) != (before.date(), before.hour()))
}

/// The starts of all intervals that show the same local hour: more than one where the hour comes again.
fn passes_of_hour(zone: &Zone, interval: Interval, local: civil::DateTime) -> Vec<Timestamp> {
    let day = jiff::SignedDuration::from_hours(25);
    let around = (interval.start().checked_sub(day), interval.end().checked_add(day));
    if let (Ok(before), Ok(after)) = around
        && zone.offset_seconds(before) == zone.offset_seconds(after)
        && zone.offset_seconds(before) == zone.offset_seconds(interval.start())
    {
        return vec![interval.start()];
    }
    let mut starts = starts_of_local_hour(zone, local.date(), local.hour());
    if !starts.contains(&interval.start()) {
        starts.push(interval.start());
    }
    starts
}

fn starts_of_local_hour(zone: &Zone, date: civil::Date, hour: i8) -> Vec<Timestamp> {
    let mut starts: Vec<Timestamp> = [(0, 0, 0), (59, 59, 999_999_000)]
        .into_iter()
        .flat_map(|(minute, second, nanos)| {
            zone.instants_of(date.to_datetime(civil::time(hour, minute, second, nanos)))
        })
        .filter_map(|at| hour_start(zone, at))
        .filter(|start| {
            let local = zone.local(*start);
            (local.date(), local.hour()) == (date, hour)
        })
        .collect();
    starts.sort_unstable();
    starts.dedup();
    starts
}

/// The hour that a key names.
pub(crate) fn for_key(zone: &Zone, text: &str) -> Result<Partition, KeyError> {
    let wrong = || KeyError::WrongForm { text: text.to_owned(), write: suggest_hour(text), grain: Grain::Hour };
    let Some((date_text, hour_text, offset_part)) = split_hour_key(text) else {
        if suggest_hour(text).is_some() {
            return Err(wrong());
        }
        parse_date(text, Grain::Hour)?;
        return Err(KeyError::OtherGrain { text: text.to_owned(), grain: Grain::Hour, is: "a day" });
    };
    let date = parse_date(date_text, Grain::Hour)
        .map_err(|error| if matches!(error, KeyError::WrongForm { .. }) { wrong() } else { error })?;
    let hour: i8 = hour_text.parse().map_err(|_| wrong())?;
    if hour > 23 {
        return Err(KeyError::NoSuchHour { text: text.to_owned() });
    }
    let starts = starts_of_local_hour(zone, date, hour);
    let choices = || starts.iter().filter_map(|start| at(zone, *start)).map(|p| p.key.as_str().to_owned()).collect();
    let start = if offset_part.is_empty() {
        match starts.as_slice() {
            [] => return Err(day::absent(zone, text, date)),
            [only] => *only,
            _ => return Err(KeyError::ComesTwice { text: text.to_owned(), choices: choices() }),
        }
    } else {
        let offset = parse_offset(offset_part).ok_or_else(wrong)?;
        match starts.iter().find(|at| zone.offset_seconds(**at) == offset) {
            Some(start) if starts.len() > 1 => *start,
            Some(_) => {
                return Err(KeyError::NeedlessOffset {
                    text: text.to_owned(),
                    write: format!("{date_text}T{hour_text}"),
                });
            }
            None if starts.is_empty() => {
                return Err(day::absent(zone, text, date));
            }
            None => {
                return Err(KeyError::OtherOffset {
                    text: text.to_owned(),
                    offset: offset_text(offset),
                    choices: choices(),
                });
            }
        }
    };
    at(zone, start).ok_or_else(wrong)
}
