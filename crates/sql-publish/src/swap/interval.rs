//! The partition that is one interval: found by its bounds, or refused with what has to be changed.

use thrice_core::code::ErrorCode;
use thrice_core::column_bounds::{ColumnBounds, IntervalColumnType};
use thrice_core::identifier::TableName;
use thrice_core::sql_constant::string_constant;
use tokio_postgres::types::Type;

use crate::{
    bounds,
    columns::identifier,
    error::PublishError,
    finding::Finding,
    session::get,
    steps::{Param, Steps},
    swap::examine::PartitionKey,
    target::{IntervalColumn, Target, detach_pending},
};

/// A partition that holds one interval and nothing else.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IntervalPartition {
    /// Its name.
    pub table: TableName,
    /// Its identity in the catalog of this database.
    pub oid: u32,
}

/// Where an interval stands.
pub(crate) struct Place {
    /// Its partition; `None`: it has none yet.
    pub(crate) partition: Option<IntervalPartition>,
    /// The bounds of its partition, as `attach partition` takes them.
    pub(crate) bound: String,
    /// A condition that the bounds imply: whoever checks it need not read the rows.
    pub(crate) condition: String,
}

const READ: &str = "read the target's partitions";

/// Looks for the partition under settings that print bounds as the checksum would: ISO, UTC.
///
/// Either findings, of which at least one is an error, or the place.
pub(crate) async fn find(
    steps: &Steps<'_>,
    target: &Target,
    bounds: &ColumnBounds,
) -> Result<Result<Place, Vec<Finding>>, PublishError> {
    // a whole table has no interval column, and is refused before
    let Some(interval) = &target.interval else { return Ok(Err(vec![of_whole_table(target)])) };
    let key = PartitionKey::read(steps, target.oid).await?;
    let (type_name, range) = match interval.of {
        IntervalColumnType::Date => ("date", "daterange"),
        IntervalColumnType::Timestamp => ("timestamp", "tsrange"),
        IntervalColumnType::Timestamptz => ("timestamptz", "tstzrange"),
    };
    let text = include_str!("../../sql/swap_partitions.sql.in")
        .replace("{type}", type_name)
        .replace("{multirange}", &range.replace("range", "multirange"))
        .replace("{range}", range);
    let mut params: Vec<Param<'_>> = vec![(&target.oid as _, Type::OID)];
    params.extend(bounds::params(bounds));
    let rows = steps.rows(READ, &text, &params).await?;
    let mut findings = Vec::new();
    let (mut inside, mut default) = (Vec::new(), None);
    for row in &rows {
        let part = Part {
            table: TableName::new(identifier(&get::<String>(row, 1)?)?, identifier(&get::<String>(row, 2)?)?),
            oid: get(row, 0)?,
            kind: get(row, 3)?,
            bound: get(row, 5)?,
            is_whole: get(row, 7)?,
            is_ours: get(row, 8)?,
        };
        match (get::<bool>(row, 4)?, get::<bool>(row, 6)?) {
            (true, _) => findings.push(detach_pending(&target.table, &part.table.to_string(), true)),
            (false, true) => default = Some(part),
            (false, false) => inside.push(part),
        }
    }
    let place = Place::of(&key, interval, bounds);
    findings.extend(place.is_none().then(|| longer_than_a_value(target)));
    findings.extend(match inside.as_slice() {
        [] => None,
        [part] => part.does_not_fit(target),
        parts => Some(several(target, parts)),
    });
    if let ([part], true) = (inside.as_slice(), findings.is_empty()) {
        findings.extend(lost(steps, target, part).await?);
    }
    if let (Some(default), true, true) = (&default, inside.is_empty(), findings.is_empty()) {
        findings.extend(rows_in_default(steps, target, bounds, default).await?);
    }
    Ok(match place {
        Some(place) if findings.is_empty() => {
            let partition = inside.pop().map(|part| IntervalPartition { table: part.table, oid: part.oid });
            Ok(Place { partition, ..place })
        }
        _ => Err(findings),
    })
}

impl Place {
    /// The words of the bounds. `None` where a list of one value cannot hold the interval.
    fn of(key: &PartitionKey, interval: &IntervalColumn, bounds: &ColumnBounds) -> Option<Self> {
        let column = &interval.name;
        let (start, end) = match bounds {
            ColumnBounds::Dates { start, end } => (start.to_string(), end.to_string()),
            ColumnBounds::LocalTimes { start, end } => (start.to_string(), end.to_string()),
            ColumnBounds::Instants { start, end } => (start.to_string(), end.to_string()),
            ColumnBounds::WholeTable => return None,
        };
        let typed = |text: &str| format!("{}::pg_catalog.{}", string_constant(text), sql_type(interval.of));
        let (bound, condition) = if key.is_list() {
            let ColumnBounds::Dates { start: first, end: after } = bounds else { return None };
            if first.tomorrow().ok().as_ref() != Some(after) {
                return None;
            }
            let bound = format!("for values in ({})", string_constant(&start));
            (bound, format!("{column} operator(pg_catalog.=) {}", typed(&start)))
        } else {
            let bound = format!("for values from ({}) to ({})", string_constant(&start), string_constant(&end));
            let condition = format!(
                "{column} operator(pg_catalog.>=) {} and {column} operator(pg_catalog.<) {}",
                typed(&start),
                typed(&end)
            );
            (bound, condition)
        };
        Some(Self { partition: None, bound, condition: format!("{column} is not null and {condition}") })
    }
}

