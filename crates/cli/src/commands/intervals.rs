//! `thrice intervals`: where a pipeline's intervals begin and end, when each is due and made again. Reads files only.

use serde_json::{Value, json};
use thrice_core::code::ErrorCode;
use thrice_core::due::NotDue;
use thrice_core::duration::HumanDuration;
use thrice_core::grain::Grain;
use thrice_core::schedule::Partition;
use thrice_core::time::Timestamp;

use crate::args::{Global, Intervals};
use crate::commands::ledger::table;
use crate::exit_code::Exit;
use crate::fault::{Fault, Outcome};
use crate::output::{Output, count_of};
use crate::project::{Loaded, Project};
use crate::{clock, selection};

/// What is shown unasked: so many that have ended, the one that goes on, and so many that follow it.
const ENDED: usize = 5;
const TO_COME: usize = 2;

/// So many instants fit into one answer; of a policy with thousands of revisits that is fewer intervals than of others.
const MOST_INSTANTS: usize = 1_000_000;

pub(crate) fn run(global: &Global, args: &Intervals, output: Output) -> Outcome<Exit> {
    let project = Project::load(&global.dir)?;
    let as_of = clock::as_of(global.as_of);
    let loaded = project.pipeline(&args.pipeline)?;
    let (from, to) = (args.from.as_deref(), args.to.as_deref());
    let partitions = if args.set.is_empty() && from.is_none() && to.is_none() {
        around(loaded, as_of)
    } else {
        selection::partitions(loaded, &args.set, from, to, as_of)?
    };
    let each = loaded.job.late.revisits().len() + 1;
    if partitions.len().saturating_mul(each) > MOST_INSTANTS {
        let what = format!("{} with {each} due times each are more than {MOST_INSTANTS}", partitions.len());
        return Err(Fault::new(ErrorCode::TooManyIntervals, what).fix("name a shorter range").into());
    }
    let shown: Vec<Shown> = partitions.into_iter().map(|partition| Shown::of(loaded, partition)).collect();
    output.line(about(loaded));
    output.lines(lines(loaded, &shown));
    let unusual = shown.iter().filter(|shown| shown.off() != 0).count();
    if unusual > 0 {
        let what = count_of(shown.len(), "interval");
        output.note(format!("{unusual} of {what} not as long as usual: the clocks change"));
    }
    output.object(object(loaded, &shown));
    Ok(Exit::Ok)
}

/// The last ones that have ended, the one that goes on, the next ones; moved to where the pipeline has some.
fn around(loaded: &Loaded, as_of: Timestamp) -> Vec<Partition> {
    let (schedule, due) = (&loaded.job.schedule, &loaded.due);
    let is_inside = |partition: &Partition| {
        partition.is_whole_table()
            || partition.interval.start() >= due.start && due.end.is_none_or(|end| partition.interval.end() <= end)
    };
    let at = due.end.map_or(as_of, |end| if end <= as_of { just_before(end) } else { as_of }).max(due.start);
    let current = schedule.partition_at(at);
    let mut shown: Vec<Partition> = std::iter::successors(current, |partition| schedule.previous(partition))
        .take(ENDED + 1)
        .take_while(is_inside)
        .collect();
    shown.reverse();
    let next = shown.last().cloned().into_iter();
    let next = next.flat_map(|last| std::iter::successors(schedule.next(&last), |partition| schedule.next(partition)));
    let room = ENDED + 1 + TO_COME - shown.len();
    let next: Vec<Partition> = next.take(room).take_while(is_inside).collect();
    shown.extend(next);
    shown
}

fn just_before(at: Timestamp) -> Timestamp {
    Timestamp::from_microsecond(at.as_microsecond() - 1).unwrap_or(at)
}

/// One interval with what is told of it.
struct Shown {
    partition: Partition,
    /// Its length had nobody moved the clocks.
    usual: Option<i64>,
    /// When it is due, or why it never is.
    due_at: Result<Timestamp, &'static str>,
    revisits: Vec<(u32, Timestamp)>,
}

impl Shown {
    fn of(loaded: &Loaded, partition: Partition) -> Self {
        let job = &loaded.job;
        let due_at = match loaded.due.check(&partition, Timestamp::MAX) {
            Err(NotDue::BeforeStart { .. }) => Err("before_start"),
            Err(NotDue::AfterEnd { .. }) => Err("after_end"),
            Ok(()) | Err(NotDue::NotEnded { .. } | NotDue::Delay { .. }) => Ok(loaded.due.due_at(&partition)),
        };
        let revisits =
            if due_at.is_ok() { job.late.calendar(&job.schedule, &job.due, &partition).collect() } else { Vec::new() };
        // ticks of a cron expression are as far apart as it says
        let usual = job.schedule.usual_seconds(&partition).filter(|_| !matches!(job.schedule.grain(), Grain::Cron(_)));
        Self { partition, usual, due_at, revisits }
    }

