//! A reason in a person's words, fit for the ledger.

use std::fmt;

/// 3 to 500 printable characters, without white space at the ends.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reason(String);

impl Reason {
    /// Takes the text without white space at its ends.
    ///
    /// # Errors
    /// [`BadReason`] where it is too short, too long, or holds control characters.
    pub fn new(text: &str) -> Result<Self, BadReason> {
        let text = text.trim();
        let length = text.chars().count();
        if text.chars().any(char::is_control) {
            return Err(BadReason::Control);
        }
        if (3..=500).contains(&length) { Ok(Self(text.to_owned())) } else { Err(BadReason::Length(length)) }
    }

    /// The text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// A text that is no reason.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BadReason {
    /// Too short or too long.
    #[error("the reason has {0} characters; 3 to 500 are needed")]
    Length(usize),
    /// A line break or another control character.
    #[error("the reason holds control characters")]
    Control,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reasons_say_something() {
        assert_eq!(Reason::new("  bug 1142 ").unwrap().as_str(), "bug 1142");
        assert_eq!(Reason::new("   "), Err(BadReason::Length(0)));
        assert_eq!(Reason::new(&"x".repeat(501)), Err(BadReason::Length(501)));
        assert_eq!(Reason::new("a\nbcd"), Err(BadReason::Control));
        assert!(Reason::new("한국어").is_ok());
    }
}
