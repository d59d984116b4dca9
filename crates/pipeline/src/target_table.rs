//! `[target]`: the table that is published into, and how.

use thrice_core::Grain;
use thrice_core::code::ErrorCode;
use thrice_core::duration::HumanDuration;
use thrice_core::identifier::{Identifier, TableName};
use thrice_core::reserved_schema::ReservedSchema;
use thrice_core::text::did_you_mean;

use crate::diagnostic::Span;
use crate::toml_reader::{Field, Reader};

pub use thrice_core::publish_strategy::PublishStrategy as Strategy;

/// Where a run's result waits for its publish.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StageMode {
    /// thrice chooses.
    Auto,
    /// A table that survives the process.
    Durable,
}

impl StageMode {
    /// The word of the file.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Auto => "auto",
            Self::Durable => "durable",
        }
    }
}

/// Which columns the query must give.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Columns {
    /// All of the target, and no other.
    Exact,
    /// The target may have more, which are filled by their defaults.
    AllowExtraTarget,
}

impl Columns {
    /// The word of the file.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Exact => "exact",
            Self::AllowExtraTarget => "allow_extra_target",
        }
    }
}

/// The checked table `[target]`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Target {
    /// The table that is published into.
    pub table: TableName,
    /// How rows are replaced.
    pub strategy: Strategy,
    /// A column that grows with every change of a key; only where the query gives changes.
    pub version: Option<Identifier>,
    /// A column that says what a change is; only where the query gives changes.
    pub operation: Option<Identifier>,
    /// The column that places a row in an interval; `None` where the grain is a whole table.
    pub interval_column: Option<Identifier>,
    /// Columns that tell rows apart; may be empty.
    pub key: Vec<Identifier>,
    /// A column that the publish fills with its time.
    pub published_at: Option<Identifier>,
    /// Where the result waits.
    pub stage: StageMode,
    /// An interval without rows may be published.
    pub allow_empty: bool,
    /// Which columns the query must give.
    pub columns: Columns,
    /// How long rows that a publish replaces are kept.
    pub keep_old_for: HumanDuration,
}

const STRATEGIES: [&str; 5] = ["delete_insert", "merge", "partition_swap", "table_swap", "append"];

/// The table and the place of its name, for comparison with other pipelines.
///
/// `grain` is `None` where the file's is refused.
pub(crate) fn read(root: &mut Reader<'_, '_>, grain: Option<&Grain>) -> Option<(Target, Span)> {
    let Some(field) = root.take("target") else {
        root.missing("target", "[target]\ntable = \"mart.daily_sales\"\ninterval_column = \"day\"");
        return None;
    };
    let mut reader = root.inside(&field)?;
    let table = reader.table_name("table");
    if table.is_none() && !reader.has("table") {
        reader.missing("table", "table = \"schema.name\"");
    }
    if let Some((table, field)) = &table {
        not_reserved(&mut reader, table, field);
    }
    let strategy = strategy(&mut reader, grain);
    let (version, operation) = of_changes(&mut reader, strategy);
    let interval_column = interval_column(&mut reader, grain);
    let key = reader.identifiers("key");
    let published_at = reader.identifier("published_at");
    let stage = stage(&mut reader);
    let columns = columns(&mut reader);
    let allow_empty = reader.boolean("allow_empty").is_some_and(|(value, _)| value);
    only_default(&mut reader);
    let keep_old_for = reader.duration("keep_old_for").map_or_else(HumanDuration::default, |(keep, _)| keep);
    if let Some((column, field)) = &published_at {
        let in_key = key.as_ref().is_some_and(|(key, _)| key.contains(column));
        if interval_column.as_ref() == Some(column) || in_key {
            let message = "`target.published_at` is the interval column or part of the key";
            reader.bad_value(field, message, "it changes with every publish: give it a column of its own");
        }
    }
    if let (Some((key, field)), Some(version)) = (&key, &version)
        && (key.contains(version) || operation.as_ref() == Some(version))
    {
        let message = "`target.version` is part of the key, or the operation";
        reader.bad_value(field, message, "name a column that grows with every change of a key");
    }
    reader.finish();
    let (table, field) = table?;
    let target = Target {
        table,
        strategy: strategy?,
        version,
        operation,
        interval_column: if grain == Some(&Grain::Table) { None } else { Some(interval_column?) },
        key: key.map(|(key, _)| key).unwrap_or_default(),
        published_at: published_at.map(|(column, _)| column),
        stage: stage?,
        allow_empty,
        columns: columns?,
        keep_old_for,
    };
    Some((target, field.span))
}

