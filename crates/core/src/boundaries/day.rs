//! Where a day begins: at the first instant of its local date. A date that the zone skipped has no interval.

use crate::grain::Grain;
use crate::interval::Interval;
use crate::interval_key::IntervalKey;
use crate::key_error::KeyError;
use crate::read_key::{parse_date, split_hour_key};
use crate::schedule::Partition;
use crate::time::{Timestamp, Zone, civil};

/// The first date that has no end as an instant in every zone.
const END_OF_CALENDAR: civil::Date = civil::date(9999, 12, 30);

/// The span from the start of one local date to the start of another.
pub(crate) fn span(zone: &Zone, from: civil::Date, to: civil::Date) -> Option<Interval> {
    Interval::new(first_instant(zone, from)?, first_instant(zone, to)?).ok()
}

/// The first instant of a local date; where the zone skipped the date, of the next one.
pub(crate) fn first_instant(zone: &Zone, date: civil::Date) -> Option<Timestamp> {
    zone.first_instant_at_or_after(date.to_datetime(civil::Time::midnight()))
}

/// The day that contains `at`.
pub(crate) fn at(zone: &Zone, at: Timestamp) -> Option<Partition> {
    let mut date = zone.date(at);
    // after a clock went back over midnight the wall shows the old date, but the new one has begun
    while first_instant(zone, date.tomorrow().ok()?)? <= at {
        date = date.tomorrow().ok()?;
    }
    while first_instant(zone, date)? > at {
        date = date.yesterday().ok()?;
    }
    named(zone, date)
}

fn named(zone: &Zone, date: civil::Date) -> Option<Partition> {
    if !(1..=9999).contains(&date.year()) {
        return None;
    }
    let interval = span(zone, date, date.tomorrow().ok()?)?;
    Some(Partition { key: IntervalKey::new(date.to_string()), interval, target_date: date })
}

/// The day that a key names.
pub(crate) fn for_key(zone: &Zone, text: &str) -> Result<Partition, KeyError> {
    if split_hour_key(text).is_some() {
        return Err(KeyError::OtherGrain { text: text.to_owned(), grain: Grain::Day, is: "an hour" });
    }
    let date = parse_date(text, Grain::Day)?;
    named(zone, date).ok_or_else(|| absent(zone, text, date))
}

/// Why there is no such interval.
pub(crate) fn absent(zone: &Zone, text: &str, date: civil::Date) -> KeyError {
    if date >= END_OF_CALENDAR {
        return KeyError::OutOfRange { text: text.to_owned() };
    }
    KeyError::NeverWas { text: text.to_owned(), zone: zone.name().to_owned() }
}
