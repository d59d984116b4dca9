//! Reads project files the way people write them, and shows what is said about them.

#![expect(clippy::unwrap_used, reason = "helpers of tests panic as tests do")]

mod bad_sql;
mod bad_toml;
mod code_hash;
mod support;
