//! Why a partition stands where it stands: the causes behind its status, and what would change it. Pure; sentences are
//! made elsewhere.

use crate::code::ErrorCode;
use crate::due::{CatchUp, DuePolicy, NotDue};
use crate::failure_class::FailureClass;
use crate::late_policy::Maturity;
use crate::partition_status::{PartitionFacts, PartitionStatus, Waiting};
use crate::run_state::RunState;
use crate::schedule::Partition;
use crate::time::Timestamp;

/// Everything that the answer is made from.
#[derive(Debug, Clone)]
pub struct Question<'a> {
    /// The partition.
    pub partition: &'a Partition,
    /// When the pipeline's partitions fall due.
    pub policy: &'a DuePolicy,
    /// The instant that the question is about.
    pub as_of: Timestamp,
    /// What the ledger knows, in short.
    pub facts: PartitionFacts,
    /// The pipeline is paused.
    pub paused: bool,
    /// `thrice run` would take it by itself: it is within the catch-up.
    pub within_catch_up: bool,
    /// Who has it.
    pub holder: Option<Holder>,
    /// Its run that has not ended.
    pub open_run: Option<OpenRun>,
    /// The runs that failed since it was last published or asked for, oldest first.
    pub failures: Vec<FailedRun>,
    /// Most runs in a row that the retry policy allows.
    pub most_tries: u32,
    /// The receipt that readers see.
    pub receipt: Option<Receipt>,
    /// When it was closed.
    pub closed_at: Option<Timestamp>,
    /// What the late-data policy says of it, where it is published.
    pub late: Option<LateData>,
}

/// What the late-data policy says of a published partition.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct LateData {
    /// The newest revisit that is due and not made.
    pub due: Option<u32>,
    /// The next revisit, and when it falls due.
    pub next: Option<(u32, Timestamp)>,
    /// With the publish of this revisit it closes.
    pub close_after: Option<u32>,
}

/// A worker that has claimed the partition.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Holder {
    /// On which host.
    pub host: Option<String>,
    /// As which process.
    pub os_pid: Option<i32>,
    /// Since when.
    pub since: Option<Timestamp>,
    /// Its lease ends here, unless it is renewed.
    pub lease_until: Option<Timestamp>,
    /// Its session and its lease exist.
    pub alive: bool,
}

/// A run that has not ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OpenRun {
    /// Its number among the runs of the partition.
    pub attempt_no: i32,
    /// How far it is.
    pub state: RunState,
    /// When it began.
    pub started_at: Option<Timestamp>,
}

/// A run that failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FailedRun {
    /// Its number among the runs of the partition.
    pub attempt_no: i32,
    /// Why it failed.
    pub class: Option<FailureClass>,
    /// The code that people look up.
    pub code: Option<ErrorCode>,
    /// The server's code.
    pub sqlstate: Option<String>,
    /// What happened, as the ledger keeps it.
    pub message: Option<String>,
    /// When it ended.
    pub finished_at: Option<Timestamp>,
    /// It ran other code than today's.
    pub other_code: bool,
}

/// What was published.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Receipt {
    /// When.
    pub published_at: Option<Timestamp>,
    /// How many rows.
    pub rows: Option<i64>,
}

/// What a run is doing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// Claimed, and no run has begun.
    Claimed,
    /// The query fills the staging table.
    Staging,
    /// The staged rows are checked.
    Checking,
    /// The checked rows are published.
    Publishing,
    /// COMMIT was sent.
    Committing,
}

impl Step {
    /// The step that an open run is at.
    pub const fn of(run: Option<&OpenRun>) -> Self {
        match run {
            None => Self::Claimed,
            Some(run) => match run.state {
                RunState::Started => Self::Staging,
                RunState::Staged => Self::Checking,
                RunState::Unknown => Self::Committing,
                RunState::Validated | RunState::Published | RunState::Failed => Self::Publishing,
            },
        }
    }

    /// The word of `--json`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Claimed => "claimed",
            Self::Staging => "staging",
            Self::Checking => "checking",
            Self::Publishing => "publishing",
            Self::Committing => "committing",
        }
    }
}

/// Whether a failed partition is tried again by itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Again {
    /// The next `thrice run` from this instant on.
    At(Timestamp),
    /// The next `thrice run`.
    Next,
    /// The next `thrice run`, because the code is not the one that failed.
    NewCode,
    /// Not by itself: its class would fail the same way again, or wants a person.
    NotThisClass,
    /// Not by itself: the retries are used up.
    UsedUp,
}

