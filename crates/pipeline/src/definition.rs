//! `pipelines/NAME.toml`: everything that is said about one pipeline beside its query.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use thrice_core::code::ErrorCode;
use thrice_core::due::{CatchUp, DuePolicy};
use thrice_core::duration::HumanDuration;
use thrice_core::identifier::Identifier;
use thrice_core::late_policy::LatePolicy;
use thrice_core::retry::RetryPolicy;
use thrice_core::time::{Timestamp, civil, to_microseconds};
use thrice_core::{Grain, Schedule};
use toml::de::DeValue;

use crate::check_query::Known;
use crate::checks_table::{self, Check};
use crate::diagnostic::{Checked, Diagnostic, Diagnostics, Span};
use crate::guards_table::{self, Guards};
use crate::interval_table::{self, IntervalRules};
use crate::keys::File;
use crate::late_table;
use crate::limits_tables::{self, Timeouts};
use crate::placeholders::{BUILT_IN, VarValue};
use crate::project::Project;
use crate::session_table::{self, Session};
use crate::target_table::{self, Target};
use crate::toml_reader::{self, Field, Reader};

/// A checked pipeline file.
#[derive(Debug, Clone, PartialEq)]
pub struct Definition {
    /// Name of the pipeline: that of its file.
    pub name: String,
    /// Name of the file, as the caller gave it.
    pub file: String,
    /// For people.
    pub description: Option<String>,
    /// Who answers for it.
    pub owner: Option<String>,
    /// Free words for filters.
    pub labels: BTreeMap<String, String>,
    /// The query file, relative to the project folder, with `/`. The caller makes sure that no symbolic link leads out.
    pub sql_path: String,
    /// Values that the query uses by name.
    pub vars: BTreeMap<String, VarValue>,
    /// `run` leaves it alone unless it is named.
    pub paused: bool,
    /// When its published partitions are made again, final and closed.
    pub late_data: LatePolicy,
    /// Its intervals.
    pub interval: IntervalRules,
    /// Its target.
    pub target: Target,
    /// Its checks, beside those that are always on.
    pub checks: Vec<Check>,
    /// How much of what is published one publish may take away or change.
    pub guards: Guards,
    /// How often it tries again.
    pub retry: RetryPolicy,
    /// How long its steps may take.
    pub timeouts: Timeouts,
    /// Settings of its connection.
    pub session: Session,
    /// Where `target.table` stands in the file.
    pub(crate) table_span: Span,
}

const REQUIRED: &str = "interval.grain, interval.start, target.table and target.interval_column";

impl Definition {
    /// Reads a pipeline file. `file` is its path relative to the project folder, with `/`; the query is looked for
    /// beside it.
    ///
    /// # Errors
    /// Everything that is wrong in it.
    pub fn read(project: &Project, name: &str, file: &str, bytes: &[u8]) -> Result<Checked<Self>, Diagnostics> {
        let (text, table) = toml_reader::parse(file, bytes, REQUIRED)?;
        let mut found = Diagnostics::new();
        if let Err(why) = check_name(name) {
            found.push(
                Diagnostic::error(ErrorCode::BadName, file, format!("{name:?} cannot name a pipeline"))
                    .why(why)
                    .fix("letters, digits, `_`, `-` and `.`, beginning with a letter or digit; rename the file"),
            );
        }
        let mut root = Reader::root(File::Pipeline, file, text, &table, &mut found);
        let description = root.string("description").map(|(text, _)| text.to_owned());
        let owner = root.string("owner").map(|(text, _)| text.to_owned());
        let labels = labels(&mut root);
        let sql_path = sql_path(&mut root, name, file);
        let vars = vars(&mut root);
        let paused = root.boolean("paused").is_some_and(|(value, _)| value);
        let (known, interval) = interval_table::read(&mut root, project.time_zone.as_ref());
        let target = target_table::read(&mut root, known.as_ref());
        // of a grain that is refused nothing is known; its checks are looked at all the same
        let grain = known.unwrap_or(Grain::Day);
        let checks = checks_table::read(&mut root, Known { grain: &grain, vars: &vars });
        // where the target is refused nothing is known of its key
        let has_key = target.as_ref().is_none_or(|(target, _)| !target.key.is_empty());
        if let (Some((target, _)), Some(field)) = (&target, root.take("guards"))
            && target.strategy.takes_changes()
        {
            let message = "`guards` are about rows that vanish or change, and changes name the rows that do";
            root.bad_value(&field, message, "remove the table; a limit for the number of changes is a check of rows");
        }
        let guards = guards_table::read(&mut root, has_key);
        let retry = limits_tables::retry(&mut root);
        let timeouts = limits_tables::timeouts(&mut root);
        let session = session_table::read(&mut root);
        let late_data = late_table::read(&mut root, &grain);
        root.all_not_built();
        root.finish();
        let definition = interval.zip(target).zip(sql_path).zip(late_data);
        let definition = definition.map(|(((interval, (target, table_span)), sql_path), late_data)| Self {
            name: name.to_owned(),
            file: file.to_owned(),
            description,
            owner,
            labels,
            sql_path,
            vars,
            paused,
            late_data,
            interval,
            target,
            checks,
            guards,
            retry,
            timeouts,
            session,
            table_span,
        });
        found.extend(definition.as_ref().and_then(Self::out_of_order));
        found.or(definition)
    }

