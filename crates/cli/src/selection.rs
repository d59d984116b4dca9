//! From words on the command line to partitions, and the policy on asking for them by name.

use thrice_core::code::ErrorCode;
use thrice_core::due::NotDue;
use thrice_core::grain::Grain;
use thrice_core::interval_set::{self, SetError};
use thrice_core::reason::{BadReason, Reason};
use thrice_core::schedule::{KeyError, Partition, Schedule};
use thrice_core::time::{Timestamp, civil};

use crate::fault::{Failed, Fault, Outcome};
use crate::project::Loaded;

/// The partitions of keys or of a range; `-` stands for a list on standard input.
pub(crate) fn partitions(
    loaded: &Loaded,
    keys: &[String],
    from: Option<&str>,
    to: Option<&str>,
    as_of: Timestamp,
) -> Outcome<Vec<Partition>> {
    let schedule = &loaded.job.schedule;
    match (from, to) {
        (Some(from), Some(to)) => {
            Ok(interval_set::range(schedule, from, to, as_of).map_err(|error| of_set(schedule, error))?)
        }
        (Some(key), None) | (None, Some(key)) => {
            let missing = if from.is_some() { "--to" } else { "--from" };
            Err(Fault::new(ErrorCode::RangeHalf, format!("{missing} is missing"))
                .why("a range names its first and its last interval, and both are included")
                .fix(format!("add {missing} {key} for that interval alone, or another key"))
                .into())
        }
        (None, None) => {
            let mut texts = Vec::new();
            for key in keys {
                if key == "-" {
                    texts.extend(from_stdin()?);
                } else {
                    texts.push(key.clone());
                }
            }
            Ok(interval_set::parse_all(schedule, texts.iter().map(String::as_str), as_of)
                .map_err(|error| of_set(schedule, error))?)
        }
    }
}

/// The one partition of a pipeline of grain `table`; `None` where there are intervals.
pub(crate) fn whole_table(loaded: &Loaded) -> Option<Vec<Partition>> {
    let schedule = &loaded.job.schedule;
    let table = (*schedule.grain() == Grain::Table).then(|| schedule.partition_for_key("table").ok()).flatten();
    table.map(|table| vec![table])
}

/// The one partition that a key names. `what` completes the refusal of more, such as "is shown".
pub(crate) fn one(loaded: &Loaded, key: &String, as_of: Timestamp, what: &str) -> Outcome<Partition> {
    let mut partitions = partitions(loaded, std::slice::from_ref(key), None, None, as_of)?;
    match (partitions.pop(), partitions.len()) {
        (Some(partition), 0) => Ok(partition),
        (_, others) => {
            let what = format!("{key} names {} intervals; one {what} at a time", others + 1);
            Err(Fault::new(ErrorCode::BadKey, what).fix("one call for each of them").into())
        }
    }
}

fn from_stdin() -> Outcome<Vec<String>> {
    let text = std::io::read_to_string(std::io::stdin())
        .map_err(|error| Fault::new(ErrorCode::BadArgument, format!("standard input cannot be read: {error}")))?;
    let keys: Vec<String> = text.split_whitespace().map(ToOwned::to_owned).collect();
    if keys.is_empty() {
        return Err(Fault::new(ErrorCode::BadKey, "standard input names no interval").fix("one key a line").into());
    }
    Ok(keys)
}

/// A set that names nothing, with what to type instead.
fn of_set(schedule: &Schedule, error: SetError) -> Failed {
    let what = error.to_string();
    let fault = match error {
        SetError::Key(error) => of_key(schedule, &error),
        SetError::Dots { from, to } => Fault::new(ErrorCode::DotsRange, "a range is not written with dots")
            .why("some read its last interval as included, some do not")
            .fix(format!("--from {from} --to {to} (both included)")),
        SetError::Backwards { from, to } => {
            Fault::new(ErrorCode::RangeBackwards, what).fix(format!("--from {to} --to {from}"))
        }
        SetError::TooMany { last, next } => Fault::new(ErrorCode::TooManyIntervals, what)
            .why("a call works through its intervals one after the other, and holds the whole list")
            .fix(format!("one call up to --to {last}, the next with --from {next}")),
        SetError::Nothing { .. } => Fault::new(ErrorCode::BadKey, what).fix("name a longer stretch, or a key"),
        SetError::Empty | SetError::OutOfRange { .. } => {
            Fault::new(ErrorCode::BadKey, what).fix("name a key such as 2026-03-24, or yesterday")
        }
    };
    fault.into()
}

