//! Names of tables, columns and schemas, so that no SQL name is ever a bare string.
//!
//! PostgreSQL manual, "Identifiers and Key Words": an unquoted name folds to lower case, a quoted one is taken as it
//! is with `""` for a quote; a name has at most 63 bytes.

use std::fmt;

/// One SQL name, 1 to 63 bytes. [`Display`](fmt::Display) writes it quoted, ready for SQL.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Identifier(String);

/// Longest name in bytes; the server would cut a longer one silently.
pub const MAX_BYTES: usize = 63;

impl Identifier {
    /// A name taken letter by letter.
    ///
    /// # Errors
    /// [`IdentifierError`] where it is empty, over 63 bytes or holds a NUL.
    pub fn new(name: impl Into<String>) -> Result<Self, IdentifierError> {
        let name = name.into();
        if name.is_empty() {
            return Err(IdentifierError::Empty);
        }
        if name.len() > MAX_BYTES {
            return Err(IdentifierError::TooLong { bytes: name.len(), name });
        }
        if name.contains('\0') {
            return Err(IdentifierError::Nul);
        }
        Ok(Self(name))
    }

    /// A name written as in SQL: bare (folds to lower case) or quoted.
    ///
    /// # Errors
    /// [`IdentifierError`], also where a bare name has letters that need quotes.
    pub fn parse(text: &str) -> Result<Self, IdentifierError> {
        let (name, rest) = take_name(text)?;
        if rest.is_empty() { Ok(name) } else { Err(IdentifierError::NeedsQuotes { text: text.to_owned() }) }
    }

    /// The name without quotes.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// For people: with quotes only where they are needed.
    pub fn readable(&self) -> String {
        if is_bare(&self.0) { self.0.clone() } else { self.to_string() }
    }
}

impl fmt::Display for Identifier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "\"{}\"", self.0.replace('"', "\"\""))
    }
}

/// A table with its schema. [`Display`](fmt::Display) writes `"schema"."table"`.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TableName {
    /// The schema.
    pub schema: Identifier,
    /// The table.
    pub table: Identifier,
}

impl TableName {
    /// A table of a schema.
    pub const fn new(schema: Identifier, table: Identifier) -> Self {
        Self { schema, table }
    }

    /// Reads `schema.table`, each part bare or quoted.
    ///
    /// # Errors
    /// [`IdentifierError`], also where there are not exactly two parts.
    pub fn parse(text: &str) -> Result<Self, IdentifierError> {
        let parts = || IdentifierError::NotTwoParts { text: text.to_owned() };
        let (schema, rest) = take_name(text)?;
        let (table, rest) = take_name(rest.strip_prefix('.').ok_or_else(parts)?)?;
        if !rest.is_empty() {
            return Err(if rest.starts_with('.') {
                parts()
            } else {
                IdentifierError::NeedsQuotes { text: text.to_owned() }
            });
        }
        Ok(Self { schema, table })
    }

    /// `schema.table` for people: quotes only where they are needed.
    pub fn readable(&self) -> String {
        format!("{}.{}", self.schema.readable(), self.table.readable())
    }
}

impl fmt::Display for TableName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.schema, self.table)
    }
}

/// A name that needs no quotes to mean itself.
fn is_bare(name: &str) -> bool {
    let mut bytes = name.bytes();
    bytes.next().is_some_and(|b| b.is_ascii_lowercase() || b == b'_')
        && bytes.all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_')
}

/// Takes one name off the front, and returns what follows.
fn take_name(text: &str) -> Result<(Identifier, &str), IdentifierError> {
    if text.contains('\0') {
        return Err(IdentifierError::Nul);
    }
    if let Some(quoted) = text.strip_prefix('"') {
        let mut name = String::new();
        let mut rest = quoted;
        loop {
            let Some(end) = rest.find('"') else { return Err(IdentifierError::QuoteOpen { text: text.to_owned() }) };
            name.push_str(&rest[..end]);
            rest = &rest[end + 1..];
            match rest.strip_prefix('"') {
                Some(more) => {
                    name.push('"');
                    rest = more;
                }
                None => return Ok((Identifier::new(name)?, rest)),
            }
        }
    }
    let starts = |c: char| c.is_alphabetic() || c == '_';
    let follows = |c: char| c.is_alphanumeric() || c == '_' || c == '$';
    match text.chars().next() {
        None | Some('.') => return Err(IdentifierError::Empty),
        Some(first) if !starts(first) => return Err(IdentifierError::NeedsQuotes { text: text.to_owned() }),
        Some(_) => {}
    }
    let end = text.find(|c| !follows(c)).unwrap_or(text.len());
    // the server folds ASCII letters only in multi-byte encodings
    Ok((Identifier::new(text[..end].to_ascii_lowercase())?, &text[end..]))
}

