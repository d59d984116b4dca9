//! What a command can fail with, and its rendering: code, place, why, fix; or the same as JSON.

use std::ops::Range;

use annotate_snippets::{Annotation, AnnotationKind, Group, Level, Renderer, Snippet, Title};
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

/// A prepared statement is there already, or is not: each session of ours names its own once, so that another session
/// was given to it in between.
const LOST_STATEMENTS: [&str; 2] = ["42P05", "26000"];
const KEEP_STATEMENTS: &str = "connect past the pooler, or let it keep prepared statements: PgBouncer 1.21 or newer with max_prepared_statements = 200";

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
    /// A second place that belongs to it, such as the first use of a name.
    pub(crate) other: Option<Place>,
    pub(crate) sqlstate: Option<String>,
}

/// A place in a file.
#[derive(Debug, Clone)]
pub(crate) struct Place {
    pub(crate) file: String,
    /// The file's text, as far as it could be read.
    pub(crate) text: String,
    /// Bytes of the text; `None`: the file as a whole.
    pub(crate) span: Option<Range<usize>>,
    pub(crate) label: String,
    /// Its lines may hold a secret: named by number, never shown.
    pub(crate) hidden: bool,
}

impl Place {
    /// A file as a whole.
    pub(crate) fn file(file: impl Into<String>) -> Self {
        Self { file: file.into(), text: String::new(), span: None, label: String::new(), hidden: false }
    }

    /// The bytes to underline, where there is something to show.
    fn excerpt(&self) -> Option<Range<usize>> {
        let span = self.span.as_ref().filter(|_| !self.hidden && !self.text.is_empty())?;
        let start = span.start.min(self.text.len());
        Some(start..span.end.min(self.text.len()).max(start))
    }

    fn snippet(&self, span: Range<usize>, kind: AnnotationKind) -> Snippet<'_, Annotation<'_>> {
        let mark = kind.span(span).label(printable(&self.label));
        Snippet::source(self.text.as_str()).path(self.file.as_str()).annotation(mark)
    }

    /// `file:line:col`, or the file alone.
    fn named(&self) -> String {
        let start =
            self.span.as_ref().filter(|_| !self.text.is_empty()).map(|span| Position::of(&self.text, span.start));
        let file = printable(&self.file);
        start.map_or(file.clone(), |start| format!("{file}:{}:{}", start.line, start.column))
    }

    fn json(&self) -> Value {
        let span = self.span.clone().unwrap_or(0..0);
        let start = Position::of(&self.text, span.start);
        let length = self.text.get(span).map_or(0, |text| text.chars().count());
        json!({ "file": self.file, "line": start.line, "col": start.column, "len": length })
    }
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
            other: None,
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

    pub(crate) fn at(mut self, place: Place) -> Self {
        self.place = Some(place);
        self
    }

    /// A finding in a project file, with what the files hold for the excerpts.
    pub(crate) fn of_diagnostic(diagnostic: &Diagnostic, text_of: impl Fn(&str) -> String) -> Self {
        let mut fault = Self::new(diagnostic.code, diagnostic.message.clone());
        fault.warning = diagnostic.level == thrice_pipeline::diagnostic::Level::Warning;
        fault.why = (!diagnostic.why.is_empty()).then(|| diagnostic.why.clone());
        fault.fix = (!diagnostic.fix.is_empty()).then(|| diagnostic.fix.clone());
        fault.place = Some(Place {
            file: diagnostic.file.clone(),
            text: text_of(&diagnostic.file),
            span: diagnostic.span.clone(),
            label: diagnostic.label.clone(),
            hidden: diagnostic.hide_source,
        });
        fault.other = diagnostic.other.as_ref().map(|other| Place {
            file: other.file.clone(),
            text: text_of(&other.file),
            span: Some(other.span.clone()),
            label: other.label.clone(),
            hidden: diagnostic.hide_source,
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
        if fault.sqlstate.as_deref().is_some_and(|state| LOST_STATEMENTS.contains(&state)) {
            fault.why = Some("a pooler in between loses prepared statements".to_owned());
            fault.fix = Some(KEEP_STATEMENTS.to_owned());
        }
        fault
    }

    /// The same as JSON.
    pub(crate) fn json(&self) -> Value {
        json!({
            "code": self.code.id(),
            "class": self.code.class().as_str(),
            "level": if self.warning { "warning" } else { "error" },
            "exit": if self.warning { 0 } else { self.exit.number() },
            "retryable": matches!(self.exit, Exit::Unavailable | Exit::Unknown),
            "message": self.what,
            "why": self.why,
            "span": self.place.as_ref().map(Place::json),
            "also": self.other.as_ref().map(Place::json),
            "sqlstate": self.sqlstate,
            "help": self.fix,
        })
    }

    /// Text for people.
    pub(crate) fn text(&self, color: bool) -> String {
        let level = if self.warning { Level::WARNING } else { Level::ERROR };
        let state = self.sqlstate.as_ref().filter(|state| !self.what.contains(state.as_str()));
        let what = state.map_or_else(|| self.what.clone(), |state| format!("{} (SQLSTATE {state})", self.what));
        let title = level.primary_title(printable(&what)).id(self.code.id());
        let renderer = if color { Renderer::styled() } else { Renderer::plain() };
        let excerpt = self.place.as_ref().and_then(|place| Some((place, place.excerpt()?)));
        let mut lines = Vec::new();
        if let Some((place, span)) = excerpt {
            lines.push(renderer.render(&[self.with_other(title, place, span)]));
        } else {
            lines.push(renderer.render(&[Group::with_title(title)]));
            lines.extend(self.place.iter().chain(&self.other).map(|place| format!("  --> {}", place.named())));
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

    /// The excerpt, with the second place in the same one where it is of the same file.
    fn with_other<'a>(&'a self, title: Title<'a>, place: &'a Place, span: Range<usize>) -> Group<'a> {
        let snippet = place.snippet(span, AnnotationKind::Primary);
        let Some((other, span)) = self.other.as_ref().and_then(|other| Some((other, other.excerpt()?))) else {
            return title.element(snippet);
        };
        if other.file == place.file {
            let mark = AnnotationKind::Context.span(span).label(printable(&other.label));
            title.element(snippet.annotation(mark))
        } else {
            title.element(snippet).element(other.snippet(span, AnnotationKind::Context))
        }
    }
}

impl Failed {
    /// One problem of a run, which has no place in a file.
    pub(crate) fn of(problem: &thrice_runner::Problem) -> Self {
        Self(vec![Fault::of_problem(problem)])
    }

    /// The exit of the whole.
    pub(crate) fn exit(&self) -> Exit {
        Exit::worst(self.0.iter().filter(|fault| !fault.warning).map(|fault| fault.exit))
    }

    /// Writes everything where it belongs.
    pub(crate) fn report(&self, output: Output) {
        for fault in &self.0 {
            output.fault(fault);
        }
        let exit = self.exit();
        output.object(json!({
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
    use std::io::ErrorKind;
    let fault = Fault::new(ErrorCode::FileMissing, format!("{what} {}: {error}", path.display()));
    #[expect(clippy::wildcard_enum_match_arm, reason = "of the others the system's words say what is wrong")]
    match error.kind() {
        ErrorKind::NotFound => fault.fix("correct the path, or make what is missing"),
        ErrorKind::PermissionDenied => fault.fix("let this user read and write there, or run as its owner"),
        ErrorKind::StorageFull => fault.fix("free some space, then do it again"),
        _ => fault.fix("correct the path, or what the system names"),
    }
}
