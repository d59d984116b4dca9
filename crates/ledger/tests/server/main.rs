//! The ledger on a real server. Needs `THRICE_TEST_DATABASE_URL`; `cargo xtask test` sets it.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a helper of a test fails as the test does"
)]

mod both_drivers;
mod claims;
mod history;
mod lease;
mod migrations;
mod pipelines;
mod publish;
mod recut;
mod resolution;
mod roles;
mod support;
