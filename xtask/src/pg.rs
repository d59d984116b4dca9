//! `cargo xtask pg`: the servers that tests and the demonstration can use.

use anyhow::{Context, Result, bail};

use crate::server::{self, MAJORS, Server};

/// `cargo xtask pg list | pg fetch V…`
pub(crate) fn run(arguments: &[String]) -> Result<()> {
    match arguments.split_first() {
        Some((word, [])) if word == "list" => list(),
        Some((word, versions)) if word == "fetch" => {
            let versions = if versions.is_empty() { MAJORS.to_vec() } else { numbers(versions)? };
            for major in versions {
                say(&server::fetched_or_fetch(major)?, "fetched");
            }
            Ok(())
        }
        _ => bail!("cargo xtask pg list | pg fetch 15 16 17 18"),
    }
}

fn list() -> Result<()> {
    let mut none = true;
    for major in MAJORS {
        let places = [(server::installed(major), "installed"), (server::fetched(major)?, "fetched")];
        for (server, origin) in places {
            if let Some(server) = server {
                none = false;
                say(&server, origin);
            }
        }
    }
    if none {
        println!("no server is here; cargo xtask pg fetch {}", MAJORS[MAJORS.len() - 1]);
    }
    Ok(())
}

fn say(server: &Server, origin: &str) {
    println!("{}  {origin:<9}  {}", server.major, server.bin.display());
}

fn numbers(words: &[String]) -> Result<Vec<u32>> {
    words.iter().map(|word| number(word)).collect()
}

/// A supported version.
pub(crate) fn number(word: &str) -> Result<u32> {
    let major = word.parse().with_context(|| format!("{word:?} is no version"))?;
    if MAJORS.contains(&major) { Ok(major) } else { bail!("version {major} is not supported (15 to 18 are)") }
}
