//! Bad inputs, as people type and write them: every line of the list B01 to B109 is tested here, or stands in
//! `not_yet.rs` with the reason. Each call is made twice, as text and with `--json`.

#![expect(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests")]

mod cli;
mod coverage;
mod data;
mod db;
mod doctor;
mod edits;
mod fake_server;
#[path = "../cli/login.rs"]
mod login;
mod not_yet;
#[expect(dead_code, reason = "what a pooler without prepared statements does is told elsewhere")]
#[path = "../cli/pooler.rs"]
mod pooler;
#[expect(dead_code, reason = "the name of a database and what it refuses are asked for elsewhere")]
#[path = "../cli/scratch.rs"]
mod scratch;
mod shop;
mod sql;
#[path = "../cli/support.rs"]
mod support;
mod told;
mod toml;
