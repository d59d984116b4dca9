//! An interval as bounds of the target's interval column: always `>= start and < end`, never a cast of the column.

use crate::grain::Grain;
use crate::schedule::{Partition, Schedule};
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
    /// No column decides: every row of the table is inside.
    WholeTable,
}

impl ColumnBounds {
    /// The bounds of a partition for a column of the given type; a whole table has no such column, and everything else has one.
    ///
    /// # Errors
    /// [`BoundsError`] where the type cannot hold the grain's boundaries: dates where they are not local midnights, wall
    /// clock times where they are not and the zone repeats hours at or after the interval. Also where there is a column and
    /// should be none, or none and should be one.
    pub fn of(
        partition: &Partition,
        zone: &Zone,
        grain: &Grain,
        column: Option<IntervalColumnType>,
    ) -> Result<Self, BoundsError> {
        let column = match (column, grain) {
            (None, Grain::Table) => return Ok(Self::WholeTable),
            (Some(_), Grain::Table) => return Err(BoundsError::WholeTableHasNone),
            (Some(column), _) => column,
            (None, _) => return Err(BoundsError::NoColumn { grain: grain.clone() }),
        };
        let (start, end) = (partition.interval.start(), partition.interval.end());
        let midnight = |date: civil::Date| date.to_datetime(civil::Time::midnight());
        match (column, dates(partition, zone, grain)?) {
            (IntervalColumnType::Timestamptz, _) => Ok(Self::Instants { start, end }),
            (IntervalColumnType::Date, Some((start, end))) => Ok(Self::Dates { start, end }),
            (IntervalColumnType::Timestamp, Some((start, end))) => {
                Ok(Self::LocalTimes { start: midnight(start), end: midnight(end) })
            }
            (IntervalColumnType::Date, None) if matches!(grain, Grain::Cron(_)) => {
                Err(BoundsError::NotMidnight { grain: grain.clone(), at: zone.rfc3339(start) })
            }
            (IntervalColumnType::Date, None) => Err(BoundsError::DateUnderDay { grain: grain.clone() }),
            // hours that came twice before this interval cannot be mistaken for its own
            (IntervalColumnType::Timestamp, None) if zone.repeats_hours_from(start) => {
                Err(BoundsError::RepeatedHours { grain: grain.clone(), zone: zone.name().to_owned() })
            }
            (IntervalColumnType::Timestamp, None) => {
                Ok(Self::LocalTimes { start: zone.local(start), end: zone.local(end) })
            }
        }
    }

    /// The column type that these bounds are for; `None` for a whole table.
    pub const fn column_type(&self) -> Option<IntervalColumnType> {
        match self {
            Self::Dates { .. } => Some(IntervalColumnType::Date),
            Self::LocalTimes { .. } => Some(IntervalColumnType::Timestamp),
            Self::Instants { .. } => Some(IntervalColumnType::Timestamptz),
            Self::WholeTable => None,
        }
    }
}

/// The local dates that a partition covers, first and first after; `None` where it does not begin and end with one.
fn dates(partition: &Partition, zone: &Zone, grain: &Grain) -> Result<Option<(civil::Date, civil::Date)>, BoundsError> {
    let first = partition.target_date;
    match grain {
        Grain::Day | Grain::Week(_) | Grain::Month | Grain::Quarter | Grain::Year => {
            Schedule::date_after(grain, first).map(|after| Some((first, after))).ok_or(BoundsError::OutOfRange)
        }
        Grain::Cron(_) => {
            let date_from = |at: Timestamp| {
                let date = zone.date(at);
                let begins = zone.first_instant_at_or_after(date.to_datetime(civil::Time::midnight()));
                (begins == Some(at)).then_some(date)
            };
            Ok(date_from(partition.interval.start()).zip(date_from(partition.interval.end())))
        }
        Grain::Clock(_) | Grain::Hour | Grain::Table => Ok(None),
    }
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
    /// A cron expression that ticks at other times than midnight.
    #[error(
        "an interval column of type date cannot hold intervals of grain {grain}: {at} is no midnight; use timestamptz"
    )]
    NotMidnight {
        /// The grain.
        grain: Grain,
        /// The start of the interval, with its offset.
        at: String,
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
    /// Without a column no row has a place in time.
    #[error("intervals of grain {grain} need an interval column, and there is none")]
    NoColumn {
        /// The grain.
        grain: Grain,
    },
    /// One partition is all of the table.
    #[error("grain table has no intervals, and an interval column is named")]
    WholeTableHasNone,
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
        ColumnBounds::of(&partition, schedule.zone(), schedule.grain(), Some(column))
    }

    #[test]
    fn a_whole_table_has_no_column_and_everything_else_has_one() {
        let of = |grain: Grain, key, column| {
            let schedule = Schedule::new(grain, Zone::utc());
            let partition = schedule.partition_for_key(key).unwrap();
            ColumnBounds::of(&partition, schedule.zone(), schedule.grain(), column)
        };
        let date = Some(IntervalColumnType::Date);
        assert_eq!(of(Grain::Table, "table", None), Ok(ColumnBounds::WholeTable));
        assert_eq!(of(Grain::Table, "table", date), Err(BoundsError::WholeTableHasNone));
        assert_eq!(of(Grain::Day, "2026-03-24", None), Err(BoundsError::NoColumn { grain: Grain::Day }));
        assert_eq!(ColumnBounds::WholeTable.column_type(), None);
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

    #[test]
    fn longer_grains_have_their_first_dates() {
        let dates =
            |grain: &str, key| bounds(Grain::parse(grain).unwrap(), "Asia/Seoul", key, IntervalColumnType::Date);
        let expected = |start, end| Ok(ColumnBounds::Dates { start, end });
        assert_eq!(dates("week", "2026-W13"), expected(civil::date(2026, 3, 23), civil::date(2026, 3, 30)));
        assert_eq!(dates("month", "2026-02"), expected(civil::date(2026, 2, 1), civil::date(2026, 3, 1)));
        assert_eq!(dates("quarter", "2026-Q4"), expected(civil::date(2026, 10, 1), civil::date(2027, 1, 1)));
        assert_eq!(dates("year", "2026"), expected(civil::date(2026, 1, 1), civil::date(2027, 1, 1)));
        assert!(matches!(dates("6 hours", "2026-03-24T06"), Err(BoundsError::DateUnderDay { .. })));
    }

    #[test]
    fn a_cron_expression_has_dates_where_it_ticks_at_midnight() {
        let cron = |text| Grain::Cron(crate::cron_pattern::CronPattern::parse(text).unwrap());
        assert_eq!(
            bounds(cron("0 0 * * 1"), "America/Sao_Paulo", "2018-10-29T00:00", IntervalColumnType::Date),
            Ok(ColumnBounds::Dates { start: civil::date(2018, 10, 29), end: civil::date(2018, 11, 5) })
        );
        // midnight was skipped: the day, and so the interval, begins at 01:00
        assert_eq!(
            bounds(cron("0 0 * * *"), "America/Sao_Paulo", "2018-11-04T01:00", IntervalColumnType::Date),
            Ok(ColumnBounds::Dates { start: civil::date(2018, 11, 4), end: civil::date(2018, 11, 5) })
        );
        assert!(matches!(
            bounds(cron("0 3 * * *"), "Asia/Seoul", "2026-03-24T03:00", IntervalColumnType::Date),
            Err(BoundsError::NotMidnight { .. })
        ));
        assert!(matches!(
            bounds(cron("0 3 * * *"), "America/New_York", "2026-03-24T03:00", IntervalColumnType::Timestamp),
            Err(BoundsError::RepeatedHours { .. })
        ));
    }
}
