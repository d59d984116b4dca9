//! How this call speaks and logs, and for whom it acts.

use super::Setting;
use crate::args::{ColorWhen, Global, LogFormat};

pub(super) fn settings(global: &Global) -> Vec<Setting> {
    vec![colour(global), log_format(global), log_filter(global), actor(global)]
}

fn colour(global: &Global) -> Setting {
    let variable = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
    let (value, origin) = match global.color {
        ColorWhen::Always => ("always", "flag --color"),
        ColorWhen::Never => ("never", "flag --color"),
        ColorWhen::Auto if variable("NO_COLOR").is_some() => ("never", "environment variable NO_COLOR"),
        ColorWhen::Auto if variable("TERM").is_some_and(|term| term == "dumb") => {
            ("never", "environment variable TERM")
        }
        ColorWhen::Auto => ("auto: on a terminal", flag_or_default("--color")),
    };
    Setting::new("color", value, origin)
}

fn log_format(global: &Global) -> Setting {
    let value = match global.log_format {
        LogFormat::Text => "text",
        LogFormat::Json => "json",
    };
    Setting::new("log.format", value, flag_or_default("--log-format"))
}

fn log_filter(global: &Global) -> Setting {
    match std::env::var("THRICE_LOG") {
        Ok(filter) => Setting::new("log.filter", filter, "environment variable THRICE_LOG"),
        Err(_) if global.quiet => Setting::new("log.filter", "errors", "flag -q"),
        Err(_) if global.verbose > 1 => Setting::new("log.filter", "debug", "flag -vv"),
        Err(_) if global.verbose == 1 => Setting::new("log.filter", "info", "flag -v"),
        Err(_) => Setting::new("log.filter", "off", "default"),
    }
}

fn actor(global: &Global) -> Setting {
    match &global.on_behalf_of {
        Some(name) if was_given("--on-behalf-of") => Setting::new("actor", name.clone(), "flag --on-behalf-of"),
        Some(name) => Setting::new("actor", name.clone(), "environment variable THRICE_ACTOR"),
        None => Setting::new("actor", "none", "default"),
    }
}

fn flag_or_default(flag: &'static str) -> &'static str {
    match flag {
        "--color" if was_given(flag) => "flag --color",
        "--log-format" if was_given(flag) => "flag --log-format",
        _ => "default",
    }
}

/// Whether a flag was typed; its value alone does not tell where it equals the default.
fn was_given(flag: &str) -> bool {
    std::env::args().any(|word| word.strip_prefix(flag).is_some_and(|rest| rest.is_empty() || rest.starts_with('=')))
}
