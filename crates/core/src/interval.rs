//! The data interval: half-open, in absolute time.

use crate::time::Timestamp;

/// A half-open span `[start, end)` of absolute time; never empty.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Interval {
    start: Timestamp,
    end: Timestamp,
}

impl Interval {
    /// The span from `start`, included, to `end`, not included.
    ///
    /// # Errors
    /// [`EmptyInterval`] where `start` is not before `end`.
    pub fn new(start: Timestamp, end: Timestamp) -> Result<Self, EmptyInterval> {
        if start < end { Ok(Self { start, end }) } else { Err(EmptyInterval { start, end }) }
    }

    /// The first instant inside.
    pub const fn start(&self) -> Timestamp {
        self.start
    }

    /// The first instant after.
    pub const fn end(&self) -> Timestamp {
        self.end
    }

    /// True from `start` up to, and without, `end`.
    pub fn contains(&self, at: Timestamp) -> bool {
        self.start <= at && at < self.end
    }

    /// Length in whole seconds.
    pub fn seconds(&self) -> i64 {
        self.end.as_second() - self.start.as_second()
    }
}

/// An interval that would hold no instant.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the interval from {start} to {end} holds no time")]
pub struct EmptyInterval {
    /// The start that was given.
    pub start: Timestamp,
    /// The end that was given.
    pub end: Timestamp,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_end_is_outside() {
        let (start, end) = ("2026-03-24T00:00:00Z".parse().unwrap(), "2026-03-25T00:00:00Z".parse().unwrap());
        let day = Interval::new(start, end).unwrap();
        assert!(day.contains(start) && !day.contains(end));
        assert_eq!(day.seconds(), 86_400);
        assert_eq!(Interval::new(end, start), Err(EmptyInterval { start: end, end: start }));
        assert!(Interval::new(start, start).is_err());
    }
}
