//! Shows findings the way a person would read them, for snapshots.

use std::fmt::Write as _;

use thrice_pipeline::diagnostic::Position;
use thrice_pipeline::{Definition, Diagnostic, Diagnostics, Project};

/// Findings with place, underlined text, why and fix.
pub(crate) fn show(found: &Diagnostics, text: &str) -> String {
    let mut out = String::new();
    for finding in found {
        one(&mut out, finding, text);
    }
    out
}

fn one(out: &mut String, finding: &Diagnostic, text: &str) {
    writeln!(out, "{finding}").unwrap();
    if let Some(span) = &finding.span {
        let place = Position::of(text, span.start);
        let shown = if finding.hide_source {
            "(not shown)".to_owned()
        } else {
            let mut shown = text[span.clone()].replace('\n', "⏎").replace('\r', "␍");
            if shown.chars().count() > 60 {
                shown = shown.chars().take(60).chain("…".chars()).collect();
            }
            format!("⟦{shown}⟧")
        };
        writeln!(out, "  {place} {shown} {}", finding.label).unwrap();
    }
    if let Some(other) = &finding.other {
        writeln!(out, "  also {} {}", Position::of(text, other.span.start), other.label).unwrap();
    }
    for (word, line) in [("why", &finding.why), ("fix", &finding.fix)] {
        if !line.is_empty() {
            writeln!(out, "  {word}: {line}").unwrap();
        }
    }
}

/// A project in Seoul.
pub(crate) fn project() -> Project {
    Project::read("thrice.toml", b"[project]\nname = \"shop\"\ntime_zone = \"Asia/Seoul\"\n").unwrap().value
}

/// The smallest pipeline, with other lines put in for the ones given.
pub(crate) fn pipeline_toml(top: &str, interval: &str, target: &str, rest: &str) -> String {
    let interval = if interval.is_empty() { "grain = \"day\"\nstart = \"2026-01-01\"" } else { interval };
    let target = if target.is_empty() { "table = \"mart.sales\"\ninterval_column = \"day\"" } else { target };
    format!("{top}\n[interval]\n{interval}\n[target]\n{target}\n{rest}\n")
}

/// What is said about a pipeline file; the empty string where nothing is.
pub(crate) fn read(toml: &str) -> String {
    match Definition::read(&project(), "sales", "pipelines/sales.toml", toml.as_bytes()) {
        Ok(checked) => show(&checked.warnings, toml),
        Err(found) => {
            assert!(found.has_errors());
            show(&found, toml)
        }
    }
}
