//! The text that names an interval for people and in the ledger.

use std::cmp::Ordering;
use std::fmt;

use jiff::tz::{Offset, TimeZone};

use crate::time::civil;

/// A canonical key such as `2026-03-24`, `2026-03-24T05`, `2026-11-01T01:30-04:00`, `2026-W13` or `2026-Q1`. Made by a
/// schedule only.
///
/// Keys of one pipeline order as the starts of their intervals. Local times that come twice carry their offsets and order as
/// instants; as bare text they would not: `02+01:00` is later than `02+02:00`.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct IntervalKey(String);

/// Length of `2026-03-24T`: an offset can only come after it.
const DATE_FORM: usize = 11;

impl IntervalKey {
    pub(crate) fn new(text: String) -> Self {
        Self(text)
    }

    /// The key's text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The local part, and the instant in seconds since 1970 where the key carries an offset.
    fn parts(&self) -> (&str, Option<i64>) {
        let sign = self.0.get(DATE_FORM..).and_then(|time| time.find(['+', '-']));
        match sign.and_then(|at| self.0.split_at_checked(DATE_FORM + at)) {
            Some((local, offset)) => (local, instant(local, offset)),
            None => (&self.0, None),
        }
    }
}

/// The instant of a local time at an offset, in seconds since 1970.
fn instant(local: &str, offset: &str) -> Option<i64> {
    let time: civil::DateTime =
        if local.contains(':') { local.parse().ok()? } else { format!("{local}:00").parse().ok()? };
    Some(TimeZone::fixed(Offset::from_seconds(parse_offset(offset)?).ok()?).to_timestamp(time).ok()?.as_second())
}

/// Reads `+09:00`, `-03:30` or `-04:56:02` as seconds, east positive.
pub(crate) fn parse_offset(text: &str) -> Option<i32> {
    let (sign, rest) = match text.split_at_checked(1)? {
        ("+", rest) => (1, rest),
        ("-", rest) => (-1, rest),
        _ => return None,
    };
    let mut seconds = 0;
    let fields: Vec<&str> = rest.split(':').collect();
    if !(2..=3).contains(&fields.len()) {
        return None;
    }
    for (field, (factor, limit)) in fields.iter().zip([(3600, 25), (60, 59), (1, 59)]) {
        if field.len() != 2 || !field.bytes().all(|b| b.is_ascii_digit()) {
            return None;
        }
        let value: i32 = field.parse().ok()?;
        if value > limit {
            return None;
        }
        seconds += value * factor;
    }
    Some(sign * seconds)
}

impl Ord for IntervalKey {
    fn cmp(&self, other: &Self) -> Ordering {
        match (self.parts(), other.parts()) {
            // equal where the clocks went back in the middle of an hour: the greater offset, of later wall time, was first
            ((x, Some(a)), (y, Some(b))) => a.cmp(&b).then_with(|| y.cmp(x)),
            ((a, _), (b, _)) => a.cmp(b).then_with(|| self.0.cmp(&other.0)),
        }
    }
}

impl PartialOrd for IntervalKey {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl fmt::Display for IntervalKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl AsRef<str> for IntervalKey {
    fn as_ref(&self) -> &str {
        &self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_pass_of_a_repeated_hour_comes_first_on_both_sides_of_greenwich() {
        let key = |text: &str| IntervalKey::new(text.to_owned());
        assert!(key("2026-11-01T01-04:00") < key("2026-11-01T01-05:00"));
        assert!(key("2026-10-25T02+02:00") < key("2026-10-25T02+01:00"));
        assert!(key("2026-10-25T02+01:00") < key("2026-10-25T03"));
        assert!(key("2026-10-25") < key("2026-10-26"));
        assert!(key("2026-11-01T01:45-04:00") < key("2026-11-01T01:00-05:00"));
        assert!(key("2026-11-01T01:45-05:00") < key("2026-11-01T02:00"));
        // Cordoba 1991: the clocks went back by two hours, so that 22 and 23 came twice in turn
        assert!(key("1991-03-02T23-02:00") < key("1991-03-02T22-04:00"));
        assert!(key("1991-03-02T21") < key("1991-03-02T22-02:00"));
    }

    #[test]
    fn offsets_are_read_strictly() {
        assert_eq!(parse_offset("-04:56:02"), Some(-(4 * 3600 + 56 * 60 + 2)));
        for bad in ["", "04:00", "+4:00", "+04", "+04:60", "+04:00:00:00", "+0a:00"] {
            assert_eq!(parse_offset(bad), None, "{bad}");
        }
    }
}
