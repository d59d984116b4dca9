//! `thrice config`: each setting with its value and, with `--explain`, the place that it comes from. Starts no server and
//! connects to none; no secret is printed.

mod call;
mod pipeline;
mod project;
mod reach;

use serde_json::{Value, json};
use unicode_width::UnicodeWidthStr;

use crate::args::{Config, Global};
use crate::exit_code::Exit;
use crate::fault::{Fault, Outcome};
use crate::output::Output;
use crate::project::Project;

/// A longer value moves its origin to the right, not everybody's.
const WIDEST: usize = 40;

/// One setting.
struct Setting {
    name: String,
    value: String,
    origin: String,
}

impl Setting {
    fn new(name: impl Into<String>, value: impl Into<String>, origin: impl Into<String>) -> Self {
        Self { name: name.into(), value: value.into(), origin: origin.into() }
    }

    fn json(&self) -> Value {
        json!({ "name": self.name, "value": self.value, "origin": self.origin })
    }
}

pub(crate) fn run(global: &Global, args: &Config, output: Output) -> Outcome<Exit> {
    let project = match &args.pipeline {
        Some(_) => Some(Project::load(&global.dir)?),
        None => Project::find(&global.dir)?,
    };
    let (mut settings, wrong) = reach::settings(global, project.as_ref());
    if let Some(project) = &project {
        settings.extend(project::settings(project));
    }
    settings.extend(call::settings(global));
    if let (Some(project), Some(name)) = (&project, &args.pipeline) {
        settings.extend(pipeline::settings(project, project.pipeline(name)?)?);
    }
    output.lines(lines(&settings, args.explain));
    if let Some(failed) = &wrong {
        for fault in &failed.0 {
            output.fault(fault);
        }
    }
    let exit = wrong.as_ref().map_or(Exit::Ok, crate::fault::Failed::exit);
    output.object(json!({
        "schema": "thrice.config/1",
        "settings": settings.iter().map(Setting::json).collect::<Vec<_>>(),
        "errors": wrong.iter().flat_map(|failed| failed.0.iter().map(Fault::json)).collect::<Vec<_>>(),
        "exit": exit.number(),
    }));
    Ok(exit)
}

fn lines(settings: &[Setting], explain: bool) -> Vec<String> {
    let widest = |width: fn(&Setting) -> usize| settings.iter().map(width).max().unwrap_or_default();
    let names = widest(|setting| setting.name.width());
    let values = widest(|setting| setting.value.width()).min(WIDEST);
    let pad = |text: &str, to: usize| " ".repeat(to.saturating_sub(text.width()));
    settings
        .iter()
        .map(|Setting { name, value, origin }| {
            let head = format!("{name}{}  {value}", pad(name, names));
            if explain { format!("{head}{}  from {origin}", pad(value, values)) } else { head }
        })
        .collect()
}
