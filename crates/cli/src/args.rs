//! The command line as a tree. Flags of features that this version does not have do not exist here.

mod of_partitions;

use std::path::PathBuf;

use clap::{ArgAction, Args, Parser, Subcommand, ValueEnum};
use thrice_core::time::Timestamp;

pub(crate) use self::of_partitions::{
    Adopt, Closing, Diff, Gc, Intervals, Ledger, Recut, Require, RollbackArgs, Show, Status, Why,
};

/// The first screen: the commands in groups, in the order in which one meets them.
const FIRST_SCREEN: &str = "{name} {version}   {about}

{usage-heading} {usage}

Start    init       write a project that runs
         demo       see it all in a private PostgreSQL, in seconds
         doctor     look at server, ledger and targets, and say what to mend
         lint       check pipelines without running them
Run      run        what is due, or the partitions that you name
Look     status     calendar of partitions
         show       one partition, its runs and checks
         why        what a partition waits for or failed of, and what to do
         diff       what a run would change, or what the last publish has
         intervals  where intervals begin and end, and when each is due
         ledger     runs of all pipelines, newest first
         explain    what an error code means and what to do
Repair   rollback   put back the rows that a publish replaced
         adopt      record existing rows as published
         close      let nothing change published partitions any more
         reopen     open closed partitions for another run
         recut      go on with another grain or zone after partitions were published
         gc         drop staging nobody needs, and kept rows whose time is over
Admin    migrate    create or update the ledger, schema thrice
         config     each setting, and where it comes from
         export     completions, man pages, schemas for editors
         grants     the statements that let a login work, or look
         pg         the private PostgreSQL of the project
`thrice COMMAND --help` says more of each.

Options:
{options}{after-help}";

/// Re-runnable SQL pipelines for PostgreSQL
#[derive(Debug, Parser)]
#[command(
    name = "thrice",
    version,
    disable_help_subcommand = true,
    propagate_version = false,
    arg_required_else_help = true,
    help_template = FIRST_SCREEN,
    after_help = "Examples:\n  thrice demo\n  thrice run daily_order_summary yesterday\n  thrice status daily_order_summary --month 2026-03\n\nExit codes: 0 ok, 1 bug, 2 usage or config, 3 nothing to do (with --detailed-exitcode), 4 checks failed, 5 refused by policy, 7 unavailable, may be retried, 8 SQL failed, 9 outcome unknown, run again, 130/143 stopped"
)]
pub(crate) struct Cli {
    /// Options of every command.
    #[command(flatten)]
    pub(crate) global: Global,
    /// What to do.
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// Options of every command.
#[derive(Debug, Args)]
#[command(next_help_heading = "Options of every command")]
pub(crate) struct Global {
    /// Project folder, or a folder inside it
    #[arg(short = 'C', value_name = "DIR", global = true, default_value = ".")]
    pub(crate) dir: PathBuf,
    #[expect(clippy::doc_markdown, reason = "help of the option, shown as it stands")]
    /// Database to use; visible to other users of this machine, so prefer DATABASE_URL
    #[arg(long, value_name = "URL", global = true)]
    pub(crate) database_url: Option<String>,
    /// One JSON object on standard output
    #[arg(long, global = true)]
    pub(crate) json: bool,
    /// Act as if it were this instant, RFC 3339 with an offset; leases keep the database's clock
    #[arg(long, value_name = "T", global = true)]
    pub(crate) as_of: Option<Timestamp>,
    /// Agree to what would be asked
    #[arg(long, global = true)]
    pub(crate) yes: bool,
    /// When to colour
    #[arg(long, value_name = "WHEN", global = true, default_value = "auto")]
    pub(crate) color: ColorWhen,
    /// Errors only
    #[arg(short, global = true)]
    pub(crate) quiet: bool,
    /// More about each step; twice for SQL names and timings
    #[arg(short, global = true, action = ArgAction::Count)]
    pub(crate) verbose: u8,
    /// Form of log lines on standard error
    #[arg(long, value_name = "FORM", global = true, default_value = "text")]
    pub(crate) log_format: LogFormat,
    /// The person for whom this is done, recorded as a claim
    #[arg(long, value_name = "NAME", global = true, env = "THRICE_ACTOR", hide_env_values = true)]
    pub(crate) on_behalf_of: Option<String>,
}

/// When to colour.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ColorWhen {
    // On a terminal, unless `NO_COLOR` is set.
    Auto,
    // Always.
    Always,
    // Never.
    Never,
}

