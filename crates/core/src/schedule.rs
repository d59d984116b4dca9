//! Which data intervals a pipeline has: boundaries from its grain and its zone's wall clock.
//!
//! A day starts at the first instant of its local date; a date that the zone skipped has no interval. An hour starts
//! when the local clock shows a full hour or enters another hour, so both passes of a repeated hour are intervals, and a
//! shift of half an hour makes one hour longer or shorter. Intervals tile time: no gap, no overlap.

use crate::grain::Grain;
use crate::interval::Interval;
use crate::interval_key::{IntervalKey, parse_offset};
use crate::time::{Timestamp, Zone, civil, offset_text};

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
            Grain::Day => self.day_at(at),
            Grain::Hour => self.hour_at(at),
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
            Grain::Day => self.day_for_key(text),
            Grain::Hour => self.hour_for_key(text),
        }
    }

    /// The intervals of one local date, as one span: `None` where the zone skipped the date.
    pub fn span_of_date(&self, date: civil::Date) -> Option<Interval> {
        let end = date.tomorrow().ok()?;
        Interval::new(self.first_instant(date)?, self.first_instant(end)?).ok()
    }

    /// The span from the start of one local date to the start of another.
    pub fn span_of_dates(&self, from: civil::Date, to: civil::Date) -> Option<Interval> {
        Interval::new(self.first_instant(from)?, self.first_instant(to)?).ok()
    }

    fn first_instant(&self, date: civil::Date) -> Option<Timestamp> {
        self.zone.first_instant_at_or_after(date.to_datetime(civil::Time::midnight()))
    }

    fn day_at(&self, at: Timestamp) -> Option<Partition> {
        let mut date = self.zone.date(at);
        // after a clock went back over midnight the wall shows the old date, but the new one has begun
        while self.first_instant(date.tomorrow().ok()?)? <= at {
            date = date.tomorrow().ok()?;
        }
        while self.first_instant(date)? > at {
            date = date.yesterday().ok()?;
        }
        self.day(date)
    }

    fn day(&self, date: civil::Date) -> Option<Partition> {
        if !(1..=9999).contains(&date.year()) {
            return None;
        }
        let interval = self.span_of_date(date)?;
        Some(Partition { key: IntervalKey::new(date.to_string()), interval, target_date: date })
    }

    fn hour_at(&self, at: Timestamp) -> Option<Partition> {
        let interval = Interval::new(self.hour_start(at)?, self.hour_end(at)?).ok()?;
        let local = self.zone.local(interval.start());
        if !(1..=9999).contains(&local.date().year()) {
            return None;
        }
        let mut key = format!("{}T{:02}", local.date(), local.hour());
        if self.passes_of_hour(interval, local).len() > 1 {
            key.push_str(&self.zone.offset_text(interval.start()));
        }
        Some(Partition { key: IntervalKey::new(key), interval, target_date: local.date() })
    }

    /// The newest hour boundary at or before `at`.
    fn hour_start(&self, at: Timestamp) -> Option<Timestamp> {
        let mut at = at;
        loop {
            let full_hour = self.full_hour_before(at)?;
            let Some(change) = self.zone.last_transition(at) else { return Some(full_hour) };
            if full_hour >= change {
                return Some(full_hour);
            }
            if self.begins_an_hour(change)? {
                return Some(change);
            }
            at = just_before(change)?;
        }
    }

    /// The first hour boundary after `at`.
    fn hour_end(&self, at: Timestamp) -> Option<Timestamp> {
        let mut at = at;
        loop {
            let full_hour = self.full_hour_before(at)?.checked_add(jiff::SignedDuration::from_hours(1)).ok()?;
            match self.zone.next_transition(at) {
                Some(change) if change <= full_hour => {
                    if self.begins_an_hour(change)? {
                        return Some(change);
                    }
                    at = change;
                }
                _ => return Some(full_hour),
            }
        }
    }

    /// The last instant at or before `at` at which the clock, kept at `at`'s offset, showed a full hour.
    fn full_hour_before(&self, at: Timestamp) -> Option<Timestamp> {
        let local = at.as_second().checked_add(i64::from(self.zone.offset_seconds(at)))?;
        // a fraction of a second before 1970 rounds towards zero; floor it first
        let floor = i64::from(at.subsec_nanosecond() < 0);
        let into_hour = (local - floor).rem_euclid(3600);
        Timestamp::from_second(at.as_second() - floor - into_hour).ok()
    }

    /// Whether the clock change at `change` begins an hour: it shows a full hour, or another hour than before.
    fn begins_an_hour(&self, change: Timestamp) -> Option<bool> {
        let (after, before) = (self.zone.local(change), self.zone.local(just_before(change)?));
        let full = after.minute() == 0 && after.second() == 0 && after.subsec_nanosecond() == 0;
        Some(full || (after.date(), after.hour()) != (before.date(), before.hour()))
    }

    /// The starts of all intervals that show the same local hour: more than one where the hour comes again.
    fn passes_of_hour(&self, interval: Interval, local: civil::DateTime) -> Vec<Timestamp> {
        let day = jiff::SignedDuration::from_hours(25);
        let around = (interval.start().checked_sub(day), interval.end().checked_add(day));
        if let (Ok(before), Ok(after)) = around
            && self.zone.offset_seconds(before) == self.zone.offset_seconds(after)
            && self.zone.offset_seconds(before) == self.zone.offset_seconds(interval.start())
        {
            return vec![interval.start()];
        }
        let mut starts = self.starts_of_local_hour(local.date(), local.hour());
        if !starts.contains(&interval.start()) {
            starts.push(interval.start());
        }
        starts
    }

    fn starts_of_local_hour(&self, date: civil::Date, hour: i8) -> Vec<Timestamp> {
        let mut starts: Vec<Timestamp> = [(0, 0, 0), (59, 59, 999_999_000)]
            .into_iter()
            .flat_map(|(minute, second, nanos)| {
                self.zone.instants_of(date.to_datetime(civil::time(hour, minute, second, nanos)))
            })
            .filter_map(|at| self.hour_start(at))
            .filter(|start| {
                let local = self.zone.local(*start);
                (local.date(), local.hour()) == (date, hour)
            })
            .collect();
        starts.sort_unstable();
        starts.dedup();
        starts
    }

    fn day_for_key(&self, text: &str) -> Result<Partition, KeyError> {
        if split_hour_key(text).is_some() {
            return Err(KeyError::OtherGrain { text: text.to_owned(), grain: self.grain, is: "an hour" });
        }
        let date = parse_date(text, self.grain)?;
        self.day(date).ok_or_else(|| self.absent(text, date))
    }

    /// Why there is no such interval.
    fn absent(&self, text: &str, date: civil::Date) -> KeyError {
        if date >= END_OF_CALENDAR {
            return KeyError::OutOfRange { text: text.to_owned() };
        }
        KeyError::NeverWas { text: text.to_owned(), zone: self.zone.name().to_owned() }
    }

    fn hour_for_key(&self, text: &str) -> Result<Partition, KeyError> {
        let wrong = || KeyError::WrongForm { text: text.to_owned(), write: suggest_hour(text), grain: self.grain };
        let Some((date_text, hour_text, offset_part)) = split_hour_key(text) else {
            if suggest_hour(text).is_some() {
                return Err(wrong());
            }
            parse_date(text, self.grain)?;
            return Err(KeyError::OtherGrain { text: text.to_owned(), grain: self.grain, is: "a day" });
        };
        let date = parse_date(date_text, self.grain)
            .map_err(|error| if matches!(error, KeyError::WrongForm { .. }) { wrong() } else { error })?;
        let hour: i8 = hour_text.parse().map_err(|_| wrong())?;
        if hour > 23 {
            return Err(KeyError::NoSuchHour { text: text.to_owned() });
        }
        let starts = self.starts_of_local_hour(date, hour);
        let choices = || starts.iter().filter_map(|at| self.hour_at(*at)).map(|p| p.key.as_str().to_owned()).collect();
        let start = if offset_part.is_empty() {
            match starts.as_slice() {
                [] => return Err(self.absent(text, date)),
                [only] => *only,
                _ => return Err(KeyError::ComesTwice { text: text.to_owned(), choices: choices() }),
            }
        } else {
            let offset = parse_offset(offset_part).ok_or_else(wrong)?;
            match starts.iter().find(|at| self.zone.offset_seconds(**at) == offset) {
                Some(start) if starts.len() > 1 => *start,
                Some(_) => {
                    return Err(KeyError::NeedlessOffset {
                        text: text.to_owned(),
                        write: format!("{date_text}T{hour_text}"),
                    });
                }
                None if starts.is_empty() => {
                    return Err(self.absent(text, date));
                }
                None => {
                    return Err(KeyError::OtherOffset {
                        text: text.to_owned(),
                        offset: offset_text(offset),
                        choices: choices(),
                    });
                }
            }
        };
        self.hour_at(start).ok_or_else(wrong)
    }
}

