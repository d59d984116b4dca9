//! A lexer for the text of a PostgreSQL query, to find what is code and what is string, name or comment.
//!
//! It follows the PostgreSQL manual, "Lexical Structure", with `standard_conforming_strings` on: plain, escape and
//! Unicode strings, quoted names, dollar quotes, nested comments. It is no parser; the server is.

use std::ops::Range;

/// One token with its place in bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Token {
    /// What it is.
    pub kind: TokenKind,
    /// Where it is. Tokens follow each other without a gap.
    pub span: Range<usize>,
}

/// The kinds of tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum TokenKind {
    /// Blanks and line ends.
    White,
    /// `-- …` to the end of the line, without it.
    LineComment,
    /// `/* … */`, nested.
    BlockComment,
    /// A bare word: keyword or name.
    Word,
    /// A name in double quotes, also `U&"…"`.
    QuotedName,
    /// A string of any form.
    String,
    /// A number.
    Number,
    /// `:name`, a value that thrice binds.
    Placeholder,
    /// `$1`, which only the server's protocol knows.
    Dollar,
    /// `::`
    Cast,
    /// `;`
    Semicolon,
    /// `(`, `)`, `[`, `]`, `{`, `}`, `,`, `.`, a bare `:` and everything else of one character.
    Punctuation,
    /// One or more operator characters, also `:=`.
    Operator,
}

impl Token {
    /// Neither white space nor comment.
    pub const fn is_code(&self) -> bool {
        !matches!(self.kind, TokenKind::White | TokenKind::LineComment | TokenKind::BlockComment)
    }

    /// The text of the token.
    pub fn text<'a>(&self, sql: &'a str) -> &'a str {
        sql.get(self.span.clone()).unwrap_or_default()
    }
}

/// Something that was opened and not closed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("this {what} is not closed")]
pub struct Unclosed {
    /// What was opened.
    pub what: &'static str,
    /// The characters that open it.
    pub span: Range<usize>,
}

/// Splits a query into tokens that together cover the whole text.
///
/// # Errors
/// [`Unclosed`] where a string, a quoted name, a dollar quote or a comment runs into the end of the text.
pub fn tokens(sql: &str) -> Result<Vec<Token>, Unclosed> {
    match tokens_before_unclosed(sql) {
        (tokens, None) => Ok(tokens),
        (_, Some(open)) => Err(open),
    }
}

/// The tokens of the whole text, or those before the thing that is not closed.
pub fn tokens_before_unclosed(sql: &str) -> (Vec<Token>, Option<Unclosed>) {
    let mut lexer = Lexer { sql, at: 0, brackets: Vec::new(), before: Before::Nothing, tokens: Vec::new() };
    if sql.starts_with(BYTE_ORDER_MARK) {
        lexer.push(TokenKind::White, BYTE_ORDER_MARK.len_utf8());
    }
    while lexer.at < sql.len() {
        if let Err(open) = lexer.step() {
            return (lexer.tokens, Some(open));
        }
    }
    (lexer.tokens, None)
}

/// Some editors put it at the start of a file; it says nothing.
const BYTE_ORDER_MARK: char = '\u{feff}';

struct Lexer<'a> {
    sql: &'a str,
    at: usize,
    brackets: Vec<Bracket>,
    before: Before,
    tokens: Vec<Token>,
}

/// What is open.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Bracket {
    /// `a[…]`, where a colon parts the bounds of a slice.
    Subscript,
    /// `array[…]` and the lists in it.
    Elements,
    /// `(…)`
    Round,
}

/// What stands before the next token.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Before {
    /// Nothing that has a value: an operator, a comma, the start.
    Nothing,
    /// The word `array`.
    Array,
    /// A string or a number.
    Literal,
    /// Something else that may be subscripted.
    Value,
}

const OPERATOR: &str = "+-*/<>=~!@#%^&|`?";

