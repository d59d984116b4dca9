//! One thing that was looked at, and the list of all of them.

use serde_json::{Value, json};
use thrice_core::code::ErrorCode;

use crate::fault::{Failed, Fault};
use crate::output::paint;

/// What came of a look.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Verdict {
    Ok,
    Warn,
    Fail,
}

/// One thing that was looked at.
#[derive(Debug, Clone)]
pub(super) struct Check {
    /// Which check, a word for scripts.
    id: &'static str,
    verdict: Verdict,
    code: Option<ErrorCode>,
    what: String,
    fix: Option<String>,
}

/// Everything that was looked at, in order, and what was mended.
#[derive(Debug, Default)]
pub(super) struct Report {
    pub(super) checks: Vec<Check>,
    pub(super) fixed: Vec<String>,
}

impl Check {
    pub(super) fn json(&self) -> Value {
        json!({
            "id": self.id,
            "result": self.verdict.as_str(),
            "code": self.code.map(ErrorCode::id),
            "what": self.what,
            "fix": self.fix,
        })
    }

    /// Lines for people: the verdict first, the fix beneath.
    pub(super) fn lines(&self, color: bool) -> Vec<String> {
        let code = self.code.map(|code| format!("   {code}")).unwrap_or_default();
        let (word, ansi) = match self.verdict {
            Verdict::Ok => ("ok   ", "32"),
            Verdict::Warn => ("warn ", "33"),
            Verdict::Fail => ("FAIL ", "31;1"),
        };
        let mut lines = vec![format!("{} {}{code}", paint(color, ansi, word), self.what)];
        lines.extend(self.fix.iter().map(|fix| format!("      fix: {fix}")));
        lines
    }
}

impl Verdict {
    const fn as_str(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Warn => "warn",
            Self::Fail => "fail",
        }
    }
}

impl Report {
    pub(super) fn ok(&mut self, id: &'static str, what: impl Into<String>) {
        self.push(id, Verdict::Ok, None, what, None);
    }

    pub(super) fn warn(&mut self, id: &'static str, code: ErrorCode, what: impl Into<String>, fix: impl Into<String>) {
        self.push(id, Verdict::Warn, Some(code), what, Some(fix.into()));
    }

    pub(super) fn fail(&mut self, id: &'static str, code: ErrorCode, what: impl Into<String>, fix: impl Into<String>) {
        self.push(id, Verdict::Fail, Some(code), what, Some(fix.into()));
    }

    /// Something is left lying about, which harms nobody.
    pub(super) fn untidy(&mut self, id: &'static str, what: impl Into<String>, fix: impl Into<String>) {
        self.push(id, Verdict::Warn, None, what, Some(fix.into()));
    }

    /// Something could not be looked at: no verdict about it, and said so.
    pub(super) fn unseen(&mut self, id: &'static str, what: &str, error: &tokio_postgres::Error) {
        let why = error.as_db_error().map_or_else(|| error.to_string(), |error| error.message().to_owned());
        self.push(id, Verdict::Warn, None, format!("{what} could not be looked at: {why}"), None);
    }

    /// Something was not looked at, for a reason of our own.
    pub(super) fn skipped(&mut self, id: &'static str, what: impl Into<String>) {
        self.push(id, Verdict::Warn, None, what, None);
    }

    /// A fault of another command, by its own severity.
    pub(super) fn fault(&mut self, id: &'static str, fault: &Fault, about: &str) {
        let verdict = if fault.warning { Verdict::Warn } else { Verdict::Fail };
        let place = fault.place.as_ref().map(|place| format!(" ({})", place.file)).unwrap_or_default();
        let about = if about.is_empty() { String::new() } else { format!("{about}: ") };
        self.push(id, verdict, Some(fault.code), format!("{about}{}{place}", fault.what), fault.fix.clone());
    }

    /// Everything that ended a command, as failures.
    pub(super) fn failed(&mut self, id: &'static str, failed: &Failed) {
        for fault in &failed.0 {
            self.fault(id, fault, "");
        }
    }

    pub(super) fn failures(&self) -> usize {
        self.checks.iter().filter(|check| check.verdict == Verdict::Fail).count()
    }

    pub(super) fn warnings(&self) -> usize {
        self.checks.iter().filter(|check| check.verdict == Verdict::Warn).count()
    }

    fn push(
        &mut self,
        id: &'static str,
        verdict: Verdict,
        code: Option<ErrorCode>,
        what: impl Into<String>,
        fix: Option<String>,
    ) {
        self.checks.push(Check { id, verdict, code, what: what.into(), fix });
    }
}
