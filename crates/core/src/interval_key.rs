//! The text that names an interval for people and in the ledger.

use std::cmp::Ordering;
use std::fmt;

/// A canonical key such as `2026-03-24`, `2026-03-24T05` or `2026-11-01T01-04:00`. Made by a schedule only.
///
/// Keys of one pipeline order as the starts of their intervals: of an hour that comes twice, the pass with the greater
/// offset is the first one.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct IntervalKey(String);

/// Length of `2026-03-24T05`, the part before an offset.
const HOUR_FORM: usize = 13;

impl IntervalKey {
    pub(crate) fn new(text: String) -> Self {
        Self(text)
    }

    /// The key's text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Local part, and the offset in seconds where the key carries one.
    fn parts(&self) -> (&str, i32) {
        match self.0.split_at_checked(HOUR_FORM) {
            Some((local, offset)) if !offset.is_empty() => (local, parse_offset(offset).unwrap_or_default()),
            _ => (&self.0, 0),
        }
    }
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
        let ((a, a_offset), (b, b_offset)) = (self.parts(), other.parts());
        a.cmp(b).then_with(|| b_offset.cmp(&a_offset)).then_with(|| self.0.cmp(&other.0))
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
    }

    #[test]
    fn offsets_are_read_strictly() {
        assert_eq!(parse_offset("-04:56:02"), Some(-(4 * 3600 + 56 * 60 + 2)));
        for bad in ["", "04:00", "+4:00", "+04", "+04:60", "+04:00:00:00", "+0a:00"] {
            assert_eq!(parse_offset(bad), None, "{bad}");
        }
    }
}
