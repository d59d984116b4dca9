//! JSON Schemas of the two kinds of files, for editors: what to propose, what to show beside a key, what to underline
//! while it is typed. Made from the table of keys, so that they know no other keys than the readers.
//!
//! A key that this version does not have is not in them: an editor would propose it, and the reader refuses it. The
//! schemas use no references, since editors follow those in different ways.

use serde_json::{Map, Value, json};

use crate::checks_table;
use crate::keys::{Built, File, Key, Kind, Setting, Unwritten, of_table};

/// The schema of a kind of files, draft 2020-12.
pub fn of_file(file: File) -> Value {
    let (title, about) = match file {
        File::Project => ("thrice.toml", "What all pipelines of a project share"),
        File::Pipeline => ("A pipeline of thrice", "pipelines/NAME.toml; the query is NAME.sql beside it"),
    };
    let mut schema = table(file, "");
    if file == File::Pipeline {
        let grain = json!({ "properties": { "grain": { "const": "table" } }, "required": ["grain"] });
        schema.insert("if".to_owned(), json!({ "properties": { "interval": grain }, "required": ["interval"] }));
        schema.insert("then".to_owned(), whole_table());
        schema.insert("else".to_owned(), of_intervals());
    }
    schema.insert("$schema".to_owned(), "https://json-schema.org/draft/2020-12/schema".into());
    schema.insert("title".to_owned(), title.into());
    schema.insert("description".to_owned(), about.into());
    Value::Object(schema)
}

/// A whole table neither begins nor ends, and no column of it places a row in time.
fn whole_table() -> Value {
    let none_of = |keys: &[&str]| {
        let each: Vec<Value> = keys.iter().map(|key| json!({ "required": [key] })).collect();
        json!({ "not": { "anyOf": each } })
    };
    json!({
        "properties": {
            "interval": none_of(&["start", "end", "delay", "catch_up"]), "target": none_of(&["interval_column"]),
        },
        "not": { "required": ["late_data"] },
    })
}

/// What has to be written but for a whole table.
fn of_intervals() -> Value {
    let required = |table| {
        let keys = of_table(File::Pipeline, table).filter(|key| key.default == Unwritten::RequiredOfIntervals);
        json!({ "required": keys.map(|key| key.name).collect::<Vec<_>>() })
    };
    json!({ "properties": { "interval": required("interval"), "target": required("target") } })
}

/// The keys of one table, and no others.
fn table(file: File, name: &str) -> Map<String, Value> {
    let keys: Vec<&Key> = of_table(file, name).filter(|key| !matches!(key.built, Built::No(_))).collect();
    let properties: Map<String, Value> = keys.iter().map(|key| (key.name.to_owned(), property(key))).collect();
    let required: Vec<&str> =
        keys.iter().filter(|key| key.default == Unwritten::Required).map(|key| key.name).collect();
    let mut schema = Map::new();
    schema.insert("type".to_owned(), "object".into());
    schema.insert("properties".to_owned(), properties.into());
    schema.insert("additionalProperties".to_owned(), false.into());
    if !required.is_empty() {
        schema.insert("required".to_owned(), required.into());
    }
    let one_of: &[&str] = match name {
        "checks.rows" => &["min", "max", "change"],
        "checks.range" | "checks.distinct" => &["min", "max"],
        _ => &[],
    };
    if !one_of.is_empty() {
        let required: Vec<Value> = one_of.iter().map(|key| json!({ "required": [key] })).collect();
        schema.insert("anyOf".to_owned(), required.into());
    }
    if name == "interval" {
        schema.insert("oneOf".to_owned(), json!([{ "required": ["grain"] }, { "required": ["cron"] }]));
    }
    if name == "target" {
        schema.insert(
            "if".to_owned(),
            json!({ "properties": { "strategy": { "const": "merge" } }, "required": ["strategy"] }),
        );
        schema.insert("then".to_owned(), json!({ "required": ["rows", "key"] }));
        // the other strategies are given whole intervals
        let changes = json!({
            "required": ["strategy", "rows"],
            "properties": { "rows": { "const": "changes" }, "strategy": { "const": "merge" } },
        });
        schema.insert("dependentSchemas".to_owned(), json!({ "version": changes, "operation": changes }));
        let complete = json!({ "properties": { "rows": { "const": "complete" } } });
        schema.insert("anyOf".to_owned(), json!([complete, changes]));
    }
    schema
}