fn of_key(schedule: &Schedule, error: &KeyError) -> Fault {
    let what = error.to_string();
    match error {
        KeyError::OtherGrain { grain, text, .. } => {
            let holds = holding(schedule, text).map(|partition| partition.key.to_string());
            let write = holds.unwrap_or_else(|| format!("a key such as {}", grain.key_form()));
            Fault::new(ErrorCode::OtherGrain, what).fix(format!("write {write}"))
        }
        KeyError::WrongForm { write: Some(write), .. } => {
            Fault::new(ErrorCode::BadKey, what).fix(format!("write {write}"))
        }
        KeyError::NeedlessOffset { write, .. } => Fault::new(ErrorCode::BadKey, what).fix(format!("write {write}")),
        KeyError::ComesTwice { choices, .. }
        | KeyError::OtherOffset { choices, .. }
        | KeyError::NoBoundary { choices, .. } => {
            Fault::new(ErrorCode::BadKey, what).fix(format!("write {}", choices.join(" or ")))
        }
        KeyError::WrongForm { grain: Grain::Table, .. } => {
            Fault::new(ErrorCode::BadKey, what).fix("name the pipeline alone, or its one key: table")
        }
        KeyError::WrongForm { write: None, grain, .. } => Fault::new(ErrorCode::BadKey, what)
            .fix(format!("write a key such as {}, or yesterday, -3, 2026-03, 2026-W13", grain.key_form())),
        KeyError::OutOfRange { .. } => {
            Fault::new(ErrorCode::BadKey, what).fix("name a key such as 2026-03-24, or yesterday")
        }
        KeyError::NoSuchDay { what: is, .. } if *is != "a day" => {
            Fault::new(ErrorCode::BadKey, what).fix(format!("write {is} of the calendar"))
        }
        KeyError::NoSuchDay { .. } => {
            Fault::new(ErrorCode::BadKey, what).fix("write a day of the calendar, such as 2026-02-28")
        }
        KeyError::NoSuchHour { .. } => {
            Fault::new(ErrorCode::BadKey, what).fix("write an hour of the day, such as 2026-03-24T05")
        }
        KeyError::NeverWas { text, .. } => {
            let unit = if text.contains('T') { "time" } else { "day" };
            let fix = format!("name the {unit} before it or after it: nothing happened in this one");
            Fault::new(ErrorCode::BadKey, what).fix(fix)
        }
    }
}

/// The interval that holds the start of what a key of another grain names.
fn holding(schedule: &Schedule, key: &str) -> Option<Partition> {
    let grains =
        [Grain::Hour, Grain::Day, Grain::Week(civil::Weekday::Monday), Grain::Month, Grain::Quarter, Grain::Year];
    let named = grains
        .into_iter()
        .find_map(|grain| Schedule::new(grain, schedule.zone().clone()).partition_for_key(key).ok())?;
    schedule.partition_at(named.interval.start())
}

/// Whether all of these partitions may be adopted at this time: what `run` would refuse to make is not taken for made.
pub(crate) fn may_adopt_all(loaded: &Loaded, partitions: &[Partition], as_of: Timestamp) -> Outcome<()> {
    may_run_all(loaded, partitions, as_of, false).map_err(|Failed(mut faults)| {
        for fix in faults.iter_mut().filter_map(|fault| fault.fix.as_mut()) {
            // there is no `adopt --early`: its rows would count as final before the late ones are there
            *fix = fix
                .replace("wait, or --early --reason \"…\"", "wait until it is due")
                .replace("may run", "may be adopted");
        }
        Failed(faults)
    })
}

