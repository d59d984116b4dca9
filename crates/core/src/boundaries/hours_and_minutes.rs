//! Where an hour, N hours and N minutes begin: when the local clock shows a multiple of them, counted from midnight, or
//! jumps into another one.
//!
//! So both passes of a repeated hour are intervals, each with its offset in the key; a shift of half an hour makes one
//! hour longer or shorter. Of lengths that do not divide an hour, such as 6 hours, a clock that goes back into the middle
//! of one starts nothing: what it left goes on until a multiple is shown. So the hour that comes again in the middle of
//! six hours makes seven of them, as it makes a day of 25.

use crate::boundaries::{has_key, just_before};
use crate::interval::Interval;
use crate::interval_key::IntervalKey;
use crate::schedule::Partition;
use crate::time::{Timestamp, Zone, civil};

/// A stretch of the wall clock, in minutes of which a day holds a whole number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Blocks {
    minutes: u16,
}

/// A local date, and which block of it.
type Place = (civil::Date, u16);

/// No clock ever went back or forth by more.
const MOST_SHIFT_SECONDS: i64 = 26 * 3600;

impl Blocks {
    pub(crate) const fn of_minutes(minutes: u16) -> Self {
        Self { minutes }
    }

    const fn seconds(self) -> i64 {
        self.minutes as i64 * 60
    }

    /// The block that the wall clock is in.
    fn place(self, local: civil::DateTime) -> Place {
        let minute = u16::from(local.hour().unsigned_abs()) * 60 + u16::from(local.minute().unsigned_abs());
        (local.date(), minute / self.minutes)
    }

    fn place_at(self, zone: &Zone, at: Timestamp) -> Place {
        self.place(zone.local(at))
    }

    /// Hour and minute that a block begins with.
    fn clock(self, block: u16) -> Option<(i8, i8)> {
        let minute = block.checked_mul(self.minutes)?;
        Some((i8::try_from(minute / 60).ok()?, i8::try_from(minute % 60).ok()?))
    }

    /// The key without an offset.
    pub(crate) fn label(self, (date, block): Place) -> Option<String> {
        let (hour, minute) = self.clock(block)?;
        Some(if self.minutes.is_multiple_of(60) {
            format!("{date}T{hour:02}")
        } else {
            format!("{date}T{hour:02}:{minute:02}")
        })
    }

    /// The interval that contains `at`.
    pub(crate) fn at(self, zone: &Zone, at: Timestamp) -> Option<Partition> {
        let interval = Interval::new(self.start(zone, at)?, self.end(zone, at)?).ok()?;
        let place = self.place_at(zone, interval.start());
        if !has_key(place.0) {
            return None;
        }
        let mut key = self.label(place)?;
        if self.comes_again(zone, interval, place) {
            key.push_str(&zone.offset_text(interval.start()));
        }
        Some(Partition { key: IntervalKey::new(key), interval, target_date: place.0 })
    }

    /// The newest boundary at or before `at`.
    fn start(self, zone: &Zone, at: Timestamp) -> Option<Timestamp> {
        let mut at = at;
        loop {
            let aligned = self.aligned_before(zone, at)?;
            let Some(change) = zone.last_transition(at) else { return Some(aligned) };
            if aligned >= change {
                return Some(aligned);
            }
            if self.begins_at(zone, change)? {
                return Some(change);
            }
            at = just_before(change)?;
        }
    }

    /// The first boundary after `at`.
    fn end(self, zone: &Zone, at: Timestamp) -> Option<Timestamp> {
        let mut at = at;
        loop {
            let next = self.aligned_before(zone, at)?.checked_add(jiff::SignedDuration::from_secs(self.seconds()));
            let aligned = next.ok()?;
            match zone.next_transition(at) {
                Some(change) if change <= aligned => {
                    if self.begins_at(zone, change)? {
                        return Some(change);
                    }
                    at = change;
                }
                _ => return Some(aligned),
            }
        }
    }

