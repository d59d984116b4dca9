//! One line of the list: calls that must end with one code, written down as text and as JSON, and leave nothing behind.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use thrice_core::code::{ErrorClass, ErrorCode};

use crate::scratch::Scratch;
use crate::support::{Place, Said};

/// What a line of the list must say.
pub(crate) struct Told {
    name: &'static str,
    code: Option<ErrorCode>,
    exit: i32,
    place: Place,
    /// A database whose targets must stay as they are.
    scratch: Option<Scratch>,
    masks: Vec<(String, String)>,
    text: String,
}

/// A line that must fail with a code; in the project that `init` writes, without a server.
pub(crate) fn bad(name: &'static str, code: ErrorCode) -> Told {
    bad_in(name, code, Place::project())
}

/// A line that must fail with a code, in a folder made for it.
pub(crate) fn bad_in(name: &'static str, code: ErrorCode, place: Place) -> Told {
    Told { name, code: Some(code), exit: exit_of(code), place, scratch: None, masks: Vec::new(), text: String::new() }
}

/// A line that looks wrong and is accepted.
pub(crate) fn fine(name: &'static str) -> Told {
    Told { code: None, exit: 0, ..bad(name, ErrorCode::MayDiffer) }
}

/// The contract with scripts, written down once more.
fn exit_of(code: ErrorCode) -> i32 {
    match code.class() {
        ErrorClass::Ok => 0,
        ErrorClass::Bug => 1,
        ErrorClass::Usage | ErrorClass::Config => 2,
        ErrorClass::Checks => 4,
        ErrorClass::Refused => 5,
        ErrorClass::Unavailable => 7,
        ErrorClass::Sql => 8,
        ErrorClass::Unknown => 9,
        ErrorClass::Stopped => 130,
    }
}

impl Told {
    /// On a database: its targets must not change either.
    pub(crate) fn on(mut self, place: Place, scratch: Scratch) -> Self {
        let database = scratch.url().rsplit('/').next().unwrap_or_default().to_owned();
        let database = database.split('?').next().unwrap_or_default().to_owned();
        self.masks.push((database, "[database]".to_owned()));
        self.place = place;
        self.scratch = Some(scratch);
        self
    }

    /// A warning does not change how the call ends.
    pub(crate) fn warns(mut self) -> Self {
        self.exit = 0;
        self
    }

    /// Hides what differs from run to run.
    pub(crate) fn mask(mut self, text: impl Into<String>, shown: &str) -> Self {
        self.masks.push((text.into(), shown.to_owned()));
        self
    }

    /// A fresh project with something wrong in it.
    pub(crate) fn given(&mut self, what: &str, change: impl FnOnce(&Place)) -> &mut Self {
        self.place = Place::project();
        change(&self.place);
        self.text.extend(["# ", what, "\n"]);
        self
    }

    pub(crate) fn place(&self) -> &Place {
        &self.place
    }

    pub(crate) fn scratch(&self) -> &Scratch {
        self.scratch.as_ref().expect("a line on a database")
    }

    /// One call, as text and with `--json`.
    pub(crate) fn call(&mut self, words: &str) -> &mut Self {
        let before = (files(self.place.path()), self.rows());
        let said = self.place.run(words);
        let as_json = self.place.run(&format!("{words} --json"));
        let after = (files(self.place.path()), self.rows());
        assert!(before.0 == after.0, "{words}: files were left behind: {:?}", after.0.keys());
        assert_eq!(before.1, after.1, "{words}: rows were left behind");
        let name = self.name;
        assert_eq!(said.code, Some(self.exit), "{name}: {words}\n{}{}", said.stdout, said.stderr);
        assert_eq!(as_json.code, Some(self.exit), "{name}: {words} --json\n{}", as_json.stderr);
        assert!(!said.stderr.contains("panicked"), "{name}: {}", said.stderr);
        let secret = said.stderr.contains("hush") || as_json.stdout.contains("hush");
        assert!(!secret, "{name}: a secret was shown: {}{}", said.stderr, as_json.stdout);
        self.text += &said.transcript(words);
        let object = as_json.json();
        assert_eq!(as_json.stdout.lines().count(), 1, "{words}: one object");
        let mut problems = Vec::new();
        collect(&object, &mut problems);
        if let Some(code) = self.code {
            self.judge(words, code, &said, &problems);
        }
        for problem in problems {
            let shown: BTreeMap<&str, &Value> =
                ["code", "class", "exit", "message", "help", "span", "sqlstate"].map(|key| (key, &problem[key])).into();
            self.text.extend(["json: ", &json!(shown).to_string(), "\n"]);
        }
        self.text.push('\n');
        self
    }

