//! Reads TOML tables key by key with their places: every key is taken, refused by name, or reported as unknown.

use std::collections::BTreeSet;

use thrice_core::code::ErrorCode;
use thrice_core::duration::HumanDuration;
use thrice_core::identifier::{Identifier, IdentifierError, TableName};
use thrice_core::text::{did_you_mean, printable};
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use crate::diagnostic::{Diagnostic, Diagnostics, Span};
use crate::keys::{self, Built, File, Key, Kind};
use crate::{secrets, source_text, toml_string};

/// Parses a file into its outermost table, or says why it is none.
pub(crate) fn parse<'a>(file: &str, bytes: &'a [u8], required: &str) -> Result<(&'a str, DeTable<'a>), Diagnostics> {
    let text = source_text::read(file, bytes)?;
    let blank = |line: &str| line.trim().is_empty() || line.trim_start().starts_with('#');
    if text.trim_start_matches('\u{feff}').lines().all(blank) {
        return Err(Diagnostic::error(ErrorCode::FileEmpty, file, "the file says nothing")
            .at(0..text.len())
            .fix(format!("it needs at least {required}"))
            .into());
    }
    let (table, errors) = DeTable::parse_recoverable(text);
    let found = if errors.is_empty() { secrets::find(file, &table) } else { syntax_errors(file, text, &errors) };
    if found.is_empty() { Ok((text, table.into_inner())) } else { Err(found) }
}

/// The first fault of the text, and every key that is there twice.
fn syntax_errors(file: &str, text: &str, errors: &[toml::de::Error]) -> Diagnostics {
    let mut found = Diagnostics::new();
    let mut errors: Vec<(Span, &str)> =
        errors.iter().map(|error| (error.span().unwrap_or(0..text.len()), error.message())).collect();
    errors.sort_by_key(|(span, _)| span.start);
    if let Some(line) = yaml_line(text) {
        let mut diagnostic = Diagnostic::error(ErrorCode::NotToml, file, "this looks like YAML, not TOML")
            .at(line.clone())
            .label("TOML writes `key = value` and `[table]`")
            .fix("[interval]\ngrain = \"day\"");
        diagnostic.hide_source = secrets::line_has_one(text, &line);
        found.push(diagnostic);
        return found;
    }
    let (twice, broken): (Vec<_>, Vec<_>) = errors.into_iter().partition(|(_, message)| *message == "duplicate key");
    if let Some((span, message)) = broken.into_iter().next() {
        let mut diagnostic = Diagnostic::error(ErrorCode::NotToml, file, format!("not TOML: {message}"))
            .at(span.clone())
            .why("TOML writes `key = value` and `[table]`; text stands in quotes")
            .fix("correct this place: the file is read up to here");
        diagnostic.hide_source = secrets::line_has_one(text, &span);
        found.push(diagnostic);
    }
    for (span, _) in twice {
        let key = text.get(span.clone()).unwrap_or_default();
        let mut diagnostic = Diagnostic::error(ErrorCode::NotToml, file, format!("`{key}` is there twice"))
            .at(span.clone())
            .label("again");
        if let Some(first) = first_use(text, key, span.start) {
            diagnostic = diagnostic.also(file, first, "first here");
        }
        diagnostic.hide_source = secrets::line_has_one(text, &span);
        found.push(diagnostic.fix("keep one of the two"));
    }
    found
}

/// The nearest earlier `key =` or `[key]`.
fn first_use(text: &str, key: &str, before: usize) -> Option<Span> {
    let head = text.get(..before)?;
    head.match_indices(key)
        .filter(|(at, _)| {
            let ahead = head[..*at].trim_end_matches([' ', '\t']);
            let behind = text[at + key.len()..].trim_start_matches([' ', '\t']);
            let starts = ahead.is_empty() || ahead.ends_with(['\n', '[', '{', ',', '.', '\u{feff}']);
            starts && behind.starts_with(['=', ']', '.'])
        })
        .last()
        .map(|(at, _)| at..at + key.len())
}

