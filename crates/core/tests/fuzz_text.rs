//! Text that people type, fuzzed: keys, sets, durations, cron expressions, grains.
//!
//! Seeds are the lines of `tests/corpus`; mutations come from a seeded generator, so a failure repeats. A run takes a few
//! thousand mutations; `THRICE_FUZZ_MINUTES=N` goes on for so long (use `--release`), `THRICE_FUZZ_SEED` starts elsewhere.

#![expect(clippy::unwrap_used, clippy::print_stdout, clippy::print_stderr, reason = "a test")]

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::{Duration, Instant};

use thrice_core::cron_pattern::CronPattern;
use thrice_core::duration::HumanDuration;
use thrice_core::grain::{Grain, GrainError};
use thrice_core::interval_set;
use thrice_core::schedule::{KeyError, Schedule};
use thrice_core::time::Zone;

const ROUNDS: usize = 3_000;

/// xorshift64*: small, seeded, good enough to pick bytes.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, below: usize) -> usize {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        let below = u64::try_from(below.max(1)).unwrap();
        usize::try_from((self.0.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 16) % below).unwrap()
    }
}

/// A seed with a few letters dropped, doubled, swapped, replaced, or joined with part of another seed.
fn mutate(dice: &mut Dice, seeds: &[&str]) -> String {
    const LETTERS: &[char] = &[
        '0', '1', '2', '5', '9', '-', '+', ':', 'T', 'W', 'Q', 'L', '*', '/', ',', '.', ' ', '#', '?', 'a', 'h', 'm',
        's', 'é', '한', '\u{0}', '\u{202e}', '٣',
    ];
    let mut text: Vec<char> = seeds[dice.roll(seeds.len())].chars().collect();
    for _ in 0..dice.roll(5) {
        let (at, letter) = (dice.roll(text.len() + 1), LETTERS[dice.roll(LETTERS.len())]);
        match dice.roll(6) {
            0 => text.insert(at, letter),
            1 if at < text.len() => drop(text.remove(at)),
            2 if at < text.len() => text[at] = letter,
            3 if at + 1 < text.len() => text.swap(at, at + 1),
            4 => {
                let other: Vec<char> = seeds[dice.roll(seeds.len())].chars().collect();
                text.truncate(at);
                text.extend(&other[dice.roll(other.len() + 1).min(other.len())..]);
            }
            _ => text.extend_from_within(at..),
        }
        text.truncate(80);
    }
    text.into_iter().collect()
}

fn fuzz(corpus: &str, check: impl Fn(&str)) {
    let seeds: Vec<&str> = corpus.lines().collect();
    let number = |variable: &str| std::env::var(variable).ok().map(|text| text.parse::<u64>().unwrap());
    let minutes = number("THRICE_FUZZ_MINUTES");
    let mut dice = Dice(number("THRICE_FUZZ_SEED").unwrap_or(0x7472_6963_6503) | 1);
    let (began, mut rounds, mut slowest) = (Instant::now(), 0, Duration::ZERO);
    let mut texts = seeds.iter().map(|seed| (*seed).to_owned()).collect::<Vec<_>>().into_iter();
    loop {
        let done = match minutes {
            Some(minutes) => began.elapsed() > Duration::from_secs(60 * minutes),
            None => rounds >= ROUNDS,
        };
        if done {
            break;
        }
        let text = texts.next().unwrap_or_else(|| mutate(&mut dice, &seeds));
        let one = Instant::now();
        if let Err(panic) = catch_unwind(AssertUnwindSafe(|| check(&text))) {
            eprintln!("the text was {text:?}");
            std::panic::resume_unwind(panic);
        }
        slowest = slowest.max(one.elapsed());
        rounds += 1;
    }
    println!("{rounds} texts in {:?}, the slowest in {slowest:?}", began.elapsed());
}

fn schedules() -> Vec<Schedule> {
    let mut found = Vec::new();
    for zone in ["America/New_York", "Pacific/Apia", "Australia/Lord_Howe"] {
        for grain in ["15 minutes", "hour", "6 hours", "day", "week", "month", "quarter", "year", "table"] {
            found.push(Schedule::new(Grain::parse(grain).unwrap(), Zone::named(zone).unwrap()));
        }
        for cron in ["*/30 * * * *", "30 2 * * MON", "0 0 29 2 *"] {
            found.push(Schedule::new(Grain::Cron(CronPattern::parse(cron).unwrap()), Zone::named(zone).unwrap()));
        }
    }
    found
}

