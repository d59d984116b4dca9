//! demo
use crate::args::{Demo, Global};
use crate::exit_code::Exit;
use crate::fault::Outcome;
use crate::output::Output;
pub(crate) async fn run(_global: &Global, _args: &Demo, _output: Output) -> Outcome<Exit> {
    Ok(Exit::Ok)
}
