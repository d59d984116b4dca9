//! A pipeline whose definition and query have both been checked.

use thrice_core::Schedule;

use crate::code_hash::CodeHash;
use crate::definition::Definition;
use crate::diagnostic::{Checked, Diagnostics};
use crate::own_target::OwnTarget;
use crate::placeholders::Query;

/// A checked pipeline: definition, query and the hash of both.
#[derive(Debug, Clone, PartialEq)]
pub struct Pipeline {
    definition: Definition,
    query: Query,
    code_hash: CodeHash,
}

impl Pipeline {
    /// Joins a definition with its query file.
    ///
    /// # Errors
    /// Everything that is wrong in the query.
    pub fn new(definition: Definition, sql_file: &str, sql: &[u8]) -> Result<Checked<Self>, Diagnostics> {
        let own = OwnTarget {
            table: &definition.target.table,
            interval_column: definition.target.interval_column.as_ref(),
            search_path: definition.session.search_path.as_deref(),
        };
        let query = Query::read_for(sql_file, sql, &definition.interval.grain, &definition.vars, Some(&own))?;
        let code_hash = CodeHash::of(&definition, &query.value);
        Ok(Checked { value: Self { definition, query: query.value, code_hash }, warnings: query.warnings })
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.definition.name
    }

    /// What its TOML file says.
    pub const fn definition(&self) -> &Definition {
        &self.definition
    }

    /// Its query.
    pub const fn query(&self) -> &Query {
        &self.query
    }

    /// The hash of its code.
    pub const fn code_hash(&self) -> &CodeHash {
        &self.code_hash
    }

    /// Its intervals, without start and end.
    pub fn schedule(&self) -> Schedule {
        self.definition.schedule()
    }

    /// Its definition with all defaults, as the ledger keeps it.
    pub fn definition_json(&self) -> serde_json::Value {
        self.definition.to_json()
    }
}
