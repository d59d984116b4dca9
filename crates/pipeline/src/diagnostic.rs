//! What is wrong in a project file: code, place, why, and what to write instead.

use std::fmt;
use std::ops::Range;

use thrice_core::code::ErrorCode;
use thrice_core::text::printable;

/// A byte range of a file.
pub type Span = Range<usize>;

/// Whether a finding stops the pipeline.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Level {
    /// The pipeline cannot be used.
    Error,
    /// It can, but the result may surprise.
    Warning,
}

impl Level {
    /// `error` or `warning`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Error => "error",
            Self::Warning => "warning",
        }
    }
}

/// One finding in one file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Diagnostic {
    /// Kind of fault.
    pub code: ErrorCode,
    /// Whether it stops the pipeline.
    pub level: Level,
    /// What is wrong: a lower-case fragment without a full stop.
    pub message: String,
    /// Name of the file, as the caller gave it.
    pub file: String,
    /// Where, in bytes of the file; `None` where the whole file is meant.
    pub span: Option<Span>,
    /// Words beside the underlined place.
    pub label: String,
    /// Why it matters; may be empty.
    pub why: String,
    /// What to write or do instead; may be empty.
    pub fix: String,
    /// A second place that belongs to the fault, such as the first use of a name.
    pub other: Option<OtherPlace>,
    /// The place may hold a secret: name it, but never show the text of its line.
    pub hide_source: bool,
}

/// A second place that belongs to a fault.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OtherPlace {
    /// Name of the file.
    pub file: String,
    /// Where in it, in bytes.
    pub span: Span,
    /// What is there.
    pub label: String,
}

impl Diagnostic {
    /// A fault that stops the pipeline.
    pub fn error(code: ErrorCode, file: &str, message: impl Into<String>) -> Self {
        Self {
            code,
            level: Level::Error,
            message: message.into(),
            file: file.to_owned(),
            span: None,
            label: String::new(),
            why: String::new(),
            fix: String::new(),
            other: None,
            hide_source: false,
        }
    }

    /// Advice that does not stop the pipeline.
    pub fn warning(code: ErrorCode, file: &str, message: impl Into<String>) -> Self {
        Self { level: Level::Warning, ..Self::error(code, file, message) }
    }

    /// Says where.
    #[must_use]
    pub fn at(mut self, span: Span) -> Self {
        self.span = Some(span);
        self
    }

    /// Says something beside the place.
    #[must_use]
    pub fn label(mut self, label: impl Into<String>) -> Self {
        self.label = label.into();
        self
    }

    /// Says why it matters.
    #[must_use]
    pub fn why(mut self, why: impl Into<String>) -> Self {
        self.why = why.into();
        self
    }

    /// Says what to do.
    #[must_use]
    pub fn fix(mut self, fix: impl Into<String>) -> Self {
        self.fix = fix.into();
        self
    }

    /// Points at a second place.
    #[must_use]
    pub fn also(mut self, file: &str, span: Span, label: impl Into<String>) -> Self {
        self.other = Some(OtherPlace { file: file.to_owned(), span, label: label.into() });
        self
    }

    /// Line and column of the start, both from 1, columns in characters; `None` without a span.
    pub fn position(&self, text: &str) -> Option<Position> {
        self.span.as_ref().map(|span| Position::of(text, span.start))
    }
}

/// One line: `error[TH0205] pipelines/a.toml: unknown key "strategey"`.
impl fmt::Display for Diagnostic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (file, message) = (printable(&self.file), printable(&self.message));
        write!(f, "{}[{}] {file}: {message}", self.level.as_str(), self.code)
    }
}

/// A place in a text as editors count it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Position {
    /// Line, from 1.
    pub line: usize,
    /// Column in characters, from 1.
    pub column: usize,
}

impl Position {
    /// The position of a byte offset; an offset past the end or inside a character counts as the nearest before it.
    pub fn of(text: &str, offset: usize) -> Self {
        let mut offset = offset.min(text.len());
        while !text.is_char_boundary(offset) {
            offset -= 1;
        }
        let before = &text[..offset];
        let line_start = before.rfind('\n').map_or(0, |at| at + 1);
        Self {
            line: before.bytes().filter(|byte| *byte == b'\n').count() + 1,
            column: before[line_start..].trim_start_matches('\u{feff}').chars().count() + 1,
        }
    }
}

impl fmt::Display for Position {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.line, self.column)
    }
}

/// All findings of one reading, in the order in which they were found. The error type of this crate.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Diagnostics(Vec<Diagnostic>);

impl Diagnostics {
    /// None yet.
    pub const fn new() -> Self {
        Self(Vec::new())
    }

    /// Adds one.
    pub fn push(&mut self, diagnostic: Diagnostic) {
        self.0.push(diagnostic);
    }

    /// Adds those of another reading.
    pub fn extend(&mut self, others: impl IntoIterator<Item = Diagnostic>) {
        self.0.extend(others);
    }

    /// True when at least one is an error.
    pub fn has_errors(&self) -> bool {
        self.0.iter().any(|diagnostic| diagnostic.level == Level::Error)
    }

    /// True when there is nothing to say.
    pub const fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// How many there are.
    pub const fn len(&self) -> usize {
        self.0.len()
    }

    /// In order.
    pub fn iter(&self) -> std::slice::Iter<'_, Diagnostic> {
        self.0.iter()
    }

    /// As a list.
    pub fn into_vec(self) -> Vec<Diagnostic> {
        self.0
    }

    /// The value with its warnings, or everything that was found where an error is among it.
    pub(crate) fn or<T>(self, value: Option<T>) -> Result<Checked<T>, Self> {
        match value {
            Some(value) if !self.has_errors() => Ok(Checked { value, warnings: self }),
            _ => Err(self),
        }
    }
}

/// A value that may be used, with what was said about it.
#[derive(Debug, Clone, PartialEq)]
pub struct Checked<T> {
    /// The value.
    pub value: T,
    /// Warnings; no errors.
    pub warnings: Diagnostics,
}

impl From<Diagnostic> for Diagnostics {
    fn from(one: Diagnostic) -> Self {
        Self(vec![one])
    }
}

impl IntoIterator for Diagnostics {
    type Item = Diagnostic;
    type IntoIter = std::vec::IntoIter<Diagnostic>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.into_iter()
    }
}

impl<'a> IntoIterator for &'a Diagnostics {
    type Item = &'a Diagnostic;
    type IntoIter = std::slice::Iter<'a, Diagnostic>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

impl fmt::Display for Diagnostics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (nth, diagnostic) in self.0.iter().enumerate() {
            if nth > 0 {
                writeln!(f)?;
            }
            write!(f, "{diagnostic}")?;
        }
        Ok(())
    }
}

impl std::error::Error for Diagnostics {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn positions_count_characters() {
        let text = "a\n가b\n";
        assert_eq!(Position::of(text, 0), Position { line: 1, column: 1 });
        assert_eq!(Position::of(text, 5), Position { line: 2, column: 2 });
        assert_eq!(Position::of(text, 3), Position { line: 2, column: 1 }, "inside the character");
        assert_eq!(Position::of("\u{feff}ab", 4), Position { line: 1, column: 2 }, "a mark takes no column");
        assert_eq!(Position::of(text, 99), Position { line: 3, column: 1 });
    }
}
