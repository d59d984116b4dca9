//! Which data intervals a pipeline has: boundaries from its grain and its zone's wall clock.
//!
//! Intervals tile time: no gap, no overlap. Where those of a grain begin is decided under `boundaries`, one file a
//! question; which of them a key names, in `find_partition`.

use crate::boundaries::hours_and_minutes::Blocks;
use crate::boundaries::period::{self, Period};
use crate::boundaries::{cron_ticks, day, just_before, week, whole_table};
use crate::find_partition::find;
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
    /// First local date of the interval: of a day the date it is about, of a month its first. `0001-01-01` for the whole
    /// table.
    pub target_date: civil::Date,
}

impl Partition {
    /// True for the one partition of a pipeline of grain `table`, which is never over and always due.
    pub fn is_whole_table(&self) -> bool {
        self.key.as_str() == whole_table::KEY
    }
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
    pub const fn grain(&self) -> &Grain {
        &self.grain
    }

    /// The zone.
    pub const fn zone(&self) -> &Zone {
        &self.zone
    }

    /// The partition whose interval contains `at`; `None` before the year 0001 and where the interval would end after
    /// the last instant that the time library holds, `9999-12-30T22:00:00Z`.
    pub fn partition_at(&self, at: Timestamp) -> Option<Partition> {
        let zone = &self.zone;
        match &self.grain {
            Grain::Hour => Blocks::of_minutes(60).at(zone, at),
            Grain::Clock(step) => Blocks::of_minutes(step.minutes()).at(zone, at),
            Grain::Day => Period::Day.at(zone, at),
            Grain::Week(starts) => Period::Week(*starts).at(zone, at),
            Grain::Month => period::MONTH.at(zone, at),
            Grain::Quarter => period::QUARTER.at(zone, at),
            Grain::Year => period::YEAR.at(zone, at),
            Grain::Cron(pattern) => cron_ticks::at(zone, pattern, at),
            Grain::Table => whole_table::partition().filter(|table| table.interval.contains(at)),
        }
    }

    /// The partition that starts where this one ends.
    pub fn next(&self, partition: &Partition) -> Option<Partition> {
        let start = partition.interval.end();
        if let Grain::Cron(pattern) = &self.grain {
            return cron_ticks::starting(&self.zone, pattern, start);
        }
        self.partition_at(start)
    }

    /// The partition that ends where this one starts.
    pub fn previous(&self, partition: &Partition) -> Option<Partition> {
        self.partition_at(just_before(partition.interval.start())?)
    }

    /// The first partition that starts at or after an instant.
    pub fn first_from(&self, from: Timestamp) -> Option<Partition> {
        if let Grain::Table = &self.grain {
            return whole_table::partition().filter(|table| from <= table.interval.start());
        }
        let partition = self.partition_at(from)?;
        if partition.interval.start() < from { self.next(&partition) } else { Some(partition) }
    }

    /// All partitions that lie wholly inside `within`, in order. Lazy: each is made when it is asked for.
    pub fn partitions(&self, within: Interval) -> impl Iterator<Item = Partition> + '_ {
        self.starting_in(within).take_while(move |partition| partition.interval.end() <= within.end())
    }

    /// All partitions that start inside `within`, in order; the last may reach beyond it. Lazy as well.
    pub fn starting_in(&self, within: Interval) -> impl Iterator<Item = Partition> + '_ {
        std::iter::successors(self.first_from(within.start()), |partition| self.next(partition))
            .take_while(move |partition| partition.interval.start() < within.end())
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
    /// [`KeyError`]: not a key of this grain, no such day or hour, a local time at which no interval begins, or one that
    /// comes twice without its offset.
    pub fn partition_for_key(&self, text: &str) -> Result<Partition, KeyError> {
        find(self, text)
    }

    /// The instants of one local date, as one span: `None` where the zone skipped the date.
    pub fn span_of_date(&self, date: civil::Date) -> Option<Interval> {
        day::span(&self.zone, date, date.tomorrow().ok()?)
    }

    /// The span from the start of one local date to the start of another. Of weeks, it holds those that belong to the
    /// dates: a week belongs to the month, quarter and year that hold its Thursday, as its number does.
    pub fn span_of_dates(&self, from: civil::Date, to: civil::Date) -> Option<Interval> {
        if let Grain::Week(starts) = &self.grain {
            let first = |date| week::first_belonging_to(date, *starts);
            return day::span(&self.zone, first(from)?, first(to)?);
        }
        day::span(&self.zone, from, to)
    }

    /// The first local date after a partition of whole dates: the day after, the first of the next month.
    pub(crate) fn date_after(grain: &Grain, first: civil::Date) -> Option<civil::Date> {
        match grain {
            Grain::Day => Period::Day.next_date(first),
            Grain::Week(starts) => Period::Week(*starts).next_date(first),
            Grain::Month => period::MONTH.next_date(first),
            Grain::Quarter => period::QUARTER.next_date(first),
            Grain::Year => period::YEAR.next_date(first),
            Grain::Clock(_) | Grain::Hour | Grain::Cron(_) | Grain::Table => None,
        }
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
    fn longer_grains_end_with_the_calendar() {
        let of = |grain: &str, text: &str| in_utc(Grain::parse(grain).unwrap()).partition_for_key(text);
        for (grain, last, beyond) in [
            ("week", "9999-W51", "9999-W52"),
            ("month", "9999-11", "9999-12"),
            ("quarter", "9999-Q3", "9999-Q4"),
            ("year", "9998", "9999"),
            ("15 minutes", "9999-12-30T21:45", "9999-12-30T22:00"),
        ] {
            assert!(of(grain, last).is_ok(), "{grain} {last}: {:?}", of(grain, last));
            assert_eq!(of(grain, beyond), Err(KeyError::OutOfRange { text: beyond.to_owned() }), "{grain}");
        }
        for (grain, first) in
            [("week", "0001-W01"), ("month", "0001-01"), ("year", "0001"), ("6 hours", "0001-01-01T00")]
        {
            assert!(of(grain, first).is_ok(), "{grain} {first}");
        }
        // the first week from Sunday begins in the year 0
        let sundays = in_utc(Grain::week_from("sunday").unwrap());
        assert_eq!(sundays.partition_for_key("0001-W01"), Err(KeyError::OutOfRange { text: "0001-W01".to_owned() }));
        let table = in_utc(Grain::Table).partition_for_key("table").unwrap();
        assert_eq!(table.interval.start().to_string(), "0001-01-01T00:00:00Z");
        assert_eq!(table.interval.end().to_string(), "9999-12-30T22:00:00Z");
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