fn property(key: &Key) -> Value {
    let mut schema = match (key.kind, key.built) {
        (Kind::Table, _) => table(key.file, &inside(key)),
        (Kind::PercentOrTable, _) => object(json!({ "anyOf": [value(Kind::Percent), table(key.file, &inside(key))] })),
        (Kind::Tables, _) => object(json!({ "type": "array", "items": entry(key) })),
        // the only value that is accepted; of a duration there are several ways to write it
        (Kind::Duration, Built::DefaultOnly) => pattern("^(0|(0+w)?(0+d)?(0+h)?(0+m)?(0+s)?)$"),
        (_, Built::DefaultOnly) => object(json!({ "const": default(key) })),
        (kind, Built::Yes | Built::No(_)) => value(kind),
    };
    schema.insert("description".to_owned(), description(key).into());
    if let Some(default) = default(key) {
        schema.insert("default".to_owned(), default);
    }
    Value::Object(schema)
}

/// One of several tables.
fn entry(key: &Key) -> Value {
    let mut schema = table(key.file, &inside(key));
    if key.name == "checks" {
        let rules = checks_table::BUILT.map(|rule| json!({ "required": [rule] }));
        schema.insert("oneOf".to_owned(), rules.as_slice().into());
    }
    Value::Object(schema)
}

/// The name of the table that a key is.
fn inside(key: &Key) -> String {
    if key.table.is_empty() { key.name.to_owned() } else { format!("{}.{}", key.table, key.name) }
}

/// The default, where it is a value. It is written as TOML writes it, which is JSON for text, numbers and flags.
fn default(key: &Key) -> Option<Value> {
    let Unwritten::Is(written) = key.default else { return None };
    serde_json::from_str(written).ok()
}

/// A sentence for the window beside the key.
fn description(key: &Key) -> String {
    let mut letters = key.meaning.chars();
    let first: String = letters.next().into_iter().flat_map(char::to_uppercase).collect();
    let mut text = format!("{first}{}", letters.as_str());
    if key.built == Built::DefaultOnly {
        text += ". Only the default is built in this version";
    }
    if let Unwritten::Said(words) = key.default {
        text.extend([". Where it is not written: ", words]);
    }
    text
}

