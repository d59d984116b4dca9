//! Intervals tile time, in every zone of the tz database: around clock changes from 1970 to 2100, and at random instants.
//!
//! A run meets one clock change in thirty, chosen by a seed. `THRICE_TILING_SEED=N` chooses others,
//! `THRICE_TILING_EVERY=1` takes all of them.

#![expect(clippy::unwrap_used, reason = "a test")]

use std::collections::BTreeSet;
use std::sync::LazyLock;

use proptest::prelude::*;
use thrice_core::grain::Grain;
use thrice_core::interval::Interval;
use thrice_core::schedule::Schedule;
use thrice_core::time::{Timestamp, Zone};

/// Every zone of the tz database that a pipeline may name.
static ZONES: LazyLock<Vec<Zone>> =
    LazyLock::new(|| jiff::tz::db().available().filter_map(|name| Zone::named(name.as_str()).ok()).collect());

/// The clock changes of a zone between 1970 and 2100, each with the offset after it.
fn clock_changes(zone: &Zone) -> Vec<(Timestamp, i32)> {
    zone.transitions_after(seconds(0))
        .take_while(|at| *at < seconds(4_102_444_800))
        .map(|at| (at, zone.offset_seconds(at)))
        .collect()
}

fn number(variable: &str, default: usize) -> usize {
    std::env::var(variable).map_or(default, |text| text.parse().unwrap())
}

fn seconds(at: i64) -> Timestamp {
    Timestamp::from_second(at).unwrap()
}

/// Walks from a day and a half before to a day and a half after, and checks every rule on the way.
fn check_around(schedule: &Schedule, at: Timestamp, lengths: &mut BTreeSet<i64>) {
    let half = 36 * 3600;
    let within = Interval::new(seconds(at.as_second() - half), seconds(at.as_second() + half)).unwrap();
    let mut before: Option<thrice_core::schedule::Partition> = None;
    let first = schedule.partition_at(within.start()).unwrap();
    for partition in
        std::iter::successors(Some(first), |p| schedule.next(p)).take_while(|p| p.interval.start() < within.end())
    {
        let interval = partition.interval;
        let place = format!("{} {} {}", schedule.zone(), schedule.grain(), partition.key);
        for inside in [interval.start(), Timestamp::from_microsecond(interval.end().as_microsecond() - 1).unwrap()] {
            assert_eq!(schedule.partition_at(inside).as_ref(), Some(&partition), "{place}");
        }
        assert_eq!(schedule.partition_for_key(partition.key.as_str()).as_ref(), Ok(&partition), "{place}");
        if let Some(before) = before {
            assert_eq!(before.interval.end(), interval.start(), "{place}: gap or overlap");
            assert!(before.key < partition.key, "{place}: {} sorts after it", before.key);
            assert_eq!(schedule.previous(&partition).as_ref(), Some(&before), "{place}");
        }
        lengths.insert(interval.seconds());
        before = Some(partition);
    }
}

#[test]
fn tiles_around_clock_changes_of_every_zone() {
    let (every, seed) = (number("THRICE_TILING_EVERY", 30), number("THRICE_TILING_SEED", 0));
    let (mut days, mut hours) = (BTreeSet::new(), BTreeSet::new());
    let (mut changes, mut met) = (0, 0);
    assert!(ZONES.len() > 300, "only {} zones", ZONES.len());
    // zones that only differ by name, or before 1970, are one
    let mut different = BTreeSet::new();
    for zone in ZONES.iter() {
        let all = clock_changes(zone);
        if !different.insert((zone.offset_seconds(seconds(0)), all.clone())) {
            continue;
        }
        let (day, hour) = (Schedule::new(Grain::Day, zone.clone()), Schedule::new(Grain::Hour, zone.clone()));
        for (at, _) in &all {
            if (changes + seed) % every == 0 {
                met += 1;
                check_around(&day, *at, &mut days);
                check_around(&hour, *at, &mut hours);
            }
            changes += 1;
        }
    }
    println!("{met} of {changes} clock changes of {} different zones", different.len());
    println!("days of {days:?} s, hours of {hours:?} s");
    assert!(changes > 20_000 && met >= changes / every, "only {met} of {changes} clock changes");
    for hours_of_day in [23, 24, 25] {
        assert!(days.contains(&(hours_of_day * 3600)), "no day of {hours_of_day} hours among {days:?}");
    }
}