    fn judge(&self, words: &str, code: ErrorCode, said: &Said, problems: &[&Value]) {
        let name = self.name;
        let first = problems.iter().find(|problem| problem["code"] == code.id());
        let first = first.unwrap_or_else(|| panic!("{name}: {words}: no {code} in {problems:?}\n{}", said.stderr));
        assert_eq!(first["class"], code.class().as_str(), "{name}");
        if first["level"] == "error" {
            assert_eq!(first["exit"], self.exit, "{name}");
            assert!(said.stderr.contains(&format!("error[{code}]: ")), "{name}: {}", said.stderr);
            assert!(said.stderr.contains(&format!("see: thrice explain {code}\n")), "{name}: {}", said.stderr);
        }
        for problem in problems {
            let text = |key: &str| problem[key].as_str().unwrap_or_default().trim().to_owned();
            assert!(!text("message").is_empty(), "{name}: {problem}");
            assert!(!text("help").is_empty(), "{name}: nothing to do about it: {problem}");
            let span = &problem["span"];
            assert!(span.is_null() || (span["line"].is_u64() && span["file"].is_string()), "{name}: {problem}");
        }
    }

    /// Compares with what was agreed on.
    pub(crate) fn shown(&self) {
        let mut settings = insta::Settings::clone_current();
        settings.set_prepend_module_to_snapshot(false);
        settings.set_omit_expression(true);
        settings.add_filter(r"\b\d+\.\d+s\b", "[took]");
        settings.add_filter(r"failed to lookup address information: [\w ]+", "[no such host]");
        settings.add_filter(r"\b20(?:2[7-9]|[3-9]\d)-\d\d-\d\d[ T]\d\d:\d\d:\d\d(?:\.\d+)?Z|\b2026-(?:0[4-9]|1[0-2])-\d\d[ T]\d\d:\d\d:\d\d(?:\.\d+)?Z", "[time]");
        let mut text = self.text.clone();
        for (hidden, shown) in &self.masks {
            text = text.replace(hidden, shown);
        }
        settings.bind(|| insta::assert_snapshot!(self.name, text));
    }

    /// Rows in every target of the database.
    fn rows(&self) -> Option<i64> {
        let scratch = self.scratch.as_ref()?;
        Some(scratch.number(
            "select coalesce(sum((xpath('/row/c/text()', query_to_xml(format('select count(*) as c from %I.%I', n.nspname, c.relname), false, true, '')))[1]::text::bigint), 0) \
             from pg_class c join pg_namespace n on n.oid = c.relnamespace where n.nspname = 'mart' and c.relkind in ('r', 'p')",
        ))
    }
}

/// Every problem of an answer, in its order. Failed attempts repeat the one that ended the run.
fn collect<'a>(value: &'a Value, found: &mut Vec<&'a Value>) {
    match value {
        Value::Object(map) if map.contains_key("retryable") && map.contains_key("code") => found.push(value),
        Value::Object(map) => {
            map.iter().filter(|(key, _)| *key != "failed_attempts").for_each(|(_, inner)| collect(inner, found));
        }
        Value::Array(values) => values.iter().for_each(|inner| collect(inner, found)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// Every file under a folder with its bytes; a link with where it leads.
fn files(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut found = BTreeMap::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let (path, kind) = entry.map(|entry| (entry.path(), entry.file_type().unwrap())).unwrap();
        if kind.is_dir() {
            found.insert(path.clone(), Vec::new());
            found.extend(files(&path));
        } else if kind.is_symlink() {
            found.insert(path.clone(), std::fs::read_link(&path).unwrap().to_string_lossy().into_owned().into_bytes());
        } else {
            let bytes = std::fs::read(&path).unwrap();
            found.insert(path, bytes);
        }
    }
    found
}
