//! Where the server programs are. A folder counts only if `initdb` and `postgres` are there, `postgres --version` runs,
//! and the version is supported; every candidate is told with its reason.

use std::fmt;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::error::LocalPostgresError;
use crate::server_user::ServerUser;

/// Supported major versions.
pub(crate) const MAJORS: std::ops::RangeInclusive<u32> = 15..=18;

/// Server programs of one version.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Binaries {
    /// Major version.
    pub major: u32,
    /// Folder with `initdb` and `postgres`.
    pub bin: PathBuf,
}

/// A place that was looked at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Candidate {
    /// The folder.
    pub bin: PathBuf,
    /// What is wrong there.
    pub refused: String,
}

impl fmt::Display for Candidate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.bin.display(), self.refused)
    }
}

/// What this machine and process offer, as a value, so that a test can hide a part of it.
#[derive(Debug, Clone, Default)]
pub struct Surroundings {
    /// `THRICE_PG_BIN`: a folder with server programs.
    pub thrice_pg_bin: Option<PathBuf>,
    /// Folders of `PATH`.
    pub path: Vec<PathBuf>,
    /// Folders that hold one folder per version, named `17`, `postgresql@17` or `pgsql-17`: `/usr/lib/postgresql`.
    pub version_roots: Vec<PathBuf>,
    /// The user's cache folder.
    pub cache: Option<PathBuf>,
    /// `XDG_RUNTIME_DIR`.
    pub runtime_dir: Option<PathBuf>,
}

impl Surroundings {
    /// Of this process.
    pub fn of_process() -> Self {
        let var = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
        let cache = var("XDG_CACHE_HOME").or_else(|| var("HOME").map(|home| home.join(".cache")));
        Self {
            thrice_pg_bin: var("THRICE_PG_BIN"),
            path: std::env::var_os("PATH").map(|path| std::env::split_paths(&path).collect()).unwrap_or_default(),
            version_roots: [
                "/usr/lib/postgresql",
                "/usr",
                "/opt/homebrew/opt",
                "/usr/local/opt",
                "/Applications/Postgres.app/Contents/Versions",
            ]
            .map(PathBuf::from)
            .to_vec(),
            cache,
            runtime_dir: var("XDG_RUNTIME_DIR"),
        }
    }

    /// The server programs to use: the named folder, the one used last, `PATH`, version folders (newest first), the cache.
    ///
    /// An existing cluster can only be run by programs of its own major version.
    ///
    /// # Errors
    /// [`LocalPostgresError::NoBinaries`] with every place and its reason.
    pub fn find_binaries(&self, last: Option<&Path>, only: Option<u32>) -> Result<Binaries, LocalPostgresError> {
        let mut candidates = Vec::new();
        for bin in self.places(last) {
            match examine(&bin, only) {
                Ok(found) => return Ok(found),
                Err(refused) => candidates.push(Candidate { bin, refused }),
            }
        }
        Err(LocalPostgresError::NoBinaries { candidates })
    }

    fn places(&self, last: Option<&Path>) -> Vec<PathBuf> {
        let mut places: Vec<PathBuf> = self.thrice_pg_bin.iter().cloned().collect();
        places.extend(last.map(Path::to_path_buf));
        for folder in &self.path {
            if folder.join("initdb").exists() {
                places.push(folder.clone());
            }
            let pg_config = folder.join("pg_config");
            if pg_config.exists()
                && let Ok(output) = Command::new(pg_config).arg("--bindir").output()
            {
                places.push(PathBuf::from(String::from_utf8_lossy(&output.stdout).trim()));
            }
        }
        let cached = self.cache.iter().map(|cache| cache.join("thrice/pg"));
        for root in self.version_roots.iter().cloned().chain(cached) {
            let entries = std::fs::read_dir(&root).into_iter().flatten().flatten();
            let mut versions: Vec<PathBuf> = entries
                .filter(|entry| is_of_version(&entry.file_name().to_string_lossy()))
                .map(|entry| entry.path().join("bin"))
                .filter(|bin| bin.is_dir())
                .collect();
            versions.sort_by_key(|bin| std::cmp::Reverse(number_in(bin)));
            places.extend(versions);
        }
        let mut seen = std::collections::BTreeSet::new();
        // programs are run from another folder than this process's
        let mut places: Vec<PathBuf> =
            places.into_iter().map(|place| std::path::absolute(&place).unwrap_or(place)).collect();
        places.retain(|place| seen.insert(place.clone()));
        places
    }
}

