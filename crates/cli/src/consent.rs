//! Agreement before something that is not undone by doing it again.

use std::io::{IsTerminal, Write};

use serde_json::json;
use thrice_core::code::ErrorCode;

use crate::args::{Global, LogFormat};
use crate::fault::{Fault, Outcome};
use crate::json_lines;

/// Asks on a terminal; elsewhere `--yes` is the answer, or the call is refused.
pub(crate) fn ask(global: &Global, question: &str) -> Outcome<()> {
    if global.yes {
        return Ok(());
    }
    let refused = |what: String| {
        Fault::new(ErrorCode::NoConsent, what)
            .why(format!("--yes would agree to this: {question}"))
            .fix("the same command with --yes")
    };
    if !std::io::stdin().is_terminal() {
        return Err(refused("confirmation is needed, and standard input is no terminal".to_owned()).into());
    }
    let mut err = std::io::stderr();
    let asked = match global.log_format {
        LogFormat::Text => write!(err, "{question} [y/N] "),
        LogFormat::Json => {
            let message = json!({ "message": question, "answers": ["y", "n"] });
            write!(err, "{}", json_lines::line("info", &message))
        }
    };
    let asked = asked.and_then(|()| err.flush());
    let mut answer = String::new();
    match asked.and_then(|()| std::io::stdin().read_line(&mut answer)) {
        Ok(_) if matches!(answer.trim(), "y" | "Y" | "yes") => Ok(()),
        Ok(_) => Err(refused("not agreed; nothing was done".to_owned()).into()),
        Err(error) => Err(refused(format!("the answer cannot be read: {error}")).into()),
    }
}
