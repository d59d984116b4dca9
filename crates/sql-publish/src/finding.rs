//! One thing that an examination found: an error that stops the work before a row is moved, or a warning.

use thrice_core::code::ErrorCode;

/// An error or a warning with its reason and its way out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// The code that people look up.
    pub code: ErrorCode,
    /// Whether work may go on.
    pub severity: Severity,
    /// What was found, as a lower-case fragment.
    pub what: String,
    /// Why it matters.
    pub why: String,
    /// What to do: a statement or a key to paste. Empty where nothing needs doing.
    pub fix: String,
}

/// Whether work may go on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// Work may go on.
    Warning,
    /// Nothing is read, staged or written.
    Error,
}

impl Finding {
    /// A finding that stops the work.
    pub(crate) fn error(
        code: ErrorCode,
        what: impl Into<String>,
        why: impl Into<String>,
        fix: impl Into<String>,
    ) -> Self {
        Self { code, severity: Severity::Error, what: what.into(), why: why.into(), fix: fix.into() }
    }

    /// A finding that is told and no more.
    pub(crate) fn warning(
        code: ErrorCode,
        what: impl Into<String>,
        why: impl Into<String>,
        fix: impl Into<String>,
    ) -> Self {
        Self { code, severity: Severity::Warning, what: what.into(), why: why.into(), fix: fix.into() }
    }

    /// Whether it stops the work.
    pub const fn is_error(&self) -> bool {
        matches!(self.severity, Severity::Error)
    }
}
