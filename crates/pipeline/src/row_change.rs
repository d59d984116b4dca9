//! `rows.change` of `[[checks]]`: a range of changes such as `-50%..+100%`.

use std::fmt;

use thrice_core::code::ErrorCode;

use crate::toml_reader::{Field, Reader};

/// Which changes of the number of rows pass, in millionths, both ends included; at least one end is there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RowChange {
    /// At least this; never below the loss of all.
    pub least: Option<i64>,
    /// At most this.
    pub most: Option<i64>,
}

/// What is wrong with a range.
#[derive(Debug, PartialEq, Eq)]
enum Fault {
    Unreadable,
    NothingPasses,
}

impl RowChange {
    fn parse(text: &str) -> Result<Self, Fault> {
        let (least, most) = text.split_once("..").ok_or(Fault::Unreadable)?;
        let end = |text: &str| if text.is_empty() { Ok(None) } else { change(text).map(Some).ok_or(Fault::Unreadable) };
        let (least, most) = (end(least)?, end(most)?);
        match (least, most) {
            (None, None) => Err(Fault::Unreadable),
            (Some(least), Some(most)) if least > most => Err(Fault::NothingPasses),
            (least, most) => Ok(Self { least, most }),
        }
    }

    pub(crate) fn read<'t>(reader: &mut Reader<'t, '_>, field: &Field<'t>) -> Option<Self> {
        let text = reader.text_of(field)?;
        match Self::parse(text) {
            Ok(change) => Some(change),
            Err(Fault::NothingPasses) => {
                let message = format!("`{}` begins above its end", field.path);
                reader.bad_value(field, message, "no number of rows would pass");
                None
            }
            Err(Fault::Unreadable) => {
                let message = format!("`{}` must be a range of changes, and is {text:?}", field.path);
                let diagnostic = reader
                    .error(ErrorCode::BadPercent, message)
                    .at(field.span.clone())
                    .why("each end is a percentage with its sign, and nothing falls by more than 100%; an end may be left out")
                    .fix("change = \"-50%..+100%\"");
                reader.report(diagnostic);
                None
            }
        }
    }
}

/// A percentage with its sign; 0% needs none. Up to four places behind the point, and seven before it.
fn change(text: &str) -> Option<i64> {
    let number = text.strip_suffix('%')?;
    let (sign, number) = match (number.strip_prefix('-'), number.strip_prefix('+')) {
        (Some(rest), _) => (-1, rest),
        (_, Some(rest)) => (1, rest),
        (None, None) => (0, number),
    };
    let (whole, part) = number.split_once('.').unwrap_or((number, "0"));
    let digits = |text: &str, most| !text.is_empty() && text.len() <= most && text.bytes().all(|b| b.is_ascii_digit());
    if !digits(whole, 7) || !digits(part, 4) {
        return None;
    }
    let millionths = whole.parse::<i64>().ok()? * 10_000 + format!("{part:0<4}").parse::<i64>().ok()?;
    let sound = if sign == 0 { millionths == 0 } else { sign > 0 || millionths <= 1_000_000 };
    sound.then_some(sign * millionths)
}

impl fmt::Display for RowChange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let end = |end: Option<i64>| {
            let Some(millionths) = end else { return String::new() };
            let (sign, size) = (if millionths < 0 { '-' } else { '+' }, millionths.unsigned_abs());
            let part = format!("{:04}", size % 10_000);
            let (point, part) = match part.trim_end_matches('0') {
                "" => ("", ""),
                part => (".", part),
            };
            format!("{sign}{}{point}{part}%", size / 10_000)
        };
        write!(f, "{}..{}", end(self.least), end(self.most))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ends_have_signs_and_one_may_be_left_out() {
        for (text, least, most) in [
            ("-50%..+100%", Some(-500_000), Some(1_000_000)),
            ("-100%..", Some(-1_000_000), None),
            ("..+0.5%", None, Some(5_000)),
            ("+10%..+12.3456%", Some(100_000), Some(123_456)),
            ("-5%..-5%", Some(-50_000), Some(-50_000)),
        ] {
            let change = RowChange::parse(text).unwrap();
            assert_eq!((change.least, change.most), (least, most), "{text}");
            assert_eq!(change.to_string(), text);
        }
        assert_eq!(RowChange::parse("0%..+1%").unwrap().to_string(), "+0%..+1%");
        assert_eq!(RowChange::parse("+1%..-1%"), Err(Fault::NothingPasses));
        for text in [
            "",
            "..",
            "-50%",
            "50%..100%",
            "-50..+100",
            "-101%..",
            "-50%...+1%",
            "- 5%..",
            "-5%..+1e3%",
            "-.5%..",
            "+12345678%..",
        ] {
            assert_eq!(RowChange::parse(text), Err(Fault::Unreadable), "{text}");
        }
    }
}