/// One cause of a status.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Cause {
    /// It is due, and nothing keeps it back.
    Due {
        /// Since when.
        since: Timestamp,
    },
    /// Its interval goes on.
    End {
        /// Until when.
        until: Timestamp,
    },
    /// The delay after its end is not over.
    Delay {
        /// Until when.
        until: Timestamp,
    },
    /// A retry has its time.
    Retry {
        /// When.
        until: Timestamp,
    },
    /// It lies before the pipeline's start.
    BeforeStart {
        /// The start.
        start: Timestamp,
    },
    /// It lies after the pipeline's end.
    AfterEnd {
        /// The end.
        end: Timestamp,
    },
    /// The pipeline is paused.
    Paused,
    /// It is older than what `thrice run` catches up.
    CatchUp {
        /// How many missed intervals it catches up.
        most: u32,
    },
    /// A living worker has it.
    Claimed {
        /// Who.
        holder: Holder,
        /// What it is doing.
        step: Step,
        /// Its run.
        run: Option<OpenRun>,
    },
    /// A worker that is gone had it.
    DeadWorker {
        /// Who.
        holder: Holder,
        /// How far it came.
        step: Step,
        /// Its run.
        run: Option<OpenRun>,
    },
    /// A run was left open, and nobody has the partition.
    LeftOpen {
        /// The run.
        run: OpenRun,
    },
    /// COMMIT was sent and its answer is missing.
    OutcomeUnknown {
        /// The run.
        run: OpenRun,
    },
    /// Its last run failed.
    Failed {
        /// The last run.
        run: FailedRun,
        /// The runs that failed in a row, this one included.
        tries: Vec<i32>,
        /// Most runs in a row.
        most: u32,
        /// Whether it is tried again by itself.
        again: Again,
        /// Readers see what an earlier run published.
        over_published: bool,
    },
    /// Readers see it.
    Published {
        /// Its receipt.
        receipt: Receipt,
    },
    /// It was published with no rows.
    Empty,
    /// Other code than today's made its rows.
    OutdatedCode,
    /// Late rows may be there: a revisit is due and not made.
    RevisitDue {
        /// How many intervals after it.
        revisit: u32,
    },
    /// It is made again for late rows.
    NextRevisit {
        /// How many intervals after it.
        revisit: u32,
        /// When that one falls due.
        at: Timestamp,
        /// It closes with that publish.
        closes: bool,
    },
    /// Nothing may change it.
    Closed {
        /// Since when.
        since: Option<Timestamp>,
    },
}

impl Cause {
    /// The word of `--json`.
    pub const fn kind(&self) -> &'static str {
        match self {
            Self::Due { .. } => "due",
            Self::End { .. } => "end",
            Self::Delay { .. } => "delay",
            Self::Retry { .. } => "retry",
            Self::BeforeStart { .. } => "before_start",
            Self::AfterEnd { .. } => "after_end",
            Self::Paused => "paused",
            Self::CatchUp { .. } => "catch_up",
            Self::Claimed { .. } => "claimed",
            Self::DeadWorker { .. } => "dead_worker",
            Self::LeftOpen { .. } => "left_open",
            Self::OutcomeUnknown { .. } => "outcome_unknown",
            Self::Failed { over_published: true, .. } => "last_run_failed",
            Self::Failed { over_published: false, .. } => "failed",
            Self::Published { .. } => "published",
            Self::Empty => "empty",
            Self::OutdatedCode => "outdated_code",
            Self::RevisitDue { .. } => "revisit_due",
            Self::NextRevisit { .. } => "next_revisit",
            Self::Closed { .. } => "closed",
        }
    }

    /// The instant at which this cause ends by itself, where it has one.
    pub const fn until(&self) -> Option<Timestamp> {
        match self {
            Self::End { until }
            | Self::Delay { until }
            | Self::Retry { until }
            | Self::NextRevisit { at: until, .. } => Some(*until),
            Self::Due { .. }
            | Self::BeforeStart { .. }
            | Self::AfterEnd { .. }
            | Self::Paused
            | Self::CatchUp { .. }
            | Self::Claimed { .. }
            | Self::DeadWorker { .. }
            | Self::LeftOpen { .. }
            | Self::OutcomeUnknown { .. }
            | Self::Failed { .. }
            | Self::Published { .. }
            | Self::Empty
            | Self::OutdatedCode
            | Self::RevisitDue { .. }
            | Self::Closed { .. } => None,
        }
    }
}

