//! PostgreSQL's five-character error codes (manual, appendix "PostgreSQL Error Codes").

use std::fmt;
use std::str::FromStr;

/// A SQLSTATE: five digits or upper-case letters, the first two being its class.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SqlState([u8; 5]);

impl SqlState {
    /// Reads a code.
    pub fn parse(text: &str) -> Option<Self> {
        let bytes: [u8; 5] = text.as_bytes().try_into().ok()?;
        bytes.iter().all(|b| b.is_ascii_digit() || b.is_ascii_uppercase()).then_some(Self(bytes))
    }

    /// The code's text.
    pub fn as_str(&self) -> &str {
        std::str::from_utf8(&self.0).unwrap_or_default()
    }

    /// The first two characters.
    pub fn class(&self) -> &str {
        self.as_str().split_at_checked(2).map_or("", |(class, _)| class)
    }
}

/// A text that is no SQLSTATE.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("not five digits or upper-case letters")]
pub struct NotASqlState;

impl FromStr for SqlState {
    type Err = NotASqlState;
    fn from_str(text: &str) -> Result<Self, NotASqlState> {
        Self::parse(text).ok_or(NotASqlState)
    }
}

impl fmt::Display for SqlState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl fmt::Debug for SqlState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_five_characters_are_a_code() {
        assert_eq!(SqlState::parse("40P01").unwrap().class(), "40");
        for bad in ["", "4000", "400011", "40p01", "40 01"] {
            assert_eq!(SqlState::parse(bad), None);
        }
    }
}
