//! An interval as bounds of the target's interval column: always `>= start and < end`, never a cast of the column.

use crate::grain::Grain;
use crate::schedule::Partition;
use crate::time::{Timestamp, Zone, civil};

/// Type of the interval column.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum IntervalColumnType {
    /// `date`: the local dates of the interval.
    Date,
    /// `timestamp without time zone`: wall clock times in the pipeline's zone.
    Timestamp,
    /// `timestamp with time zone`: the instants.
    Timestamptz,
}

impl IntervalColumnType {
    /// The type's name in SQL.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Date => "date",
            Self::Timestamp => "timestamp without time zone",
            Self::Timestamptz => "timestamp with time zone",
        }
    }
}

/// Half-open bounds of an interval in the interval column's own type.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ColumnBounds {
    /// For `date`.
    Dates {
        /// First date inside.
        start: civil::Date,
        /// First date after.
        end: civil::Date,
    },
    /// For `timestamp`.
    LocalTimes {
        /// First wall clock time inside.
        start: civil::DateTime,
        /// First wall clock time after.
        end: civil::DateTime,
    },
    /// For `timestamptz`.
    Instants {
        /// First instant inside.
        start: Timestamp,
        /// First instant after.
        end: Timestamp,
    },
}

impl ColumnBounds {
    /// The bounds of a partition for a column of the given type.
    ///
    /// # Errors
    /// [`BoundsError`] where the type cannot hold the grain's boundaries.
    pub fn of(
        partition: &Partition,
        zone: &Zone,
        grain: Grain,
        column: IntervalColumnType,
    ) -> Result<Self, BoundsError> {
        let (start, end) = (partition.interval.start(), partition.interval.end());
        match column {
            IntervalColumnType::Timestamptz => Ok(Self::Instants { start, end }),
            IntervalColumnType::Date if !grain.is_whole_dates() => Err(BoundsError::DateUnderDay { grain }),
            IntervalColumnType::Date => {
                let date = partition.target_date;
                Ok(Self::Dates { start: date, end: next_date(date)? })
            }
            IntervalColumnType::Timestamp if grain.is_whole_dates() => {
                let date = partition.target_date;
                let midnight = |date: civil::Date| date.to_datetime(civil::Time::midnight());
                Ok(Self::LocalTimes { start: midnight(date), end: midnight(next_date(date)?) })
            }
            // hours that came twice before this interval cannot be mistaken for its own
            IntervalColumnType::Timestamp if zone.repeats_hours_from(start) => {
                Err(BoundsError::RepeatedHours { grain, zone: zone.name().to_owned() })
            }
            IntervalColumnType::Timestamp => Ok(Self::LocalTimes { start: zone.local(start), end: zone.local(end) }),
        }
    }

    /// The column type that these bounds are for.
    pub const fn column_type(&self) -> IntervalColumnType {
        match self {
            Self::Dates { .. } => IntervalColumnType::Date,
            Self::LocalTimes { .. } => IntervalColumnType::Timestamp,
            Self::Instants { .. } => IntervalColumnType::Timestamptz,
        }
    }
}

fn next_date(date: civil::Date) -> Result<civil::Date, BoundsError> {
    date.tomorrow().map_err(|_| BoundsError::OutOfRange)
}

/// A grain whose boundaries the column cannot hold.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BoundsError {
    /// Dates cannot tell hours apart.
    #[error("an interval column of type date cannot hold intervals of grain {grain}; use timestamptz")]
    DateUnderDay {
        /// The grain.
        grain: Grain,
    },
    /// Wall clock times cannot tell the two passes of a repeated hour apart.
    #[error(
        "an interval column of type timestamp cannot hold intervals of grain {grain}: hours come twice in {zone}; use timestamptz"
    )]
    RepeatedHours {
        /// The grain.
        grain: Grain,
        /// The zone.
        zone: String,
    },
    /// Past the last date that can be written.
    #[error("the interval ends after the last date that can be written")]
    OutOfRange,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schedule::Schedule;

    fn bounds(grain: Grain, zone: &str, key: &str, column: IntervalColumnType) -> Result<ColumnBounds, BoundsError> {
        let schedule = Schedule::new(grain, Zone::named(zone).unwrap());
        let partition = schedule.partition_for_key(key).unwrap();
        ColumnBounds::of(&partition, schedule.zone(), grain, column)
    }

    #[test]
    fn a_day_is_its_instants_its_midnights_or_its_date() {
        let zone = "America/New_York";
        assert_eq!(
            bounds(Grain::Day, zone, "2026-11-01", IntervalColumnType::Timestamptz),
            Ok(ColumnBounds::Instants {
                start: "2026-11-01T04:00:00Z".parse().unwrap(),
                end: "2026-11-02T05:00:00Z".parse().unwrap(),
            })
        );
        assert_eq!(
            bounds(Grain::Day, zone, "2026-11-01", IntervalColumnType::Timestamp),
            Ok(ColumnBounds::LocalTimes {
                start: civil::datetime(2026, 11, 1, 0, 0, 0, 0),
                end: civil::datetime(2026, 11, 2, 0, 0, 0, 0),
            })
        );
        assert_eq!(
            bounds(Grain::Day, zone, "2026-11-01", IntervalColumnType::Date),
            Ok(ColumnBounds::Dates { start: civil::date(2026, 11, 1), end: civil::date(2026, 11, 2) })
        );
    }

    #[test]
    fn a_day_without_midnight_or_beside_a_skipped_date_keeps_its_calendar_bounds() {
        // no clock ever showed the skipped hour or the skipped date, so the calendar's bounds lose no row
        assert_eq!(
            bounds(Grain::Day, "America/Sao_Paulo", "2018-11-04", IntervalColumnType::Timestamp),
            Ok(ColumnBounds::LocalTimes {
                start: civil::datetime(2018, 11, 4, 0, 0, 0, 0),
                end: civil::datetime(2018, 11, 5, 0, 0, 0, 0),
            })
        );
        assert_eq!(
            bounds(Grain::Day, "Pacific/Apia", "2011-12-29", IntervalColumnType::Date),
            Ok(ColumnBounds::Dates { start: civil::date(2011, 12, 29), end: civil::date(2011, 12, 30) })
        );
    }

    #[test]
    fn an_hour_needs_a_column_that_tells_hours_apart() {
        let hour = |zone, column| bounds(Grain::Hour, zone, "2026-03-24T05", column);
        assert!(matches!(hour("Asia/Seoul", IntervalColumnType::Date), Err(BoundsError::DateUnderDay { .. })));
        assert!(matches!(
            hour("America/New_York", IntervalColumnType::Timestamp),
            Err(BoundsError::RepeatedHours { .. })
        ));
        assert_eq!(
            hour("Asia/Seoul", IntervalColumnType::Timestamp),
            Ok(ColumnBounds::LocalTimes {
                start: civil::datetime(2026, 3, 24, 5, 0, 0, 0),
                end: civil::datetime(2026, 3, 24, 6, 0, 0, 0),
            })
        );
        // the same zone while it still had summer time
        assert!(matches!(
            bounds(Grain::Hour, "Asia/Seoul", "1987-03-24T05", IntervalColumnType::Timestamp),
            Err(BoundsError::RepeatedHours { .. })
        ));
    }
}
