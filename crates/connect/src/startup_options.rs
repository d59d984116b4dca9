//! The `options` of a connection (`-c name=value …`), read into names and values.
//!
//! Both drivers are given the same pairs, so a form that only one of them would understand is
//! refused, and so are the few settings that would take away what thrice promises.

/// Settings that switch off triggers, checks or catalogue protection.
const REFUSED: [&str; 6] = [
    "allow_system_table_mods",
    "ignore_checksum_failure",
    "ignore_invalid_pages",
    "ignore_system_indexes",
    "session_replication_role",
    "zero_damaged_pages",
];

/// Reads `-c name=value`, `-cname=value` and `--name=value`; a backslash escapes the next character.
///
/// # Errors
/// Says why as a fragment; values are not repeated.
pub(crate) fn parse(text: &str) -> Result<Vec<(String, String)>, String> {
    let words = split(text);
    let mut pairs = Vec::new();
    let mut words = words.into_iter();
    while let Some(word) = words.next() {
        let assignment = if word == "-c" {
            words.next().ok_or_else(|| "-c is not followed by name=value".to_owned())?
        } else if let Some(rest) = word.strip_prefix("--").or_else(|| word.strip_prefix("-c")) {
            rest.to_owned()
        } else {
            return Err("only -c name=value and --name=value are understood".to_owned());
        };
        let Some((name, value)) = assignment.split_once('=') else {
            return Err("a setting is not of the form name=value".to_owned());
        };
        let name = name.replace('-', "_");
        let well_formed = !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '.');
        if !well_formed {
            return Err("a setting's name has characters other than letters, digits, _ and .".to_owned());
        }
        if REFUSED.contains(&name.to_ascii_lowercase().as_str()) {
            return Err(format!("{name} would weaken what thrice promises"));
        }
        pairs.push((name, value.to_owned()));
    }
    Ok(pairs)
}

/// The text that the server reads back into the same pairs.
pub(crate) fn render(pairs: &[(String, String)]) -> String {
    let mut out = String::new();
    for (name, value) in pairs {
        if !out.is_empty() {
            out.push(' ');
        }
        out.push_str("-c ");
        out.push_str(name);
        out.push('=');
        for c in value.chars() {
            if c == '\\' || c.is_ascii_whitespace() {
                out.push('\\');
            }
            out.push(c);
        }
    }
    out
}

fn split(text: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        if c.is_ascii_whitespace() {
            words.extend(word.take());
        } else {
            let literal = if c == '\\' { chars.next() } else { Some(c) };
            word.get_or_insert_default().extend(literal);
        }
    }
    words.extend(word);
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_the_three_forms_and_escapes() {
        let pairs = parse(r"-c TimeZone=Asia/Seoul  --work-mem=4MB -capp.note=two\ words\\").unwrap();
        let expected = [("TimeZone", "Asia/Seoul"), ("work_mem", "4MB"), ("app.note", r"two words\")]
            .map(|(n, v)| (n.to_owned(), v.to_owned()));
        assert_eq!(pairs, expected);
        assert_eq!(parse(&render(&pairs)).unwrap(), pairs);
    }

    #[test]
    fn refuses_other_switches_and_weakening_settings() {
        for text in ["-d 5", "-c", "-c novalue", "-c =x", "-c a;b=1", "-c Session_Replication_Role=replica"] {
            assert!(parse(text).is_err(), "{text}");
        }
        assert_eq!(parse("  ").unwrap(), []);
    }
}
