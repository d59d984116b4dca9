//! Which partitions `run` takes: what has ended, waited out its delay, and has no receipt. Pure; the time is an argument.

use crate::boundaries::whole_table;
use crate::grain::Grain;
use crate::interval::Interval;
use crate::schedule::{Partition, Schedule};
use crate::time::{Timestamp, later};
use std::time::Duration;

/// How many missed intervals a run catches up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CatchUp {
    /// All of them.
    All,
    /// At most so many, the newest ones; 0: none, everything waits to be asked for.
    Newest(u32),
}

/// When a pipeline's partitions fall due.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DuePolicy {
    /// Start of the first interval.
    pub start: Timestamp,
    /// End of the last interval, if the pipeline has one.
    pub end: Option<Timestamp>,
    /// Wait after an interval's end.
    pub delay: Duration,
    /// How many missed intervals a run catches up.
    pub catch_up: CatchUp,
}

/// Why a partition may not start yet, or ever.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NotDue {
    /// It lies before the pipeline's start.
    BeforeStart {
        /// Start of the pipeline.
        start: Timestamp,
    },
    /// It lies after the pipeline's end.
    AfterEnd {
        /// End of the pipeline.
        end: Timestamp,
    },
    /// The interval has not ended.
    NotEnded {
        /// When it ends.
        end: Timestamp,
    },
    /// The delay is not over.
    Delay {
        /// When it is.
        due_at: Timestamp,
    },
}

impl DuePolicy {
    /// The instant from which a partition is due: its end plus the delay. A whole table is never over, and due from the
    /// pipeline's start on.
    pub fn due_at(&self, partition: &Partition) -> Timestamp {
        if partition.is_whole_table() {
            return self.start;
        }
        later(partition.interval.end(), self.delay).unwrap_or(Timestamp::MAX)
    }

    /// Whether a partition is due at `as_of`.
    ///
    /// # Errors
    /// [`NotDue`] with the reason.
    pub fn check(&self, partition: &Partition, as_of: Timestamp) -> Result<(), NotDue> {
        let interval = partition.interval;
        if partition.is_whole_table() {
            return if self.start <= as_of { Ok(()) } else { Err(NotDue::BeforeStart { start: self.start }) };
        }
        if interval.start() < self.start {
            return Err(NotDue::BeforeStart { start: self.start });
        }
        if let Some(end) = self.end
            && interval.end() > end
        {
            return Err(NotDue::AfterEnd { end });
        }
        if interval.end() > as_of {
            return Err(NotDue::NotEnded { end: interval.end() });
        }
        let due_at = self.due_at(partition);
        if due_at > as_of { Err(NotDue::Delay { due_at }) } else { Ok(()) }
    }

