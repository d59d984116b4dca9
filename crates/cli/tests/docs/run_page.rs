//! One page from its first command to its last. `THRICE_DOCS_UPDATE=1` writes into the page what came instead.

use crate::compare::{same, same_line};
use crate::page::{Shown, steps};
use crate::scratch::Scratch;
use crate::session::Session;
use crate::source;

/// A page that says so has a database of its own on the tests' server; the others have none, and may start one.
const ON_A_SERVER: &str = "<!-- database: DATABASE_URL -->";

/// A page that says so does something at a moment, which a busy machine may miss.
const TIMING: &str = "<!-- timing:";

pub(crate) fn run(path: &str) {
    let file = source().join(path);
    let text = std::fs::read_to_string(&file).unwrap();
    let tries = if text.contains(TIMING) { 3 } else { 1 };
    let mut outcome = (Vec::new(), Vec::new());
    for _ in 0..tries {
        outcome = once(path, &text);
        if outcome.0.is_empty() {
            return;
        }
    }
    let (wrong, changes) = outcome;
    if std::env::var_os("THRICE_DOCS_UPDATE").is_some_and(|value| value == "1") {
        std::fs::write(&file, updated(&text, changes)).unwrap();
    }
    panic!("{path}:\n{}", wrong.join("\n"));
}

/// What is wrong with a page, and what would correct it.
fn once(path: &str, text: &str) -> (Vec<String>, Vec<(Shown, Vec<String>)>) {
    let scratch = text.contains(ON_A_SERVER).then(Scratch::new);
    let mut session = Session::start(scratch.as_ref().map(Scratch::url));
    let mut wrong: Vec<String> = Vec::new();
    let mut changes: Vec<(Shown, Vec<String>)> = Vec::new();
    for step in steps(text) {
        let did = session.run(&step.command);
        let real = session.folder().canonicalize().unwrap();
        let lines: Vec<String> =
            did.lines.iter().map(|line| line.replace(real.to_str().unwrap(), "/home/kim")).collect();
        let Some(mut shown) = step.shown else {
            assert_eq!(did.exit, 0, "{path}: set-up: {}\n{}", step.command, lines.join("\n"));
            continue;
        };
        // a blank line before the next command is for the eye
        while shown.lines.last().is_some_and(|line| line.trim().is_empty()) {
            shown.lines.pop();
        }
        if did.exit != shown.exit {
            wrong.push(format!(
                "$ {}\nexits with {}, not {}:\n{}\n",
                step.command,
                did.exit,
                shown.exit,
                lines.join("\n")
            ));
        } else if !same(&shown.lines, &lines) {
            wrong.push(format!("$ {}\n{}", step.command, difference(&shown.lines, &lines)));
            changes.push((shown, lines));
        }
    }
    (wrong, changes)
}

fn difference(shown: &[String], printed: &[String]) -> String {
    let mut lines = vec!["  the page shows (-), the command prints (+):".to_owned()];
    for (nth, line) in printed.iter().enumerate() {
        match shown.get(nth) {
            Some(shown) if same_line(shown, line) => lines.push(format!("  {line}")),
            Some(shown) => lines.extend([format!("- {shown}"), format!("+ {line}")]),
            None => lines.push(format!("+ {line}")),
        }
    }
    lines.extend(shown.iter().skip(printed.len()).map(|line| format!("- {line}")));
    lines.join("\n") + "\n"
}

/// The page with what its commands print.
fn updated(text: &str, changes: Vec<(Shown, Vec<String>)>) -> String {
    let mut lines: Vec<String> = text.lines().map(ToOwned::to_owned).collect();
    for (shown, printed) in changes.into_iter().rev() {
        // a line that says the same stays as it was written
        let kept = |line: String| shown.lines.iter().find(|old| same_line(old, &line)).cloned().unwrap_or(line);
        let printed: Vec<String> = printed.into_iter().map(kept).collect();
        lines.splice(shown.first..shown.first + shown.lines.len(), printed);
    }
    lines.join("\n") + "\n"
}
