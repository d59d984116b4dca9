//! `thrice export schema`, and the files by which an editor finds the schemas.

use std::path::{Path, PathBuf};
use std::process::Command;

use jsonschema::Validator;
use serde_json::Value;

use crate::support::Place;

fn validator(file: &str) -> Validator {
    let said = Place::empty().run(&format!("export schema {file}"));
    assert_eq!(said.code, Some(0), "{}", said.stderr);
    jsonschema::draft202012::new(&said.json()).unwrap()
}

/// TOML as editors hand it to a validator: dates and times are text.
fn as_json(value: toml::Value) -> Value {
    match value {
        toml::Value::String(text) => text.into(),
        toml::Value::Integer(number) => number.into(),
        toml::Value::Float(number) => number.into(),
        toml::Value::Boolean(value) => value.into(),
        toml::Value::Datetime(time) => time.to_string().into(),
        toml::Value::Array(values) => values.into_iter().map(as_json).collect(),
        toml::Value::Table(table) => {
            Value::Object(table.into_iter().map(|(name, value)| (name, as_json(value))).collect())
        }
    }
}

#[track_caller]
fn fits(validator: &Validator, what: &str, text: &str) {
    let value = as_json(toml::Value::Table(text.parse().unwrap_or_else(|error| panic!("{what}: {error}"))));
    let errors: Vec<String> = validator.iter_errors(&value).map(|error| error.to_string()).collect();
    assert!(errors.is_empty(), "{what}: {errors:?}\n{text}");
}

#[test]
fn the_files_of_init_name_their_schemas_and_fit_them() {
    let place = Place::project();
    for (file, kind) in [("thrice.toml", "project"), ("pipelines/daily_order_summary.toml", "pipeline")] {
        let text = std::fs::read_to_string(place.path().join(file)).unwrap();
        let named = text.lines().next().unwrap().strip_prefix("#:schema ").unwrap();
        // as the editor finds it: from the folder of the file
        let schema = place.path().join(file).parent().unwrap().join(named);
        let schema: Value = serde_json::from_slice(&std::fs::read(schema).unwrap()).unwrap();
        assert_eq!(schema, place.run(&format!("export schema {kind}")).json());
        assert_eq!(schema["$schema"], "https://json-schema.org/draft/2020-12/schema");
        let validator = jsonschema::draft202012::new(&schema).unwrap();
        fits(&validator, file, &text);
        for wrong in ["strategey = \"delete_insert\"\n", "lanes = 1\n"] {
            let (header, rest) = text.split_once('\n').unwrap();
            let value = as_json(toml::Value::Table(format!("{header}\n{wrong}{rest}").parse().unwrap()));
            assert!(!validator.is_valid(&value), "{file}: {wrong}");
        }
    }
}

#[test]
fn who_clones_a_project_has_the_schemas() {
    let place = Place::project();
    let git = |words: &[&str]| {
        let output = Command::new("git").args(words).current_dir(place.path()).output().unwrap();
        String::from_utf8(output.stdout).unwrap()
    };
    git(&["init", "-q"]);
    git(&["add", "-A"]);
    let tracked = git(&["ls-files"]);
    for path in ["schemas/thrice.json", "schemas/pipeline.json"] {
        assert!(tracked.lines().any(|line| line == path), "{tracked}");
    }
}

#[test]
fn a_project_of_before_gets_its_schemas_and_only_what_differs_is_written() {
    let place = Place::project();
    assert_eq!(place.run("export schema --write").stdout, "the schemas are those of this version\n");
    place.write("schemas/pipeline.json", "{}");
    let said = place.run("-C pipelines export schema --write");
    assert_eq!((said.code, said.stdout.as_str()), (Some(0), "wrote schemas/pipeline.json\n"), "{}", said.stderr);
    assert!(said.stderr.contains("pipelines/NAME.toml    #:schema ../schemas/pipeline.json\n"), "{}", said.stderr);
    std::fs::remove_dir_all(place.path().join("schemas")).unwrap();
    let written = place.run("export schema --write --json").json();
    assert_eq!(written["written"], serde_json::json!(["schemas/thrice.json", "schemas/pipeline.json"]));
    // a file that is in the way of init stays as it is
    let place = Place::empty();
    place.write("schemas/pipeline.json", "mine");
    let said = place.run("init");
    assert_eq!(said.code, Some(2));
    assert!(said.stderr.contains("already there: schemas/pipeline.json"), "{}", said.stderr);
    assert!(!place.path().join("thrice.toml").exists());
    assert_eq!(Place::empty().run("export schema --write").code, Some(2), "no project");
}

/// Blocks of TOML in the pages, with where they stand.
fn blocks() -> Vec<(PathBuf, String)> {
    let root = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."));
    let mut folders = vec![root.join("docs/src"), root.join("crates/cli/codes")];
    let mut pages = vec![root.join("README.md")];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() { folders.push(path) } else { pages.push(path) }
        }
    }
    let blocks_of = |page: PathBuf| {
        let text = std::fs::read_to_string(&page).unwrap();
        let blocks = text.split("```toml\n").skip(1).map(|rest| rest.split("```").next().unwrap().to_owned());
        blocks.map(|block| (page.clone(), block)).collect::<Vec<_>>()
    };
    pages.into_iter().flat_map(blocks_of).collect()
}

#[test]
fn whole_files_that_pages_show_fit_their_schemas() {
    let (project, pipeline) = (validator("project"), validator("pipeline"));
    let mut whole = 0;
    for (page, text) in blocks() {
        let what = page.display().to_string();
        if text.contains("[project]") {
            fits(&project, &what, &text);
        } else if text.contains("[interval]") && text.contains("[target]") {
            fits(&pipeline, &what, &text);
        } else {
            continue;
        }
        whole += 1;
    }
    assert!(whole > 0, "no page shows a whole file");
}
