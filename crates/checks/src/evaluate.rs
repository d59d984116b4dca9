//! Evaluates compiled checks on a connection whose transaction the caller has begun, with zone, search path and limits.

use futures_util::future::try_join;
use serde_json::Value;
use thrice_core::sqlstate::SqlState;
use tokio_postgres::{Client, Statement, error::Severity, types::ToSql};

use crate::{
    compile::{self, Compiled},
    literal::literal,
    rule::{Check, Rule},
    verdict::{Verdict, judge},
};

/// The checks could not be evaluated.
#[derive(Debug, thiserror::Error)]
pub enum CheckError {
    /// What one check says is not valid, does not fit the columns, or fails on the staged rows.
    #[error("the check {name} cannot be evaluated: {}", said(.source))]
    Check {
        /// The check's name.
        name: String,
        /// Place in the text of an expression, in characters from 1, where the server named one.
        position: Option<usize>,
        /// What the server said.
        source: tokio_postgres::Error,
    },
    /// The server or the connection failed for another reason.
    #[error("the checks cannot be evaluated: {}", said(.0))]
    Database(#[source] tokio_postgres::Error),
}

impl CheckError {
    /// The server's code.
    pub fn sqlstate(&self) -> Option<SqlState> {
        SqlState::parse(self.driver().code()?.code())
    }

    /// The connection is gone.
    pub fn is_connection_lost(&self) -> bool {
        let driver = self.driver();
        driver.is_closed()
            || driver
                .as_db_error()
                .is_none_or(|db| matches!(db.parsed_severity(), Some(Severity::Fatal | Severity::Panic)))
    }

    fn driver(&self) -> &tokio_postgres::Error {
        match self {
            Self::Check { source, .. } | Self::Database(source) => source,
        }
    }
}

/// What the server said, without the values of rows: class 22 puts them between quotes.
fn said(error: &tokio_postgres::Error) -> String {
    let Some(db) = error.as_db_error() else { return "the connection to the server failed".to_owned() };
    let message = db.message();
    if db.routine() == Some("exec_stmt_raise") {
        return "a function raised an error; its text can hold row values and is not kept".to_owned();
    }
    if !db.code().code().starts_with("22") {
        return message.to_owned();
    }
    match message.find(['"', '\'', '«', '»', '„', '“', '”', '‘', '’', '`', '「', '『']) {
        Some(at) => format!("{}…", message.get(..at).unwrap_or_default()),
        None => message.to_owned(),
    }
}

/// Evaluates the checks in one pass. `prepared` is the statement of `compiled` where the caller has prepared it on this
/// connection.
///
/// Where the server refuses the statement, each check that somebody wrote is tried alone behind a savepoint, and the first
/// one that fails is named. The transaction stays usable after [`CheckError::Check`].
pub async fn run(client: &Client, compiled: &Compiled, prepared: Option<&Statement>) -> Result<Verdict, CheckError> {
    match figures(client, compiled, prepared).await {
        Ok((figures, rows)) => {
            let judge = |(check, observed)| judge(check, observed, rows, &compiled.usual);
            Ok(Verdict { results: compiled.checks.iter().zip(figures).map(judge).collect() })
        }
        Err(error) if error.as_db_error().is_some() && compiled.checks.len() > 1 => {
            Err(name_the_culprit(client, compiled, error).await)
        }
        Err(error) => Err(blame(compiled.checks.first(), error)),
    }
}

/// The figures, and the number of rows.
async fn figures(
    client: &Client,
    compiled: &Compiled,
    prepared: Option<&Statement>,
) -> Result<(Vec<Option<i64>>, i64), tokio_postgres::Error> {
    let params = compiled.values();
    // two messages in one flight, in this order; where the checks pass, the savepoint ends with the transaction
    let question = async {
        match prepared {
            Some(statement) => {
                let values: Vec<&(dyn ToSql + Sync)> = params.iter().map(|(value, _)| *value).collect();
                client.query_one(statement, &values).await
            }
            None => client.query_typed_one(&compiled.sql, &params).await,
        }
    };
    let asked = try_join(client.batch_execute("savepoint thrice_checks"), question);
    match asked.await {
        Ok(((), row)) => {
            let last = compiled.checks.len();
            let figures = (0..last).map(|index| row.try_get(index)).collect::<Result<_, _>>()?;
            Ok((figures, row.try_get(last)?))
        }
        Err(error) => {
            if error.as_db_error().is_some() {
                client.batch_execute("rollback to savepoint thrice_checks; release savepoint thrice_checks").await?;
            }
            Err(error)
        }
    }
}

async fn name_the_culprit(client: &Client, compiled: &Compiled, error: tokio_postgres::Error) -> CheckError {
    for check in compiled.checks.iter().filter(|check| check.rule.is_written()) {
        let alone = compile::compile(std::slice::from_ref(check), &compiled.subject);
        match figures(client, &alone, None).await {
            Ok(_) => {}
            Err(own) if own.as_db_error().is_some() => return blame(Some(check), own),
            Err(lost) => return CheckError::Database(lost),
        }
    }
    CheckError::Database(error)
}

fn blame(check: Option<&Check>, source: tokio_postgres::Error) -> CheckError {
    let about_the_query = source
        .code()
        .is_some_and(|code| matches!(code.code().get(..2), Some("22" | "42" | "0A" | "P0" | "21" | "38" | "39")));
    match check {
        Some(Check { name, rule, .. }) if about_the_query && rule.is_written() => {
            let position = if let Rule::Expression(text) = rule { place(&source, text) } else { None };
            CheckError::Check { name: name.clone(), position, source }
        }
        _ => CheckError::Database(source),
    }
}

/// The expression stands behind a fixed head in the statement of a single check.
fn place(error: &tokio_postgres::Error, text: &str) -> Option<usize> {
    const HEAD: &str = "select pg_catalog.count(*) filter (where (\n";
    let at = match error.as_db_error()?.position()? {
        tokio_postgres::error::ErrorPosition::Original(at) => usize::try_from(*at).ok()?,
        tokio_postgres::error::ErrorPosition::Internal { .. } => return None,
    };
    let at = at.checked_sub(HEAD.chars().count()).filter(|at| *at > 0)?;
    Some(at.min(text.chars().count() + 1))
}

/// Up to `most` keys of rows that break the check, each as an object of column and text. For a person who asked to see
/// data: the result holds values of rows and is never part of a [`Verdict`].
///
/// Empty for rules that are not about single rows, and where there is no key.
pub async fn sample_keys(
    client: &Client,
    compiled: &Compiled,
    check: &Check,
    most: u8,
) -> Result<Vec<Value>, CheckError> {
    let subject = &compiled.subject;
    if subject.key.is_empty() || !compile::is_about_single_rows(&check.rule) {
        return Ok(Vec::new());
    }
    let pairs: Vec<String> =
        subject.key.iter().map(|column| format!("{}, {column}::pg_catalog.text", literal(column.as_str()))).collect();
    let sql = format!(
        "select pg_catalog.json_build_object({}) from {} as staged where {} order by {} limit {most}",
        pairs.join(", "),
        subject.table,
        compile::broken(&check.rule, subject),
        compile::list(&subject.key),
    );
    let params = compile::values(std::slice::from_ref(check), subject);
    let rows = client.query_typed(&sql, &params).await.map_err(|error| blame(Some(check), error))?;
    rows.iter().map(|row| row.try_get(0).map_err(CheckError::Database)).collect()
}
