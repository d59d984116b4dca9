//! Small helpers for text that people read: suggestions, and control characters made harmless.

/// The candidate nearest to `word`, if it is near enough to have been meant: at most a third of its letters differ.
///
/// A swap of two neighbouring letters counts as one difference.
pub fn did_you_mean<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let wanted: Vec<char> = word.to_lowercase().chars().collect();
    if wanted.is_empty() {
        return None;
    }
    let limit = (wanted.len() / 3).max(1);
    candidates
        .into_iter()
        .filter_map(|candidate| {
            let letters: Vec<char> = candidate.to_lowercase().chars().collect();
            let far = letters.len().abs_diff(wanted.len()) > limit;
            let distance = if far { usize::MAX } else { edit_distance(&wanted, &letters) };
            (distance <= limit).then_some((distance, candidate))
        })
        .min()
        .map(|(_, candidate)| candidate)
}

/// Optimal string alignment distance: insert, delete, replace, swap of neighbours.
fn edit_distance(a: &[char], b: &[char]) -> usize {
    let mut before: Vec<usize> = Vec::new();
    let mut previous: Vec<usize> = (0..=b.len()).collect();
    for (i, left) in a.iter().enumerate() {
        let mut row = vec![i + 1];
        for (j, right) in b.iter().enumerate() {
            let replaced = previous[j] + usize::from(left != right);
            let mut best = replaced.min(previous[j + 1] + 1).min(row[j] + 1);
            if i > 0 && j > 0 && *left == b[j - 1] && a[i - 1] == *right {
                best = best.min(before[j - 1] + 1);
            }
            row.push(best);
        }
        before = std::mem::replace(&mut previous, row);
    }
    previous.last().copied().unwrap_or_default()
}

/// Text with control characters, direction overrides and Unicode's line separators written as escapes, so that a name or a message cannot
/// steer a terminal. Line feeds and tabs stay.
pub fn printable(text: &str) -> String {
    text.chars()
        .flat_map(|c| {
            let steers = (c.is_control() && c != '\n' && c != '\t')
                || matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
            if steers { c.escape_unicode().collect::<Vec<_>>() } else { vec![c] }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn near_words_are_suggested_and_far_ones_are_not() {
        assert_eq!(did_you_mean("rnu", ["run", "show", "lint"]), Some("run"));
        assert_eq!(did_you_mean("strategey", ["strategy", "stage"]), Some("strategy"));
        assert_eq!(did_you_mean("daily_order_sumary", ["daily_order_summary"]), Some("daily_order_summary"));
        assert_eq!(did_you_mean("zebra", ["run", "show"]), None);
        assert_eq!(did_you_mean("", ["run"]), None);
    }

    #[test]
    fn escapes_are_shown_not_obeyed() {
        assert_eq!(printable("a\u{1b}[31mb"), "a\\u{1b}[31mb");
        assert_eq!(printable("x\u{202e}y"), "x\\u{202e}y");
        assert_eq!(printable("x\u{2028}y\u{61c}"), "x\\u{2028}y\\u{61c}");
        assert_eq!(printable("한글\ttab"), "한글\ttab");
    }
}
