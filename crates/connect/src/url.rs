//! A connection URL taken apart.
//!
//! `postgres://user:password@host:port/database?parameter=value`, every part optional and
//! percent-encoded. Nothing here repeats a piece of text that might be part of a password.

use crate::error::ConnectError;
use crate::mask::mask;
use crate::percent;
use crate::secret::Secret;

/// Parameters that are understood. Anything else is refused by name.
const KNOWN: [&str; 10] = [
    "host",
    "port",
    "user",
    "password",
    "dbname",
    "sslmode",
    "connect_timeout",
    "options",
    "application_name",
    "target_session_attrs",
];

/// Parameters of libpq that belong to TLS or to other ways in, with why they are refused.
const REFUSED: [(&str, &str); 12] = [
    ("sslrootcert", "TLS is not built yet"),
    ("sslcert", "TLS is not built yet"),
    ("sslkey", "TLS is not built yet"),
    ("sslcrl", "TLS is not built yet"),
    ("sslpassword", "TLS is not built yet"),
    ("sslnegotiation", "TLS is not built yet"),
    ("channel_binding", "TLS is not built yet"),
    ("hostaddr", "write the address as the host"),
    ("passfile", "set PGPASSFILE instead"),
    ("service", "service files are not read"),
    ("gssencmode", "GSS encryption is not built"),
    ("replication", "thrice runs ordinary queries"),
];

/// The parts that a URL gave; what it left out is `None`.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Parts {
    pub(crate) host: Option<String>,
    pub(crate) port: Option<String>,
    pub(crate) user: Option<String>,
    pub(crate) password: Option<Secret<String>>,
    pub(crate) database: Option<String>,
    pub(crate) sslmode: Option<String>,
    pub(crate) connect_timeout: Option<String>,
    pub(crate) options: Option<String>,
    pub(crate) target_session_attrs: Option<String>,
}

const FORM: &str = "write postgres://user@host:5432/database, with the password in PGPASSWORD or ~/.pgpass";

/// Takes `text` apart. `from` names where the text came from (`--database-url`, `DATABASE_URL`).
pub(crate) fn parse(text: &str, from: &str) -> Result<Parts, ConnectError> {
    let text = Text { text, from };
    let rest = text.behind_scheme()?;
    let authority_end = rest.find(['/', '?']).unwrap_or(rest.len());
    let (authority, tail) = rest.split_at(authority_end);
    let (path, query) = tail.split_once('?').unwrap_or((tail, ""));
    let mut parts = Parts::default();
    text.read_authority(authority, path, query, &mut parts)?;
    let database = path.strip_prefix('/').unwrap_or(path);
    if database.contains('/') {
        return Err(text.refuse("there is a / in the database name", "write it %2F if it belongs to the name"));
    }
    parts.database = text.decode(database, "database")?;
    text.read_query(query, &mut parts)?;
    Ok(parts)
}

/// The URL and its origin: what a refusal names.
struct Text<'a> {
    text: &'a str,
    from: &'a str,
}

impl<'a> Text<'a> {
    fn refuse(&self, why: &str, fix: &str) -> ConnectError {
        let what = format!("the URL of {} cannot be used ({})", self.from, mask(self.text));
        ConnectError::malformed(what, why, fix)
    }

    /// The decoded part, `None` where it is empty.
    fn decode(&self, part: &str, what: &str) -> Result<Option<String>, ConnectError> {
        let decoded = percent::decode(part).map_err(|e| self.refuse(&format!("{what}: {}", e.why()), FORM))?;
        Ok(Some(decoded).filter(|text| !text.is_empty()))
    }