/// A text that is no SQL name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum IdentifierError {
    /// Nothing between the dots or quotes.
    #[error("a name is empty")]
    Empty,
    /// Over 63 bytes.
    #[error("the name {name:?} has {bytes} bytes; PostgreSQL keeps {MAX_BYTES}")]
    TooLong {
        /// The name.
        name: String,
        /// Its length.
        bytes: usize,
    },
    /// A NUL byte.
    #[error("a name holds a NUL byte")]
    Nul,
    /// A bare name with letters that only a quoted one may have.
    #[error("{text:?} needs double quotes to be a name")]
    NeedsQuotes {
        /// What was written.
        text: String,
    },
    /// A quote that is not closed.
    #[error("the quote in {text:?} is not closed")]
    QuoteOpen {
        /// What was written.
        text: String,
    },
    /// A table needs schema and name.
    #[error("{text:?} is not schema.table")]
    NotTwoParts {
        /// What was written.
        text: String,
    },
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn names_fold_and_quote_as_the_server_does() {
        assert_eq!(Identifier::parse("Dt").unwrap().as_str(), "dt");
        assert_eq!(Identifier::parse("\"Dt\"").unwrap().as_str(), "Dt");
        assert_eq!(Identifier::parse("가게").unwrap().as_str(), "가게");
        assert_eq!(Identifier::new("we\"ird").unwrap().to_string(), "\"we\"\"ird\"");
        assert!(matches!(Identifier::parse("store id"), Err(IdentifierError::NeedsQuotes { .. })));
        assert!(matches!(Identifier::parse("1a"), Err(IdentifierError::NeedsQuotes { .. })));
    }

    #[test]
    fn tables_have_two_parts() {
        let odd = TableName::parse("\"bug Odd.Schema\".\"we\"\"ird %s.table\"").unwrap();
        assert_eq!(odd.schema.as_str(), "bug Odd.Schema");
        assert_eq!(odd.table.as_str(), "we\"ird %s.table");
        assert_eq!(odd.to_string(), "\"bug Odd.Schema\".\"we\"\"ird %s.table\"");
        assert_eq!(TableName::parse("Mart.Daily").unwrap().readable(), "mart.daily");
        for bad in ["a", "a.b.c", "", ".", "a.", ".b", "a b.c", "\"a.b", "a.b ", "a..b"] {
            assert!(TableName::parse(bad).is_err(), "{bad}");
        }
        assert!(TableName::parse(&format!("a.{}", "x".repeat(64))).is_err());
        assert!(TableName::parse(&format!("a.{}", "x".repeat(63))).is_ok());
        assert!(TableName::parse(&format!("a.\"{}\"", "한".repeat(22))).is_err(), "66 bytes");
        assert!(TableName::parse("a.\"b\0c\"").is_err());
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]
        #[test]
        fn what_is_quoted_is_read_back(schema in "[^\\x00]{1,15}", table in r#"["a-zA-Z가.\\ ]{1,20}"#) {
            let name = TableName::new(Identifier::new(schema).unwrap(), Identifier::new(table).unwrap());
            prop_assert_eq!(TableName::parse(&name.to_string()), Ok(name.clone()));
            prop_assert_eq!(TableName::parse(&name.readable()), Ok(name.clone()));
            prop_assert_eq!(Identifier::parse(&name.table.to_string()), Ok(name.table));
        }

        #[test]
        fn a_name_is_read_or_refused(text in r#"\PC{0,20}|["a-zA-Z_$0-9. ]{0,12}"#) {
            if let Ok(name) = TableName::parse(&text) {
                prop_assert_eq!(TableName::parse(&name.to_string()), Ok(name.clone()));
            }
        }
    }
}