    /// Changes without a version can only be applied in their order: nothing may be left for later or made again later.
    fn out_of_order(&self) -> Option<Diagnostic> {
        let in_order = self.target.strategy.takes_changes() && self.target.version.is_none();
        let key = if self.interval.catch_up != CatchUp::All {
            "interval.catch_up"
        } else if !self.late_data.revisits().is_empty() {
            "late_data.revisit"
        } else {
            return None;
        };
        in_order.then(|| {
            Diagnostic::error(
                ErrorCode::BadValue,
                &self.file,
                format!("`{key}`: changes without a version are applied in their order"),
            )
            .at(self.table_span.clone())
            .why("an older change would be applied over a newer one of the same key")
            .fix("target.version = \"…\"; or interval.catch_up = \"all\" and no revisits")
        })
    }

    /// The intervals, without start and end.
    pub fn schedule(&self) -> Schedule {
        self.interval.schedule()
    }

    /// When partitions are due.
    pub fn due_policy(&self) -> DuePolicy {
        DuePolicy {
            start: self.interval.start,
            end: self.interval.end,
            delay: self.interval.delay.as_std(),
            catch_up: self.interval.catch_up,
        }
    }

    /// All of it with its defaults, as the ledger keeps it.
    pub fn to_json(&self) -> Value {
        json!({
            "name": self.name,
            "description": self.description,
            "owner": self.owner,
            "labels": self.labels,
            "sql": self.sql_path,
            "vars": self.vars_json(),
            "paused": self.paused,
            "interval": self.interval_json(),
            "late_data": self.late_json(),
            "target": self.whole_target_json(),
            "checks": self.checks.iter().map(check_json).collect::<Vec<_>>(),
            "guards": self.guards.to_json(),
            "retry": {
                "attempts": self.retry.attempts,
                "budget": seconds(self.retry.budget.as_secs()),
                "first_delay": seconds(self.retry.first_delay.as_secs()),
                "max_delay": seconds(self.retry.max_delay.as_secs()),
                "on_timeout": self.retry.on_timeout,
            },
            "timeouts": {
                "stage": self.timeouts.stage.map(|time| time.to_string()),
                "checks": self.timeouts.checks.map(|time| time.to_string()),
                "lock": self.timeouts.lock.map(|time| time.to_string()),
                "publish": self.timeouts.publish.map(|time| time.to_string()),
            },
            "session": {
                "search_path": self.search_path_json(),
                "settings": self.session.settings,
            },
        })
    }

    pub(crate) fn vars_json(&self) -> Value {
        let typed = |value: &VarValue| json!({ "type": value.sql_type(), "value": value.to_json() });
        Value::Object(self.vars.iter().map(|(name, value)| (name.clone(), typed(value))).collect())
    }

    pub(crate) fn search_path_json(&self) -> Value {
        self.session.search_path.as_deref().map(names).into()
    }

    pub(crate) fn interval_json(&self) -> Value {
        let zone = &self.interval.zone;
        json!({
            "grain": self.interval.grain.to_string(),
            "time_zone": zone.name(),
            // of a whole table it is a year that no zone's calendar is written for
            "start": if self.interval.grain == Grain::Table {
                self.interval.start.to_string()
            } else {
                zone.rfc3339(self.interval.start)
            },
            "end": self.interval.end.map(|end| zone.rfc3339(end)),
            "delay": self.interval.delay.to_string(),
            "catch_up": match self.interval.catch_up {
                CatchUp::All => Value::from("all"),
                CatchUp::Newest(most) => Value::from(most),
            },
        })
    }

    fn late_json(&self) -> Value {
        json!({
            "revisit": self.late_data.revisits(),
            "final_after": self.late_data.final_after(),
            "close_after": self.late_data.close_after(),
        })
    }

    /// All of the table, as the ledger keeps it.
    fn whole_target_json(&self) -> Value {
        let mut json = self.target_json();
        json["keep_old_for"] = self.target.keep_old_for.to_string().into();
        json
    }

    /// What decides which rows are published.
    pub(crate) fn target_json(&self) -> Value {
        let target = &self.target;
        let mut json = json!({
            "table": target.table.to_string(),
            "strategy": target.strategy.as_str(),
            "rows": target.strategy.rows(),
            "interval_column": target.interval_column.as_ref().map(Identifier::as_str),
            "key": names(&target.key),
            "published_at": target.published_at.as_ref().map(Identifier::as_str),
            "stage": target.stage.as_str(),
            "allow_empty": target.allow_empty,
            "columns": target.columns.as_str(),
        });
        // not as null elsewhere: a hash of the code goes over it
        for (name, column) in [("version", &target.version), ("operation", &target.operation)] {
            if let Some(column) = column {
                json[name] = column.as_str().into();
            }
        }
        json
    }
}

fn names(identifiers: &[Identifier]) -> Vec<&str> {
    identifiers.iter().map(Identifier::as_str).collect()
}

