//! Advice about queries whose result changes from run to run, or whose interval is not the pipeline's.
//!
//! Three rules are errors: the wall clock, BETWEEN on the interval, and a query without the interval. Everything else
//! warns, also the end of the interval included by `<=`: between two columns that overlap it, it may be meant. A finding is let through by a comment on its line: `-- thrice: allow(RULE) reason`; BETWEEN and the missing
//! interval are not. The rules read tokens and the outline of the query, so they also hold for SQL that only the
//! server can parse.

use thrice_core::Grain;
use thrice_core::code::ErrorCode;
use thrice_core::text::did_you_mean;

use crate::diagnostic::{Diagnostic, Span};
use crate::query_shape::{Clause, Shape};
use crate::sql_lexer::{Token, TokenKind};

/// Rules that a comment can let through.
pub const ALLOWABLE: [&str; 10] = [
    "wall_clock",
    "between",
    "random",
    "sequence",
    "limit",
    "order",
    "select_star",
    "date_cast",
    "interval_unused",
    OWN_TARGET,
];

/// The rule about a query that reads what it writes.
pub(crate) const OWN_TARGET: &str = "own_target";

/// A finding and the rule that made it.
struct Finding {
    rule: Option<&'static str>,
    diagnostic: Diagnostic,
}

/// All findings, in order of their place.
pub(crate) fn check(
    file: &str,
    sql: &str,
    tokens: &[Token],
    shape: &Shape<'_>,
    grain: &Grain,
    own_target: Option<(usize, usize)>,
) -> Vec<Diagnostic> {
    let mut found = Vec::new();
    // a whole table has no interval that could be used
    if *grain != Grain::Table {
        interval_is_used(file, shape, &mut found);
    }
    if let Some((first, last)) = own_target {
        let what = format!("the query reads {}, its own target", shape.slice(first, last));
        let diagnostic = warn(file, what, shape.span(first, last))
            .label("what the run before wrote here")
            .why("a second run of the interval reads the rows of the first, and may give others")
            .fix(format!(
                "read the sources; or, where only other intervals are read: -- thrice: allow({OWN_TARGET}) reason"
            ));
        found.push(Finding { rule: Some(OWN_TARGET), diagnostic });
    }
    for index in 0..shape.len() {
        between(file, shape, index, &mut found);
        closed_end(file, shape, index, &mut found);
        open_start(file, shape, index, &mut found);
        wall_clock(file, shape, index, &mut found);
        unstable_call(file, shape, index, &mut found);
        date_cast(file, shape, index, &mut found);
    }
    for (number, group) in shape.groups().iter().enumerate() {
        if group.statement {
            statement(file, shape, number, &mut found);
        }
    }
    let mut diagnostics = apply_allowances(file, sql, tokens, found);
    diagnostics.sort_by_key(|diagnostic| diagnostic.span.as_ref().map_or(0, |span| span.start));
    diagnostics
}

fn warn(file: &str, message: impl Into<String>, span: Span) -> Diagnostic {
    Diagnostic::warning(ErrorCode::MayDiffer, file, message).at(span)
}

fn is_interval(shape: &Shape<'_>, index: usize) -> bool {
    shape.kind(index) == Some(TokenKind::Placeholder)
        && matches!(shape.text(index), ":interval_start" | ":interval_end" | ":interval_date")
}

fn is_bound(shape: &Shape<'_>, index: usize) -> bool {
    shape.kind(index) == Some(TokenKind::Placeholder)
        && matches!(shape.text(index), ":interval_start" | ":interval_end")
}

fn interval_is_used(file: &str, shape: &Shape<'_>, found: &mut Vec<Finding>) {
    let uses: Vec<usize> = (0..shape.len()).filter(|index| is_interval(shape, *index)).collect();
    let Some(&first) = uses.first() else {
        let diagnostic =
            Diagnostic::error(ErrorCode::NoIntervalPlaceholder, file, "the query does not use the interval")
                .at(shape.span(0, 0))
                .label("gives the same rows for every interval")
                .why("each interval would publish the whole result, so running one again cannot repair one")
                .fix("where … >= :interval_start and … < :interval_end");
        found.push(Finding { rule: None, diagnostic });
        return;
    };
    // a CTE may hand the bounds on to a condition elsewhere
    let may_choose = |index: &usize| shape.decides_rows(*index) || shape.in_inner_statement(*index);
    if !uses.iter().any(may_choose) {
        let diagnostic = warn(file, "the interval only appears in the output", shape.span(first, first))
            .label("does not choose rows")
            .why("without a condition on the interval every run reads all rows")
            .fix("where … >= :interval_start and … < :interval_end");
        found.push(Finding { rule: Some("interval_unused"), diagnostic });
    } else if has_no_end(shape, &uses) {
        let diagnostic = warn(file, "only the start of the interval is used", shape.span(first, first))
            .label("nothing says where it ends")
            .why("rows of later intervals are read too, and an end worked out by hand is wrong on days of 23 or 25 hours")
            .fix("add: … < :interval_end");
        found.push(Finding { rule: Some("interval_unused"), diagnostic });
    }
}

