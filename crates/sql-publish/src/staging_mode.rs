//! How rows are kept between the query and the publish: a value that the caller chooses.

use thrice_core::identifier::{Identifier, TableName};

/// Makes the table that holds a result. Strategies see only its name.
pub trait StagingMode: Sync {
    /// The mode's name, as the ledger spells it.
    fn name(&self) -> &'static str;

    /// The statement that makes an empty `staging` with `columns` of `target`: same names, types, lengths and
    /// collations, and nothing else of it: no default, no constraint, no identity.
    fn create(&self, staging: &TableName, target: &TableName, columns: &[Identifier]) -> String;
}

/// A table that survives the death of the process. Unlogged: it costs no write-ahead log, and is empty after a crash of
/// the server, which the publish notices.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Durable;

impl StagingMode for Durable {
    fn name(&self) -> &'static str {
        "durable"
    }

    fn create(&self, staging: &TableName, target: &TableName, columns: &[Identifier]) -> String {
        let columns: Vec<String> = columns.iter().map(ToString::to_string).collect();
        format!(
            "create unlogged table {staging} with (autovacuum_enabled = off) as select {} from {target} with no data",
            columns.join(", ")
        )
    }
}