/// The first date that has no end as an instant in every zone.
const END_OF_CALENDAR: civil::Date = civil::date(9999, 12, 30);

/// One nanosecond earlier.
fn just_before(at: Timestamp) -> Option<Timestamp> {
    at.checked_sub(jiff::SignedDuration::from_nanos(1)).ok()
}

/// Splits `2026-03-24T05-04:00` into date, hour and offset.
fn split_hour_key(text: &str) -> Option<(&str, &str, &str)> {
    let (date, rest) = text.split_once('T')?;
    let (hour, offset) = rest.split_at_checked(2)?;
    (hour.bytes().all(|b| b.is_ascii_digit()) && (offset.is_empty() || offset.starts_with(['+', '-'])))
        .then_some((date, hour, offset))
}

/// Reads `2026-03-24`, strictly.
pub(crate) fn parse_date(text: &str, grain: Grain) -> Result<civil::Date, KeyError> {
    let fields: Vec<&str> = text.split('-').collect();
    let strict = fields.len() == 3
        && fields
            .iter()
            .zip([4, 2, 2])
            .all(|(field, width)| field.len() == width && field.bytes().all(|b| b.is_ascii_digit()));
    if !strict && fields.len() == 3 && fields[0].len() > 4 && fields.concat().bytes().all(|b| b.is_ascii_digit()) {
        return Err(KeyError::OutOfRange { text: text.to_owned() });
    }
    if !strict {
        return Err(KeyError::WrongForm { text: text.to_owned(), write: suggest_date(text), grain });
    }
    let number = |i: usize| fields[i].parse::<i16>().unwrap_or_default();
    let (year, month, day) = (number(0), number(1), number(2));
    let narrow = |value: i16| i8::try_from(value).unwrap_or_default();
    if year == 0 || !(1..=12).contains(&month) {
        return Err(KeyError::NoSuchDay {
            text: text.to_owned(),
            why: if year == 0 { "there is no year 0".into() } else { "a year has 12 months".into() },
        });
    }
    civil::Date::new(year, narrow(month), narrow(day)).map_err(|_| {
        let last = civil::date(year, narrow(month), 1).days_in_month();
        KeyError::NoSuchDay { text: text.to_owned(), why: format!("{year:04}-{month:02} has {last} days") }
    })
}