    fn behind_scheme(&self) -> Result<&'a str, ConnectError> {
        if self.text.chars().any(char::is_control) {
            return Err(self.refuse("it contains a control character (a line break at its end?)", FORM));
        }
        let Some((scheme, rest)) = self.text.split_once("://") else {
            return Err(if self.text.contains('=') {
                self.refuse("it is a list of name=value words, not a URL", FORM)
            } else {
                self.refuse("it has no ://", FORM)
            });
        };
        if scheme != "postgres" && scheme != "postgresql" {
            return Err(self
                .refuse("it does not start with postgres:// or postgresql://; thrice works on PostgreSQL only", FORM));
        }
        Ok(rest)
    }

    /// `user:password@host:port`
    fn read_authority(&self, authority: &str, path: &str, query: &str, parts: &mut Parts) -> Result<(), ConnectError> {
        let first_name = query.split(['=', '&']).next().unwrap_or_default();
        let (user_text, host_text) = match authority.matches('@').count() {
            // A slash or question mark inside a password ends the authority early.
            0 if path.contains('@') || first_name.contains('@') => {
                return Err(self.refuse(
                    "there is an @ behind a / or ?",
                    "inside a user name or password write / as %2F, ? as %3F and @ as %40",
                ));
            }
            0 | 1 => authority.split_once('@').unwrap_or(("", authority)),
            _ => {
                return Err(self.refuse(
                    "there is more than one @ in front of the host",
                    "inside a user name or password write @ as %40",
                ));
            }
        };
        let (user, password) = user_text.split_once(':').unwrap_or((user_text, ""));
        parts.user = self.decode(user, "user")?;
        parts.password = self.decode(password, "password")?.map(Secret::new);
        if host_text.contains(',') {
            return Err(several_hosts(self.from));
        }
        let (host, port) = split_port(host_text)
            .ok_or_else(|| self.refuse("the host is an IPv6 address without closing bracket", "write [::1]:5432"))?;
        parts.host = self.decode(host, "host")?;
        parts.port = port.map(str::to_owned).filter(|port| !port.is_empty());
        Ok(())
    }

    fn read_query(&self, query: &str, parts: &mut Parts) -> Result<(), ConnectError> {
        let mut seen: Vec<String> = Vec::new();
        for pair in query.split('&').filter(|pair| !pair.is_empty()) {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            let name = self.decode(name, "parameter name")?.unwrap_or_default();
            if let Some((_, why)) = REFUSED.iter().find(|(refused, _)| *refused == name) {
                return Err(
                    self.refuse(&format!("parameter {name} is not supported: {why}"), &format!("remove {name}"))
                );
            }
            if !KNOWN.contains(&name.as_str()) {
                return Err(unknown_parameter(&name, query, self));
            }
            if seen.contains(&name) {
                return Err(self.refuse(&format!("parameter {name} is given twice"), "keep one"));
            }
            let value = self.decode(value, &name)?;
            match name.as_str() {
                "host" if value.as_deref().is_some_and(|v| v.contains(',')) => {
                    return Err(several_hosts(self.from));
                }
                "host" => parts.host = value.or(parts.host.take()),
                "port" => parts.port = value.or(parts.port.take()),
                "user" => parts.user = value.or(parts.user.take()),
                "password" => parts.password = value.map(Secret::new).or(parts.password.take()),
                "dbname" => parts.database = value.or(parts.database.take()),
                "sslmode" => parts.sslmode = value,
                "connect_timeout" => parts.connect_timeout = value,
                "options" => parts.options = value,
                "target_session_attrs" => parts.target_session_attrs = value,
                // application_name is thrice's own: its connections are told apart by it.
                _ => {}
            }
            seen.push(name);
        }
        Ok(())
    }
}

/// A raw @ in the query may end a password that a ? cut in two: then no word of it is repeated.
fn unknown_parameter(name: &str, query: &str, text: &Text<'_>) -> ConnectError {
    let printable = !query.contains('@')
        && name.len() <= 40
        && !name.is_empty()
        && name.chars().all(|c| c.is_ascii_alphanumeric() || "_-.".contains(c));
    let fix = format!("known parameters: {}", KNOWN.join(", "));
    if printable {
        text.refuse(&format!("parameter {name} is not known"), &fix)
    } else {
        text.refuse(
            "there is text behind the ? that is not name=value",
            "inside a password write ? as %3F and & as %26",
        )
    }
}

pub(crate) fn several_hosts(from: &str) -> ConnectError {
    ConnectError::malformed(
        format!("{from} names several hosts"),
        "thrice publishes to one server, and a receipt must be read where it was written",
        "name one host, or a proxy in front of them",
    )
}

