//! Where text goes: data on standard output, everything else on standard error; colour only where it is wanted.

use std::io::{self, IsTerminal, Write};
use std::sync::OnceLock;

use serde_json::{Value, json};
use thrice_core::code::ErrorCode;
use thrice_core::text::printable;

use crate::args::{ColorWhen, Global, LogFormat};
use crate::exit_code::Exit;
use crate::fault::Fault;
use crate::json_lines;

/// How this call writes.
#[expect(clippy::struct_excessive_bools, reason = "switches that do not depend on one another")]
#[derive(Debug, Clone, Copy)]
pub(crate) struct Output {
    /// One JSON object instead of text.
    pub(crate) json: bool,
    /// Errors only on standard error.
    pub(crate) quiet: bool,
    /// Colour on standard output.
    pub(crate) color: bool,
    /// Colour on standard error.
    pub(crate) color_err: bool,
    /// Standard error is for a program: one JSON object a line.
    pub(crate) log_json: bool,
}

impl Output {
    /// Before the arguments are read.
    pub(crate) const PLAIN: Self = Self { json: false, quiet: false, color: false, color_err: false, log_json: false };

    /// From the arguments, the environment and what the streams are.
    pub(crate) fn new(global: &Global) -> Self {
        let plain = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty())
            || std::env::var_os("TERM").is_some_and(|term| term == "dumb");
        let on = |terminal: bool| match global.color {
            ColorWhen::Always => true,
            ColorWhen::Never => false,
            ColorWhen::Auto => terminal && !plain,
        };
        Self {
            json: global.json,
            quiet: global.quiet,
            color: on(io::stdout().is_terminal()),
            color_err: on(io::stderr().is_terminal()),
            log_json: global.log_format == LogFormat::Json,
        }
    }

    /// Data: a line on standard output. Left out under `--json`.
    pub(crate) fn line(self, text: impl AsRef<str>) {
        if !self.json {
            to_stdout(&format!("{}\n", printable_keeping_colour(text.as_ref(), self.color)));
        }
    }

    /// Data: any number of lines.
    pub(crate) fn lines(self, lines: impl IntoIterator<Item = String>) {
        for line in lines {
            self.line(line);
        }
    }

    /// The one object of `--json`. It always tells the exit; a command whose object does not ends well when it has one.
    pub(crate) fn object(self, mut object: Value) {
        if !self.json {
            return;
        }
        if let Some(keys) = object.as_object_mut() {
            keys.entry("exit").or_insert_with(|| Exit::Ok.number().into());
        }
        to_stdout(&format!("{object}\n"));
    }

    /// The same with a list under `items`, which is written while it is made: there may be a hundred thousand.
    pub(crate) fn object_with_items(self, object: &Value, items: impl Iterator<Item = Value>) {
        if !self.json {
            return;
        }
        let head = object.to_string();
        // the object without its last brace
        let mut text = format!("{},\"items\":[", head.strip_suffix('}').unwrap_or(&head));
        let mut before = "";
        for item in items {
            text.extend([before, &item.to_string()]);
            before = ",";
            if text.len() > A_WRITE {
                to_stdout(&text);
                text.clear();
            }
        }
        text.push_str("]}\n");
        to_stdout(&text);
    }

    /// Progress: a line on standard error, unless `-q`.
    pub(crate) fn note(self, text: impl AsRef<str>) {
        let text = text.as_ref();
        if self.quiet {
            return;
        }
        if self.log_json {
            let (level, text) = text.strip_prefix("warning: ").map_or(("info", text), |rest| ("warn", rest));
            to_stderr(&json_lines::line(level, &json!({ "message": text })));
        } else {
            to_stderr(&format!("{}\n", printable(text)));
        }
    }

    /// An error, or a warning unless `-q`.
    pub(crate) fn fault(self, fault: &Fault) {
        if self.quiet && fault.warning {
            return;
        }
        to_stderr(&if self.log_json {
            json_lines::line(if fault.warning { "warn" } else { "error" }, &fault.json())
        } else {
            fault.text(self.color_err)
        });
    }
}

/// Text of a long list is written in pieces of so many bytes.
const A_WRITE: usize = 1 << 16;

/// Colour codes are ours; everything between them may be somebody's.
fn printable_keeping_colour(text: &str, color: bool) -> String {
    if color { text.split('\u{1b}').map(printable).collect::<Vec<_>>().join("\u{1b}") } else { printable(text) }
}

/// Why standard output could not be written. The call goes on, its work does not hang on it, and says so when it ends.
static LOST: OnceLock<String> = OnceLock::new();

/// Writes to standard output; a reader that has gone (`| head -1`) ends the call quietly.
#[expect(clippy::exit, reason = "the reader has gone: nobody is left to tell")]
pub(crate) fn to_stdout(text: &str) {
    if LOST.get().is_some() {
        // what came after a hole would only look whole
        return;
    }
    let mut out = io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Ok(()) => {}
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => std::process::exit(i32::from(Exit::Ok.number())),
        Err(error) => {
            LOST.get_or_init(|| error.to_string());
        }
    }
}

/// The exit of a call that is over: data that was lost is told, and a call that would end well does not.
pub(crate) fn end(exit: Exit, output: Output) -> Exit {
    let Some(why) = LOST.get() else { return exit };
    let fault = Fault::new(ErrorCode::OutputLost, format!("standard output cannot be written: {why}"))
        .why("what was printed is not whole; what the call did is done")
        .fix("make room, or send the output elsewhere, and look again");
    output.fault(&fault);
    if matches!(exit, Exit::Ok | Exit::Nothing) { fault.exit } else { exit }
}

/// Writes to standard error. There is nowhere to tell of a failure.
pub(crate) fn to_stderr(text: &str) {
    let mut err = io::stderr().lock();
    drop(err.write_all(text.as_bytes()).and_then(|()| err.flush()));
}

/// Paints text, where colour is on.
pub(crate) fn paint(color: bool, code: &str, text: &str) -> String {
    if color { format!("\u{1b}[{code}m{text}\u{1b}[0m") } else { text.to_owned() }
}

/// The same of what is counted here.
pub(crate) fn count_of(number: usize, noun: &str) -> String {
    count(i64::try_from(number).unwrap_or(i64::MAX), noun)
}

/// `1 row`, `2 rows`.
pub(crate) fn count(number: i64, noun: &str) -> String {
    let ending = if number == 1 { "" } else { "s" };
    format!("{number} {noun}{ending}")
}
