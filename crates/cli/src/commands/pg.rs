//! `thrice pg`: the private PostgreSQL of the project.

use crate::args::{Global, Pg};
use crate::exit_code::Exit;
use crate::fault::Outcome;
use crate::local_server;
use crate::output::Output;
use crate::project::Project;

pub(crate) async fn run(global: &Global, args: &Pg, output: Output) -> Outcome<Exit> {
    let root = Project::root(&global.dir)?;
    match args {
        Pg::Status => local_server::status(&root, output),
        Pg::Stop { force } => local_server::stop(&root, *force, output).await,
        Pg::Log => local_server::log(&root, output),
        Pg::Psql { args } => Err(local_server::psql(&root, args, output).await?.into()),
    }
}
