//! What is in force for one pipeline: everything its file can say, with the defaults.

use serde_json::Value;
use thrice_core::duration::HumanDuration;
use thrice_pipeline::places::line_of;
use thrice_sql_publish::session::{Limit, Timeouts};

use super::Setting;
use crate::fault::{Outcome, io_fault};
use crate::project::{FILE, Loaded, Project};

/// The files of one pipeline and the project's, as far as they say where a value stands.
struct Files<'a> {
    shown: String,
    text: String,
    project: &'a Project,
}

pub(super) fn settings(project: &Project, loaded: &Loaded) -> Outcome<Vec<Setting>> {
    let name = &loaded.job.name;
    let shown = format!("pipelines/{name}.toml");
    let path = project.root.join(&shown);
    let text = std::fs::read_to_string(&path).map_err(|error| io_fault("cannot read", &path, &error))?;
    let files = Files { shown, text, project };
    let mut settings = Vec::new();
    flatten(&files, loaded, &mut Vec::new(), &loaded.job.definition, &mut settings);
    let hash = String::from_utf8_lossy(&loaded.job.code_hash).into_owned();
    settings.push(Setting::new("code", hash, "query, vars, interval and target"));
    Ok(settings)
}

/// One setting for each key that holds a value; tables are gone into, lists of tables by their numbers.
fn flatten(files: &Files<'_>, loaded: &Loaded, path: &mut Vec<String>, value: &Value, settings: &mut Vec<Setting>) {
    match value {
        Value::Object(keys) if path.len() != 2 || !keys.contains_key("type") => {
            for (key, value) in keys {
                path.push(key.clone());
                flatten(files, loaded, path, value, settings);
                path.pop();
            }
        }
        Value::Array(entries) if entries.iter().any(Value::is_object) => {
            for (number, value) in entries.iter().enumerate() {
                path.push((number + 1).to_string());
                settings.push(Setting::new(path.join("."), compact(value), files.origin(path)));
                path.pop();
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) | Value::Object(_) => {
            let (shown, origin) = (shown(loaded, path, value), files.origin(path));
            settings.push(Setting::new(path.join("."), shown, origin));
        }
    }
}

impl Files<'_> {
    fn origin(&self, path: &[String]) -> String {
        let keys: Vec<&str> = path.iter().map(String::as_str).collect();
        if let Some(line) = line_of(&self.text, &keys) {
            return format!("{}:{line}", self.shown);
        }
        match keys.as_slice() {
            ["name"] => format!("the name of {}", self.shown),
            ["interval", "time_zone"] => line_of(&self.project.text, &["project", "time_zone"])
                .map_or_else(|| "default".to_owned(), |line| format!("{FILE}:{line}")),
            // a setting of the connection stands directly in the table
            ["session", "settings", name] => line_of(&self.text, &["session", name])
                .map_or_else(|| "default".to_owned(), |line| format!("{}:{line}", self.shown)),
            _ => "default".to_owned(),
        }
    }
}

fn shown(loaded: &Loaded, path: &[String], value: &Value) -> String {
    let keys: Vec<&str> = path.iter().map(String::as_str).collect();
    let limits = &loaded.job.limits;
    match (value, keys.as_slice()) {
        (Value::Null, ["timeouts", "stage"]) => in_force(limits.staging()),
        (Value::Null, ["timeouts", "checks"]) => in_force(limits.checking()),
        (Value::Null, ["timeouts", "publish"]) => in_force(limits.publishing(loaded.job.strategy)),
        (Value::Null, ["timeouts", "lock"]) => {
            HumanDuration::from_seconds(limits.publishing(loaded.job.strategy).lock.as_secs()).to_string()
        }
        (Value::Null, _) => "none".to_owned(),
        (value, _) => compact(value),
    }
}

/// The default of a step. A limit that the role or the server has takes its place.
fn in_force(timeouts: Timeouts) -> String {
    match timeouts.statement {
        Limit::Default(limit) => {
            format!("{}, or what the role or the server has", HumanDuration::from_seconds(limit.as_secs()))
        }
        Limit::Explicit(limit) => HumanDuration::from_seconds(limit.as_secs()).to_string(),
    }
}

/// A value inside a table.
fn nested(value: &Value) -> String {
    match value {
        Value::Object(keys) if !keys.contains_key("type") => format!("{{ {} }}", compact(value)),
        Value::Array(entries) if !entries.is_empty() => format!("[{}]", compact(value)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) | Value::Object(_) => {
            compact(value)
        }
    }
}

/// Text as it is, lists with commas, tables as `key = value`.
fn compact(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Array(entries) if entries.is_empty() => "none".to_owned(),
        Value::Array(entries) => entries.iter().map(compact).collect::<Vec<_>>().join(", "),
        Value::Object(keys) if keys.contains_key("type") && keys.contains_key("value") => {
            keys.get("value").map(compact).unwrap_or_default()
        }
        Value::Object(keys) => {
            let known = keys.iter().filter(|(_, value)| !value.is_null());
            known.map(|(key, value)| format!("{key} = {}", nested(value))).collect::<Vec<_>>().join(", ")
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => value.to_string(),
    }
}
