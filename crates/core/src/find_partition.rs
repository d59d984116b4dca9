//! Which partition of a schedule a key names: the way from text to interval, and every way in which it can fail.

use crate::boundaries::hours_and_minutes::Blocks;
use crate::boundaries::period::{self, Period};
use crate::boundaries::{cron_ticks, day, has_key, week, whole_table};
use crate::cron_pattern::CronPattern;
use crate::grain::Grain;
use crate::key_error::KeyError;
use crate::read_key::{LocalTime, Unread, Written, read};
use crate::schedule::{Partition, Schedule};
use crate::suggest_key::suggest;
use crate::time::civil::Date;
use crate::time::{Timestamp, offset_text};

/// The partition that a text names.
pub(crate) fn find(schedule: &Schedule, text: &str) -> Result<Partition, KeyError> {
    let written = read(text).map_err(|unread| refuse(schedule, text, unread, Written::is_key_of))?;
    find_written(schedule, text, &written)
}

/// The partition that a text, already read, names.
pub(crate) fn find_written(schedule: &Schedule, text: &str, written: &Written) -> Result<Partition, KeyError> {
    let grain = schedule.grain();
    let starting = |period: Period, first: Option<Date>| {
        let first = first.ok_or_else(|| KeyError::OutOfRange { text: text.to_owned() })?;
        period.starting(schedule.zone(), first).ok_or_else(|| no_period(schedule, text, period, first))
    };
    match (grain, written) {
        (Grain::Table, Written::Table) => {
            whole_table::partition().ok_or_else(|| KeyError::OutOfRange { text: text.to_owned() })
        }
        (Grain::Day, Written::Date(date)) => starting(Period::Day, Some(*date)),
        (Grain::Week(starts), Written::Week(year, number)) => {
            starting(Period::Week(*starts), week::numbered(*year, *number, *starts))
        }
        (Grain::Month, Written::Month(year, month)) => starting(period::MONTH, Date::new(*year, *month, 1).ok()),
        (Grain::Quarter, Written::Quarter(year, quarter)) => {
            starting(period::QUARTER, Date::new(*year, *quarter * 3 - 2, 1).ok())
        }
        (Grain::Year, Written::Year(year)) => starting(period::YEAR, Date::new(*year, 1, 1).ok()),
        (Grain::Hour, Written::Time(time)) => block(schedule, text, Blocks::of_minutes(60), time),
        (Grain::Clock(step), Written::Time(time)) => block(schedule, text, Blocks::of_minutes(step.minutes()), time),
        (Grain::Cron(pattern), Written::Time(time @ LocalTime { minute: Some(_), .. })) => {
            tick(schedule, text, pattern, time)
        }
        _ => Err(other_grain(schedule, text, written)),
    }
}

/// The refusal of a text that could not be read; a suggestion is kept where it `suits` the grain.
pub(crate) fn refuse(
    schedule: &Schedule,
    text: &str,
    unread: Unread,
    suits: impl Fn(&Written, &Grain) -> bool,
) -> KeyError {
    let text = text.to_owned();
    match unread {
        Unread::Form => {
            let write = suggest(&text).and_then(|meant| {
                // keys of minutes are suggested with theirs
                [meant.clone(), format!("{meant}:00")]
                    .into_iter()
                    .find(|meant| read(meant).is_ok_and(|written| suits(&written, schedule.grain())))
            });
            KeyError::WrongForm { text, write, grain: schedule.grain().clone() }
        }
        Unread::NoSuch(what, why) => KeyError::NoSuchDay { text, what, why },
        Unread::NoSuchHour => KeyError::NoSuchHour { text },
        Unread::OutOfRange => KeyError::OutOfRange { text },
    }
}

pub(crate) fn other_grain(schedule: &Schedule, text: &str, written: &Written) -> KeyError {
    KeyError::OtherGrain { text: text.to_owned(), grain: schedule.grain().clone(), is: written.name() }
}