/// `at >= :interval_start`, and nothing of the interval that rows stay under.
fn has_no_end(shape: &Shape<'_>, uses: &[usize]) -> bool {
    let beside = |index: usize, before: [&str; 2], after: [&str; 2]| {
        index.checked_sub(1).is_some_and(|at| before.contains(&shape.text(at)))
            || after.contains(&shape.text(index + 1))
    };
    uses.iter().all(|index| shape.text(*index) == ":interval_start")
        && uses.iter().any(|index| beside(*index, [">", ">="], ["<", "<="]))
        && !uses.iter().any(|index| beside(*index, ["<", "<="], [">", ">="]))
}

/// `x between LOW and HIGH` where a bound of the interval is LOW or HIGH.
fn between(file: &str, shape: &Shape<'_>, index: usize, found: &mut Vec<Finding>) {
    if !shape.is(index, "between") {
        return;
    }
    let group = shape.group_of(index);
    let close = shape.groups().get(group).map_or(shape.len(), |group| group.close);
    let Some(and) = (index + 1..close).find(|at| shape.is(*at, "and") && shape.group_of(*at) == group) else { return };
    let ends_here = |at: &usize| {
        shape.group_of(*at) == group
            && (shape.text(*at) == ","
                || matches!(
                    shape.clause_word(*at),
                    Some(
                        "and"
                            | "or"
                            | "then"
                            | "else"
                            | "when"
                            | "end"
                            | "group"
                            | "order"
                            | "having"
                            | "limit"
                            | "window"
                            | "union"
                            | "except"
                            | "intersect"
                            | "offset"
                            | "where"
                            | "join"
                            | "left"
                            | "inner"
                            | "cross"
                    )
                ))
    };
    let end = (and + 1..close).find(ends_here).unwrap_or(close);
    if !(index + 1..end).any(|at| is_bound(shape, at)) {
        return;
    }
    let span = shape.span(index, end.saturating_sub(1).max(and));
    let by_hand = (and + 1..end).any(|at| shape.text(at) == "-");
    let (rule, diagnostic) = if by_hand {
        let diagnostic = warn(file, "the end of a BETWEEN is worked out by hand", span)
            .why("BETWEEN includes its end: the subtraction must be the finest step that the column's type can take");
        (Some("between"), diagnostic)
    } else {
        let diagnostic =
            Diagnostic::error(ErrorCode::BetweenInterval, file, "BETWEEN includes the end of the interval")
                .at(span)
                .label("the first instant of the next interval is counted too")
                .why("an interval holds its start and not its end; a row on the boundary would be in two intervals");
        (None, diagnostic)
    };
    found.push(Finding { rule, diagnostic: diagnostic.fix("… >= :interval_start and … < :interval_end") });
}

/// A comparison with a bound of the interval, turned so that the bound is on its right.
struct Comparison {
    operator: &'static str,
    /// The column on its left, as it is written; empty where it is no bare column.
    column: String,
    /// First and last token.
    place: (usize, usize),
}

/// The comparison that this bound is a side of: `at <= :interval_end`, `:interval_end >= at`, with casts and parentheses.
fn comparison(shape: &Shape<'_>, bound: usize) -> Option<Comparison> {
    let mut before = bound.checked_sub(1)?;
    while shape.text(before) == "(" {
        before = before.checked_sub(1)?;
    }
    let operators = ["<", "<=", ">", ">="];
    if let Some(operator) = operators.into_iter().find(|operator| *operator == shape.text(before)) {
        let parts = (0..before).rev().take_while(|at| is_operand(shape, *at));
        let first = parts.last().unwrap_or(before);
        let column = if first < before { shape.slice(first, before - 1).to_owned() } else { String::new() };
        return Some(Comparison { operator, column, place: (first, bound) });
    }
    let mut after = bound + 1;
    while shape.kind(after) == Some(TokenKind::Cast) || shape.text(after) == ")" {
        after += if shape.text(after) == ")" { 1 } else { 2 };
    }
    let turned = match shape.text(after) {
        "<" => ">",
        "<=" => ">=",
        ">" => "<",
        ">=" => "<=",
        _ => return None,
    };
    let last = (after + 1..shape.len()).take_while(|at| is_operand(shape, *at)).last();
    let column = last.map_or_else(String::new, |last| shape.slice(after + 1, last).to_owned());
    Some(Comparison { operator: turned, column, place: (bound, last.unwrap_or(after)) })
}

