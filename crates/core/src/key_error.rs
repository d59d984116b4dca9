//! Why a text names no interval of a schedule, and what to type instead.

use crate::grain::Grain;

/// A text that names no interval of the schedule.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum KeyError {
    /// Not written as a key.
    #[error("{text:?} is not an interval key of grain {grain}; one looks like {}", grain.key_form())]
    WrongForm {
        /// What was written.
        text: String,
        /// What may have been meant.
        write: Option<String>,
        /// The pipeline's grain.
        grain: Grain,
    },
    /// The calendar has no such day, month, quarter, week or year.
    #[error("{text:?} is not {what}: {why}")]
    NoSuchDay {
        /// What was written.
        text: String,
        /// What it would be, with its article.
        what: &'static str,
        /// The calendar's reason.
        why: String,
    },
    /// A day has hours 00 to 23, an hour minutes 00 to 59.
    #[error("{text:?} is not an hour: a day has the hours 00 to 23{}", if text.contains(':') { ", an hour the minutes 00 to 59" } else { "" })]
    NoSuchHour {
        /// What was written.
        text: String,
    },
    /// The zone's clocks skipped it.
    #[error("{text} never was in {zone}: the clocks skipped it")]
    NeverWas {
        /// What was written.
        text: String,
        /// The zone.
        zone: String,
    },
    /// The calendar ends before it.
    #[error("{text} is out of range: keys go from the year 0001 to 9999-12-29")]
    OutOfRange {
        /// What was written.
        text: String,
    },
    /// A local time at which no interval begins.
    #[error("no interval of grain {grain} begins at {text}: write {}", choices.join(" or "))]
    NoBoundary {
        /// What was written.
        text: String,
        /// The pipeline's grain.
        grain: Grain,
        /// The keys before and after it.
        choices: Vec<String>,
    },
    /// A key of another grain.
    #[error("{text} is {is}, which is not an interval of a pipeline of grain {grain}")]
    OtherGrain {
        /// What was written.
        text: String,
        /// The pipeline's grain.
        grain: Grain,
        /// What the key names.
        is: &'static str,
    },
    /// An hour that comes twice needs its offset.
    #[error("{text} comes twice: write {}", choices.join(" or "))]
    ComesTwice {
        /// What was written.
        text: String,
        /// The keys of the passes.
        choices: Vec<String>,
    },
    /// The hour exists, at another offset.
    #[error("{text}: the hour has no pass at {offset}; it is {}", choices.join(" or "))]
    OtherOffset {
        /// What was written.
        text: String,
        /// The offset that was written.
        offset: String,
        /// The keys of the passes.
        choices: Vec<String>,
    },
    /// An offset on an hour that comes once: one interval has one key.
    #[error("{text} comes only once and is written {write}")]
    NeedlessOffset {
        /// What was written.
        text: String,
        /// The canonical key.
        write: String,
    },
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schedule::Schedule;
    use crate::time::Zone;

    #[test]
    fn every_refusal_says_what_is_wrong() {
        let new_york = Schedule::new(Grain::Hour, Zone::named("America/New_York").unwrap());
        let apia = Schedule::new(Grain::Day, Zone::named("Pacific/Apia").unwrap());
        let said = |schedule: &Schedule, text: &str| schedule.partition_for_key(text).unwrap_err().to_string();
        assert_eq!(said(&apia, "2026-02-30"), "\"2026-02-30\" is not a day: 2026-02 has 28 days");
        assert_eq!(said(&apia, "2026-13-01"), "\"2026-13-01\" is not a day: a year has 12 months");
        assert_eq!(said(&apia, "2011-12-30"), "2011-12-30 never was in Pacific/Apia: the clocks skipped it");
        assert_eq!(
            said(&apia, "2026-03-24T13"),
            "2026-03-24T13 is an hour, which is not an interval of a pipeline of grain day"
        );
        assert_eq!(
            said(&new_york, "2026-03-24"),
            "2026-03-24 is a day, which is not an interval of a pipeline of grain hour"
        );
        assert_eq!(
            said(&new_york, "2026-03-08T02"),
            "2026-03-08T02 never was in America/New_York: the clocks skipped it"
        );
        assert_eq!(
            said(&new_york, "2026-11-01T01"),
            "2026-11-01T01 comes twice: write 2026-11-01T01-04:00 or 2026-11-01T01-05:00"
        );
        assert_eq!(
            said(&new_york, "2026-03-24T05-04:00"),
            "2026-03-24T05-04:00 comes only once and is written 2026-03-24T05"
        );
        assert_eq!(said(&new_york, "2026-03-24T24"), "\"2026-03-24T24\" is not an hour: a day has the hours 00 to 23");
    }
}
