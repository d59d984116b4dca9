//! From a checked pipeline to what the runner takes. One field after the other: nothing is decided here.

use thrice_checks::{
    Change, Check, CheckQuery, ConstantType, Decimal, GuardLimits, Limit, OnViolation, Part, Reconciliation, RowChange,
    Rule, Severity, Share, Tolerance, Value,
};
use thrice_core::duration::HumanDuration;
use thrice_pipeline::check_query;
use thrice_pipeline::check_values::{CheckValue, Percent};
use thrice_pipeline::checks_table::{self, CheckRule};
use thrice_pipeline::guards_table::{self, GuardLimit, Guards};
use thrice_pipeline::placeholders::VarValue;
use thrice_pipeline::target_table::Columns;
use thrice_pipeline::{Pipeline, placeholders, reconcile_check, row_change};
use thrice_runner::{Job, Limits, Param};
use thrice_sql_publish::columns::ColumnsPolicy;
use thrice_sql_publish::session::Session;
use thrice_sql_publish::value::SqlValue;

/// The lane of scheduled runs; lanes of one's own are not built in this version.
const LANE: &str = "scheduled";

pub(crate) fn of(pipeline: &Pipeline) -> Job {
    let definition = pipeline.definition();
    let target = &definition.target;
    Job {
        name: definition.name.clone(),
        schedule: definition.schedule(),
        due: definition.due_policy(),
        late: definition.late_data.clone(),
        query: pipeline.query().text().to_owned(),
        params: pipeline.query().params().iter().map(param).collect(),
        target: target.table.clone(),
        strategy: target.strategy,
        version: target.version.clone(),
        operation: target.operation.clone(),
        interval_column: target.interval_column.clone(),
        key: target.key.clone(),
        published_at: target.published_at.clone(),
        columns: match target.columns {
            Columns::Exact => ColumnsPolicy::Exact,
            Columns::AllowExtraTarget => ColumnsPolicy::AllowExtraTarget,
        },
        allow_empty: target.allow_empty,
        keep_old_for: target.keep_old_for.as_std(),
        checks: definition.checks.iter().filter_map(check).collect(),
        reconciliations: definition.checks.iter().filter_map(reconciliation).collect(),
        guards: guards(definition.guards),
        retry: definition.retry,
        limits: Limits {
            stage: definition.timeouts.stage.map(HumanDuration::as_std),
            checks: definition.timeouts.checks.map(HumanDuration::as_std),
            lock: definition.timeouts.lock.map(HumanDuration::as_std),
            publish: definition.timeouts.publish.map(HumanDuration::as_std),
        },
        session: Session {
            time_zone: definition.interval.zone.name().to_owned(),
            search_path: definition.session.search_path.clone(),
            settings: definition
                .session
                .settings
                .iter()
                .map(|(name, value)| ((*name).to_owned(), value.clone()))
                .collect(),
        },
        lane: LANE.to_owned(),
        code_hash: pipeline.code_hash().as_str().as_bytes().to_vec(),
        definition: pipeline.definition_json(),
        query_text: pipeline.query().source().to_owned(),
        // of the project, not of the pipeline
        git_revision: None,
    }
}

fn param(param: &placeholders::Param) -> Param {
    match param {
        placeholders::Param::IntervalStart => Param::IntervalStart,
        placeholders::Param::IntervalEnd => Param::IntervalEnd,
        placeholders::Param::IntervalDate => Param::IntervalDate,
        placeholders::Param::Var(_, value) => Param::Value(match value {
            VarValue::Text(text) => SqlValue::Text(text.clone()),
            VarValue::Integer(integer) => SqlValue::Integer(*integer),
            VarValue::Float(float) => SqlValue::Float(*float),
            VarValue::Bool(value) => SqlValue::Boolean(*value),
            VarValue::Date(date) => SqlValue::Date(*date),
            VarValue::LocalTime(time) => SqlValue::LocalTime(*time),
            VarValue::Instant(at) => SqlValue::Instant(*at),
        }),
    }
}

fn guards(guards: Guards) -> GuardLimits {
    GuardLimits { removed: limit(guards.removed), shrink: limit(guards.shrink), changed: guards.changed.map(limit) }
}

fn limit(limit: GuardLimit) -> Limit {
    Limit {
        max: share(limit.max),
        on_violation: match limit.on_violation {
            guards_table::OnViolation::Refuse => OnViolation::Refuse,
            guards_table::OnViolation::Warn => OnViolation::Warn,
        },
    }
}

/// A percentage is at most the whole.
fn share(percent: Percent) -> Share {
    Share::millionths(percent.millionths()).unwrap_or(Share::ALL)
}

