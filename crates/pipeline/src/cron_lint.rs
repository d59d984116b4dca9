//! A cron expression that does not tick at midnight, and a query that gives dates for the interval column: the trigger is
//! not the window.

use thrice_core::code::ErrorCode;
use thrice_core::cron_pattern::CronPattern;
use thrice_core::duration::HumanDuration;
use thrice_core::{Grain, Identifier};

use crate::diagnostic::Diagnostic;
use crate::query_shape::{Clause, Shape};
use crate::sql_lexer::TokenKind;

/// Warns where the query's column of the interval is a date. Whether the target's is one, only the server can say.
pub(crate) fn check(file: &str, grain: &Grain, shape: &Shape<'_>, column: &Identifier) -> Option<Diagnostic> {
    let Grain::Cron(pattern) = grain else { return None };
    if pattern.is_at_midnight() {
        return None;
    }
    let (first, last) = (0..shape.len()).find_map(|index| date_named(shape, index, column.as_str()))?;
    Some(
        Diagnostic::warning(ErrorCode::CronBesideDate, file, format!("dates beside boundaries of cron {pattern}"))
            .at(shape.span(first, last))
            .label("one date, and rows of two intervals")
            .why("cron sets what an interval covers, not when it runs")
            .fix(instead(pattern)),
    )
}

/// What was most likely meant.
fn instead(pattern: &CronPattern) -> String {
    match pattern.daily_at().map(|time| HumanDuration::from_seconds(time.as_secs())) {
        Some(delay) => {
            format!("grain = \"day\" and delay = \"{delay}\" instead of cron; or a column of type timestamptz")
        }
        None => "a column of type timestamptz, such as `:interval_start`; or a grain of whole days".to_owned(),
    }
}

/// `….::date as COLUMN`, `cast(… as date) COLUMN`, `date(…) COLUMN` in the output: its last two parts.
fn date_named(shape: &Shape<'_>, index: usize, column: &str) -> Option<(usize, usize)> {
    let outer = shape.clause(index) == Clause::Select && !shape.in_inner_statement(index);
    if !outer || shape.name(index).as_deref() != Some(column) {
        return None;
    }
    let before = index.checked_sub(1)?;
    let value = if shape.is(before, "as") { before.checked_sub(1)? } else { before };
    let cast = shape.is(value, "date") && shape.kind(value.checked_sub(1)?) == Some(TokenKind::Cast);
    if cast {
        return Some((value - 1, index));
    }
    let open = shape.groups().iter().find(|group| group.close == value && shape.text(value) == ")")?.open?;
    let called = shape.called(open.checked_sub(1)?)?;
    let makes_date = called == "date" || called == "cast" && shape.is(value.checked_sub(1)?, "date");
    makes_date.then_some((open - 1, index))
}