/// The first line that is `key:` or `---`, in a file whose first line of content is one.
fn yaml_line(text: &str) -> Option<Span> {
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        let content = line.trim_end();
        let trimmed = content.trim_start_matches('\u{feff}').trim_start();
        if !trimmed.is_empty() && !trimmed.starts_with('#') {
            let key = trimmed.find(|c: char| !(c.is_alphanumeric() || matches!(c, '_' | '-')));
            let colon = key.is_some_and(|end| end > 0 && (trimmed[end..].starts_with(": ") || &trimmed[end..] == ":"));
            return (trimmed == "---" || colon).then(|| at..at + content.len());
        }
        at += line.len();
    }
    None
}

/// A value with its place and its path, such as `target.key`.
pub(crate) struct Field<'t> {
    pub(crate) path: String,
    pub(crate) key_span: Span,
    pub(crate) span: Span,
    pub(crate) value: &'t DeValue<'t>,
}

/// One table that is being read.
pub(crate) struct Reader<'t, 'd> {
    kind: File,
    file: &'t str,
    text: &'t str,
    path: String,
    table: &'t DeTable<'t>,
    span: Span,
    taken: BTreeSet<&'static str>,
    passed_over: BTreeSet<String>,
    found: &'d mut Diagnostics,
}

impl<'t, 'd> Reader<'t, 'd> {
    pub(crate) fn root(
        kind: File,
        file: &'t str,
        text: &'t str,
        table: &'t DeTable<'t>,
        found: &'d mut Diagnostics,
    ) -> Self {
        Self {
            kind,
            file,
            text,
            path: String::new(),
            table,
            span: 0..text.len(),
            taken: BTreeSet::new(),
            passed_over: BTreeSet::new(),
            found,
        }
    }

