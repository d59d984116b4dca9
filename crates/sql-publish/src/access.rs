//! What the role may not read of what a query reads: the server plans the query, and where it refuses, the catalog says
//! which grants are missing.

use thrice_core::code::ErrorCode;
use thrice_core::identifier::TableName;
use tokio_postgres::{Client, Row, types::Type};
use tokio_util::sync::CancellationToken;

use crate::{
    columns::identifier,
    error::PublishError,
    finding::Finding,
    query::UserQuery,
    session::{Pins, Session, Timeouts, get, pin},
    steps::Steps,
};

/// The server's code for a missing privilege.
const INSUFFICIENT_PRIVILEGE: &str = "42501";
const WHY: &str = "the query would fail as soon as it runs";

/// Plans the query as the role of this connection, without running it. Empty: it may read everything.
///
/// # Errors
/// Every error but a missing privilege.
pub async fn missing_grants(
    client: &mut Client,
    query: &UserQuery,
    session: &Session,
    timeouts: &Timeouts,
    stop: &CancellationToken,
) -> Result<Vec<Finding>, PublishError> {
    let Err(error) = plan(client, query, session, timeouts, stop).await else { return Ok(Vec::new()) };
    if error.sqlstate().is_none_or(|code| code.as_str() != INSUFFICIENT_PRIVILEGE) {
        return Err(error);
    }
    let transaction = begin(client).await?;
    let rows = {
        let mut steps = Steps::new(&transaction, stop);
        let pinned = pin(&steps, &Pins::query(session).and(Pins::timeouts(timeouts))).await?;
        steps.limit(pinned.statement_timeout());
        let text = query.text();
        steps
            .rows("look for missing grants", include_str!("../sql/unreadable.sql"), &[(&text as _, Type::TEXT)])
            .await?
    };
    end(transaction).await?;
    let mut findings = Vec::new();
    for row in &rows {
        findings.extend(Unreadable::of(row)?.finding(query.text())?);
    }
    if findings.is_empty() {
        // a function, or single columns of a table
        let fix = "grant the role what the message names";
        findings.push(Finding::error(ErrorCode::PrivilegeMissing, error.message(), WHY, fix));
    }
    Ok(findings)
}

async fn plan(
    client: &mut Client,
    query: &UserQuery,
    session: &Session,
    timeouts: &Timeouts,
    stop: &CancellationToken,
) -> Result<(), PublishError> {
    let transaction = begin(client).await?;
    {
        let mut steps = Steps::new(&transaction, stop);
        let pinned = pin(&steps, &Pins::query(session).and(Pins::timeouts(timeouts))).await?;
        steps.limit(pinned.statement_timeout());
        let head = "explain select *";
        steps
            .rows("plan the query", &query.wrapped(head), &query.params())
            .await
            .map_err(|error| query.locate(head, error))?;
    }
    end(transaction).await
}

async fn begin(client: &mut Client) -> Result<tokio_postgres::Transaction<'_>, PublishError> {
    let begun = client.build_transaction().read_only(true).start().await;
    begun.map_err(|error| PublishError::driver("begin", error))
}

async fn end(transaction: tokio_postgres::Transaction<'_>) -> Result<(), PublishError> {
    transaction.rollback().await.map_err(|error| PublishError::driver("end the reading transaction", error))
}

/// A relation whose name stands somewhere in the query.
struct Unreadable {
    schema: String,
    relation: String,
    may_use_schema: bool,
    may_select: bool,
    on_path: bool,
    role: String,
}

impl Unreadable {
    fn of(row: &Row) -> Result<Self, PublishError> {
        Ok(Self {
            schema: get(row, 0)?,
            relation: get(row, 1)?,
            may_use_schema: get(row, 2)?,
            may_select: get(row, 3)?,
            on_path: get(row, 4)?,
            role: get(row, 5)?,
        })
    }

    /// The grants, where the query really names the relation.
    fn finding(&self, query: &str) -> Result<Option<Finding>, PublishError> {
        if !names(query, &self.schema, &self.relation, self.on_path) {
            return Ok(None);
        }
        let table = TableName::new(identifier(&self.schema)?, identifier(&self.relation)?);
        let role = identifier(&self.role)?;
        let mut grants = Vec::new();
        if !self.may_use_schema {
            grants.push(format!("grant usage on schema {} to {role};", table.schema));
        }
        if !self.may_select {
            grants.push(format!("grant select on {table} to {role};"));
        }
        let what = format!("the role {} may not read {}, which the query names", self.role, table.readable());
        Ok(Some(Finding::error(ErrorCode::PrivilegeMissing, what, WHY, grants.join(" "))))
    }
}

/// Whether a query names a relation: behind its schema and a dot, or alone where the schema is on the search path.
fn names(query: &str, schema: &str, relation: &str, on_path: bool) -> bool {
    let query = query.to_lowercase().replace('"', "");
    let (schema, relation) = (schema.to_lowercase(), relation.to_lowercase());
    let in_name = |c: char| c.is_alphanumeric() || c == '_' || c == '$';
    query.match_indices(&relation).any(|(at, _)| {
        let (before, after) =
            (query.get(..at).unwrap_or_default(), query.get(at + relation.len()..).unwrap_or_default());
        if after.starts_with(in_name) || before.ends_with(in_name) {
            return false;
        }
        match before.trim_end().strip_suffix('.') {
            None => on_path,
            Some(qualifier) => {
                let qualifier = qualifier.trim_end();
                qualifier.strip_suffix(schema.as_str()).is_some_and(|rest| !rest.ends_with(in_name))
            }
        }
    })
}

#[cfg(test)]
mod tests {
    use super::names;

    #[test]
    fn a_name_counts_behind_its_schema_or_alone_on_the_path() {
        assert!(names("select 1 from ods.orders o", "ods", "orders", false));
        assert!(names("select 1 from \"ods\" . \"Orders\"", "ods", "Orders", false));
        assert!(names("select 1 from orders", "ods", "orders", true));
        assert!(!names("select 1 from orders", "ods", "orders", false));
        assert!(!names("select 1 from mods.orders", "ods", "orders", true));
        assert!(!names("select 1 from ods.orders_old, reorders", "ods", "orders", true));
    }
}
