//! Values that a rule compares columns with.

use std::fmt;

use serde_json::Value as Json;

use crate::literal::literal;

/// A value as it stands in a pipeline file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Value(Kind);

#[derive(Debug, Clone, PartialEq, Eq)]
enum Kind {
    Number(String),
    Text(String),
}

impl Value {
    /// A decimal number such as `-1.50` or `2e3`; `None` for anything else.
    pub fn number(text: &str) -> Option<Self> {
        let digits = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
        let unsigned = text.strip_prefix('-').unwrap_or(text);
        let (mantissa, exponent) = unsigned.split_once(['e', 'E']).unwrap_or((unsigned, "0"));
        let (whole, part) = mantissa.split_once('.').unwrap_or((mantissa, "0"));
        let sound = digits(whole) && digits(part) && digits(exponent.trim_start_matches(['+', '-']));
        sound.then(|| Self(Kind::Number(text.to_owned())))
    }

    /// Anything else: it is read as the column's own type.
    pub fn text(text: impl Into<String>) -> Self {
        Self(Kind::Text(text.into()))
    }

    /// The value without quotes.
    pub fn as_str(&self) -> &str {
        match &self.0 {
            Kind::Number(text) | Kind::Text(text) => text,
        }
    }

    /// A constant of SQL. A number is compared as a number, so that 0.5 may bound a column of whole numbers.
    pub(crate) fn constant(&self) -> String {
        match &self.0 {
            // the sign belongs to the constant: no operator is looked up for it
            Kind::Number(text) => format!("({text})"),
            Kind::Text(text) => literal(text),
        }
    }

    pub(crate) fn to_json(&self) -> Json {
        match &self.0 {
            Kind::Number(text) => text.parse().map_or_else(|_| text.as_str().into(), Json::Number),
            Kind::Text(text) => text.as_str().into(),
        }
    }
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A share of rows, in millionths.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Share(u32);

/// So many millionths are all.
const WHOLE: u32 = 1_000_000;

impl Share {
    /// No row.
    pub const NONE: Self = Self(0);
    /// Half of the rows.
    pub const HALF: Self = Self(WHOLE / 2);
    /// All rows.
    pub const ALL: Self = Self(WHOLE);

    /// So many millionths; `None` where that is more than all.
    pub const fn millionths(millionths: u32) -> Option<Self> {
        if millionths <= WHOLE { Some(Self(millionths)) } else { None }
    }

    /// In millionths of the whole.
    pub(crate) const fn in_millionths(self) -> u32 {
        self.0
    }

    /// Whether it leaves something out.
    pub(crate) const fn is_less_than_all(self) -> bool {
        self.0 < WHOLE
    }

    /// Whether `part` of `rows` is no more than the share. No rows have no share of anything.
    pub(crate) fn holds(self, part: i64, rows: i64) -> bool {
        i128::from(part) * i128::from(WHOLE) <= i128::from(self.0) * i128::from(rows)
    }

    /// What `part` is of `rows`, rounded to the nearest.
    pub(crate) fn of(part: i64, rows: i64) -> Self {
        let (part, rows) = (i128::from(part), i128::from(rows.max(1)));
        Self(u32::try_from((part * i128::from(WHOLE) + rows / 2) / rows).unwrap_or(WHOLE).min(WHOLE))
    }
}

impl fmt::Display for Share {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (percent, part) = (self.0 / 10_000, self.0 % 10_000);
        let part = format!("{part:04}");
        match part.trim_end_matches('0') {
            "" => write!(f, "{percent}%"),
            part => write!(f, "{percent}.{part}%"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_decimal_number_is_spliced_as_one() {
        for text in ["0", "-1", "1.50", "-0.5", "2e3", "2E-3", "1.5e+3", "99999999999999999999"] {
            assert_eq!(Value::number(text).unwrap().constant(), format!("({text})"));
        }
        for text in ["", "-", "--1", "1.", ".5", "1e", "inf", "nan", "1 or true", "1;", "0x1f", "1_000", "+1", "١"] {
            assert_eq!(Value::number(text), None, "{text}");
        }
        assert_eq!(Value::text("o'clock").constant(), "E'o''clock'");
    }

    #[test]
    fn a_share_is_exact_at_its_edge() {
        let one = Share::millionths(10_000).unwrap();
        assert!(one.holds(1, 100) && !one.holds(2, 199) && one.holds(2, 200) && one.holds(0, 0));
        assert!(one.holds(i64::MAX / 100, i64::MAX));
        assert_eq!(Share::millionths(1_000_001), None);
        let shown: Vec<String> =
            [(1, 100), (1, 3), (0, 0), (1, 8), (3, 3)].map(|(n, of)| Share::of(n, of).to_string()).into();
        assert_eq!(shown, ["1%", "33.3333%", "0%", "12.5%", "100%"]);
    }
}
