//! Whether the partitions of a target can be swapped: looked at once, before any interval.

use thrice_core::code::ErrorCode;
use thrice_core::column_bounds::IntervalColumnType;
use thrice_core::identifier::TableName;
use tokio_postgres::types::Type;

use crate::{
    error::PublishError,
    finding::Finding,
    session::get,
    steps::Steps,
    target::{IntervalColumn, TargetColumn, ValueSource, quoted},
};

/// How a partitioned table is cut.
pub(crate) struct PartitionKey {
    strategy: String,
    column: Option<String>,
    definition: String,
}

impl PartitionKey {
    pub(crate) async fn read(steps: &Steps<'_>, oid: u32) -> Result<Self, PublishError> {
        let text = include_str!("../../sql/partition_key.sql");
        let row = steps.row("read the target's partitions", text, &[(&oid as _, Type::OID)]).await?;
        Ok(Self { strategy: get(&row, 0)?, column: get(&row, 1)?, definition: get(&row, 2)? })
    }

    /// Cut by a list of values.
    pub(crate) fn is_list(&self) -> bool {
        self.strategy == "l"
    }

    fn is_by(&self, column: &IntervalColumn) -> bool {
        self.column.as_deref() == Some(column.name.as_str())
            && (self.strategy == "r" || self.is_list() && column.of == IntervalColumnType::Date)
    }
}

/// What is known of the target when swaps are looked at.
pub(crate) struct Seen<'a> {
    pub(crate) table: &'a TableName,
    pub(crate) oid: u32,
    pub(crate) is_partitioned: bool,
    pub(crate) columns: &'a [TargetColumn],
    pub(crate) interval: Option<&'a IntervalColumn>,
}

/// What stands against swapping partitions of the target, and what it costs.
pub(crate) async fn findings(steps: &Steps<'_>, seen: &Seen<'_>) -> Result<Vec<Finding>, PublishError> {
    let Seen { table, oid, .. } = *seen;
    if !seen.is_partitioned {
        return Ok(vec![Finding::error(
            ErrorCode::TargetKind,
            format!("{} is not partitioned", table.readable()),
            "partition_swap lets a new table take the place of the interval's partition",
            "strategy = \"delete_insert\" or \"merge\"; or a table that is partitioned by range on the interval column",
        )]);
    }
    let mut findings = Vec::new();
    let key = PartitionKey::read(steps, oid).await?;
    if let Some(column) = seen.interval
        && !key.is_by(column)
    {
        findings.push(Finding::error(
            ErrorCode::TargetKind,
            format!("{} is cut by {}", table.readable(), key.definition),
            "only where the cut is by range on the interval column, or by list on an interval column of type date, can one partition be one interval",
            format!("partition the table by range ({}); else strategy = \"delete_insert\"", column.name),
        ));
    }
    for column in seen.columns {
        if matches!(column.source, ValueSource::IdentityAlways | ValueSource::IdentityByDefault) {
            findings.push(Finding::error(
                ErrorCode::TargetKind,
                format!("the column {} of {} is an identity column", column.name.as_str(), table.readable()),
                "rows of a prepared table do not take numbers from the parent's sequence, so numbers would come twice",
                "a default of nextval('…'), or a number from the query; else strategy = \"delete_insert\"",
            ));
        }
    }
    let text = include_str!("../../sql/swap_target.sql");
    let row = steps.row("read the target's owner", text, &[(&oid as _, Type::OID)]).await?;
    findings.extend(Owned::of(&row)?.findings(table));
    Ok(findings)
}

/// Who owns the target, and who else hears of its rows.
#[expect(clippy::struct_excessive_bools, reason = "each is read from the catalog by itself")]
struct Owned {
    owner: String,
    role: String,
    is_ours: bool,
    may_create: bool,
    owner_may_create: bool,
    default_partition: Option<String>,
    publications: Vec<String>,
    not_to_be_referenced: Vec<String>,
    owner_is_superuser: bool,
}

impl Owned {
    fn of(row: &tokio_postgres::Row) -> Result<Self, PublishError> {
        Ok(Self {
            owner: get(row, 0)?,
            role: get(row, 1)?,
            is_ours: get(row, 2)?,
            may_create: get(row, 3)?,
            owner_may_create: get(row, 4)?,
            default_partition: get(row, 5)?,
            publications: get(row, 6)?,
            not_to_be_referenced: get(row, 7)?,
            owner_is_superuser: get(row, 8)?,
        })
    }

    fn findings(&self, table: &TableName) -> Vec<Finding> {
        let mut findings = Vec::new();
        let (role, owner) = (quoted(&self.role), quoted(&self.owner));
        if !self.is_ours {
            findings.push(Finding::error(
                ErrorCode::PrivilegeMissing,
                format!("the role {} does not own {}", self.role, table.readable()),
                "partitions are detached and attached by the owner of the table",
                // a worker that may do everything is worse than one that may do nothing
                if self.owner_is_superuser {
                    format!(
                        "give the table and its partitions to a role of their own, without login, and grant that one to {role}: \
                         thrice grants --print shows how"
                    )
                } else {
                    format!("grant {owner} to {role};")
                },
            ));
        }
        for (may, name, quoted) in [(self.may_create, &self.role, &role), (self.owner_may_create, &self.owner, &owner)]
        {
            if !may {
                findings.push(Finding::error(
                    ErrorCode::PrivilegeMissing,
                    format!("the role {name} may not create tables in the schema {}", table.schema.as_str()),
                    "a prepared table moves into the schema of the target",
                    format!("grant create on schema {} to {quoted};", table.schema),
                ));
            }
        }
        for referenced in &self.not_to_be_referenced {
            findings.push(Finding::error(
                ErrorCode::PrivilegeMissing,
                format!("the role {} lacks references on {referenced}", self.role),
                "a foreign key of the target refers to it, and a prepared table gets the same",
                format!("grant references on {referenced} to {role};"),
            ));
        }
        if !self.publications.is_empty() {
            let names: Vec<String> = self.publications.iter().map(|name| quoted(name)).collect();
            findings.push(Finding::error(
                ErrorCode::SwapDependants,
                format!("{} is published to subscribers by {}", table.readable(), names.join(", ")),
                "logical replication does not carry a swap: subscribers would keep the old rows",
                "strategy = \"delete_insert\" or \"merge\", whose rows are replicated",
            ));
        }
        if let Some(default) = &self.default_partition {
            findings.push(Finding::warning(
                ErrorCode::TargetKind,
                format!("{} has the default partition {default}", table.readable()),
                "each swap looks through it under an exclusive lock, while every reader of the table waits",
                format!("a check on {default} that excludes the intervals, where it holds many rows; nothing where it is empty"),
            ));
        }
        findings
    }
}