/// A part of a column's name.
fn is_operand(shape: &Shape<'_>, index: usize) -> bool {
    let keyword = shape.clause_word(index).is_some_and(|word| {
        matches!(word, "and" | "or" | "not" | "where" | "on" | "having" | "when" | "then" | "select")
    });
    !keyword && (is_column_part(shape, index) || shape.kind(index) == Some(TokenKind::Cast))
}

/// `at <= :interval_end`: the fault of BETWEEN, written out.
fn closed_end(file: &str, shape: &Shape<'_>, index: usize, found: &mut Vec<Finding>) {
    if shape.text(index) != ":interval_end" || !is_bound(shape, index) {
        return;
    }
    let Some(compared) = comparison(shape, index).filter(|compared| compared.operator == "<=") else { return };
    let (first, last) = compared.place;
    let diagnostic = Diagnostic::warning(ErrorCode::BetweenInterval, file, "`<=` includes the end of the interval")
        .at(shape.span(first, last))
        .label("the first instant of the next interval is counted too")
        .why("an interval holds its start and not its end; a row on the boundary would be in two intervals")
        .fix("… >= :interval_start and … < :interval_end");
    found.push(Finding { rule: Some("between"), diagnostic });
}

/// `at > :interval_start and at < :interval_end`. Only where one column has both: `upto > :interval_start and since <
/// :interval_end` asks what overlaps the interval.
fn open_start(file: &str, shape: &Shape<'_>, index: usize, found: &mut Vec<Finding>) {
    if shape.text(index) != ":interval_start" || !is_bound(shape, index) {
        return;
    }
    let Some(compared) = comparison(shape, index).filter(|compared| compared.operator == ">") else { return };
    let ends_too = (0..shape.len()).filter(|at| shape.text(*at) == ":interval_end" && is_bound(shape, *at)).any(|at| {
        comparison(shape, at).is_some_and(|end| end.operator.starts_with('<') && end.column == compared.column)
    });
    if compared.column.is_empty() || !ends_too {
        return;
    }
    let (first, last) = compared.place;
    let diagnostic = Diagnostic::warning(ErrorCode::BetweenInterval, file, "`>` leaves out the start of the interval")
        .at(shape.span(first, last))
        .label("its first instant is in no interval")
        .why("an interval holds its start and not its end; a row on the boundary would be in none")
        .fix("… >= :interval_start and … < :interval_end");
    found.push(Finding { rule: Some("between"), diagnostic });
}

const CLOCK_CALLS: [&str; 5] = ["now", "clock_timestamp", "statement_timestamp", "transaction_timestamp", "timeofday"];
const CLOCK_WORDS: [&str; 5] = ["current_date", "current_time", "current_timestamp", "localtime", "localtimestamp"];
const CLOCK_STRINGS: [&str; 4] = ["now", "today", "tomorrow", "yesterday"];
const TIME_TYPES: [&str; 5] = ["date", "time", "timestamp", "timestamptz", "timetz"];

fn wall_clock(file: &str, shape: &Shape<'_>, index: usize, found: &mut Vec<Finding>) {
    let Some((last, what)) = clock_use(shape, index) else { return };
    let diagnostic = Diagnostic::error(ErrorCode::WallClock, file, format!("`{what}` reads the wall clock"))
        .at(shape.span(index, last))
        .label("differs on every run")
        .why("run again tomorrow, the same interval would give other rows")
        .fix("use `:interval_start` or `:interval_end`; or end the line with `-- thrice: allow(wall_clock) reason`");
    found.push(Finding { rule: Some("wall_clock"), diagnostic });
}

