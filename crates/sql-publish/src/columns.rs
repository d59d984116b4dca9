//! Query and target side by side: columns are matched by name, never by place, and drift is refused before work.

use std::collections::BTreeSet;

use thrice_core::{
    code::ErrorCode,
    identifier::{Identifier, TableName},
    text::did_you_mean,
};
use tokio_postgres::Client;
use tokio_util::sync::CancellationToken;

use crate::{
    error::{ErrorKind, PublishError},
    finding::Finding,
    query::QueryColumn,
    session::{Pins, Timeouts, pin},
    steps::Steps,
    target::{Target, TargetColumn, ValueSource},
};

/// Which columns of the target the query must deliver.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ColumnsPolicy {
    /// Every column that nobody else fills (identity, generated, `published_at`).
    Exact,
    /// Columns that may be null or have a default may be left out.
    AllowExtraTarget,
}

/// The columns that a publish writes: what query and target have in common, in the target's declared order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ColumnMap {
    columns: Vec<Identifier>,
}

impl ColumnMap {
    /// The columns that are staged, checked, checksummed and written.
    pub fn columns(&self) -> &[Identifier] {
        &self.columns
    }

    /// A map of columns that the caller knows to fit, for rows that did not come from a query. They must be in the
    /// order the target declares them in.
    pub fn of(columns: Vec<Identifier>) -> Self {
        Self { columns }
    }

    /// The columns as a list in SQL, each behind `prefix`.
    pub(crate) fn list(&self, prefix: &str) -> String {
        let columns: Vec<String> = self.columns.iter().map(|column| format!("{prefix}{column}")).collect();
        columns.join(", ")
    }
}

/// Matches what the query delivers with what the target has, by name.
///
/// Pure. Whether the types fit is asked of the server by [`check_assignable`].
pub fn match_columns(target: &Target, query: &[QueryColumn], policy: ColumnsPolicy) -> Result<ColumnMap, Vec<Finding>> {
    let mut findings = Vec::new();
    let table = &target.table;
    let sides = format!("query: {}. target: {}", names(query), target_names(target));

    let mut seen = BTreeSet::new();
    for column in query {
        if !seen.insert(column.name.as_str()) {
            findings.push(Finding::error(
                ErrorCode::ValueDoesNotFit,
                format!("the query delivers the column {} more than once", column.name),
                "columns are matched by name, so it is not clear which one is meant",
                "give each column a name of its own with `as`",
            ));
        }
    }
    for column in query {
        match target.columns.iter().find(|known| known.name.as_str() == column.name) {
            None => findings.push(extra(target, column, &sides)),
            Some(known) if target.published_at.as_ref() == Some(&known.name) => findings.push(Finding::error(
                ErrorCode::ValueDoesNotFit,
                format!("the query delivers {}, which published_at fills", known.name.as_str()),
                "the publish writes its own time there",
                "leave the column out of the query, or take published_at out of the pipeline",
            )),
            Some(known) => findings.extend(filled_by_server(known)),
        }
    }
    for column in &target.columns {
        if seen.contains(column.name.as_str()) || target.published_at.as_ref() == Some(&column.name) {
            continue;
        }
        if column.source != ValueSource::Writer && !target.key.contains(&column.name) {
            continue;
        }
        let optional = column.has_default || !column.not_null;
        let named = [target.interval_column(), target.version.as_ref(), target.operation.as_ref()];
        let needed = named.contains(&Some(&column.name)) || target.key.contains(&column.name);
        if policy == ColumnsPolicy::AllowExtraTarget && optional && !needed {
            continue;
        }
        findings.push(left_out(table, column, optional && !needed, &sides));
    }
    if findings.is_empty() {
        for column in target.columns.iter().filter(|column| seen.contains(column.name.as_str())) {
            findings.extend(lacking_privilege(target, column));
        }
    }
    if findings.is_empty() {
        let columns = target
            .columns
            .iter()
            .filter(|column| seen.contains(column.name.as_str()))
            .map(|column| column.name.clone());
        Ok(ColumnMap { columns: columns.collect() })
    } else {
        Err(findings)
    }
}

