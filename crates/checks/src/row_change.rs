//! How many rows a partition has against the partitions before it.

use std::fmt;

use serde_json::{Value, json};

/// A change against the median of other partitions, in millionths of it: −500,000 is half as many, 1,000,000 twice as many.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Change(i64);

/// So many millionths are all.
const WHOLE: i64 = 1_000_000;

impl Change {
    /// `None` where it is less than none of the rows.
    pub const fn millionths(millionths: i64) -> Option<Self> {
        if millionths >= -WHOLE { Some(Self(millionths)) } else { None }
    }
}

impl fmt::Display for Change {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sign = if self.0 < 0 { "-" } else { "+" };
        let (percent, part) = (self.0.unsigned_abs() / 10_000, self.0.unsigned_abs() % 10_000);
        let part = format!("{part:04}");
        match part.trim_end_matches('0') {
            "" => write!(f, "{sign}{percent}%"),
            part => write!(f, "{sign}{percent}.{part}%"),
        }
    }
}

/// Which changes pass, both ends included.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RowChange {
    /// At least this.
    pub least: Option<Change>,
    /// At most this.
    pub most: Option<Change>,
}

impl fmt::Display for RowChange {
    /// As in `-50%..+100%`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let end = |end: Option<Change>| end.map_or_else(String::new, |change| change.to_string());
        write!(f, "{}..{}", end(self.least), end(self.most))
    }
}

/// So few partitions have no usual number of rows.
const FEWEST: usize = 3;

/// What is usual: the numbers of rows of the partitions published before.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Usual {
    rows: Vec<i64>,
}

impl Usual {
    pub(crate) fn of(mut rows: Vec<i64>) -> Self {
        rows.sort_unstable();
        Self { rows }
    }

    /// Twice the median, which may end in a half; `None` where too few are known, or where it is nothing that a change could
    /// be a share of.
    fn median_twice(&self) -> Option<i128> {
        let (count, middle) = (self.rows.len(), self.rows.len() / 2);
        if count < FEWEST {
            return None;
        }
        let upper = i128::from(*self.rows.get(middle)?);
        let lower = if count % 2 == 0 { i128::from(*self.rows.get(middle - 1)?) } else { upper };
        Some(lower + upper).filter(|twice| *twice > 0)
    }

    /// The median as text for people.
    fn median(&self) -> Option<String> {
        let twice = self.median_twice()?;
        Some(if twice % 2 == 0 { (twice / 2).to_string() } else { format!("{}.5", twice / 2) })
    }
}

impl RowChange {
    /// Whether so many rows pass. Where nothing is usual they do.
    pub(crate) fn holds(self, rows: i64, usual: &Usual) -> bool {
        let Some(twice) = usual.median_twice() else { return true };
        let (rows, whole) = (i128::from(rows) * 2 * i128::from(WHOLE), i128::from(WHOLE));
        let bound = |change: Change| twice * (whole + i128::from(change.0));
        self.least.is_none_or(|least| rows >= bound(least)) && self.most.is_none_or(|most| rows <= bound(most))
    }

    /// The change in words, where something is usual.
    pub(crate) fn told(self, rows: i64, usual: &Usual) -> Option<String> {
        let (twice, median) = (usual.median_twice()?, usual.median()?);
        let change = (i128::from(rows) * 2 - twice) * i128::from(WHOLE) / twice;
        let change = Change(i64::try_from(change).unwrap_or(i64::MAX));
        let of = usual.rows.len();
        Some(format!("{change} against {median}, the median of the {of} published before; {self} expected"))
    }

    /// What was asked for, and against what.
    pub(crate) fn expected(self, usual: &Usual) -> Value {
        json!({ "range": self.to_string(), "median": usual.median(), "of_partitions": usual.rows.len() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn percent(percent: i64) -> Option<Change> {
        Change::millionths(percent * 10_000)
    }

    #[test]
    fn both_ends_pass_and_the_median_may_end_in_a_half() {
        let change = RowChange { least: percent(-50), most: percent(100) };
        let passing = |usual: &[i64]| -> Vec<i64> {
            let usual = Usual::of(usual.to_vec());
            (0..50).filter(|rows| change.holds(*rows, &usual)).collect()
        };
        assert_eq!(passing(&[10, 1000, 1]), (5..=20).collect::<Vec<_>>());
        // the median of 9 and 10 is 9.5: from 4.75 to 19
        assert_eq!(passing(&[1, 9, 10, 1000]), (5..=19).collect::<Vec<_>>());
        assert_eq!(change.to_string(), "-50%..+100%");
        assert_eq!(RowChange { least: None, most: percent(0) }.to_string(), "..+0%");
    }

    #[test]
    fn where_nothing_is_usual_any_number_passes() {
        let change = RowChange { least: percent(-1), most: percent(1) };
        for usual in [vec![], vec![7, 7], vec![0, 0, 0], vec![0, 0, 0, 9]] {
            let usual = Usual::of(usual);
            assert!(change.holds(1_000_000, &usual) && change.holds(0, &usual), "{usual:?}");
            assert_eq!(change.told(5, &usual), None);
            assert_eq!(change.expected(&usual)["median"], Value::Null);
        }
    }

    #[test]
    fn what_changed_is_told() {
        let change = RowChange { least: percent(-50), most: None };
        let usual = Usual::of(vec![90, 100, 110, 101]);
        let told = change.told(25, &usual).unwrap();
        assert_eq!(told, "-75.1243% against 100.5, the median of the 4 published before; -50%.. expected");
        assert!(!change.holds(25, &usual) && change.holds(1_000_000, &usual) && change.holds(i64::MAX, &usual));
        assert_eq!(percent(-101), None);
    }
}
