//! The `thrice` command.

mod args;
mod clock;
mod code_pages;
mod commands;
mod consent;
mod cut;
mod database;
mod exit_code;
mod fault;
mod git;
mod job;
mod json_lines;
mod local_server;
mod logging;
mod output;
mod prepare;
mod project;
mod remedy;
mod schema_files;
mod selection;
mod signals;
mod usage;
mod zone_release;

use std::process::ExitCode;

use crate::args::{Cli, Command};
use crate::commands::closing::Direction;
use crate::exit_code::Exit;
use crate::fault::Outcome;
use crate::output::Output;

fn main() -> ExitCode {
    #[cfg(feature = "failpoints")]
    thrice_runner::failpoints::arm_from_environment();
    let cli = match usage::parse() {
        Ok(cli) => cli,
        Err(exit) => return output::end(exit, Output::PLAIN).into(),
    };
    logging::start(&cli.global);
    let output = Output::new(&cli.global);
    let exit = run(&cli, output).unwrap_or_else(|failed| {
        failed.report(output);
        failed.exit()
    });
    output::end(exit, output).into()
}

fn run(cli: &Cli, output: Output) -> Outcome<Exit> {
    // what only explains waits for nothing, and does not set up how to wait
    if let Command::Explain(args) = &cli.command {
        return commands::explain::run(args, output);
    }
    if let Command::Intervals(args) = &cli.command {
        return commands::intervals::run(&cli.global, args, output);
    }
    // one thread: the work is waiting for the server, and waking another thread costs more than each answer
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| fault::Fault::new(thrice_core::code::ErrorCode::Bug, format!("no runtime: {error}")))?;
    let ended = runtime.block_on(dispatch(cli, output));
    // whatever is still in the background must not hold the call up
    runtime.shutdown_timeout(std::time::Duration::from_millis(200));
    ended
}

async fn dispatch(cli: &Cli, output: Output) -> Outcome<Exit> {
    let global = &cli.global;
    match &cli.command {
        Command::Init(args) => commands::init::run(global, args, output),
        Command::Demo(args) => Box::pin(commands::demo::run(global, args, output)).await,
        Command::Doctor(args) => Box::pin(commands::doctor::run(global, args, output)).await,
        Command::Lint(args) => Box::pin(commands::lint::run(global, args, output)).await,
        Command::Run(args) => Box::pin(commands::run::run(global, args, output)).await,
        Command::Status(args) => Box::pin(commands::status::run(global, args, output)).await,
        Command::Show(args) => Box::pin(commands::show::run(global, args, output)).await,
        Command::Why(args) => Box::pin(commands::why::run(global, args, output)).await,
        Command::Ledger(args) => Box::pin(commands::ledger::run(global, args, output)).await,
        Command::Explain(args) => commands::explain::run(args, output),
        Command::Intervals(args) => commands::intervals::run(global, args, output),
        Command::Export(args) => commands::export::run(global, args, output),
        Command::Adopt(args) => Box::pin(commands::adopt::run(global, args, output)).await,
        Command::Close(args) => Box::pin(commands::closing::run(global, args, Direction::Close, output)).await,
        Command::Reopen(args) => Box::pin(commands::closing::run(global, args, Direction::Reopen, output)).await,
        Command::Diff(args) => Box::pin(commands::diff::run(global, args, output)).await,
        Command::Rollback(args) => Box::pin(commands::rollback::run(global, args, output)).await,
        Command::Gc(args) => Box::pin(commands::gc::run(global, args, output)).await,
        Command::Recut(args) => Box::pin(commands::recut::run(global, args, output)).await,
        Command::Grants(_) => commands::grants::run(global, output),
        Command::Migrate(args) => Box::pin(commands::migrate::run(global, args, output)).await,
        Command::Config(args) => commands::config::run(global, args, output),
        Command::Pg(args) => Box::pin(commands::pg::run(global, args, output)).await,
    }
}