/// What places a row in an interval: a whole table has no such column, and everything else has one.
fn interval_column(reader: &mut Reader<'_, '_>, grain: Option<&Grain>) -> Option<Identifier> {
    let found = reader.identifier("interval_column");
    if grain != Some(&Grain::Table) {
        if found.is_none() && !reader.has("interval_column") {
            reader.missing("interval_column", "interval_column = \"…\": the column that places a row in an interval");
        }
        return found.map(|(column, _)| column);
    }
    if let Some((_, field)) = found {
        let message = "`target.interval_column`: with grain \"table\" every row belongs to the one partition";
        reader.bad_value(
            &field,
            message,
            "remove it, or name the grain by which the table is published piece by piece",
        );
    }
    None
}

/// A target stands in a schema of the user's.
fn not_reserved(reader: &mut Reader<'_, '_>, table: &TableName, field: &Field<'_>) {
    let Some(reserved) = ReservedSchema::of(&table.schema) else { return };
    let diagnostic = reader
        .error(
            ErrorCode::TargetKind,
            format!("`target.table`: nothing is published into schema {}", table.schema.as_str()),
        )
        .at(field.span.clone())
        .why(reserved.why())
        .fix("name a table in a schema of your own");
    reader.report(diagnostic);
}

fn strategy(reader: &mut Reader<'_, '_>, grain: Option<&Grain>) -> Option<Strategy> {
    let found = reader.string("strategy");
    let written = found.as_ref().map_or("delete_insert", |(text, _)| *text);
    match (written, found) {
        ("delete_insert", _) | (_, None) => {
            only_complete(reader, written);
            Some(Strategy::DeleteInsert)
        }
        ("merge", Some((_, field))) => merge(reader, &field, grain),
        ("partition_swap", Some((_, field))) => {
            only_complete(reader, written);
            if grain == Some(&Grain::Table) {
                let message =
                    "`target.strategy` is \"partition_swap\", and the whole table is one partition of the pipeline";
                reader.bad_value(&field, message, "strategy = \"delete_insert\" or \"merge\", or another grain");
            }
            Some(Strategy::PartitionSwap)
        }
        (known, Some((_, field))) if STRATEGIES.contains(&known) => {
            reader.refuse_feature(
                format!("strategy {known:?} is known, but not built in this version"),
                field.span,
                "strategy = \"delete_insert\"",
            );
            reader.know("rows");
            None
        }
        (unknown, Some((_, field))) => {
            let nearest = match unknown {
                "upsert" | "update" | "incremental" => Some("merge"),
                "overwrite" | "insert_overwrite" | "replace" => Some("delete_insert"),
                _ => did_you_mean(unknown, STRATEGIES),
            };
            let diagnostic = reader
                .error(ErrorCode::UnknownStrategy, format!("{unknown:?} is not a strategy"))
                .at(field.span)
                .label(nearest.map_or_else(String::new, |nearest| format!("nearest: {nearest}")))
                .why("the strategies of the format are delete_insert, merge, partition_swap, table_swap and append")
                .fix("strategy = \"delete_insert\"");
            reader.report(diagnostic);
            reader.know("rows");
            None
        }
    }
}

