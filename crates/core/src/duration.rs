//! Durations as people write them: `2h10m`, `15m`, `60s`, `7d`, `0`.

use std::fmt;
use std::time::Duration;

/// A length of elapsed time in whole seconds. A day is 24 hours here, a week seven days.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct HumanDuration(Duration);

const UNITS: [(char, u64); 5] = [('w', 604_800), ('d', 86_400), ('h', 3_600), ('m', 60), ('s', 1)];
/// A hundred years: more is a slip of the pen.
const MOST_SECONDS: u64 = 100 * 366 * 86_400;

impl HumanDuration {
    /// A duration of whole seconds.
    pub const fn from_seconds(seconds: u64) -> Self {
        Self(Duration::from_secs(seconds))
    }

    /// As the standard library's type.
    pub const fn as_std(self) -> Duration {
        self.0
    }

    /// True for `0`.
    pub const fn is_zero(self) -> bool {
        self.0.is_zero()
    }

    /// Reads numbers with the units `s m h d w`, largest first, each at most once; or `0`.
    ///
    /// # Errors
    /// [`DurationError`] with the byte offset of the place that cannot be read.
    pub fn parse(text: &str) -> Result<Self, DurationError> {
        let fail = |at: usize, why: &'static str| Err(DurationError { text: text.to_owned(), at, why });
        if text == "0" {
            return Ok(Self::default());
        }
        if text.is_empty() {
            return fail(0, "it is empty");
        }
        let (mut rest, mut total, mut units) = (text, 0_u64, UNITS.as_slice());
        while !rest.is_empty() {
            let at = text.len() - rest.len();
            let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
            if digits == 0 {
                return fail(at, "a number is expected here");
            }
            let Ok(count) = rest[..digits].parse::<u64>() else { return fail(at, "the number is too great") };
            rest = &rest[digits..];
            let unit_at = text.len() - rest.len();
            let Some(unit) = rest.chars().next() else { return fail(unit_at, "a unit is missing") };
            let word = rest.chars().take_while(|c| c.is_alphabetic()).count();
            let Some(place) = units.iter().position(|(name, _)| *name == unit) else {
                let known = UNITS.iter().any(|(name, _)| *name == unit);
                return fail(
                    unit_at,
                    if known { "units go from large to small, each once" } else { "this is no unit" },
                );
            };
            if word != 1 {
                return fail(unit_at, "this is no unit");
            }
            let Some(sum) = count.checked_mul(units[place].1).and_then(|seconds| total.checked_add(seconds)) else {
                return fail(at, "the number is too great");
            };
            total = sum;
            units = &units[place + 1..];
            rest = &rest[unit.len_utf8()..];
        }
        if total > MOST_SECONDS { fail(0, "more than a hundred years") } else { Ok(Self::from_seconds(total)) }
    }
}

impl fmt::Display for HumanDuration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut rest = self.0.as_secs();
        if rest == 0 {
            return f.write_str("0");
        }
        for (unit, seconds) in UNITS {
            if rest >= seconds {
                write!(f, "{}{unit}", rest / seconds)?;
                rest %= seconds;
            }
        }
        Ok(())
    }
}

/// A text that is no duration.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{text:?} is not a duration: {why} (units are s, m, h, d, w, as in 2h10m)")]
pub struct DurationError {
    /// What was written.
    pub text: String,
    /// Byte offset of the fault in it.
    pub at: usize,
    /// What is wrong there.
    pub why: &'static str,
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn durations_are_read_and_printed() {
        for (text, seconds) in
            [("0", 0), ("60s", 60), ("2h10m", 7800), ("7d", 604_800), ("1w2d", 777_600), ("15m", 900)]
        {
            assert_eq!(HumanDuration::parse(text).unwrap().as_std().as_secs(), seconds, "{text}");
        }
        assert_eq!(HumanDuration::from_seconds(7800).to_string(), "2h10m");
        assert_eq!(HumanDuration::from_seconds(604_800).to_string(), "1w");
    }

    #[test]
    fn faults_are_pointed_at() {
        for (text, at) in
            [("3 dyas", 1), ("-2h", 0), ("", 0), ("1mo", 1), ("10", 2), ("1h1h", 3), ("1m1h", 3), ("5x", 1), ("1ms", 1)]
        {
            assert_eq!(HumanDuration::parse(text).unwrap_err().at, at, "{text}");
        }
        assert!(HumanDuration::parse("99999999999999999999s").is_err());
        assert!(HumanDuration::parse("5300w").is_err());
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]
        #[test]
        fn what_is_printed_is_read_back(seconds in 0..=MOST_SECONDS) {
            let duration = HumanDuration::from_seconds(seconds);
            prop_assert_eq!(HumanDuration::parse(&duration.to_string()), Ok(duration));
        }

        #[test]
        fn a_fault_is_pointed_at_inside_the_text(text in r"\PC{0,12}|[0-9smhdw]{0,12}") {
            if let Err(error) = HumanDuration::parse(&text) {
                prop_assert!(text.is_char_boundary(error.at), "{} in {:?}", error.at, text);
            }
        }
    }
}
