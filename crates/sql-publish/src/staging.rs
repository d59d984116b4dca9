//! Staging: the query's result in a table nobody reads yet, with the target's column types, filled by assignment.
//!
//! One REPEATABLE READ transaction holds the query, the count, the checksum and whatever the caller adds: one
//! snapshot, and a table that never stands without its record.

use std::fmt;

use thrice_core::identifier::{Identifier, TableName};
use tokio_postgres::{Client, Row, types::Type};
use tokio_util::sync::CancellationToken;

use crate::{
    checksum::{self, Content},
    columns::{self, ColumnMap},
    error::{ErrorKind, PublishError},
    open_transaction::{OpenTransaction, READ_COMMITTED, REPEATABLE_READ},
    probe::{self, Probe},
    query::UserQuery,
    session::{CheckPins, Pinned, Pins, Session, Timeouts, get, pin, pin_then},
    short_hash,
    staging_mode::StagingMode,
    statement::Statement,
    statement_cache::StatementCache,
    steps::{Ask, Param, Steps, answered, one_row},
    target::Target,
};

/// The schema that durable staging tables live in.
pub const SCHEMA: &str = "thrice_staging";

/// The name of one run's staging table: a short hash, so that it fits in 63 bytes whatever the target is called, and
/// no two runs share one.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct StagingName(TableName);

impl StagingName {
    /// The name for an attempt of a partition. `partition` and `attempt` may be any text that identifies them in this
    /// database, such as their numbers.
    pub fn of(partition: &str, attempt: &str) -> Result<Self, PublishError> {
        Self::with_name(&format!("s_{}", short_hash::of([partition, attempt])))
    }

    /// The name of the table that a run of a swap prepares: `p_` and the run's number in its ledger, so that whoever finds one
    /// knows whose it was.
    pub fn prepared(attempt_id: i64) -> Result<Self, PublishError> {
        Self::with_name(&format!("p_{attempt_id}"))
    }

    /// It is a prepared table.
    pub fn is_prepared(&self) -> bool {
        self.0.table.as_str().starts_with("p_")
    }

    /// Reads a name back from a ledger. Anything that is not a staging name is refused, so that what is dropped as
    /// staging can only be staging.
    pub fn parse(text: &str) -> Result<Self, PublishError> {
        let name = text.strip_prefix(SCHEMA).and_then(|rest| rest.strip_prefix('.')).unwrap_or_default();
        let is_number = |text: &str| text.parse().is_ok_and(|number: i64| number > 0 && number.to_string() == text);
        match name.split_once('_') {
            Some(("s", hash)) if short_hash::is_one(hash) => Self::with_name(name),
            Some(("p", number)) if is_number(number) => Self::with_name(name),
            _ => Err(PublishError::new("read the name of a staging table", ErrorKind::Driver)),
        }
    }

    fn with_name(name: &str) -> Result<Self, PublishError> {
        Ok(Self(TableName::new(columns::identifier(SCHEMA)?, columns::identifier(name)?)))
    }

    /// The table.
    pub fn table(&self) -> &TableName {
        &self.0
    }
}

impl fmt::Display for StagingName {
    /// `thrice_staging.s_…`: needs no quotes, and is what the ledger stores.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.0.schema.as_str(), self.0.table.as_str())
    }
}

/// What is staged, and how.
pub struct StageRequest<'a> {
    /// The target as examined.
    pub target: &'a Target,
    /// The columns that query and target share.
    pub columns: &'a ColumnMap,
    /// The query.
    pub query: &'a UserQuery,
    /// The table that takes the rows.
    pub staging: &'a TableName,
    /// Whether it has yet to be made.
    pub place: Place<'a>,
    /// What the query sees.
    pub session: &'a Session,
    /// Limits of the transaction.
    pub timeouts: &'a Timeouts,
    /// A role that the table is handed over to, where it exists and this login acts for it, so that another login of
    /// the same role can read, adopt and drop it.
    pub owner: Option<&'a Identifier>,
    /// Statements that run last in the same transaction, made from what was staged: a ledger marks its run.
    pub after: &'a (dyn Fn(&Staged) -> Vec<Statement> + Send + Sync),
    /// Told after each step.
    pub probe: &'a dyn Probe,
    /// The connection's prepared statements.
    pub statements: &'a StatementCache,
    /// Fires when the caller wants the work to end.
    pub stop: &'a CancellationToken,
}