    /// A reader for the table of a field.
    pub(crate) fn inside<'s>(&'s mut self, field: &Field<'t>) -> Option<Reader<'t, 's>> {
        let Some(table) = field.value.as_table() else {
            self.wrong_type(field, "a table");
            return None;
        };
        Some(Reader {
            kind: self.kind,
            file: self.file,
            text: self.text,
            path: field.path.clone(),
            table,
            span: field.span.clone(),
            taken: BTreeSet::new(),
            passed_over: BTreeSet::new(),
            found: self.found,
        })
    }

    pub(crate) fn span(&self) -> Span {
        self.span.clone()
    }

    pub(crate) fn report(&mut self, diagnostic: Diagnostic) {
        self.found.push(diagnostic);
    }

    pub(crate) fn error(&self, code: ErrorCode, message: impl Into<String>) -> Diagnostic {
        Diagnostic::error(code, self.file, message)
    }

    /// Points a diagnostic at a second place of the same file.
    pub(crate) fn also_here(&self, diagnostic: Diagnostic, span: Span, label: &str) -> Diagnostic {
        diagnostic.also(self.file, span, label)
    }

    fn join(&self, key: &str) -> String {
        if self.path.is_empty() { key.to_owned() } else { format!("{}.{key}", self.path) }
    }

    /// The keys of the format that this table may have.
    fn keys(&self) -> Vec<&'static Key> {
        // `checks[2].rows` is a table `checks.rows`
        let names: Vec<&str> = self.path.split('.').filter_map(|name| name.split('[').next()).collect();
        keys::of_table(self.kind, &names.join(".")).collect()
    }

    /// Whether the format has the key, with one of these kinds of values.
    fn is_of(&self, key: &str, of: impl Fn(Kind) -> bool) -> bool {
        self.keys().iter().any(|known| known.name == key && of(known.kind))
    }

    /// Takes a key of the format, if the file has it.
    pub(crate) fn take(&mut self, key: &'static str) -> Option<Field<'t>> {
        debug_assert!(self.is_of(key, |_| true), "the table of keys lacks {}", self.join(key));
        self.taken.insert(key);
        let (name, value) = self.table.iter().find(|(name, _)| name.get_ref() == key)?;
        Some(self.field(name, value))
    }

    fn field(&self, name: &'t Spanned<toml::de::DeString<'t>>, value: &'t Spanned<DeValue<'t>>) -> Field<'t> {
        Field { path: self.join(name.get_ref()), key_span: name.span(), span: value.span(), value: value.get_ref() }
    }

    /// Every key, for tables whose keys the user chooses.
    pub(crate) fn all(&mut self) -> Vec<(String, Field<'t>)> {
        self.table.iter().map(|(name, value)| (name.get_ref().to_string(), self.field(name, value))).collect()
    }

    /// True where the file has the key, whatever its value.
    pub(crate) fn has(&self, key: &str) -> bool {
        self.table.iter().any(|(name, _)| name.get_ref() == key)
    }

    /// Leaves a key of the format unread: what is said about another key covers it.
    pub(crate) fn know(&mut self, key: &'static str) {
        self.taken.insert(key);
    }

    /// Leaves a key out of the unknown ones: it has been reported already.
    pub(crate) fn pass_over(&mut self, key: String) {
        self.passed_over.insert(key);
    }

    /// Says that a key has to be there.
    pub(crate) fn missing(&mut self, key: &str, fix: &str) {
        let diagnostic = self
            .error(ErrorCode::KeyMissing, format!("`{}` is missing", self.join(key)))
            .at(self.span())
            .fix(fix.to_owned());
        self.report(diagnostic);
    }

    /// Refuses every key of this table whose feature this version does not have.
    pub(crate) fn all_not_built(&mut self) {
        for key in self.keys().iter().filter(|key| matches!(key.built, Built::No(_))) {
            self.not_built(key.name);
        }
    }

    /// True where the file has a key whose feature this version does not have.
    pub(crate) fn has_not_built(&self) -> bool {
        self.keys().iter().any(|key| matches!(key.built, Built::No(_)) && self.has(key.name))
    }

    /// Refuses a key of the format whose feature this version does not have.
    pub(crate) fn not_built(&mut self, key: &'static str) {
        let known = self.keys().iter().find(|known| known.name == key).map(|known| known.built);
        if let (Some(Built::No(meanwhile)), Some(field)) = (known, self.take(key)) {
            let message = format!("`{}` is known, but not built in this version", field.path);
            self.refuse_feature(message, field.key_span, meanwhile);
        }
    }

    /// Refuses a value of the format whose feature this version does not have.
    pub(crate) fn refuse_feature(&mut self, message: String, span: Span, meanwhile: &str) {
        let diagnostic = self
            .error(ErrorCode::NotBuilt, message)
            .at(span)
            .why("a key that is read and then ignored would promise what does not happen")
            .fix(meanwhile.to_owned());
        self.report(diagnostic);
    }

    pub(crate) fn wrong_type(&mut self, field: &Field<'_>, wanted: &str) {
        let diagnostic = self
            .error(ErrorCode::BadValue, format!("`{}` must be {wanted}, not {}", field.path, article(field.value)))
            .at(field.span.clone());
        self.report(diagnostic);
    }

    pub(crate) fn bad_value(&mut self, field: &Field<'_>, message: impl Into<String>, fix: impl Into<String>) {
        let diagnostic = self.error(ErrorCode::BadValue, message).at(field.span.clone()).fix(fix);
        self.report(diagnostic);
    }

    /// The text of a field, reported where it is something else.
    pub(crate) fn text_of(&mut self, field: &Field<'t>) -> Option<&'t str> {
        let text = field.value.as_str();
        if text.is_none() {
            self.wrong_type(field, "a string");
        }
        text
    }

    pub(crate) fn string(&mut self, key: &'static str) -> Option<(&'t str, Field<'t>)> {
        let text = |kind| !matches!(kind, Kind::Flag | Kind::Count | Kind::Column | Kind::Columns | Kind::TableName);
        debug_assert!(self.is_of(key, text), "{}", self.join(key));
        let field = self.take(key)?;
        self.text_of(&field).map(|text| (text, field))
    }

    pub(crate) fn boolean(&mut self, key: &'static str) -> Option<(bool, Field<'t>)> {
        debug_assert!(self.is_of(key, |kind| kind == Kind::Flag), "{}", self.join(key));
        let field = self.take(key)?;
        let Some(value) = field.value.as_bool() else {
            self.wrong_type(&field, "true or false");
            return None;
        };
        Some((value, field))
    }

    /// A whole number of at least zero.
    pub(crate) fn count(&mut self, key: &'static str) -> Option<(u64, Field<'t>)> {
        debug_assert!(self.is_of(key, |kind| kind == Kind::Count), "{}", self.join(key));
        let field = self.take(key)?;
        let Some(integer) = field.value.as_integer() else {
            self.wrong_type(&field, "a whole number");
            return None;
        };
        let Ok(count) = u64::from_str_radix(integer.as_str(), integer.radix()) else {
            self.bad_value(&field, format!("`{}` must be 0 or more", field.path), "write a whole number");
            return None;
        };
        Some((count, field))
    }

    /// A duration such as `2h10m`; the place inside a plain string is exact.
    pub(crate) fn duration(&mut self, key: &'static str) -> Option<(HumanDuration, Field<'t>)> {
        debug_assert!(self.is_of(key, |kind| kind == Kind::Duration), "{}", self.join(key));
        let field = self.take(key)?;
        let text = self.text_of(&field)?;
        match HumanDuration::parse(text) {
            Ok(duration) => Some((duration, field)),
            Err(error) => {
                let span = self.inside_string(&field, text, error.at);
                let diagnostic = self
                    .error(ErrorCode::BadDuration, format!("`{}`: {error}", field.path))
                    .at(span)
                    .fix(format!("{key} = \"2h10m\""));
                self.report(diagnostic);
                None
            }
        }
    }

    /// The character at a byte of a string value, where the string is written without escapes.
    pub(crate) fn inside_string(&self, field: &Field<'_>, text: &str, at: usize) -> Span {
        let next = text.get(at..).and_then(|rest| rest.chars().next());
        next.map_or_else(|| field.span.clone(), |c| self.part_of_string(field, text, at..at + c.len_utf8()))
    }

    /// Bytes of a string value in the file, where the string is written without escapes; else all of it.
    pub(crate) fn part_of_string(&self, field: &Field<'_>, text: &str, part: Span) -> Span {
        let written = self.text.get(field.span.clone()).unwrap_or_default();
        let inside = toml_string::part(written, text, &part);
        inside
            .map_or_else(|| field.span.clone(), |inside| field.span.start + inside.start..field.span.start + inside.end)
    }

    /// True where only the blanks around it keep a text from being what the key wants.
    fn is_name_between_blanks(field: &Field<'_>, text: &str) -> bool {
        let trimmed = text.trim();
        let named = if field.path == "target.table" {
            TableName::parse(trimmed).is_ok()
        } else {
            Identifier::parse(trimmed).is_ok()
        };
        named && trimmed != text && !trimmed.contains('"')
    }

    pub(crate) fn bad_name(&mut self, field: &Field<'_>, span: Span, error: &IdentifierError) {
        let fix = match error {
            IdentifierError::NotTwoParts { .. } => "write schema.table".to_owned(),
            IdentifierError::NeedsQuotes { text } if text.contains(char::is_control) => {
                "leave out the control characters".to_owned()
            }
            IdentifierError::NeedsQuotes { text } if Self::is_name_between_blanks(field, text) => {
                format!("leave out the blanks around it: \"{}\"", text.trim())
            }
            IdentifierError::NeedsQuotes { text } if field.path == "target.table" => {
                let (schema, table) = text.split_once('.').unwrap_or(("schema", text));
                printable(&format!("quote the part that needs it: table = '{schema}.\"{table}\"'"))
            }
            IdentifierError::NeedsQuotes { text } => {
                printable(&format!("quote it as in SQL: '\"{}\"'", text.replace('"', "\"\"")))
            }
            IdentifierError::Empty
            | IdentifierError::TooLong { .. }
            | IdentifierError::Nul
            | IdentifierError::QuoteOpen { .. } => "a name has 1 to 63 bytes, written as in SQL".to_owned(),
        };
        let diagnostic = self.error(ErrorCode::BadName, format!("`{}`: {error}", field.path)).at(span).fix(fix);
        self.report(diagnostic);
    }

    /// A column name, written as in SQL.
    pub(crate) fn identifier(&mut self, key: &'static str) -> Option<(Identifier, Field<'t>)> {
        debug_assert!(self.is_of(key, |kind| kind == Kind::Column), "{}", self.join(key));
        let field = self.take(key)?;
        let text = self.text_of(&field)?;
        match Identifier::parse(text) {
            Ok(name) => Some((name, field)),
            Err(error) => {
                self.bad_name(&field, field.span.clone(), &error);
                None
            }
        }
    }

    /// A table name with its schema.
    pub(crate) fn table_name(&mut self, key: &'static str) -> Option<(TableName, Field<'t>)> {
        debug_assert!(self.is_of(key, |kind| kind == Kind::TableName), "{}", self.join(key));
        let field = self.take(key)?;
        let text = self.text_of(&field)?;
        match TableName::parse(text) {
            Ok(name) => Some((name, field)),
            Err(error) => {
                self.bad_name(&field, field.span.clone(), &error);
                None
            }
        }
    }

    /// One or more column names, each once.
    pub(crate) fn identifiers(&mut self, key: &'static str) -> Option<(Vec<Identifier>, Field<'t>)> {
        debug_assert!(self.is_of(key, |kind| kind == Kind::Columns), "{}", self.join(key));
        let field = self.take(key)?;
        let Some(array) = field.value.as_array() else {
            self.wrong_type(&field, "a list of column names");
            return None;
        };
        let mut names = Vec::new();
        for value in array {
            let Some(text) = value.get_ref().as_str() else {
                let message = format!("`{}` lists column names, not {}", field.path, article(value.get_ref()));
                let diagnostic = self.error(ErrorCode::BadValue, message).at(value.span());
                self.report(diagnostic.fix(format!("{key} = [\"dt\", \"store_id\"]")));
                return None;
            };
            match Identifier::parse(text) {
                Ok(name) if names.contains(&name) => {
                    let diagnostic = self
                        .error(ErrorCode::BadValue, format!("`{}` names {name} twice", field.path))
                        .at(value.span());
                    self.report(diagnostic);
                }
                Ok(name) => names.push(name),
                Err(error) => self.bad_name(&field, value.span(), &error),
            }
        }
        if array.iter().next().is_none() {
            self.bad_value(&field, format!("`{}` is an empty list", field.path), "name a column, or leave the key out");
            return None;
        }
        Some((names, field))
    }

    /// Reports every key that the format does not have.
    pub(crate) fn finish(self) {
        let known: BTreeSet<&str> = self.keys().iter().map(|key| key.name).collect();
        debug_assert_eq!(known, self.taken, "keys of [{}] that nothing reads", self.path);
        for (name, value) in self.table {
            let name_text: &str = name.get_ref();
            if known.contains(name_text) || self.passed_over.contains(name_text) {
                continue;
            }
            let nearest = did_you_mean(name_text, known.iter().copied());
            let place = if self.path.is_empty() { String::new() } else { format!(" in [{}]", self.path) };
            let shown = printable(name_text);
            let mut diagnostic =
                Diagnostic::error(ErrorCode::UnknownKey, self.file, format!("unknown key `{shown}`{place}"))
                    .at(name.span());
            diagnostic = match nearest {
                Some(nearest) => {
                    diagnostic.label(format!("did you mean `{nearest}`?")).fix(format!("write `{nearest}`"))
                }
                None => diagnostic.fix(known_keys(&self.keys(), value.get_ref())),
            };
            self.found.push(diagnostic);
        }
    }
}

/// What a table may have; nobody is told to use what is not built.
fn known_keys(keys: &[&Key], value: &DeValue<'_>) -> String {
    let built = keys.iter().filter(|key| !matches!(key.built, Built::No(_)));
    let list = built.map(|key| key.name).collect::<BTreeSet<_>>().into_iter().collect::<Vec<_>>().join(", ");
    let what = if value.is_table() { "tables and keys" } else { "keys" };
    format!("{what} here: {list}")
}

/// `a string`, `an array`, as a reader of TOML calls it.
pub(crate) fn article(value: &DeValue<'_>) -> &'static str {
    match value {
        DeValue::String(_) => "a string",
        DeValue::Integer(_) => "a whole number",
        DeValue::Float(_) => "a number with a point",
        DeValue::Boolean(_) => "true or false",
        DeValue::Datetime(_) => "a date or time",
        DeValue::Array(_) => "a list",
        DeValue::Table(_) => "a table",
    }
}