/// The last token of a use of the clock that begins here, and its text.
fn clock_use(shape: &Shape<'_>, index: usize) -> Option<(usize, String)> {
    if let Some(word) = shape.clause_word(index).filter(|word| CLOCK_WORDS.contains(word)) {
        return Some((index, word.to_owned()));
    }
    if let Some(name) = shape.called(index) {
        let arguments = shape.opened_by(index + 1)?;
        let close = shape.groups().get(arguments)?.close;
        // age(x) counts from today; age(a, b) does not
        let one_argument = close > index + 2 && !shape.direct(arguments).any(|at| shape.text(at) == ",");
        if CLOCK_CALLS.contains(&name.as_str()) || (name == "age" && one_argument) {
            let dots = if close > index + 2 { "…" } else { "" };
            return Some((close.min(shape.len().saturating_sub(1)), format!("{name}({dots})")));
        }
    }
    if shape.kind(index) == Some(TokenKind::String) {
        let text = shape.text(index);
        let inner = text.trim_start_matches(['e', 'E']).trim_matches('\'').trim().to_ascii_lowercase();
        if !CLOCK_STRINGS.contains(&inner.as_str()) {
            return None;
        }
        let is_time_type = |at: usize| shape.keyword(at).is_some_and(|word| TIME_TYPES.contains(&word));
        if shape.kind(index + 1) == Some(TokenKind::Cast) && is_time_type(index + 2) {
            return Some((index + 2, format!("{text}::{}", shape.text(index + 2))));
        }
        let cast = shape.is(index + 1, "as") && is_time_type(index + 2);
        let typed = index > 0 && (is_time_type(index - 1) || shape.is(index - 1, "zone"));
        if cast || typed {
            return Some((index, text.to_owned()));
        }
    }
    None
}

const RANDOM_CALLS: [&str; 12] = [
    "random",
    "random_normal",
    "setseed",
    "gen_random_uuid",
    "gen_random_bytes",
    "uuidv4",
    "uuidv7",
    "uuid_generate_v1",
    "uuid_generate_v1mc",
    "uuid_generate_v4",
    "txid_current",
    "pg_current_xact_id",
];
const SEQUENCE_CALLS: [&str; 4] = ["nextval", "currval", "lastval", "setval"];
const ORDERED_CALLS: [&str; 6] = ["array_agg", "string_agg", "json_agg", "jsonb_agg", "json_object_agg", "xmlagg"];
const ORDERED_WINDOWS: [&str; 7] = ["row_number", "ntile", "lag", "lead", "first_value", "last_value", "nth_value"];

fn unstable_call(file: &str, shape: &Shape<'_>, index: usize, found: &mut Vec<Finding>) {
    let Some(name) = shape.called(index) else { return };
    let name = name.as_str();
    let span = shape.span(index, index);
    let (rule, diagnostic) = if RANDOM_CALLS.contains(&name) {
        let diagnostic = warn(file, format!("`{name}()` gives another value on every run"), span)
            .why("two runs of the same interval cannot be compared, and each publishes other rows")
            .fix("derive the value from the row, such as md5 of its key");
        ("random", diagnostic)
    } else if SEQUENCE_CALLS.contains(&name) {
        let diagnostic = warn(file, format!("`{name}()` draws on a sequence"), span)
            .why("every run numbers the same rows anew")
            .fix("derive the value from the row, or make it an identity column of the target");
        ("sequence", diagnostic)
    } else if (ORDERED_CALLS.contains(&name) || ORDERED_WINDOWS.contains(&name)) && !has_order(shape, index) {
        let diagnostic = warn(file, format!("`{name}()` without an order"), span)
            .why("the order of its rows is whatever the plan gives, and may change")
            .fix("put `order by` inside its parentheses, or into its window");
        ("order", diagnostic)
    } else {
        return;
    };
    found.push(Finding { rule: Some(rule), diagnostic });
}

/// ORDER BY inside the call, or in the window behind it (a named window counts as ordered).
fn has_order(shape: &Shape<'_>, call: usize) -> bool {
    let Some(arguments) = shape.opened_by(call + 1) else { return true };
    let ordered = |group: usize| shape.direct(group).any(|at| shape.is(at, "order"));
    let behind = |group: usize| shape.groups().get(group).map_or(shape.len(), |group| group.close + 1);
    let mut next = behind(arguments);
    if shape.is(next, "filter")
        && let Some(filter) = shape.opened_by(next + 1)
    {
        next = behind(filter);
    }
    let window = shape.is(next, "over") && shape.opened_by(next + 1).is_none_or(ordered);
    ordered(arguments) || window
}

