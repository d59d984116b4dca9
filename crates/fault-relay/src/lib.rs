//! A relay in front of PostgreSQL that understands message boundaries, so that a test can lose exactly one COMMIT:
//! before it is sent, in the middle of it, or after the server has it and before the answer is seen.
//!
//! Clients connect to [`FaultRelay::address`] as to a server. Until a [`Plan`] is armed, everything passes unchanged.
//!
//! ```no_run
//! use std::time::Duration;
//! use thrice_fault_relay::{Fault, FaultRelay, Listen, Plan, Upstream};
//!
//! # async fn example() -> Result<(), thrice_fault_relay::RelayError> {
//! let relay = FaultRelay::start(Upstream::tcp("127.0.0.1:5432"), Listen::tcp()).await?;
//! let url = format!("postgres://app@{}/shop", relay.address());
//!
//! // the server receives the next COMMIT; the client sees a closed connection instead of the answer
//! relay.arm(Plan::on_commit(Fault::lose_reply(Duration::ZERO)));
//!
//! // … a program does its work through `url` …
//! relay.wait_fired(1).await;
//! relay.stop().await;
//! # Ok(())
//! # }
//! ```
//!
//! Encryption is never agreed to: the relay answers `SSLRequest` and `GSSENCRequest` with `N` by itself, so clients
//! must use `sslmode=prefer` or less.

mod address;
mod control;
mod error;
mod frames;
mod frontend;
mod plan;
mod relay;
mod replies;
mod session;
mod startup;
mod stream;

pub use address::{Listen, Upstream};
pub use error::RelayError;
pub use plan::{Fault, Occurrence, Plan, ServerSide, Then, Until};
pub use relay::FaultRelay;