/// Form of log lines.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum LogFormat {
    // For people.
    Text,
    // One JSON object a line.
    Json,
}

/// What to do.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Write a project that runs
    #[command(
        after_help = "Examples:\n  thrice init shop\n  thrice init shop && cd shop && thrice run --as-of 2026-03-26T03:00:00+09:00\n  thrice init --json\n\nExit codes: 0 written, 2 a file is in the way, or DATABASE_URL is set and empty"
    )]
    Init(Init),
    /// Show it all in a private PostgreSQL: three runs, a lost COMMIT, a kill, one result
    #[command(
        after_help = "Examples:\n  thrice demo\n  thrice demo --keep\n  thrice demo --json\n\nExit codes: 0 proved, 1 the results differ, 2 the folder is not the demonstration's, 7 no PostgreSQL can be started"
    )]
    Demo(Demo),
    /// Look at connection, server, ledger and targets, and say what to mend
    #[command(
        after_help = "Examples:\n  thrice doctor\n  thrice doctor --fix        also drops orphaned staging tables and frees what dead workers claimed\n  thrice doctor --json\n\nExit codes: 0 no FAIL, maybe warnings, 5 a FAIL, 7 no database"
    )]
    Doctor(Doctor),
    /// Check pipelines without running them
    #[command(
        after_help = "Examples:\n  thrice lint\n  thrice lint daily_order_summary --show-sql\n  thrice lint --db --deny warnings --json\n\nExit codes: 0 fine, maybe with warnings, 2 errors, or warnings that are denied; with --db also 7 no database, 8 the server refuses the query"
    )]
    Lint(Lint),
    /// Run what is due, or the named partitions
    #[command(
        after_help = "Examples:\n  thrice run                                        all that is due, of all pipelines\n  thrice run daily_order_summary 2026-03-24         one partition, again if need be\n  thrice run daily_order_summary --from 2026-03-01 --to 2026-03-07\n\nIntervals: 2026-03-24, 2026-03-24T05, 2026-03, 2026-W13, yesterday, -3, a,b,c, - (standard input)\n-3 is one interval, the third before the one that goes on now; -1 is the newest that has ended\n\nExit codes: 0 all published, 2 usage or config, 3 nothing to do (with --detailed-exitcode), 4 checks failed, 5 refused by policy, 7 unavailable or held by another worker, 8 SQL failed, 9 a COMMIT is unresolved: run again, 130/143 stopped"
    )]
    Run(Run),
    /// Calendar of partitions
    #[command(
        after_help = "Examples:\n  thrice status\n  thrice status daily_order_summary --month 2026-03\n  thrice status daily_order_summary --from 2026-03-01 --to 2026-03-07 --require published\n\nExit codes: 0 shown, 2 no such pipeline or interval, 5 --require is not met (a range without partitions does not meet it), 7 no database"
    )]
    Status(Status),
    /// One partition with its runs and checks
    #[command(
        after_help = "Examples:\n  thrice show daily_order_summary 2026-03-24\n  thrice show daily_order_summary yesterday\n  thrice show daily_order_summary 2026-03-24 --json\n\nExit codes: 0 shown, 2 no such pipeline, or not the key of one interval, 7 no database"
    )]
    Show(Show),
    /// Why a partition stands where it stands, and what would change it
    #[command(
        after_help = "Examples:\n  thrice why daily_order_summary 2026-03-24\n  thrice why daily_order_summary                    the newest partition that is due\n  thrice why daily_order_summary yesterday --json\n\nExit codes: 0 said, 2 no such pipeline, or not the key of one interval, 7 no database"
    )]
    Why(Why),
    /// Where intervals begin and end, how long they are, when each is due and made again
    #[command(
        after_help = "Examples:\n  thrice intervals daily_order_summary                        some around now\n  thrice intervals daily_order_summary 2026-03\n  thrice intervals daily_order_summary --from 2026-03-01 --to 2026-03-07 --json\n\nIntervals: 2026-03-24, 2026-03-24T05, 2026-03, 2026-W13, yesterday, -3, a,b,c, - (standard input)\nA length with (-1 h) or (+1 h) beside it: the clocks change in this interval\n\nExit codes: 0 shown, 2 no such pipeline or interval"
    )]
    Intervals(Intervals),
    /// Runs of all pipelines, newest first
    #[command(
        after_help = "Examples:\n  thrice ledger\n  thrice ledger daily_order_summary --limit 50\n  thrice ledger --since 2026-03-24T00:00:00+09:00 --json\n\nExit codes: 0 shown, 2 no such pipeline, 7 no database"
    )]
    Ledger(Ledger),
    /// What an error code means, what it leaves behind, what to do
    #[command(
        after_help = "Examples:\n  thrice explain TH0531\n  thrice explain\n  thrice explain TH0531 --json\n\nExit codes: 0 shown, 2 no such code"
    )]
    Explain(Explain),
    /// Compare the published rows of a partition with what its query gives now, or with the rows they replaced
    #[command(
        after_help = "Examples:\n  thrice diff daily_order_summary 2026-03-24\n  thrice diff daily_order_summary 2026-03-24 --against kept\n  thrice diff daily_order_summary 2026-03-24 --limit 100 --json\n\nValues of rows are shown on a terminal, and elsewhere where --limit asks for them; nothing is stored\n\nExit codes: 0 compared, 2 usage or config, 5 nothing is kept, 7 unavailable, 8 SQL failed, 130/143 stopped"
    )]
    Diff(Diff),
    /// Put back the rows that a publish replaced
    #[command(
        after_help = "Examples:\n  thrice rollback daily_order_summary 2026-03-24 --reason \"the correction was wrong\"\n  thrice rollback daily_order_summary 2026-03-24 --to-attempt 1 --reason \"both corrections were wrong\" --yes\n  thrice rollback daily_order_summary 2026-03-24 --reason \"the correction was wrong\" --dry-run --json\n\nRows are kept where keep_old_for under [target] says so; a rollback is a run and keeps what it replaces for 7 days\n\nExit codes: 0 put back, 2 usage or config, 5 nothing is kept, not agreed, closed, or a newer publish came in between, 7 unavailable, 8 SQL failed, 9 a COMMIT is unresolved: run again, 130/143 stopped"
    )]
    Rollback(RollbackArgs),
    /// Drop staging that nobody needs, and kept rows whose time is over
    #[command(
        after_help = "Examples:\n  thrice gc --dry-run\n  thrice gc --yes\n  thrice gc --yes --json\n\nExit codes: 0 done, or nothing to do, 2 usage or config, 5 not agreed, 7 no database, or some could not be dropped"
    )]
    Gc(Gc),
    /// Record existing rows as published partitions
    #[command(
        after_help = "Examples:\n  thrice adopt daily_order_summary --from 2025-01-01 --to 2026-02-28 --reason \"loaded by the old job\"\n  thrice adopt daily_order_summary --from 2026-03-01 --to 2026-03-01 --reason \"checked by hand\" --yes\n  thrice adopt daily_order_summary --from 2026-03 --to 2026-03 --reason \"moved over\" --json --yes\n\nExit codes: 0 recorded, 2 usage or config, 5 not agreed or refused by policy, 7 unavailable, 8 SQL failed, 130/143 stopped"
    )]
    Adopt(Adopt),
    /// Close published partitions: nothing changes them any more
    #[command(
        after_help = "Examples:\n  thrice close daily_order_summary 2026-03 --reason \"month is reported\"\n  thrice close daily_order_summary --from 2026-03-01 --to 2026-03-07 --reason \"audited\"\n  thrice close daily_order_summary 2026-03-24 --reason \"audited\" --json\n\nExit codes: 0 closed, or closed before, 2 usage or config, or the role may not, 5 no reason, or some are not published (the others are closed), 7 no database"
    )]
    Close(Closing),
    /// Open closed partitions for another run
    #[command(
        after_help = "Examples:\n  thrice reopen daily_order_summary 2026-03-24 --reason \"the source was corrected\"\n  thrice reopen daily_order_summary --from 2026-03-01 --to 2026-03-07 --reason \"audit found rows\"\n  thrice reopen daily_order_summary 2026-03-24 --reason \"the source was corrected\" --json\n\nExit codes: 0 open, or never closed, 2 usage or config, or the role may not, 5 no reason, or some are not published, 7 no database"
    )]
    Reopen(Closing),
    /// Go on with another grain or zone after partitions were published
    #[command(
        after_help = "Examples:\n  thrice recut daily_order_summary --reason \"hours instead of days from now on\"\n  thrice recut daily_order_summary --reason \"the zone's law has changed\" --yes\n  thrice recut daily_order_summary --reason \"hours instead of days from now on\" --yes --json\n\nPublished partitions keep their old cut with their receipts, and no row is changed\n\nExit codes: 0 recut, or not needed, 2 usage or config, or the role may not, 5 no reason, not agreed, or another table, 7 no database, 9 a COMMIT is unresolved"
    )]
    Recut(Recut),
    /// Create or update the ledger, schema thrice
    #[command(
        after_help = "Examples:\n  thrice migrate\n  thrice migrate --info\n  thrice migrate --json\n\nExit codes: 0 current, 2 a privilege is missing, 5 the ledger is newer than this program, 7 no database"
    )]
    Migrate(Migrate),
    /// Each setting, and where it comes from
    #[command(
        after_help = "Examples:\n  thrice config --explain\n  thrice config daily_order_summary --explain      also what is in force for a pipeline\n  thrice config --json\n\nExit codes: 0 shown, 2 wrong files or connection settings"
    )]
    Config(Config),
    /// Completions, man pages, schemas for editors
    #[command(
        subcommand,
        after_help = "Examples:\n  thrice export completions bash > ~/.local/share/bash-completion/completions/thrice\n  thrice export man ~/.local/share/man/man1\n  thrice export schema --write\n\nExit codes: 0 written, 2 not written"
    )]
    Export(Export),
    /// The statements that let a login work, or look: roles of the ledger, targets, sources
    #[command(
        after_help = "Examples:\n  thrice grants --print\n  thrice grants --print | psql \"$DATABASE_URL\"           as the owner of schema thrice\n  thrice grants --print --json\n\nExit codes: 0 printed, 2 a pipeline cannot be read"
    )]
    Grants(Grants),
    /// The private PostgreSQL of this project
    #[command(
        subcommand,
        after_help = "Examples:\n  thrice pg status\n  thrice pg psql -f sample.sql\n  thrice pg stop\n\nExit codes: 0 done; status and stop also where there is none, 2 log where there is none, 7 others are connected, or it cannot be started or stopped"
    )]
    Pg(Pg),
}