/// What must have been meant by `24/03/2026`, `2026-3-4`, `20260324`; nothing for `03/04/2026`, which is two days.
fn suggest_date(text: &str) -> Option<String> {
    let fields: Vec<&str> = text.split(['/', '-', '.']).collect();
    let widths: Vec<usize> = fields.iter().map(|field| field.len()).collect();
    if !fields.iter().all(|field| field.bytes().all(|b| b.is_ascii_digit())) {
        return None;
    }
    let (year, month, day) = match widths.as_slice() {
        [8] => (text.get(..4)?, text.get(4..6)?, text.get(6..)?),
        [4, 1..=2, 1..=2] => (fields[0], fields[1], fields[2]),
        [1..=2, 1..=2, 4] => {
            let over_a_year = |field: &str| field.parse::<i8>().is_ok_and(|number| number > 12);
            match (over_a_year(fields[0]), over_a_year(fields[1])) {
                (true, false) => (fields[2], fields[1], fields[0]),
                (false, true) => (fields[2], fields[0], fields[1]),
                _ if fields[0] == fields[1] => (fields[2], fields[0], fields[1]),
                _ => return None,
            }
        }
        _ => return None,
    };
    let year = year.parse().ok().filter(|year| *year > 0)?;
    civil::Date::new(year, month.parse().ok()?, day.parse().ok()?).ok().map(|date| date.to_string())
}