fn value(kind: Kind) -> Map<String, Value> {
    match kind {
        Kind::OneOf(words) => object(json!({ "type": "string", "enum": words })),
        Kind::Grain => object(json!({
            "anyOf": [
                { "type": "string", "enum": ["hour", "day", "week", "month", "quarter", "year", "table"] },
                { "type": "string", "pattern": "^[1-9][0-9]* (minutes|hours)$" },
            ],
            "examples": ["day", "hour", "15 minutes", "6 hours"],
        })),
        Kind::Cron => object(json!({ "type": "string", "minLength": 1, "examples": ["0 3 * * *", "0 0 1,16 * *"] })),
        Kind::Zone => object(json!({ "type": "string", "minLength": 1, "examples": ["UTC", "Asia/Seoul"] })),
        Kind::RowChange => {
            const LEAST: &str = r"([+]\d{1,7}(\.\d{1,4})?|-(100(\.0{1,4})?|\d{1,2}(\.\d{1,4})?)|0{1,7}(\.0{1,4})?)%";
            let mut schema = pattern(&format!("^({LEAST}\\.\\.({LEAST})?|\\.\\.{LEAST})$"));
            schema.insert("examples".to_owned(), json!(["-50%..+100%", "-20%.."]));
            schema
        }
        Kind::Tolerance => {
            let mut schema = pattern(r"^([0-9]{1,100}(\.[0-9]{1,100})?|(100(\.0{1,4})?|[0-9]{1,2}(\.[0-9]{1,4})?)%)$");
            schema.insert("examples".to_owned(), json!(["0", "0.01", "0.1%"]));
            schema
        }
        // a date or time of TOML counts as text
        Kind::Boundary => object(json!({ "type": "string", "minLength": 1, "examples": ["2026-01-01"] })),
        Kind::Duration => {
            let mut schema = pattern("^(0|([0-9]+w)?([0-9]+d)?([0-9]+h)?([0-9]+m)?([0-9]+s)?)$");
            schema.insert("examples".to_owned(), json!(["2h10m", "15m", "30s"]));
            schema
        }
        Kind::Count => object(json!({ "type": "integer", "minimum": 0 })),
        Kind::Counts => object(json!({
            "type": "array", "items": { "type": "integer", "minimum": 1, "maximum": thrice_core::late_policy::MOST }, "uniqueItems": true,
            "examples": [[1, 3]],
        })),
        Kind::CountOrAll => object(json!({ "anyOf": [{ "type": "integer", "minimum": 0 }, { "const": "all" }] })),
        Kind::Flag => object(json!({ "type": "boolean" })),
        Kind::TableName => {
            let mut schema = pattern(r"^.+\..+$");
            schema.insert("examples".to_owned(), json!(["mart.daily_sales"]));
            schema
        }
        Kind::Column => object(json!({ "type": "string", "minLength": 1 })),
        Kind::Columns => object(list(true)),
        Kind::Percent | Kind::PercentOrTable => {
            let mut schema = pattern(r"^(100(\.0{1,4})?|[0-9]{1,2}(\.[0-9]{1,4})?)%$");
            schema.insert("examples".to_owned(), json!(["1%", "0.5%"]));
            schema
        }
        // a date or time of TOML counts as text
        Kind::Bound => object(json!({ "type": ["number", "string"], "examples": [0, "2026-01-01"] })),
        Kind::Values => object(json!({
            "type": "array", "items": { "type": ["string", "number", "boolean"] }, "minItems": 1, "uniqueItems": true,
        })),
        Kind::Schemas => object(json!({ "anyOf": [list(false), { "type": "string", "minLength": 1 }] })),
        Kind::Names("string") => object(json!({ "type": "object", "additionalProperties": { "type": "string" } })),
        Kind::Names(_) => object(json!({
            "type": "object",
            "propertyNames": { "pattern": "^[A-Za-z_][A-Za-z0-9_]*$" },
            "additionalProperties": { "type": ["string", "number", "boolean"] },
        })),
        Kind::Setting(setting) => object(of_setting(setting)),
        Kind::Text | Kind::Table | Kind::Tables | Kind::Open => object(json!({ "type": "string" })),
    }
}

/// Names, at least one.
fn list(different: bool) -> Value {
    let mut schema = object(json!({ "type": "array", "items": { "type": "string", "minLength": 1 }, "minItems": 1 }));
    if different {
        schema.insert("uniqueItems".to_owned(), true.into());
    }
    Value::Object(schema)
}

/// A value of a planner setting, or the same in quotes as PostgreSQL's own file has it.
fn of_setting(setting: Setting) -> Value {
    match setting {
        Setting::Switch => json!({ "enum": [true, false, "on", "off"] }),
        Setting::Memory => json!({ "anyOf": [
            { "type": "integer", "minimum": 1 },
            { "type": "string", "pattern": "^[0-9]+ *(kB|MB|GB|TB)?$" },
        ] }),
        Setting::Number => json!({ "anyOf": [
            { "type": "number", "minimum": 0 },
            { "type": "string", "pattern": r"^[0-9]*\.?[0-9]+$" },
        ] }),
        Setting::Whole => json!({ "anyOf": [
            { "type": "integer", "minimum": 0, "maximum": 1_000_000 },
            { "type": "string", "pattern": "^[0-9]+$" },
        ] }),
    }
}

fn pattern(pattern: &str) -> Map<String, Value> {
    object(json!({ "type": "string", "minLength": 1, "pattern": pattern }))
}

fn object(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(map) => map,
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => Map::new(),
    }
}

#[cfg(test)]
mod tests;