/// `thrice init`
#[derive(Debug, Args)]
pub(crate) struct Init {
    /// Folder to write; made if it is not there
    #[arg(value_name = "DIR")]
    pub(crate) folder: Option<PathBuf>,
}

/// `thrice demo`
#[derive(Debug, Args)]
pub(crate) struct Demo {
    /// Leave the private PostgreSQL running
    #[arg(long)]
    pub(crate) keep: bool,
}

/// `thrice doctor`
#[derive(Debug, Args)]
pub(crate) struct Doctor {
    /// Do what is safe: drop staging tables that nobody needs, free what dead workers claimed; grants nothing
    #[arg(long)]
    pub(crate) fix: bool,
}

/// `thrice lint`
#[derive(Debug, Args)]
pub(crate) struct Lint {
    /// Pipelines; all of them when none is named
    #[arg(value_name = "P")]
    pub(crate) pipelines: Vec<String>,
    /// Also ask the database: describe the query, examine the target
    #[arg(long)]
    pub(crate) db: bool,
    /// Print the SQL that the checks become; no database is needed
    #[arg(long)]
    pub(crate) show_sql: bool,
    /// Treat warnings as errors
    #[arg(long, value_name = "WHAT")]
    pub(crate) deny: Option<Deny>,
}

/// What `--deny` denies.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Deny {
    // Every warning.
    Warnings,
}

