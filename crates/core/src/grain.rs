//! How long a pipeline's data intervals are.

use std::fmt;

/// The length of a data interval, aligned to the local wall clock of the pipeline's zone.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Grain {
    /// From one change of the local hour to the next; a local hour that comes twice is two intervals.
    Hour,
    /// One local date: 23, 24 or 25 hours, or what the zone makes of it.
    Day,
}

/// Grains that the format knows and this version does not build.
const LATER: [&str; 6] = ["week", "month", "quarter", "year", "table", "cron"];

impl Grain {
    /// Reads `hour` or `day`.
    ///
    /// # Errors
    /// [`GrainError::NotBuilt`] for the grains that later versions bring (`week`, `month`, `quarter`, `year`, `table`,
    /// `cron`, `N minutes`, `N hours`), [`GrainError::Unknown`] for everything else.
    pub fn parse(text: &str) -> Result<Self, GrainError> {
        match text {
            "hour" => return Ok(Self::Hour),
            "day" => return Ok(Self::Day),
            _ => {}
        }
        let counted = text.split_once(' ').is_some_and(|(count, unit)| {
            matches!(count.parse::<u16>(), Ok(1..)) && matches!(unit, "minutes" | "hours")
        });
        if counted || LATER.contains(&text) {
            return Err(GrainError::NotBuilt(text.to_owned()));
        }
        Err(GrainError::Unknown(text.to_owned()))
    }

    /// The word of the pipeline file.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Hour => "hour",
            Self::Day => "day",
        }
    }

    /// True where an interval covers whole local dates, so that `:interval_date` and date columns make sense.
    pub const fn is_whole_dates(self) -> bool {
        matches!(self, Self::Day)
    }

    /// What a key of this grain looks like.
    pub const fn key_form(self) -> &'static str {
        match self {
            Self::Hour => "2026-03-24T05",
            Self::Day => "2026-03-24",
        }
    }
}

impl fmt::Display for Grain {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A grain that cannot be had.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum GrainError {
    /// The format knows it, this version does not build it.
    #[error("grain {0:?} is known, but not built in this version")]
    NotBuilt(String),
    /// No grain at all.
    #[error("{0:?} is not a grain")]
    Unknown(String),
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn grains_are_read_or_named() {
        assert_eq!(Grain::parse("day"), Ok(Grain::Day));
        assert_eq!(Grain::parse("hour"), Ok(Grain::Hour));
        for later in ["week", "month", "quarter", "year", "table", "cron", "5 minutes", "6 hours"] {
            assert_eq!(Grain::parse(later), Err(GrainError::NotBuilt(later.to_owned())));
        }
        for unknown in ["daily", "1 day", "36h", "", "Day", "0 minutes", "minutes"] {
            assert_eq!(Grain::parse(unknown), Err(GrainError::Unknown(unknown.to_owned())), "{unknown}");
        }
    }
}
