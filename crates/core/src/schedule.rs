//! Which data intervals a pipeline has: boundaries from its grain and its zone's wall clock.
//!
//! Intervals tile time: no gap, no overlap. Where those of a grain begin is decided under `boundaries`, one file a grain.

use crate::boundaries::{day, hour, just_before};
use crate::grain::Grain;
use crate::interval::Interval;
use crate::interval_key::IntervalKey;
pub use crate::key_error::KeyError;
use crate::time::{Timestamp, Zone, civil};

/// One data interval of a pipeline with its key.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Partition {
    /// Canonical key.
    pub key: IntervalKey,
    /// The instants, half-open.
    pub interval: Interval,
    /// Local date of the interval's start; of a day, the date it is about.
    pub target_date: civil::Date,
}

/// The intervals of one grain in one zone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Schedule {
    grain: Grain,
    zone: Zone,
}

impl Schedule {
    /// The intervals of a grain in a zone.
    pub const fn new(grain: Grain, zone: Zone) -> Self {
        Self { grain, zone }
    }

    /// The grain.
    pub const fn grain(&self) -> Grain {
        self.grain
    }

    /// The zone.
    pub const fn zone(&self) -> &Zone {
        &self.zone
    }

    /// The partition whose interval contains `at`; `None` before the year 0001 and where the interval would end after
    /// the last instant that the time library holds, `9999-12-30T22:00:00Z`.
    pub fn partition_at(&self, at: Timestamp) -> Option<Partition> {
        match self.grain {
            Grain::Day => day::at(&self.zone, at),
            Grain::Hour => hour::at(&self.zone, at),
        }
    }

    /// The partition that starts where this one ends.
    pub fn next(&self, partition: &Partition) -> Option<Partition> {
        self.partition_at(partition.interval.end())
    }

    /// The partition that ends where this one starts.
    pub fn previous(&self, partition: &Partition) -> Option<Partition> {
        self.partition_at(just_before(partition.interval.start())?)
    }

    /// All partitions that lie wholly inside `within`, in order.
    pub fn partitions(&self, within: Interval) -> impl Iterator<Item = Partition> + '_ {
        let first = self.partition_at(within.start()).and_then(|partition| {
            if partition.interval.start() < within.start() { self.next(&partition) } else { Some(partition) }
        });
        std::iter::successors(first, |partition| self.next(partition))
            .take_while(move |partition| partition.interval.end() <= within.end())
    }

    /// The newest partition that has ended at or before `now`.
    pub fn latest_complete(&self, now: Timestamp) -> Option<Partition> {
        self.partition_at(now).and_then(|partition| self.previous(&partition))
    }

    /// True when `at` is the start of an interval.
    pub fn is_boundary(&self, at: Timestamp) -> bool {
        self.partition_at(at).is_some_and(|partition| partition.interval.start() == at)
    }

    /// The partition that a key names.
    ///
    /// # Errors
    /// [`KeyError`]: not a key of this grain, no such local date or hour, or an hour that comes twice without its offset.
    pub fn partition_for_key(&self, text: &str) -> Result<Partition, KeyError> {
        match self.grain {
            Grain::Day => day::for_key(&self.zone, text),
            Grain::Hour => hour::for_key(&self.zone, text),
        }
    }

    /// The intervals of one local date, as one span: `None` where the zone skipped the date.
    pub fn span_of_date(&self, date: civil::Date) -> Option<Interval> {
        day::span(&self.zone, date, date.tomorrow().ok()?)
    }

    /// The span from the start of one local date to the start of another.
    pub fn span_of_dates(&self, from: civil::Date, to: civil::Date) -> Option<Interval> {
        day::span(&self.zone, from, to)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn in_utc(grain: Grain) -> Schedule {
        Schedule::new(grain, Zone::utc())
    }

    #[test]
    fn the_calendar_has_ends() {
        let day = in_utc(Grain::Day);
        assert!(day.partition_for_key("0001-01-01").is_ok());
        assert!(day.partition_for_key("9999-12-29").is_ok());
        for (schedule, beyond) in
            [(&day, "9999-12-30"), (&day, "9999-12-31"), (&day, "10000-01-01"), (&in_utc(Grain::Hour), "9999-12-31T05")]
        {
            let refused = schedule.partition_for_key(beyond);
            assert_eq!(refused, Err(KeyError::OutOfRange { text: beyond.to_owned() }), "{beyond}");
        }
        assert_eq!(day.partition_at(Timestamp::MAX), None);
        assert_eq!(day.partition_at(Timestamp::MIN), None);
        assert_eq!(in_utc(Grain::Hour).partition_at(Timestamp::MIN), None);
    }

    #[test]
    fn only_whole_intervals_lie_inside() {
        let within = |from: &str, to: &str| {
            let within = Interval::new(from.parse().unwrap(), to.parse().unwrap()).unwrap();
            in_utc(Grain::Day).partitions(within).map(|partition| partition.key.to_string()).collect::<Vec<_>>()
        };
        assert_eq!(within("2026-03-24T00:00:00Z", "2026-03-26T00:00:00Z"), ["2026-03-24", "2026-03-25"]);
        assert_eq!(within("2026-03-24T00:00:00.000001Z", "2026-03-25T23:59:59Z"), [] as [&str; 0]);
    }
}
