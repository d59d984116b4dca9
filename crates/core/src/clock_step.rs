//! A length of time that divides the day evenly: `15 minutes`, `6 hours`.

use std::fmt;

const MINUTES_OF_DAY: u16 = 24 * 60;

/// N minutes or N hours of the wall clock, such that a day holds a whole number of them. Neither one hour nor one day,
/// which are grains by their own names.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct ClockStep {
    minutes: u16,
}

impl ClockStep {
    /// The step of so many minutes; `None` where they do not divide a day, and for an hour and a day.
    pub const fn from_minutes(minutes: u16) -> Option<Self> {
        if minutes == 0 || minutes == 60 || minutes >= MINUTES_OF_DAY || !MINUTES_OF_DAY.is_multiple_of(minutes) {
            return None;
        }
        Some(Self { minutes })
    }

    /// Length in minutes of the wall clock.
    pub const fn minutes(self) -> u16 {
        self.minutes
    }

    /// True where all boundaries show a full hour, so that keys need no minutes.
    pub const fn is_whole_hours(self) -> bool {
        self.minutes.is_multiple_of(60)
    }

    /// The nearest steps to a number of minutes that is none, smaller first; for the text of a refusal.
    pub(crate) fn around(minutes: u32) -> Vec<u16> {
        let even = |step: &u16| MINUTES_OF_DAY.is_multiple_of(*step);
        let limit = u16::try_from(minutes).unwrap_or(u16::MAX).min(MINUTES_OF_DAY);
        let below = (1..limit).rev().find(even);
        let above = (limit..=MINUTES_OF_DAY).find(|step| even(step) && u32::from(*step) > minutes);
        below.into_iter().chain(above).collect()
    }
}

impl fmt::Display for ClockStep {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_whole_hours() {
            write!(f, "{} hours", self.minutes / 60)
        } else {
            write!(f, "{} minutes", self.minutes)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_divides_the_day() {
        let steps: Vec<u16> = (0..=2000).filter(|minutes| ClockStep::from_minutes(*minutes).is_some()).collect();
        assert_eq!(steps.len(), 34, "{steps:?}");
        assert!(steps.iter().all(|minutes| 1440 % minutes == 0 && ![60, 1440].contains(minutes)));
        assert_eq!(ClockStep::from_minutes(90).unwrap().to_string(), "90 minutes");
        assert_eq!(ClockStep::from_minutes(360).unwrap().to_string(), "6 hours");
    }

    #[test]
    fn the_neighbours_of_an_uneven_step_are_known() {
        assert_eq!(ClockStep::around(7), [6, 8]);
        assert_eq!(ClockStep::around(50), [48, 60]);
        assert_eq!(ClockStep::around(1000), [720, 1440]);
        assert_eq!(ClockStep::around(0), [1]);
        assert_eq!(ClockStep::around(100_000), [720]);
    }
}
