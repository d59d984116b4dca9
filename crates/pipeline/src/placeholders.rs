//! Turns `:interval_start` and the names of `[vars]` into numbered parameters, and finds the way back from a place in
//! the text that the server saw to the place in the file.

use std::collections::BTreeMap;
use std::ops::Range;

use thrice_core::Grain;
use thrice_core::code::ErrorCode;
use thrice_core::text::did_you_mean;
use thrice_core::time::{Timestamp, civil};

use crate::diagnostic::{Diagnostic, Diagnostics, Position};
use crate::own_target::OwnTarget;
use crate::query_shape::Shape;
use crate::sql_lexer::{self, Token, TokenKind};
use crate::{Checked, cron_lint, lint, select_guard, source_text};

/// Names that thrice gives a value itself.
pub const BUILT_IN: [&str; 3] = ["interval_start", "interval_end", "interval_date"];

/// A value of `[vars]`. Its type in SQL is fixed by how it is written in TOML.
#[derive(Debug, Clone, PartialEq)]
pub enum VarValue {
    /// `text`
    Text(String),
    /// `bigint`
    Integer(i64),
    /// `double precision`
    Float(f64),
    /// `boolean`
    Bool(bool),
    /// `date`
    Date(civil::Date),
    /// `timestamp`: a wall clock time, in whole microseconds.
    LocalTime(civil::DateTime),
    /// `timestamptz`: an instant, in whole microseconds.
    Instant(Timestamp),
}

impl VarValue {
    /// The SQL type that the value is sent as.
    pub const fn sql_type(&self) -> &'static str {
        match self {
            Self::Text(_) => "text",
            Self::Integer(_) => "bigint",
            Self::Float(_) => "double precision",
            Self::Bool(_) => "boolean",
            Self::Date(_) => "date",
            Self::LocalTime(_) => "timestamp",
            Self::Instant(_) => "timestamptz",
        }
    }

    /// As JSON, which keeps the difference between the types; a float that JSON cannot hold is written as text.
    pub fn to_json(&self) -> serde_json::Value {
        match self {
            Self::Text(text) => text.as_str().into(),
            Self::Integer(integer) => (*integer).into(),
            Self::Float(float) => {
                serde_json::Number::from_f64(*float).map_or_else(|| float.to_string().into(), Into::into)
            }
            Self::Bool(value) => (*value).into(),
            Self::Date(date) => date.to_string().into(),
            Self::LocalTime(time) => time.to_string().into(),
            Self::Instant(at) => at.to_string().into(),
        }
    }
}

/// What the caller sends for one parameter.
#[derive(Debug, Clone, PartialEq)]
pub enum Param {
    /// First instant of the interval, `timestamptz`.
    IntervalStart,
    /// First instant after the interval, `timestamptz`.
    IntervalEnd,
    /// Local date of the interval's start, `date`.
    IntervalDate,
    /// A value of `[vars]` with its name.
    Var(String, VarValue),
}

impl Param {
    /// The SQL type that the text casts it to.
    pub const fn sql_type(&self) -> &'static str {
        match self {
            Self::IntervalStart | Self::IntervalEnd => "timestamptz",
            Self::IntervalDate => "date",
            Self::Var(_, value) => value.sql_type(),
        }
    }
}

/// A query ready to be sent: placeholders are numbered and cast, a trailing `;` and what follows it are gone.
///
/// ```
/// use thrice_core::Grain;
/// use thrice_pipeline::placeholders::{Param, Query};
///
/// let file = b"select id from t\nwhere at >= :interval_start and at < :interval_end;";
/// let query = Query::read("q.sql", file, &Grain::Day, &Default::default())?.value;
/// assert_eq!(query.text(), "select id from t\nwhere at >= $1::timestamptz and at < $2::timestamptz");
/// assert_eq!(query.params(), [Param::IntervalStart, Param::IntervalEnd]);
/// // character 50 of what the server sees is the `at` of the second comparison
/// assert_eq!(query.position(50).map(|place| place.to_string()).as_deref(), Some("2:33"));
/// # Ok::<(), thrice_pipeline::diagnostic::Diagnostics>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Query {
    file: String,
    source: String,
    text: String,
    params: Vec<Param>,
    pieces: Vec<Piece>,
    tokens: Vec<Token>,
    names_target: bool,
}

