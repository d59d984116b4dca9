//! One call of `run`: takes one partition after the other, and remembers how each ended.

use std::time::Instant;

use serde_json::{Value, json};
use thrice_core::schedule::Partition;
use thrice_core::time::Timestamp;
use thrice_runner::{Prepared, RunRequest, Runner, Trigger};

use super::Taken;
use super::wording::{Lines, counts, edited, item, placed, seconds, sentence};
use crate::args::Run;
use crate::exit_code::Exit;
use crate::fault::{Failed, Fault};
use crate::output::{Output, count_of};
use crate::project::{Loaded, Project};
use crate::signals::Stop;
use crate::{prepare, selection};

/// One call: what it has done so far.
pub(super) struct Call<'p> {
    project: &'p Project,
    output: Output,
    /// Show each step, not only one line a partition.
    show: bool,
    begun: Instant,
    items: Vec<Value>,
    /// How each partition ended, in a word.
    outcomes: Vec<&'static str>,
    exits: Vec<Exit>,
    /// Partitions that failed for good earlier: they are not run, and the exit tells.
    left: Vec<Exit>,
}

impl<'p> Call<'p> {
    pub(super) fn new(project: &'p Project, output: Output, show: bool, left: Vec<Exit>) -> Self {
        Self {
            project,
            output,
            show,
            begun: Instant::now(),
            items: Vec::new(),
            outcomes: Vec::new(),
            exits: Vec::new(),
            left,
        }
    }

    pub(super) async fn pipeline(&mut self, runner: &mut Runner, taken: &Taken<'_>, request: &RunRequest, stop: &Stop) {
        let (loaded, partitions) = (taken.loaded, taken.partitions.as_slice());
        let Some(sample) = partitions.first() else { return };
        let prepared = match Box::pin(prepare::prepare(runner, self.project, loaded, sample, stop, self.output)).await {
            Ok(prepared) => prepared,
            Err(failed) => {
                self.refused(loaded, &failed);
                return;
            }
        };
        for warning in &prepared.warnings {
            if !self.output.quiet {
                self.output.fault(&Fault::of_finding(warning));
            }
        }
        if let Err(problem) = runner.sweep(&prepared, &stop.token).await {
            self.output.note(format!("warning: staging tables were not looked through: {}", problem.what));
        }
        if !self.show && partitions.len() > 1 {
            for (count, start, end) in without_gaps(partitions) {
                let span = selection::span_of(loaded, start, end);
                self.output.note(format!("{}  {} in {span}", loaded.job.name, count_of(count, "interval")));
            }
        }
        // changes without a version are applied in their order: what fails would be shut out by what comes after it
        let in_order = loaded.job.strategy.takes_changes() && loaded.job.version.is_none();
        let mut ordered: Vec<&Partition> = partitions.iter().collect();
        if in_order {
            ordered.sort_by_key(|partition| partition.interval.start());
        }
        for (nth, partition) in ordered.iter().copied().enumerate() {
            if stop.token.is_cancelled() {
                break;
            }
            let failed = nth > 0 && self.exits.last().is_some_and(|exit| *exit != Exit::Ok);
            if in_order && failed {
                let rest = count_of(ordered.len() - nth, "later interval");
                self.output.note(format!(
                    "{}: {rest} left: changes without a version are applied in their order",
                    loaded.job.name
                ));
                break;
            }
            let revisit =
                taken.is_revisit(partition).then(|| RunRequest { trigger: Trigger::Revisit, ..request.clone() });
            self.partition(runner, loaded, &prepared, partition, revisit.as_ref().unwrap_or(request), stop).await;
        }
        if let Err(problem) = runner.sweep_after_ended_runs(&prepared, &stop.token).await {
            self.output.note(format!("warning: staging tables were not looked through: {}", problem.what));
        }
    }

    async fn partition(
        &mut self,
        runner: &mut Runner,
        loaded: &Loaded,
        prepared: &Prepared,
        partition: &Partition,
        request: &RunRequest,
        stop: &Stop,
    ) {
        let (output, name) = (self.output, &loaded.job.name);
        if self.show {
            output.note(format!("{name}  {}  {}", partition.key, selection::span_text(loaded, partition)));
        }
        let begun = Instant::now();
        let mut lines = Lines { output, show: self.show };
        let report = Box::pin(runner.run_partition(prepared, partition, request, &mut lines)).await;
        self.exits.push(Exit::of_outcome(&report.outcome));
        output.line(sentence(name, &report, begun.elapsed(), output.color));
        if let Some(found) = report.outcome.done().and_then(|done| done.edited_since_receipt) {
            output.fault(&edited(loaded, partition, found));
        }
        if let Some(problem) = report.outcome.problem() {
            let mut fault = placed(loaded, partition, problem);
            fault.what = format!("{name} {}: {}", partition.key, fault.what);
            output.fault(&fault);
        }
        self.outcomes.push(report.outcome.as_str());
        if output.json {
            self.items.push(item(loaded, &report, stop.exit()));
        }
    }

