//! Late data as a contract: when a published partition is made again, and from when on it stands.
//!
//! Revisit k of a partition is due when its k-th following interval is due: with `revisit = [1, 3]` a day is made again
//! with the next day and with the third day after it, D+1 and D+3. The run of a revisit sees all that came until then, so
//! one recomputation serves every revisit that was missed before it. The receipt carries the last revisit that was due
//! when the rows were made ([`LatePolicy::reached`]); a run that a person asked for counts in the same way.
//!
//! Pure: functions of the schedule, the policy, what the receipt says, and `as_of`. Intervals that follow the
//! pipeline's end count as well: its last partitions are corrected as all others.

use crate::due::DuePolicy;
use crate::failure_class::words;
use crate::schedule::{Partition, Schedule};
use crate::time::Timestamp;

/// The furthest revisit: about a year of hours.
pub const MOST: u32 = 10_000;

/// Which following intervals make a partition again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Revisits {
    /// `revisit`: these, rising.
    List(Vec<u32>),
    /// `window = N`: the newest N partitions are made each time, which is short for the revisits 1 to N − 1.
    Window(u32),
}

/// When a partition is made again, final and closed.
///
/// The default has no revisits: a partition is final at once and never closes.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct LatePolicy {
    revisits: Vec<u32>,
    final_after: u32,
    close_after: Option<u32>,
}

words! {
    /// How settled a published partition is.
    Maturity {
        /// A revisit is to come that may still change what counts as final.
        Provisional = "provisional",
        /// From the revisit `final_after` on.
        Final = "final",
        /// Nothing changes it, unless it is reopened with a reason.
        Closed = "closed",
    }
}

/// What the ledger says of a published partition.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Published {
    /// The revisit of its receipt: the last one that was due when its rows were made; 0 before the first.
    pub reached: u32,
    /// It was closed, by a publish or by hand, and not reopened since.
    pub closed: bool,
    /// It was reopened by hand after it closed: the policy does not close it again by the passing of time alone.
    pub reopened: bool,
    /// Its receipt was written without a policy, and `reached` is what its time says.
    pub before_policy: bool,
}

impl LatePolicy {
    /// Checks a policy as the pipeline file states it. `final_after` is the last revisit where nothing is said;
    /// without `close_after` a partition never closes. Both count following intervals, as the revisits do; 0 is the
    /// first publish. A `final_after` that is no revisit itself stands for the first revisit after it.
    ///
    /// # Errors
    /// [`LatePolicyError`].
    pub fn new(
        revisits: Revisits,
        final_after: Option<u32>,
        close_after: Option<u32>,
    ) -> Result<Self, LatePolicyError> {
        let revisits = match revisits {
            Revisits::Window(0) => return Err(LatePolicyError::NoWindow),
            Revisits::Window(window) if window - 1 > MOST => {
                return Err(LatePolicyError::TooFar { revisit: window - 1 });
            }
            Revisits::Window(window) => (1..window).collect(),
            Revisits::List(list) => list,
        };
        if revisits.first() == Some(&0) {
            return Err(LatePolicyError::Zero);
        }
        for pair in revisits.windows(2) {
            if let &[earlier, later] = pair {
                if earlier == later {
                    return Err(LatePolicyError::Twice { revisit: later });
                }
                if earlier > later {
                    return Err(LatePolicyError::Unsorted { earlier, later });
                }
            }
        }
        let last = revisits.last().copied().unwrap_or(0);
        if let Some(revisit) = [Some(last), close_after].into_iter().flatten().find(|revisit| *revisit > MOST) {
            return Err(LatePolicyError::TooFar { revisit });
        }
        let final_after = final_after.unwrap_or(last);
        if final_after > last {
            return Err(LatePolicyError::NeverFinal { final_after, last });
        }
        if let Some(close_after) = close_after.filter(|close_after| *close_after < last) {
            return Err(LatePolicyError::ClosesBeforeRevisit { close_after, last });
        }
        Ok(Self { revisits, final_after, close_after })
    }

    /// From this revisit on a partition is final.
    pub const fn final_after(&self) -> u32 {
        self.final_after
    }

    /// With this revisit a partition closes.
    pub const fn close_after(&self) -> Option<u32> {
        self.close_after
    }

    /// The last revisit, 0 where there is none.
    fn last(&self) -> u32 {
        self.revisits.last().copied().unwrap_or(0)
    }

    /// The revisits, rising.
    pub fn revisits(&self) -> &[u32] {
        &self.revisits
    }

    /// The instant at which the k-th following interval of a partition falls due; with k = 0, the partition itself.
    /// `None` past the calendar, and for a whole table, which nothing follows.
    pub fn due_at(
        &self,
        schedule: &Schedule,
        due: &DuePolicy,
        partition: &Partition,
        revisit: u32,
    ) -> Option<Timestamp> {
        following(schedule, partition).find(|(number, _)| *number == revisit).map(|(_, at)| due.due_at(&at))
    }

