//! Where a part of a string value stands in the text of its file.

use crate::diagnostic::Span;

/// Bytes of the string as it is written, quotes included, for bytes of its value. `None` where it is written with escapes,
/// where a place in the one says nothing about a place in the other.
pub(crate) fn part(written: &str, value: &str, part: &Span) -> Option<Span> {
    // in three quotes a line end behind the first ones is no part of the text
    let heads = ["\"\"\"\n", "'''\n", "\"\"\"", "'''", "\"", "'"];
    let is_plain = |head: &&&str| {
        let inner = written.strip_prefix(**head).and_then(|rest| rest.strip_suffix(head.trim_end()));
        inner == Some(value)
    };
    let head = heads.iter().find(is_plain)?;
    (!part.is_empty() && value.get(part.clone()).is_some()).then(|| head.len() + part.start..head.len() + part.end)
}

#[cfg(test)]
mod tests {
    use super::part;

    #[test]
    fn a_place_is_exact_where_nothing_is_escaped() {
        for (written, value) in [
            ("\"a b\"", "a b"),
            ("'a b'", "a b"),
            ("\"\"\"a b\"\"\"", "a b"),
            ("\"\"\"\na b\n\"\"\"", "a b\n"),
            ("'''\na \"b\" b'''", "a \"b\" b"),
        ] {
            let at = value.find('b').unwrap();
            let found = part(written, value, &(at..at + 1)).unwrap();
            assert_eq!(written.get(found), Some("b"), "{written}");
        }
        assert_eq!(part("\"a\\tb\"", "a\tb", &(2..3)), None);
        assert_eq!(part("\"\"", "", &(0..0)), None);
    }
}
