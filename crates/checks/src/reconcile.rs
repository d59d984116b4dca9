//! An aggregate of the staged rows against a figure of the source, asked in the snapshot that the rows come from.
//!
//! Both are numbers. Null is a figure of its own: two nulls agree, and a null agrees with nothing else. Equal figures agree
//! whatever the tolerance says, also `NaN` and infinities.

use serde_json::{Value as Json, json};
use thrice_core::{code::ErrorCode, identifier::TableName};

use crate::{
    check_query::CheckQuery,
    figure::Figure,
    rule::Severity,
    value::Share,
    verdict::{CheckResult, Phase},
};

/// A check of phase *source*.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reconciliation {
    /// Its name in results. Unique among all checks of a run.
    pub name: String,
    /// Whether a failure stops the publish.
    pub severity: Severity,
    /// An aggregate expression over the staged rows. What is opened in it is closed in it, and it ends in no comment.
    pub ours: String,
    /// A query of one row and one column.
    pub theirs: CheckQuery,
    /// How far they may be apart.
    pub tolerance: Tolerance,
}

/// How far two figures may be apart; exactly so far passes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Tolerance {
    /// By this decimal number.
    Absolute(Decimal),
    /// By this share of the figure of the source.
    Relative(Share),
}

/// A decimal number that is not negative.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Decimal(String);

impl Decimal {
    /// Digits, and perhaps a point with digits; `None` for anything else.
    pub fn parse(text: &str) -> Option<Self> {
        let digits = |text: &str| !text.is_empty() && text.len() <= 100 && text.bytes().all(|b| b.is_ascii_digit());
        let (whole, part) = text.split_once('.').unwrap_or((text, "0"));
        (digits(whole) && digits(part)).then(|| Self(text.to_owned()))
    }
}

impl Tolerance {
    fn told(&self) -> String {
        match self {
            Self::Absolute(Decimal(number)) => number.clone(),
            Self::Relative(share) => share.to_string(),
        }
    }

    /// That figures so far apart agree. Operators written this way have no precedence among themselves.
    fn allows(&self, apart: &str) -> String {
        let apart = format!("pg_catalog.abs({apart})");
        match self {
            Self::Absolute(Decimal(number)) => {
                format!("{apart} operator(pg_catalog.<=) {number}::pg_catalog.numeric")
            }
            // nothing is divided, so nothing is rounded; of an infinite figure every share would be infinite
            Self::Relative(share) => format!(
                "(pg_catalog.abs(theirs.v) operator(pg_catalog.<) 'Infinity'::pg_catalog.numeric and \
                 ({apart} operator(pg_catalog.*) 1000000::pg_catalog.numeric) operator(pg_catalog.<=) \
                 (pg_catalog.abs(theirs.v) operator(pg_catalog.*) {}::pg_catalog.numeric))",
                share.in_millionths()
            ),
        }
    }
}

/// The figures as the statement of a reconciliation gives them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Figures {
    /// Of the staged rows, as decimal text.
    pub ours: Option<String>,
    /// Of the source, as decimal text.
    pub theirs: Option<String>,
    /// The first less the second.
    pub difference: Option<String>,
    /// Whether they agree.
    pub agree: bool,
}

impl Reconciliation {
    /// The statement. `$1` and `$2` are the first instant of the interval and the first one after it, where
    /// [`Reconciliation::takes_interval`]. Its one row holds the fields of [`Figures`] in their order: three texts and a bool.
    pub fn statement(&self, staged: &TableName) -> String {
        // the count beside it makes `ours` an aggregate, or an error whatever is staged
        let ours =
            format!("select (\n{}\n)::pg_catalog.numeric as v, pg_catalog.count(*) from {staged} as staged", self.ours);
        let theirs = self.theirs.text_with("$1", "$2");
        let apart = "ours.v operator(pg_catalog.-) theirs.v";
        format!(
            "select ours.v::pg_catalog.text as ours, theirs.v::pg_catalog.text as theirs,\n       \
             ({apart})::pg_catalog.text as difference,\n       \
             case when ours.v is null or theirs.v is null then ours.v is null and theirs.v is null\n            \
             else ours.v operator(pg_catalog.=) theirs.v or {}\n        \
             end as agree\n  \
             from ({ours}) as ours,\n       \
             (select (\n{theirs}\n)::pg_catalog.numeric as v) as theirs",
            self.tolerance.allows(apart)
        )
    }

    /// Whether the statement has the two values of the interval.
    pub fn takes_interval(&self) -> bool {
        self.theirs.takes_interval()
    }

    /// What the figures mean.
    pub fn judge(&self, figures: &Figures) -> CheckResult {
        let told = |figure: &Option<String>| figure.clone().unwrap_or_else(|| "null".to_owned());
        let message = format!(
            "{} of the rows is {}, and the source says {}; {} is tolerated",
            self.ours.split_whitespace().collect::<Vec<_>>().join(" "),
            told(&figures.ours),
            told(&figures.theirs),
            self.tolerance.told(),
        );
        CheckResult {
            name: self.name.clone(),
            phase: Phase::Source,
            severity: self.severity,
            passed: figures.agree,
            observed: figures.difference.clone().map(Figure::Decimal),
            expected: self.expected(figures),
            code: ErrorCode::CheckFailed,
            message: if figures.agree { String::new() } else { message },
        }
    }

    fn expected(&self, figures: &Figures) -> Json {
        json!({
            "reconcile": self.ours, "with": self.theirs.shown(), "tolerance": self.tolerance.told(),
            "ours": figures.ours, "theirs": figures.theirs,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check_query::Part;

    fn check(tolerance: Tolerance) -> Reconciliation {
        Reconciliation {
            name: "sums".to_owned(),
            severity: Severity::Error,
            ours: "sum(v)".to_owned(),
            theirs: CheckQuery(vec![Part::Text("select sum(v) from src".to_owned())]),
            tolerance,
        }
    }

    #[test]
    fn a_failure_names_both_figures_and_what_is_tolerated() {
        let check = check(Tolerance::Relative(Share::millionths(1_000).unwrap()));
        let text = |text: &str| Some(text.to_owned());
        let figures = Figures { ours: text("9.5"), theirs: None, difference: None, agree: false };
        let result = check.judge(&figures);
        assert_eq!(result.message, "sum(v) of the rows is 9.5, and the source says null; 0.1% is tolerated");
        assert_eq!((result.phase, result.passed, result.observed), (Phase::Source, false, None));
        let figures = Figures { ours: text("9.5"), theirs: text("9.5"), difference: text("0.0"), agree: true };
        let result = check.judge(&figures);
        assert_eq!((result.message.as_str(), result.observed), ("", Some(Figure::Decimal("0.0".to_owned()))));
    }

    #[test]
    fn only_a_decimal_number_is_spliced_as_one() {
        for text in ["0", "0.01", "100", "00.10"] {
            assert!(Decimal::parse(text).is_some(), "{text}");
        }
        for text in ["", ".", "1.", ".5", "-1", "+1", "1e3", "1%", "1 or true", "١"] {
            assert!(Decimal::parse(text).is_none(), "{text}");
        }
    }
}
