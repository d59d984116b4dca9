//! The schemas say what the readers say.

use std::collections::BTreeSet;

use jsonschema::Validator;
use toml::Table;

use super::*;
use crate::keys::KEYS;
use crate::{Definition, Project};

const PROJECT: &str = "[project]\nname = \"shop\"\ntime_zone = \"Asia/Seoul\"\n";
const PIPELINE: &str = "[interval]\ngrain = \"day\"\nstart = \"2026-01-01\"\n\
                        [target]\ntable = \"mart.days\"\ninterval_column = \"day\"\n";

fn read(file: File, text: &str) -> bool {
    match file {
        File::Project => Project::read("thrice.toml", text.as_bytes()).is_ok(),
        File::Pipeline => {
            let project = Project::read("thrice.toml", PROJECT.as_bytes()).unwrap().value;
            Definition::read(&project, "days", "pipelines/days.toml", text.as_bytes()).is_ok()
        }
    }
}

/// TOML as editors hand it to a validator: dates and times are text.
fn as_json(value: &toml::Value) -> Value {
    match value {
        toml::Value::String(text) => text.as_str().into(),
        toml::Value::Integer(number) => (*number).into(),
        toml::Value::Float(number) => (*number).into(),
        toml::Value::Boolean(value) => (*value).into(),
        toml::Value::Datetime(time) => time.to_string().into(),
        toml::Value::Array(values) => values.iter().map(as_json).collect(),
        toml::Value::Table(table) => {
            Value::Object(table.iter().map(|(name, value)| (name.clone(), as_json(value))).collect())
        }
    }
}

fn validator(file: File) -> Validator {
    jsonschema::draft202012::new(&of_file(file)).unwrap()
}

/// The reader and the schema are of one mind.
#[track_caller]
fn both(file: File, text: &str, accept: bool) {
    assert_eq!(read(file, text), accept, "the reader: {text}");
    let json = as_json(&toml::Value::Table(text.parse::<Table>().unwrap()));
    let errors: Vec<String> = validator(file).iter_errors(&json).map(|error| error.to_string()).collect();
    assert_eq!(errors.is_empty(), accept, "the schema: {text}\n{errors:?}");
}

#[test]
fn they_are_schemas_of_the_draft_that_they_name() {
    for file in [File::Project, File::Pipeline] {
        jsonschema::draft202012::meta::validate(&of_file(file)).unwrap_or_else(|error| panic!("{file:?}: {error}"));
    }
}

/// The schema of a table by its name.
fn place<'s>(schema: &'s Value, table: &str) -> &'s Value {
    table.split('.').filter(|name| !name.is_empty()).fold(schema, |schema, name| {
        let inner = &schema["properties"][name];
        // a share, or a table that has it
        let or_table = || inner["anyOf"].get(1).filter(|other| other.get("additionalProperties").is_some());
        inner.get("items").or_else(or_table).unwrap_or(inner)
    })
}

#[test]
fn every_key_that_is_built_is_in_its_schema_and_no_other() {
    for file in [File::Project, File::Pipeline] {
        let schema = of_file(file);
        let tables: BTreeSet<&str> = KEYS.iter().filter(|key| key.file == file).map(|key| key.table).collect();
        for table in tables {
            let here = place(&schema, table);
            assert_eq!(here["additionalProperties"], false, "{table}");
            let named: BTreeSet<&str> = here["properties"].as_object().unwrap().keys().map(String::as_str).collect();
            let built: BTreeSet<&str> =
                of_table(file, table).filter(|key| !matches!(key.built, Built::No(_))).map(|key| key.name).collect();
            assert_eq!(named, built, "[{table}]");
            for key in of_table(file, table).filter(|key| named.contains(key.name)) {
                let property = &here["properties"][key.name];
                let told = property["description"].as_str().unwrap_or_default();
                assert!(told.to_lowercase().contains(&key.meaning.to_lowercase()), "{table}.{}", key.name);
                assert_eq!(property.get("default").is_some(), matches!(key.default, Unwritten::Is(_)), "{}", key.name);
            }
        }
    }
}