#[test]
fn tiles_around_the_odd_clock_changes() {
    // Lord Howe by half an hour; St John's at a minute past midnight; Cordoba by two hours; Apia and Kwajalein over a
    // whole date; Troll by two hours; Kathmandu by a quarter; Pyongyang by half an hour; Caracas likewise
    for (name, at) in [
        ("Australia/Lord_Howe", "2024-04-06T15:00:00Z"),
        ("Australia/Lord_Howe", "2024-10-05T15:30:00Z"),
        ("Australia/Lord_Howe", "1981-02-28T14:00:00Z"),
        ("America/St_Johns", "1988-10-30T01:31:00Z"),
        ("America/St_Johns", "2006-10-29T02:31:00Z"),
        ("America/Argentina/Cordoba", "1991-03-03T02:00:00Z"),
        ("Pacific/Apia", "2011-12-30T10:00:00Z"),
        ("Pacific/Kwajalein", "1993-08-21T12:00:00Z"),
        ("Antarctica/Troll", "2026-10-25T01:00:00Z"),
        ("Asia/Kathmandu", "1985-12-31T18:30:00Z"),
        ("Asia/Pyongyang", "2015-08-14T15:00:00Z"),
        ("America/Caracas", "2007-12-09T07:00:00Z"),
        ("America/Sao_Paulo", "2018-11-04T03:00:00Z"),
        ("America/Havana", "2026-11-01T05:00:00Z"),
        ("Asia/Beirut", "2026-03-28T22:00:00Z"),
        ("Africa/Monrovia", "1972-01-07T00:44:30Z"),
    ] {
        let zone = Zone::named(name).unwrap();
        let at: Timestamp = at.parse().unwrap();
        assert_eq!(zone.last_transition(at), Some(at), "{name} changes nothing at {at}");
        for grain in [Grain::Day, Grain::Hour] {
            check_around(&Schedule::new(grain, zone.clone()), at, &mut BTreeSet::new());
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 100, failure_persistence: None, ..ProptestConfig::default() })]
    #[test]
    fn tiles_at_random_instants(index in any::<prop::sample::Index>(), at in 0_i64..4_102_444_800) {
        let zone = index.get(ZONES.as_slice());
        for grain in [Grain::Day, Grain::Hour] {
            check_around(&Schedule::new(grain, zone.clone()), seconds(at), &mut BTreeSet::new());
        }
    }
}

#[test]
fn a_date_that_never_was_has_no_interval() {
    let apia = Schedule::new(Grain::Day, Zone::named("Pacific/Apia").unwrap());
    assert!(apia.partition_for_key("2011-12-30").is_err());
    let before = apia.partition_for_key("2011-12-29").unwrap();
    assert_eq!(apia.next(&before).unwrap().key.as_str(), "2011-12-31");
}

#[test]
fn an_hour_that_comes_twice_needs_its_offset() {
    let new_york = Schedule::new(Grain::Hour, Zone::named("America/New_York").unwrap());
    let error = new_york.partition_for_key("2026-11-01T01").unwrap_err();
    assert!(error.to_string().contains("2026-11-01T01-04:00 or 2026-11-01T01-05:00"), "{error}");
    assert!(new_york.partition_for_key("2026-03-08T02").is_err(), "the hour was skipped");
    assert!(new_york.partition_for_key("2026-03-09T02-04:00").is_err(), "one interval, one key");
    assert!(new_york.partition_for_key("2026-11-01T01-07:00").is_err());
}

#[test]
fn lord_howe_has_a_short_and_a_long_hour() {
    let island = Schedule::new(Grain::Hour, Zone::named("Australia/Lord_Howe").unwrap());
    assert_eq!(island.partition_for_key("2024-10-06T02").unwrap().interval.seconds(), 1800);
    assert_eq!(island.partition_for_key("2024-04-07T01").unwrap().interval.seconds(), 5400);
}
