//! Checks before a run: each is planned against the target, whose columns the staged rows will have. Nothing is executed.

use thrice_checks::{Check, Subject, compile};
use thrice_core::column_bounds::ColumnBounds;
use thrice_core::schedule::Partition;
use thrice_sql_publish::query::UserQuery;
use thrice_sql_publish::target::Target;
use thrice_sql_publish::value::SqlValue;
use thrice_sql_publish::{CancellationToken, Finding, PublishError, access};

use crate::job::Job;
use crate::prepare::{Examiner, NotPrepared};
use crate::problem;
use crate::report::Problem;

impl Examiner {
    /// What the checks of a pipeline lack that was examined: grants on the tables that they read. `sample` is its first
    /// partition.
    ///
    /// # Errors
    /// [`NotPrepared`]: a check cannot be planned, and is named.
    pub async fn examine_checks(
        &mut self,
        job: &Job,
        sample: &Partition,
        target: &Target,
        stop: &CancellationToken,
    ) -> Result<Vec<Finding>, NotPrepared> {
        let bounds = ColumnBounds::of(sample, job.schedule.zone(), job.schedule.grain(), target.interval_column_type())
            .map_err(|error| problem::of_bounds(&error, job))?;
        let interval = [SqlValue::Instant(sample.interval.start()), SqlValue::Instant(sample.interval.end())];
        let mut asked: Vec<(&str, UserQuery)> = Vec::new();
        let subject = Subject {
            table: target.table.clone(),
            interval_column: job.interval_column.clone(),
            bounds,
            start: sample.interval.start(),
            end: sample.interval.end(),
            key: job.key.clone(),
        };
        for check in &job.checks {
            asked.push((&check.name, planned(check, &subject, &interval)));
        }
        for check in &job.reconciliations {
            let values = if check.takes_interval() { interval.to_vec() } else { Vec::new() };
            asked.push((&check.name, UserQuery::new(check.statement(&target.table), values)));
        }
        let timeouts = job.limits.checking();
        let data = self.connection().await?;
        let mut findings: Vec<Finding> = Vec::new();
        for (name, query) in asked {
            let missing = access::missing_grants(&mut data.client, &query, &job.session, &timeouts, stop).await;
            for finding in missing.map_err(|error| not_planned(name, &error))? {
                if !findings.contains(&finding) {
                    findings.push(finding);
                }
            }
        }
        Ok(findings)
    }
}

/// The statement of one check, with the values that it takes.
fn planned(check: &Check, subject: &Subject, interval: &[SqlValue; 2]) -> UserQuery {
    let compiled = compile(std::slice::from_ref(check), subject);
    let bounds = match subject.bounds {
        ColumnBounds::Dates { start, end } => [SqlValue::Date(start), SqlValue::Date(end)],
        ColumnBounds::LocalTimes { start, end } => [SqlValue::LocalTime(start), SqlValue::LocalTime(end)],
        ColumnBounds::Instants { start, end } => [SqlValue::Instant(start), SqlValue::Instant(end)],
        ColumnBounds::WholeTable => interval.clone(),
    };
    let values = bounds.into_iter().chain(interval.iter().cloned()).take(compiled.types().len()).collect();
    UserQuery::new(compiled.sql(), values)
}

fn not_planned(name: &str, error: &PublishError) -> Problem {
    let mut problem = problem::of_publish(error);
    if error.sqlstate().is_some() {
        problem.what = format!("the check {name} cannot be evaluated: {}", error.message());
        problem.fix = Some("correct the check; `thrice lint --show-sql` prints what it becomes".to_owned());
    }
    problem
}