/// The least file with one key more.
fn with(key: &Key, value: &str) -> String {
    let line = format!("{} = {value}\n", key.name);
    let weekly = PIPELINE.replace("\"day\"\n", "\"week\"\n").replace("2026-01-01", "2026-W10");
    let base = match key.file {
        File::Project => PROJECT,
        File::Pipeline if key.name == "week_start" => &weekly,
        File::Pipeline => PIPELINE,
    };
    // cron stands instead of the grain
    let replaced = if key.name == "cron" { "grain" } else { key.name };
    let is_rule = key.table.starts_with("checks.");
    let without: String =
        base.split_inclusive('\n').filter(|known| is_rule || !known.starts_with(&format!("{replaced} ="))).collect();
    let line = match value {
        // a merge says what it is given, and what tells rows apart
        "\"merge\"" => format!("{line}rows = \"complete\"\nkey = [\"day\"]\n"),
        _ => line,
    };
    let of_changes = ["version", "operation"].contains(&key.name) && key.table == "target";
    let line = if of_changes || value == "\"changes\"" {
        let rows = if key.name == "rows" { "" } else { "rows = \"changes\"\n" };
        let version = if key.name == "version" { "" } else { "version = \"no\"\n" };
        format!("{line}strategy = \"merge\"\n{rows}{version}key = [\"day\"]\n")
    } else {
        line
    };
    match key.table {
        // keys are counted where there are some
        "guards" => without.replace("[target]\n", "[target]\nkey = [\"day\"]\n") + "[guards]\n" + &line,
        table if table.starts_with("guards.") => {
            let max = if key.name == "max" { "" } else { "max = \"1%\"\n" };
            without.replace("[target]\n", "[target]\nkey = [\"day\"]\n") + &format!("[{table}]\n{max}{line}")
        }
        "" => line + &without,
        "checks" if matches!(key.name, "name" | "severity") => {
            format!("{without}[[checks]]\nunique = [\"day\"]\n{line}")
        }
        "checks" => format!("{without}[[checks]]\n{line}"),
        table if is_rule => {
            let rule = table.trim_start_matches("checks.");
            // what the rule has to have, where it is another key
            let others: String = of_table(key.file, table)
                .filter(|other| other.name != key.name)
                .filter_map(|other| Some(format!("{} = {}, ", other.name, needed(rule, other.name, key.name)?)))
                .collect();
            format!("{without}[[checks]]\n{rule} = {{ {others}{} = {value} }}\n", key.name)
        }
        table if without.contains(&format!("[{table}]\n")) => {
            without.replace(&format!("[{table}]\n"), &format!("[{table}]\n{line}"))
        }
        table => format!("{without}[{table}]\n{line}"),
    }
}

/// A value that makes a rule whole beside the key that is tried.
fn needed(rule: &str, name: &str, tried: &str) -> Option<&'static str> {
    match (rule, name) {
        (_, "column" | "pattern") => Some("\"a\""),
        ("null_rate", "max") => Some("\"1%\""),
        ("range" | "distinct", "min") if tried == "column" => Some("0"),
        (_, "values") => Some("[1]"),
        (_, "table") => Some("\"dim.x\""),
        // as many as of the key
        (_, "columns") => Some("[\"b\"]"),
        (_, "ours") => Some("\"sum(a)\""),
        (_, "theirs") => Some("\"select 1\""),
        (_, "max_age") => Some("\"1h\""),
        _ => None,
    }
}