    /// Every revisit of a partition with the instant at which it is due, in order. Lazy.
    pub fn calendar<'a>(
        &'a self,
        schedule: &'a Schedule,
        due: &'a DuePolicy,
        partition: &Partition,
    ) -> impl Iterator<Item = (u32, Timestamp)> + 'a {
        following(schedule, partition)
            .filter(|(number, _)| self.revisits.binary_search(number).is_ok())
            .take(self.revisits.len())
            .map(|(number, at)| (number, due.due_at(&at)))
    }

    /// The last revisit that is due at `as_of`, 0 before the first: what a run at that time puts into its receipt.
    pub fn reached(&self, schedule: &Schedule, due: &DuePolicy, partition: &Partition, as_of: Timestamp) -> u32 {
        let calendar = self.calendar(schedule, due, partition);
        calendar.take_while(|(_, at)| *at <= as_of).last().map_or(0, |(revisit, _)| revisit)
    }

    /// The revisits of a published partition that are due and not made. One recomputation serves them all; none are due
    /// of a closed partition.
    pub fn revisits_due(
        &self,
        schedule: &Schedule,
        due: &DuePolicy,
        partition: &Partition,
        published: Published,
        as_of: Timestamp,
    ) -> &[u32] {
        // most partitions of a long history: no following interval is looked at
        if published.closed || published.reached >= self.last() {
            return &[];
        }
        let up_to = |revisit: u32| self.revisits.partition_point(|known| *known <= revisit);
        let (made, reached) = (up_to(published.reached), up_to(self.reached(schedule, due, partition, as_of)));
        self.revisits.get(made..reached).unwrap_or(&[])
    }

    /// The next revisit after `as_of` of a published partition, and when it is due; `None` where none is to come.
    pub fn next_revisit(
        &self,
        schedule: &Schedule,
        due: &DuePolicy,
        partition: &Partition,
        published: Published,
        as_of: Timestamp,
    ) -> Option<(u32, Timestamp)> {
        if published.closed || published.reached >= self.last() {
            return None;
        }
        self.calendar(schedule, due, partition).find(|(revisit, at)| *revisit > published.reached && *at > as_of)
    }

    /// How settled a published partition is at `as_of`.
    ///
    /// It closes with the publish of its last revisit where `close_after` is that revisit, and where `close_after` lies
    /// further out, when that following interval is due; never before its last correction was made.
    pub fn maturity(
        &self,
        schedule: &Schedule,
        due: &DuePolicy,
        partition: &Partition,
        published: Published,
        as_of: Timestamp,
    ) -> Maturity {
        let closes_by_policy = || {
            published.reached >= self.last()
                && !published.reopened
                && self.close_after.is_some_and(|close_after| {
                    published.reached >= close_after && close_after > 0
                        || self.due_at(schedule, due, partition, close_after).is_some_and(|at| at <= as_of)
                })
        };
        if published.closed || closes_by_policy() {
            Maturity::Closed
        } else if published.reached >= self.final_after {
            Maturity::Final
        } else {
            Maturity::Provisional
        }
    }

    /// The instant from which a partition closes once its last correction is made; `None` where it never does.
    pub fn closes_at(&self, schedule: &Schedule, due: &DuePolicy, partition: &Partition) -> Option<Timestamp> {
        self.due_at(schedule, due, partition, self.close_after?)
    }
}

/// A partition with the number 0, and those that follow it.
fn following<'a>(schedule: &'a Schedule, partition: &Partition) -> impl Iterator<Item = (u32, Partition)> + use<'a> {
    std::iter::successors(Some((0_u32, partition.clone())), |(number, at)| {
        schedule.next(at).map(|next| (number.saturating_add(1), next))
    })
}

/// A policy that cannot hold.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LatePolicyError {
    /// `window = 0` would make no partition at all.
    #[error("a window holds at least the newest partition: 1 revisits none, 3 is short for revisit = [1, 2]")]
    NoWindow,
    /// The partition's own publish is no revisit.
    #[error("revisit 0 is the first publish itself; the next interval is revisit 1")]
    Zero,
    /// One revisit written twice.
    #[error("revisit {revisit} is there twice")]
    Twice {
        /// Which.
        revisit: u32,
    },
    /// Revisits out of order.
    #[error("revisits rise: {later} comes before {earlier}")]
    Unsorted {
        /// The greater one, written first.
        earlier: u32,
        /// The smaller one, written after it.
        later: u32,
    },
    /// Further out than [`MOST`].
    #[error("{revisit} following intervals are more than {MOST}")]
    TooFar {
        /// Which.
        revisit: u32,
    },
    /// `final_after` greater than every revisit.
    #[error(
        "final_after = {final_after} is greater than every revisit, of which the last is {last}: the policy never becomes final"
    )]
    NeverFinal {
        /// What was written.
        final_after: u32,
        /// The last revisit; 0 where there is none.
        last: u32,
    },
    /// `close_after` smaller than a revisit, and so perhaps than `final_after`.
    #[error("close_after = {close_after} is smaller than revisit {last}: a closed partition would be revisited")]
    ClosesBeforeRevisit {
        /// What was written.
        close_after: u32,
        /// The last revisit.
        last: u32,
    },
}
