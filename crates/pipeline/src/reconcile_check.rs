//! `[[checks]] reconcile`: an aggregate of the result against a query of the source.

use thrice_core::code::ErrorCode;

use crate::check_expression;
use crate::check_query::{self, CheckQuery, Known, Wording};
use crate::check_values::Percent;
use crate::checks_table::CheckRule;
use crate::toml_reader::{Field, Reader};

/// How far the two figures may be apart.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Tolerance {
    /// By this decimal number: digits, and perhaps a point with digits.
    Absolute(String),
    /// By this share of the figure of the source.
    Relative(Percent),
}

impl Tolerance {
    /// As the file has it.
    pub(crate) fn told(&self) -> String {
        match self {
            Self::Absolute(number) => number.clone(),
            Self::Relative(share) => share.to_string(),
        }
    }

    fn parse(text: &str) -> Option<Self> {
        if text.ends_with('%') {
            return Percent::parse(text).map(Self::Relative);
        }
        let digits = |text: &str| !text.is_empty() && text.len() <= 100 && text.bytes().all(|b| b.is_ascii_digit());
        let (whole, part) = text.split_once('.').unwrap_or((text, "0"));
        (digits(whole) && digits(part)).then(|| Self::Absolute(text.to_owned()))
    }
}

const EXAMPLE: &str = "reconcile = { ours = \"sum(amount)\", theirs = \"select sum(amount) from ods.orders where order_time >= :interval_start and order_time < :interval_end\" }";

const THEIRS: Wording = Wording {
    empty: "the figure of the source is what the rows are compared with",
    reads: "a check only looks: it asks the source for one number",
    example: "theirs = \"select sum(amount) from ods.orders where order_time >= :interval_start and order_time < :interval_end\"",
};

pub(crate) fn read(reader: &mut Reader<'_, '_>, known: Known<'_>) -> Option<CheckRule> {
    let field = reader.take("reconcile")?;
    let mut table = reader.inside(&field)?;
    for key in ["ours", "theirs"] {
        if !table.has(key) {
            table.missing(key, EXAMPLE);
        }
    }
    let ours =
        table.string("ours").and_then(|(text, field)| check_expression::read_aggregate(&mut table, text, &field));
    let theirs: Option<CheckQuery> =
        table.string("theirs").and_then(|(text, field)| check_query::read(&mut table, text, &field, known, &THEIRS));
    let tolerance = match table.string("tolerance") {
        Some((text, field)) => tolerance(&mut table, text, &field),
        None if table.has("tolerance") => None,
        None => Some(Tolerance::Absolute("0".to_owned())),
    };
    table.finish();
    Some(CheckRule::Reconcile { ours: ours?, theirs: theirs?, tolerance: tolerance? })
}

fn tolerance(table: &mut Reader<'_, '_>, text: &str, field: &Field<'_>) -> Option<Tolerance> {
    let tolerance = Tolerance::parse(text);
    if tolerance.is_none() {
        let message =
            format!("`{}` is {text:?}, and must be a number of at least 0, or a percentage up to \"100%\"", field.path);
        let code = if text.contains('%') { ErrorCode::BadPercent } else { ErrorCode::BadValue };
        let diagnostic = table
            .error(code, message)
            .at(field.span.clone())
            .why("a number is a difference of the two figures, a percentage a share of that of the source")
            .fix("tolerance = \"0.01\", or tolerance = \"0.1%\"");
        table.report(diagnostic);
    }
    tolerance
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tolerance_is_a_number_or_a_share() {
        for text in ["0", "0.01", "100", "0.1%", "100%"] {
            assert_eq!(Tolerance::parse(text).unwrap().told(), text);
        }
        for text in ["", "-1", "1e3", "101%", "%", ".5", "1.", "one", "5 %"] {
            assert_eq!(Tolerance::parse(text), None, "{text}");
        }
    }
}
