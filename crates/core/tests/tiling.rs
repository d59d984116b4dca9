//! Intervals tile time, in every zone of the tz database: around every clock change from 1970 to 2100 that a seeded
//! sample takes, and at random instants.

#![expect(clippy::unwrap_used, reason = "a test")]

use std::collections::BTreeSet;

use proptest::prelude::*;
use thrice_core::grain::Grain;
use thrice_core::interval::Interval;
use thrice_core::schedule::Schedule;
use thrice_core::time::{Timestamp, Zone};

fn zones() -> Vec<Zone> {
    jiff::tz::db().available().filter_map(|name| Zone::named(name.as_str()).ok()).collect()
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
    let (mut days, mut hours) = (BTreeSet::new(), BTreeSet::new());
    let (mut changes, zones) = (0, zones());
    assert!(zones.len() > 300, "only {} zones", zones.len());
    for (number, zone) in zones.into_iter().enumerate() {
        let all: Vec<Timestamp> =
            zone.transitions_after(seconds(0)).take_while(|at| *at < seconds(4_102_444_800)).collect();
        let (day, hour) = (Schedule::new(Grain::Day, zone.clone()), Schedule::new(Grain::Hour, zone));
        // every zone starts at another place, so that all years are met
        for at in all.iter().skip(number % 9).step_by(9) {
            changes += 1;
            check_around(&day, *at, &mut days);
            check_around(&hour, *at, &mut hours);
        }
    }
    assert!(changes > 3_000, "only {changes} clock changes");
    for expected in [23.0, 24.0, 25.0, 23.5, 24.5] {
        #[expect(clippy::cast_possible_truncation, reason = "whole seconds")]
        let length = (expected * 3600.0) as i64;
        assert!(days.contains(&length), "no day of {expected} hours among {days:?}");
    }
    assert!(hours.contains(&1800) && hours.contains(&3600) && hours.contains(&5400), "{hours:?}");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]
    #[test]
    fn tiles_at_random_instants(index in any::<prop::sample::Index>(), at in 0_i64..4_102_444_800) {
        let zones = zones();
        let zone = index.get(&zones);
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
