//! The table that is swapped in: made, filled, indexed and analyzed before anybody is locked out.
//!
//! Three transactions, so that none holds a lock of the target or of another table for as long as the rows take. The first
//! looks at the target and makes the empty table. The second loads and indexes it; foreign keys are added at its end, because
//! that locks the tables they refer to. The third looks at the rows for them, which locks nobody out, and gathers
//! statistics.

use thrice_core::column_bounds::ColumnBounds;
use thrice_core::identifier::{Identifier, MAX_BYTES, TableName};
use tokio_postgres::{Client, types::Type};
use tokio_util::sync::CancellationToken;

use crate::{
    columns::{ColumnMap, identifier},
    error::PublishError,
    finding::Finding,
    open_transaction::{OpenTransaction, READ_COMMITTED},
    probe::{self, Probe},
    session::{Pins, Session, Timeouts, get, pin},
    staging::{Staged, StagingName},
    steps::{Ask, Steps},
    strategy::list,
    swap::{
        interval::{self, IntervalPartition, Place},
        shape::{self, Rename, Shape},
    },
    target::Target,
};

/// What is to be prepared.
pub struct PrepareRequest<'a> {
    /// The target as examined.
    pub target: &'a Target,
    /// The columns that are written.
    pub columns: &'a ColumnMap,
    /// The interval.
    pub bounds: &'a ColumnBounds,
    /// The rows.
    pub staged: &'a Staged,
    /// The name of the table while it waits: see [`StagingName::prepared`].
    pub name: &'a StagingName,
    /// What tells this interval from others in the name of a partition that is made for it, such as its key.
    pub label: &'a str,
    /// A role that the table is handed over to while it waits, where it exists and this login acts for it.
    pub owner: Option<&'a Identifier>,
    /// What defaults, checks and generated columns of the target see.
    pub session: &'a Session,
    /// Limits of each transaction.
    pub timeouts: &'a Timeouts,
    /// Told after each step.
    pub probe: &'a dyn Probe,
    /// Fires when the caller wants the work to end.
    pub stop: &'a CancellationToken,
}

/// How a preparation ended.
#[derive(Debug)]
pub enum Preparation {
    /// The table waits.
    Ready(Box<PreparedPartition>),
    /// The interval cannot be swapped: at least one finding is an error.
    Refused(Vec<Finding>),
}

/// A table that holds every staged row and can become the interval's partition.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PreparedPartition {
    /// Where it waits.
    pub table: TableName,
    /// The partition that goes; `None`: the interval has none yet.
    pub replaces: Option<IntervalPartition>,
    /// Its name as a partition.
    pub becomes: TableName,
    /// The bounds, as `attach partition` takes them.
    pub(crate) bound: String,
    /// Who owns it as a partition.
    pub(crate) owner: Identifier,
    /// What it is to autovacuum as a partition.
    pub(crate) autovacuum: String,
    /// Indexes and their names in the end.
    pub(crate) renames: Vec<Rename>,
}

impl PreparedPartition {
    /// The check of the bounds.
    pub(crate) const fn check(&self) -> &Identifier {
        &self.table.table
    }
}

/// Prepares the table. On an error or a refusal it may be left, whole or not: nobody takes one over, and its maker drops it.
pub async fn prepare(client: &mut Client, request: &PrepareRequest<'_>) -> Result<Preparation, PublishError> {
    let transaction = OpenTransaction::new(client, READ_COMMITTED);
    let made = {
        let mut steps = Steps::opening(&transaction, request.stop);
        make(&mut steps, request).await?
    };
    let Made { prepared, shape } = match made {
        Ok(made) => made,
        Err(findings) => {
            transaction.rollback().await.map_err(|error| PublishError::driver("give the table up", error))?;
            return Ok(Preparation::Refused(findings));
        }
    };
    commit(transaction).await?;

    let transaction = OpenTransaction::new(client, READ_COMMITTED);
    {
        let mut steps = Steps::opening(&transaction, request.stop);
        fill(&mut steps, request, &shape).await?;
    }
    commit(transaction).await?;

    let transaction = OpenTransaction::new(client, READ_COMMITTED);
    {
        let mut steps = Steps::opening(&transaction, request.stop);
        begin(&mut steps, Pins::timeouts(request.timeouts).and(Pins::tool())).await?;
        let mut last = shape.validate(&prepared.table)?;
        last.push(("gather statistics", format!("analyze {}", prepared.table)));
        run(&steps, &last).await?;
    }
    commit(transaction).await?;
    Ok(Preparation::Ready(Box::new(prepared)))
}

