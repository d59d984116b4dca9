//! `[guards]`: how much of what is published one publish may take away or change.

use serde_json::{Value, json};
use thrice_core::text::did_you_mean;
use toml::de::DeValue;

use crate::check_values::Percent;
use crate::toml_reader::{Field, Reader};

/// The limits; those that the file does not say have their defaults.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Guards {
    /// Of the published keys, so many may vanish.
    pub removed: GuardLimit,
    /// Of the published rows, there may be so many fewer.
    pub shrink: GuardLimit,
    /// Of the published keys, so many may get another row. `None`: all of them.
    pub changed: Option<GuardLimit>,
}

/// One limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GuardLimit {
    /// At most so much of what is published.
    pub max: Percent,
    /// What becomes of a publish beyond it.
    pub on_violation: OnViolation,
}

/// What a guard does where its limit is passed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OnViolation {
    /// Nothing is published.
    Refuse,
    /// It is recorded.
    Warn,
}

impl OnViolation {
    /// The word of the file.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Refuse => "refuse",
            Self::Warn => "warn",
        }
    }
}

const HALF: GuardLimit = GuardLimit { max: Percent::HALF, on_violation: OnViolation::Refuse };

impl Default for Guards {
    fn default() -> Self {
        Self { removed: HALF, shrink: HALF, changed: None }
    }
}

impl Guards {
    /// As the file has it, in its shortest form.
    pub(crate) fn to_json(self) -> Value {
        json!({
            "removed": self.removed.to_json(),
            "shrink": self.shrink.to_json(),
            "changed": self.changed.map(GuardLimit::to_json),
        })
    }
}

impl GuardLimit {
    fn to_json(self) -> Value {
        let max = self.max.to_string();
        match self.on_violation {
            OnViolation::Refuse => max.into(),
            OnViolation::Warn => json!({ "max": max, "on_violation": self.on_violation.as_str() }),
        }
    }
}

/// `has_key`: the target has columns that tell rows apart.
pub(crate) fn read(root: &mut Reader<'_, '_>, has_key: bool) -> Guards {
    let mut guards = Guards::default();
    let Some(field) = root.take("guards") else { return guards };
    let Some(mut table) = root.inside(&field) else { return guards };
    if let Some(shrink) = limit(&mut table, "shrink") {
        guards.shrink = shrink;
    }
    for (name, place) in
        [("removed", Place::Limit(&mut guards.removed)), ("changed", Place::Perhaps(&mut guards.changed))]
    {
        if !has_key && let Some(field) = table.take(name) {
            let message = format!("`{}` counts keys, and the target has none", field.path);
            table.bad_value(
                &field,
                message,
                "key = [\"…\"] under [target]: the columns that tell rows apart; or shrink = \"50%\"",
            );
        } else if let Some(limit) = limit(&mut table, name) {
            place.set(limit);
        }
    }
    table.finish();
    guards
}

enum Place<'g> {
    Limit(&'g mut GuardLimit),
    Perhaps(&'g mut Option<GuardLimit>),
}

impl Place<'_> {
    const fn set(self, limit: GuardLimit) {
        match self {
            Self::Limit(place) => *place = limit,
            Self::Perhaps(place) => *place = Some(limit),
        }
    }
}

/// `"50%"`, or `{ max = "50%", on_violation = "warn" }`.
fn limit(table: &mut Reader<'_, '_>, name: &'static str) -> Option<GuardLimit> {
    let field = table.take(name)?;
    let example = format!("{name} = {{ max = \"50%\", on_violation = \"warn\" }}");
    if !matches!(field.value, DeValue::Table(_)) {
        let max = Percent::read(table, &field, &format!("{name} = \"50%\", or {example}"))?;
        return Some(GuardLimit { max, on_violation: OnViolation::Refuse });
    }
    let mut inside = table.inside(&field)?;
    let max = inside.take("max");
    if max.is_none() {
        inside.missing("max", &example);
    }
    let max = max.and_then(|max| Percent::read(&mut inside, &max, "max = \"50%\""));
    let on_violation = on_violation(&mut inside);
    inside.finish();
    Some(GuardLimit { max: max?, on_violation: on_violation? })
}

fn on_violation(reader: &mut Reader<'_, '_>) -> Option<OnViolation> {
    match reader.string("on_violation") {
        None | Some(("refuse", _)) => Some(OnViolation::Refuse),
        Some(("warn", _)) => Some(OnViolation::Warn),
        Some((other, field)) => {
            unknown_word(reader, other, &field);
            None
        }
    }
}

fn unknown_word(reader: &mut Reader<'_, '_>, word: &str, field: &Field<'_>) {
    let nearest = match word {
        "error" | "fail" | "block" | "stop" => "refuse",
        "warning" | "record" | "allow" | "ignore" => "warn",
        _ => did_you_mean(word, ["refuse", "warn"]).unwrap_or("refuse"),
    };
    let message = format!("`{}` is {word:?}: a guard refuses, or warns", field.path);
    reader.bad_value(field, message, format!("on_violation = \"{nearest}\""));
}