/// `thrice run`
#[derive(Debug, Args)]
#[expect(clippy::struct_excessive_bools, clippy::struct_field_names, reason = "one field for each flag, by its name")]
pub(crate) struct Run {
    /// Pipeline; all of them when none is named
    #[arg(value_name = "P")]
    pub(crate) pipeline: Option<String>,
    /// Intervals; what is due when none is named
    #[arg(value_name = "K", allow_negative_numbers = true)]
    pub(crate) keys: Vec<String>,
    /// First interval of a range, included
    #[arg(long, value_name = "K", allow_negative_numbers = true, conflicts_with = "keys")]
    pub(crate) from: Option<String>,
    /// Last interval of a range, included
    #[arg(long, value_name = "K", allow_negative_numbers = true, conflicts_with = "keys")]
    pub(crate) to: Option<String>,
    /// Why, for the ledger; 3 to 500 characters
    #[arg(long, value_name = "TEXT")]
    pub(crate) reason: Option<String>,
    /// Do not wait for the delay after the interval's end
    #[arg(long)]
    pub(crate) early: bool,
    /// Say what would run, write nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Wait for another worker that has the partition
    #[arg(long)]
    pub(crate) wait: bool,
    /// Exit with 3 where nothing was to do
    #[arg(long)]
    pub(crate) detailed_exitcode: bool,
    /// Replace rows that no receipt accounts for
    #[arg(long)]
    pub(crate) overwrite_existing: bool,
    /// Publish although much of what is published would go or change
    #[arg(long)]
    pub(crate) accept_drop: bool,
    /// Publish into a closed partition
    #[arg(long)]
    pub(crate) reopen: bool,
}