/// `column::date`: which day it is depends on the session's zone.
fn date_cast(file: &str, shape: &Shape<'_>, index: usize, found: &mut Vec<Finding>) {
    let Some((first, last)) = zoneless_date(shape, index) else { return };
    let what = shape.slice(first, last);
    let placeholder = is_bound(shape, first);
    let diagnostic = warn(file, format!("`{what}` becomes a date without a zone"), shape.span(first, index))
        .label("cut in the session's time zone")
        .why("if it is a timestamptz, the day it falls on depends on who is asking")
        .fix(if placeholder {
            "use `:interval_date`, or name the zone: (… at time zone 'Asia/Seoul')::date".to_owned()
        } else {
            format!("name the zone: ({what} at time zone 'Asia/Seoul')::date")
        });
    found.push(Finding { rule: Some("date_cast"), diagnostic });
}

/// The operand of a cast to date that ends here: a column or a bound of the interval, bare or in parentheses.
fn zoneless_date(shape: &Shape<'_>, index: usize) -> Option<(usize, usize)> {
    if !shape.is(index, "date") {
        return None;
    }
    let after = if shape.kind(index.checked_sub(1)?) == Some(TokenKind::Cast) {
        index.checked_sub(2)?
    } else if shape.is(index - 1, "as") && shape.text(index + 1) == ")" {
        // cast(x as date)
        let open = shape.groups().get(shape.group_of(index))?.open?;
        if !shape.is(open.checked_sub(1)?, "cast") {
            return None;
        }
        index.checked_sub(2)?
    } else {
        return None;
    };
    if shape.text(after) == ")" {
        let group = shape.groups().iter().find(|group| group.close == after)?;
        let open = group.open?;
        let called = open > 0 && matches!(shape.kind(open - 1), Some(TokenKind::Word | TokenKind::QuotedName));
        let keyword = called
            && shape
                .clause_word(open - 1)
                .is_some_and(|word| matches!(word, "select" | "by" | "and" | "or" | "where" | "on"));
        let bare = (open + 1..after).all(|at| is_column_part(shape, at) || is_bound(shape, at)) && open + 1 < after;
        return ((!called || keyword) && bare).then_some((open + 1, after - 1));
    }
    if is_bound(shape, after) {
        return Some((after, after));
    }
    if !is_column_part(shape, after) {
        return None;
    }
    let mut first = after;
    while first >= 2 && shape.text(first - 1) == "." && is_column_part(shape, first - 2) {
        first -= 2;
    }
    Some((first, after))
}

fn is_column_part(shape: &Shape<'_>, index: usize) -> bool {
    match shape.kind(index) {
        Some(TokenKind::QuotedName) => true,
        Some(TokenKind::Word) => shape
            .keyword(index)
            .is_none_or(|word| !CLOCK_WORDS.contains(&word) && !matches!(word, "null" | "end" | "true" | "false")),
        _ => shape.text(index) == ".",
    }
}

/// Rules about one SELECT: its LIMIT, its DISTINCT ON, its star.
fn statement(file: &str, shape: &Shape<'_>, group: usize, found: &mut Vec<Finding>) {
    let tokens: Vec<usize> = shape.direct(group).collect();
    let ordered = is_ordered(shape, group);
    let outermost = shape.groups().get(group).is_some_and(|group| group.outermost);
    for &index in &tokens {
        let word = shape.clause_word(index);
        let limit = (word == Some("limit") && !matches!(shape.keyword(index + 1), Some("all" | "null")))
            || (word == Some("fetch") && matches!(shape.keyword(index + 1), Some("first" | "next")))
            || word == Some("offset");
        let distinct_on =
            word == Some("distinct") && shape.is(index + 1, "on") && shape.clause(index) == Clause::Select;
        if (limit || distinct_on) && !ordered {
            let what = if !limit {
                "DISTINCT ON"
            } else if word == Some("offset") {
                "OFFSET"
            } else {
                "LIMIT"
            };
            let diagnostic = warn(file, format!("{what} without ORDER BY"), shape.span(index, index))
                .why("which rows are kept is up to the plan, and may change from run to run")
                .fix("add an `order by` that ends in a unique column");
            found.push(Finding { rule: Some("limit"), diagnostic });
        }
        if word == Some("tablesample") && !tokens.iter().any(|at| shape.is(*at, "repeatable")) {
            let diagnostic = warn(file, "TABLESAMPLE without REPEATABLE", shape.span(index, index))
                .why("every run draws other rows")
                .fix("add `repeatable (1)`, or choose rows by a hash of their key");
            found.push(Finding { rule: Some("random"), diagnostic });
        }
        if outermost && is_star(shape, index) {
            let diagnostic = warn(file, "SELECT * in the result", shape.span(index, index))
                .why("a column added to a source table becomes a column of the result, and the next run is refused")
                .fix("name the columns of the target");
            found.push(Finding { rule: Some("select_star"), diagnostic });
        }
    }
}

