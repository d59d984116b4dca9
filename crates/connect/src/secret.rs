//! A value that may be used but never shown.

use std::fmt;

/// Wraps a password (or any other secret) so that no formatting of any kind shows it.
///
/// `Debug` and `Display` both print `***`. The value is reached only through [`Secret::expose`],
/// which makes every use easy to find. Equality compares the values and is not constant-time.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret<T>(T);

impl<T> Secret<T> {
    /// Hides `value`.
    pub const fn new(value: T) -> Self {
        Self(value)
    }

    /// The value itself. Hand it to a driver; never to a message or a log.
    pub const fn expose(&self) -> &T {
        &self.0
    }
}

impl<T> From<T> for Secret<T> {
    fn from(value: T) -> Self {
        Self(value)
    }
}

impl<T> fmt::Debug for Secret<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("***")
    }
}

impl<T> fmt::Display for Secret<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("***")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_formatting_shows_the_value() {
        let secret = Secret::new("hunter2".to_owned());
        let shown = format!("{secret} {secret:?} {secret:#?} {:?}", Some(&secret));
        assert!(!shown.contains("hunter2"), "{shown}");
        assert_eq!(secret.expose(), "hunter2");
    }
}