/// A piece of the rendered text and where it comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Piece {
    /// Bytes of the rendered text.
    rendered: Range<usize>,
    /// Bytes of the file.
    source: Range<usize>,
}

impl Query {
    /// Reads a query file: encoding, one SELECT, placeholders, lint.
    ///
    /// # Errors
    /// Every fault that stops the pipeline, together with the warnings.
    pub fn read(
        file: &str,
        bytes: &[u8],
        grain: &Grain,
        vars: &BTreeMap<String, VarValue>,
    ) -> Result<Checked<Self>, Diagnostics> {
        Self::read_for(file, bytes, grain, vars, None)
    }

    /// The same for a query whose rows go into a known target.
    pub(crate) fn read_for(
        file: &str,
        bytes: &[u8],
        grain: &Grain,
        vars: &BTreeMap<String, VarValue>,
        target: Option<&OwnTarget<'_>>,
    ) -> Result<Checked<Self>, Diagnostics> {
        let sql = source_text::read(file, bytes)?;
        let (tokens, open) = sql_lexer::tokens_before_unclosed(sql);
        let mut found = Diagnostics::new();
        found.extend(select_guard::templates(file, sql, &tokens));
        if let Some(open) = open {
            found.push(select_guard::unclosed(file, &open));
        }
        if found.has_errors() {
            return Err(found);
        }
        let statement = select_guard::only_statement(file, sql, &tokens)?;
        let (shape, unbalanced) = Shape::of(sql, statement);
        if let Some(unbalanced) = unbalanced {
            return Err(select_guard::unbalanced(file, &shape, unbalanced).into());
        }
        found.extend(select_guard::check(file, &shape));
        if found.has_errors() {
            return Err(found);
        }
        let mut query = Self::render(file, sql, statement, grain, vars, &mut found);
        let named = target.and_then(|target| target.named_in(&shape));
        query.names_target = named.is_some() || lint::allows(sql, &tokens, lint::OWN_TARGET);
        found.extend(lint::check(file, sql, &tokens, &shape, grain, named));
        let column = target.and_then(|target| target.interval_column);
        found.extend(column.and_then(|column| cron_lint::check(file, grain, &shape, column)));
        found.or(Some(query))
    }

    fn render(
        file: &str,
        sql: &str,
        statement: &[Token],
        grain: &Grain,
        vars: &BTreeMap<String, VarValue>,
        found: &mut Diagnostics,
    ) -> Self {
        let end = statement.iter().rposition(Token::is_code).map_or(0, |last| last + 1);
        let tokens = &statement[..end];
        let (mut text, mut pieces) = (String::with_capacity(sql.len()), Vec::new());
        let (mut params, mut numbers) = (Vec::new(), BTreeMap::new());
        for (nth, token) in tokens.iter().enumerate() {
            let from = text.len();
            if token.kind == TokenKind::Placeholder {
                let name = token.text(sql).trim_start_matches(':');
                match resolve(name, grain, vars) {
                    Ok(param) => {
                        let sql_type = param.sql_type();
                        let number = *numbers.entry(name.to_owned()).or_insert_with(|| {
                            params.push(param);
                            params.len()
                        });
                        // `then:x` must not become the name `then$1`
                        if text.ends_with(sql_lexer::is_name_part) {
                            text.push(' ');
                        }
                        // `:x[1]` must not become a cast to an array
                        let next = tokens[nth + 1..].iter().find(|token| token.is_code());
                        let (open, close) =
                            if next.is_some_and(|token| token.text(sql) == "[") { ("(", ")") } else { ("", "") };
                        text.push_str(&[open, "$", &number.to_string(), "::", sql_type, close].concat());
                    }
                    Err(explain) => found.push(explain(file).at(token.span.clone())),
                }
            } else if token.kind == TokenKind::Dollar {
                found.push(
                    Diagnostic::error(
                        ErrorCode::UnknownPlaceholder,
                        file,
                        format!("`{}` has no value", token.text(sql)),
                    )
                    .at(token.span.clone())
                    .why("numbers of parameters are given by thrice")
                    .fix("write `:interval_start`, `:interval_end`, or a name of `[vars]` as `:name`"),
                );
            } else {
                text.push_str(token.text(sql));
            }
            pieces.push(Piece { rendered: from..text.len(), source: token.span.clone() });
        }
        let tokens = tokens.iter().filter(|token| token.is_code()).cloned().collect();
        Self { file: file.to_owned(), source: sql.to_owned(), text, params, pieces, tokens, names_target: false }
    }

