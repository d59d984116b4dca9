//! What a client's message means, as far as plans ask: is it a COMMIT, and what text does it carry.

use std::collections::HashSet;

use crate::frames::Frame;

/// What is known of one session's prepared statements and portals.
#[derive(Debug, Default)]
pub(crate) struct Statements {
    commits: Ends,
    rollbacks: Ends,
}

/// Names that stand for one kind of statement.
#[derive(Debug, Default)]
struct Ends {
    statements: HashSet<Vec<u8>>,
    portals: HashSet<Vec<u8>>,
}

/// What a message does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Does {
    /// Ends the transaction with COMMIT.
    Commit,
    /// Ends the transaction with ROLLBACK.
    Rollback,
    /// Anything else.
    Other,
}

impl Statements {
    /// Reads one message and remembers what it names.
    pub(crate) fn read(&mut self, frame: &Frame<'_>) -> Does {
        match frame.tag {
            b'Q' => {
                let (text, _) = until_nul(frame.body);
                if is_commit(text) {
                    Does::Commit
                } else if is_rollback(text) {
                    Does::Rollback
                } else {
                    Does::Other
                }
            }
            b'P' => {
                let (name, rest) = until_nul(frame.body);
                let (text, _) = until_nul(rest);
                self.commits.parse(name, is_commit(text));
                self.rollbacks.parse(name, is_rollback(text));
                Does::Other
            }
            b'B' => {
                let (portal, rest) = until_nul(frame.body);
                let (statement, _) = until_nul(rest);
                self.commits.bind(portal, statement);
                self.rollbacks.bind(portal, statement);
                Does::Other
            }
            b'E' => {
                let (portal, _) = until_nul(frame.body);
                if self.commits.portals.contains(portal) {
                    Does::Commit
                } else if self.rollbacks.portals.contains(portal) {
                    Does::Rollback
                } else {
                    Does::Other
                }
            }
            _ => Does::Other,
        }
    }
}

impl Ends {
    fn parse(&mut self, name: &[u8], is: bool) {
        if is {
            self.statements.insert(name.to_owned());
        } else {
            self.statements.remove(name);
        }
    }

    fn bind(&mut self, portal: &[u8], statement: &[u8]) {
        if self.statements.contains(statement) {
            self.portals.insert(portal.to_owned());
        } else {
            self.portals.remove(portal);
        }
    }
}

/// The statement's text, for messages that carry one.
pub(crate) fn statement_text<'a>(frame: &Frame<'a>) -> Option<&'a [u8]> {
    match frame.tag {
        b'Q' => Some(until_nul(frame.body).0),
        b'P' => Some(until_nul(until_nul(frame.body).1).0),
        _ => None,
    }
}

/// Whether `text` occurs in a message that carries a statement or its parameters.
pub(crate) fn mentions(frame: &Frame<'_>, text: &str) -> bool {
    matches!(frame.tag, b'Q' | b'P' | b'B') && contains(frame.body, text)
}

/// Whether the bytes of `text` occur in `bytes`. The empty text occurs everywhere.
pub(crate) fn contains(bytes: &[u8], text: &str) -> bool {
    text.is_empty() || bytes.windows(text.len()).any(|window| window == text.as_bytes())
}

fn until_nul(bytes: &[u8]) -> (&[u8], &[u8]) {
    match bytes.iter().position(|byte| *byte == 0) {
        Some(at) => (&bytes[..at], &bytes[at + 1..]),
        None => (bytes, &[]),
    }
}

fn is_commit(text: &[u8]) -> bool {
    let words = words(text);
    match words.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
        [verb] | [verb, "work" | "transaction"] => matches!(*verb, "commit" | "end"),
        _ => false,
    }
}

/// ROLLBACK TO SAVEPOINT ends nothing and is not one.
fn is_rollback(text: &[u8]) -> bool {
    let words = words(text);
    match words.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
        [verb] | [verb, "work" | "transaction"] => matches!(*verb, "rollback" | "abort"),
        _ => false,
    }
}

/// Lower-case words of a short statement, without the semicolons at its end.
fn words(text: &[u8]) -> Vec<String> {
    if text.len() > 64 {
        return Vec::new();
    }
    let text = String::from_utf8_lossy(text).to_ascii_lowercase();
    let text = text.trim_end_matches(|c: char| c == ';' || c.is_ascii_whitespace());
    text.split_ascii_whitespace().map(ToOwned::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(statements: &mut Statements, tag: u8, body: &[u8]) -> Does {
        statements.read(&Frame { tag, body, whole: &[] })
    }

    #[test]
    fn a_simple_query_that_is_commit_and_nothing_else() {
        for text in ["commit", "COMMIT", " Commit ; ", "commit work", "END", "commit transaction;"] {
            let body = format!("{text}\0");
            assert_eq!(read(&mut Statements::default(), b'Q', body.as_bytes()), Does::Commit, "{text}");
        }
        for text in ["commit prepared 'x'", "select 'commit'", "committed", "commit; select 1", ""] {
            let body = format!("{text}\0");
            assert_eq!(read(&mut Statements::default(), b'Q', body.as_bytes()), Does::Other, "{text}");
        }
        assert_eq!(read(&mut Statements::default(), b'Q', b"ROLLBACK\0"), Does::Rollback);
        assert_eq!(read(&mut Statements::default(), b'Q', b"rollback to savepoint a\0"), Does::Other);
    }

    #[test]
    fn a_prepared_commit_is_found_at_its_execute() {
        let mut statements = Statements::default();
        assert_eq!(read(&mut statements, b'P', b"s1\0COMMIT\0\0\0"), Does::Other);
        assert_eq!(read(&mut statements, b'B', b"\0s1\0\0\0\0\0\0\0"), Does::Other);
        assert_eq!(read(&mut statements, b'E', b"\0\0\0\0\0"), Does::Commit);
        // the same names, bound to something else
        read(&mut statements, b'P', b"s1\0select 1\0\0\0");
        read(&mut statements, b'B', b"\0s1\0\0\0\0\0\0\0");
        assert_eq!(read(&mut statements, b'E', b"\0\0\0\0\0"), Does::Other);
    }

    #[test]
    fn text_is_looked_for_in_statements_and_parameters_only() {
        let bind = Frame { tag: b'B', body: b"\0s\0thrice:7#1", whole: &[] };
        let copy = Frame { tag: b'd', body: b"thrice:7#1", whole: &[] };
        assert!(mentions(&bind, "thrice:"));
        assert!(!mentions(&bind, "thrice:8"));
        assert!(!mentions(&copy, "thrice:"));
    }
}