impl Lexer<'_> {
    fn rest(&self) -> &str {
        &self.sql[self.at..]
    }

    fn push(&mut self, kind: TokenKind, length: usize) {
        let span = self.at..self.at + length;
        self.at += length;
        let text = &self.sql[span.clone()];
        match (kind, text) {
            (TokenKind::White | TokenKind::LineComment | TokenKind::BlockComment, _) => {}
            (TokenKind::Punctuation, "[") => {
                let subscript = matches!(self.before, Before::Value | Before::Literal);
                self.brackets.push(if subscript { Bracket::Subscript } else { Bracket::Elements });
                self.before = Before::Nothing;
            }
            (TokenKind::Punctuation, "(") => {
                self.brackets.push(Bracket::Round);
                self.before = Before::Nothing;
            }
            (TokenKind::Punctuation, "]" | ")") => {
                self.brackets.pop();
                self.before = Before::Value;
            }
            (TokenKind::Word, word) if word.eq_ignore_ascii_case("array") => self.before = Before::Array,
            (TokenKind::String | TokenKind::Number, _) => self.before = Before::Literal,
            (TokenKind::Word | TokenKind::QuotedName | TokenKind::Placeholder | TokenKind::Dollar, _) => {
                self.before = Before::Value;
            }
            (TokenKind::Punctuation | TokenKind::Cast | TokenKind::Semicolon | TokenKind::Operator, _) => {
                self.before = Before::Nothing;
            }
        }
        self.tokens.push(Token { kind, span });
    }

    fn step(&mut self) -> Result<(), Unclosed> {
        let rest = self.rest();
        let Some(first) = rest.chars().next() else { return Ok(()) };
        let second = rest[first.len_utf8()..].chars().next();
        match first {
            c if is_space(c) => {
                let length = prefix(rest, is_space);
                self.push(TokenKind::White, length);
            }
            '-' if second == Some('-') => {
                let length = rest.find(['\n', '\r']).unwrap_or(rest.len());
                self.push(TokenKind::LineComment, length);
            }
            '/' if second == Some('*') => {
                let length = block_comment(rest).ok_or_else(|| self.unclosed("comment", 2))?;
                self.push(TokenKind::BlockComment, length);
            }
            '\'' => self.quoted(TokenKind::String, "string", 1, '\'', false)?,
            '"' => self.quoted(TokenKind::QuotedName, "quoted name", 1, '"', false)?,
            'e' | 'E' if second == Some('\'') => self.quoted(TokenKind::String, "string", 2, '\'', true)?,
            'b' | 'B' | 'x' | 'X' | 'n' | 'N' if second == Some('\'') => {
                self.quoted(TokenKind::String, "string", 2, '\'', false)?;
            }
            'u' | 'U' if rest[1..].starts_with("&'") => self.quoted(TokenKind::String, "string", 3, '\'', false)?,
            'u' | 'U' if rest[1..].starts_with("&\"") => {
                self.quoted(TokenKind::QuotedName, "quoted name", 3, '"', false)?;
            }
            '$' => self.dollar()?,
            c if is_name_start(c) => {
                let length = prefix(rest, is_name_part);
                self.push(TokenKind::Word, length);
            }
            c if c.is_ascii_digit() => self.number(),
            '.' if second.is_some_and(|c| c.is_ascii_digit())
                && !matches!(self.before, Before::Value | Before::Literal) =>
            {
                self.number();
            }
            ':' => self.colon(),
            ';' => self.push(TokenKind::Semicolon, 1),
            c if OPERATOR.contains(c) => {
                let length = operator(rest);
                self.push(TokenKind::Operator, length);
            }
            c => self.push(TokenKind::Punctuation, c.len_utf8()),
        }
        Ok(())
    }

    fn unclosed(&self, what: &'static str, length: usize) -> Unclosed {
        Unclosed { what, span: self.at..self.at + length }
    }

    /// A string or name between quotes; a doubled quote stands for itself, a backslash only in `E'…'`.
    fn quoted(
        &mut self,
        kind: TokenKind,
        what: &'static str,
        opening: usize,
        quote: char,
        escapes: bool,
    ) -> Result<(), Unclosed> {
        let rest = self.rest();
        let mut chars = rest[opening..].char_indices().peekable();
        while let Some((at, c)) = chars.next() {
            if escapes && c == '\\' {
                chars.next();
            } else if c == quote && chars.next_if(|(_, next)| *next == quote).is_none() {
                let end = opening + at + 1;
                // an escape string goes on in the next line with its backslashes still meaning something
                let Some(more) = escapes.then(|| continuation(&rest[end..])).flatten() else {
                    self.push(kind, end);
                    return Ok(());
                };
                while chars.next_if(|(at, _)| opening + at < end + more).is_some() {}
            }
        }
        Err(self.unclosed(what, opening))
    }

    /// `$tag$…$tag$`, `$1`, or a stray dollar sign.
    fn dollar(&mut self) -> Result<(), Unclosed> {
        let rest = self.rest();
        let digits = prefix(&rest[1..], |c| c.is_ascii_digit());
        if digits > 0 {
            self.push(TokenKind::Dollar, 1 + digits);
            return Ok(());
        }
        let tag = prefix(&rest[1..], |c| is_name_part(c) && c != '$');
        if !rest[1 + tag..].starts_with('$') {
            self.push(TokenKind::Punctuation, 1);
            return Ok(());
        }
        let mark = &rest[..tag + 2];
        let end = rest[mark.len()..].find(mark).ok_or_else(|| self.unclosed("dollar quote", mark.len()))?;
        self.push(TokenKind::String, mark.len() + end + mark.len());
        Ok(())
    }

    /// Digits with one point and an exponent; `0x…`; underscores between digits.
    fn number(&mut self) {
        let rest = self.rest();
        let radix = rest.get(..2).is_some_and(|two| {
            two.starts_with('0') && matches!(two.as_bytes()[1], b'x' | b'X' | b'o' | b'O' | b'b' | b'B')
        });
        let digit = |c: char| c.is_ascii_digit() || c == '_';
        let length = if radix {
            2 + prefix(&rest[2..], |c| c.is_ascii_hexdigit() || c == '_')
        } else {
            let mut length = prefix(rest, digit);
            if rest[length..].starts_with('.') && !rest[length..].starts_with("..") {
                length += 1;
                length += prefix(&rest[length..], digit);
            }
            let exponent = &rest[length..];
            if exponent.starts_with(['e', 'E']) {
                let sign = usize::from(exponent[1..].starts_with(['+', '-']));
                let digits = prefix(&exponent[1 + sign..], |c| c.is_ascii_digit());
                if digits > 0 {
                    length += 1 + sign + digits;
                }
            }
            length
        };
        self.push(TokenKind::Number, length);
    }

    /// `::`, `:=`, `:name`, or the colon of an array slice.
    fn colon(&mut self) {
        let rest = self.rest();
        if rest.starts_with("::") {
            return self.push(TokenKind::Cast, 2);
        }
        if rest.starts_with(":=") {
            return self.push(TokenKind::Operator, 2);
        }
        // In a[1:n] and a[:n] the colon parts bounds; in a[(:n)] and array[:n] it does not.
        let in_slice = self.brackets.last() == Some(&Bracket::Subscript);
        // json_object('key':value): no value follows a literal, so nothing is to be bound.
        let in_pair = self.before == Before::Literal;
        let name = prefix(&rest[1..], is_name_part);
        if !in_slice && !in_pair && rest[1..].starts_with(is_name_start) {
            return self.push(TokenKind::Placeholder, 1 + name);
        }
        self.push(TokenKind::Punctuation, 1);
    }
}

