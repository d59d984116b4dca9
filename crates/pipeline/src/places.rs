//! Where a key stands in a file, by its path: for those who tell people where a value comes from.

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use crate::diagnostic::Position;

/// The line of a key in the text of a TOML file; `None` where the file does not have it, or is no TOML.
///
/// A step that is a number counts the entries of a list, from 1: `["checks", "2"]`.
///
/// ```
/// let text = "[project]\nname = \"shop\"\n\n[lease]\nttl = \"60s\"\n";
/// assert_eq!(thrice_pipeline::places::line_of(text, &["lease", "ttl"]), Some(5));
/// assert_eq!(thrice_pipeline::places::line_of(text, &["project", "time_zone"]), None);
/// ```
pub fn line_of(text: &str, path: &[&str]) -> Option<usize> {
    let table = DeTable::parse(text).ok()?;
    let (first, rest) = path.split_first()?;
    let (key, mut value) = table.get_ref().get_key_value(*first)?;
    let mut at = key.span().start;
    for step in rest {
        (at, value) = inside(value, step)?;
    }
    Some(Position::of(text, at).line)
}

fn inside<'v, 't>(value: &'v Spanned<DeValue<'t>>, step: &str) -> Option<(usize, &'v Spanned<DeValue<'t>>)> {
    if let Some(table) = value.get_ref().as_table() {
        let (key, value) = table.get_key_value(step)?;
        return Some((key.span().start, value));
    }
    let entry = value.get_ref().as_array()?.get(step.parse::<usize>().ok()?.checked_sub(1)?)?;
    Some((entry.span().start, entry))
}

#[cfg(test)]
mod tests {
    use super::line_of;

    #[test]
    fn tables_dotted_keys_inline_tables_and_lists() {
        let text = "paused = true\n[interval]\ngrain = \"day\"\n[target]\nkey = [\n  \"dt\",\n  \"id\",\n]\n\
                    [[checks]]\nnot_null = [\"id\"]\n\n[[checks]]\nrows = { min = 1 }\n[a]\nb.c = 1\n";
        for (path, line) in [
            (["paused"].as_slice(), Some(1)),
            (&["interval"], Some(2)),
            (&["interval", "grain"], Some(3)),
            (&["target", "key"], Some(5)),
            (&["target", "key", "2"], Some(7)),
            (&["checks", "2", "rows", "min"], Some(13)),
            (&["a", "b", "c"], Some(15)),
            (&["checks", "3"], None),
            (&["checks", "0"], None),
            (&["target", "nothing"], None),
            (&[], None),
        ] {
            assert_eq!(line_of(text, path), line, "{path:?}");
        }
        assert_eq!(line_of("no toml", &["a"]), None);
    }
}
