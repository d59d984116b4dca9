//! Medians and ratios.

/// Least, median and greatest of some figures; zeros where there are none.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Spread {
    pub(crate) least: f64,
    pub(crate) median: f64,
    pub(crate) greatest: f64,
}

impl Spread {
    pub(crate) fn of(figures: &[f64]) -> Self {
        let mut sorted = figures.to_vec();
        sorted.sort_by(f64::total_cmp);
        let at = |index: usize| sorted.get(index).copied().unwrap_or_default();
        let (low, high) = (sorted.len().saturating_sub(1) / 2, sorted.len() / 2);
        Self { least: at(0), median: f64::midpoint(at(low), at(high)), greatest: at(sorted.len().saturating_sub(1)) }
    }

    /// `1.2 / 1.3 / 1.9`
    pub(crate) fn text(self, digits: usize) -> String {
        format!("{:.digits$} / {:.digits$} / {:.digits$}", self.least, self.median, self.greatest)
    }
}

/// Each figure over the base's figure of the same repetition.
pub(crate) fn ratios(figures: &[f64], base: &[f64]) -> Vec<f64> {
    figures.iter().zip(base).map(|(figure, base)| figure / base).collect()
}

#[cfg(test)]
mod unit {
    use super::*;

    #[test]
    fn the_median_of_an_even_number_lies_between() {
        assert_eq!(Spread::of(&[4.0, 1.0, 2.0, 3.0]), Spread { least: 1.0, median: 2.5, greatest: 4.0 });
        assert_eq!(Spread::of(&[7.0]).text(1), "7.0 / 7.0 / 7.0");
        assert_eq!(ratios(&[2.0, 9.0], &[1.0, 3.0]), [2.0, 3.0]);
    }
}