/// White space as the server's scanner has it.
fn is_space(c: char) -> bool {
    matches!(c, ' ' | '\t' | '\n' | '\r' | '\u{b}' | '\u{c}')
}

fn is_name_start(c: char) -> bool {
    c.is_ascii_alphabetic() || c == '_' || !c.is_ascii()
}

pub(crate) fn is_name_part(c: char) -> bool {
    is_name_start(c) || c.is_ascii_digit() || c == '$'
}

/// Length in bytes of the characters at the start that fit.
fn prefix(text: &str, fits: impl Fn(char) -> bool) -> usize {
    text.find(|c| !fits(c)).unwrap_or(text.len())
}

/// Length of what parts two pieces of one string: blanks and comments with a line end among them, and the next quote.
fn continuation(text: &str) -> Option<usize> {
    let (mut at, mut line_end) = (0, false);
    loop {
        let rest = &text[at..];
        let first = rest.chars().next()?;
        if is_space(first) {
            line_end |= matches!(first, '\n' | '\r');
            at += 1;
        } else if rest.starts_with("--") {
            at += prefix(rest, |c| !matches!(c, '\n' | '\r'));
        } else {
            return (first == '\'' && line_end).then_some(at + 1);
        }
    }
}

/// Length of a comment with its nested ones; `None` when it does not end.
fn block_comment(text: &str) -> Option<usize> {
    let (bytes, mut depth, mut at) = (text.as_bytes(), 0_usize, 0);
    while at + 1 < bytes.len() {
        match &bytes[at..at + 2] {
            b"/*" => (depth, at) = (depth + 1, at + 2),
            b"*/" => {
                (depth, at) = (depth - 1, at + 2);
                if depth == 0 {
                    return Some(at);
                }
            }
            _ => at += 1,
        }
    }
    None
}