/// `thrice explain`
#[derive(Debug, Args)]
pub(crate) struct Explain {
    /// Error code, such as TH0531; all of them when none is named
    #[arg(value_name = "CODE")]
    pub(crate) code: Option<String>,
}

/// `thrice migrate`
#[derive(Debug, Args)]
pub(crate) struct Migrate {
    /// Say what would be done, write nothing
    #[arg(long)]
    pub(crate) info: bool,
}

/// `thrice config`
#[derive(Debug, Args)]
pub(crate) struct Config {
    /// Pipeline, to also see what is in force for it
    #[arg(value_name = "P")]
    pub(crate) pipeline: Option<String>,
    /// Say where each value comes from
    #[arg(long)]
    pub(crate) explain: bool,
}

/// `thrice export`
#[derive(Debug, Subcommand)]
pub(crate) enum Export {
    /// Completions for a shell, on standard output
    #[command(
        after_help = "Examples:\n  thrice export completions bash > ~/.local/share/bash-completion/completions/thrice\n  thrice export completions zsh > ~/.zfunc/_thrice\n  thrice export completions fish > ~/.config/fish/completions/thrice.fish\n\nExit codes: 0 written, 2 not written, or no such shell"
    )]
    Completions {
        /// The shell
        #[arg(value_name = "SHELL")]
        shell: clap_complete::Shell,
    },
    /// A man page for each command
    #[command(
        after_help = "Examples:\n  thrice export man ~/.local/share/man/man1\n  thrice export man ./man && man ./man/thrice-run.1\n  thrice export man ./man --json\n\nExit codes: 0 written, 2 not written"
    )]
    Man {
        /// Folder to write them into; made if it is not there
        #[arg(value_name = "DIR")]
        folder: PathBuf,
    },
    /// JSON Schemas of thrice.toml and of pipeline files, for editors
    #[command(
        after_help = "Examples:\n  thrice export schema --write                renews schemas/ after an update of thrice\n  thrice export schema pipeline\n  thrice export schema project > thrice.json\n\nExit codes: 0 written, 2 not written, or no project"
    )]
    Schema {
        /// Print the schema of this kind of files
        #[arg(value_name = "FILE", required_unless_present = "write", conflicts_with = "write")]
        file: Option<SchemaOf>,
        /// Write both into the project's folder schemas/, where the files of init look for them
        #[arg(long)]
        write: bool,
    },
}

/// A kind of files that has a schema.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum SchemaOf {
    // `thrice.toml`.
    Project,
    // `pipelines/NAME.toml`.
    Pipeline,
}

/// `thrice grants`
#[derive(Debug, Args)]
pub(crate) struct Grants {
    /// Print them; thrice grants nothing itself
    #[arg(long, required = true)]
    pub(crate) print: bool,
}