    /// Seconds by which it is longer than usual; negative where it is shorter.
    fn off(&self) -> i64 {
        self.usual.map_or(0, |usual| self.partition.interval.seconds() - usual)
    }
}

/// What holds for all of them.
fn about(loaded: &Loaded) -> String {
    let (job, schedule) = (&loaded.job, &loaded.job.schedule);
    let delay = HumanDuration::from_seconds(loaded.due.delay.as_secs());
    if selection::whole_table(loaded).is_some() {
        return format!("{}   the whole table is one partition   made anew by: thrice run {}", job.name, job.name);
    }
    let mut parts = vec![job.name.clone(), format!("{} in {}", schedule.grain(), schedule.zone())];
    parts.push(if loaded.due.delay.is_zero() {
        "due with the end".to_owned()
    } else {
        format!("due {delay} after the end")
    });
    if !job.late.revisits().is_empty() {
        parts.push(format!("final after revisit {}", job.late.final_after()));
    }
    parts.extend(job.late.close_after().map(|close| format!("closed after {close}")));
    parts.join("   ")
}

fn lines(loaded: &Loaded, shown: &[Shown]) -> Vec<String> {
    let zone = loaded.job.schedule.zone();
    let head = ["key", "start", "end", "UTC start", "UTC end", "length", "due", "revisits"];
    let mut rows = vec![head.map(ToOwned::to_owned)];
    rows.extend(shown.iter().map(|shown| {
        let interval = shown.partition.interval;
        let revisits = shown.revisits.iter().map(|(number, at)| format!("{number}: {}", zone.rfc3339(*at)));
        [
            shown.partition.key.to_string(),
            zone.rfc3339(interval.start()),
            zone.rfc3339(interval.end()),
            interval.start().to_string(),
            interval.end().to_string(),
            length(shown),
            shown.due_at.map_or_else(
                |never| format!("never, {}", never.replace('_', " the pipeline's ")),
                |at| zone.rfc3339(at),
            ),
            revisits.collect::<Vec<_>>().join("  "),
        ]
    }));
    if loaded.job.late.revisits().is_empty() {
        // an empty column would only be asked about
        for row in &mut rows {
            row[7].clear();
        }
    }
    table(&rows)
}

/// `24 h`, `23 h (-1 h)`.
fn length(shown: &Shown) -> String {
    if shown.partition.is_whole_table() {
        return "-".to_owned();
    }
    let length = span(shown.partition.interval.seconds());
    match shown.off() {
        0 => length,
        off if off < 0 => format!("{length} (-{})", span(-off)),
        off => format!("{length} (+{})", span(off)),
    }
}

/// Seconds for people: days from two of them on, hours, minutes, seconds.
fn span(seconds: i64) -> String {
    let days = if seconds >= 2 * 86_400 { seconds / 86_400 } else { 0 };
    let rest = seconds - days * 86_400;
    let parts = [(days, "d"), (rest / 3600, "h"), (rest / 60 % 60, "min"), (rest % 60, "s")];
    let parts: Vec<String> =
        parts.iter().filter(|(count, _)| *count > 0).map(|(count, unit)| format!("{count} {unit}")).collect();
    if parts.is_empty() { "0 s".to_owned() } else { parts.join(" ") }
}

fn object(loaded: &Loaded, shown: &[Shown]) -> Value {
    let (job, zone) = (&loaded.job, loaded.job.schedule.zone());
    json!({
        "schema": "thrice.intervals/1",
        "pipeline": job.name,
        "grain": job.schedule.grain().to_string(),
        "zone": zone.name(),
        "delay_seconds": loaded.due.delay.as_secs(),
        "final_after": job.late.final_after(),
        "close_after": job.late.close_after(),
        "intervals": shown.iter().map(|shown| json!({
            "interval": selection::interval_json(loaded, &shown.partition),
            "utc": {
                "start": shown.partition.interval.start().to_string(), "end": shown.partition.interval.end().to_string(),
            },
            "seconds": shown.partition.interval.seconds(),
            "usual_seconds": shown.usual,
            "due_at": shown.due_at.ok().map(|at| zone.rfc3339(at)),
            "never_due": shown.due_at.err(),
            "revisits": shown.revisits.iter().map(|(number, at)| json!({
                "revisit": number, "due_at": zone.rfc3339(*at),
            })).collect::<Vec<_>>(),
        })).collect::<Vec<_>>(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_read_like_lengths() {
        for (seconds, text) in [
            (86_400, "24 h"),
            (90_000, "25 h"),
            (84_600, "23 h 30 min"),
            (86_162, "23 h 56 min 2 s"),
            (31 * 86_400 - 3600, "30 d 23 h"),
            (300, "5 min"),
            (0, "0 s"),
        ] {
            assert_eq!(span(seconds), text);
        }
    }
}