const fn sql_type(of: IntervalColumnType) -> &'static str {
    match of {
        IntervalColumnType::Date => "date",
        IntervalColumnType::Timestamp => "timestamp",
        IntervalColumnType::Timestamptz => "timestamptz",
    }
}

/// A partition as the catalog has it.
struct Part {
    table: TableName,
    oid: u32,
    kind: String,
    bound: String,
    is_whole: bool,
    is_ours: bool,
}

impl Part {
    fn does_not_fit(&self, target: &Target) -> Option<Finding> {
        let (name, of) = (self.table.readable(), target.table.readable());
        if !self.is_whole {
            return Some(Finding::error(
                ErrorCode::PartitionMissing,
                format!("the partition {name} of {of} is not one interval: {}", self.bound.to_lowercase()),
                "a swap replaces a whole partition: rows of other intervals in it would go, or some of this one would stay",
                "cut the table so that each partition is one interval, or give the pipeline the grain of the partitions; \
                 else strategy = \"delete_insert\"",
            ));
        }
        if self.kind != "r" {
            let kind = if self.kind == "p" { "partitioned itself" } else { "no ordinary table" };
            return Some(Finding::error(
                ErrorCode::TargetKind,
                format!("the partition {name} of {of} is {kind}"),
                "one table takes the place of one partition",
                "strategy = \"delete_insert\", or partitions that are ordinary tables",
            ));
        }
        (!self.is_ours).then(|| {
            Finding::error(
                ErrorCode::PrivilegeMissing,
                format!("the role does not own the partition {name} of {of}"),
                "a partition is detached and attached by its owner",
                "make the role a member of the role that owns the partition",
            )
        })
    }
}

fn of_whole_table(target: &Target) -> Finding {
    Finding::error(
        ErrorCode::TargetKind,
        format!("the whole of {} is one partition of the pipeline", target.table.readable()),
        "partition_swap lets a new table take the place of the interval's partition",
        "strategy = \"delete_insert\" or \"merge\", or another grain",
    )
}

fn several(target: &Target, parts: &[Part]) -> Finding {
    let names: Vec<String> = parts.iter().map(|part| part.table.readable()).collect();
    Finding::error(
        ErrorCode::PartitionMissing,
        format!(
            "the interval stands in {} partitions of {}: {}",
            names.len(),
            target.table.readable(),
            names.join(", ")
        ),
        "a swap replaces one partition that is the interval",
        "give the pipeline the grain of the partitions, or cut the table by its intervals; else strategy = \"delete_insert\"",
    )
}

fn longer_than_a_value(target: &Target) -> Finding {
    Finding::error(
        ErrorCode::PartitionMissing,
        format!(
            "{} is cut by a list of dates, and an interval of the pipeline is not one date",
            target.table.readable()
        ),
        "a partition of one date can be swapped for one day",
        "grain = \"day\", or a table that is cut by range; else strategy = \"delete_insert\"",
    )
}

/// What stands on the old partition alone and would go with it.
async fn lost(steps: &Steps<'_>, target: &Target, part: &Part) -> Result<Option<Finding>, PublishError> {
    let rows = steps.rows(READ, include_str!("../../sql/swap_lost.sql"), &[(&part.oid as _, Type::OID)]).await?;
    let mut names: Vec<String> = Vec::with_capacity(rows.len());
    for row in &rows {
        names.push(get(row, 0)?);
    }
    Ok((!names.is_empty()).then(|| {
        Finding::error(
            ErrorCode::SwapDependants,
            format!("a swap of the partition {} would lose: {}", part.table.readable(), names.join(", ")),
            "they stand on the partition itself and not on its parent, and the new one does not get them",
            format!("make them on {} instead, or drop them; else strategy = \"delete_insert\"", target.table),
        )
    }))
}

/// Rows of the interval that stand in the default partition: attaching would be refused (23514).
async fn rows_in_default(
    steps: &Steps<'_>,
    target: &Target,
    bounds: &ColumnBounds,
    default: &Part,
) -> Result<Option<Finding>, PublishError> {
    let inside = target.inside();
    let text = format!("select exists (select from {} where {inside})", default.table);
    let row = steps.row(READ, &text, &bounds::params(bounds)).await?;
    Ok(get::<bool>(&row, 0)?.then(|| {
        Finding::error(
            ErrorCode::PartitionMissing,
            format!("the default partition {} of {} holds rows of the interval", default.table.readable(), target.table.readable()),
            "a partition for the interval cannot be attached while they are there (23514)",
            format!(
                "move them into a partition of their own: create it as a table, move the rows, alter table {} attach partition … ; then thrice adopt",
                target.table
            ),
        )
    }))
}
