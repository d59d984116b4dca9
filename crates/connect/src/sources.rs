//! Everything that may say where the database is, gathered before it is read.

use std::collections::BTreeMap;
use std::fmt;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use crate::passfile::read_passfile;

/// What [`crate::ConnectionSettings::resolve`] looks at. Plain data: a test writes it by hand, a
/// program takes [`Sources::of_process`].
///
/// `Debug` shows which variables there are and none of their values.
#[derive(Clone, Default)]
pub struct Sources {
    /// The URL of `--database-url`.
    pub flag_url: Option<String>,
    /// The name of the variable in `[database] url_env`.
    pub url_env: Option<String>,
    /// Environment variables.
    pub env: BTreeMap<String, String>,
    /// The text of the password file, already read.
    pub pgpass: Option<String>,
    /// Where that file is.
    pub pgpass_path: Option<String>,
    /// The operating system's name for the user: the default database user.
    pub os_user: Option<String>,
    /// Where a socket is looked for when `PG*` variables name no host; `None` means `localhost`.
    pub default_socket_dir: Option<String>,
}

impl Sources {
    /// Reads this process's environment, its user name, its password file and the usual socket
    /// directories. The second value holds warnings for the user, such as a password file that
    /// others can read.
    pub fn of_process(flag_url: Option<String>, url_env: Option<String>) -> (Self, Vec<String>) {
        // A value that is not UTF-8 cannot name anything here; it stays, so that it is not taken for one that is not set.
        let env: BTreeMap<String, String> = std::env::vars_os()
            .filter_map(|(name, value)| Some((name.into_string().ok()?, value.to_string_lossy().into_owned())))
            .collect();
        let path = passfile_path(&env);
        let passfile = path.as_deref().map(read_passfile).unwrap_or_default();
        let port = env.get("PGPORT").map_or("5432", String::as_str).to_owned();
        let sources = Self {
            flag_url,
            url_env,
            pgpass: passfile.text.map(|text| text.expose().clone()),
            pgpass_path: path.map(|path| path.display().to_string()),
            os_user: os_user(&env),
            default_socket_dir: default_socket_dir(&port),
            env,
        };
        (sources, passfile.warning.into_iter().collect())
    }

    /// A variable that is set and not empty.
    pub(crate) fn variable(&self, name: &str) -> Option<&str> {
        self.env.get(name).map(String::as_str).filter(|value| !value.is_empty())
    }

    /// True for a variable that is set, and to nothing.
    pub(crate) fn is_empty(&self, name: &str) -> bool {
        self.env.get(name).is_some_and(String::is_empty)
    }
}

impl fmt::Debug for Sources {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sources")
            .field("flag_url", &self.flag_url.is_some())
            .field("url_env", &self.url_env)
            .field("env", &self.env.keys())
            .field("pgpass", &self.pgpass.is_some())
            .field("pgpass_path", &self.pgpass_path)
            .field("os_user", &self.os_user)
            .field("default_socket_dir", &self.default_socket_dir)
            .finish()
    }
}

fn passfile_path(env: &BTreeMap<String, String>) -> Option<PathBuf> {
    let set = |name: &str| env.get(name).filter(|value| !value.is_empty());
    set("PGPASSFILE").map(PathBuf::from).or_else(|| set("HOME").map(|home| Path::new(home).join(".pgpass")))
}

/// The name that the user database gives this process's user id, else `USER`.
fn os_user(env: &BTreeMap<String, String>) -> Option<String> {
    let by_id = || {
        let uid = std::fs::metadata("/proc/self").ok()?.uid().to_string();
        let passwd = std::fs::read_to_string("/etc/passwd").ok()?;
        passwd.lines().find_map(|line| {
            let mut fields = line.split(':');
            let name = fields.next()?;
            (fields.nth(1)? == uid).then(|| name.to_owned())
        })
    };
    by_id().or_else(|| env.get("USER").or_else(|| env.get("LOGNAME")).cloned())
}

fn default_socket_dir(port: &str) -> Option<String> {
    ["/var/run/postgresql", "/run/postgresql", "/tmp"]
        .into_iter()
        .find(|dir| Path::new(dir).join(format!(".s.PGSQL.{port}")).exists())
        .map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn debug_shows_no_values() {
        let sources = Sources {
            flag_url: Some("postgres://u:QZXJ@h/d".into()),
            env: [("PGPASSWORD".to_owned(), "QZXJ".to_owned())].into(),
            pgpass: Some("h:1:d:u:QZXJ".into()),
            ..Sources::default()
        };
        let shown = format!("{sources:?}");
        assert!(shown.contains("PGPASSWORD") && !shown.contains("QZXJ"), "{shown}");
    }

    #[test]
    fn the_process_has_a_user() {
        let (sources, _) = Sources::of_process(None, None);
        assert!(sources.os_user.is_some_and(|name| !name.is_empty()));
    }
}
