//! The private PostgreSQL of a project.
use crate::exit_code::Exit;
use crate::fault::{Fault, Outcome};
use crate::output::Output;
use std::path::Path;
use thrice_connect::ConnectionSettings;
use thrice_core::code::ErrorCode;
pub(crate) async fn ensure(_root: &Path, _output: Output) -> Outcome<ConnectionSettings> {
    Err(Fault::new(ErrorCode::LocalServer, "no").into())
}
pub(crate) async fn status(_root: &Path, _output: Output) -> Outcome<Exit> {
    Ok(Exit::Ok)
}
pub(crate) async fn stop(_root: &Path, _force: bool, _output: Output) -> Outcome<Exit> {
    Ok(Exit::Ok)
}
pub(crate) fn log(_root: &Path, _output: Output) -> Outcome<Exit> {
    Ok(Exit::Ok)
}
