//! `[[checks]] expression`: a text that is going to stand in parentheses, and must not reach out of them.

use std::ops::Range;

use thrice_core::code::ErrorCode;

use crate::query_shape::Shape;
use crate::sql_lexer::{self, Token, TokenKind};
use crate::toml_reader::{Field, Reader};

/// Why a text cannot stand in parentheses.
struct Refused {
    code: ErrorCode,
    /// Bytes of the text.
    at: Range<usize>,
    what: String,
    why: &'static str,
    fix: &'static str,
}

const REACHES_OUT: &str =
    "the expression stands in parentheses of its own; what reaches out of them would change the check";

impl Refused {
    const fn new(at: Range<usize>, what: String, fix: &'static str) -> Self {
        Self { code: ErrorCode::BadValue, at, what, why: REACHES_OUT, fix }
    }
}

/// One boolean expression: one piece, nothing open, nothing bound. A comment behind it is left out.
pub(crate) fn read(reader: &mut Reader<'_, '_>, name: Option<&str>, text: &str, field: &Field<'_>) -> Option<String> {
    match whole(text) {
        Ok(expression) => Some(expression.to_owned()),
        Err(refused) => {
            let of = name.map_or_else(String::new, |name| format!(" of the check {name:?}"));
            let diagnostic = reader
                .error(refused.code, format!("`{}`{of}: {}", field.path, refused.what))
                .at(reader.inside_string(field, text, refused.at.start))
                .why(refused.why)
                .fix(refused.fix);
            reader.report(diagnostic);
            None
        }
    }
}

/// One aggregate over the rows, in one piece as well.
pub(crate) fn read_aggregate(reader: &mut Reader<'_, '_>, text: &str, field: &Field<'_>) -> Option<String> {
    match whole(text) {
        Ok(expression) => Some(expression.to_owned()),
        Err(refused) => {
            let diagnostic = reader
                .error(refused.code, format!("`{}`: {}", field.path, refused.what))
                .at(reader.inside_string(field, text, refused.at.start))
                .why("it is one aggregate over the staged rows, and stands in parentheses of its own")
                .fix("ours = \"sum(amount)\"");
            reader.report(diagnostic);
            None
        }
    }
}

fn whole(text: &str) -> Result<&str, Refused> {
    let tokens = sql_lexer::tokens(text).map_err(|open| {
        Refused::new(open.span.clone(), open.to_string(), "close it, or write one boolean expression")
    })?;
    let Some(last) = tokens.iter().rposition(Token::is_code) else {
        let why = "a check says what must hold of every row";
        let refused = Refused::new(0..0, "it is empty".to_owned(), "expression = \"amount >= 0\"");
        return Err(Refused { why, ..refused });
    };
    let of_kind = |kind| tokens.iter().find(move |token: &&Token| token.kind == kind);
    if let Some(token) = of_kind(TokenKind::Semicolon) {
        let what = "it holds a `;`".to_owned();
        return Err(Refused::new(token.span.clone(), what, "one boolean expression, without `;`"));
    }
    if let Some(bound) = of_kind(TokenKind::Placeholder).or_else(|| of_kind(TokenKind::Dollar)) {
        return Err(Refused {
            code: ErrorCode::UnknownPlaceholder,
            at: bound.span.clone(),
            what: format!("`{}` has no value here", bound.text(text)),
            why: "rows outside the interval are always refused, and a check sees one row",
            fix: "compare columns",
        });
    }
    let (shape, unbalanced) = Shape::of(text, &tokens);
    if let Some(bracket) = unbalanced {
        let shown = shape.text(bracket.token);
        let what = if bracket.opening { "is not closed" } else { "closes nothing" };
        let at = shape.span(bracket.token, bracket.token);
        return Err(Refused::new(at, format!("this `{shown}` {what}"), "pair the brackets"));
    }
    if let Some(comma) = shape.direct(0).find(|at| shape.text(*at) == ",") {
        let what = "it holds more than one expression".to_owned();
        return Err(Refused::new(shape.span(comma, comma), what, "a [[checks]] for each, or `and` between them"));
    }
    let end = tokens.get(last).map_or(text.len(), |token| token.span.end);
    Ok(text.get(..end).unwrap_or(text).trim_start())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(text: &str) -> Option<(&'static str, Range<usize>)> {
        whole(text).err().map(|refused| (refused.code.id(), refused.at))
    }

    #[test]
    fn what_would_reach_out_of_its_parentheses_is_refused_at_its_place() {
        for (text, at) in [
            ("true) or (true", 4..5),
            ("(amount > 0", 0..1),
            ("amount > 0)", 10..11),
            ("a[1", 1..2),
            ("(a[1)]", 4..5),
            ("note <> 'it''s", 8..9),
            ("note <> e'\\'", 8..10),
            ("\"amount > 0", 0..1),
            ("note <> $q$ or", 8..11),
            ("amount > 0 /* or", 11..13),
            ("amount > 0 /* /* */", 11..13),
            ("true; drop table mart.t", 4..5),
            ("a > 0, true", 5..6),
            ("", 0..0),
            ("-- nothing", 0..0),
        ] {
            assert_eq!(refused(text), Some(("TH0227", at)), "{text}");
        }
        assert_eq!(refused("a > :interval_start"), Some(("TH0306", 4..19)));
        assert_eq!(refused("a > $1"), Some(("TH0306", 4..6)));
    }

    #[test]
    fn quotes_and_comments_that_end_are_part_of_it() {
        for text in [
            "amount >= 0",
            "note <> ')' and f(a, b) > 0",
            "note <> '--' /* not ) yet */ and (a or b)",
            "note = e'\\'' or note = $q$ '; $q$",
            "a\n -- first\n > 0",
        ] {
            assert_eq!(whole(text).ok(), Some(text), "{text}");
        }
        assert_eq!(whole("  amount >= 0 -- never").ok(), Some("amount >= 0"));
    }
}