/// Values that a kind accepts, and values that it does not.
fn values(key: &Key) -> (Vec<String>, &'static [&'static str]) {
    let owned = |values: &[&str]| values.iter().map(|value| (*value).to_owned()).collect::<Vec<_>>();
    match (key.kind, key.built) {
        (Kind::Duration, Built::DefaultOnly) => (owned(&["\"0\"", "\"0h\""]), &["\"2h\"", "0"]),
        (Kind::Flag, Built::DefaultOnly) => (owned(&["false"]), &["true", "\"false\""]),
        (Kind::Count, Built::DefaultOnly) => (owned(&["1"]), &["2", "0", "\"1\""]),
        (Kind::Text, _) if key.name == "theirs" || key.name == "sql" && key.table == "checks" => {
            (owned(&["\"select 1\""]), &["1", "[\"A\"]"])
        }
        (Kind::Text, _) => (owned(&[if key.name == "sql" { "\"a.sql\"" } else { "\"A\"" }]), &["1", "[\"A\"]"]),
        (Kind::OneOf(words), _) => {
            (words.iter().map(|word| format!("\"{word}\"")).collect(), &["\"anything else\"", "true"])
        }
        (Kind::Grain, _) => (
            owned(&["\"day\"", "\"hour\"", "\"month\"", "\"15 minutes\"", "\"6 hours\""]),
            &["\"daily\"", "\"0 hours\"", "1"],
        ),
        (Kind::Cron, _) => (owned(&["\"0 0 * * *\"", "\"@daily\""]), &["1", "\"\""]),
        (Kind::Zone, _) => (owned(&["\"UTC\"", "\"Asia/Seoul\""]), &["9", "\"\""]),
        (Kind::Boundary, _) => (owned(&["\"2027-01-01\"", "2027-01-01"]), &["2027", "\"\""]),
        (Kind::Duration, _) => {
            // the delay of a retry stays below its longest
            let most = if key.name == "max_delay" { "\"1d2h\"" } else { "\"1m30s\"" };
            (owned(&[most]), &["90", "\"1 m\"", "\"\"", "\"1mo\"", "\"1s2m\""])
        }
        (Kind::Counts, _) => (owned(&["[]", "[1]", "[1, 3]"]), &["1", "[0]", "[1, 1]", "[-1]", "[\"1\"]", "[100000]"]),
        // without revisits a partition is final at once
        (Kind::Count, _) if key.name == "final_after" => (owned(&["0"]), &["-1", "\"1\"", "1.5"]),
        (Kind::Count, _) => (owned(&["1", "7"]), &["-1", "\"1\"", "1.5"]),
        (Kind::CountOrAll, _) => (owned(&["0", "7", "\"all\""]), &["-1", "\"none\"", "true"]),
        (Kind::Flag, _) => (owned(&["true", "false"]), &["1", "\"true\""]),
        (Kind::TableName, _) => (owned(&["\"mart.x\"", "'\"Mart\".\"x.y\"'"]), &["\"x\"", "1", "\"\""]),
        (Kind::Column, _) => (owned(&["\"a\"", "'\"A\"'"]), &["1", "\"\"", "[\"a\"]"]),
        (Kind::Percent, _) => (
            owned(&["\"0%\"", "\"1%\"", "\"12.5%\"", "\"99.9999%\"", "\"100%\"", "\"100.0%\""]),
            &["1", "0.01", "\"1\"", "\"101%\"", "\"-1%\"", "\"100.1%\"", "\"\""],
        ),
        (Kind::PercentOrTable, _) => (
            owned(&["\"0%\"", "\"50%\"", "{ max = \"50%\" }", "{ max = \"50%\", on_violation = \"warn\" }"]),
            &[
                "50",
                "\"50\"",
                "\"130%\"",
                "{}",
                "{ on_violation = \"warn\" }",
                "{ max = \"50\" }",
                "{ max = \"5%\", min = \"1%\" }",
            ],
        ),
        (Kind::RowChange, _) => (
            owned(&["\"-50%..+100%\"", "\"-100%..\"", "\"..+0.5%\"", "\"0%..+12345%\""]),
            &["\"-50%\"", "\"50%..100%\"", "\"..\"", "\"-101%..\"", "50", "\"-5..+5\"", "\"\""],
        ),
        (Kind::Tolerance, _) => {
            (owned(&["\"0\"", "\"0.01\"", "\"0.1%\"", "\"100%\""]), &["0", "\"-1\"", "\"101%\"", "\"1e3\"", "\"\""])
        }
        (Kind::Bound, _) => (owned(&["0", "-1.5", "\"a\"", "2026-01-01"]), &["true", "[1]"]),
        (Kind::Values, _) => (
            owned(&["[\"a\"]", "[1, 2.5]", "[true, false]", "[2026-01-01]", "[1, \"1\"]"]),
            &["1", "[]", "[[1]]", "[\"a\", \"a\"]", "[{ a = 1 }]"],
        ),
        (Kind::Columns, _) if key.table == "checks.references" => {
            (owned(&["[\"a\"]"]), &["\"a\"", "[1]", "[\"a\", \"a\"]"])
        }
        (Kind::Columns, _) => (owned(&["[\"a\"]", "[\"a\", \"b\"]"]), &["\"a\"", "[1]", "[\"a\", \"a\"]"]),
        (Kind::Schemas, _) => (owned(&["[\"a\", \"b\"]", "\"a, b\""]), &["[]", "[1]", "1", "\"\""]),
        (Kind::Setting(Setting::Switch), _) => (owned(&["true", "false", "\"off\""]), &["\"maybe\"", "1"]),
        (Kind::Setting(Setting::Memory), _) => {
            (owned(&["\"256MB\"", "\"1 GB\"", "4096"]), &["\"256 mb\"", "0", "true"])
        }
        (Kind::Setting(Setting::Number), _) => (owned(&["1.1", "4", "\"1.1\""]), &["-1.0", "\"x\"", "true"]),
        (Kind::Setting(Setting::Whole), _) => (owned(&["4", "\"4\""]), &["-1", "2000000", "\"x\"", "1.5"]),
        (Kind::Names("string"), _) => (owned(&["{ a = \"b\" }", "{}"]), &["{ a = 1 }", "1"]),
        (Kind::Names(_), _) => {
            (owned(&["{ a = \"b\", c = 1, d = 1.5, e = true, f = 2026-01-01 }"]), &["{ a = [1] }", "{ 1a = 1 }"])
        }
        (Kind::Table | Kind::Tables | Kind::Open, _) => (Vec::new(), &["1"]),
    }
}

