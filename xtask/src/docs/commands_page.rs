//! The page about the commands: what the program says of itself with `--help`.

use std::fmt::Write as _;
use std::path::Path;
use std::process::Command;

use anyhow::Result;

use crate::process::{read, without_settings};

/// The heading of the options that every command has.
const GLOBAL: &str = "Options of every command:";

/// The page.
pub(super) fn page(binary: &Path) -> Result<String> {
    let first = help(binary, &[])?;
    let mut page = format!(
        "# Commands\n\nWhat `thrice COMMAND --help` says. The options of the first screen, but for `-V`, are those of every \
         command, and are told once.\n\n## thrice\n\n```text\n{first}```\n"
    );
    for command in first_screen(&first) {
        section(&mut page, binary, &[command])?;
    }
    Ok(page)
}

fn help(binary: &Path, words: &[&str]) -> Result<String> {
    let mut command = Command::new(binary);
    without_settings(&mut command);
    let text = read(command.args(words).arg("--help").env("COLUMNS", "100"))?;
    Ok(text.trim_end().to_owned() + "\n")
}

/// Commands as the first screen names them: in its second column.
fn first_screen(text: &str) -> Vec<&str> {
    let lines = text.lines().take_while(|line| !line.starts_with('`'));
    let columns = lines.filter_map(|line| line.split_at_checked(9));
    let named =
        columns.filter(|(group, rest)| group.ends_with(' ') && rest.starts_with(|c: char| c.is_ascii_lowercase()));
    named.filter_map(|(_, rest)| rest.split_whitespace().next()).collect()
}

/// Commands below a command.
fn below(text: &str) -> Vec<&str> {
    let lines = text.lines().skip_while(|line| *line != "Commands:").skip(1).take_while(|line| !line.is_empty());
    lines.filter_map(|line| line.strip_prefix("  ")?.split_whitespace().next()).filter(|word| *word != "help").collect()
}

fn section(page: &mut String, binary: &Path, words: &[&str]) -> Result<()> {
    let text = help(binary, words)?;
    let level = "#".repeat(words.len() + 1);
    write!(page, "\n{level} thrice {}\n\n```text\n{}```\n", words.join(" "), without_global(&text))?;
    for word in below(&text) {
        section(page, binary, &[words, &[word]].concat())?;
    }
    Ok(())
}

/// The text without the paragraph of options that every command has.
fn without_global(text: &str) -> String {
    let paragraphs: Vec<&str> = text.trim_end().split("\n\n").filter(|part| !part.starts_with(GLOBAL)).collect();
    paragraphs.join("\n\n") + "\n"
}

#[cfg(test)]
mod unit {
    use super::*;

    #[test]
    fn commands_are_read_from_the_two_forms_of_help() {
        let first = "thrice 0.1.0   Pipelines\n\nUsage: thrice [OPTIONS] <COMMAND>\n\nStart    init     write\n         demo     see\n\
                     Run      run      what\n`thrice COMMAND --help` says more.\n\nOptions:\n         not a command\n";
        assert_eq!(first_screen(first), ["init", "demo", "run"]);
        assert_eq!(
            below("The server\n\nCommands:\n  status  Is it\n  stop    Stop it\n\nOptions:\n  -h\n"),
            ["status", "stop"]
        );
        assert!(below("Options:\n").is_empty());
    }

    #[test]
    fn options_of_every_command_are_left_out() {
        let text = "Run\n\nOptions:\n  -h\n\nOptions of every command:\n  -C\n  -q\n\nExamples:\n  thrice\n";
        assert_eq!(without_global(text), "Run\n\nOptions:\n  -h\n\nExamples:\n  thrice\n");
    }
}