/// `host`, `host:port`, `[v6]`, `[v6]:port`.
fn split_port(text: &str) -> Option<(&str, Option<&str>)> {
    if let Some(inside) = text.strip_prefix('[') {
        let (host, after) = inside.split_once(']')?;
        return match after.strip_prefix(':') {
            Some(port) => Some((host, Some(port))),
            None if after.is_empty() => Some((host, None)),
            None => None,
        };
    }
    Some(match text.split_once(':') {
        Some((host, port)) => (host, Some(port)),
        None => (text, None),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn parts(text: &str) -> Parts {
        parse(text, "DATABASE_URL").unwrap()
    }

    #[test]
    fn every_part_is_read_and_decoded() {
        let all =
            parts("postgresql://k%40im:p%2Fw%3A%3F@db.example.org:6543/sh%20op?sslmode=disable&connect_timeout=3");
        assert_eq!(all.user.as_deref(), Some("k@im"));
        assert_eq!(all.password, Some(Secret::new("p/w:?".to_owned())));
        assert_eq!(all.host.as_deref(), Some("db.example.org"));
        assert_eq!(all.port.as_deref(), Some("6543"));
        assert_eq!(all.database.as_deref(), Some("sh op"));
        assert_eq!(all.sslmode.as_deref(), Some("disable"));
        assert_eq!(all.connect_timeout.as_deref(), Some("3"));
        assert_eq!(parts("postgres://"), Parts::default());
        assert_eq!(parts("postgres:///").database, None);
    }

    #[test]
    fn sockets_and_ipv6() {
        assert_eq!(parts("postgres:///shop?host=/tmp/pg&port=5611").host.as_deref(), Some("/tmp/pg"));
        assert_eq!(parts("postgres://u@%2Ftmp%2Fpg:5611/shop").host.as_deref(), Some("/tmp/pg"));
        let v6 = parts("postgres://[::1]:5433/shop");
        assert_eq!((v6.host.as_deref(), v6.port.as_deref()), (Some("::1"), Some("5433")));
    }

    #[test]
    fn refusals_say_what_without_the_password() {
        let cases = [
            ("mysql://u:sEcret@h/db", "postgres://"),
            ("host=h password=sEcret", "name=value"),
            ("postgres://u:sEc@ret@h/db", "%40"),
            ("postgres://u:sEc/ret@h/db", "%2F"),
            ("postgres://u:sEc?ret@h/db", "%3F"),
            ("postgres://u:sEcret%@h/db", "hexadecimal"),
            ("postgres://u:sEcret@h1,h2/db", "several hosts"),
            ("postgres://u:sEcret@/db?host=h1,h2", "several hosts"),
            ("postgres://u:sEcret@h/db?sslrootcert=x", "sslrootcert"),
            ("postgres://u:sEcret@h/db?shema=x", "shema"),
            ("postgres://h/db?port=1&port=2", "twice"),
            ("postgres://u:sEcret@h/a/b", "database name"),
            ("postgres://u:sEcret@[::1/db", "bracket"),
            ("postgres://u:sEcret@h/db\n", "control"),
        ];
        for (text, expected) in cases {
            let error = parse(text, "DATABASE_URL").unwrap_err();
            let shown = format!("{error} {error:?} {}", error.fix());
            assert_eq!(error.code(), "TH0402", "{text}");
            assert!(shown.contains(expected), "{text}: {shown}");
            for piece in ["sEc", "ret@", "ret%"] {
                assert!(!shown.contains(piece), "{text} leaks: {shown}");
            }
        }
    }

    proptest! {
        /// Whatever stands around it and however it is broken, the password is not repeated.
        #[test]
        fn no_message_repeats_the_password(
            scheme in "(postgres|postgresql|mysql)",
            before in "[a-z]{0,4}[/?#&=%@:]{0,2}",
            after in "[/?#&=%@:]{0,2}[a-z]{0,4}",
            host in "[a-z]{1,5}(:[0-9a-z]{0,5})?(,[a-z]{1,3})?",
            tail in "(/[a-z/]{0,5})?(\\?[a-z]{1,8}=[a-z%]{0,4})?",
        ) {
            let text = format!("{scheme}://kim:{before}QZXJ{after}@{host}{tail}");
            prop_assert!(!mask(&text).contains("QZXJ"), "{}", mask(&text));
            if let Err(error) = parse(&text, "--database-url") {
                let shown = format!("{error}{error:?}{}", error.fix());
                prop_assert!(!shown.contains("QZXJ"), "{}", shown);
            }
        }
    }
}
