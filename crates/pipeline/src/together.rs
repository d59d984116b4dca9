//! What only shows when all pipelines of a project are seen together.

use thrice_core::code::ErrorCode;

use crate::definition::Definition;
use crate::diagnostic::{Diagnostic, Diagnostics};

/// Pipelines with one name, and pipelines that write one target.
pub fn check(definitions: &[&Definition]) -> Diagnostics {
    let mut found = Diagnostics::new();
    for (nth, later) in definitions.iter().enumerate() {
        for earlier in &definitions[..nth] {
            if earlier.name == later.name {
                found.push(
                    Diagnostic::error(
                        ErrorCode::DuplicateName,
                        &later.file,
                        format!("two pipelines are called {:?}", later.name),
                    )
                    .at(0..0)
                    .also(&earlier.file, 0..0, "the other one")
                    .fix("rename one of the files"),
                );
            }
            if earlier.target.table == later.target.table {
                let table = later.target.table.readable();
                found.push(
                    Diagnostic::error(
                        ErrorCode::TargetShared,
                        &later.file,
                        format!("{} and {} both write {table}", earlier.name, later.name),
                    )
                    .at(later.table_span.clone())
                    .also(&earlier.file, earlier.table_span.clone(), "first here")
                    .why("each would delete the rows of the other when it replaces an interval")
                    .fix("one pipeline for each target: combine the queries, or give each its own table"),
                );
            }
        }
    }
    found
}
