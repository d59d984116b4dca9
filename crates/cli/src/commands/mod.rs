//! One file a command.

pub(crate) mod adopt;
pub(crate) mod closing;
pub(crate) mod config;
pub(crate) mod demo;
pub(crate) mod diff;
pub(crate) mod doctor;
pub(crate) mod explain;
pub(crate) mod export;
pub(crate) mod gc;
pub(crate) mod grants;
pub(crate) mod init;
pub(crate) mod intervals;
pub(crate) mod ledger;
pub(crate) mod lint;
pub(crate) mod migrate;
pub(crate) mod pg;
pub(crate) mod recut;
pub(crate) mod rollback;
pub(crate) mod run;
pub(crate) mod show;
pub(crate) mod status;
pub(crate) mod why;
