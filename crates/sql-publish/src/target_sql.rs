//! Pieces that the statements about a target share.

use crate::target::Target;

impl Target {
    /// That a row of `s` and one of `t` have the same key; empty for a target without one.
    pub(crate) fn same_key(&self) -> String {
        let same: Vec<String> = self.key.iter().map(|key| format!("s.{key} operator(pg_catalog.=) t.{key}")).collect();
        same.join(" and ")
    }

    /// What an insert adds to its list of columns and to its list of values for the time of the publish.
    pub(crate) fn stamp(&self) -> (String, &'static str) {
        match &self.published_at {
            Some(column) => (format!(", {column}"), ", pg_catalog.now()"),
            None => (String::new(), ""),
        }
    }
}