    /// The last instant at or before `at` at which the clock, kept at `at`'s offset, showed the start of a block.
    fn aligned_before(self, zone: &Zone, at: Timestamp) -> Option<Timestamp> {
        let local = at.as_second().checked_add(i64::from(zone.offset_seconds(at)))?;
        // a fraction of a second before 1970 rounds towards zero; floor it first
        let floor = i64::from(at.subsec_nanosecond() < 0);
        let into_block = (local - floor).rem_euclid(self.seconds());
        Timestamp::from_second(at.as_second() - floor - into_block).ok()
    }

    /// Whether the clock change at `change` begins an interval: it shows the start of a block, or another block than
    /// before. Back into the middle of a block counts for parts of an hour only, whose keys name what the clock shows.
    fn begins_at(self, zone: &Zone, change: Timestamp) -> Option<bool> {
        if self.aligned_before(zone, change)? == change {
            return Some(true);
        }
        let (before, after) = (self.place_at(zone, just_before(change)?), self.place_at(zone, change));
        Some(if 60_u16.is_multiple_of(self.minutes) { after != before } else { after > before })
    }

    /// Whether another interval shows the same local time.
    fn comes_again(self, zone: &Zone, interval: Interval, place: Place) -> bool {
        let day = jiff::SignedDuration::from_hours(25);
        let around = (interval.start().checked_sub(day), interval.end().checked_add(day));
        if let (Ok(before), Ok(after)) = around
            && zone.offset_seconds(before) == zone.offset_seconds(after)
            && zone.offset_seconds(before) == zone.offset_seconds(interval.start())
        {
            return false;
        }
        self.starts_of(zone, place).iter().any(|start| *start != interval.start())
    }

    /// The block that begins at a local time, if one does.
    pub(crate) fn block_at(self, hour: i8, minute: i8) -> Option<u16> {
        let minute = u16::from(hour.unsigned_abs()) * 60 + u16::from(minute.unsigned_abs());
        minute.is_multiple_of(self.minutes).then_some(minute / self.minutes)
    }

    /// The block before or at a local time, and the one after it where the day has one.
    pub(crate) fn blocks_around(self, hour: i8, minute: i8) -> impl Iterator<Item = u16> {
        let block = (u16::from(hour.unsigned_abs()) * 60 + u16::from(minute.unsigned_abs())) / self.minutes;
        (block..=block + 1).filter(move |block| block * self.minutes < 24 * 60)
    }

    /// The starts of all intervals that show a block: none where it was skipped, two where it comes twice.
    pub(crate) fn starts_of(self, zone: &Zone, place: Place) -> Vec<Timestamp> {
        let Some((hour, minute)) = self.clock(place.1) else { return vec![] };
        let first = place.0.at(hour, minute, 0, 0);
        let block = jiff::SignedDuration::from_secs(self.seconds());
        let Ok(last) = first.checked_add(block - jiff::SignedDuration::from_micros(1)) else { return vec![] };
        let mut starts: Vec<Timestamp> = [first, last]
            .into_iter()
            .flat_map(|local| zone.instants_of(local))
            .chain(changes_around(zone, first))
            .filter_map(|at| self.start(zone, at))
            .filter(|start| self.place_at(zone, *start) == place)
            .collect();
        starts.sort_unstable();
        starts.dedup();
        starts
    }
}

/// The clock changes that may lie near a local time: a block may be entered by one, in its middle.
fn changes_around(zone: &Zone, local: civil::DateTime) -> Vec<Timestamp> {
    let Ok(at) = jiff::tz::Offset::UTC.to_timestamp(local) else { return vec![] };
    let near = jiff::SignedDuration::from_secs(2 * MOST_SHIFT_SECONDS);
    let (Ok(from), Ok(to)) = (at.checked_sub(near), at.checked_add(near)) else { return vec![] };
    zone.transitions_after(from).take_while(|change| *change <= to).collect()
}
