//! The test binaries and examples of the workspace, as cargo knows them.

use std::collections::BTreeSet;

use anyhow::{Context, Result};
use serde_json::Value;

use crate::process::{cargo, read};

/// Crates whose integration tests ask no server.
const WITHOUT_SERVER: [&str; 3] = ["thrice-core", "thrice-pipeline", "xtask"];

/// Names of targets.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Targets {
    /// Integration tests that need no server.
    pub(crate) plain_tests: BTreeSet<String>,
    /// Integration tests that may ask a server.
    pub(crate) server_tests: BTreeSet<String>,
    /// Examples.
    pub(crate) examples: BTreeSet<String>,
}

impl Targets {
    /// Of this workspace.
    pub(crate) fn read() -> Result<Self> {
        let text = read(cargo()?.args(["metadata", "--no-deps", "--format-version", "1", "--offline"]))?;
        Self::of(&serde_json::from_str(&text).context("cargo metadata")?)
    }

    fn of(metadata: &Value) -> Result<Self> {
        let mut targets = Self::default();
        for package in metadata["packages"].as_array().context("cargo metadata names no packages")? {
            let plain = package["name"].as_str().is_some_and(|name| WITHOUT_SERVER.contains(&name));
            for target in package["targets"].as_array().into_iter().flatten() {
                let name = target["name"].as_str().unwrap_or_default().to_owned();
                match target["kind"][0].as_str() {
                    Some("test") if plain => targets.plain_tests.insert(name),
                    Some("test") => targets.server_tests.insert(name),
                    Some("example") => targets.examples.insert(name),
                    _ => continue,
                };
            }
        }
        // tests are called by name alone: a name that both kinds have is called with a server
        targets.plain_tests.retain(|name| !targets.server_tests.contains(name));
        Ok(targets)
    }
}

#[cfg(test)]
mod unit {
    use super::*;

    #[test]
    fn targets_are_sorted_by_what_they_need() {
        let target = |kind: &str, name: &str| serde_json::json!({ "kind": [kind], "name": name });
        let metadata = serde_json::json!({ "packages": [
            { "name": "thrice-core", "targets": [target("lib", "thrice_core"), target("test", "tiling"), target("test", "both")] },
            { "name": "thrice-ledger", "targets": [target("test", "server"), target("test", "both"), target("example", "job")] },
        ]});
        let targets = Targets::of(&metadata).unwrap();
        let names = |set: &BTreeSet<String>| set.iter().cloned().collect::<Vec<_>>();
        assert_eq!(names(&targets.plain_tests), ["tiling"]);
        assert_eq!(names(&targets.server_tests), ["both", "server"]);
        assert_eq!(names(&targets.examples), ["job"]);
    }
}
