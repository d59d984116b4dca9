//! One reading of URL, PG* variables and pgpass; connections for both drivers; secrets that never print.
//!
//! ```
//! use thrice_connect::{ConnectionSettings, Sources};
//!
//! let sources = Sources {
//!     env: [
//!         ("DATABASE_URL".to_owned(), "postgres://kim:s3cret@localhost/shop".to_owned()),
//!         ("PGPORT".to_owned(), "6543".to_owned()),
//!     ]
//!     .into(),
//!     ..Sources::default()
//! };
//! let (settings, origin) = ConnectionSettings::resolve(&sources)?.expect("DATABASE_URL is set");
//! assert_eq!(origin.to_string(), "DATABASE_URL");
//! assert_eq!(settings.to_string(), "postgres://kim:***@localhost:6543/shop");
//!
//! // One reading, two drivers.
//! let _for_the_ledger = settings.sqlx();
//! let _for_the_data = settings.tokio_postgres();
//! # Ok::<(), thrice_connect::ConnectError>(())
//! ```

mod data_connection;
mod drivers;
mod error;
mod explain;
mod host;
mod mask;
mod parts;
mod passfile;
mod percent;
mod pgpass;
mod resolve;
mod secret;
mod server_version;
mod settings;
mod sources;
mod ssl_mode;
mod startup_options;
mod url;

pub use data_connection::{ClosedBecause, DataConnection, Notice, connect, connect_within};
pub use error::{ConnectError, ConnectErrorKind};
pub use host::Host;
pub use parts::{Part, PartOrigin};
pub use passfile::{Passfile, read_passfile};
pub use resolve::Origin;
pub use secret::Secret;
pub use server_version::ServerVersion;
pub use settings::{ConnectionSettings, TargetSession};
pub use sources::Sources;
pub use ssl_mode::SslMode;