/// A check of the staged rows.
fn check(check: &checks_table::Check) -> Option<Check> {
    Some(Check { name: check.name.clone(), severity: severity(check.severity), rule: rule(&check.rule)? })
}

/// A check in the snapshot of the query.
fn reconciliation(check: &checks_table::Check) -> Option<Reconciliation> {
    let CheckRule::Reconcile { ours, theirs, tolerance } = &check.rule else { return None };
    Some(Reconciliation {
        name: check.name.clone(),
        severity: severity(check.severity),
        ours: ours.clone(),
        theirs: query(theirs),
        tolerance: match tolerance {
            reconcile_check::Tolerance::Absolute(number) => Tolerance::Absolute(Decimal::parse(number)?),
            reconcile_check::Tolerance::Relative(percent) => Tolerance::Relative(share(*percent)),
        },
    })
}

const fn severity(severity: checks_table::Severity) -> Severity {
    match severity {
        checks_table::Severity::Error => Severity::Error,
        checks_table::Severity::Warn => Severity::Warn,
    }
}

fn query(query: &check_query::CheckQuery) -> CheckQuery {
    CheckQuery(query.parts.iter().map(part).collect())
}

/// `None`: it is no rule about the staged rows alone.
fn rule(rule: &CheckRule) -> Option<Rule> {
    Some(match rule {
        CheckRule::Rows { min, max, change } => {
            Rule::Rows { min: *min, max: *max, change: change.as_ref().map(row_change) }
        }
        CheckRule::NotNull(columns) => Rule::NotNull(columns.clone()),
        CheckRule::Unique(columns) => Rule::Unique(columns.clone()),
        CheckRule::Expression(text) => Rule::Expression(text.clone()),
        CheckRule::NullRate { column, max } => Rule::NullRate { column: column.clone(), max: share(*max) },
        CheckRule::Range { column, min, max } => {
            Rule::Range { column: column.clone(), min: min.as_ref().map(value), max: max.as_ref().map(value) }
        }
        CheckRule::AcceptedValues { column, values } => {
            Rule::AcceptedValues { column: column.clone(), values: values.iter().map(value).collect() }
        }
        CheckRule::Distinct { column, min, max } => Rule::Distinct { column: column.clone(), min: *min, max: *max },
        CheckRule::Matches { column, pattern } => Rule::Matches { column: column.clone(), pattern: pattern.clone() },
        CheckRule::References { columns, table, key } => {
            Rule::References { columns: columns.clone(), table: table.clone(), key: key.clone() }
        }
        CheckRule::Freshness { column, max_age } => {
            Rule::Freshness { column: column.clone(), max_age: max_age.as_std() }
        }
        CheckRule::Sql(sql) => Rule::Query(query(sql)),
        CheckRule::Reconcile { .. } => return None,
    })
}

/// Nothing falls by more than all of it: the reader has seen to that.
fn row_change(change: &row_change::RowChange) -> RowChange {
    RowChange { least: change.least.and_then(Change::millionths), most: change.most.and_then(Change::millionths) }
}

fn value(value: &CheckValue) -> Value {
    match value {
        CheckValue::Number(text) => Value::number(text).unwrap_or_else(|| Value::text(text.clone())),
        CheckValue::Bool(value) => Value::text(value.to_string()),
        CheckValue::Text(text) => Value::text(text.clone()),
    }
}

fn part(part: &check_query::Part) -> Part {
    let value = match part {
        check_query::Part::Text(text) => return Part::Text(text.clone()),
        check_query::Part::Value(value) => value,
    };
    let constant = |text: String, of| Part::Constant { text, of };
    match value {
        placeholders::Param::IntervalStart => Part::IntervalStart,
        placeholders::Param::IntervalEnd => Part::IntervalEnd,
        placeholders::Param::IntervalDate => Part::IntervalDate,
        placeholders::Param::Var(_, value) => match value {
            VarValue::Text(text) => constant(text.clone(), ConstantType::Text),
            VarValue::Integer(integer) => constant(integer.to_string(), ConstantType::Integer),
            VarValue::Float(float) => constant(float.to_string(), ConstantType::Float),
            VarValue::Bool(value) => constant(value.to_string(), ConstantType::Boolean),
            VarValue::Date(date) => constant(date.to_string(), ConstantType::Date),
            VarValue::LocalTime(time) => constant(time.to_string(), ConstantType::LocalTime),
            VarValue::Instant(at) => constant(at.to_string(), ConstantType::Instant),
        },
    }
}
