//! Refuses, by reading alone, what is not one plain SELECT. The server has the last word; this one comes sooner and
//! says where.

use std::ops::Range;

use thrice_core::code::ErrorCode;

use crate::diagnostic::{Diagnostic, Diagnostics, Level, Span};
use crate::query_shape::{Shape, Unbalanced, WRITING_WORDS};
use crate::sql_lexer::{Token, TokenKind, Unclosed};

/// Template languages that the file may have been written for.
pub(crate) fn templates(file: &str, sql: &str, tokens: &[Token]) -> Vec<Diagnostic> {
    let code: Vec<&Token> = tokens.iter().filter(|token| token.is_code()).collect();
    let mut found = Vec::new();
    for (index, token) in code.iter().enumerate() {
        let rest = sql.get(token.span.start..).unwrap_or_default();
        let next = code.get(index + 1);
        let adjoins = next.is_some_and(|next| next.span.start == token.span.end);
        let start = token.span.start;
        let with_next = start..next.map_or(token.span.end, |next| next.span.end);
        let (what, span, meant) = match (token.kind, token.text(sql)) {
            (TokenKind::Punctuation, "{") if ["{{", "{%", "{#"].iter().any(|mark| rest.starts_with(mark)) => {
                ("template syntax", template_span(sql, start), Meant::Surely)
            }
            (TokenKind::Punctuation, "$") if rest.starts_with("${") => {
                ("template syntax", start..start + 2, Meant::Surely)
            }
            (TokenKind::Punctuation, "\\") if adjoins => ("a psql command", with_next, Meant::Surely),
            (TokenKind::Punctuation, ":")
                if adjoins
                    && next.is_some_and(|next| is_quoted(next.kind))
                    // 'key':'value' of a JSON constructor
                    && index.checked_sub(1).and_then(|before| code.get(before)).is_none_or(|t| !is_literal(t.kind)) =>
            {
                ("a psql variable", with_next, Meant::Surely)
            }
            (TokenKind::String, text) => match template_in_string(text) {
                Some((inside, meant)) => ("template syntax", start + inside.start..start + inside.end, meant),
                None => continue,
            },
            _ => continue,
        };
        let mut diagnostic = Diagnostic::error(ErrorCode::TemplateSyntax, file, format!("{what} in the query"))
            .at(span)
            .label("nothing fills this in")
            .why("the query is sent as it stands; values travel beside it, they are never written into its text")
            .fix("write `:interval_start` and `:interval_end`, or a name of `[vars]` as `:name`");
        if matches!(meant, Meant::Perhaps) {
            diagnostic.level = Level::Warning;
        }
        found.push(diagnostic);
        // A template has many marks; the first says it all.
        break;
    }
    found
}

const fn is_literal(kind: TokenKind) -> bool {
    matches!(kind, TokenKind::String | TokenKind::Number)
}

const fn is_quoted(kind: TokenKind) -> bool {
    matches!(kind, TokenKind::String | TokenKind::QuotedName)
}

fn template_span(sql: &str, start: usize) -> Span {
    let rest = sql.get(start..).unwrap_or_default();
    let close = ["}}", "%}", "#}"].iter().filter_map(|mark| rest.find(mark)).min();
    start..start + close.map_or(2, |at| at + 2)
}

/// How sure it is that a string was meant for a template.
enum Meant {
    Surely,
    Perhaps,
}

/// `{{ ds }}` inside a string. An array literal such as `{{1,2},{3,4}}` is none, nor are braces amid other text.
fn template_in_string(text: &str) -> Option<(Range<usize>, Meant)> {
    if text.starts_with('$') {
        return None;
    }
    let at = text.find("{{")?;
    let inner_at = at + 2;
    let length = text.get(inner_at..)?.find("}}")?;
    let inner = text.get(inner_at..inner_at + length)?;
    let span = at..inner_at + length + 2;
    let word = inner.trim();
    let named = ["ds", "ts", "execution_date", "logical_date", "run_id"].contains(&word)
        || ["macros.", "params.", "var(", "var.", "ref(", "source(", "data_interval_", "prev_", "next_", "ds_"]
            .iter()
            .any(|start| word.starts_with(start));
    let alone = text.len() == span.len() + 2
        && inner.starts_with(' ')
        && word.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '.'));
    if named { Some((span, Meant::Surely)) } else { alone.then_some((span, Meant::Perhaps)) }
}

/// Something opened and not closed.
pub(crate) fn unclosed(file: &str, open: &Unclosed) -> Diagnostic {
    Diagnostic::error(ErrorCode::Unclosed, file, open.to_string())
        .at(open.span.clone())
        .label("opened here")
        .why("everything behind it is read as part of it, to the end of the file")
        .fix(format!("close the {}", open.what))
}

/// A bracket without its partner: wrapped as a sub-select, it would change what the statement around it means.
pub(crate) fn unbalanced(file: &str, shape: &Shape<'_>, unbalanced: Unbalanced) -> Diagnostic {
    let bracket = shape.text(unbalanced.token);
    let (message, label) = if unbalanced.opening {
        (format!("this `{bracket}` is not closed"), "opened here")
    } else {
        (format!("this `{bracket}` closes nothing"), "no bracket to close")
    };
    Diagnostic::error(ErrorCode::Unclosed, file, message)
        .at(shape.span(unbalanced.token, unbalanced.token))
        .label(label)
        .why("the query runs as a sub-select; brackets that do not pair would reach out of it")
        .fix(if unbalanced.opening { "close it" } else { "take it out, or open it where it belongs" })
}

