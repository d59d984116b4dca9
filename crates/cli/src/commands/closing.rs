//! `thrice close` and `thrice reopen`: from when on nothing changes a partition, and the way back.

use std::collections::BTreeMap;

use serde_json::json;
use thrice_core::code::ErrorCode;
use thrice_core::partition_status::PartitionStatus;
use thrice_core::schedule::Partition;
use thrice_core::time::Timestamp;

use crate::args::{Closing, Global};
use crate::commands::status::{Seen, known, statuses};
use crate::exit_code::Exit;
use crate::fault::{Fault, Outcome};
use crate::output::{Output, count_of};
use crate::project::{Loaded, Project};
use crate::{clock, database, selection};

/// Which of the two.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Direction {
    Close,
    Reopen,
}

impl Direction {
    const fn word(self) -> &'static str {
        match self {
            Self::Close => "close",
            Self::Reopen => "reopen",
        }
    }

    const fn done(self) -> &'static str {
        match self {
            Self::Close => "closed",
            Self::Reopen => "reopened",
        }
    }

    /// What became of a partition that was not changed.
    fn left(self, status: Option<PartitionStatus>) -> &'static str {
        match (self, status) {
            (Self::Close, Some(PartitionStatus::Closed)) => "closed before",
            (Self::Reopen, Some(status)) if status.is_published() => "not closed",
            _ => "not published",
        }
    }
}

pub(crate) async fn run(global: &Global, args: &Closing, direction: Direction, output: Output) -> Outcome<Exit> {
    let project = Project::load(&global.dir)?;
    let as_of = clock::as_of(global.as_of);
    let loaded = project.pipeline(&args.pipeline)?;
    let (from, to) = (args.from.as_deref(), args.to.as_deref());
    let partitions = selection::partitions(loaded, &args.keys, from, to, as_of)?;
    if partitions.is_empty() {
        let fix = format!("thrice {} {} K --reason \"…\"", direction.word(), loaded.job.name);
        return Err(Fault::new(ErrorCode::BadArgument, "no interval is named").fix(fix).into());
    }
    let reason = selection::reason_for(direction.word(), args.reason.as_deref())?;
    let database = database::find(global, Some(&project), output).await?;
    let ledger = database::ledger(&database).await?;
    let seen = statuses(&ledger, loaded, as_of).await?;
    let wanted = to_change(&partitions, &seen, direction);
    let changed = match known(&ledger, loaded).await? {
        Some(cut) if !wanted.is_empty() => {
            let actor = database::actor(&database, global);
            match direction {
                Direction::Close => ledger.close_partitions(&cut, &wanted, &actor, &reason).await?,
                Direction::Reopen => ledger.reopen_partitions(&cut, &wanted, &actor, &reason).await?,
            }
        }
        _ => Vec::new(),
    };
    let items: Vec<(&Partition, &'static str)> = partitions
        .iter()
        .map(|partition| {
            let start = partition.interval.start();
            let word = if changed.contains(&start) {
                direction.done()
            } else {
                direction.left(seen.get(&start).map(|seen| seen.status))
            };
            (partition, word)
        })
        .collect();
    tell(loaded, &items, direction, output);
    // what cannot be closed because it is not there is not what was asked for
    let refused = items.iter().any(|(_, word)| *word == "not published");
    let exit = if refused { Exit::Refused } else { Exit::Ok };
    output.object(json!({
        "schema": format!("thrice.{}/1", direction.word()),
        "pipeline": loaded.job.name,
        "items": items.iter().map(|(partition, word)| json!({
            "key": partition.key.as_str(), "outcome": word.replace(' ', "_"),
        })).collect::<Vec<_>>(),
        "exit": exit.number(),
    }));
    Ok(exit)
}

/// The starts of those that are not yet as they shall be.
fn to_change(partitions: &[Partition], seen: &BTreeMap<Timestamp, Seen>, direction: Direction) -> Vec<Timestamp> {
    let is_to_change = |start: &Timestamp| {
        seen.get(start).is_some_and(|seen| match direction {
            // the policy may say closed already; the ledger shall, too
            Direction::Close => seen.status.is_published() && !seen.marked_closed,
            Direction::Reopen => seen.status == PartitionStatus::Closed,
        })
    };
    partitions.iter().map(|partition| partition.interval.start()).filter(is_to_change).collect()
}

fn tell(loaded: &Loaded, items: &[(&Partition, &'static str)], direction: Direction, output: Output) {
    for (partition, word) in items {
        output.line(format!("{}  {}  {word}", loaded.job.name, partition.key));
    }
    let done = items.iter().filter(|(_, word)| *word == direction.done()).count();
    output.note(format!("{} of {} {}", done, count_of(items.len(), "partition"), direction.done()));
    if items.iter().any(|(_, word)| *word == "not published") {
        output.fault(
            &Fault::new(ErrorCode::RequirementNotMet, format!("what is not published cannot be {}", direction.done()))
                .why("a partition closes with the rows that stand in it")
                .fix(format!("thrice status {}", loaded.job.name)),
        );
    }
}