    /// The text to send. It may hold comments; it ends with code, so that anything may follow.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// What `$1`, `$2` … stand for, in order.
    pub fn params(&self) -> &[Param] {
        &self.params
    }

    /// It names its own pipeline's target as a relation, or says why that does no harm: lint has told.
    pub const fn names_target(&self) -> bool {
        self.names_target
    }

    /// Name of the file.
    pub fn file(&self) -> &str {
        &self.file
    }

    /// The file as it was read.
    pub fn source(&self) -> &str {
        &self.source
    }

    /// The tokens of the query without comments and white space, as they stand in the file.
    pub fn code(&self) -> impl Iterator<Item = (TokenKind, &str)> {
        self.tokens.iter().map(|token| (token.kind, token.text(&self.source)))
    }

    /// Byte of the file behind a position that the server names: characters of [`text`](Self::text), from 1.
    ///
    /// Inside a placeholder it is the placeholder's start. `None` past the end of the text.
    pub fn source_offset(&self, character: usize) -> Option<usize> {
        let (offset, _) = self.text.char_indices().nth(character.checked_sub(1)?)?;
        let piece = self.pieces.iter().find(|piece| piece.rendered.contains(&offset))?;
        let inside = offset - piece.rendered.start;
        let copied = piece.rendered.len() == piece.source.len()
            && self.text.get(piece.rendered.clone()) == self.source.get(piece.source.clone());
        Some(piece.source.start + if copied { inside } else { 0 })
    }

    /// Line and column of the file behind a position that the server names.
    pub fn position(&self, character: usize) -> Option<Position> {
        self.source_offset(character).map(|offset| Position::of(&self.source, offset))
    }
}

/// Says why a name has no value, in a file of this name.
pub(crate) type Explain = Box<dyn Fn(&str) -> Diagnostic>;

