//! Which PostgreSQL answered, and whether thrice works with it.

use std::fmt;

use crate::error::{ConnectError, ConnectErrorKind};

/// A server version as the server reports it: `15.18`, `18beta1`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerVersion {
    major: u32,
    text: String,
}

impl ServerVersion {
    /// The oldest major version that is supported.
    pub const OLDEST: u32 = 15;
    /// The newest major version that thrice is tested with.
    pub const NEWEST_TESTED: u32 = 18;

    /// Reads the text of the server setting `server_version`.
    ///
    /// Returns `None` where it does not start with a number.
    pub fn parse(text: &str) -> Option<Self> {
        let digits: String = text.chars().take_while(char::is_ascii_digit).collect();
        let word = text.split_whitespace().next()?;
        Some(Self { major: digits.parse().ok()?, text: word.to_owned() })
    }

    /// 15 for `15.18`.
    pub const fn major(&self) -> u32 {
        self.major
    }

    /// Whether thrice may use this server; `Ok(Some(warning))` where it is newer than any tested one.
    ///
    /// # Errors
    /// TH0408 where the server is older than [`ServerVersion::OLDEST`]. `place` names the server.
    pub fn check(&self, place: &str) -> Result<Option<String>, ConnectError> {
        let (oldest, newest) = (Self::OLDEST, Self::NEWEST_TESTED);
        if self.major < oldest {
            return Err(ConnectError::new(
                ConnectErrorKind::ServerTooOld,
                format!("PostgreSQL {self} at {place} is too old"),
                Some(format!("thrice needs {oldest} or newer")),
                format!("upgrade the server to {oldest} … {newest}, or name another one"),
            ));
        }
        Ok((self.major > newest).then(|| {
            format!("PostgreSQL {self} at {place} is newer than {newest}, the newest version thrice is tested with")
        }))
    }
}

impl fmt::Display for ServerVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str) -> Result<bool, &'static str> {
        ServerVersion::parse(text).unwrap().check("db:5432").map(|warning| warning.is_some()).map_err(|e| e.code())
    }

    #[test]
    fn fifteen_to_eighteen_pass_older_is_refused_newer_warns() {
        assert_eq!(check("15.18 (Debian 15.18-0+deb12u1)"), Ok(false));
        assert_eq!(check("18beta1"), Ok(false));
        assert_eq!(check("14.9"), Err("TH0408"));
        assert_eq!(check("9.6.24"), Err("TH0408"));
        assert_eq!(check("19devel"), Ok(true));
        assert_eq!(ServerVersion::parse("devel"), None);
    }
}
