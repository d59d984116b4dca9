//! The late policy against an independent model: a month in which `as_of` moves day by day over rows that come late,
//! while the scheduler misses days and people run partitions in between.
//!
//! The model counts days as whole numbers and knows no schedule: partition p covers day p, and is due on day p + 1.

#![expect(clippy::unwrap_used, reason = "a test")]

use std::collections::BTreeMap;
use std::time::Duration;

use proptest::prelude::*;
use thrice_core::due::{CatchUp, DuePolicy};
use thrice_core::grain::Grain;
use thrice_core::late_policy::{LatePolicy, LatePolicyError, MOST, Maturity, Published, Revisits};
use thrice_core::schedule::{Partition, Schedule};
use thrice_core::time::{Timestamp, Zone, civil};

const DAYS: u32 = 31;

fn seoul() -> Schedule {
    Schedule::new(Grain::Day, Zone::named("Asia/Seoul").unwrap())
}

fn due(schedule: &Schedule) -> DuePolicy {
    let start = schedule.partition_for_key("2026-03-01").unwrap().interval.start();
    DuePolicy { start, end: None, delay: Duration::from_mins(130), catch_up: CatchUp::All }
}

fn list(revisits: &[u32], final_after: Option<u32>, close_after: Option<u32>) -> LatePolicy {
    LatePolicy::new(Revisits::List(revisits.to_vec()), final_after, close_after).unwrap()
}

/// 02:10 of a morning in March; the day numbers start with 0 for the first.
fn morning(day: u32) -> Timestamp {
    let date = civil::date(2026, 3, 1).checked_add(jiff::Span::new().days(i64::from(day))).unwrap();
    Zone::named("Asia/Seoul").unwrap().instants_of(date.at(2, 10, 0, 0))[0]
}

/// What happens in a month.
#[derive(Debug, Clone)]
struct Month {
    revisits: Vec<u32>,
    final_after: u32,
    close_after: Option<u32>,
    /// Mornings on which the scheduler is down.
    down: Vec<u32>,
    /// (morning, partition): somebody runs it by hand, before the scheduler.
    by_hand: Vec<(u32, u32)>,
    /// (day of the row, days until it is loaded).
    rows: Vec<(u32, u32)>,
}

fn months() -> impl Strategy<Value = Month> {
    let policy = prop::collection::btree_set(1_u32..9, 0..4).prop_flat_map(|revisits| {
        let revisits: Vec<u32> = revisits.into_iter().collect();
        let last = revisits.last().copied().unwrap_or(0);
        (Just(revisits), 0..=last, prop::option::of(last..=last + 3))
    });
    let happens = (
        prop::collection::vec(0..DAYS + 10, 0..8),
        prop::collection::vec((0..DAYS + 10, 0..DAYS), 0..12),
        prop::collection::vec((0..DAYS, 0_u32..12), 0..200),
    );
    (policy, happens).prop_map(|((revisits, final_after, close_after), (down, by_hand, rows))| Month {
        revisits,
        final_after,
        close_after,
        down,
        by_hand,
        rows,
    })
}

/// What is published of a partition.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Content {
    rows: usize,
    maturity: Maturity,
}

impl Month {
    /// Rows of a day that are loaded on a morning.
    fn loaded(&self, of_day: u32, morning: u32) -> usize {
        self.rows.iter().filter(|(day, wait)| *day == of_day && day + wait < morning).count()
    }