async fn commit(transaction: OpenTransaction<'_>) -> Result<(), PublishError> {
    transaction.commit().await.map_err(|error| PublishError::driver("commit the prepared table", error))
}

async fn begin(steps: &mut Steps<'_>, pins: Pins) -> Result<(), PublishError> {
    let pinned = pin(steps, &pins).await?;
    steps.limit(pinned.statement_timeout());
    Ok(())
}

/// The empty table, and what it gets.
struct Made {
    prepared: PreparedPartition,
    shape: Shape,
}

/// Looks at the target, and makes the table like it.
async fn make(steps: &mut Steps<'_>, request: &PrepareRequest<'_>) -> Result<Result<Made, Vec<Finding>>, PublishError> {
    let (target, table) = (request.target, request.name.table());
    // bounds are read as the server prints them under these
    begin(steps, Pins::timeouts(request.timeouts).and(Pins::checksum()).and(Pins::tool())).await?;
    let place = match interval::find(steps, target, request.bounds).await? {
        Ok(place) => place,
        Err(findings) => return Ok(Err(findings)),
    };
    let shape = Shape::read(steps, target, place.partition.as_ref()).await?;
    let (becomes, owner) = name_and_owner(steps, request, &place).await?;
    let renames = shape.renames(table, &target.table, &becomes.table)?;
    let renames = free_names(steps, &becomes.schema, renames, place.partition.is_none()).await?;

    steps.execute("drop what an earlier ledger left", &format!("drop table if exists {table}"), &[]).await?;
    run(steps, &shape.create(table, target)).await?;
    // the check spares the server a look at the rows when the table is attached; while it waits, autovacuum lets it alone
    let bounds = format!("alter table {table} add constraint {} check ({})", table.table, place.condition);
    let quiet = format!("alter table {table} set (autovacuum_enabled = off)");
    run(steps, &[("check the bounds", bounds), (KEEP, quiet)]).await?;
    hand_over(steps, request, table).await?;
    let prepared = PreparedPartition {
        table: table.clone(),
        replaces: place.partition,
        becomes,
        bound: place.bound,
        owner,
        autovacuum: shape.autovacuum(),
        renames,
    };
    Ok(Ok(Made { prepared, shape }))
}

const KEEP: &str = "keep the table for the publish";

/// Loads the rows, then makes indexes and the rest. Defaults, checks and expressions see what they see in every other publish.
async fn fill(steps: &mut Steps<'_>, request: &PrepareRequest<'_>, shape: &Shape) -> Result<(), PublishError> {
    let table = request.name.table();
    begin(steps, Pins::timeouts(request.timeouts).and(Pins::query(request.session))).await?;
    steps.execute("fill the table that is swapped in", &load(request, table), &[]).await?;
    request.probe.at(probe::PREPARE_FILLED);
    run(steps, &shape.finish(table)?).await?;
    // an option of the old partition's own may have woken it
    run(steps, &[(KEEP, format!("alter table {table} set (autovacuum_enabled = off)"))]).await
}

/// In key order, so that the table is clustered by it.
fn load(request: &PrepareRequest<'_>, table: &TableName) -> String {
    let (published_at, now) = request.target.stamp();
    let key = &request.target.key;
    let order = if key.is_empty() { String::new() } else { format!(" order by {}", list(key)) };
    let columns = request.columns.list("");
    let staging = &request.staged.relation;
    format!("insert into {table} ({columns}{published_at}) select {columns}{now} from {staging}{order}")
}