/// `17`, `postgresql@17`, `pgsql-17`; not the other folders of `/usr` or of a package manager.
fn is_of_version(name: &str) -> bool {
    name.starts_with(|c: char| c.is_ascii_digit()) || name.starts_with("postgresql") || name.starts_with("pgsql-")
}

/// The version in a folder's name: `…/17/bin`, `…/postgresql@17/bin`.
fn number_in(bin: &Path) -> u32 {
    let name =
        bin.parent().and_then(Path::file_name).map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    name.trim_start_matches(|c: char| !c.is_ascii_digit())
        .split('.')
        .next()
        .and_then(|digits| digits.parse().ok())
        .unwrap_or_default()
}

fn examine(bin: &Path, only: Option<u32>) -> Result<Binaries, String> {
    for program in ["initdb", "postgres"] {
        if !bin.join(program).is_file() {
            return Err(format!("{program} is not there"));
        }
    }
    let mut command = Command::new(bin.join("postgres"));
    command.arg("--version");
    // the user that will run the server must be able to: a folder under a closed one is of no use
    let user = ServerUser::of_process().unwrap_or(ServerUser::Same);
    user.run_as(&mut command);
    let output = command.output().map_err(|error| match &user {
        ServerUser::Other { name, .. } => format!("postgres does not run as user {name}: {error}"),
        ServerUser::Same => format!("postgres does not run: {error}"),
    })?;
    if !output.status.success() {
        return Err(format!("postgres --version: {}", String::from_utf8_lossy(&output.stderr).trim()));
    }
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let major = major_of(&text).ok_or_else(|| format!("postgres --version says {:?}", text.trim()))?;
    if !MAJORS.contains(&major) {
        return Err(format!("version {major} is not supported (15 to 18 are)"));
    }
    if only.is_some_and(|only| only != major) {
        return Err(format!(
            "version {major} cannot run the cluster, which is of version {}",
            only.unwrap_or_default()
        ));
    }
    Ok(Binaries { major, bin: bin.to_path_buf() })
}

/// `postgres (PostgreSQL) 15.18 (Debian …)` → 15; `18beta1` → 18.
fn major_of(text: &str) -> Option<u32> {
    let word = text.split_whitespace().find(|word| word.starts_with(|c: char| c.is_ascii_digit()))?;
    let digits: String = word.chars().take_while(char::is_ascii_digit).collect();
    digits.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_read_from_what_postgres_says() {
        assert_eq!(major_of("postgres (PostgreSQL) 15.18 (Debian 15.18-0+deb12u1)\n"), Some(15));
        assert_eq!(major_of("postgres (PostgreSQL) 18beta1"), Some(18));
        assert_eq!(major_of("nonsense"), None);
    }

    #[test]
    fn every_place_is_told_with_its_reason() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("initdb"), "").unwrap();
        let surroundings = Surroundings { path: vec![folder.path().to_path_buf()], ..Surroundings::default() };
        let Err(LocalPostgresError::NoBinaries { candidates }) = surroundings.find_binaries(None, None) else {
            panic!("an empty machine has a server");
        };
        assert_eq!(candidates.len(), 1);
        assert_eq!(candidates[0].refused, "postgres is not there");
    }

    #[test]
    fn newer_folders_come_first() {
        assert_eq!(number_in(Path::new("/usr/lib/postgresql/17/bin")), 17);
        assert_eq!(number_in(Path::new("/opt/homebrew/opt/postgresql@16/bin")), 16);
        assert_eq!(number_in(Path::new("/usr/pgsql-18/bin")), 18);
    }

    #[test]
    fn folders_of_other_programs_are_not_looked_at() {
        assert!(["17", "postgresql@17", "pgsql-17", "18.4"].into_iter().all(is_of_version));
        assert!(["bin", "lib", "openssl@3", "pgbouncer"].into_iter().all(|name| !is_of_version(name)));
    }
}