    /// The model: the morning on which each partition was last made, by whole numbers alone.
    fn model(&self, morning: u32, made: &mut BTreeMap<u32, u32>) -> BTreeMap<u32, Content> {
        let last = self.revisits.last().copied().unwrap_or(0);
        let closed = |partition: u32, made_on: u32, now: u32| {
            let corrected = made_on > partition + last;
            corrected && self.close_after.is_some_and(|after| now > partition + after)
        };
        for (_, partition) in self.by_hand.iter().filter(|(on, _)| *on == morning) {
            let over = *partition < morning;
            let is_closed = made.get(partition).is_some_and(|made_on| closed(*partition, *made_on, morning));
            if over && !is_closed {
                made.insert(*partition, morning);
            }
        }
        if !self.down.contains(&morning) {
            for partition in (0..DAYS).filter(|partition| *partition < morning) {
                let again = match made.get(&partition) {
                    None => true,
                    Some(made_on) => {
                        let missed = |revisit: &u32| {
                            let falls = partition + 1 + revisit;
                            *made_on < falls && falls <= morning
                        };
                        !closed(partition, *made_on, morning) && self.revisits.iter().any(missed)
                    }
                };
                if again {
                    made.insert(partition, morning);
                }
            }
        }
        // final with the first publish, or with the first revisit that is not before `final_after`
        let from = if self.final_after == 0 {
            0
        } else {
            self.revisits.iter().copied().find(|r| *r >= self.final_after).unwrap()
        };
        made.iter()
            .map(|(partition, made_on)| {
                let maturity = if closed(*partition, *made_on, morning) {
                    Maturity::Closed
                } else if *made_on > partition + from {
                    Maturity::Final
                } else {
                    Maturity::Provisional
                };
                (*partition, Content { rows: self.loaded(*partition, *made_on), maturity })
            })
            .collect()
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]
    #[test]
    fn a_simulated_month_is_that_of_the_model(month in months()) {
        let schedule = seoul();
        let due = DuePolicy { end: Some(morning(DAYS)), ..due(&schedule) };
        let policy = list(&month.revisits, Some(month.final_after), month.close_after);
        let number = |partition: &Partition| {
            u32::try_from((partition.target_date - civil::date(2026, 3, 1)).get_days()).unwrap()
        };
        // what a ledger would hold: the revisit of the receipt, and the rows
        let mut published = BTreeMap::<u32, (Partition, Published, usize)>::new();
        let mut made = BTreeMap::new();
        let mut closed = BTreeMap::<u32, usize>::new();
        for day in 0..DAYS + 14 {
            let as_of = morning(day);
            let make = |partition: &Partition, published: &mut BTreeMap<u32, (Partition, Published, usize)>| {
                let reached = policy.reached(&schedule, &due, partition, as_of);
                let rows = month.loaded(number(partition), day);
                let facts = Published { reached, ..Published::default() };
                published.insert(number(partition), (partition.clone(), facts, rows));
            };
            for (_, asked) in month.by_hand.iter().filter(|(on, _)| *on == day) {
                let partition = schedule.partition_for_key(&format!("2026-03-{:02}", asked + 1)).unwrap();
                let is_closed = published.get(asked).is_some_and(|(_, facts, _)| {
                    policy.maturity(&schedule, &due, &partition, *facts, as_of) == Maturity::Closed
                });
                if due.check(&partition, as_of).is_ok() && !is_closed {
                    make(&partition, &mut published);
                }
            }
            if !month.down.contains(&day) {
                for partition in due.to_run(&schedule, as_of, |start| {
                    published.contains_key(&number(&schedule.partition_at(start).unwrap()))
                }) {
                    make(&partition, &mut published);
                }
                let known: Vec<(Partition, Published)> = published.values().map(|(p, facts, _)| (p.clone(), *facts)).collect();
                for (partition, facts) in known {
                    let missed = policy.revisits_due(&schedule, &due, &partition, facts, as_of);
                    if let Some(last) = missed.last() {
                        make(&partition, &mut published);
                        let (_, facts, _) = &published[&number(&partition)];
                        prop_assert_eq!(facts.reached, *last, "one recomputation serves {:?}", missed);
                        prop_assert!(policy.revisits_due(&schedule, &due, &partition, *facts, as_of).is_empty());
                    }
                }
            }
            let found: BTreeMap<u32, Content> = published
                .iter()
                .map(|(number, (partition, facts, rows))| {
                    let maturity = policy.maturity(&schedule, &due, partition, *facts, as_of);
                    (*number, Content { rows: *rows, maturity })
                })
                .collect();
            prop_assert_eq!(&found, &month.model(day, &mut made), "on day {}", day);
            for (partition, content) in found.iter().filter(|(_, content)| content.maturity == Maturity::Closed) {
                let rows = *closed.entry(*partition).or_insert(content.rows);
                prop_assert_eq!(rows, content.rows, "closed partition {} changed", partition);
            }
            prop_assert!(closed.keys().all(|number| found[number].maturity == Maturity::Closed));
        }
    }
}

#[test]
fn both_readings_of_the_first_plan_can_be_said() {
    // its text recomputes on D+0, D+1 and D+3; its code, range(1, 4) over the days before today, covers the last three
    let schedule = seoul();
    let due = due(&schedule);
    let as_of = "2026-03-26T02:10:00+09:00".parse().unwrap();
    let made = |policy: &LatePolicy| -> Vec<String> {
        due.all_due(&schedule, as_of)
            .filter(|partition| {
                // everything was up to date on the morning before
                let yesterday = "2026-03-25T02:10:00+09:00".parse().unwrap();
                let reached = policy.reached(&schedule, &due, partition, yesterday);
                let published = Published { reached, ..Published::default() };
                due.check(partition, yesterday).is_err()
                    || !policy.revisits_due(&schedule, &due, partition, published, as_of).is_empty()
            })
            .map(|partition| partition.key.to_string())
            .collect()
    };
    assert_eq!(made(&list(&[1, 3], None, None)), ["2026-03-22", "2026-03-24", "2026-03-25"]);
    let window = LatePolicy::new(Revisits::Window(3), None, None).unwrap();
    assert_eq!(window, list(&[1, 2], None, None));
    assert_eq!(made(&window), ["2026-03-23", "2026-03-24", "2026-03-25"]);
}