/// Where the rows go.
#[derive(Clone, Copy)]
pub enum Place<'a> {
    /// Into a table that is made for them.
    New(&'a dyn StagingMode),
    /// Into a table of the same columns whose rows nobody needs any more. A failure of [`EMPTY`] means that it is not what
    /// it was: the caller makes a new one.
    Spent(Emptying),
}

/// How old rows go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Emptying {
    /// Few: cheaper than a new file. They take up space until the table is truncated.
    Delete,
    /// Many, or few many times.
    Truncate,
}

/// A result that waits for its publish.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Staged {
    /// Where the rows stand.
    pub relation: TableName,
    /// How many there are and what they are.
    pub content: Content,
    /// Session settings that the query changed while it ran. They were set back before anything else was done.
    pub settings_moved: Vec<String>,
    /// The table has been used before and will be again: statements about it are worth preparing.
    pub comes_again: bool,
}

impl Staged {
    /// Rows that the caller staged itself, or that an earlier run staged.
    pub fn known(relation: TableName, content: Content) -> Self {
        Self { relation, content, settings_moved: Vec::new(), comes_again: false }
    }
}

/// Runs the query into a staging table and commits it together with the caller's statements.
///
/// On an error nothing of it stays: rows and statements are one transaction. Where the connection was lost during
/// COMMIT, the rows may be there or not; their record is there exactly when they are.
pub async fn stage(client: &mut Client, request: &StageRequest<'_>) -> Result<Staged, PublishError> {
    let (staged, _) = stage_and_ask(client, request, &[]).await?;
    Ok(staged)
}

/// The same, and asks questions about the rows and their sources in between: in the snapshot that the rows come from, and
/// under the settings that the query has. The answers are the questions' first rows.
///
/// The table is named in a question as [`StageRequest::staging`]. An error of a question says [which](PublishError::question).
pub async fn stage_and_ask(
    client: &mut Client,
    request: &StageRequest<'_>,
    questions: &[Statement],
) -> Result<(Staged, Vec<Row>), PublishError> {
    let transaction = OpenTransaction::new(client, REPEATABLE_READ);
    let answered = {
        let mut steps = Steps::opening(&transaction, request.stop).keeping(request.statements);
        let (staged, answers) = fill(&mut steps, request, questions).await?;
        end(&steps, &transaction, request, &(request.after)(&staged)).await?;
        (staged, answers)
    };
    Ok(answered)
}

/// Each by itself, so that it is known which one fails.
async fn ask(steps: &Steps<'_>, request: &StageRequest<'_>, questions: &[Statement]) -> Result<Vec<Row>, PublishError> {
    let settings = Pins::timeouts(request.timeouts).and(Pins::query(request.session));
    steps.ask(settings.set("").ask()).await?;
    let mut rows = Vec::with_capacity(questions.len());
    for (nth, question) in questions.iter().enumerate() {
        let params = question.params();
        let answer = steps.ask(Ask::once(question.what(), question.text(), &params)).await;
        let row = answer.and_then(|answer| one_row(question.what(), answer.rows));
        rows.push(row.map_err(|error| error.of_question(nth))?);
    }
    Ok(rows)
}