fn seconds(seconds: u64) -> String {
    HumanDuration::from_seconds(seconds).to_string()
}

fn check_json(check: &Check) -> Value {
    json!({ "name": check.name, "severity": check.severity.as_str(), "rule": check.rule.to_json() })
}

/// A name that is a file name, an argument and a column of the ledger without quoting.
fn check_name(name: &str) -> Result<(), &'static str> {
    if name.is_empty() {
        return Err("it is empty");
    }
    if name.len() > 100 {
        return Err("it is longer than 100 bytes");
    }
    if !name.starts_with(|c: char| c.is_alphanumeric() || c == '_') {
        return Err("it begins like an option or a hidden file");
    }
    if !name.chars().all(|c| c.is_alphanumeric() || matches!(c, '_' | '-' | '.')) {
        return Err("it holds a character that needs quoting somewhere");
    }
    Ok(())
}

fn labels(root: &mut Reader<'_, '_>) -> BTreeMap<String, String> {
    let mut labels = BTreeMap::new();
    let Some(field) = root.take("labels") else { return labels };
    let Some(mut table) = root.inside(&field) else { return labels };
    for (name, field) in table.all() {
        if let Some(text) = table.text_of(&field) {
            labels.insert(name, text.to_owned());
        }
    }
    labels
}

fn vars(root: &mut Reader<'_, '_>) -> BTreeMap<String, VarValue> {
    let mut vars = BTreeMap::new();
    let Some(field) = root.take("vars") else { return vars };
    let Some(mut table) = root.inside(&field) else { return vars };
    for (name, field) in table.all() {
        let usable = name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
            && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
        if !usable || BUILT_IN.contains(&name.as_str()) {
            let why =
                if usable { "thrice gives this name its value" } else { "the query could not write it as `:name`" };
            let diagnostic = table
                .error(ErrorCode::BadValue, format!("`{}` cannot be the name of a value", field.path))
                .at(field.key_span.clone())
                .why(why)
                .fix("letters, digits and `_`, beginning with a letter");
            table.report(diagnostic);
            continue;
        }
        if let Some(value) = var(&mut table, &field) {
            vars.insert(name, value);
        }
    }
    vars
}

fn var(table: &mut Reader<'_, '_>, field: &Field<'_>) -> Option<VarValue> {
    let value = match field.value {
        DeValue::String(text) if text.contains('\0') => None,
        DeValue::String(text) => Some(VarValue::Text(text.to_string())),
        DeValue::Boolean(value) => Some(VarValue::Bool(*value)),
        DeValue::Integer(number) => i64::from_str_radix(number.as_str(), number.radix()).ok().map(VarValue::Integer),
        DeValue::Float(number) => number.as_str().parse().ok().map(VarValue::Float),
        DeValue::Datetime(time) => time_of(&time.to_string()),
        DeValue::Array(_) | DeValue::Table(_) => None,
    };
    if value.is_none() {
        let message = format!(
            "`{}` must be a string, a whole number of 64 bits, a number, true or false, a date, or a date with a time",
            field.path
        );
        table.bad_value(field, message, "write anything else as a string and cast it in the query: :name::interval");
    }
    value
}

/// A TOML date, local date-time or date-time with an offset; a time without a date is none of them.
fn time_of(written: &str) -> Option<VarValue> {
    if let Ok(at) = written.parse::<Timestamp>() {
        return Some(VarValue::Instant(to_microseconds(at)));
    }
    if written.len() == "2026-01-01".len() {
        return written.parse::<civil::Date>().ok().map(VarValue::Date);
    }
    let local: civil::DateTime = written.parse().ok()?;
    let whole = local.subsec_nanosecond() / 1000 * 1000;
    local.with().subsec_nanosecond(whole).build().ok().map(VarValue::LocalTime)
}

/// The query's path from the project folder.
fn sql_path(root: &mut Reader<'_, '_>, name: &str, file: &str) -> Option<String> {
    let folder = file.rsplit_once('/').map_or("", |(folder, _)| folder);
    let Some((written, field)) = root.string("sql") else {
        return (!root.has("sql")).then(|| inside_project(folder, &format!("{name}.sql")).unwrap_or_default());
    };
    let path = inside_project(folder, written);
    if path.is_none() {
        let diagnostic = root
            .error(ErrorCode::OutsideProject, format!("`sql` = {written:?} does not stay inside the project folder"))
            .at(field.span)
            .why("the query is part of the project: it is hashed, versioned and copied with it")
            .fix(format!("sql = \"{name}.sql\", beside this file"));
        root.report(diagnostic);
    }
    path
}

/// Joins and tidies a relative path; `None` where it is absolute, leads out, or is no file.
fn inside_project(folder: &str, written: &str) -> Option<String> {
    if written.is_empty() || written.starts_with('/') || written.ends_with('/') || written.contains(['\\', '\0', ':']) {
        return None;
    }
    let mut parts: Vec<&str> = folder.split('/').filter(|part| !part.is_empty() && *part != ".").collect();
    for part in written.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop()?;
            }
            part => parts.push(part),
        }
    }
    (!parts.is_empty()).then(|| parts.join("/"))
}