#[test]
fn the_example_of_the_reference() {
    let schedule = seoul();
    let due = due(&schedule);
    let policy = list(&[1, 3], Some(1), Some(3));
    let day = schedule.partition_for_key("2026-03-24").unwrap();
    let at = |text: &str| -> Timestamp { text.parse().unwrap() };
    assert_eq!(
        policy.calendar(&schedule, &due, &day).collect::<Vec<_>>(),
        [(1, at("2026-03-26T02:10:00+09:00")), (3, at("2026-03-28T02:10:00+09:00"))]
    );
    let maturity = |reached, as_of: &str| {
        let published = Published { reached, ..Published::default() };
        policy.maturity(&schedule, &due, &day, published, at(as_of))
    };
    assert_eq!(maturity(0, "2026-03-25T02:10:00+09:00"), Maturity::Provisional);
    // the revisit is due and not made: what is published is as provisional as before
    assert_eq!(maturity(0, "2026-03-27T02:10:00+09:00"), Maturity::Provisional);
    assert_eq!(maturity(1, "2026-03-26T02:10:00+09:00"), Maturity::Final);
    assert_eq!(maturity(1, "2026-04-26T02:10:00+09:00"), Maturity::Final);
    assert_eq!(maturity(3, "2026-03-28T02:10:00+09:00"), Maturity::Closed);
    let next = |reached, as_of| {
        let published = Published { reached, ..Published::default() };
        policy.next_revisit(&schedule, &due, &day, published, at(as_of)).map(|(revisit, _)| revisit)
    };
    assert_eq!(next(0, "2026-03-25T02:10:00+09:00"), Some(1));
    assert_eq!(next(1, "2026-03-26T02:10:00+09:00"), Some(3));
    assert_eq!(next(3, "2026-03-28T02:10:00+09:00"), None);
    let missed = Published::default();
    assert_eq!(policy.revisits_due(&schedule, &due, &day, missed, at("2026-04-01T00:00:00Z")), [1, 3]);
    let closed = Published { closed: true, ..missed };
    assert!(policy.revisits_due(&schedule, &due, &day, closed, at("2026-04-01T00:00:00Z")).is_empty());
    let reopened = Published { reached: 3, reopened: true, ..Published::default() };
    assert_eq!(policy.maturity(&schedule, &due, &day, reopened, at("2026-04-01T00:00:00Z")), Maturity::Final);
}

#[test]
fn revisits_follow_the_intervals_not_the_hours() {
    // the day after a change has 25 hours: revisit 1 comes 25 hours after the first publish, at the same local time
    let schedule = Schedule::new(Grain::Day, Zone::named("America/New_York").unwrap());
    let due = DuePolicy { start: Timestamp::UNIX_EPOCH, ..due(&seoul()) };
    let saturday = schedule.partition_for_key("2026-10-31").unwrap();
    let policy = list(&[1], None, None);
    let first = due.due_at(&saturday);
    let revisit = policy.due_at(&schedule, &due, &saturday, 1).unwrap();
    assert_eq!(revisit.as_second() - first.as_second(), 25 * 3600);
    assert_eq!(schedule.zone().rfc3339(revisit), "2026-11-02T02:10:00-05:00");
}

#[test]
fn without_revisits_a_partition_is_final_at_once() {
    let schedule = seoul();
    let day = schedule.partition_for_key("2026-03-24").unwrap();
    let policy = LatePolicy::default();
    let maturity = policy.maturity(
        &schedule,
        &due(&schedule),
        &day,
        Published::default(),
        "2026-03-25T02:10:00+09:00".parse().unwrap(),
    );
    assert_eq!(maturity, Maturity::Final);
    assert_eq!(policy, LatePolicy::new(Revisits::Window(1), None, None).unwrap());
}

#[test]
fn a_policy_that_cannot_hold_is_refused() {
    let of = |revisits: &[u32], final_after, close_after| {
        LatePolicy::new(Revisits::List(revisits.to_vec()), final_after, close_after).unwrap_err()
    };
    assert_eq!(of(&[0, 1], None, None), LatePolicyError::Zero);
    assert_eq!(of(&[1, 1], None, None), LatePolicyError::Twice { revisit: 1 });
    assert_eq!(of(&[3, 1], None, None), LatePolicyError::Unsorted { earlier: 3, later: 1 });
    assert_eq!(of(&[1, 3], Some(4), None), LatePolicyError::NeverFinal { final_after: 4, last: 3 });
    assert_eq!(of(&[], Some(1), None), LatePolicyError::NeverFinal { final_after: 1, last: 0 });
    assert_eq!(of(&[1, 3], None, Some(2)), LatePolicyError::ClosesBeforeRevisit { close_after: 2, last: 3 });
    assert_eq!(of(&[MOST + 1], None, None), LatePolicyError::TooFar { revisit: MOST + 1 });
    assert_eq!(of(&[1], None, Some(MOST + 1)), LatePolicyError::TooFar { revisit: MOST + 1 });
    let window = |window| LatePolicy::new(Revisits::Window(window), None, None);
    assert_eq!(window(0), Err(LatePolicyError::NoWindow));
    assert!(matches!(window(u32::MAX), Err(LatePolicyError::TooFar { .. })));
    assert!(LatePolicy::new(Revisits::List(vec![1, 3]), Some(0), Some(7)).is_ok());
}
