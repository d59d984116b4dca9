//! What a person can do about an error of the server or of the ledger, where its message alone does not say it.

use thrice_core::code::ErrorCode;
use thrice_ledger::{ErrorKind as LedgerKind, LedgerError, RecordedCut};

use crate::report::Problem;

/// Why and fix of what the ledger found.
pub(crate) fn of_ledger(error: &LedgerError, problem: Problem) -> Problem {
    #[expect(clippy::wildcard_enum_match_arm, reason = "of the others the code's page says what to do")]
    match error.kind() {
        LedgerKind::Behind => problem.why("thrice keeps its runs and receipts in schema thrice").fix("thrice migrate"),
        LedgerKind::Ahead => problem
            .why("an older program could misread what a newer one has written")
            .fix("use the thrice that updated the ledger; thrice migrate --info shows both versions"),
        LedgerKind::IntervalsChanged { recorded } => {
            let RecordedCut { pipeline, grain, time_zone: zone } = &**recorded;
            let before = match (grain.strip_prefix("cron "), grain.strip_prefix("week from ")) {
                (Some(pattern), _) => format!("cron = \"{pattern}\""),
                (None, Some(weekday)) => format!("grain = \"week\", week_start = \"{weekday}\""),
                (None, None) => format!("grain = \"{grain}\""),
            };
            problem.why("other boundaries would cut published rows in two").fix(format!(
                "{before} and time_zone = \"{zone}\" under [interval]; or, to go on with the new boundaries: thrice recut {pipeline} --reason \"…\""
            ))
        }
        LedgerKind::TargetChanged { recorded } => problem
            .why("a receipt counts for one table: nobody accounts for the rows of the other")
            .fix(format!(
                "table = '{recorded}' under [target]; or, for the new table, a pipeline of its own: give its two files another name"
            )),
        LedgerKind::TargetTaken { by, published: true } => problem
            .why(format!("{by} has published into it, and a pipeline that has published keeps its name and its table"))
            .fix(format!("give the two files the name {by} again; or give this pipeline a table of its own")),
        LedgerKind::TargetTaken { by, published: false } => problem
            .why("each would delete the rows of the other when it replaces an interval")
            .fix(format!(
                "give this pipeline a table of its own; or remove the files of {by}: without them, and without a receipt, it gives the table up"
            )),
        LedgerKind::GivenUp => problem
            .why("what it was asked to write may be there or not; nothing is published without a receipt")
            .fix("run it again: it asks the ledger first"),
        _ => problem,
    }
}

/// What to do about a code of the server, where the message alone does not say it.
pub(crate) fn of_code(code: ErrorCode, what: &str) -> Option<String> {
    #[expect(clippy::wildcard_enum_match_arm, reason = "the others bring their own words, or have none")]
    let fix = match code {
        ErrorCode::PrivilegeMissing => return Some(grant(what)),
        ErrorCode::ValueDoesNotFit => {
            "make the value fit in the query (a cast, nullif, a condition), or widen the column of the target"
        }
        ErrorCode::SqlFailed => "look at what the message names: the target, its triggers and functions, a setting",
        ErrorCode::ConstraintViolated => {
            "correct the query or the source, or name the columns of the constraint in target.key"
        }
        ErrorCode::WrittenDiffers => {
            "look for a trigger on the target that drops or changes rows, or another writer of the interval"
        }
        ErrorCode::Retried | ErrorCode::Unreachable => "run it again: what was published is known from its receipt",
        ErrorCode::ServerExhausted => "free what the server is short of, then run it again",
        ErrorCode::ReadOnlyServer => "name the primary, or put a proxy in front that follows it",
        ErrorCode::DamagedServer => "look at the server's log, and restore what is damaged from a backup",
        _ => return None,
    };
    Some(fix.to_owned())
}

/// The grant for the object that the server names, as far as its message does.
fn grant(what: &str) -> String {
    let named = what.rsplit_once("permission denied for ").map_or("", |(_, object)| object);
    match named.split_once(' ') {
        Some(("table" | "view" | "sequence", name)) => {
            format!("as the owner: grant select on {name} to the role of this connection")
        }
        Some(("schema", name)) => format!("as the owner: grant usage on schema {name} to the role of this connection"),
        Some(("function", name)) => {
            format!("as the owner: grant execute on function {name} to the role of this connection")
        }
        _ => "grant the role of this connection what the message names".to_owned(),
    }
}
