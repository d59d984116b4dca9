//! The real binary, as people and scripts meet it.

#![expect(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests")]

mod config;
mod database;
mod doctor;
mod explain;
mod login;
mod looking;
mod pooler;
mod private;
mod readme;
mod roles;
mod sample;
mod scratch;
mod support;
mod why;
mod words;