/// What must have been meant by `2026-03-24 5`, `2026-03-24t05`, `2026-03-24T05:00`.
fn suggest_hour(text: &str) -> Option<String> {
    let (date, time) = text.split_once(['T', 't', ' '])?;
    let mut fields = time.split(':');
    let hour = fields.next()?;
    let whole = fields.clone().count() <= 2 && fields.all(|rest| rest == "00");
    let narrow = (1..=2).contains(&hour.len()) && hour.bytes().all(|b| b.is_ascii_digit());
    let hour: i8 = hour.parse().ok().filter(|hour| whole && narrow && (0..24).contains(hour))?;
    Some(format!("{}T{hour:02}", suggest_date(date)?))
}

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
    /// The calendar has no such day.
    #[error("{text:?} is not a day: {why}")]
    NoSuchDay {
        /// What was written.
        text: String,
        /// The calendar's reason.
        why: String,
    },
    /// A day has hours 00 to 23.
    #[error("{text:?} is not an hour: a day has the hours 00 to 23")]
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
    use proptest::prelude::*;

    fn in_utc(grain: Grain) -> Schedule {
        Schedule::new(grain, Zone::utc())
    }

    fn suggestion(grain: Grain, text: &str) -> Option<String> {
        match in_utc(grain).partition_for_key(text) {
            Err(KeyError::WrongForm { write, .. }) => write,
            other => panic!("{text}: {other:?}"),
        }
    }

    #[test]
    fn a_day_in_another_form_is_suggested_only_where_it_is_no_guess() {
        for (text, meant) in [
            ("24/03/2026", "2026-03-24"),
            ("3/24/2026", "2026-03-24"),
            ("3/3/2026", "2026-03-03"),
            ("2026/03/24", "2026-03-24"),
            ("2026-3-4", "2026-03-04"),
            ("24.3.2026", "2026-03-24"),
            ("20260324", "2026-03-24"),
        ] {
            assert_eq!(suggestion(Grain::Day, text).as_deref(), Some(meant), "{text}");
        }
        for text in
            ["03/04/2026", "2026-2-30", "31/31/2026", "26-3-4", "+2026-03-24", "10000-01-01", "0000-1-1", "한글"]
        {
            assert_eq!(suggestion(Grain::Day, text), None, "{text}");
        }
    }

    #[test]
    fn an_hour_in_another_form_is_suggested() {
        for text in
            ["2026-03-24T5", "2026-3-24T05", "2026-03-24t05", "2026-03-24 05", "2026-03-24T05:00", "24/3/2026 5:00:00"]
        {
            assert_eq!(suggestion(Grain::Hour, text).as_deref(), Some("2026-03-24T05"), "{text}");
        }
        for text in ["2026-03-24T05:30", "2026-03-24T05Z", "2026-03-24T5 pm", "2026-03-24T", "T05", "T가나"] {
            assert_eq!(suggestion(Grain::Hour, text), None, "{text}");
        }
    }

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

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]
        /// Text near a key, and any text, is read or refused; what is read is written the same way.
        #[test]
        fn a_key_is_read_or_refused(text in r"\PC{0,24}|[0-9]{1,5}[-/.]?[0-9]{0,3}[-/.]?[0-9]{0,4}[Tt ]?[0-9]{0,3}[-+:]?[0-9:]{0,6}") {
            for schedule in [
                in_utc(Grain::Day),
                in_utc(Grain::Hour),
                Schedule::new(Grain::Hour, Zone::named("Australia/Lord_Howe").unwrap()),
            ] {
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