/// Rows that are not named stay, or go: a merge has to say which.
fn merge(reader: &mut Reader<'_, '_>, strategy: &Field<'_>, grain: Option<&Grain>) -> Option<Strategy> {
    if !reader.has("rows") {
        reader.know("rows");
        let diagnostic = reader
            .error(ErrorCode::MergeWithoutRows, "merge does not say what happens to rows that the query no longer gives")
            .at(strategy.span.clone())
            .why("they are deleted where the query gives the complete interval, and stay where it gives changes")
            .fix("rows = \"complete\", where the query gives the whole interval; rows = \"changes\", where it gives what has changed");
        reader.report(diagnostic);
        return None;
    }
    match reader.string("rows")? {
        ("complete", _) => {
            if !reader.has("key") {
                reader.missing("key", "key = [\"…\"]: the columns that tell which rows are the same");
                return None;
            }
            Some(Strategy::MergeComplete)
        }
        ("changes", field) => {
            if !reader.has("key") {
                reader.missing("key", "key = [\"…\"]: the columns that tell which row a change is of");
                return None;
            }
            if let Some((keep, kept)) = reader.duration("keep_old_for")
                && !keep.is_zero()
            {
                let message = "`target.keep_old_for`: rows that changes replace are not kept";
                reader.bad_value(&kept, message, "remove it; a change is undone by a newer change");
            }
            let whole = grain == Some(&Grain::Table);
            if whole {
                let message = "`target.rows`: the whole table is no set of changes";
                reader.bad_value(&field, message, "rows = \"complete\", or name the grain of the changes");
            }
            (!whole).then_some(Strategy::MergeChanges)
        }
        (other, field) => {
            let message = format!("`target.rows` is {other:?}");
            reader.bad_value(&field, message, "rows = \"complete\" or rows = \"changes\"");
            None
        }
    }
}

/// The columns that only changes have.
fn of_changes(reader: &mut Reader<'_, '_>, strategy: Option<Strategy>) -> (Option<Identifier>, Option<Identifier>) {
    let mut read = |key| {
        let (column, field) = reader.identifier(key)?;
        // where the strategy itself was refused, it may be what they are for
        if strategy.is_some_and(|strategy| !strategy.takes_changes()) {
            let message = format!("`target.{key}` belongs to changes, and the query gives the whole interval");
            reader.bad_value(&field, message, "remove it, or strategy = \"merge\" with rows = \"changes\"");
            return None;
        }
        Some(column)
    };
    (read("version"), read("operation"))
}

/// What replaces an interval is given all of it.
fn only_complete(reader: &mut Reader<'_, '_>, strategy: &str) {
    if let Some((other, field)) = reader.string("rows")
        && other != "complete"
    {
        let message = format!("`target.rows` is {other:?}, and strategy {strategy:?} replaces the whole interval");
        reader.bad_value(&field, message, "leave it out, or strategy = \"merge\"");
    }
}

fn stage(reader: &mut Reader<'_, '_>) -> Option<StageMode> {
    match reader.string("stage") {
        None | Some(("auto", _)) => Some(StageMode::Auto),
        Some(("durable", _)) => Some(StageMode::Durable),
        Some(("inline", field)) => {
            reader.refuse_feature(
                "stage \"inline\" is known, but not built in this version".to_owned(),
                field.span,
                "stage = \"durable\", or leave it out",
            );
            None
        }
        Some((other, field)) => {
            reader.bad_value(&field, format!("{other:?} is no way to stage"), "stage = \"auto\" or \"durable\"");
            None
        }
    }
}

fn columns(reader: &mut Reader<'_, '_>) -> Option<Columns> {
    match reader.string("columns") {
        None | Some(("exact", _)) => Some(Columns::Exact),
        Some(("allow_extra_target", _)) => Some(Columns::AllowExtraTarget),
        Some((other, field)) => {
            let message = format!("{other:?} is no rule about columns");
            reader.bad_value(&field, message, "columns = \"exact\" or \"allow_extra_target\"");
            None
        }
    }
}

/// Keys of which this version only has the default.
fn only_default(reader: &mut Reader<'_, '_>) {
    if let Some((true, field)) = reader.boolean("read_only") {
        let message = "read_only = true is known, but not built in this version".to_owned();
        reader.refuse_feature(message, field.span, "leave it out; keep functions that write out of the query");
    }
    if let Some((count, field)) = reader.count("publish_group") {
        if count == 0 {
            reader.bad_value(&field, "`target.publish_group` must be at least 1", "publish_group = 1");
        } else if count > 1 {
            let message = "publish_group over 1 is known, but not built in this version".to_owned();
            reader.refuse_feature(message, field.span, "leave it out: each interval is published by itself");
        }
    }
}