/// The caller's statements, and COMMIT: in the flight of the last one, where a failure makes it roll back, unless an answer
/// has to be looked at first.
async fn end(
    steps: &Steps<'_>,
    transaction: &OpenTransaction<'_>,
    request: &StageRequest<'_>,
    statements: &[Statement],
) -> Result<(), PublishError> {
    let tool = Pins::tool();
    let (set, params) = (tool.set(""), statements.iter().map(Statement::params).collect::<Vec<_>>());
    let mut asks = vec![(set.ask(), None)];
    for (statement, params) in statements.iter().zip(&params) {
        asks.push((Ask::again(statement.what(), statement.text(), params), None));
    }
    if let Some((_, step)) = asks.last_mut() {
        *step = Some(probe::STAGE_MARKED);
    }
    let commit = Ask::again(COMMIT, "commit", &[]);
    let looks = statements.iter().any(Statement::needs_row);
    if !looks {
        asks.push((commit, None));
    }
    steps.check_stop(COMMIT)?;
    let answers = steps.ask_in_steps(&asks, request.probe).await?;
    if looks {
        for (statement, answer) in statements.iter().zip(answers.into_iter().skip(1)) {
            answered(statement, answer)?;
        }
        steps.ask(commit).await?;
    }
    transaction.has_ended();
    Ok(())
}

const COMMIT: &str = "commit the staging table";

