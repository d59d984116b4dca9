//! Which published partitions a run makes again by itself.

use std::collections::VecDeque;

use crate::due::{CatchUp, DuePolicy};
use crate::late_policy::{LatePolicy, Published};
use crate::schedule::{Partition, Schedule};
use crate::time::Timestamp;

/// The revisits that a run takes, and those that it leaves.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct RevisitsToRun {
    /// Partitions to be made again, newest first, each once however many of its revisits were missed.
    pub partitions: Vec<Partition>,
    /// How many more have one; later runs take them.
    pub beyond: usize,
}

impl LatePolicy {
    /// The revisits of `published` partitions that are due at `as_of` and not made.
    ///
    /// A run takes what fell due with the newest intervals, as many as `interval.catch_up` says, and as many again of what
    /// fell due before them; later runs take the rest, as they do with missed intervals. Partitions whose receipts are older
    /// than the policy are left out of that: a policy that is new to a pipeline with a long history does not make all of it
    /// again, unless somebody names it.
    pub fn revisits_to_run<'p>(
        &self,
        schedule: &Schedule,
        due: &DuePolicy,
        as_of: Timestamp,
        published: impl DoubleEndedIterator<Item = (&'p Partition, Published)>,
    ) -> RevisitsToRun {
        let mut found = RevisitsToRun::default();
        let since = caught_up_since(schedule, due, as_of);
        let mut older = match due.catch_up {
            CatchUp::All => usize::MAX,
            CatchUp::Newest(most) => usize::try_from(most).unwrap_or(usize::MAX),
        };
        for (partition, known) in published.rev() {
            let Some(newest) = self.revisits_due(schedule, due, partition, known, as_of).last() else { continue };
            let fell_due = self.due_at(schedule, due, partition, *newest);
            if since.is_some_and(|since| fell_due.is_some_and(|at| at >= since)) {
                found.partitions.push(partition.clone());
            } else if known.before_policy {
                // its history is not made again by itself
            } else if older > 0 {
                older -= 1;
                found.partitions.push(partition.clone());
            } else {
                found.beyond += 1;
            }
        }
        found
    }
}

/// When the oldest of the intervals fell due that a run catches up; `None`: it catches up nothing.
fn caught_up_since(schedule: &Schedule, due: &DuePolicy, as_of: Timestamp) -> Option<Timestamp> {
    let CatchUp::Newest(most) = due.catch_up else { return Some(Timestamp::MIN) };
    let most = usize::try_from(most).unwrap_or(usize::MAX);
    // intervals behind the pipeline's end count as well: its last partitions are corrected as all others
    let ended = std::iter::successors(schedule.latest_complete(as_of), |partition| schedule.previous(partition))
        .skip_while(|partition| due.due_at(partition) > as_of)
        .take_while(|partition| partition.interval.start() >= due.start);
    let mut newest: VecDeque<Timestamp> = ended.take(most).map(|partition| due.due_at(&partition)).collect();
    newest.pop_back()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::grain::Grain;
    use crate::late_policy::Revisits;
    use crate::time::Zone;
    use std::time::Duration;

    fn at(text: &str) -> Timestamp {
        text.parse().unwrap()
    }

    fn keys(catch_up: CatchUp, before_policy: bool, reached: &[(&str, u32)], as_of: &str) -> (Vec<String>, usize) {
        let schedule = Schedule::new(Grain::Day, Zone::named("Asia/Seoul").unwrap());
        let due =
            DuePolicy { start: at("2026-03-01T00:00:00+09:00"), end: None, delay: Duration::from_mins(130), catch_up };
        let policy = LatePolicy::new(Revisits::List(vec![1, 3]), None, None).unwrap();
        let published: Vec<(Partition, Published)> = reached
            .iter()
            .map(|(key, reached)| {
                let published = Published { reached: *reached, before_policy, ..Published::default() };
                (schedule.partition_for_key(key).unwrap(), published)
            })
            .collect();
        let found = policy.revisits_to_run(&schedule, &due, at(as_of), published.iter().map(|(p, known)| (p, *known)));
        (found.partitions.iter().map(|partition| partition.key.to_string()).collect(), found.beyond)
    }

    const NOON: &str = "2026-03-25T12:00:00+09:00";

    #[test]
    fn with_each_new_day_the_day_before_and_the_third_one_back_are_made_again() {
        let published = [("2026-03-20", 1), ("2026-03-21", 1), ("2026-03-22", 1), ("2026-03-23", 0)];
        let (taken, beyond) = keys(CatchUp::Newest(7), false, &published, "2026-03-25T02:10:00+09:00");
        assert_eq!((taken, beyond), (vec!["2026-03-23".into(), "2026-03-21".into(), "2026-03-20".into()], 0));
        let before = keys(CatchUp::Newest(7), false, &published, "2026-03-25T02:09:59+09:00");
        assert_eq!(before, (vec!["2026-03-20".into()], 0));
    }

    /// The 1st to the 24th, none of them made again yet.
    fn first_publishes() -> Vec<(String, u32)> {
        (1..=24).map(|day| (format!("2026-03-{day:02}"), 0)).collect()
    }

    #[test]
    fn after_an_outage_runs_work_off_what_was_missed() {
        let published = first_publishes();
        let published: Vec<(&str, u32)> = published.iter().map(|(key, reached)| (key.as_str(), *reached)).collect();
        let (taken, beyond) = keys(CatchUp::Newest(3), false, &published, NOON);
        // the 24th, 23rd and 22nd fell due last: the third day before the 22nd is the oldest; then three older ones
        let days = |days: std::ops::RangeInclusive<u32>| days.rev().map(|day| format!("2026-03-{day:02}")).collect();
        assert_eq!(taken, days(16..=23) as Vec<String>);
        assert_eq!(beyond, 15);
        assert_eq!(keys(CatchUp::All, false, &published, NOON), (days(1..=23), 0));
        assert_eq!(keys(CatchUp::Newest(0), false, &published, NOON), (vec![], 23));
    }

    #[test]
    fn a_policy_that_is_new_to_a_long_history_takes_its_newest_days() {
        let published = first_publishes();
        let published: Vec<(&str, u32)> = published.iter().map(|(key, reached)| (key.as_str(), *reached)).collect();
        let (taken, beyond) = keys(CatchUp::Newest(3), true, &published, NOON);
        assert_eq!(taken, ["2026-03-23", "2026-03-22", "2026-03-21", "2026-03-20", "2026-03-19"]);
        assert_eq!(beyond, 0);
    }
}
