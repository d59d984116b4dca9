//! Reading the command line: clap's findings in the layout of every other error, with our codes.

use std::ffi::OsString;

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{CommandFactory, Parser};
use thrice_core::code::ErrorCode;
use thrice_core::text::did_you_mean;

use crate::args::Cli;
use crate::exit_code::Exit;
use crate::fault::{Failed, Fault};
use crate::output::{Output, to_stdout};
use crate::zone_release;

/// The parsed command line; or the exit of a call that ends here (`--help`, `--version`, a fault that was reported).
pub(crate) fn parse() -> Result<Cli, Exit> {
    let error = match Cli::try_parse_from(left_to_psql(std::env::args_os().collect())) {
        Ok(cli) => return Ok(cli),
        Err(error) => error,
    };
    #[expect(clippy::wildcard_enum_match_arm, reason = "every other kind is something wrong with the words")]
    match error.kind() {
        ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => {
            to_stdout(&error.render().to_string());
            if error.kind() == ErrorKind::DisplayVersion && wants_more() {
                to_stdout(&format!("time zones: {}\n", zone_release::in_use()));
            }
            Err(Exit::Ok)
        }
        // a screen for people is nothing that a program can read
        ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand if !for_a_program(as_far_as_read()) => {
            crate::output::to_stderr(&error.render().to_string());
            Err(Exit::Usage)
        }
        _ => {
            Failed::from(fault(&error)).report(as_far_as_read());
            Err(Exit::Usage)
        }
    }
}

/// `-v` among the words: clap ends at `--version` and reads no further.
fn wants_more() -> bool {
    let is_flag =
        |word: &str| word.len() > 1 && word.starts_with('-') && word[1..].chars().all(|c| matches!(c, 'v' | 'V'));
    std::env::args().skip(1).any(|word| is_flag(&word) && word.contains('v'))
}

/// How to write where the words could not be read: their form is looked for among them.
fn as_far_as_read() -> Output {
    let words: Vec<OsString> = std::env::args_os().skip(1).collect();
    let json = words.iter().any(|word| word == "--json");
    let log_json = words.iter().any(|word| word == "--log-format=json")
        || words.windows(2).any(|pair| pair[0] == "--log-format" && pair[1] == "json");
    Output { json, log_json, ..Output::PLAIN }
}

const fn for_a_program(output: Output) -> bool {
    output.json || output.log_json
}

/// What follows `pg psql` is psql's, also where an option of every command has the same letter, as `-q` and `-v` have.
fn left_to_psql(mut words: Vec<OsString>) -> Vec<OsString> {
    let Some(at) = words.windows(2).position(|pair| pair[0] == "pg" && pair[1] == "psql") else { return words };
    if words.get(at + 2).is_some_and(|next| next != "--help" && next != "--") {
        words.insert(at + 2, "--".into());
    }
    words
}

fn fault(error: &clap::Error) -> Fault {
    let text = |kind| match error.get(kind) {
        Some(ContextValue::String(text)) => Some(text.clone()),
        Some(ContextValue::Strings(texts)) => Some(texts.join(", ")),
        _ => None,
    };
    if error.kind() == ErrorKind::InvalidSubcommand {
        let word = text(ContextKind::InvalidSubcommand).unwrap_or_default();
        let fault = Fault::new(ErrorCode::UnknownCommand, format!("{word:?} is no command of thrice"));
        let names: Vec<String> =
            Cli::command().get_subcommands().map(|command| command.get_name().to_owned()).collect();
        return match did_you_mean(&word, names.iter().map(String::as_str)) {
            Some(near) => fault.fix(format!("thrice {near}")),
            None => fault.fix("thrice --help lists the commands"),
        };
    }
    if error.kind() == ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand {
        let fix = format!("{} --help lists the commands", command_in_words());
        return Fault::new(ErrorCode::UnknownCommand, "no command is given").fix(fix);
    }
    // clap calls it a conflict, too, when one flag is given twice
    let twice = text(ContextKind::InvalidArg) == text(ContextKind::PriorArg);
    let code = if error.kind() == ErrorKind::ArgumentConflict && !twice {
        ErrorCode::ArgumentsConflict
    } else {
        ErrorCode::BadArgument
    };
    // the first paragraph says what, the rest is clap's own usage text
    let rendered = error.render().to_string();
    let first: Vec<&str> = rendered.lines().take_while(|line| !line.is_empty()).map(str::trim).collect();
    let what = first.join(" ").trim_start_matches("error: ").to_owned();
    let mut fault = Fault::new(code, what);
    let suggestion = [ContextKind::SuggestedArg, ContextKind::SuggestedValue].into_iter().find_map(text);
    let missing = (error.kind() == ErrorKind::MissingRequiredArgument).then(|| text(ContextKind::InvalidArg)).flatten();
    let instant =
        text(ContextKind::InvalidArg).is_some_and(|arg| arg.starts_with("--as-of") || arg.starts_with("--since"));
    if instant && error.kind() == ErrorKind::ValueValidation {
        let value = text(ContextKind::InvalidValue).unwrap_or_default();
        let flag = text(ContextKind::InvalidArg).unwrap_or_default();
        fault.what = format!("{flag} wants an instant, and {value:?} is none");
        fault.why = Some("a date or a time alone does not say in which zone it is meant".to_owned());
    }
    let one_of = text(ContextKind::ValidValue).filter(|values| !values.is_empty());
    fault.fix = Some(match (suggestion, missing, one_of) {
        (Some(near), ..) => format!("did you mean {near}?"),
        (None, Some(missing), _) => format!("add {missing}"),
        (None, None, Some(values)) => format!("write one of: {values}"),
        (None, None, None) if twice && error.kind() == ErrorKind::ArgumentConflict => "give it once".to_owned(),
        (None, None, None) if error.kind() == ErrorKind::ArgumentConflict => "keep one of them".to_owned(),
        (None, None, None) if instant => "an instant with its offset, such as 2026-03-26T03:00:00+09:00".to_owned(),
        (None, None, None) => match minus_key() {
            Some(key) => format!("keys that begin with a minus come last, behind --: … -- {key}"),
            None => format!("{} --help says what the command takes", command_in_words()),
        },
    });
    fault
}

/// A word that looks like a set of keys counted back from now, such as `-3,yesterday`, and was taken for a flag.
fn minus_key() -> Option<String> {
    std::env::args().skip(1).find(|word| {
        word.strip_prefix('-').is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()))
            && word.parse::<f64>().is_err()
    })
}

/// `thrice run`, as far as the words name a command.
fn command_in_words() -> String {
    let tree = Cli::command();
    let word = std::env::args().skip(1).find(|word| tree.find_subcommand(word).is_some());
    word.map_or_else(|| "thrice".to_owned(), |word| format!("thrice {word}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::args::{Command, Pg};

    #[test]
    fn what_follows_psql_is_psqls() {
        let read = |line: &str| {
            let words = line.split_whitespace().map(OsString::from).collect();
            let cli = Cli::try_parse_from(left_to_psql(words)).unwrap();
            let Command::Pg(Pg::Psql { args }) = cli.command else { panic!("{line}") };
            (cli.global.quiet, args.join(" ".as_ref()).into_string().unwrap())
        };
        assert_eq!(read("thrice pg psql -q -v a=1 -C x -f a.sql"), (false, "-q -v a=1 -C x -f a.sql".to_owned()));
        assert_eq!(read("thrice -q pg psql -h"), (true, "-h".to_owned()));
        assert_eq!(read("thrice pg psql -- -c q"), (false, "-c q".to_owned()));
        assert_eq!(read("thrice pg psql"), (false, String::new()));
    }
}
