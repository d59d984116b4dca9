//! The text of a `.pgpass` file: which password belongs to a host, port, database and user.

use crate::host::Host;
use crate::secret::Secret;

/// Directories that the usual builds of PostgreSQL take when no host is given; in a password
/// file they are written `localhost`.
const DEFAULT_SOCKET_DIRS: [&str; 3] = ["/var/run/postgresql", "/run/postgresql", "/tmp"];

/// The password of the first line that matches. Lines are `host:port:database:user:password`;
/// `*` alone matches anything, `\` escapes a colon or itself, `#` starts a comment line.
pub(crate) fn password_for(text: &str, host: &Host, port: u16, database: &str, user: &str) -> Option<Secret<String>> {
    let port = port.to_string();
    text.lines().filter(|line| !line.starts_with('#')).find_map(|line| {
        let mut rest = line;
        let mut next = || -> Option<Field> {
            let (field, tail) = Field::split(rest)?;
            rest = tail;
            Some(field)
        };
        let host_matches = matches_host(&next()?, host);
        let others = [port.as_str(), database, user]
            .into_iter()
            .map(|wanted| Some(next()?.matches(wanted)))
            .collect::<Option<Vec<_>>>()?;
        (host_matches && others.into_iter().all(|matched| matched))
            .then(|| unescape(rest))
            .filter(|password| !password.is_empty())
            .map(Secret::new)
    })
}

fn matches_host(field: &Field, host: &Host) -> bool {
    match host {
        Host::Tcp(name) => field.matches(name),
        Host::Socket(dir) => {
            let dir = dir.trim_end_matches('/');
            field.matches(dir) || (DEFAULT_SOCKET_DIRS.contains(&dir) && field.matches("localhost"))
        }
    }
}

enum Field {
    Any,
    Exactly(String),
}

impl Field {
    /// The field before the first colon that is not escaped, and what follows that colon.
    fn split(line: &str) -> Option<(Self, &str)> {
        let mut escaped = false;
        let end = line.char_indices().find_map(|(at, c)| {
            let ends = c == ':' && !escaped;
            escaped = c == '\\' && !escaped;
            ends.then_some(at)
        })?;
        let (field, tail) = (line.get(..end)?, line.get(end + 1..)?);
        let field = if field == "*" { Self::Any } else { Self::Exactly(unescape(field)) };
        Some((field, tail))
    }

    fn matches(&self, wanted: &str) -> bool {
        match self {
            Self::Any => true,
            Self::Exactly(text) => text == wanted,
        }
    }
}

/// Removes escapes; a password ends at the first colon that is not escaped.
fn unescape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        match c {
            ':' => break,
            '\\' => out.push(chars.next().unwrap_or('\\')),
            other => out.push(other),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn find(text: &str, host: &str, port: u16, database: &str, user: &str) -> Option<String> {
        password_for(text, &Host::from(host), port, database, user).map(|p| p.expose().clone())
    }

    #[test]
    fn the_first_matching_line_wins() {
        let text = "# comment\n\
                    db:5432:shop:kim:one\n\
                    db:*:*:kim:two\r\n\
                    *:*:*:*:three\n";
        assert_eq!(find(text, "db", 5432, "shop", "kim").as_deref(), Some("one"));
        assert_eq!(find(text, "db", 5433, "shop", "kim").as_deref(), Some("two"));
        assert_eq!(find(text, "elsewhere", 1, "x", "y").as_deref(), Some("three"));
        assert_eq!(find("db:5432:shop:kim:one", "db", 5432, "shop", "lee"), None);
    }

    #[test]
    fn escapes_in_fields_and_password() {
        let text = r"/tmp/a\:b:5432:sh\\op:*:p\:w\\d";
        assert_eq!(find(text, "/tmp/a:b", 5432, r"sh\op", "kim").as_deref(), Some(r"p:w\d"));
        assert_eq!(find(r"db:1:d:u:ab:ignored", "db", 1, "d", "u").as_deref(), Some("ab"));
        assert_eq!(find(r"\*:1:d:u:p", "db", 1, "d", "u"), None, "an escaped star is a star");
    }

    #[test]
    fn localhost_stands_for_the_default_socket_directories_only() {
        let text = "localhost:5432:*:*:p";
        assert_eq!(find(text, "/var/run/postgresql", 5432, "d", "u").as_deref(), Some("p"));
        assert_eq!(find(text, "/tmp/", 5432, "d", "u").as_deref(), Some("p"));
        assert_eq!(find(text, "/srv/sock", 5432, "d", "u"), None);
    }

    #[test]
    fn short_and_empty_lines_are_passed_over() {
        let text = "\ngarbage\ndb:1:d\ndb:1:d:u:\ndb:1:d:u:p";
        assert_eq!(find(text, "db", 1, "d", "u").as_deref(), Some("p"));
    }
}