fn never_was(schedule: &Schedule, text: &str) -> KeyError {
    KeyError::NeverWas { text: text.to_owned(), zone: schedule.zone().name().to_owned() }
}

fn no_period(schedule: &Schedule, text: &str, period: Period, first: Date) -> KeyError {
    let ends = period.next_date(first).and_then(|next| day::first_instant(schedule.zone(), next)).is_some();
    if ends && has_key(first) { never_was(schedule, text) } else { KeyError::OutOfRange { text: text.to_owned() } }
}

/// An hour, some hours, or some minutes.
fn block(schedule: &Schedule, text: &str, blocks: Blocks, time: &LocalTime) -> Result<Partition, KeyError> {
    let zone = schedule.zone();
    let (hour, minute) = (time.hour, time.minute.unwrap_or(0));
    let starts_of = |block| blocks.starts_of(zone, (time.date, block));
    let keys = |starts: Vec<Timestamp>| -> Vec<String> {
        starts.into_iter().filter_map(|at| blocks.at(zone, at)).map(|partition| partition.key.to_string()).collect()
    };
    let Some(block) = blocks.block_at(hour, minute).filter(|_| time.second.unwrap_or(0) == 0) else {
        let choices = blocks.blocks_around(hour, minute).flat_map(|block| keys(starts_of(block))).collect();
        return Err(KeyError::NoBoundary { text: text.to_owned(), grain: schedule.grain().clone(), choices });
    };
    if !Written::Time(*time).is_key_of(schedule.grain()) {
        // 05 where keys have minutes is an hour; 05:00 where they have none is the key, written too long
        return Err(if time.minute.is_none() {
            other_grain(schedule, text, &Written::Time(*time))
        } else {
            KeyError::WrongForm {
                text: text.to_owned(),
                write: blocks.label((time.date, block)),
                grain: schedule.grain().clone(),
            }
        });
    }
    if time.second.is_some() {
        let write = blocks.label((time.date, block));
        return Err(KeyError::WrongForm { text: text.to_owned(), write, grain: schedule.grain().clone() });
    }
    one_of(schedule, text, time, &starts_of(block), |at| blocks.at(zone, at))
}

/// The interval from one tick of a cron expression to the next.
fn tick(schedule: &Schedule, text: &str, pattern: &CronPattern, time: &LocalTime) -> Result<Partition, KeyError> {
    let zone = schedule.zone();
    if time.second == Some(0) {
        let write = Some(format!("{}T{:02}:{:02}", time.date, time.hour, time.minute.unwrap_or(0)));
        return Err(KeyError::WrongForm { text: text.to_owned(), write, grain: schedule.grain().clone() });
    }
    let starts = cron_ticks::starts_of(zone, pattern, time.datetime());
    if starts.is_empty() && !zone.instants_of(time.datetime()).is_empty() {
        let before = zone.first_instant_at_or_after(time.datetime()).and_then(|at| schedule.partition_at(at));
        let after = before.as_ref().and_then(|before| schedule.next(before));
        let choices: Vec<String> = before.into_iter().chain(after).map(|partition| partition.key.to_string()).collect();
        if !choices.is_empty() {
            return Err(KeyError::NoBoundary { text: text.to_owned(), grain: schedule.grain().clone(), choices });
        }
    }
    one_of(schedule, text, time, &starts, |at| cron_ticks::starting(zone, pattern, at))
}

