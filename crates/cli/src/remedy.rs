//! What to type about a partition after a run of it ended with a code.

use thrice_core::code::ErrorCode;

/// A command to paste, and when it is the right one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Remedy {
    /// In which case, as a fragment that a colon follows.
    pub(crate) lead: &'static str,
    pub(crate) command: String,
}

impl Remedy {
    pub(crate) fn new(lead: &'static str, command: impl Into<String>) -> Self {
        Self { lead, command: command.into() }
    }
}

/// The commands that answer a code for partition `key` of pipeline `name`. Empty: the problem itself says what to do.
pub(crate) fn remedies(code: ErrorCode, name: &str, key: &str) -> Vec<Remedy> {
    let run = format!("thrice run {name} {key}");
    #[expect(clippy::wildcard_enum_match_arm, reason = "the others know their fix without the call's words")]
    match code {
        ErrorCode::ExistingRows => vec![
            Remedy::new(
                "record them as published",
                format!("thrice adopt {name} --from {key} --to {key} --reason \"…\""),
            ),
            Remedy::new("or replace them", format!("{run} --overwrite-existing --reason \"…\"")),
        ],
        ErrorCode::EmptyOverPublished | ErrorCode::TooManyVanish => {
            vec![Remedy::new("if it is right", format!("{run} --accept-drop --reason \"…\""))]
        }
        ErrorCode::Closed => vec![Remedy::new("if it must change", format!("{run} --reopen --reason \"…\""))],
        ErrorCode::HeldByWorker => vec![Remedy::new("wait for it", format!("{run} --wait"))],
        ErrorCode::OutcomeUnknown => {
            vec![Remedy::new("safe to run again, it asks the ledger first", run)]
        }
        _ => Vec::new(),
    }
}
