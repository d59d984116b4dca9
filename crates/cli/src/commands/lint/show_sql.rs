//! `thrice lint --show-sql`: the statement that a pipeline's checks become, without a database.

use serde_json::{Value, json};
use thrice_checks::{Check, Compiled, Rule, Subject, compile};
use thrice_core::column_bounds::ColumnBounds;
use thrice_core::identifier::{Identifier, TableName};
use thrice_core::text::printable;
use thrice_core::time::Timestamp;
use thrice_runner::Job;

/// One pipeline's checks.
pub(super) struct ChecksSql<'a> {
    job: &'a Job,
    compiled: Compiled,
    table: TableName,
}

impl<'a> ChecksSql<'a> {
    /// `None` where the stand-in for the staging table's name cannot be made.
    pub(super) fn of(job: &'a Job) -> Option<Self> {
        let (schema, table) = (Identifier::new("thrice_staging").ok()?, Identifier::new("s_…").ok()?);
        // only the types of the values depend on the bounds, and no value is sent
        let (start, end) = (Timestamp::UNIX_EPOCH, Timestamp::UNIX_EPOCH);
        let subject = Subject {
            table: TableName::new(schema, table),
            interval_column: job.interval_column.clone(),
            bounds: ColumnBounds::Instants { start, end },
            start,
            end,
            key: job.key.clone(),
        };
        let mut checks = Check::always(&subject, job.allow_empty);
        checks.extend(job.checks.iter().cloned());
        Some(Self { job, compiled: compile(&checks, &subject), table: subject.table })
    }

    /// What its columns and values are, then the statement, ready for psql once the values are put in.
    pub(super) fn lines(&self) -> Vec<String> {
        let mut lines = vec![format!("-- {}: checks of the staged rows, in one statement", self.job.name)];
        let column = self.job.interval_column.as_ref().map(Identifier::readable);
        let values = column.and_then(|column| match self.compiled.types().len() {
            0 => None,
            2 => Some(format!("-- $1, $2: the interval as {column} has it")),
            _ => Some(format!(
                "-- $1, $2: the interval as {column} has it; $3, $4: its first instant, and the first one after it"
            )),
        });
        lines.extend(values.map(|line| printable(&line)));
        for (nth, check) in self.compiled.checks().iter().enumerate() {
            let warns = if check.severity == thrice_checks::Severity::Warn { " (warn)" } else { "" };
            let what = wanted(&check.rule);
            lines.push(printable(&format!("-- c{}: {}{warns}: {what}", nth + 1, check.name)));
        }
        lines.extend(self.compiled.sql().lines().map(ToOwned::to_owned));
        lines.push(";".to_owned());
        for check in &self.job.reconciliations {
            let warns = if check.severity == thrice_checks::Severity::Warn { " (warn)" } else { "" };
            let head = format!("-- {}{warns}: in the snapshot of the query, once the rows are staged", check.name);
            lines.push(printable(&head));
            if check.takes_interval() {
                lines.push("-- $1, $2: first instant of the interval, and the first one after it".to_owned());
            }
            lines.extend(check.statement(&self.table).lines().map(ToOwned::to_owned));
            lines.push(";".to_owned());
        }
        lines
    }

    pub(super) fn json(&self) -> Value {
        let checks: Vec<&str> = self.compiled.checks().iter().map(|check| check.name.as_str()).collect();
        let source: Value = self
            .job
            .reconciliations
            .iter()
            .map(|check| json!({ "check": check.name, "sql": check.statement(&self.table) }))
            .collect();
        json!({ "pipeline": self.job.name, "checks": checks, "sql": self.compiled.sql(), "source": source })
    }
}

/// What the figure is.
const fn wanted(rule: &Rule) -> &'static str {
    match rule {
        Rule::Rows { .. } | Rule::NotEmpty => "the number of rows",
        Rule::Distinct { .. } => "the number of different values",
        Rule::Freshness { .. } => "seconds",
        Rule::Query(_) => "rows that it finds",
        Rule::NullRate { .. } => "nulls",
        Rule::NotNull(_)
        | Rule::Unique(_)
        | Rule::Expression(_)
        | Rule::Range { .. }
        | Rule::AcceptedValues { .. }
        | Rule::Matches { .. }
        | Rule::References { .. }
        | Rule::InsideInterval
        | Rule::KeyNotNull
        | Rule::KeyUnique => "rows that break it",
    }
}