/// What the partition is called and who owns it: as the old one; a first one is the parent's, with a name that is free.
async fn name_and_owner(
    steps: &Steps<'_>,
    request: &PrepareRequest<'_>,
    place: &Place,
) -> Result<(TableName, Identifier), PublishError> {
    let target = request.target;
    let of = place.partition.as_ref().map_or(target.oid, |old| old.oid);
    let what = "look up the owner of the partition";
    let text = "select o.rolname::text from pg_catalog.pg_class c join pg_catalog.pg_roles o on o.oid = c.relowner where c.oid = $1::oid";
    let owner = identifier(&get::<String>(&steps.row(what, text, &[(&of as _, Type::OID)]).await?, 0)?)?;
    if let Some(old) = &place.partition {
        return Ok((old.table.clone(), owner));
    }
    let (parent, number) = (target.table.table.as_str(), request.name.table().table.as_str());
    let label: String = request.label.chars().map(|c| if c.is_alphanumeric() { c } else { '_' }).collect();
    let names = [with_suffix(parent, &format!("_{label}")), with_suffix(parent, &format!("_{label}_{number}"))];
    let schema = target.table.schema.as_str();
    let [first, second] = &names;
    let taken = is_taken(steps, schema, first).await?;
    let name = identifier(if taken { second } else { first })?;
    Ok((TableName::new(target.table.schema.clone(), name), owner))
}

async fn is_taken(steps: &Steps<'_>, schema: &str, name: &str) -> Result<bool, PublishError> {
    let text = "select exists (select from pg_catalog.pg_class c join pg_catalog.pg_namespace n on n.oid = c.relnamespace \
                where n.nspname = $1 and c.relname = $2)";
    let row = steps.row("look for a free name", text, &[(&schema as _, Type::TEXT), (&name as _, Type::TEXT)]).await?;
    get(&row, 0)
}

/// Leaves names out that something else has: such an index keeps its short name.
async fn free_names(
    steps: &Steps<'_>,
    schema: &Identifier,
    renames: Vec<Rename>,
    is_first: bool,
) -> Result<Vec<Rename>, PublishError> {
    if !is_first {
        return Ok(renames);
    }
    let mut free = Vec::with_capacity(renames.len());
    for rename in renames {
        if !is_taken(steps, schema.as_str(), rename.to.as_str()).await? {
            free.push(rename);
        }
    }
    Ok(free)
}

/// A name of at most 63 bytes: the front is cut where both do not fit, and never within a character.
fn with_suffix(front: &str, suffix: &str) -> String {
    let back: String = suffix.chars().take(MAX_BYTES / 2).collect();
    let mut end = front.len().min(MAX_BYTES.saturating_sub(back.len()));
    while !front.is_char_boundary(end) {
        end -= 1;
    }
    format!("{}{back}", front.get(..end).unwrap_or_default())
}

async fn hand_over(steps: &Steps<'_>, request: &PrepareRequest<'_>, table: &TableName) -> Result<(), PublishError> {
    let Some(owner) = request.owner else { return Ok(()) };
    let names = [(&owner.as_str() as _, Type::TEXT), (&table.schema.as_str() as _, Type::TEXT)];
    let may_hand_over = include_str!("../../sql/may_hand_over.sql");
    let rows = steps.rows("look up the owner of staging tables", may_hand_over, &names).await?;
    // no row: there is no such role
    if let Some(row) = rows.first()
        && get::<bool>(row, 0)?
    {
        steps.execute("hand the table over", &format!("alter table {table} owner to {owner}"), &[]).await?;
    }
    Ok(())
}

async fn run(steps: &Steps<'_>, made: &[shape::Made]) -> Result<(), PublishError> {
    for (what, text) in made {
        steps.ask(Ask::once(what, text, &[])).await?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::with_suffix;

    #[test]
    fn names_fit_and_no_character_is_cut() {
        assert_eq!(with_suffix("daily", "_2026_03_24"), "daily_2026_03_24");
        let long = with_suffix(&"매출".repeat(10), "_2026_03_24");
        assert!(long.len() <= 63 && long.ends_with("_2026_03_24"), "{long}");
        assert!(with_suffix(&"x".repeat(63), &"y".repeat(80)).len() <= 63);
    }
}
