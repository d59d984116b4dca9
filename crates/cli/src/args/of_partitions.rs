//! Arguments of the commands that are about partitions.

use clap::{Args, ValueEnum};
use thrice_core::time::Timestamp;

/// `thrice status`
#[derive(Debug, Args)]
pub(crate) struct Status {
    /// Pipeline; all of them when none is named
    #[arg(value_name = "P")]
    pub(crate) pipeline: Option<String>,
    /// One month
    #[arg(long, value_name = "M", conflicts_with_all = ["from", "to"])]
    pub(crate) month: Option<String>,
    /// First interval of a range, included
    #[arg(long, value_name = "K", allow_negative_numbers = true)]
    pub(crate) from: Option<String>,
    /// Last interval of a range, included
    #[arg(long, value_name = "K", allow_negative_numbers = true)]
    pub(crate) to: Option<String>,
    /// Exit with 5 unless every partition shown is published, or final
    #[arg(long, value_name = "WHAT")]
    pub(crate) require: Option<Require>,
}

/// What `--require` asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Require {
    // Readers see every partition.
    Published,
    // No correction for late rows is to come.
    Final,
}

impl Require {
    /// The word that was given.
    pub(crate) const fn word(self) -> &'static str {
        match self {
            Self::Published => "published",
            Self::Final => "final",
        }
    }
}

/// `thrice close` and `thrice reopen`
#[derive(Debug, Args)]
pub(crate) struct Closing {
    /// Pipeline
    #[arg(value_name = "P")]
    pub(crate) pipeline: String,
    /// Intervals
    #[arg(value_name = "K", allow_negative_numbers = true)]
    pub(crate) keys: Vec<String>,
    /// First interval of a range, included
    #[arg(long, value_name = "K", allow_negative_numbers = true, conflicts_with = "keys")]
    pub(crate) from: Option<String>,
    /// Last interval of a range, included
    #[arg(long, value_name = "K", allow_negative_numbers = true, conflicts_with = "keys")]
    pub(crate) to: Option<String>,
    /// Why, for the ledger; 3 to 500 characters
    #[arg(long, value_name = "TEXT")]
    pub(crate) reason: Option<String>,
}

/// `thrice diff`
#[derive(Debug, Args)]
pub(crate) struct Diff {
    /// Pipeline
    #[arg(value_name = "P")]
    pub(crate) pipeline: String,
    /// Interval
    #[arg(value_name = "K", allow_negative_numbers = true)]
    pub(crate) key: String,
    /// Instead of running the query: the rows that the newest publish replaced (`kept`), or those of run N
    #[arg(long, value_name = "kept|N")]
    pub(crate) against: Option<String>,
    /// Show the values of so many rows that differ
    #[arg(long, value_name = "N")]
    pub(crate) limit: Option<u32>,
}

/// `thrice rollback`
#[derive(Debug, Args)]
pub(crate) struct RollbackArgs {
    /// Pipeline
    #[arg(value_name = "P")]
    pub(crate) pipeline: String,
    /// Interval
    #[arg(value_name = "K", allow_negative_numbers = true)]
    pub(crate) key: String,
    /// Put back what this run published; else what the newest publish replaced
    #[arg(long, value_name = "N")]
    pub(crate) to_attempt: Option<i32>,
    /// Why, for the ledger; 3 to 500 characters
    #[arg(long, value_name = "TEXT")]
    pub(crate) reason: Option<String>,
    /// Put it back although the partition is closed
    #[arg(long)]
    pub(crate) reopen: bool,
    /// Say what would be put back, and write nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
}

/// `thrice gc`
#[derive(Debug, Args)]
pub(crate) struct Gc {
    /// Say what would be dropped, and drop nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
}

/// `thrice show`
#[derive(Debug, Args)]
pub(crate) struct Show {
    /// Pipeline
    #[arg(value_name = "P")]
    pub(crate) pipeline: String,
    /// Interval
    #[arg(value_name = "K", allow_negative_numbers = true)]
    pub(crate) key: String,
}

/// `thrice why`
#[derive(Debug, Args)]
pub(crate) struct Why {
    /// Pipeline
    #[arg(value_name = "P")]
    pub(crate) pipeline: String,
    /// Interval; without it the newest one that is due, else the one that has not ended
    #[arg(value_name = "K", allow_negative_numbers = true)]
    pub(crate) key: Option<String>,
}

/// `thrice intervals`
#[derive(Debug, Args)]
pub(crate) struct Intervals {
    /// Pipeline
    #[arg(value_name = "P")]
    pub(crate) pipeline: String,
    /// Intervals; some around now when none is named
    #[arg(value_name = "SET", allow_negative_numbers = true)]
    pub(crate) set: Vec<String>,
    /// First interval of a range, included
    #[arg(long, value_name = "K", allow_negative_numbers = true, conflicts_with = "set")]
    pub(crate) from: Option<String>,
    /// Last interval of a range, included
    #[arg(long, value_name = "K", allow_negative_numbers = true, conflicts_with = "set")]
    pub(crate) to: Option<String>,
}

/// `thrice ledger`
#[derive(Debug, Args)]
pub(crate) struct Ledger {
    /// Pipeline; all of them when none is named
    #[arg(value_name = "P")]
    pub(crate) pipeline: Option<String>,
    /// Runs that started at or after this instant
    #[arg(long, value_name = "T")]
    pub(crate) since: Option<Timestamp>,
    /// At most so many runs
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = clap::value_parser!(i64).range(1..=100_000))]
    pub(crate) limit: i64,
}

/// `thrice adopt`
#[derive(Debug, Args)]
pub(crate) struct Adopt {
    /// Pipeline
    #[arg(value_name = "P")]
    pub(crate) pipeline: String,
    /// First interval, included
    #[arg(long, value_name = "K", allow_negative_numbers = true)]
    pub(crate) from: String,
    /// Last interval, included
    #[arg(long, value_name = "K", allow_negative_numbers = true)]
    pub(crate) to: String,
    /// Why, for the ledger; 3 to 500 characters
    #[arg(long, value_name = "TEXT")]
    pub(crate) reason: Option<String>,
}

/// `thrice recut`
#[derive(Debug, Args)]
pub(crate) struct Recut {
    /// Pipeline
    #[arg(value_name = "P")]
    pub(crate) pipeline: String,
    /// Why, for the ledger; 3 to 500 characters
    #[arg(long, value_name = "TEXT")]
    pub(crate) reason: Option<String>,
    /// Although the target holds rows: each lies in the new interval that it is of
    #[arg(long)]
    pub(crate) keep_rows: bool,
}