/// Whether all of these partitions may be asked for at this time; one fault for each cause, with the first it holds for.
pub(crate) fn may_run_all(loaded: &Loaded, partitions: &[Partition], as_of: Timestamp, early: bool) -> Outcome<()> {
    let mut faults: Vec<(Fault, usize)> = Vec::new();
    let mut others: Vec<&Partition> = Vec::new();
    for partition in partitions {
        if let Some(fault) = why_not(loaded, partition, as_of, early) {
            match faults.iter_mut().find(|(known, _)| known.code == fault.code) {
                Some((_, more)) => *more += 1,
                None => faults.push((fault, 0)),
            }
        } else {
            others.push(partition);
        }
    }
    if faults.is_empty() {
        return Ok(());
    }
    let told = |(mut fault, more): (Fault, usize)| {
        if more > 0 {
            fault.what = format!("{}, and {more} more like it", fault.what);
        }
        fault
    };
    let mut faults: Vec<Fault> = faults.into_iter().map(told).collect();
    if let (Some(fault), [first, .., last]) = (faults.last_mut(), others.as_slice()) {
        fault.fix = Some(format!("--from {} --to {} names those that may run", first.key, last.key));
    }
    Err(Failed(faults))
}

/// Why a partition may not be asked for at this time.
fn why_not(loaded: &Loaded, partition: &Partition, as_of: Timestamp, early: bool) -> Option<Fault> {
    let zone = loaded.job.schedule.zone();
    let at = |instant: Timestamp| format!("{} = {instant}", zone.rfc3339(instant));
    let key = &partition.key;
    Some(match loaded.due.check(partition, as_of).err()? {
        NotDue::Delay { .. } if early => return None,
        NotDue::Delay { due_at } => Fault::new(ErrorCode::NotDue, format!("{key} is due at {}", at(due_at)))
            .why("its delay gives late rows time to arrive")
            .fix("wait, or --early --reason \"…\""),
        NotDue::NotEnded { end } => {
            Fault::new(ErrorCode::NotEnded, format!("{key} has not ended: it ends at {}", at(end)))
                .why("rows of an interval that goes on would be missing from it")
                .fix("wait until it has ended")
        }
        NotDue::BeforeStart { start } => {
            Fault::new(ErrorCode::BeforeStart, format!("{key} lies before the pipeline's start, {}", at(start)))
                .why("nothing before it belongs to thrice")
                .fix("set an earlier start in [interval]")
        }
        NotDue::AfterEnd { end } => {
            Fault::new(ErrorCode::BeforeStart, format!("{key} lies after the pipeline's end, {}", at(end)))
                .fix("set a later end in [interval]")
        }
    })
}

/// The reason of a call, where one was given.
pub(crate) fn reason(text: Option<&str>) -> Outcome<Option<Reason>> {
    let Some(text) = text else { return Ok(None) };
    match Reason::new(text) {
        Ok(reason) => Ok(Some(reason)),
        Err(error @ (BadReason::Length(_) | BadReason::Control)) => {
            Err(Fault::new(ErrorCode::BadReason, error.to_string())
                .why("the ledger keeps it for whoever asks later")
                .fix("say in a sentence why: --reason \"source was corrected\"")
                .into())
        }
    }
}

/// The reason that an override needs.
pub(crate) fn reason_for(what: &str, text: Option<&str>) -> Outcome<Reason> {
    match reason(text)? {
        Some(reason) => Ok(reason),
        None => Err(Fault::new(ErrorCode::ReasonMissing, format!("{what} needs --reason"))
            .why("the ledger keeps it for whoever asks later")
            .fix("--reason \"…\"")
            .into()),
    }
}

/// The half-open instants of a partition in its zone and in UTC, for people.
pub(crate) fn span_text(loaded: &Loaded, partition: &Partition) -> String {
    if partition.is_whole_table() {
        return "the whole table".to_owned();
    }
    span_of(loaded, partition.interval.start(), partition.interval.end())
}

/// Half-open instants in the pipeline's zone and in UTC, for people.
pub(crate) fn span_of(loaded: &Loaded, start: Timestamp, end: Timestamp) -> String {
    let zone = loaded.job.schedule.zone();
    format!("[{}, {})  = {start} .. {end}", zone.rfc3339(start), zone.rfc3339(end))
}

/// A partition's interval as `--json` spells it.
pub(crate) fn interval_json(loaded: &Loaded, partition: &Partition) -> serde_json::Value {
    let zone = loaded.job.schedule.zone();
    serde_json::json!({
        "key": partition.key.as_str(),
        "start": zone.rfc3339(partition.interval.start()),
        "end": zone.rfc3339(partition.interval.end()),
        "zone": zone.name(),
    })
}
