//! The real binary, as people and scripts meet it.

#![expect(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests")]

mod checks_sql;
mod config;
mod database;
mod doctor;
mod explain;
mod feel;
mod intervals;
mod login;
mod looking;
mod pooler;
mod private;
mod readme;
mod roles;
mod sample;
mod schema;
mod scratch;
mod start;
mod support;
mod terminal;
mod why;
mod words;