/// What a placeholder's name stands for.
pub(crate) fn resolve(name: &str, grain: &Grain, vars: &BTreeMap<String, VarValue>) -> Result<Param, Explain> {
    match name {
        "interval_start" | "interval_end" | "interval_date" if *grain == Grain::Table => {
            let what = format!("`:{name}` in a pipeline of grain table");
            return Err(Box::new(move |file| {
                Diagnostic::error(ErrorCode::UnknownPlaceholder, file, what.clone())
                    .why("the whole table is one partition, which neither begins nor ends")
                    .fix("leave the condition out, or name another grain in [interval]")
            }));
        }
        "interval_start" => return Ok(Param::IntervalStart),
        "interval_end" => return Ok(Param::IntervalEnd),
        "interval_date" if grain.is_whole_dates() => return Ok(Param::IntervalDate),
        "interval_date" => {
            let grain = grain.to_string();
            return Err(Box::new(move |file| {
                Diagnostic::error(
                    ErrorCode::UnknownPlaceholder,
                    file,
                    format!("`:interval_date` in a pipeline of grain {grain}"),
                )
                .why("many intervals share a date, so a date does not say which one is meant")
                .fix("use `:interval_start` and `:interval_end`")
            }));
        }
        _ => {}
    }
    if let Some(value) = vars.get(name) {
        return Ok(Param::Var(name.to_owned(), value.clone()));
    }
    let of_grain = |known: &&str| *grain != Grain::Table && (grain.is_whole_dates() || *known != "interval_date");
    let built_in = BUILT_IN.into_iter().filter(of_grain);
    let nearest = did_you_mean(name, built_in.chain(vars.keys().map(String::as_str))).map(str::to_owned);
    let name = name.to_owned();
    Err(Box::new(move |file| {
        let diagnostic =
            Diagnostic::error(ErrorCode::UnknownPlaceholder, file, format!("unknown placeholder `:{name}`"))
                .why("a placeholder is part of the interval or a name of `[vars]`");
        match &nearest {
            Some(nearest) => diagnostic.label(format!("did you mean `:{nearest}`?")).fix(format!("write `:{nearest}`")),
            None => diagnostic.fix(format!("give it a value under `[vars]`: {name} = …")),
        }
    }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn read(sql: &str) -> Query {
        let vars = BTreeMap::from([("region".to_owned(), VarValue::Text("kr".to_owned()))]);
        Query::read("q.sql", sql.as_bytes(), &Grain::Day, &vars).unwrap().value
    }

    #[test]
    fn each_name_is_one_parameter() {
        let query = read(
            "\u{feff}-- 매출\nselect :region as r, '가:region' from t where d >= :interval_start and d < :interval_end \
             and e >= :interval_start::date and r = :region -- end\n ; -- done\n",
        );
        assert_eq!(
            query.text(),
            "-- 매출\nselect $1::text as r, '가:region' from t where d >= $2::timestamptz and d < $3::timestamptz \
             and e >= $2::timestamptz::date and r = $1::text"
        );
        let region = Param::Var("region".to_owned(), VarValue::Text("kr".to_owned()));
        assert_eq!(query.params(), [region, Param::IntervalStart, Param::IntervalEnd]);
    }

    #[test]
    fn positions_lead_back() {
        let query = read("select '가나', :region\nfrom t where d >= :interval_start and oops");
        let at = |needle: &str| {
            let byte = query.text().find(needle).unwrap();
            let character = query.text()[..byte].chars().count() + 1;
            query.position(character).unwrap().to_string()
        };
        assert_eq!(at("select"), "1:1");
        assert_eq!(at("$1"), "1:14");
        assert_eq!(at("::text"), "1:14", "inside a placeholder: its start");
        assert_eq!(at("from"), "2:1");
        assert_eq!(at("oops"), "2:39");
        assert_eq!(query.position(0), None);
        assert_eq!(query.position(10_000), None);
    }

    #[test]
    fn placeholders_do_not_grow_into_their_neighbours() {
        let text = |sql: &str| read(&format!("{sql} from t where d >= :interval_start and d < :interval_end")).text;
        assert!(text("select:region").starts_with("select $1::text from"));
        assert!(text("select case when a then:region else'b'end").contains("then $1::text else"));
        assert!(text("select :region /* first */ [1]").contains("($1::text) /* first */ [1]"));
        assert!(text("select array[:region]").contains("array[$1::text]"));
    }

    #[test]
    fn values_keep_the_type_they_were_written_with() {
        let values: [(VarValue, &str); 3] = [
            (VarValue::Date("2026-01-01".parse().unwrap()), "$1::date"),
            (VarValue::LocalTime("2026-01-01T02:03:04".parse().unwrap()), "$1::timestamp"),
            (VarValue::Instant("2026-01-01T00:00:00Z".parse().unwrap()), "$1::timestamptz"),
        ];
        for (value, text) in values {
            let vars = BTreeMap::from([("since".to_owned(), value)]);
            let sql = "select a from t where b > :since and at >= :interval_start and at < :interval_end";
            let query = Query::read("q.sql", sql.as_bytes(), &Grain::Day, &vars).unwrap().value;
            assert!(query.text().contains(&format!("b > {text} and at >= $2::timestamptz")), "{}", query.text());
        }
    }

    proptest! {
        #[test]
        fn every_file_is_read_or_refused(sql in r"(select|with|from|where|:interval_start|:interval_end|:x|between|and|for update|[ -~\n가]|\(|\)|\[|\]|\$1|;|''|now\(\)|limit 1|as|union){0,30}") {
            match Query::read("q.sql", sql.as_bytes(), &Grain::Hour, &BTreeMap::new()) {
                Ok(query) => {
                    let query = query.value;
                    for (nth, _) in query.text().chars().enumerate() {
                        prop_assert!(query.source_offset(nth + 1).is_some_and(|at| sql.is_char_boundary(at)));
                    }
                }
                Err(found) => {
                    prop_assert!(found.has_errors());
                    for diagnostic in &found {
                        let span = diagnostic.span.clone().unwrap_or_default();
                        prop_assert!(sql.get(span.clone()).is_some(), "{:?} of {:?}", span, diagnostic);
                    }
                }
            }
        }
    }
}
