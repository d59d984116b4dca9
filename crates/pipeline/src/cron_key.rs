//! `interval.cron`: boundaries by a cron expression, and what is wrong with one, at its field.

use thrice_core::code::ErrorCode;
use thrice_core::cron_pattern::{CronError, CronPattern};

use crate::diagnostic::Span;
use crate::toml_reader::{Field, Reader};

/// `None`: the file has no such key, or one that cannot be used, which is reported.
pub(crate) fn read(table: &mut Reader<'_, '_>) -> Option<CronPattern> {
    let (text, field) = table.string("cron")?;
    let error = match CronPattern::parse(text) {
        Ok(pattern) => return Some(pattern),
        Err(error) => error,
    };
    let (span, why) = match &error {
        CronError::Field { field: place, .. } => (span_of(table, &field, text, *place), FIELDS),
        CronError::Fields { .. } | CronError::Name { .. } | CronError::Unreadable { .. } => {
            (field.span.clone(), FIELDS)
        }
        CronError::Never { .. } => {
            (field.span.clone(), "an interval goes from one tick to the next: without ticks there is none")
        }
    };
    let fix =
        "cron = \"10 2 * * *\"; or, where a day is meant that is due at 02:10: grain = \"day\", delay = \"2h10m\"";
    let diagnostic = table.error(ErrorCode::BadCron, format!("`{}`: {error}", field.path)).at(span).why(why).fix(fix);
    table.report(diagnostic);
    None
}

const FIELDS: &str = "the fields are minute, hour, day of the month, month, weekday; or one name, such as @daily";

/// The bytes of one field of the expression, where the string is written without escapes.
fn span_of(table: &Reader<'_, '_>, field: &Field<'_>, text: &str, place: usize) -> Span {
    let mut fields = text.char_indices().filter(|(at, c)| {
        let before = text.get(..*at).and_then(|before| before.chars().next_back());
        !c.is_ascii_whitespace() && before.is_none_or(|before| before.is_ascii_whitespace())
    });
    let Some((at, _)) = fields.nth(place) else { return field.span.clone() };
    let length = text.get(at..).and_then(|rest| rest.split_ascii_whitespace().next()).map_or(1, str::len);
    let (first, last) = (table.inside_string(field, text, at), table.inside_string(field, text, at + length - 1));
    if first == field.span { first } else { first.start..last.end }
}