pub(crate) async fn fill(
    steps: &mut Steps<'_>,
    request: &StageRequest<'_>,
    questions: &[Statement],
) -> Result<(Staged, Vec<Row>), PublishError> {
    let StageRequest { target, columns, query, staging, .. } = request;
    let mut begin = Pins::timeouts(request.timeouts).and(Pins::query(request.session));
    // a crash that loses this transaction loses the rows with their record: nothing is gained by waiting for the disk
    begin.push("synchronous_commit", "off");
    let who = identity_columns();
    let (set, check) = (begin.set(&who), begin.check_with(&who));
    let owner = request.owner.map_or("", |owner| owner.as_str());
    let names: [Param<'_>; 2] = [(&owner as _, Type::TEXT), (&staging.schema.as_str() as _, Type::TEXT)];
    let (comes_again, make) = match request.place {
        Place::New(mode) => (false, mode.create(staging, &target.table, columns.columns())),
        Place::Spent(Emptying::Delete) => (true, format!("delete from {staging}")),
        Place::Spent(Emptying::Truncate) => (true, format!("truncate table {staging}")),
    };
    let head = format!("insert into {staging} ({}) select {}", columns.list(""), columns.list("q."));
    let (insert, values) = (query.wrapped(&head), query.params());
    let text = checksum::statement(staging, columns.columns(), None);
    let settings = Pins::timeouts(request.timeouts).and(Pins::tool()).and(Pins::checksum());
    let (checked, own) = (check.params(), settings.set(""));
    let wanted: Vec<&str> = columns.columns().iter().map(Identifier::as_str).collect();
    let (schema, table) = (staging.schema.as_str(), staging.table.as_str());
    let (target_schema, target_table) = (target.table.schema.as_str(), target.table.table.as_str());
    let fits: [Param<'_>; 5] = [
        (&schema as _, Type::TEXT),
        (&table as _, Type::TEXT),
        (&target_schema as _, Type::TEXT),
        (&target_table as _, Type::TEXT),
        (&wanted as _, Type::TEXT_ARRAY),
    ];
    let mut asks = Vec::with_capacity(7);
    if comes_again {
        // the target may have been altered since the table was made, and so may the table
        asks.push((Ask::again(EMPTY, include_str!("../sql/spent_fits.sql"), &fits), None));
    }
    let before_answers = asks.len() + 2;
    asks.extend([
        (Ask::repeated(comes_again, if comes_again { EMPTY } else { "create the staging table" }, &make, &[]), None),
        // never prepared: the plan for these values is worth more than what planning costs
        (Ask::once(QUERY, &insert, &values), Some(probe::STAGE_FILLED)),
        (check.ask(&checked), None),
        (own.ask(), None),
        (Ask::repeated(comes_again, checksum::READ, &text, &[]), None),
    ]);
    if !comes_again && request.owner.is_some() {
        let may_hand_over = include_str!("../sql/may_hand_over.sql");
        asks.push((Ask::again("look up the owner of staging tables", may_hand_over, &names), None));
    }
    let placed = |error: PublishError| match error.what() {
        QUERY => query.locate(&head, error),
        // prepared before the table was looked at
        checksum::READ if comes_again => error.at_step(EMPTY),
        _ => error,
    };
    // questions come behind the look at what the query has moved, and before the settings are the tool's again
    let first = if questions.is_empty() { asks.len() } else { before_answers + 1 };
    let (pinned, before, mut answers) = set.then(steps, request.probe, None, &asks[..first]).await.map_err(placed)?;
    let mut rows = Vec::new();
    if !questions.is_empty() {
        rows = ask(steps, request, questions).await?;
        let (_, after) = check.read(&pinned, steps.ask(check.ask(&checked)).await?)?;
        if let Some(name) = identity_moved(&identity_of(&before)?, &identity_of(&after)?) {
            return Err(PublishError::new(QUERY, ErrorKind::SettingMoved { name }));
        }
        answers.extend(steps.ask_in_steps(&asks[first..], request.probe).await.map_err(placed)?);
    }

    let mut answers = answers.into_iter().skip(before_answers);
    let mut next = || answers.next().ok_or_else(|| PublishError::new(QUERY, ErrorKind::NoRow));
    let (settings_moved, after) = check.read(&pinned, next()?)?;
    if let Some(name) = identity_moved(&identity_of(&before)?, &identity_of(&after)?) {
        return Err(PublishError::new(QUERY, ErrorKind::SettingMoved { name }));
    }
    next()?;
    let content = checksum::content(next()?)?;
    let answer = answers.next();
    // no row: there is no such role
    if let (Some(owner), Some(row)) = (request.owner, answer.as_ref().and_then(|answer| answer.rows.first()))
        && get::<bool>(row, 0)?
    {
        steps.execute("hand the staging table over", &format!("alter table {staging} owner to {owner}"), &[]).await?;
    }
    Ok((Staged { relation: (*staging).clone(), content, settings_moved, comes_again }, rows))
}

/// The step that empties a table which is used again.
pub const EMPTY: &str = "empty the staging table";
/// The step that runs the user's query.
pub const QUERY: &str = "run the query into the staging table";

/// Settings that say who acts and whether triggers fire. The query must leave them alone: they cannot be pinned
/// without knowing what the caller meant them to be.
const IDENTITY: [&str; 3] = ["role", "session_replication_role", "session_authorization"];

fn identity_columns() -> String {
    IDENTITY.map(|name| format!("pg_catalog.current_setting('{name}', true)")).join(", ")
}

/// They are the last columns of the row.
fn identity_of(row: &Row) -> Result<Vec<Option<String>>, PublishError> {
    let first = row.len().saturating_sub(IDENTITY.len());
    (first..row.len()).map(|index| get(row, index)).collect()
}

fn identity_moved(before: &[Option<String>], after: &[Option<String>]) -> Option<String> {
    IDENTITY
        .iter()
        .zip(before.iter().zip(after))
        .find_map(|(name, (before, after))| (before != after).then(|| (*name).to_owned()))
}

/// Whether the staging table still holds what was recorded: it exists, its columns are those a new one would get, and
/// count and checksum are equal. An unlogged table is there but empty after a crash of the server.
pub async fn verify_staging(
    client: &mut Client,
    staged: &Staged,
    target: &Target,
    columns: &ColumnMap,
    timeouts: &Timeouts,
    stop: &CancellationToken,
) -> Result<bool, PublishError> {
    let transaction = client
        .build_transaction()
        .read_only(true)
        .start()
        .await
        .map_err(|error| PublishError::driver("begin", error))?;
    let whole = {
        let mut steps = Steps::new(&transaction, stop);
        let settings = Pins::timeouts(timeouts).and(Pins::tool()).and(Pins::checksum());
        let pinned = pin(&steps, &settings).await?;
        steps.limit(pinned.statement_timeout());
        is_whole(&steps, staged, target, columns, (&settings.check(), &pinned)).await?
    };
    transaction.rollback().await.map_err(|error| PublishError::driver("end the reading transaction", error))?;
    Ok(whole)
}

async fn is_whole(
    steps: &Steps<'_>,
    staged: &Staged,
    target: &Target,
    columns: &ColumnMap,
    (check, pinned): (&CheckPins, &Pinned),
) -> Result<bool, PublishError> {
    let names: Vec<&str> = columns.columns().iter().map(Identifier::as_str).collect();
    let relation = &staged.relation;
    let same = steps
        .row(
            "compare the staging table with the target",
            include_str!("../sql/same_columns.sql"),
            &[
                (&relation.schema.as_str() as _, Type::TEXT),
                (&relation.table.as_str() as _, Type::TEXT),
                (&target.oid as _, Type::OID),
                (&names as _, Type::TEXT_ARRAY),
            ],
        )
        .await?;
    if !get::<bool>(&same, 0)? {
        return Ok(false);
    }
    let checked = check.params();
    check.verify(pinned, steps.ask(check.ask(&checked)).await?)?;
    let content = checksum::read(steps, &checksum::statement(relation, columns.columns(), None), &[]).await?;
    Ok(content == staged.content)
}

/// Drops staging tables that are there, all or none. Waits for locks no longer than `timeouts` says.
///
/// A DROP waits for the disk whatever `synchronous_commit` says, so several small tables at a time cost little more than one.
pub async fn drop_staging(
    client: &mut Client,
    names: &[StagingName],
    timeouts: &Timeouts,
    stop: &CancellationToken,
) -> Result<(), PublishError> {
    let tables: Vec<String> = names.iter().map(|name| name.table().to_string()).collect();
    if tables.is_empty() {
        return Ok(());
    }
    let transaction = OpenTransaction::new(client, READ_COMMITTED);
    {
        let steps = Steps::opening(&transaction, stop);
        let text = format!("drop table if exists {}", tables.join(", "));
        pin_then(&steps, &Pins::timeouts(timeouts).and(Pins::tool()), Ask::once(DROP, &text, &[])).await?;
    }
    transaction.commit().await.map_err(|error| PublishError::driver(DROP, error))
}

/// Drops one staging table, if `still_unused` returns a row once nobody else has a lock on it: whoever filled it in the
/// meantime has committed by then. False: it is in use, or gone.
pub async fn drop_unused_staging(
    client: &mut Client,
    name: &StagingName,
    still_unused: &Statement,
    timeouts: &Timeouts,
    stop: &CancellationToken,
) -> Result<bool, PublishError> {
    let transaction = OpenTransaction::new(client, READ_COMMITTED);
    let dropped = {
        let steps = Steps::opening(&transaction, stop);
        let lock = format!("lock table {} in access exclusive mode", name.table());
        let locked = pin_then(&steps, &Pins::timeouts(timeouts).and(Pins::tool()), Ask::once(DROP, &lock, &[])).await;
        match locked {
            Err(error) if error.sqlstate().is_some_and(|code| code.as_str() == "42P01") => return Ok(false),
            locked => drop(locked?),
        }
        let params = still_unused.params();
        let unused = !steps.rows(still_unused.what(), still_unused.text(), &params).await?.is_empty();
        if unused {
            steps.execute(DROP, &format!("drop table {}", name.table()), &[]).await?;
        }
        unused
    };
    transaction.commit().await.map_err(|error| PublishError::driver(DROP, error))?;
    Ok(dropped)
}

const DROP: &str = "drop staging tables";

#[cfg(test)]
mod tests {
    use super::StagingName;

    #[test]
    fn names_are_short_distinct_and_read_back() {
        let one = StagingName::of("1", "23").unwrap();
        let other = StagingName::of("12", "3").unwrap();
        assert_ne!(one, other);
        assert!(one.table().table.as_str().len() <= 63);
        assert_eq!(StagingName::parse(&one.to_string()).unwrap(), one);
        let prepared = StagingName::prepared(12).unwrap();
        assert_eq!(StagingName::parse("thrice_staging.p_12").unwrap(), prepared);
        assert!(prepared.is_prepared() && !one.is_prepared());
    }

    #[test]
    fn only_staging_names_are_read_back() {
        for text in [
            "public.orders",
            "thrice_staging.orders",
            "thrice_staging.s_00; drop table x",
            "thrice_staging.s_",
            "thrice_staging.p_",
            "thrice_staging.p_1x",
            "thrice_staging.p_-1",
            "thrice_staging.p_01",
        ] {
            assert!(StagingName::parse(text).is_err(), "{text}");
        }
    }
}