    /// A pipeline that cannot be run at all does not stop the others.
    fn refused(&mut self, loaded: &Loaded, failed: &Failed) {
        self.output.note(format!("{}: nothing was run", loaded.job.name));
        for fault in &failed.0 {
            self.output.fault(fault);
        }
        self.unreadable(&loaded.job.name, &failed.0);
    }

    /// The same where it has been told already.
    pub(super) fn unreadable(&mut self, name: &str, faults: &[Fault]) {
        self.exits.push(Exit::worst(faults.iter().filter(|fault| !fault.warning).map(|fault| fault.exit)));
        self.items.push(json!({
            "pipeline": name,
            "interval": null,
            "outcome": "refused",
            "errors": faults.iter().map(Fault::json).collect::<Vec<_>>(),
        }));
    }

    pub(super) fn end(self, args: &Run, stop: &Stop) -> Exit {
        let nothing = self.exits.is_empty();
        let exit = match stop.exit() {
            Some(stopped) => stopped,
            None if nothing && self.left.is_empty() && args.detailed_exitcode => Exit::Nothing,
            None => Exit::worst(self.exits.iter().chain(&self.left).copied()),
        };
        if nothing && stop.exit().is_none() {
            self.output.note("nothing is due");
        } else if self.outcomes.len() > 1 {
            self.output.note(format!("{} in {}", counts(&self.outcomes), seconds(self.begun.elapsed())));
        }
        let causes: std::collections::BTreeSet<u8> =
            self.exits.iter().map(|exit| exit.of_signal(stop.exit()).number()).collect();
        let mut object = json!({ "schema": "thrice.run/1", "exit": exit.number(), "causes": causes });
        // moved, not copied: they may be many
        object["items"] = Value::Array(self.items);
        self.output.object(object);
        exit
    }
}

/// Runs of intervals that follow one another without a gap: how many, from where, to where; in the order of the list.
fn without_gaps(partitions: &[Partition]) -> Vec<(usize, Timestamp, Timestamp)> {
    let mut runs: Vec<(usize, Timestamp, Timestamp)> = Vec::new();
    for interval in partitions.iter().map(|partition| partition.interval) {
        match runs.last_mut() {
            Some((count, start, _)) if *start == interval.end() => (*count, *start) = (*count + 1, interval.start()),
            Some((count, _, end)) if *end == interval.start() => (*count, *end) = (*count + 1, interval.end()),
            _ => runs.push((1, interval.start(), interval.end())),
        }
    }
    runs
}

#[cfg(test)]
mod tests {
    use thrice_core::grain::Grain;
    use thrice_core::schedule::Schedule;
    use thrice_core::time::Zone;

    use super::*;

    #[test]
    fn a_gap_ends_a_run_and_the_direction_does_not_matter() {
        let schedule = Schedule::new(Grain::Day, Zone::named("UTC").unwrap());
        let counts = |days: &[&str]| -> Vec<(usize, String)> {
            let partitions: Vec<Partition> = days.iter().map(|day| schedule.partition_for_key(day).unwrap()).collect();
            let run = |(count, start, end)| (count, format!("{start} {end}").replace("T00:00:00Z", ""));
            without_gaps(&partitions).into_iter().map(run).collect()
        };
        assert_eq!(
            counts(&["2026-03-08", "2026-11-01"]),
            [(1, "2026-03-08 2026-03-09".to_owned()), (1, "2026-11-01 2026-11-02".to_owned())]
        );
        let both = [(3, "2026-03-08 2026-03-11".to_owned()), (1, "2026-03-20 2026-03-21".to_owned())];
        assert_eq!(counts(&["2026-03-08", "2026-03-09", "2026-03-10", "2026-03-20"]), both);
        assert_eq!(counts(&["2026-03-10", "2026-03-09", "2026-03-08", "2026-03-20"]), both);
    }
}
