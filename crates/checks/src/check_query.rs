//! A query of the user's own that finds what is wrong with the staged rows.

use crate::literal::literal;

/// One SELECT in pieces: its text, and between it the values that stand in the places of placeholders. It reads the rows
/// that are checked as `staged`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CheckQuery(pub Vec<Part>);

/// A piece of the query.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Part {
    /// Text of the user's. Strings, names, comments and brackets that begin in the query also end in it.
    Text(String),
    /// First instant of the interval.
    IntervalStart,
    /// First instant after it.
    IntervalEnd,
    /// Local date of its start.
    IntervalDate,
    /// A value that is the same for every interval.
    Constant {
        /// As text.
        text: String,
        /// Its type.
        of: ConstantType,
    },
}

/// Types of constants.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ConstantType {
    /// `text`
    Text,
    /// `int8`
    Integer,
    /// `float8`
    Float,
    /// `bool`
    Boolean,
    /// `date`
    Date,
    /// `timestamp`
    LocalTime,
    /// `timestamptz`
    Instant,
}

impl ConstantType {
    const fn as_str(self) -> &'static str {
        match self {
            Self::Text => "text",
            Self::Integer => "int8",
            Self::Float => "float8",
            Self::Boolean => "bool",
            Self::Date => "date",
            Self::LocalTime => "timestamp",
            Self::Instant => "timestamptz",
        }
    }
}

impl CheckQuery {
    /// Whether it needs the interval.
    pub(crate) fn takes_interval(&self) -> bool {
        self.0.iter().any(|part| matches!(part, Part::IntervalStart | Part::IntervalEnd | Part::IntervalDate))
    }

    /// The text with these values for the interval. A value stands in parentheses, so that it grows into no neighbour.
    pub(crate) fn text_with(&self, start: &str, end: &str) -> String {
        let part = |part: &Part| match part {
            Part::Text(text) => text.clone(),
            Part::IntervalStart => format!(" ({start}::pg_catalog.timestamptz)"),
            Part::IntervalEnd => format!(" ({end}::pg_catalog.timestamptz)"),
            // in the zone of the session, which is the pipeline's
            Part::IntervalDate => format!(" (({start}::pg_catalog.timestamptz)::pg_catalog.date)"),
            Part::Constant { text, of } => format!(" ({}::pg_catalog.{})", literal(text), of.as_str()),
        };
        self.0.iter().map(part).collect()
    }

    /// As it stands in the file, for people; values are named by their kind.
    pub(crate) fn shown(&self) -> String {
        let part = |part: &Part| match part {
            Part::Text(text) => text.clone(),
            Part::IntervalStart => ":interval_start".to_owned(),
            Part::IntervalEnd => ":interval_end".to_owned(),
            Part::IntervalDate => ":interval_date".to_owned(),
            Part::Constant { text, .. } => literal(text),
        };
        self.0.iter().map(part).collect()
    }
}
