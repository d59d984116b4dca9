//! Errors of the parts, in the words and codes that people see. Messages are free of row values: they may be stored.

use thrice_checks::CheckError;
use thrice_connect::ConnectError;
use thrice_core::Grain;
use thrice_core::code::ErrorCode;
use thrice_core::column_bounds::BoundsError;
use thrice_core::cron_pattern::CronPattern;
use thrice_core::duration::HumanDuration;
use thrice_core::failure_class::FailureClass;
use thrice_core::retry::{Circumstances, Decision, SideEffect, decide};
use thrice_core::sqlstate::SqlState;
use thrice_ledger::LedgerError;
use thrice_sql_publish::PublishError;
use thrice_sql_publish::error::ErrorKind;

use crate::job::Job;
use crate::report::Problem;
use crate::way_out;

/// A connection could not be made.
pub fn of_connect(error: &ConnectError) -> Problem {
    let code = ErrorCode::from_id(error.code()).unwrap_or(ErrorCode::Unreachable);
    let mut problem = Problem::new(code, error.what()).fix(error.fix());
    problem.why = error.why().map(ToOwned::to_owned);
    problem.sqlstate = error.sqlstate().and_then(SqlState::parse);
    if error.is_transient() {
        problem.class = Some(FailureClass::Transient);
    }
    problem
}

/// The ledger refused, or went away.
pub fn of_ledger(error: &LedgerError) -> Problem {
    let code =
        error.code().unwrap_or_else(|| match decide(error.sqlstate(), SideEffect::None, Circumstances::default()) {
            Decision::Fail { class: FailureClass::Transient, .. } => ErrorCode::Unreachable,
            Decision::Fail { .. } | Decision::Resolve => ErrorCode::LedgerStatement,
        });
    let mut problem = Problem::new(code, error.to_string());
    problem = way_out::of_ledger(error, problem);
    if code == ErrorCode::PrivilegeMissing {
        problem = problem.fix(
            "as the owner of schema thrice: thrice grants --print | psql \"$DATABASE_URL\"; \
             then grant thrice_worker to this login, or thrice_reader to look and no more",
        );
    }
    problem.sqlstate = error.sqlstate();
    if error.is_connection_lost() {
        problem.class = Some(FailureClass::Transient);
    }
    if code == ErrorCode::Stopped {
        problem.class = Some(FailureClass::Cancelled);
    }
    problem
}

/// The interval column's type cannot hold the boundaries of the pipeline's intervals.
pub(crate) fn of_bounds(error: &BoundsError, job: &Job) -> Problem {
    let code = match error {
        BoundsError::NotMidnight { .. } => ErrorCode::CronBesideDate,
        BoundsError::DateUnderDay { .. } | BoundsError::RepeatedHours { .. } | BoundsError::OutOfRange => {
            ErrorCode::DateColumnUnderDay
        }
        BoundsError::NoColumn { .. } | BoundsError::WholeTableHasNone => ErrorCode::ColumnsDiffer,
    };
    let column = job.interval_column.as_ref().map_or_else(|| "…".to_owned(), ToString::to_string);
    let alter = format!("alter table {} alter column {column} type timestamptz …", job.target);
    let pattern = if let Grain::Cron(pattern) = job.schedule.grain() { Some(pattern) } else { None };
    let daily = pattern.and_then(CronPattern::daily_at).map(|time| HumanDuration::from_seconds(time.as_secs()));
    let (why, fix) = match (error, daily) {
        (BoundsError::NotMidnight { .. }, Some(delay)) => (
            "cron sets what an interval covers, not when it runs; rows of one date would belong to two intervals",
            format!(
                "grain = \"day\" and delay = \"{delay}\" instead of cron, where whole days are meant; else {alter}"
            ),
        ),
        (BoundsError::NotMidnight { .. }, None) => {
            ("cron sets what an interval covers; rows of one date would belong to two intervals", alter)
        }
        (BoundsError::RepeatedHours { .. }, _) => (
            "rows of neighbouring intervals could not be told apart",
            format!("{alter}; or, where no hour comes twice any more, a later start in [interval]"),
        ),
        (BoundsError::DateUnderDay { .. } | BoundsError::OutOfRange, _) => {
            ("rows of neighbouring intervals could not be told apart", alter)
        }
        (BoundsError::NoColumn { .. }, _) => (
            "a publish would replace rows of other intervals",
            "name the column that places a row in an interval".to_owned(),
        ),
        (BoundsError::WholeTableHasNone, _) => {
            ("a publish replaces every row of the table", "leave the interval column out".to_owned())
        }
    };
    Problem::new(code, error.to_string()).why(why).fix(fix)
}

/// A refusal that named no error: a fault of ours.
pub(crate) fn refused_without_reason() -> Problem {
    Problem::new(ErrorCode::Bug, "the target was refused, and no finding says why").class(FailureClass::Permanent)
}

/// Changes without a version, of an interval that is older than a published one.
fn out_of_order(error: &PublishError) -> Problem {
    let later = error.asserted().unwrap_or("a later interval");
    Problem::new(
        ErrorCode::OutOfOrder,
        format!("{later} is published already, and changes of an older interval have no version"),
    )
    .why("an older change would be applied over a newer one of the same key")
    .fix("name a column that grows with every change of a key: target.version")
}

