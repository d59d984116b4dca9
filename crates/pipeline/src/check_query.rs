//! `[[checks]] sql`: one SELECT that finds what is wrong. It reads the rows that are checked as `staged`.

use std::collections::BTreeMap;

use thrice_core::Grain;
use thrice_core::code::ErrorCode;

use crate::diagnostic::{Diagnostic, Diagnostics};
use crate::placeholders::{self, Param, VarValue};
use crate::query_shape::Shape;
use crate::select_guard;
use crate::sql_lexer::{self, Token, TokenKind};
use crate::toml_reader::{Field, Reader};

/// The query in pieces, without a `;` and a comment at its end.
#[derive(Debug, Clone, PartialEq)]
pub struct CheckQuery {
    /// As it was written, up to its end.
    pub source: String,
    /// The same: text, and the values that are put in the places of placeholders.
    pub parts: Vec<Part>,
}

/// A piece of the query.
#[derive(Debug, Clone, PartialEq)]
pub enum Part {
    /// Text that nothing is put into.
    Text(String),
    /// A value.
    Value(Param),
}

/// What placeholders may stand for.
#[derive(Clone, Copy)]
pub(crate) struct Known<'a> {
    pub(crate) grain: &'a Grain,
    pub(crate) vars: &'a BTreeMap<String, VarValue>,
}

/// What is said of a query that is none, by the key that it stands in.
pub(crate) struct Wording {
    /// Why there must be a query.
    pub(crate) empty: &'static str,
    /// Why it must only read.
    pub(crate) reads: &'static str,
    /// How it is written.
    pub(crate) example: &'static str,
}

/// Of `sql`.
pub(crate) const FINDS: Wording = Wording {
    empty: "the check passes where its query finds no row",
    reads: "a check only looks: it finds what is wrong",
    example: "sql = \"select order_no from staged where total_amount <> paid + open\"",
};

pub(crate) fn read(
    reader: &mut Reader<'_, '_>,
    text: &str,
    field: &Field<'_>,
    known: Known<'_>,
    wording: &Wording,
) -> Option<CheckQuery> {
    match of(text, known) {
        Ok(query) => Some(query),
        Err(found) => {
            for diagnostic in &found {
                let placed = place(reader, diagnostic, text, field, wording);
                reader.report(placed);
            }
            None
        }
    }
}

/// The places of a diagnostic are those of the text: the file has it somewhere else. Some words are about pipelines.
fn place(
    reader: &Reader<'_, '_>,
    diagnostic: &Diagnostic,
    text: &str,
    field: &Field<'_>,
    wording: &Wording,
) -> Diagnostic {
    let nothing = diagnostic.code == ErrorCode::NoStatement;
    let message = if nothing { "it holds no query" } else { &diagnostic.message };
    let at = diagnostic.span.clone().unwrap_or_default();
    let placed = reader
        .error(diagnostic.code, format!("`{}`: {message}", field.path))
        .at(reader.part_of_string(field, text, at))
        .label(diagnostic.label.clone());
    if nothing {
        placed.why(wording.empty).fix(wording.example)
    } else if diagnostic.code == ErrorCode::NotASelect {
        placed.why(wording.reads).fix(wording.example)
    } else {
        placed.why(diagnostic.why.clone()).fix(diagnostic.fix.clone())
    }
}

fn of(text: &str, known: Known<'_>) -> Result<CheckQuery, Diagnostics> {
    let file = "";
    let (tokens, open) = sql_lexer::tokens_before_unclosed(text);
    let mut found = Diagnostics::new();
    found.extend(select_guard::templates(file, text, &tokens));
    if let Some(open) = open {
        found.push(select_guard::unclosed(file, &open));
    }
    if found.has_errors() {
        return Err(found);
    }
    let statement = select_guard::only_statement(file, text, &tokens)?;
    let (shape, unbalanced) = Shape::of(text, statement);
    if let Some(unbalanced) = unbalanced {
        return Err(select_guard::unbalanced(file, &shape, unbalanced).into());
    }
    found.extend(select_guard::check(file, &shape));
    let query = pieces(text, statement, known, &mut found);
    if found.has_errors() { Err(found) } else { Ok(query) }
}

fn pieces(text: &str, statement: &[Token], known: Known<'_>, found: &mut Diagnostics) -> CheckQuery {
    let code = statement.iter().rposition(Token::is_code).map_or(0, |last| last + 1);
    let mut parts = Vec::new();
    let mut plain = String::new();
    for token in &statement[..code] {
        if token.kind == TokenKind::Placeholder {
            match placeholders::resolve(token.text(text).trim_start_matches(':'), known.grain, known.vars) {
                Ok(value) => parts.extend([Part::Text(std::mem::take(&mut plain)), Part::Value(value)]),
                Err(explain) => found.push(explain("").at(token.span.clone())),
            }
        } else if token.kind == TokenKind::Dollar {
            found.push(
                Diagnostic::error(ErrorCode::UnknownPlaceholder, "", format!("`{}` has no value", token.text(text)))
                    .at(token.span.clone())
                    .why("numbers of parameters are given by thrice")
                    .fix("write `:interval_start`, `:interval_end`, or a name of `[vars]` as `:name`"),
            );
        } else {
            plain.push_str(token.text(text));
        }
    }
    parts.push(Part::Text(plain));
    let ends = |token: &Token| token.span.end;
    let (from, to) = (statement.first().map_or(0, |token| token.span.start), statement[..code].last().map_or(0, ends));
    CheckQuery { source: text.get(from..to).unwrap_or_default().trim_start().to_owned(), parts }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<CheckQuery, Vec<(&'static str, std::ops::Range<usize>)>> {
        let vars = BTreeMap::from([("region".to_owned(), VarValue::Text("kr".to_owned()))]);
        of(text, Known { grain: &Grain::Day, vars: &vars })
            .map_err(|found| found.iter().map(|one| (one.code.id(), one.span.clone().unwrap_or_default())).collect())
    }

    #[test]
    fn a_query_is_cut_where_values_go() {
        let query =
            read("select 1 from staged where at<:interval_start and ':x' <>:region -- end\n; -- done\n").unwrap();
        let text = |text: &str| Part::Text(text.to_owned());
        assert_eq!(
            query.parts,
            [
                text("select 1 from staged where at<"),
                Part::Value(Param::IntervalStart),
                text(" and ':x' <>"),
                Part::Value(Param::Var("region".to_owned(), VarValue::Text("kr".to_owned()))),
                text(""),
            ]
        );
        assert_eq!(query.source, "select 1 from staged where at<:interval_start and ':x' <>:region");
    }

    #[test]
    fn what_is_no_reading_query_is_refused_at_its_place() {
        for (text, code, at) in [
            ("delete from staged", "TH0303", 0..6),
            ("select 1; select 2", "TH0302", 10..18),
            ("select 1) x, (select 2", "TH0310", 8..9),
            ("select 'a", "TH0310", 7..8),
            ("select $1", "TH0306", 7..9),
            ("select :regoin", "TH0306", 7..14),
        ] {
            assert_eq!(read(text).unwrap_err(), [(code, at)], "{text}");
        }
        assert!(read("").is_err() && read("-- nothing").is_err() && read("select 1 for update").is_err());
    }
}