/// Asks the server whether each column of the query can be assigned to its column of the target. Nothing is executed.
pub async fn check_assignable(
    client: &mut Client,
    target: &Target,
    query: &[QueryColumn],
    map: &ColumnMap,
    timeouts: &Timeouts,
    stop: &CancellationToken,
) -> Result<Vec<Finding>, PublishError> {
    let mut findings = Vec::new();
    for column in query.iter().filter(|column| map.columns.iter().any(|name| name.as_str() == column.name)) {
        let Some(known) = target.columns.iter().find(|known| known.name.as_str() == column.name) else { continue };
        if known.type_oid == column.type_oid {
            continue; // nothing to ask; asking would lock the target for a moment
        }
        // An error ends the transaction, so each column has its own; the statement is parsed and no more.
        let transaction =
            client.build_transaction().start().await.map_err(|error| PublishError::driver("begin", error))?;
        let outcome = {
            let mut steps = Steps::new(&transaction, stop);
            let pinned = pin(&steps, &Pins::tool().and(Pins::timeouts(timeouts))).await?;
            steps.limit(pinned.statement_timeout());
            let of = steps
                .row(
                    "look up a type",
                    "select format_type($1::oid, null)",
                    &[(&column.type_oid as _, tokio_postgres::types::Type::OID)],
                )
                .await?;
            let of: String = crate::session::get(&of, 0)?;
            let text = format!("insert into {} ({}) select null::{of}", target.table, known.name);
            steps
                .describe("compare the types of query and target", &text, &[])
                .await
                .map(drop)
                .map_err(|error| (of, error))
        };
        transaction.rollback().await.map_err(|error| PublishError::driver("end the reading transaction", error))?;
        match outcome {
            Ok(()) => {}
            Err((of, error)) if error.sqlstate().is_some_and(|code| matches!(code.as_str(), "42804" | "42846")) => {
                findings.push(Finding::error(
                    ErrorCode::ValueDoesNotFit,
                    format!(
                        "the column {} is {of} in the query and {} in {}",
                        known.name.as_str(),
                        known.type_name,
                        target.table.readable()
                    ),
                    "there is no assignment cast between the two types, so the server would refuse the rows",
                    format!("write ({})::{} in the query if that is meant", known.name, known.type_name),
                ));
            }
            Err((_, error)) => return Err(error),
        }
    }
    Ok(findings)
}

/// A name out of the catalog.
pub(crate) fn identifier(name: &str) -> Result<Identifier, PublishError> {
    Identifier::new(name).map_err(|_| PublishError::new("read a name from the catalog", ErrorKind::Driver))
}

fn names(query: &[QueryColumn]) -> String {
    let names: Vec<&str> = query.iter().map(|column| column.name.as_str()).collect();
    names.join(", ")
}

fn target_names(target: &Target) -> String {
    let names: Vec<&str> = target.columns.iter().map(|column| column.name.as_str()).collect();
    names.join(", ")
}

fn extra(target: &Target, column: &QueryColumn, sides: &str) -> Finding {
    let known = target.columns.iter().map(|column| column.name.as_str());
    let fix = if column.name == "?column?" {
        "name the expression with `as`".to_owned()
    } else {
        match did_you_mean(&column.name, known) {
            Some(near) => format!("did you mean {near}?"),
            None => "leave it out of the query, or add it to the target".to_owned(),
        }
    };
    Finding::error(
        ErrorCode::ValueDoesNotFit,
        format!("the query delivers {}, which {} does not have", column.name, target.table.readable()),
        sides,
        fix,
    )
}

fn filled_by_server(column: &TargetColumn) -> Option<Finding> {
    match column.source {
        ValueSource::Writer | ValueSource::IdentityByDefault => None,
        ValueSource::Generated => Some(Finding::error(
            ErrorCode::ValueDoesNotFit,
            format!("the query delivers {}, which the target generates from other columns", column.name.as_str()),
            "the server refuses any value for a generated column",
            "leave the column out of the query",
        )),
        ValueSource::IdentityAlways => Some(Finding::error(
            ErrorCode::ValueDoesNotFit,
            format!("the query delivers {}, which is generated always as identity", column.name.as_str()),
            "the server takes a value there only with overriding system value, which thrice never writes",
            format!(
                "leave the column out of the query, or: alter table … alter column {} set generated by default;",
                column.name
            ),
        )),
    }
}

fn left_out(table: &TableName, column: &TargetColumn, optional: bool, sides: &str) -> Finding {
    let fix = if optional {
        "deliver it, or set columns = \"allow_extra_target\" to leave it to its default or null"
    } else {
        "deliver it"
    };
    Finding::error(
        ErrorCode::ValueDoesNotFit,
        format!("the query does not deliver {}, which {} has", column.name.as_str(), table.readable()),
        sides,
        fix,
    )
}

fn lacking_privilege(target: &Target, column: &TargetColumn) -> Option<Finding> {
    let privilege = column.lacks?;
    Some(Finding::error(
        ErrorCode::PrivilegeMissing,
        format!("the role may not {privilege} the column {} of {}", column.name.as_str(), target.table.readable()),
        "the column is written and read back",
        format!("grant {privilege} ({}) on {} to current_user;", column.name, target.table),
    ))
}
