//! Intervals of every grain tile time, in every zone of the tz database: three days around clock changes from 1970 to
//! 2100, and at random instants.
//!
//! A run meets one clock change in thirty, chosen by a seed, of grains under a day one in 120 and of those under an hour
//! one in 900. `THRICE_TILING_SEED=N` chooses others; `THRICE_TILING_EVERY=1` takes all of them for all grains, on as many
//! threads as `THRICE_TILING_THREADS` says (use `--release`). `THRICE_TILING_WITHOUT` leaves one grain out, of which `1 minutes`
//! takes more time than all others together.

#![expect(clippy::unwrap_used, reason = "a test")]

use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;
use std::time::Instant;

use proptest::prelude::*;
use thrice_core::cron_pattern::CronPattern;
use thrice_core::grain::Grain;
use thrice_core::interval::Interval;
use thrice_core::schedule::{Partition, Schedule};
use thrice_core::time::{Timestamp, Zone};

/// Every zone of the tz database that a pipeline may name.
static ZONES: LazyLock<Vec<Zone>> =
    LazyLock::new(|| jiff::tz::db().available().filter_map(|name| Zone::named(name.as_str()).ok()).collect());

/// Grains, and how many times fewer clock changes of them are met.
const GRAINS: [(&str, usize); 24] = [
    ("day", 1),
    ("week", 1),
    ("week from sunday", 1),
    ("week from saturday", 1),
    ("month", 1),
    ("quarter", 1),
    ("year", 1),
    ("cron 0 0 * * *", 1),
    ("cron 30 2 * * *", 1),
    ("cron 15 1,23 1 * MON", 1),
    ("cron 0 */2 * * *", 4),
    ("hour", 4),
    ("2 hours", 4),
    ("3 hours", 4),
    ("6 hours", 4),
    ("8 hours", 4),
    ("12 hours", 4),
    ("90 minutes", 4),
    ("1 minutes", 300),
    ("5 minutes", 90),
    ("15 minutes", 30),
    ("32 minutes", 30),
    ("cron */30 * * * *", 30),
    ("cron 0,30 0-5 * * *", 30),
];

const DAY: i64 = 24 * 3600;

fn grain(text: &str) -> Grain {
    if let Some(pattern) = text.strip_prefix("cron ") {
        return Grain::Cron(CronPattern::parse(pattern).unwrap());
    }
    text.strip_prefix("week from ").map_or_else(|| Grain::parse(text), Grain::week_from).unwrap()
}

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

/// The grains to walk.
fn grains() -> impl Iterator<Item = (&'static str, usize)> {
    let without = std::env::var("THRICE_TILING_WITHOUT").unwrap_or_default();
    GRAINS.into_iter().filter(move |(text, _)| *text != without)
}

fn seconds(at: i64) -> Timestamp {
    Timestamp::from_second(at).unwrap()
}

/// Walks from some time before to as long after, and checks every rule on the way. How many intervals it met.
fn check_around(schedule: &Schedule, at: Timestamp, reach: i64, lengths: &mut BTreeSet<i64>) -> usize {
    let within = Interval::new(seconds(at.as_second() - reach), seconds(at.as_second() + reach)).unwrap();
    let (mut before, mut met): (Option<Partition>, _) = (None, 0);
    let first = schedule.partition_at(within.start()).unwrap();
    for partition in
        std::iter::successors(Some(first), |p| schedule.next(p)).take_while(|p| p.interval.start() < within.end())
    {
        let interval = partition.interval;
        let place = || format!("{} {} {}", schedule.zone(), schedule.grain(), partition.key);
        for inside in [interval.start(), Timestamp::from_microsecond(interval.end().as_microsecond() - 1).unwrap()] {
            assert_eq!(schedule.partition_at(inside).as_ref(), Some(&partition), "{}", place());
        }
        assert_eq!(schedule.partition_for_key(partition.key.as_str()).as_ref(), Ok(&partition), "{}", place());
        if let Some(before) = before {
            assert_eq!(before.interval.end(), interval.start(), "{}: gap or overlap", place());
            assert!(before.key < partition.key, "{}: {} sorts after it", place(), before.key);
            assert_eq!(schedule.previous(&partition).as_ref(), Some(&before), "{}", place());
        }
        lengths.insert(interval.seconds());
        before = Some(partition);
        met += 1;
    }
    met
}

/// What a walk met of one grain.
#[derive(Default)]
struct Met {
    intervals: usize,
    micros: u128,
    lengths: BTreeSet<i64>,
}