#[test]
fn keys() {
    let schedules = schedules();
    fuzz(include_str!("corpus/keys.txt"), |text| {
        for schedule in &schedules {
            match schedule.partition_for_key(text) {
                Ok(partition) => {
                    assert_eq!(partition.key.as_str(), text);
                    let at = schedule.partition_at(partition.interval.start());
                    assert_eq!(at.as_ref(), Some(&partition), "{} {}", schedule.grain(), schedule.zone());
                }
                Err(KeyError::WrongForm { write: Some(write), .. }) => {
                    let again = schedule.partition_for_key(&write);
                    assert!(!matches!(again, Err(KeyError::WrongForm { .. })), "{write} was suggested");
                }
                Err(KeyError::ComesTwice { choices, .. } | KeyError::NoBoundary { choices, .. }) => {
                    for choice in choices {
                        assert!(schedule.partition_for_key(&choice).is_ok(), "{choice} was offered");
                    }
                }
                Err(error) => assert!(!error.to_string().is_empty()),
            }
        }
    });
}

#[test]
fn sets() {
    // long grains only: a year of quarter hours is 35,000 partitions a text
    let schedules: Vec<Schedule> = ["day", "week", "month", "table"]
        .into_iter()
        .map(|grain| Schedule::new(Grain::parse(grain).unwrap(), Zone::named("Pacific/Apia").unwrap()))
        .collect();
    let as_of = "2026-11-02T12:00:00Z".parse().unwrap();
    fuzz(include_str!("corpus/sets.txt"), |text| {
        for schedule in &schedules {
            match interval_set::parse(schedule, text, as_of) {
                Ok(found) => {
                    assert!(!found.is_empty() && found.len() <= interval_set::MOST);
                    assert!(found.windows(2).all(|pair| pair[0].interval.end() <= pair[1].interval.start()));
                }
                Err(error) => assert!(!error.to_string().is_empty()),
            }
            if let Some((from, to)) = text.split_once(',')
                && let Ok(found) = interval_set::range(schedule, from, to, as_of)
            {
                assert!(found.windows(2).all(|pair| pair[0].interval.end() == pair[1].interval.start()));
            }
        }
    });
}

#[test]
fn durations() {
    fuzz(include_str!("corpus/durations.txt"), |text| match HumanDuration::parse(text) {
        Ok(duration) => assert_eq!(HumanDuration::parse(&duration.to_string()), Ok(duration)),
        Err(error) => assert!(text.is_char_boundary(error.at)),
    });
}

#[test]
fn cron_expressions() {
    let zone = Zone::named("America/New_York").unwrap();
    let from = "2026-03-08T06:59:59.999999Z".parse().unwrap();
    fuzz(include_str!("corpus/cron.txt"), |text| {
        let Ok(pattern) = CronPattern::parse(text) else { return };
        assert_eq!(CronPattern::parse(pattern.as_str()).as_ref(), Ok(&pattern));
        let schedule = Schedule::new(Grain::Cron(pattern), zone.clone());
        let first = schedule.partition_at(from).unwrap();
        assert!(first.interval.contains(from));
        let next = schedule.next(&first).unwrap();
        assert_eq!(schedule.previous(&next).as_ref(), Some(&first));
        assert_eq!(schedule.partition_for_key(first.key.as_str()).as_ref(), Ok(&first));
    });
}

#[test]
fn grains() {
    fuzz(include_str!("corpus/grains.txt"), |text| match Grain::parse(text) {
        Ok(grain) => assert_eq!(grain.to_string(), text),
        Err(GrainError::OtherWord { write, .. }) => assert!(Grain::parse(&write).is_ok(), "{write}"),
        Err(GrainError::Uneven { around, .. }) => {
            for text in around {
                assert!(Grain::parse(&text).is_ok(), "{text}");
            }
        }
        Err(GrainError::Unknown { nearest, .. }) => {
            assert!(nearest.as_deref().is_none_or(|text| Grain::parse(text).is_ok()), "{nearest:?}");
        }
        Err(error) => panic!("{error}"),
    });
}