/// What a person can do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Action {
    /// The next `thrice run` takes it by itself.
    RunDue,
    /// Name it: `thrice run P K`.
    RunNamed,
    /// Name it without waiting for its delay.
    RunEarly,
    /// Name it, and wait for the worker that has it.
    RunAndWait,
    /// Mend what the code names, then name it.
    Mend(Option<ErrorCode>),
    /// Name it and reopen it.
    Reopen,
    /// Move the start of the pipeline.
    MoveStart,
    /// Move the end of the pipeline.
    MoveEnd,
}

/// The answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Why {
    /// Where the partition stands.
    pub status: PartitionStatus,
    /// Why, what weighs most first. Never empty.
    pub causes: Vec<Cause>,
    /// What a person can do; `None`: nothing is to be done.
    pub action: Option<Action>,
}

impl Why {
    /// Finds the causes of a partition's status.
    pub fn of(question: &Question<'_>) -> Self {
        let due = question.policy.check(question.partition, question.as_of);
        let status = PartitionStatus::derive(&question.facts, due, question.as_of);
        let mut causes = Vec::new();
        match status {
            PartitionStatus::Outside => causes.extend(due.err().map(not_due)),
            PartitionStatus::Waiting(reason) => {
                waiting(question, reason, &mut causes);
                // the catch-up counts what may start now: this one may not
                causes.extend(question.paused.then_some(Cause::Paused));
            }
            PartitionStatus::Running => running(question, &mut causes),
            PartitionStatus::Failed(_) => {
                causes.extend(failed(question));
                if matches!(causes.first(), Some(Cause::Failed { again: Again::NewCode, .. })) {
                    kept_back(question, due, &mut causes);
                }
            }
            PartitionStatus::Missing => missing(question, due, &mut causes),
            PartitionStatus::Provisional | PartitionStatus::Final | PartitionStatus::Closed => {
                published(question, &mut causes);
            }
        }
        let action = action(status, &causes);
        Self { status, causes, action }
    }
}

const fn not_due(reason: NotDue) -> Cause {
    match reason {
        NotDue::BeforeStart { start } => Cause::BeforeStart { start },
        NotDue::AfterEnd { end } => Cause::AfterEnd { end },
        NotDue::NotEnded { end } => Cause::End { until: end },
        NotDue::Delay { due_at } => Cause::Delay { until: due_at },
    }
}

fn waiting(question: &Question<'_>, reason: Waiting, causes: &mut Vec<Cause>) {
    match reason {
        Waiting::End(until) => {
            causes.push(Cause::End { until });
            let due_at = question.policy.due_at(question.partition);
            if due_at > until {
                causes.push(Cause::Delay { until: due_at });
            }
        }
        Waiting::Delay(until) => causes.push(Cause::Delay { until }),
        Waiting::Retry(until) => {
            causes.push(Cause::Retry { until });
            causes.extend(failed(question));
        }
    }
}

fn missing(question: &Question<'_>, due: Result<(), NotDue>, causes: &mut Vec<Cause>) {
    causes.push(match due {
        Ok(()) => Cause::Due { since: question.policy.due_at(question.partition) },
        Err(reason) => not_due(reason),
    });
    causes.extend(failed(question));
    if let Some(run) = question.open_run {
        causes.push(Cause::LeftOpen { run });
    }
    kept_back(question, due, causes);
}

/// What keeps `thrice run` from a partition that it would take otherwise.
fn kept_back(question: &Question<'_>, due: Result<(), NotDue>, causes: &mut Vec<Cause>) {
    if question.paused {
        causes.push(Cause::Paused);
    } else if due.is_ok()
        && !question.within_catch_up
        && let CatchUp::Newest(most) = question.policy.catch_up
    {
        causes.push(Cause::CatchUp { most });
    }
}

fn running(question: &Question<'_>, causes: &mut Vec<Cause>) {
    if let Some(run) = question.open_run.filter(|run| run.state == RunState::Unknown) {
        causes.push(Cause::OutcomeUnknown { run });
    }
    causes.extend(at_work(question));
}

/// Who has the partition, dead or alive.
fn at_work(question: &Question<'_>) -> Option<Cause> {
    if !question.facts.claimed {
        return None;
    }
    let nobody = Holder { host: None, os_pid: None, since: None, lease_until: None, alive: true };
    let holder = question.holder.clone().unwrap_or(nobody);
    let (step, run) = (Step::of(question.open_run.as_ref()), question.open_run);
    Some(if holder.alive { Cause::Claimed { holder, step, run } } else { Cause::DeadWorker { holder, step, run } })
}

