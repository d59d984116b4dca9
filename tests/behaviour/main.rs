//! What thrice does, through its real binary, on a real server.
//!
//! `cases` holds one test for each known bug of other tools; the other files hold one promise each.

mod cases;
mod changes;
mod checks;
mod cron;
mod diff;
mod due;
mod guard_limits;
mod guards;
mod late;
mod reconcile;
mod recut;
mod rerun;
mod retry;
mod rollback;
mod row_change;
mod server_gone;
mod server_time;
mod swap;
mod whole_table;
mod zone_rules;

use thrice_tests::PipelineText;

/// A pipeline with `grain = "day"`; `more` are further lines of TOML, which may open tables.
fn daily(name: &str, start: &str, target: &str, column: &str, more: &str, sql: &str) -> PipelineText {
    of_grain("day", name, start, target, column, more, sql)
}

/// A pipeline with `grain = "hour"`.
fn hourly(name: &str, start: &str, target: &str, column: &str, more: &str, sql: &str) -> PipelineText {
    of_grain("hour", name, start, target, column, more, sql)
}

fn of_grain(grain: &str, name: &str, start: &str, target: &str, column: &str, more: &str, sql: &str) -> PipelineText {
    let toml = format!(
        "[interval]\ngrain = \"{grain}\"\nstart = \"{start}\"\ncatch_up = \"all\"\n\n\
         [target]\ntable = '''{target}'''\ninterval_column = '''{column}'''\n{more}"
    );
    PipelineText::new(name, &toml, sql)
}
