//! What the suites share: a scratch database per test, a project folder around it, the real `thrice` binary as a
//! process that can be killed, and questions to the database.
//!
//! Two environment variables are set by `cargo xtask test`: `THRICE_TEST_DATABASE_URL`, a superuser's URL of a
//! throwaway server, and `THRICE_TEST_BIN`, the binary built with the feature `failpoints`.

#![expect(
    clippy::expect_used,
    clippy::return_self_not_must_use,
    reason = "support of tests: a panic is how a test fails"
)]

pub mod bench;
pub mod database;
pub mod process;
pub mod project;

pub use bench::Bench;
pub use database::Scratch;
pub use process::{Finished, Thrice};
pub use project::{PipelineText, Project};