/// The code tokens of the one statement of the file, with the comments between them.
pub(crate) fn only_statement<'t>(file: &str, sql: &str, tokens: &'t [Token]) -> Result<&'t [Token], Diagnostics> {
    let mut statements = tokens
        .split(|token| token.kind == TokenKind::Semicolon)
        .filter(|statement| statement.iter().any(Token::is_code));
    let Some(first) = statements.next() else {
        let what = if tokens.iter().any(|token| token.kind == TokenKind::Semicolon) {
            "the file holds no statement"
        } else if tokens.iter().all(|token| token.kind == TokenKind::White) {
            "the file is empty"
        } else {
            "the file holds only comments"
        };
        let nothing = Diagnostic::error(ErrorCode::NoStatement, file, what)
            .at(0..sql.len())
            .why("a pipeline's rows come from one SELECT")
            .fix("select … from … where … >= :interval_start and … < :interval_end");
        return Err(nothing.into());
    };
    if let Some(second) = statements.next() {
        let several = Diagnostic::error(ErrorCode::SeveralStatements, file, "more than one statement")
            .at(code_span(second))
            .label("the second statement")
            .why("a pipeline's rows come from one SELECT; nothing else of the file could be undone or repeated")
            .fix("use `with` for steps in between, and one pipeline for each table");
        return Err(several.into());
    }
    let from = first.iter().position(|token| token.span.start > 0 || token.is_code()).unwrap_or(0);
    Ok(&first[from..])
}

fn code_span(tokens: &[Token]) -> Span {
    let start = tokens.iter().find(|token| token.is_code()).map_or(0, |token| token.span.start);
    let end = tokens.iter().rev().find(|token| token.is_code()).map_or(start, |token| token.span.end);
    start..end
}

/// Statements that are no SELECT, or a SELECT that does more than read.
pub(crate) fn check(file: &str, shape: &Shape<'_>) -> Vec<Diagnostic> {
    if let Some(refused) = first_word(file, shape) {
        return vec![refused];
    }
    let mut found = Vec::new();
    for (number, group) in shape.groups().iter().enumerate() {
        if group.statement {
            statement(file, shape, number, &mut found);
        }
    }
    found.sort_by_key(|diagnostic| diagnostic.span.as_ref().map_or(0, |span| span.start));
    found
}

fn first_word(file: &str, shape: &Shape<'_>) -> Option<Diagnostic> {
    let first = (0..shape.len()).find(|index| shape.text(*index) != "(").unwrap_or(0);
    match shape.keyword(first) {
        Some("select" | "with" | "values" | "table") => None,
        word => {
            let message = match word {
                Some(word) => format!("`{word}` is not a SELECT"),
                None => "the query does not begin with SELECT".to_owned(),
            };
            let refused = Diagnostic::error(ErrorCode::NotASelect, file, message)
                .at(shape.span(first, first))
                .label("expected `select`, `with`, `values` or `table`")
                .why("thrice writes the target itself, in one transaction with its receipt; the file only says which rows")
                .fix("keep the SELECT, and let `[target]` name the table");
            Some(refused)
        }
    }
}

fn statement(file: &str, shape: &Shape<'_>, group: usize, found: &mut Vec<Diagnostic>) {
    let tokens: Vec<usize> = shape.direct(group).collect();
    let Some(&first) = tokens.first() else { return };
    let (mut verb_seen, mut writes) = (!shape.is(first, "with"), false);
    for &index in &tokens {
        let Some(word) = shape.clause_word(index) else { continue };
        let starts = index == first || (!verb_seen && index > 0 && shape.text(index - 1) == ")");
        if starts && WRITING_WORDS.contains(&word) {
            writes = true;
            found.push(
                Diagnostic::error(ErrorCode::NotASelect, file, format!("`{word}` inside the query changes data"))
                    .at(shape.span(index, index))
                    .label("writes")
                    .why("a run must be repeatable, and the server refuses a writing statement inside a sub-select")
                    .fix("read with SELECT only; the rows reach the target when they are published"),
            );
        }
        verb_seen |= index != first && (starts || matches!(word, "select" | "values" | "table"));
        let into = word == "into" && !writes;
        let lock = if word == "for" { lock_words(shape, index) } else { 0 };
        if into || lock > 0 {
            let last = index + lock;
            let (message, fix) = if into {
                ("SELECT INTO makes a table", "leave INTO out; `[target]` names the table")
            } else {
                ("a locking clause in the query", "leave it out; staging reads one snapshot")
            };
            found.push(
                Diagnostic::error(ErrorCode::SelectIntoOrLock, file, message)
                    .at(shape.span(index, last))
                    .why("the query may only read: it is run again at any time, beside other work")
                    .fix(fix),
            );
        }
    }
}

/// Words behind FOR in `for update`, `for share`, `for no key update`, `for key share`; 0 where it locks nothing.
fn lock_words(shape: &Shape<'_>, index: usize) -> usize {
    let locks: [&[&str]; 4] = [&["update"], &["share"], &["no", "key", "update"], &["key", "share"]];
    locks
        .into_iter()
        .find(|words| words.iter().enumerate().all(|(nth, word)| shape.is(index + 1 + nth, word)))
        .map_or(0, <[&str]>::len)
}