/// ORDER BY of a statement, or of the one in parentheses that it consists of: `(select … order by …) limit 1`.
fn is_ordered(shape: &Shape<'_>, group: usize) -> bool {
    let mut direct = shape.direct(group);
    let (first, after) = (direct.next(), direct.nth(1));
    let united = after.is_some_and(|at| matches!(shape.keyword(at), Some("union" | "except" | "intersect")));
    let inner = first.filter(|at| shape.text(*at) == "(" && !united).and_then(|at| shape.opened_by(at));
    shape.direct(group).any(|at| shape.clause_word(at) == Some("order")) || inner.is_some_and(|g| is_ordered(shape, g))
}

fn is_star(shape: &Shape<'_>, index: usize) -> bool {
    if shape.text(index) != "*" || shape.clause(index) != Clause::Select || index == 0 {
        return false;
    }
    matches!(shape.text(index - 1), "," | ".")
        || matches!(shape.keyword(index - 1), Some("select" | "distinct" | "all"))
}

/// `-- thrice: allow(RULE) reason`, read from one comment.
struct Allowance {
    rule: String,
    rule_span: Span,
    reason: bool,
    /// Bytes of its line.
    line: Span,
}

/// Whether a comment anywhere lets a rule through.
pub(crate) fn allows(sql: &str, tokens: &[Token], rule: &str) -> bool {
    tokens.iter().filter_map(|token| allowance(sql, token)).any(|allowance| allowance.rule == rule && allowance.reason)
}

/// Drops findings that a comment on their line allows; a comment that allows nothing right is itself a fault.
fn apply_allowances(file: &str, sql: &str, tokens: &[Token], found: Vec<Finding>) -> Vec<Diagnostic> {
    let mut diagnostics = Vec::new();
    let mut allowances = Vec::new();
    for allowance in tokens.iter().filter_map(|token| allowance(sql, token)) {
        if !ALLOWABLE.contains(&allowance.rule.as_str()) {
            let fix = did_you_mean(&allowance.rule, ALLOWABLE)
                .map_or_else(|| format!("one of: {}", ALLOWABLE.join(", ")), |near| format!("write `{near}`"));
            diagnostics.push(
                Diagnostic::error(ErrorCode::BadValue, file, format!("`{}` is no rule to allow", allowance.rule))
                    .at(allowance.rule_span)
                    .fix(fix),
            );
        } else if allowance.reason {
            allowances.push(allowance);
        } else {
            let code = if allowance.rule == "wall_clock" { ErrorCode::WallClock } else { ErrorCode::BadValue };
            diagnostics.push(
                Diagnostic::error(code, file, format!("`allow({})` without a reason", allowance.rule))
                    .at(allowance.rule_span)
                    .why("the next reader has to know why this is safe")
                    .fix(format!("-- thrice: allow({}) why it does not change the result", allowance.rule)),
            );
        }
    }
    for finding in found {
        let start = finding.diagnostic.span.as_ref().map_or(0, |span| span.start);
        let allowed = allowances
            .iter()
            .any(|allowance| Some(allowance.rule.as_str()) == finding.rule && allowance.line.contains(&start));
        if !allowed {
            diagnostics.push(finding.diagnostic);
        }
    }
    diagnostics
}

fn allowance(sql: &str, token: &Token) -> Option<Allowance> {
    if token.kind != TokenKind::LineComment {
        return None;
    }
    let text = token.text(sql);
    let said = text.trim_start_matches('-').trim_start().strip_prefix("thrice:")?.trim_start();
    let inner = said.strip_prefix("allow(")?;
    let (rule, reason) = inner.split_once(')')?;
    let rule_at = token.span.start + (text.len() - inner.len());
    let line_start = sql.get(..token.span.start)?.rfind('\n').map_or(0, |at| at + 1);
    Some(Allowance {
        rule: rule.trim().to_owned(),
        rule_span: rule_at..rule_at + rule.len(),
        reason: reason.chars().any(char::is_alphanumeric),
        line: line_start..token.span.end,
    })
}