/// Length of an operator; it ends where a comment begins.
fn operator(text: &str) -> usize {
    let most = prefix(text, |c| OPERATOR.contains(c));
    let comment = ["--", "/*"].iter().filter_map(|mark| text[..most].find(mark)).min();
    comment.unwrap_or(most)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn code(sql: &str) -> Vec<(TokenKind, &str)> {
        tokens(sql).unwrap().iter().filter(|token| token.is_code()).map(|token| (token.kind, token.text(sql))).collect()
    }

    fn placeholders(sql: &str) -> Vec<&str> {
        code(sql).into_iter().filter(|(kind, _)| *kind == TokenKind::Placeholder).map(|(_, text)| text).collect()
    }

    #[test]
    fn only_code_has_placeholders() {
        assert_eq!(
            placeholders("select :a, ':b', E'\\':c', U&'\\0061:d', \":e\", $$:f$$, $x$ $$:g $x$, 1::int"),
            [":a"]
        );
        assert_eq!(placeholders("select 1 -- :a\n/* :b /* :c */ :d */, :e"), [":e"]);
        assert_eq!(placeholders("select N':x', b'0', 'it''s :y', U&\"\\0061:z\""), [""; 0]);
        assert_eq!(placeholders("where t>=:interval_start and t<:interval_end"), [":interval_start", ":interval_end"]);
    }

    #[test]
    fn slices_and_named_arguments_do_not_bind() {
        assert_eq!(placeholders("select arr[1:interval_end], a[:x], a[n:], f(b := 1)"), [""; 0]);
        assert_eq!(placeholders("select a[(:i)], a[f(:j):k], array[1, 2][1:n]"), [":i", ":j"]);
        assert_eq!(placeholders("select array[:a, f(x[1:n])], ARRAY [[:b], [:c]]"), [":a", ":b", ":c"]);
        assert_eq!(placeholders("select a[1]::text, :b::timestamptz"), [":b"]);
    }

    #[test]
    fn pairs_of_a_json_constructor_do_not_bind() {
        assert_eq!(
            placeholders("select json_object('a':b, 'c' : :d), distinct on (x) :e, 1 in(:f)"),
            [":d", ":e", ":f"]
        );
    }

    #[test]
    fn escapes_belong_to_their_kind_of_string() {
        assert_eq!(code(r"'a\' b"), [(TokenKind::String, r"'a\'"), (TokenKind::Word, "b")]);
        assert_eq!(code(r"e'a\' b'"), [(TokenKind::String, r"e'a\' b'")]);
        assert_eq!(code(r"e'a''b\\' c"), [(TokenKind::String, r"e'a''b\\'"), (TokenKind::Word, "c")]);
        assert_eq!(code("E'a' -- x\n 'b\\' :c' d").len(), 2, "the second piece has escapes too");
        assert_eq!(placeholders("select E'a'\n'\\'' , :b, 'a'\n'\\', :c, E'd' '\\', :e"), [":b", ":c", ":e"]);
        assert_eq!(code("a$b$c$b$")[0], (TokenKind::Word, "a$b$c$b$"), "a dollar sign inside a name quotes nothing");
    }

    #[test]
    fn numbers_operators_and_comments_part() {
        assert_eq!(code("1.5e-3+.5")[0], (TokenKind::Number, "1.5e-3"));
        assert_eq!(code("a+--b\n1"), [(TokenKind::Word, "a"), (TokenKind::Operator, "+"), (TokenKind::Number, "1")]);
        assert_eq!(code("2*/*x*/3").len(), 3);
        assert_eq!(code("$1")[0].0, TokenKind::Dollar);
    }

    #[test]
    fn a_byte_order_mark_is_blank() {
        assert_eq!(code("\u{feff}select")[0].1, "select");
        assert_eq!(placeholders("\u{feff}:a"), [":a"]);
    }

    #[test]
    fn what_is_open_says_where() {
        for (sql, what, span) in [
            ("select 'a", "string", 7..8),
            ("select E'a\\'", "string", 7..9),
            ("select \"a", "quoted name", 7..8),
            ("select $q$ a $$", "dollar quote", 7..10),
            ("select 1 /* a /* b */", "comment", 9..11),
            ("select U&'a", "string", 7..10),
        ] {
            assert_eq!(tokens(sql), Err(Unclosed { what, span }), "{sql}");
        }
    }

    proptest! {
        #[test]
        fn tokens_cover_any_text(sql in r#"([ -~\n가é]|\$\$|--|/\*|\*/|E'|U&"|:[a-z]|::|\[|\]){0,60}"#) {
            match tokens(&sql) {
                Ok(tokens) => {
                    let mut at = 0;
                    for token in &tokens {
                        prop_assert_eq!(token.span.start, at);
                        prop_assert!(token.span.end > at && sql.is_char_boundary(token.span.end));
                        at = token.span.end;
                    }
                    prop_assert_eq!(at, sql.len());
                }
                Err(open) => prop_assert!(sql.get(open.span).is_some_and(|text| !text.is_empty())),
            }
        }

        #[test]
        fn any_characters_do(sql in any::<String>()) {
            let covered: usize = tokens(&sql).map_or(sql.len(), |tokens| tokens.iter().map(|t| t.span.len()).sum());
            prop_assert_eq!(covered, sql.len());
        }
    }
}