/// The last run, where it failed.
fn failed(question: &Question<'_>) -> Option<Cause> {
    if !matches!(question.facts.last_run, Some((RunState::Failed, _))) {
        return None;
    }
    let run = question.failures.last()?.clone();
    let again = match (question.facts.retry_at, run.class) {
        _ if question.facts.published => Again::NotThisClass,
        (Some(at), _) if at > question.as_of => Again::At(at),
        (Some(_), _) | (None, Some(FailureClass::Abandoned)) => Again::Next,
        (None, _) if run.other_code => Again::NewCode,
        (None, Some(class)) if class.is_retried() => Again::UsedUp,
        (None, _) => Again::NotThisClass,
    };
    Some(Cause::Failed {
        run,
        tries: question.failures.iter().map(|run| run.attempt_no).collect(),
        most: question.most_tries,
        again,
        over_published: question.facts.published,
    })
}

fn published(question: &Question<'_>, causes: &mut Vec<Cause>) {
    let receipt = question.receipt.unwrap_or(Receipt { published_at: None, rows: question.facts.row_count });
    causes.push(Cause::Published { receipt });
    if question.facts.closed || question.facts.maturity == Some(Maturity::Closed) {
        causes.push(Cause::Closed { since: question.closed_at });
    } else if let Some(late) = &question.late {
        causes.extend(late.due.map(|revisit| Cause::RevisitDue { revisit }));
        if late.due.is_some()
            && !question.within_catch_up
            && let CatchUp::Newest(most) = question.policy.catch_up
        {
            causes.push(Cause::CatchUp { most });
        }
        causes.extend(late.next.map(|(revisit, at)| {
            let closes = late.close_after.is_some_and(|close_after| close_after <= revisit);
            Cause::NextRevisit { revisit, at, closes }
        }));
    }
    if question.facts.row_count == Some(0) {
        causes.push(Cause::Empty);
    }
    if question.facts.other_code {
        causes.push(Cause::OutdatedCode);
    }
    if let Some(run) = question.open_run.filter(|run| run.state == RunState::Unknown) {
        causes.push(Cause::OutcomeUnknown { run });
    }
    causes.extend(at_work(question));
    causes.extend(failed(question));
}