/// A statement of a step failed; nothing is known of a retry yet.
pub fn of_publish(error: &PublishError) -> Problem {
    if error.sqlstate().is_some_and(|code| code.as_str() == "TH014") {
        return out_of_order(error);
    }
    let (code, what) = match error.kind() {
        ErrorKind::ExistingRows { rows } => {
            return existing_rows(*rows);
        }
        ErrorKind::TimedOut { limit, .. } => (
            ErrorCode::TimedOut,
            format!("{}: not done within {limit:?}; it was cancelled on the server", error.what()),
        ),
        ErrorKind::Cancelled { .. } => (ErrorCode::Stopped, format!("{}: stopped", error.what())),
        ErrorKind::WrittenDiffers { .. } | ErrorKind::ReadBackDiffers { .. } => {
            (ErrorCode::WrittenDiffers, error.message())
        }
        // the rows are made anew
        ErrorKind::StagingNotWhole { .. } | ErrorKind::PartitionMoved => (ErrorCode::Retried, error.message()),
        ErrorKind::Server
        | ErrorKind::ConnectionLost
        | ErrorKind::SettingMoved { .. }
        | ErrorKind::NoRow
        | ErrorKind::NoReceipt
        | ErrorKind::NotReady
        | ErrorKind::Refused
        | ErrorKind::Driver => {
            let code = code_of(error.sqlstate(), error.is_connection_lost());
            (code, format!("{}: {}", error.what(), error.message()))
        }
        _ => (ErrorCode::SqlFailed, format!("{}: {}", error.what(), error.message())),
    };
    let mut problem = Problem::new(code, what);
    problem.sqlstate = error.sqlstate();
    if target_is_gone(error) {
        problem.code = ErrorCode::TargetMissing;
        problem = problem
            .why("the target was there when the run began; somebody dropped or renamed it since")
            .fix("create the table again, or name another one under [target]");
    }
    if matches!(error.kind(), ErrorKind::ReadBackDiffers { .. }) {
        problem.why = Some("the interval holds other rows after the insert than were staged".to_owned());
        problem.fix = Some(
            "look for a trigger or a rule on the target that changes rows, or another writer of the interval"
                .to_owned(),
        );
    }
    if matches!(error.kind(), ErrorKind::WrittenDiffers { .. }) {
        problem.why =
            Some("staging holds every row, so the target did not take some: a trigger returned null".to_owned());
    }
    if error.is_timeout() {
        problem.fix = Some(
            "raise [timeouts] in the pipeline, or statement_timeout of the role, or make the query faster".to_owned(),
        );
    }
    if problem.fix.is_none() {
        problem.fix = way_out::of_code(code, &problem.what);
    }
    problem
}

/// No such relation (42P01), in a step of ours whose only relation that somebody else may drop is the target.
fn target_is_gone(error: &PublishError) -> bool {
    let no_relation = error.sqlstate().is_some_and(|code| code.as_str() == "42P01");
    no_relation
        && matches!(
            error.what(),
            "create the staging table"
                | "look for existing rows"
                | "compute the checksum"
                | "delete the old rows of the interval"
        )
}

/// The same, where the place in the error is a place in the user's query.
pub(crate) fn of_query(error: &PublishError) -> Problem {
    let mut problem = of_publish(error);
    problem.position = error.position();
    if problem.code == ErrorCode::SqlFailed {
        problem.fix = Some("correct the query; `thrice lint --db` asks the server without running it".to_owned());
    }
    problem
}

/// Rows that nobody accounts for.
pub(crate) fn existing_rows(rows: i64) -> Problem {
    let rows = if rows == 1 { "1 row".to_owned() } else { format!("{rows} rows") };
    Problem::new(ErrorCode::ExistingRows, format!("the interval already holds {rows} that no receipt accounts for"))
        .class(FailureClass::Guard)
        .why("nobody knows who wrote them; replacing them cannot be undone")
        .fix("record them as published: thrice adopt; or replace them: --overwrite-existing --reason \"…\"")
}

/// A check could not be evaluated.
pub(crate) fn of_check(error: &CheckError) -> Problem {
    let code = code_of(error.sqlstate(), error.is_connection_lost());
    let mut problem = Problem::new(code, error.to_string());
    problem.sqlstate = error.sqlstate();
    problem.fix = way_out::of_code(code, &problem.what);
    problem
}

fn code_of(state: Option<SqlState>, lost: bool) -> ErrorCode {
    let Some(state) = state else { return if lost { ErrorCode::Unreachable } else { ErrorCode::SqlFailed } };
    match (state.class(), state.as_str()) {
        (_, "42501") => ErrorCode::PrivilegeMissing,
        (_, "25006") => ErrorCode::ReadOnlyServer,
        (_, "57014") => ErrorCode::TimedOut,
        (_, "TH002") => ErrorCode::Fenced,
        (_, "TH003") => ErrorCode::Closed,
        (_, "TH014") => ErrorCode::OutOfOrder,
        (_, "TH011" | "TH012" | "TH013") => ErrorCode::WrittenDiffers,
        (_, "TH010") => ErrorCode::LedgerStatement,
        (_, "XX001" | "XX002") => ErrorCode::DamagedServer,
        ("53", _) | (_, "58P01" | "58030") => ErrorCode::ServerExhausted,
        ("22", _) => ErrorCode::ValueDoesNotFit,
        ("23", _) => ErrorCode::ConstraintViolated,
        ("08", _) | (_, "57P01" | "57P02" | "57P03" | "57P05") => ErrorCode::Unreachable,
        (_, "40001" | "40P01" | "55P03" | "55006" | "25P03" | "25P04") => ErrorCode::Retried,
        _ => ErrorCode::SqlFailed,
    }
}