#[test]
fn reader_and_schema_are_of_one_mind_about_every_key() {
    for key in KEYS.iter().filter(|key| !matches!(key.built, Built::No(_))) {
        let (good, bad) = values(key);
        for value in good {
            both(key.file, &with(key, &value), true);
        }
        for value in bad {
            // what is not a table cannot be beside the table that the least file has
            if matches!(key.kind, Kind::Table | Kind::Tables) {
                both(key.file, &format!("{} = {value}\n", key.name), false);
            } else {
                both(key.file, &with(key, value), false);
            }
        }
    }
    for key in KEYS.iter().filter(|key| matches!(key.built, Built::No(_))) {
        both(key.file, &with(key, "1"), false);
    }
}

#[test]
fn what_is_missing_or_misspelt_is_refused() {
    both(File::Project, PROJECT, true);
    both(File::Pipeline, PIPELINE, true);
    for line in PIPELINE.lines().filter(|line| line.contains('=')) {
        both(File::Pipeline, &PIPELINE.replace(line, ""), false);
    }
    both(File::Project, "[database]\nmode = \"local\"\n", false);
    both(File::Project, "[project]\ntime_zone = \"UTC\"\n", false);
    both(File::Pipeline, &PIPELINE.replace("table =", "tabel ="), false);
    both(File::Pipeline, &PIPELINE.replace("grain = \"day\"", "grain = \"daily\""), false);
    let merge = "[target]\nstrategy = \"merge\"\nrows = \"complete\"\nkey = [\"day\"]\n";
    both(File::Pipeline, &PIPELINE.replace("[target]\n", merge), true);
    for line in ["rows = \"complete\"\n", "key = [\"day\"]\n"] {
        both(File::Pipeline, &PIPELINE.replace("[target]\n", &merge.replace(line, "")), false);
    }
    let changes = merge.replace("complete", "changes") + "version = \"no\"\n";
    both(File::Pipeline, &PIPELINE.replace("[target]\n", &changes), true);
    both(File::Pipeline, &PIPELINE.replace("[target]\n", &format!("{changes}operation = \"op\"\n")), true);
    for line in ["version = \"v\"\n", "operation = \"op\"\n"] {
        both(File::Pipeline, &PIPELINE.replace("[target]\n", &format!("{merge}{line}")), false);
        both(File::Pipeline, &PIPELINE.replace("[target]\n", &format!("[target]\n{line}")), false);
    }
    let whole = "[interval]\ngrain = \"table\"\n[target]\ntable = \"mart.days\"\n";
    both(File::Pipeline, whole, true);
    both(File::Pipeline, &PIPELINE.replace("\"day\"\nstart", "\"table\"\nstart"), false);
    for line in ["start = \"2026-01-01\"\n", "end = \"2026-01-01\"\n", "delay = \"1h\"\n", "catch_up = 1\n"] {
        both(File::Pipeline, &whole.replace("[target]", &format!("{line}[target]")), false);
    }
    both(File::Pipeline, &format!("{whole}interval_column = \"day\"\n"), false);
    both(File::Pipeline, &format!("{whole}[late_data]\nrevisit = [1]\n"), false);
    let check = |keys: &str| format!("{PIPELINE}[[checks]]\n{keys}\n");
    both(File::Pipeline, &check("not_null = [\"day\"]\nunique = [\"day\"]"), false);
    both(File::Pipeline, &check("name = \"nothing to check\""), false);
    for rule in [
        "rows = {}",
        "range = { column = \"day\" }",
        "range = { min = 1 }",
        "distinct = { column = \"day\" }",
        "null_rate = { column = \"day\" }",
        "accepted_values = { column = \"day\" }",
        "matches = { pattern = \"a\" }",
        "references = { table = \"dim.days\" }",
        "freshness = { column = \"day\" }",
        "freshness = { column = \"day\", max_age = \"1h\", warn_after = \"1h\" }",
    ] {
        both(File::Pipeline, &check(rule), false);
    }
    both(File::Pipeline, &format!("{PIPELINE}stragety = \"delete_insert\"\n"), false);
}
