//! The user's query: one SELECT, wrapped as a sub-select, so that the server itself is the gate.
//!
//! The wrapped text travels through the extended protocol as one statement. The server then refuses several
//! statements, a parenthesis that closes too early, data-modifying CTEs and `select into`. The line break before the
//! closing parenthesis keeps a trailing comment harmless.

use tokio_postgres::{Client, types::Type};
use tokio_util::sync::CancellationToken;

use crate::{
    error::PublishError,
    session::{Pins, Session, Timeouts, get, pin},
    steps::{Param, Steps},
    target::Target,
    value::SqlValue,
};

/// A query with its values. Placeholders are `$1`, `$2`, … in the order of `values`.
#[derive(Debug, Clone, PartialEq)]
pub struct UserQuery {
    text: String,
    values: Vec<SqlValue>,
}

/// One column that a query delivers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct QueryColumn {
    /// Its name as the server gave it; not always a name a table could have.
    pub name: String,
    /// Its type in the catalog of this database.
    pub type_oid: u32,
    /// Its type's name, without length and precision.
    pub type_name: String,
}

impl UserQuery {
    /// White space and semicolons at the very end are left out.
    pub fn new(text: impl Into<String>, values: Vec<SqlValue>) -> Self {
        let mut text: String = text.into();
        text.truncate(text.trim_end_matches(|c: char| c == ';' || c.is_whitespace()).len());
        Self { text, values }
    }

    /// The query without its wrapping.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The values of `$1`, `$2`, …
    pub fn values(&self) -> &[SqlValue] {
        &self.values
    }

    pub(crate) fn types(&self) -> Vec<Type> {
        self.values.iter().map(SqlValue::sql_type).collect()
    }

    pub(crate) fn params(&self) -> Vec<Param<'_>> {
        self.values.iter().map(SqlValue::param).collect()
    }

    /// `head`, then the query as the sub-select `q`. Errors inside point into the query through
    /// [`UserQuery::locate`].
    pub(crate) fn wrapped(&self, head: &str) -> String {
        format!("{head} from (\n{}\n) q", self.text)
    }

    /// Moves the position of an error from the wrapped text into the query.
    pub(crate) fn locate(&self, head: &str, error: PublishError) -> PublishError {
        error.inside(head.chars().count() + " from (\n".len(), self.text.chars().count())
    }
}

/// Asks the server what the query delivers, under the settings it will run with. Nothing is executed and no plan is
/// kept. The position of an error counts from the start of the query.
pub async fn describe(
    client: &mut Client,
    query: &UserQuery,
    session: &Session,
    timeouts: &Timeouts,
    stop: &CancellationToken,
) -> Result<Vec<QueryColumn>, PublishError> {
    let transaction = client
        .build_transaction()
        .read_only(true)
        .start()
        .await
        .map_err(|error| PublishError::driver("begin", error))?;
    let columns = {
        let mut steps = Steps::new(&transaction, stop);
        let pinned = pin(&steps, &Pins::query(session).and(Pins::timeouts(timeouts))).await?;
        steps.limit(pinned.statement_timeout());
        let head = "select *";
        let described = steps
            .describe("describe the query", &query.wrapped(head), &query.types())
            .await
            .map_err(|error| query.locate(head, error))?;
        described
            .columns()
            .iter()
            .map(|column| QueryColumn {
                name: column.name().to_owned(),
                type_oid: column.type_().oid(),
                type_name: column.type_().name().to_owned(),
            })
            .collect()
    };
    transaction.rollback().await.map_err(|error| PublishError::driver("end the reading transaction", error))?;
    Ok(columns)
}

/// Plans the query and says whether it reads the target, or a partition of it, also through views. Nothing is executed;
/// the server checks the privileges on everything that the query reads, which [`describe`] does not.
///
/// What the planner can leave out is not seen, and neither is what a function reads.
pub async fn reads_target(
    client: &mut Client,
    query: &UserQuery,
    target: &Target,
    session: &Session,
    timeouts: &Timeouts,
    stop: &CancellationToken,
) -> Result<bool, PublishError> {
    let transaction = client
        .build_transaction()
        .read_only(true)
        .start()
        .await
        .map_err(|error| PublishError::driver("begin", error))?;
    let reads = {
        let mut steps = Steps::new(&transaction, stop);
        let pinned = pin(&steps, &Pins::tool().and(Pins::timeouts(timeouts))).await?;
        steps.limit(pinned.statement_timeout());
        let tree = include_str!("../sql/relations_of.sql");
        let own = steps.rows("read the target's partitions", tree, &[(&target.oid as _, Type::OID)]).await?;
        let own: Vec<(String, String)> =
            own.iter().map(|row| Ok((get(row, 0)?, get(row, 1)?))).collect::<Result<_, PublishError>>()?;
        if let Some(own_path) = Pins::own_path(session) {
            steps.ask(own_path).await?;
        }
        pin(&steps, &Pins::query(session)).await?;
        let head = "explain (verbose, costs off, format json) select *";
        let plan = steps
            .row("plan the query", &query.wrapped(head), &query.params())
            .await
            .map_err(|error| query.locate(head, error))?;
        let plan: serde_json::Value = get(&plan, 0)?;
        scans(&plan).iter().any(|(schema, name)| own.iter().any(|(s, n)| s == schema && n == name))
    };
    transaction.rollback().await.map_err(|error| PublishError::driver("end the reading transaction", error))?;
    Ok(reads)
}

/// Schema and name of every relation that a plan scans.
fn scans(plan: &serde_json::Value) -> Vec<(&str, &str)> {
    let mut found = Vec::new();
    let mut open = vec![plan];
    while let Some(node) = open.pop() {
        if let (Some(schema), Some(name)) = (node["Schema"].as_str(), node["Relation Name"].as_str()) {
            found.push((schema, name));
        }
        open.extend(node.as_array().into_iter().flatten());
        open.extend(node.as_object().into_iter().flat_map(|object| object.values()));
    }
    found
}

#[cfg(test)]
mod tests {
    use super::UserQuery;

    #[test]
    fn semicolons_and_white_space_at_the_end_are_left_out() {
        assert_eq!(UserQuery::new("select 1 ;\n; \n", vec![]).text(), "select 1");
        assert_eq!(UserQuery::new("select ';'", vec![]).text(), "select ';'");
    }

    #[test]
    fn a_comment_at_the_end_cannot_swallow_the_wrapping() {
        let wrapped = UserQuery::new("select 1 -- all", vec![]).wrapped("select *");
        assert_eq!(wrapped, "select * from (\nselect 1 -- all\n) q");
    }
}
