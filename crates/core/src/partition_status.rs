//! The status of a partition: derived from what the ledger says and the time, never stored.

use crate::due::NotDue;
use crate::failure_class::{FailureClass, words};
use crate::late_policy::Maturity;
use crate::run_state::RunState;
use crate::time::Timestamp;

/// Why an unpublished partition may not start yet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Waiting {
    /// Its interval has not ended.
    End(Timestamp),
    /// The delay after its end is not over.
    Delay(Timestamp),
    /// A retry has its time.
    Retry(Timestamp),
}

/// Where a partition stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PartitionStatus {
    /// Due, and never published.
    Missing,
    /// May not start yet.
    Waiting(Waiting),
    /// A worker has it, or the outcome of its COMMIT is open.
    Running,
    /// Its last run failed, nothing is published, and nothing tries it again by itself.
    Failed(Option<FailureClass>),
    /// Published; a later correction is scheduled.
    Provisional,
    /// Published; no correction is scheduled.
    Final,
    /// Published; nothing may change it.
    Closed,
    /// Outside the pipeline's start and end.
    Outside,
}

words! {
    /// What else is to say about a partition.
    PartitionFlag {
        /// Published with no rows.
        Empty = "empty",
        /// The published rows were made by other code.
        Outdated = "outdated",
        /// The newest run failed although something is published.
        LastRunFailed = "last_run_failed",
    }
}

/// What the ledger knows about a partition, with all times by the database's clock.
#[expect(clippy::struct_excessive_bools, reason = "four independent facts, not a state")]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct PartitionFacts {
    /// It has a receipt.
    pub published: bool,
    /// Rows of the published partition.
    pub row_count: Option<i64>,
    /// Its rows were made by other code than today's.
    pub other_code: bool,
    /// It is closed.
    pub closed: bool,
    /// A living worker has it.
    pub claimed: bool,
    /// State and class of its newest run.
    pub last_run: Option<(RunState, Option<FailureClass>)>,
    /// When the next try may start.
    pub retry_at: Option<Timestamp>,
    /// How settled the published rows are by the late-data policy; `None` where there is none: final at once.
    pub maturity: Option<Maturity>,
}

impl PartitionStatus {
    /// Derives the status. `due` is the answer of [`DuePolicy::check`](crate::due::DuePolicy::check) at `as_of`.
    pub fn derive(facts: &PartitionFacts, due: Result<(), NotDue>, as_of: Timestamp) -> Self {
        if facts.published {
            return match facts.maturity {
                _ if facts.closed => Self::Closed,
                Some(Maturity::Closed) => Self::Closed,
                Some(Maturity::Provisional) => Self::Provisional,
                Some(Maturity::Final) | None => Self::Final,
            };
        }
        if facts.claimed || matches!(facts.last_run, Some((RunState::Unknown, _))) {
            return Self::Running;
        }
        if let Some((RunState::Failed, class)) = facts.last_run {
            return match facts.retry_at {
                Some(at) if at > as_of => Self::Waiting(Waiting::Retry(at)),
                Some(_) => Self::Missing,
                None if class == Some(FailureClass::Abandoned) => Self::Missing,
                None => Self::Failed(class),
            };
        }
        match due {
            Ok(()) => Self::Missing,
            Err(NotDue::NotEnded { end }) => Self::Waiting(Waiting::End(end)),
            Err(NotDue::Delay { due_at }) => Self::Waiting(Waiting::Delay(due_at)),
            Err(NotDue::BeforeStart { .. } | NotDue::AfterEnd { .. }) => Self::Outside,
        }
    }

    /// The flags that go with it.
    pub fn flags(facts: &PartitionFacts) -> Vec<PartitionFlag> {
        let last_failed = matches!(facts.last_run, Some((RunState::Failed, _)));
        [
            (facts.published && facts.row_count == Some(0), PartitionFlag::Empty),
            (facts.published && facts.other_code, PartitionFlag::Outdated),
            (facts.published && last_failed, PartitionFlag::LastRunFailed),
        ]
        .into_iter()
        .filter_map(|(holds, flag)| holds.then_some(flag))
        .collect()
    }

    /// The word of `--json`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Missing => "missing",
            Self::Waiting(_) => "waiting",
            Self::Running => "running",
            Self::Failed(_) => "failed",
            Self::Provisional => "provisional",
            Self::Final => "final",
            Self::Closed => "closed",
            Self::Outside => "outside",
        }
    }

    /// The letter in the calendar.
    pub const fn letter(self) -> char {
        match self {
            Self::Missing => '.',
            Self::Waiting(_) => '-',
            Self::Running => 'R',
            Self::Failed(Some(FailureClass::Check)) => 'x',
            Self::Failed(_) => '!',
            Self::Provisional => 'p',
            Self::Final => 'F',
            Self::Closed => 'C',
            Self::Outside => ' ',
        }
    }

    /// True where readers see a published partition.
    pub const fn is_published(self) -> bool {
        matches!(self, Self::Provisional | Self::Final | Self::Closed)
    }

    /// True for the partitions that `thrice run` leaves alone: published, running, or failed for good.
    pub const fn is_settled(self) -> bool {
        !matches!(self, Self::Missing)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Timestamp = Timestamp::UNIX_EPOCH;

    fn status(facts: PartitionFacts) -> PartitionStatus {
        PartitionStatus::derive(&facts, Ok(()), NOW)
    }

    #[test]
    fn a_published_partition_keeps_its_status_while_a_run_works_or_fails() {
        let published = PartitionFacts { published: true, ..PartitionFacts::default() };
        assert_eq!(status(published), PartitionStatus::Final);
        assert_eq!(status(PartitionFacts { claimed: true, ..published }), PartitionStatus::Final);
        let failed = PartitionFacts { last_run: Some((RunState::Failed, Some(FailureClass::Check))), ..published };
        assert_eq!(status(failed), PartitionStatus::Final);
        assert_eq!(PartitionStatus::flags(&failed), [PartitionFlag::LastRunFailed]);
        assert_eq!(status(PartitionFacts { closed: true, ..published }), PartitionStatus::Closed);
        let of = |maturity| status(PartitionFacts { maturity: Some(maturity), ..published });
        assert_eq!(of(Maturity::Provisional), PartitionStatus::Provisional);
        assert_eq!(of(Maturity::Final), PartitionStatus::Final);
        assert_eq!(of(Maturity::Closed), PartitionStatus::Closed);
    }

    #[test]
    fn an_open_outcome_is_running() {
        let open = PartitionFacts { last_run: Some((RunState::Unknown, None)), ..PartitionFacts::default() };
        assert_eq!(status(open), PartitionStatus::Running);
    }

    #[test]
    fn a_failure_waits_for_its_retry_or_for_a_person() {
        let failed = |class, retry_at| PartitionFacts {
            last_run: Some((RunState::Failed, Some(class))),
            retry_at,
            ..PartitionFacts::default()
        };
        let soon = NOW.checked_add(jiff::SignedDuration::from_secs(5)).unwrap();
        assert_eq!(status(failed(FailureClass::Transient, Some(soon))), PartitionStatus::Waiting(Waiting::Retry(soon)));
        assert_eq!(status(failed(FailureClass::Transient, Some(NOW))), PartitionStatus::Missing);
        assert_eq!(
            status(failed(FailureClass::Permanent, None)),
            PartitionStatus::Failed(Some(FailureClass::Permanent))
        );
        assert_eq!(status(failed(FailureClass::Abandoned, None)), PartitionStatus::Missing);
        assert_eq!(status(failed(FailureClass::Check, None)).letter(), 'x');
    }
}
