//! Values in `[[checks]]`: what a column is compared with, and shares of rows.

use std::fmt;

use serde_json::Value;
use thrice_core::code::ErrorCode;
use toml::de::DeValue;

use crate::toml_reader::{Field, Reader, article};

/// A value that a column is compared with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CheckValue {
    /// A decimal number as it was written, without signs of grouping.
    Number(String),
    /// True or false.
    Bool(bool),
    /// A string, a date or a time: it is read as the column's own type.
    Text(String),
}

impl CheckValue {
    pub(crate) fn to_json(&self) -> Value {
        match self {
            Self::Number(text) => text.parse().map_or_else(|_| text.as_str().into(), Value::Number),
            Self::Bool(value) => (*value).into(),
            Self::Text(text) => text.as_str().into(),
        }
    }

    /// Of two numbers, whether this one is the greater.
    pub(crate) fn is_greater_than(&self, other: &Self) -> bool {
        let number = |value: &Self| if let Self::Number(text) = value { text.parse::<f64>().ok() } else { None };
        matches!((number(self), number(other)), (Some(one), Some(other)) if one > other)
    }
}

impl fmt::Display for CheckValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Number(text) | Self::Text(text) => f.write_str(text),
            Self::Bool(value) => value.fmt(f),
        }
    }
}

/// A value of a list, or a bound.
pub(crate) fn read(value: &DeValue<'_>) -> Result<CheckValue, String> {
    match value {
        DeValue::String(text) if text.contains('\0') => {
            Err("a string with a NUL, which PostgreSQL does not store".to_owned())
        }
        DeValue::String(text) => Ok(CheckValue::Text(text.to_string())),
        DeValue::Boolean(value) => Ok(CheckValue::Bool(*value)),
        DeValue::Integer(number) => match i64::from_str_radix(number.as_str(), number.radix()) {
            Ok(number) => Ok(CheckValue::Number(number.to_string())),
            Err(_) => Err("a whole number of more than 64 bits".to_owned()),
        },
        DeValue::Float(number) => {
            let text = number.as_str().trim_start_matches('+');
            let finite = text.parse::<f64>().is_ok_and(f64::is_finite);
            if finite { Ok(CheckValue::Number(text.to_owned())) } else { Err(format!("{text}: write it as a string")) }
        }
        DeValue::Datetime(time) => Ok(CheckValue::Text(time.to_string())),
        DeValue::Array(_) | DeValue::Table(_) => Err(article(value).to_owned()),
    }
}

/// A share of rows in millionths, written `"1%"` or `"0.5%"`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Percent(u32);

impl Percent {
    /// 50%.
    pub(crate) const HALF: Self = Self(500_000);

    /// In millionths of the whole.
    pub const fn millionths(self) -> u32 {
        self.0
    }

    pub(crate) fn parse(text: &str) -> Option<Self> {
        let number = text.strip_suffix('%')?;
        let (whole, part) = number.split_once('.').unwrap_or((number, "0"));
        let digits =
            |text: &str, most| !text.is_empty() && text.len() <= most && text.bytes().all(|b| b.is_ascii_digit());
        if !digits(whole, 3) || !digits(part, 4) {
            return None;
        }
        let millionths = whole.parse::<u32>().ok()? * 10_000 + format!("{part:0<4}").parse::<u32>().ok()?;
        (millionths <= 1_000_000).then_some(Self(millionths))
    }

    /// `fix` is how it is written.
    pub(crate) fn read(reader: &mut Reader<'_, '_>, field: &Field<'_>, fix: &str) -> Option<Self> {
        let percent = field.value.as_str().and_then(Self::parse);
        if percent.is_none() {
            let message = format!("`{}` must be a share between \"0%\" and \"100%\"", field.path);
            let diagnostic = reader
                .error(ErrorCode::BadPercent, message)
                .at(field.span.clone())
                .why("with the sign nobody reads 0.05 as 5% where somebody else wrote 5 for it; four places behind the point count")
                .fix(fix);
            reader.report(diagnostic);
        }
        percent
    }
}

impl fmt::Display for Percent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let part = format!("{:04}", self.0 % 10_000);
        match part.trim_end_matches('0') {
            "" => write!(f, "{}%", self.0 / 10_000),
            part => write!(f, "{}.{part}%", self.0 / 10_000),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Percent;

    #[test]
    fn shares_are_read_to_the_millionth() {
        for (text, millionths) in
            [("0%", 0), ("1%", 10_000), ("0.5%", 5_000), ("12.3456%", 123_456), ("100%", 1_000_000)]
        {
            let percent = Percent::parse(text).unwrap();
            assert_eq!((percent.millionths(), percent.to_string().as_str()), (millionths, text));
        }
        for text in ["", "%", "1", "-1%", "101%", "100.0001%", "1.00001%", "1.%", ".5%", "1 %", "1e1%", "٣%", "1000%"]
        {
            assert_eq!(Percent::parse(text), None, "{text}");
        }
    }
}
