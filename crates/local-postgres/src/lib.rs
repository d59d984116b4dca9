//! A private PostgreSQL for one project: finds the server programs on this machine, makes a cluster under `.thrice/pg`,
//! starts it with a socket only, shares it between processes, stops it.
//!
//! ```no_run
//! use thrice_local_postgres::{LocalPostgres, Surroundings};
//!
//! # async fn example() -> Result<(), thrice_local_postgres::LocalPostgresError> {
//! let local = LocalPostgres::of_project("/srv/shop");
//! let running = local.ensure_running(&Surroundings::of_process(), "thrice").await?;
//! println!("psql -h {} -p {} -U {} {}", running.socket_dir.display(), running.port, running.user, running.database);
//! local.stop(false).await?;
//! # Ok(())
//! # }
//! ```
//!
//! The server is an ordinary one and keeps its promises (`fsync` stays on). It listens on no network port, and its socket
//! and files are for their owner alone. Root cannot run a server: it is then run as `postgres` or `nobody`.

mod binaries;
mod cluster_file;
mod create;
mod error;
mod home;
mod postmaster;
mod running;
mod server_user;

pub use binaries::{Binaries, Candidate, Surroundings};
pub use error::LocalPostgresError;
pub use running::{LocalPostgres, Running, Status, Stopped};