/// Of the intervals that show the same local time, the one that is meant: the only one, or that of the written offset.
fn one_of(
    schedule: &Schedule,
    text: &str,
    time: &LocalTime,
    starts: &[Timestamp],
    partition: impl Fn(Timestamp) -> Option<Partition>,
) -> Result<Partition, KeyError> {
    let owned = || text.to_owned();
    let choices = || starts.iter().filter_map(|at| partition(*at)).map(|found| found.key.to_string()).collect();
    let passes = match time.offset {
        None => starts.to_vec(),
        Some(offset) => {
            starts.iter().copied().filter(|at| schedule.zone().offset_seconds(*at) == offset).collect::<Vec<_>>()
        }
    };
    let found = match (starts, passes.as_slice(), time.offset) {
        ([], ..) => None,
        (_, [], offset) => {
            let offset = offset_text(offset.unwrap_or_default());
            return Err(KeyError::OtherOffset { text: owned(), offset, choices: choices() });
        }
        ([only], _, Some(_)) => {
            let Some(found) = partition(*only) else { return Err(KeyError::OutOfRange { text: owned() }) };
            if found.key.as_str() != text {
                return Err(KeyError::NeedlessOffset { text: owned(), write: found.key.to_string() });
            }
            Some(found)
        }
        (_, [first, ..], Some(_)) | ([first], _, None) => partition(*first),
        (_, _, None) => return Err(KeyError::ComesTwice { text: owned(), choices: choices() }),
    };
    found.ok_or_else(|| {
        // the last day of the calendar has an end in some zones only
        if time.date.tomorrow().ok().and_then(|next| day::first_instant(schedule.zone(), next)).is_none() {
            KeyError::OutOfRange { text: owned() }
        } else {
            never_was(schedule, text)
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::time::Zone;
    use proptest::prelude::*;

    fn in_utc(grain: &str) -> Schedule {
        Schedule::new(Grain::parse(grain).unwrap(), Zone::utc())
    }

    fn suggestion(schedule: &Schedule, text: &str) -> Option<String> {
        match schedule.partition_for_key(text) {
            Err(KeyError::WrongForm { write, .. }) => write,
            other => panic!("{text}: {other:?}"),
        }
    }

    #[test]
    fn a_suggestion_is_a_key_of_the_grain() {
        let day = in_utc("day");
        assert_eq!(suggestion(&day, "24/03/2026").as_deref(), Some("2026-03-24"));
        assert_eq!(suggestion(&day, "2026-03-24 05"), None);
        assert_eq!(suggestion(&day, "2026-3"), None);
        let hour = in_utc("hour");
        for text in ["2026-03-24T5", "2026-03-24T05:00", "2026-03-24T05:00:00", "2026-03-24 05"] {
            assert_eq!(suggestion(&hour, text).as_deref(), Some("2026-03-24T05"), "{text}");
        }
        assert_eq!(suggestion(&hour, "2026-03-24T05Z"), None);
        let minutes = in_utc("15 minutes");
        for text in ["2026-03-24 5:15", "2026-03-24t05:15", "2026-03-24T05:15:00"] {
            assert_eq!(suggestion(&minutes, text).as_deref(), Some("2026-03-24T05:15"), "{text}");
        }
        assert_eq!(suggestion(&minutes, "2026-03-24 5").as_deref(), Some("2026-03-24T05:00"));
        assert_eq!(suggestion(&in_utc("week"), "2026w3").as_deref(), Some("2026-W03"));
        assert_eq!(suggestion(&in_utc("month"), "3/2026").as_deref(), Some("2026-03"));
    }

    #[test]
    fn a_time_at_which_no_interval_begins_names_its_neighbours() {
        let said = |grain, text: &str| in_utc(grain).partition_for_key(text).unwrap_err().to_string();
        assert_eq!(
            said("15 minutes", "2026-03-24T05:07"),
            "no interval of grain 15 minutes begins at 2026-03-24T05:07: write 2026-03-24T05:00 or 2026-03-24T05:15"
        );
        assert_eq!(
            said("6 hours", "2026-03-24T23"),
            "no interval of grain 6 hours begins at 2026-03-24T23: write 2026-03-24T18"
        );
        let cron = Schedule::new(Grain::Cron(CronPattern::parse("0 3 * * 1").unwrap()), Zone::utc());
        assert_eq!(
            cron.partition_for_key("2026-03-24T03:00").unwrap_err().to_string(),
            "no interval of grain cron 0 3 * * 1 begins at 2026-03-24T03:00: write 2026-03-23T03:00 or 2026-03-30T03:00"
        );
    }

    #[test]
    fn keys_of_other_grains_are_told_apart() {
        for (grain, text, is) in [
            ("month", "2026-03-24", "a day"),
            ("month", "2026-W13", "a week"),
            ("day", "2026-03", "a month"),
            ("day", "2026-03-24T05", "an hour"),
            ("day", "2026-03-24T05:15", "a time of the day"),
            ("15 minutes", "2026-03-24T05", "an hour"),
            ("year", "2026-Q1", "a quarter"),
            ("table", "2026", "a year"),
            ("day", "table", "the whole table"),
        ] {
            match in_utc(grain).partition_for_key(text) {
                Err(KeyError::OtherGrain { is: found, .. }) => assert_eq!(found, is, "{grain} {text}"),
                other => panic!("{grain} {text}: {other:?}"),
            }
        }
    }

    #[test]
    fn repeated_minutes_and_ticks_need_their_offset() {
        let zone = Zone::named("America/New_York").unwrap();
        let quarter_hours = Schedule::new(Grain::parse("15 minutes").unwrap(), zone.clone());
        let first = quarter_hours.partition_for_key("2026-11-01T01:45-04:00").unwrap();
        assert_eq!(quarter_hours.next(&first).unwrap().key.as_str(), "2026-11-01T01:00-05:00");
        assert!(matches!(quarter_hours.partition_for_key("2026-11-01T01:45"), Err(KeyError::ComesTwice { .. })));
        let cron = |text| Schedule::new(Grain::Cron(CronPattern::parse(text).unwrap()), zone.clone());
        // a fixed time ticks once, in the first pass: its key needs no offset
        let fixed = cron("30 1 * * *");
        assert_eq!(
            fixed.partition_for_key("2026-11-01T01:30").unwrap().interval.start(),
            "2026-11-01T05:30:00Z".parse().unwrap()
        );
        assert!(matches!(fixed.partition_for_key("2026-11-01T01:30-05:00"), Err(KeyError::OtherOffset { .. })));
        let passing = cron("*/30 * * * *");
        assert!(matches!(passing.partition_for_key("2026-11-01T01:30"), Err(KeyError::ComesTwice { .. })));
        assert!(passing.partition_for_key("2026-11-01T01:30-05:00").is_ok());
        // skipped: the fixed time ticks after the gap, the passing one does not
        assert!(fixed.partition_for_key("2026-03-08T01:30").is_ok());
        assert_eq!(
            cron("30 2 * * *").partition_for_key("2026-03-08T03:00").unwrap().interval.seconds(),
            23 * 3600 + 1800
        );
        assert!(matches!(passing.partition_for_key("2026-03-08T02:30"), Err(KeyError::NeverWas { .. })));
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]
        /// Text near a key, and any text, is read or refused; what is read is written the same way.
        #[test]
        fn a_key_is_read_or_refused(text in r"\PC{0,24}|[0-9]{1,5}[-/.]?[0-9QqWw]{0,3}[-/.]?[0-9]{0,4}[Tt ]?[0-9]{0,3}[-+:]?[0-9:]{0,6}") {
            let zone = Zone::named("Australia/Lord_Howe").unwrap();
            for grain in ["day", "hour", "15 minutes", "6 hours", "week", "month", "quarter", "year", "table", "cron"] {
                let grain = if grain == "cron" {
                    Grain::Cron(CronPattern::parse("*/30 * * * *").unwrap())
                } else {
                    Grain::parse(grain).unwrap()
                };
                let schedule = Schedule::new(grain, zone.clone());
                match schedule.partition_for_key(&text) {
                    Ok(partition) => prop_assert_eq!(partition.key.as_str(), text.as_str()),
                    Err(KeyError::WrongForm { write: Some(write), .. }) => {
                        let found = schedule.partition_for_key(&write);
                        prop_assert!(!matches!(found, Err(KeyError::WrongForm { .. })), "{} suggested for {}", write, text);
                    }
                    Err(_) => {}
                }
            }
        }
    }
}