/// `thrice pg`
#[derive(Debug, Subcommand)]
pub(crate) enum Pg {
    /// Is it running, and where
    #[command(
        after_help = "Examples:\n  thrice pg status\n  thrice -C shop pg status\n  thrice pg status --json\n\nExit codes: 0 told, also where there is none, 2 no project"
    )]
    Status,
    /// Stop it, unless others are connected
    #[command(
        after_help = "Examples:\n  thrice pg stop\n  thrice pg stop --force        also where others are connected\n  thrice pg stop --json\n\nExit codes: 0 stopped, also where there is none, 2 no project, 7 others are connected, or it cannot be stopped"
    )]
    Stop {
        /// Also where others are connected
        #[arg(long)]
        force: bool,
    },
    /// Print its log
    #[command(
        after_help = "Examples:\n  thrice pg log\n  thrice pg log | tail -20\n  thrice pg log --json\n\nExit codes: 0 printed, 2 no project, or no log"
    )]
    Log,
    /// Open psql in it, started if need be; what follows goes to psql
    #[command(
        after_help = "Examples:\n  thrice pg psql\n  thrice pg psql -f sample.sql\n  thrice pg psql -c \"select count(*) from mart.daily_order_summary\"\n\nExit codes: that of psql; 2 no project, or one with another database, 7 it cannot be started, or no psql is installed"
    )]
    Psql {
        /// Arguments of psql, such as -f FILE
        #[arg(value_name = "ARG", trailing_var_arg = true, allow_hyphen_values = true)]
        args: Vec<std::ffi::OsString>,
    },
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_tree_holds_together() {
        Cli::command().debug_assert();
    }

    /// Every command, with the words that call it.
    fn every_command(words: &str, command: &clap::Command, found: &mut Vec<(String, clap::Command)>) {
        found.push((words.to_owned(), command.clone()));
        for sub in command.get_subcommands() {
            every_command(&format!("{words} {}", sub.get_name()), sub, found);
        }
    }

    /// What a shell leaves of a line: no comment, nothing that goes to another program.
    fn calls(line: &str) -> Vec<Vec<String>> {
        let line = line.split("  ").next().unwrap_or_default();
        let calls = line.split([';', '|', '>', '<']).flat_map(|part| part.split("&&")).map(str::trim);
        let quoted = |call: &str| {
            let parts = call.split('"').enumerate();
            let words = parts.flat_map(|(nth, part)| {
                let inside = nth % 2 == 1;
                let words: Vec<&str> = if inside { vec![part] } else { part.split_whitespace().collect() };
                words.into_iter().map(str::to_owned).collect::<Vec<_>>()
            });
            words.collect::<Vec<_>>()
        };
        calls.filter(|call| call.starts_with("thrice ")).map(quoted).collect()
    }

    #[test]
    fn help_of_every_command_ends_with_three_examples_that_are_right_and_the_exit_codes() {
        let mut commands = Vec::new();
        every_command("thrice", &Cli::command(), &mut commands);
        for (words, command) in commands {
            let text = command.get_after_help().unwrap_or_else(|| panic!("{words} ends with nothing")).to_string();
            let examples = text.strip_prefix("Examples:\n").unwrap_or_else(|| panic!("{words}: {text}"));
            let (examples, rest) = examples.split_once("\n\n").unwrap_or_else(|| panic!("{words}: {text}"));
            assert_eq!(examples.lines().count(), 3, "{words}");
            for line in examples.lines() {
                let calls = calls(line.trim_start());
                assert!(!calls.is_empty(), "{words}: {line}");
                for call in calls {
                    let read = Cli::try_parse_from(&call);
                    assert!(read.is_ok(), "{words}: {line}: {}", read.unwrap_err());
                }
            }
            let exits = rest.lines().last().unwrap_or_default();
            assert!(exits.starts_with("Exit codes: "), "{words}: {rest}");
            assert!(exits.starts_with("Exit codes: 0 ") || words == "thrice pg psql", "{words}: {exits}");
        }
    }

    #[test]
    fn the_first_screen_names_every_command_once() {
        for command in Cli::command().get_subcommands() {
            let name = format!(" {} ", command.get_name());
            let lines = FIRST_SCREEN.lines().filter(|line| line.get(8..).is_some_and(|rest| rest.starts_with(&name)));
            assert_eq!(lines.count(), 1, "{name}");
        }
    }
}
