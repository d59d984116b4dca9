//! Checks of phase *source*: asked where the rows are staged, in the same snapshot.

use thrice_checks::{CheckResult, Figures, Reconciliation};
use thrice_core::code::ErrorCode;
use thrice_core::identifier::TableName;
use thrice_core::schedule::Partition;
use thrice_sql_publish::{PublishError, Statement};
use tokio_postgres::Row;
use tokio_postgres::types::Type;

use crate::failure::Failing;
use crate::report::Problem;

const RECONCILE: &str = "reconcile the rows with their source";

/// What one check asks.
pub(crate) fn question(check: &Reconciliation, staged: &TableName, partition: &Partition) -> Statement {
    let statement = Statement::new(RECONCILE, check.statement(staged));
    if check.takes_interval() {
        let interval = &partition.interval;
        statement.bind(interval.start(), Type::TIMESTAMPTZ).bind(interval.end(), Type::TIMESTAMPTZ)
    } else {
        statement
    }
}

/// What the answers mean.
pub(crate) fn judge(checks: &[Reconciliation], answers: &[Row]) -> Result<Vec<CheckResult>, Box<Failing>> {
    checks.iter().zip(answers).map(|(check, answer)| Ok(check.judge(&figures(answer)?))).collect()
}

fn figures(row: &Row) -> Result<Figures, Box<Failing>> {
    let read = || -> Result<Figures, tokio_postgres::Error> {
        Ok(Figures {
            ours: row.try_get(0)?,
            theirs: row.try_get(1)?,
            difference: row.try_get(2)?,
            agree: row.try_get(3)?,
        })
    };
    read().map_err(|error| Failing::problem(Problem::new(ErrorCode::Bug, format!("{RECONCILE}: {error}"))))
}

/// An error of staging: of a check, that is named, or of the query.
pub(crate) fn failing(error: PublishError, checks: &[Reconciliation]) -> Box<Failing> {
    let check = error.question().and_then(|nth| checks.get(nth));
    let Some(check) = check.filter(|_| error.sqlstate().is_some()) else { return Failing::of_query(error) };
    let what = format!("the check {} cannot be evaluated: {}", check.name, error.message());
    let mut failing = Failing::of_query(error);
    failing.problem.what = what;
    failing.problem.fix = Some("correct `ours` and `theirs` of the check: each gives one number".to_owned());
    failing
}
