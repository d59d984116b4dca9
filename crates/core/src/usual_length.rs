//! How long an interval would be had nobody moved the clocks: what makes a day of 23 hours worth a mark.

use crate::grain::Grain;
use crate::schedule::{Partition, Schedule};

const DAY: i64 = 86_400;

impl Schedule {
    /// The length of a partition, in seconds, on days on which the clocks are left alone: 24 hours for each date that it
    /// covers, 60 minutes for an hour; between two ticks of a cron expression, what the wall clock shows. `None` for a
    /// whole table, which has no usual length.
    pub fn usual_seconds(&self, partition: &Partition) -> Option<i64> {
        let grain = self.grain();
        match grain {
            Grain::Hour => Some(3600),
            Grain::Clock(step) => Some(i64::from(step.minutes()) * 60),
            Grain::Day | Grain::Week(_) | Grain::Month | Grain::Quarter | Grain::Year => {
                let (first, after) = (partition.target_date, Self::date_after(grain, partition.target_date)?);
                Some(i64::from(first.until(after).ok()?.get_days()) * DAY)
            }
            Grain::Cron(_) => {
                let (zone, interval) = (self.zone(), partition.interval);
                let moved = zone.offset_seconds(interval.end()) - zone.offset_seconds(interval.start());
                Some(interval.seconds() + i64::from(moved))
            }
            Grain::Table => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cron_pattern::CronPattern;
    use crate::time::Zone;

    /// Hours that are missing (−) or too many, in minutes.
    fn off(grain: Grain, zone: &str, key: &str) -> i64 {
        let schedule = Schedule::new(grain, Zone::named(zone).unwrap());
        let partition = schedule.partition_for_key(key).unwrap();
        (partition.interval.seconds() - schedule.usual_seconds(&partition).unwrap()) / 60
    }

    #[test]
    fn only_where_the_clocks_change_is_a_length_unusual() {
        let grain = |text: &str| Grain::parse(text).unwrap();
        let new_york = "America/New_York";
        for (text, key, minutes) in [
            ("day", "2026-03-07", 0),
            ("day", "2026-03-08", -60),
            ("day", "2026-11-01", 60),
            ("month", "2026-02", 0),
            ("month", "2026-03", -60),
            ("year", "2026", 0),
            ("week", "2026-W44", 60),
            ("hour", "2026-11-01T01-04:00", 0),
            ("6 hours", "2026-11-01T00", 60),
        ] {
            assert_eq!(off(grain(text), new_york, key), minutes, "{text} {key}");
        }
        assert_eq!(off(Grain::Hour, "Australia/Lord_Howe", "2024-04-07T01"), 30);
        // the skipped date is no part of the day before it, and is missing from its month
        assert_eq!(off(Grain::Day, "Pacific/Apia", "2011-12-29"), 0);
        assert_eq!(off(Grain::Month, "Pacific/Apia", "2011-12"), -24 * 60);
        let cron = |text| Grain::Cron(CronPattern::parse(text).unwrap());
        assert_eq!(off(cron("0 3 * * *"), new_york, "2026-03-07T03:00"), -60);
        assert_eq!(off(cron("0 3 * * *"), new_york, "2026-03-09T03:00"), 0);
        let table = Schedule::new(Grain::Table, Zone::utc());
        assert_eq!(table.usual_seconds(&table.partition_for_key("table").unwrap()), None);
    }
}
