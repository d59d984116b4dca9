//! Finds passwords in project files, which are committed and copied. What is found is never shown.

use thrice_core::code::ErrorCode;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use crate::diagnostic::{Diagnostic, Diagnostics, Span};

const NAMES: [&str; 11] = [
    "password",
    "passwd",
    "pwd",
    "passphrase",
    "secret",
    "token",
    "api_key",
    "apikey",
    "private_key",
    "credentials",
    "pgpassword",
];

/// A diagnostic for each key that is called like a secret, and each value that holds a URL with a password.
pub(crate) fn find(file: &str, table: &Spanned<DeTable<'_>>) -> Diagnostics {
    let mut found = Diagnostics::new();
    in_table(file, table.get_ref(), &mut found);
    found
}

fn in_table(file: &str, table: &DeTable<'_>, found: &mut Diagnostics) {
    for (name, value) in table {
        if is_named(name.get_ref()) && is_scalar(value.get_ref()) {
            found.push(refusal(file, name.span().start..value.span().end));
        } else {
            in_value(file, value, found);
        }
    }
}

fn in_value(file: &str, value: &Spanned<DeValue<'_>>, found: &mut Diagnostics) {
    match value.get_ref() {
        DeValue::Table(table) => in_table(file, table, found),
        DeValue::Array(array) => array.iter().for_each(|value| in_value(file, value, found)),
        DeValue::String(text) if has_password(text) => found.push(refusal(file, value.span())),
        DeValue::String(_) | DeValue::Integer(_) | DeValue::Float(_) | DeValue::Boolean(_) | DeValue::Datetime(_) => {}
    }
}

fn refusal(file: &str, span: Span) -> Diagnostic {
    let mut diagnostic = Diagnostic::error(ErrorCode::SecretInFile, file, "a secret in a project file")
        .at(span)
        .why("project files are committed and copied; what stands in them is no longer secret")
        .fix("[database] url_env = \"DATABASE_URL\", or a .pgpass file; and change the secret if the file was ever shared");
    diagnostic.hide_source = true;
    diagnostic
}

/// Whether a line that the span touches may hold a secret, so that no message shows it.
pub(crate) fn line_has_one(text: &str, span: &Span) -> bool {
    let start = text.get(..span.start).and_then(|before| before.rfind('\n')).map_or(0, |at| at + 1);
    let end = text.get(span.end..).and_then(|behind| behind.find('\n')).map_or(text.len(), |at| span.end + at);
    text.get(start..end).unwrap_or_default().lines().any(|line| {
        let name = line.split(['=', ':']).next().unwrap_or_default();
        is_named(name.trim().trim_matches(['"', '\''])) || has_password(line)
    })
}

fn is_named(name: &str) -> bool {
    let name = name.to_ascii_lowercase().replace('-', "_");
    NAMES
        .iter()
        .any(|secret| name == *secret || name.strip_suffix(secret).is_some_and(|rest| rest.ends_with(['_', '.'])))
}

const fn is_scalar(value: &DeValue<'_>) -> bool {
    matches!(value, DeValue::String(_) | DeValue::Integer(_) | DeValue::Float(_))
}

/// `scheme://user:password@host`, or a connection string with `password=`.
fn has_password(text: &str) -> bool {
    let in_url = text.split("://").skip(1).any(|rest| {
        let authority = rest.split(['/', ' ', '"', '\'']).next().unwrap_or_default();
        authority
            .rsplit_once('@')
            .is_some_and(|(user, _)| user.split_once(':').is_some_and(|(_, word)| !word.is_empty()))
    });
    let lower = text.to_ascii_lowercase();
    let in_settings = lower.match_indices("password=").any(|(at, found)| {
        let starts = lower[..at].ends_with([' ', '?', '&', ';', '"', '\'']) || at == 0;
        starts && lower[at + found.len()..].starts_with(|c: char| !c.is_whitespace() && c != '&')
    });
    in_url || in_settings
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn passwords_are_seen_and_plain_values_are_not() {
        for secret in ["postgres://u:p@h/d", "host=h password=x", "jdbc:postgresql://h/d?user=u&password=p"] {
            assert!(has_password(secret), "{secret}");
        }
        for plain in ["postgres://u@h/d", "postgres://h:5432/d", "password = unset", "at 10:30 @home", "https://a.b/c"]
        {
            assert!(!has_password(plain), "{plain}");
        }
        assert!(is_named("DB_PASSWORD") && is_named("api-key") && !is_named("token_count") && !is_named("keys"));
    }
}
