//! The hash that says whether two runs used the same code: the query without comments and white space, its values, the
//! interval, the target, and the search path that says which tables bare names mean. Checks, retries, timeouts and
//! planner settings do not change what is published, and are left out.

use std::fmt;

use serde_json::Value;

use crate::definition::Definition;
use crate::placeholders::Query;
use crate::sql_lexer::TokenKind;

/// A BLAKE3 hash in lower-case hexadecimal, 64 characters.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct CodeHash(String);

/// Changes when the way of hashing does, so that old and new hashes never meet by accident.
const FORM: &[u8] = b"thrice code hash 1";

impl CodeHash {
    /// The hash of a pipeline.
    pub fn of(definition: &Definition, query: &Query) -> Self {
        let mut hasher = blake3::Hasher::new();
        part(&mut hasher, FORM);
        for (kind, text) in query.code() {
            // Bare words fold as the server folds them; everything else counts letter by letter.
            if kind == TokenKind::Word {
                part(&mut hasher, text.to_ascii_lowercase().as_bytes());
            } else {
                part(&mut hasher, text.as_bytes());
            }
        }
        part(&mut hasher, b"");
        let search_path = definition.search_path_json();
        for table in [definition.vars_json(), definition.interval_json(), definition.target_json(), search_path] {
            part(&mut hasher, canonical(&table).as_bytes());
        }
        Self(hasher.finalize().to_hex().to_string())
    }

    /// All 64 characters.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The first eight characters, enough for people.
    pub fn short(&self) -> &str {
        self.0.get(..8).unwrap_or(&self.0)
    }
}

impl fmt::Display for CodeHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Length first, so that no two lists of parts look alike.
fn part(hasher: &mut blake3::Hasher, bytes: &[u8]) {
    hasher.update(&(bytes.len() as u64).to_le_bytes());
    hasher.update(bytes);
}

/// JSON with sorted keys, whatever order the map keeps.
fn canonical(value: &Value) -> String {
    match value {
        Value::Object(map) => {
            let mut entries: Vec<_> = map.iter().collect();
            entries.sort_by_key(|(key, _)| key.as_str());
            let entries: Vec<_> = entries
                .into_iter()
                .map(|(key, value)| format!("{}:{}", Value::from(key.as_str()), canonical(value)))
                .collect();
            format!("{{{}}}", entries.join(","))
        }
        Value::Array(values) => format!("[{}]", values.iter().map(canonical).collect::<Vec<_>>().join(",")),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => value.to_string(),
    }
}