    /// All partitions that are due at `as_of`, oldest first, whatever the ledger says of them. Lazy, as the schedule is.
    pub fn all_due<'a>(&self, schedule: &'a Schedule, as_of: Timestamp) -> impl Iterator<Item = Partition> + use<'a> {
        let policy = self.clone();
        let table = self.whole_table(schedule, as_of);
        Interval::new(self.start, self.end.map_or(as_of, |end| end.min(as_of)))
            .ok()
            .map(|within| schedule.partitions(within))
            .into_iter()
            .flatten()
            .take_while(move |partition| policy.due_at(partition) <= as_of)
            .chain(table)
    }

    /// All partitions that are due at `as_of`, newest first, whatever the ledger says of them.
    ///
    /// Lazy: nothing is held but the current partition, however many there are.
    pub fn newest_due<'a>(
        &self,
        schedule: &'a Schedule,
        as_of: Timestamp,
    ) -> impl Iterator<Item = Partition> + use<'a> {
        let (not_yet, policy) = (self.clone(), self.clone());
        let table = self.whole_table(schedule, as_of);
        let newest = if schedule.grain() == &Grain::Table {
            None
        } else {
            schedule.latest_complete(self.end.map_or(as_of, |end| end.min(as_of)))
        };
        std::iter::successors(newest, |partition| schedule.previous(partition))
            .skip_while(move |partition| not_yet.due_at(partition) > as_of)
            .take_while(move |partition| partition.interval.start() >= policy.start)
            .chain(table)
    }

    fn whole_table(&self, schedule: &Schedule, as_of: Timestamp) -> Option<Partition> {
        let table = (schedule.grain() == &Grain::Table).then(whole_table::partition).flatten();
        table.filter(|table| self.due_at(table) <= as_of)
    }

    /// The partitions that a run takes by itself at `as_of`, newest first: due, not in `settled`, and within the catch-up.
    ///
    /// `settled` says which interval starts are published, closed, or failed for good.
    pub fn to_run(&self, schedule: &Schedule, as_of: Timestamp, settled: impl Fn(Timestamp) -> bool) -> Vec<Partition> {
        self.to_run_and_beyond(schedule, as_of, settled).0
    }

    /// The same, and how many more are due beyond the catch-up. Those are counted, not held.
    pub fn to_run_and_beyond(
        &self,
        schedule: &Schedule,
        as_of: Timestamp,
        settled: impl Fn(Timestamp) -> bool,
    ) -> (Vec<Partition>, usize) {
        let mut open = self.newest_due(schedule, as_of).filter(|partition| !settled(partition.interval.start()));
        let most = match self.catch_up {
            CatchUp::All => usize::MAX,
            CatchUp::Newest(most) => usize::try_from(most).unwrap_or(usize::MAX),
        };
        let taken = open.by_ref().take(most).collect();
        (taken, open.count())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::time::Zone;

    fn at(text: &str) -> Timestamp {
        text.parse().unwrap()
    }

    fn seoul() -> Schedule {
        Schedule::new(Grain::Day, Zone::named("Asia/Seoul").unwrap())
    }

    fn policy(catch_up: CatchUp) -> DuePolicy {
        DuePolicy { start: at("2026-03-01T00:00:00+09:00"), end: None, delay: Duration::from_mins(130), catch_up }
    }

    #[test]
    fn a_day_is_due_when_its_delay_is_over() {
        let (schedule, policy) = (seoul(), policy(CatchUp::All));
        let day = schedule.partition_for_key("2026-03-24").unwrap();
        let noon = at("2026-03-24T12:00:00+09:00");
        assert_eq!(policy.check(&day, noon), Err(NotDue::NotEnded { end: at("2026-03-25T00:00:00+09:00") }));
        let one = at("2026-03-25T01:00:00+09:00");
        assert_eq!(policy.check(&day, one), Err(NotDue::Delay { due_at: at("2026-03-25T02:10:00+09:00") }));
        assert_eq!(policy.check(&day, at("2026-03-25T02:10:00+09:00")), Ok(()));
        let early = schedule.partition_for_key("2026-02-28").unwrap();
        assert!(matches!(policy.check(&early, noon), Err(NotDue::BeforeStart { .. })));
    }

    #[test]
    fn a_run_takes_the_newest_and_leaves_what_is_settled() {
        let schedule = seoul();
        let now = at("2026-03-15T02:10:00+09:00");
        let settled = at("2026-03-13T00:00:00+09:00");
        let keys = |catch_up| -> Vec<String> {
            policy(catch_up)
                .to_run(&schedule, now, |start| start == settled)
                .iter()
                .map(|p| p.key.to_string())
                .collect()
        };
        assert_eq!(keys(CatchUp::Newest(3)), ["2026-03-14", "2026-03-12", "2026-03-11"]);
        assert_eq!(keys(CatchUp::All).len(), 13);
        let beyond = policy(CatchUp::Newest(3)).to_run_and_beyond(&schedule, now, |start| start == settled).1;
        assert_eq!(beyond, 10);
        assert!(keys(CatchUp::Newest(0)).is_empty());
    }

    #[test]
    fn the_end_is_the_end_of_the_last_interval() {
        let mut policy = policy(CatchUp::All);
        policy.end = Some(at("2026-03-04T00:00:00+09:00"));
        let keys: Vec<String> =
            policy.to_run(&seoul(), at("2026-05-01T00:00:00Z"), |_| false).iter().map(|p| p.key.to_string()).collect();
        assert_eq!(keys, ["2026-03-03", "2026-03-02", "2026-03-01"]);
    }

    #[test]
    fn newest_first_is_oldest_first_turned_round() {
        let zone = Zone::named("America/New_York").unwrap();
        for grain in ["90 minutes", "hour", "day", "week", "month", "table"] {
            let schedule = Schedule::new(Grain::parse(grain).unwrap(), zone.clone());
            for (end, as_of) in [
                (None, "2026-03-09T04:30:00Z"),
                (None, "2026-02-28T05:00:00Z"),
                (Some("2026-03-08T05:00:00Z"), "2026-04-01T00:00:00Z"),
            ] {
                let policy = DuePolicy { start: at("2026-02-01T05:00:00Z"), end: end.map(at), ..policy(CatchUp::All) };
                let mut oldest: Vec<Partition> = policy.all_due(&schedule, at(as_of)).collect();
                oldest.reverse();
                let newest: Vec<Partition> = policy.newest_due(&schedule, at(as_of)).collect();
                assert_eq!(oldest, newest, "{grain} at {as_of}");
                assert!(newest.iter().all(|partition| policy.check(partition, at(as_of)).is_ok()), "{grain}");
            }
        }
    }

    #[test]
    fn a_whole_table_is_always_due() {
        let schedule = Schedule::new(Grain::Table, Zone::utc());
        let policy = policy(CatchUp::Newest(7));
        let keys = |as_of| -> Vec<String> {
            policy.to_run(&schedule, at(as_of), |_| false).iter().map(|partition| partition.key.to_string()).collect()
        };
        assert_eq!(keys("2026-03-01T00:00:00+09:00"), ["table"]);
        assert!(keys("2026-02-28T00:00:00+09:00").is_empty());
        assert!(schedule.partition_at(at("2026-03-01T00:00:00Z")).unwrap().is_whole_table());
    }
}