/// Walks around the clock changes of some zones; `first` is the number of their first change.
fn walk(zone: &Zone, changes: &[(Timestamp, i32)], first: usize, met: &mut BTreeMap<&'static str, Met>) {
    let (every, seed) = (number("THRICE_TILING_EVERY", 30), number("THRICE_TILING_SEED", 0));
    for (text, fewer) in grains() {
        let every = if every == 1 { 1 } else { every * fewer };
        let schedule = Schedule::new(grain(text), zone.clone());
        let (began, of_grain) = (Instant::now(), met.entry(text).or_default());
        for (at, _) in
            changes.iter().enumerate().filter(|(n, _)| (first + n + seed).is_multiple_of(every)).map(|(_, c)| c)
        {
            of_grain.intervals += check_around(&schedule, *at, 3 * DAY, &mut of_grain.lengths);
        }
        of_grain.micros += began.elapsed().as_micros();
    }
}

#[test]
fn tiles_around_clock_changes_of_every_zone() {
    assert!(ZONES.len() > 300, "only {} zones", ZONES.len());
    // zones that only differ by name, or before 1970, are one
    let (mut seen, mut zones, mut changes) = (BTreeSet::new(), Vec::new(), 0);
    for zone in ZONES.iter() {
        let of_zone = clock_changes(zone);
        if seen.insert((zone.offset_seconds(seconds(0)), of_zone.clone())) {
            changes += of_zone.len();
            zones.push((zone, changes - of_zone.len(), of_zone));
        }
    }
    let threads = number("THRICE_TILING_THREADS", 1);
    let parts: Vec<BTreeMap<&str, Met>> = std::thread::scope(|scope| {
        let walkers: Vec<_> = (0..threads)
            .map(|thread| {
                let zones = &zones;
                scope.spawn(move || {
                    let mut met = BTreeMap::new();
                    for (zone, first, of_zone) in zones.iter().skip(thread).step_by(threads) {
                        walk(zone, of_zone, *first, &mut met);
                    }
                    met
                })
            })
            .collect();
        walkers.into_iter().map(|walker| walker.join().unwrap()).collect()
    });
    println!("{changes} clock changes of {} different zones", zones.len());
    let mut days = BTreeSet::new();
    for (text, _) in grains() {
        let of_grain = parts.iter().filter_map(|part| part.get(text));
        let (intervals, micros) = of_grain.clone().fold((0, 0), |(n, t), met| (n + met.intervals, t + met.micros));
        let lengths: BTreeSet<i64> = of_grain.flat_map(|met| met.lengths.iter().copied()).collect();
        println!("{text}: {intervals} intervals in {} ms, of {} lengths", micros / 1000, lengths.len());
        assert!(intervals > 0, "no interval of grain {text}");
        if text == "day" {
            days = lengths;
        }
    }
    assert!(changes > 20_000, "only {changes} clock changes");
    for hours_of_day in [23, 24, 25] {
        assert!(days.contains(&(hours_of_day * 3600)), "no day of {hours_of_day} hours among {days:?}");
    }
}

#[test]
fn tiles_around_the_odd_clock_changes() {
    let mut lengths = BTreeMap::<&str, BTreeSet<i64>>::new();
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
        ("America/New_York", "2026-03-08T07:00:00Z"),
        ("America/New_York", "2026-11-01T06:00:00Z"),
        ("Europe/Paris", "2026-10-25T01:00:00Z"),
        ("America/Toronto", "1919-03-31T04:30:00Z"),
        ("Atlantic/Azores", "2024-10-27T01:00:00Z"),
        ("America/Sao_Paulo", "2018-11-04T03:00:00Z"),
        ("America/Havana", "2026-11-01T05:00:00Z"),
        ("Asia/Beirut", "2026-03-28T22:00:00Z"),
        ("Africa/Monrovia", "1972-01-07T00:44:30Z"),
    ] {
        let zone = Zone::named(name).unwrap();
        let at: Timestamp = at.parse().unwrap();
        assert_eq!(zone.last_transition(at), Some(at), "{name} changes nothing at {at}");
        for (text, _) in GRAINS {
            let reach = if text == "1 minutes" { DAY / 4 } else { 3 * DAY };
            check_around(&Schedule::new(grain(text), zone.clone()), at, reach, lengths.entry(text).or_default());
        }
    }
    for half_hours in [46, 47, 48, 49, 50] {
        assert!(
            lengths["day"].contains(&(half_hours * 1800)),
            "no day of {half_hours} half hours: {:?}",
            lengths["day"]
        );
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 40, failure_persistence: None, ..ProptestConfig::default() })]
    #[test]
    fn tiles_at_random_instants(index in any::<prop::sample::Index>(), at in 0_i64..4_102_444_800) {
        let zone = index.get(ZONES.as_slice());
        for (text, _) in GRAINS.into_iter().filter(|(_, fewer)| *fewer < 300) {
            check_around(&Schedule::new(grain(text), zone.clone()), seconds(at), DAY, &mut BTreeSet::new());
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
