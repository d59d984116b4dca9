//! `[session]`: settings of the connection that runs the query, from a short list. Everything that could change the
//! result or outlive the run is left to thrice.

use std::collections::BTreeMap;

use thrice_core::code::ErrorCode;
use thrice_core::identifier::Identifier;
use toml::de::DeValue;

use crate::diagnostic::Diagnostic;
use crate::keys::{self, File, Kind, Setting};
use crate::toml_reader::{Field, Reader};

/// The checked table `[session]`.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Session {
    /// Schemas in which bare names are looked up; `None` where the file says nothing.
    pub search_path: Option<Vec<Identifier>>,
    /// Planner settings with their values as PostgreSQL reads them.
    pub settings: BTreeMap<&'static str, String>,
}

/// Settings that thrice sets itself, with the reason.
const PINNED: [(&str, &str); 7] = [
    ("timezone", "thrice sets the zone of the pipeline"),
    ("time_zone", "thrice sets the zone of the pipeline"),
    ("datestyle", "thrice keeps one style, so that results do not depend on it"),
    ("statement_timeout", "[timeouts] says how long a step may take"),
    ("lock_timeout", "[timeouts] lock says how long to wait for a lock"),
    ("synchronous_commit", "a publish always waits for the disk"),
    ("role", "the role is that of the connection"),
];

pub(crate) fn read(root: &mut Reader<'_, '_>) -> Session {
    let mut session = Session::default();
    let Some(field) = root.take("session") else { return session };
    let Some(mut table) = root.inside(&field) else { return session };
    session.search_path = table.take("search_path").and_then(|field| search_path(&mut table, &field));
    for key in keys::of_table(File::Pipeline, "session") {
        if let Kind::Setting(of) = key.kind
            && let Some(field) = table.take(key.name)
            && let Some(value) = setting(&mut table, &field, of)
        {
            session.settings.insert(key.name, value);
        }
    }
    for (name, field) in table.all() {
        if let Some((_, reason)) = PINNED.iter().find(|(pinned, _)| name.eq_ignore_ascii_case(pinned)) {
            let diagnostic: Diagnostic = table
                .error(ErrorCode::UnknownKey, format!("`{}` is not for a pipeline to set", field.path))
                .at(field.key_span)
                .why((*reason).to_owned())
                .fix("leave it out");
            table.report(diagnostic);
            table.pass_over(name);
        }
    }
    table.finish();
    session
}

/// `"mart, ods"` or `["mart", "ods"]`.
fn search_path(table: &mut Reader<'_, '_>, field: &Field<'_>) -> Option<Vec<Identifier>> {
    let names: Vec<String> = match field.value {
        DeValue::String(text) => split_names(text),
        DeValue::Array(array) => array.iter().filter_map(|value| value.get_ref().as_str()).map(str::to_owned).collect(),
        DeValue::Integer(_) | DeValue::Float(_) | DeValue::Boolean(_) | DeValue::Datetime(_) | DeValue::Table(_) => {
            Vec::new()
        }
    };
    let listed = field.value.as_array().map_or(names.len(), |array| array.iter().count());
    if names.is_empty() || listed != names.len() {
        table.bad_value(field, "`session.search_path` must name schemas", "search_path = [\"mart\", \"ods\"]");
        return None;
    }
    let mut path = Vec::new();
    for name in names {
        match Identifier::parse(&name) {
            Ok(name) => path.push(name),
            Err(error) => {
                table.bad_name(field, field.span.clone(), &error);
                return None;
            }
        }
    }
    Some(path)
}

/// Parts at commas outside of double quotes.
fn split_names(text: &str) -> Vec<String> {
    let mut quoted = false;
    text.split(|c: char| {
        quoted ^= c == '"';
        c == ',' && !quoted
    })
    .map(|name| name.trim().to_owned())
    .collect()
}

fn setting(table: &mut Reader<'_, '_>, field: &Field<'_>, of: Setting) -> Option<String> {
    let written = match field.value {
        DeValue::String(text) => text.trim().to_owned(),
        DeValue::Boolean(value) => (if *value { "on" } else { "off" }).to_owned(),
        DeValue::Integer(number) if number.radix() == 10 => number.as_str().to_owned(),
        DeValue::Float(number) => number.as_str().to_owned(),
        DeValue::Integer(_) | DeValue::Datetime(_) | DeValue::Array(_) | DeValue::Table(_) => String::new(),
    };
    let (fits, fix) = match of {
        Setting::Switch => (matches!(written.as_str(), "on" | "off"), "true or false"),
        Setting::Memory => (is_memory(&written), "a size such as \"256MB\""),
        Setting::Number => {
            (written.parse::<f64>().is_ok_and(|number| number.is_finite() && number >= 0.0), "a number such as 1.1")
        }
        Setting::Whole => (written.parse::<u32>().is_ok_and(|count| count <= 1_000_000), "a whole number"),
    };
    if fits {
        return Some(written);
    }
    table.bad_value(field, format!("`{}` cannot have this value", field.path), fix);
    None
}

fn is_memory(text: &str) -> bool {
    let digits = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let number: Result<u64, _> = text[..digits].parse();
    number.is_ok_and(|number| number > 0) && matches!(text[digits..].trim_start(), "" | "kB" | "MB" | "GB" | "TB")
}