/// What helps most, given all causes.
fn action(status: PartitionStatus, causes: &[Cause]) -> Option<Action> {
    let has = |kind: &str| causes.iter().any(|cause| cause.kind() == kind);
    let failed = causes.iter().find_map(|cause| {
        let Cause::Failed { run, again, .. } = cause else { return None };
        Some((run.code, *again))
    });
    let by_itself = if has("paused") || has("catch_up") { Action::RunNamed } else { Action::RunDue };
    Some(match status {
        PartitionStatus::Outside if has("after_end") => Action::MoveEnd,
        PartitionStatus::Outside => Action::MoveStart,
        PartitionStatus::Waiting(Waiting::End(_)) => return None,
        PartitionStatus::Waiting(Waiting::Delay(_)) => Action::RunEarly,
        PartitionStatus::Waiting(Waiting::Retry(_)) => Action::RunNamed,
        // it asks the ledger first, and takes over from a worker that is gone
        PartitionStatus::Running if has("dead_worker") || !has("claimed") => Action::RunNamed,
        PartitionStatus::Running => Action::RunAndWait,
        PartitionStatus::Missing if has("end") => return None,
        PartitionStatus::Missing if has("delay") => Action::RunEarly,
        PartitionStatus::Missing => by_itself,
        PartitionStatus::Failed(_) => match failed {
            Some((_, Again::NewCode)) => by_itself,
            Some((_, Again::UsedUp)) | None => Action::RunNamed,
            Some((code, _)) => Action::Mend(code),
        },
        PartitionStatus::Closed => {
            return (has("outdated_code") || has("last_run_failed")).then_some(Action::Reopen);
        }
        PartitionStatus::Provisional | PartitionStatus::Final => match failed {
            _ if has("claimed") => return None,
            _ if has("dead_worker") || has("outcome_unknown") => Action::RunNamed,
            Some((code, _)) => Action::Mend(code),
            None if has("revisit_due") => by_itself,
            None if has("outdated_code") => Action::RunNamed,
            None => return None,
        },
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::grain::Grain;
    use crate::schedule::Schedule;
    use crate::time::Zone;
    use std::time::Duration;

    fn at(text: &str) -> Timestamp {
        text.parse().unwrap()
    }

    fn day() -> Partition {
        Schedule::new(Grain::Day, Zone::named("Asia/Seoul").unwrap()).partition_for_key("2026-03-24").unwrap()
    }

    fn policy() -> DuePolicy {
        DuePolicy {
            start: at("2026-03-01T00:00:00+09:00"),
            end: None,
            delay: Duration::from_mins(130),
            catch_up: CatchUp::Newest(7),
        }
    }

    /// The answer of a question that a test has changed in what it is about.
    fn why(change: impl FnOnce(&mut Question<'_>)) -> Why {
        let (partition, policy) = (day(), policy());
        let mut question = Question {
            partition: &partition,
            policy: &policy,
            as_of: at("2026-03-26T12:00:00+09:00"),
            facts: PartitionFacts::default(),
            paused: false,
            within_catch_up: true,
            holder: None,
            open_run: None,
            failures: Vec::new(),
            most_tries: 3,
            receipt: None,
            closed_at: None,
            late: None,
        };
        change(&mut question);
        Why::of(&question)
    }

    fn kinds(why: &Why) -> Vec<&'static str> {
        why.causes.iter().map(Cause::kind).collect()
    }

    fn failed_with(question: &mut Question<'_>, class: FailureClass, code: ErrorCode) {
        question.facts.last_run = Some((RunState::Failed, Some(class)));
        question.failures.push(FailedRun {
            attempt_no: 1,
            class: Some(class),
            code: Some(code),
            sqlstate: None,
            message: None,
            finished_at: None,
            other_code: false,
        });
    }

    fn again(why: &Why) -> Again {
        why.causes
            .iter()
            .find_map(|cause| {
                let Cause::Failed { again, .. } = cause else { return None };
                Some(*again)
            })
            .unwrap()
    }

    #[test]
    fn a_missing_partition_says_since_when_it_is_due_and_what_keeps_it_back() {
        let open = why(|_| {});
        assert_eq!(open.causes, [Cause::Due { since: at("2026-03-25T02:10:00+09:00") }]);
        assert_eq!(open.action, Some(Action::RunDue));
        let paused = why(|question| question.paused = true);
        assert_eq!((kinds(&paused), paused.action), (vec!["due", "paused"], Some(Action::RunNamed)));
        let old = why(|question| question.within_catch_up = false);
        assert_eq!((kinds(&old), old.action), (vec!["due", "catch_up"], Some(Action::RunNamed)));
    }

    #[test]
    fn an_interval_that_goes_on_also_tells_of_its_delay() {
        let going_on = why(|question| question.as_of = at("2026-03-24T12:00:00+09:00"));
        let untils: Vec<_> = going_on.causes.iter().map(Cause::until).collect();
        assert_eq!(kinds(&going_on), ["end", "delay"]);
        assert_eq!(untils, [Some(at("2026-03-25T00:00:00+09:00")), Some(at("2026-03-25T02:10:00+09:00"))]);
        assert_eq!(going_on.action, None);
        let late = why(|question| question.as_of = at("2026-03-25T01:00:00+09:00"));
        assert_eq!((kinds(&late), late.action), (vec!["delay"], Some(Action::RunEarly)));
    }

    #[test]
    fn outside_of_start_and_end() {
        let early = at("2026-04-01T00:00:00+09:00");
        let partition = day();
        for (policy, kind, action) in [
            (DuePolicy { start: early, ..policy() }, "before_start", Action::MoveStart),
            (DuePolicy { end: Some(at("2026-03-20T00:00:00+09:00")), ..policy() }, "after_end", Action::MoveEnd),
        ] {
            let question = |base: Question<'_>| Why::of(&Question { partition: &partition, policy: &policy, ..base });
            let answer = question(Question {
                partition: &partition,
                policy: &policy,
                as_of: at("2026-05-01T00:00:00Z"),
                facts: PartitionFacts::default(),
                paused: false,
                within_catch_up: false,
                holder: None,
                open_run: None,
                failures: Vec::new(),
                most_tries: 3,
                receipt: None,
                closed_at: None,
                late: None,
            });
            assert_eq!((kinds(&answer), answer.action), (vec![kind], Some(action)));
        }
    }

    #[test]
    fn a_worker_at_work_and_one_that_is_gone() {
        let run = OpenRun { attempt_no: 2, state: RunState::Staged, started_at: None };
        let held = |alive| {
            why(move |question| {
                question.facts.claimed = true;
                question.facts.last_run = Some((RunState::Staged, None));
                question.open_run = Some(run);
                question.holder = Some(Holder { host: None, os_pid: Some(7), since: None, lease_until: None, alive });
            })
        };
        let (alive, dead) = (held(true), held(false));
        assert!(matches!(alive.causes.as_slice(), [Cause::Claimed { step: Step::Checking, .. }]));
        assert_eq!(alive.action, Some(Action::RunAndWait));
        assert_eq!((kinds(&dead), dead.action), (vec!["dead_worker"], Some(Action::RunNamed)));
        assert_eq!(dead.status, PartitionStatus::Running);
    }

    #[test]
    fn an_open_outcome_is_asked_about_by_running_again() {
        let open = why(|question| {
            question.facts.last_run = Some((RunState::Unknown, None));
            question.open_run = Some(OpenRun { attempt_no: 1, state: RunState::Unknown, started_at: None });
        });
        assert_eq!((kinds(&open), open.action), (vec!["outcome_unknown"], Some(Action::RunNamed)));
    }

    #[test]
    fn a_failure_says_whether_it_is_tried_again_by_itself() {
        let soon = at("2026-03-26T12:00:05+09:00");
        let waits = why(|question| {
            failed_with(question, FailureClass::Transient, ErrorCode::Retried);
            question.facts.retry_at = Some(soon);
        });
        assert_eq!((kinds(&waits), again(&waits)), (vec!["retry", "failed"], Again::At(soon)));
        assert_eq!((waits.causes[0].until(), waits.action), (Some(soon), Some(Action::RunNamed)));

        let used_up = why(|question| failed_with(question, FailureClass::Transient, ErrorCode::Retried));
        assert_eq!((again(&used_up), used_up.action), (Again::UsedUp, Some(Action::RunNamed)));
        let abandoned = why(|question| failed_with(question, FailureClass::Abandoned, ErrorCode::Retried));
        assert_eq!((again(&abandoned), abandoned.action), (Again::Next, Some(Action::RunDue)));
        assert_eq!(kinds(&abandoned), ["due", "failed"]);

        let check = why(|question| failed_with(question, FailureClass::Check, ErrorCode::CheckFailed));
        assert_eq!(again(&check), Again::NotThisClass);
        assert_eq!(check.action, Some(Action::Mend(Some(ErrorCode::CheckFailed))));
        let corrected = why(|question| {
            failed_with(question, FailureClass::Check, ErrorCode::CheckFailed);
            question.failures[0].other_code = true;
        });
        assert_eq!((again(&corrected), corrected.action), (Again::NewCode, Some(Action::RunDue)));
    }

    #[test]
    fn a_published_partition_and_its_flags() {
        let published = |change: fn(&mut Question<'_>)| {
            why(move |question| {
                question.facts.published = true;
                question.facts.row_count = Some(5);
                change(question);
            })
        };
        let plain = published(|_| {});
        assert_eq!((kinds(&plain), plain.action), (vec!["published"], None));
        let outdated = published(|question| question.facts.other_code = true);
        assert_eq!((kinds(&outdated), outdated.action), (vec!["published", "outdated_code"], Some(Action::RunNamed)));
        let empty = published(|question| question.facts.row_count = Some(0));
        assert_eq!((kinds(&empty), empty.action), (vec!["published", "empty"], None));
        let failed = published(|question| failed_with(question, FailureClass::Guard, ErrorCode::EmptyOverPublished));
        assert_eq!(kinds(&failed), ["published", "last_run_failed"]);
        assert_eq!(failed.action, Some(Action::Mend(Some(ErrorCode::EmptyOverPublished))));
        let closed = published(|question| question.facts.closed = true);
        assert_eq!((kinds(&closed), closed.action), (vec!["published", "closed"], None));
        let running = published(|question| question.facts.claimed = true);
        assert_eq!((kinds(&running), running.action), (vec!["published", "claimed"], None));
    }

    #[test]
    fn a_run_that_was_left_open_does_not_hold_the_partition() {
        let left = why(|question| {
            question.facts.last_run = Some((RunState::Started, None));
            question.open_run = Some(OpenRun { attempt_no: 1, state: RunState::Started, started_at: None });
        });
        assert_eq!((kinds(&left), left.action), (vec!["due", "left_open"], Some(Action::RunDue)));
    }
}
