//! What a command can fail with, and its rendering: code, place, why, fix; or the same as JSON.

use annotate_snippets::{AnnotationKind, Group, Level, Renderer, Snippet};
use serde_json::{Value, json};
use thrice_connect::ConnectError;
use thrice_core::code::ErrorCode;
use thrice_core::text::printable;
use thrice_ledger::LedgerError;
use thrice_pipeline::diagnostic::{Diagnostic, Position};
use thrice_runner::{NotPrepared, Problem};
use thrice_sql_publish::Finding;

use crate::exit_code::Exit;
use crate::output::Output;

/// One thing that is wrong.
#[derive(Debug, Clone)]
pub(crate) struct Fault {
    pub(crate) code: ErrorCode,
    pub(crate) exit: Exit,
    pub(crate) warning: bool,
    pub(crate) what: String,
    pub(crate) why: Option<String>,
    pub(crate) fix: Option<String>,
    pub(crate) place: Option<Place>,
    pub(crate) sqlstate: Option<String>,
}

/// A place in a file.
#[derive(Debug, Clone)]
pub(crate) struct Place {
    pub(crate) file: String,
    pub(crate) text: String,
    pub(crate) span: std::ops::Range<usize>,
    pub(crate) label: String,
}

/// Why a command ended early: one fault or several.
#[derive(Debug)]
pub(crate) struct Failed(pub(crate) Vec<Fault>);

pub(crate) type Outcome<T> = Result<T, Failed>;

impl Fault {
    pub(crate) fn new(code: ErrorCode, what: impl Into<String>) -> Self {
        Self {
            code,
            exit: Exit::of_code(code),
            warning: false,
            what: what.into(),
            why: None,
            fix: None,
            place: None,
            sqlstate: None,
        }
    }

    pub(crate) fn why(mut self, why: impl Into<String>) -> Self {
        self.why = Some(why.into());
        self
    }

    pub(crate) fn fix(mut self, fix: impl Into<String>) -> Self {
        self.fix = Some(fix.into());
        self
    }

    /// A finding in a project file, with the file's text for the excerpt.
    pub(crate) fn of_diagnostic(diagnostic: &Diagnostic, text: Option<&str>) -> Self {
        let mut fault = Self::new(diagnostic.code, diagnostic.message.clone());
        fault.warning = diagnostic.level == thrice_pipeline::diagnostic::Level::Warning;
        fault.why = (!diagnostic.why.is_empty()).then(|| diagnostic.why.clone());
        fault.fix = (!diagnostic.fix.is_empty()).then(|| diagnostic.fix.clone());
        fault.place = Some(Place {
            file: diagnostic.file.clone(),
            // a line that may hold a secret is named, not shown
            text: text.filter(|_| !diagnostic.hide_source).unwrap_or_default().to_owned(),
            span: diagnostic.span.clone().unwrap_or(0..0),
            label: diagnostic.label.clone(),
        });
        fault
    }

    pub(crate) fn of_finding(finding: &Finding) -> Self {
        let mut fault = Self::new(finding.code, finding.what.clone()).why(finding.why.clone());
        fault.fix = (!finding.fix.is_empty()).then(|| finding.fix.clone());
        fault.warning = !finding.is_error();
        fault
    }

    pub(crate) fn of_problem(problem: &Problem) -> Self {
        let mut fault = Self::new(problem.code, problem.what.clone());
        fault.exit = Exit::of_problem(problem);
        fault.why.clone_from(&problem.why);
        fault.fix.clone_from(&problem.fix);
        fault.sqlstate = problem.sqlstate.map(|code| code.to_string());
        fault
    }

    /// The same as JSON.
    pub(crate) fn json(&self) -> Value {
        let span = self.place.as_ref().map(|place| {
            let start = Position::of(&place.text, place.span.start);
            let length = place.text.get(place.span.clone()).map_or(0, |text| text.chars().count());
            json!({ "file": place.file, "line": start.line, "col": start.column, "len": length })
        });
        json!({
            "code": self.code.id(),
            "class": self.code.class().as_str(),
            "level": if self.warning { "warning" } else { "error" },
            "exit": self.exit.number(),
            "retryable": matches!(self.exit, Exit::Unavailable | Exit::Unknown),
            "message": self.what,
            "why": self.why,
            "span": span,
            "sqlstate": self.sqlstate,
            "help": self.fix,
        })
    }

    /// Text for people.
    pub(crate) fn text(&self, color: bool) -> String {
        let level = if self.warning { Level::WARNING } else { Level::ERROR };
        let title = level.primary_title(printable(&self.what)).id(self.code.id());
        let group = match &self.place {
            Some(place) if !place.text.is_empty() => {
                let end = place.span.end.min(place.text.len()).max(place.span.start.min(place.text.len()));
                let span = place.span.start.min(place.text.len())..end;
                let mark = AnnotationKind::Primary.span(span).label(printable(&place.label));
                title.element(Snippet::source(place.text.as_str()).path(place.file.as_str()).annotation(mark))
            }
            _ => Group::with_title(title),
        };
        let renderer = if color { Renderer::styled() } else { Renderer::plain() };
        let mut lines = vec![renderer.render(&[group])];
        if let Some(place) = self.place.as_ref().filter(|place| place.text.is_empty()) {
            lines.push(format!("  --> {}", printable(&place.file)));
        }
        for (name, value) in [("why", &self.why), ("fix", &self.fix)] {
            if let Some(value) = value {
                lines.push(format!("{name}: {}", printable(value)));
            }
        }
        if !self.warning {
            lines.push(format!("see: thrice explain {}", self.code));
        }
        lines.join("\n") + "\n"
    }
}

impl Failed {
    /// The exit of the whole.
    pub(crate) fn exit(&self) -> Exit {
        Exit::worst(self.0.iter().filter(|fault| !fault.warning).map(|fault| fault.exit))
    }

    /// Writes everything where it belongs.
    pub(crate) fn report(&self, output: Output) {
        for fault in &self.0 {
            output.report(&fault.text(output.color_err));
        }
        let exit = self.exit();
        output.object(&json!({
            "schema": "thrice.error/1",
            "errors": self.0.iter().map(Fault::json).collect::<Vec<_>>(),
            "exit": exit.number(),
        }));
    }
}

impl From<Fault> for Failed {
    fn from(fault: Fault) -> Self {
        Self(vec![fault])
    }
}

impl From<Problem> for Failed {
    fn from(problem: Problem) -> Self {
        Fault::of_problem(&problem).into()
    }
}

impl From<NotPrepared> for Failed {
    fn from(error: NotPrepared) -> Self {
        match error {
            NotPrepared::Problem(problem) => (*problem).into(),
            NotPrepared::Findings(findings) => Self(findings.iter().map(Fault::of_finding).collect()),
        }
    }
}

impl From<LedgerError> for Failed {
    fn from(error: LedgerError) -> Self {
        thrice_runner::problem_of_ledger(&error).into()
    }
}

impl From<ConnectError> for Failed {
    fn from(error: ConnectError) -> Self {
        let mut fault = Fault::of_problem(&thrice_runner::problem_of_connect(&error));
        let (tries, waited) = error.tries();
        if tries > 1 {
            fault.what = format!("{}, tried {tries} times in {:.1} s", fault.what, waited.as_secs_f32());
        }
        fault.into()
    }
}

/// A file could not be read or written.
pub(crate) fn io_fault(what: &str, path: &std::path::Path, error: &std::io::Error) -> Fault {
    Fault::new(ErrorCode::FileMissing, format!("{what} {}: {error}", path.display()))
}
