//! The calendar of a pipeline as text.

use std::collections::BTreeMap;

use thrice_core::grain::Grain;
use thrice_core::partition_status::PartitionStatus;
use thrice_core::schedule::Partition;
use thrice_core::time::civil;

use super::Seen;
use super::history::{History, InAll};
use crate::output::{Output, paint};
use crate::project::Loaded;

/// The calendar of one pipeline: a head line, a letter for each partition, what the letters mean, what is flagged.
pub(super) fn calendar(
    loaded: &Loaded,
    seen: &[(Partition, Seen)],
    history: &History,
    all: &InAll,
    output: Output,
) -> Vec<String> {
    let count = |wanted: &str| seen.iter().filter(|(_, seen)| seen.status.as_str() == wanted).count();
    let (fresh, newest) = history.fresh_to(loaded);
    let mut head = vec![loaded.job.name.clone(), loaded.job.schedule.zone().to_string()];
    head.push(match (&fresh, &newest) {
        (Some(fresh), Some(newest)) if fresh == newest => format!("fresh to {fresh}"),
        (Some(fresh), Some(newest)) => format!("fresh to {fresh} (gap)   newest {newest}"),
        (None, Some(newest)) => format!("not fresh: its first partition is a gap   newest {newest}"),
        (_, None) => "nothing published".to_owned(),
    });
    // of what is shown; where there is more that is not, of both
    for (status, in_all) in [("failed", all.failed), ("missing", all.missing)] {
        let here = count(status);
        head.push(if in_all > here {
            format!("{here} {status} here, {in_all} in all")
        } else {
            format!("{here} {status}")
        });
    }
    head.extend(loaded.paused.then(|| "paused".to_owned()));
    let mut lines = vec![head.join("   ")];
    let cell = |status: PartitionStatus| paint(output.color, colour(status), &status.letter().to_string());
    lines.extend(match loaded.job.schedule.grain() {
        Grain::Hour => hours(seen, &cell),
        Grain::Day => weeks(seen, &cell),
        Grain::Clock(_)
        | Grain::Week(_)
        | Grain::Month
        | Grain::Quarter
        | Grain::Year
        | Grain::Table
        | Grain::Cron(_)
        | _ => rows(seen, &cell),
    });
    lines.push(
        "C closed  F final  p provisional  R running  . missing  - waiting  ! failed  x failed: check".to_owned(),
    );
    lines.extend(flagged(seen));
    if let (Some(missing), Some((last, _))) = (&all.newest_missing, seen.last())
        && loaded
            .job
            .schedule
            .partition_for_key(missing)
            .is_ok_and(|newer| newer.interval.start() > last.interval.start())
    {
        lines.push(format!("  not shown: newer ones up to {missing} are due and missing: thrice run --dry-run"));
    }
    lines
}

/// Partitions with flags, a line each, and how many more there are.
fn flagged(seen: &[(Partition, Seen)]) -> Vec<String> {
    const SHOWN: usize = 10;
    let flagged: Vec<&(Partition, Seen)> = seen.iter().filter(|(_, seen)| !seen.flags.is_empty()).collect();
    let line = |(partition, seen): &&(Partition, Seen)| {
        let flags: Vec<&str> = seen.flags.iter().map(|flag| flag.as_str()).collect();
        format!("  {}  {}", partition.key, flags.join(", "))
    };
    let more = flagged.len().saturating_sub(SHOWN);
    let told = (more > 0).then(|| format!("  and {more} more"));
    flagged.iter().take(SHOWN).map(line).chain(told).collect()
}

/// A line a week, Monday first.
fn weeks(seen: &[(Partition, Seen)], cell: &dyn Fn(PartitionStatus) -> String) -> Vec<String> {
    let mut by_week: BTreeMap<(i16, i8), [Option<PartitionStatus>; 7]> = BTreeMap::new();
    for (partition, seen) in seen {
        let week = partition.target_date.iso_week_date();
        let day = usize::try_from(week.weekday().to_monday_zero_offset()).unwrap_or_default();
        if let Some(slot) = by_week.entry((week.year(), week.week())).or_default().get_mut(day) {
            *slot = Some(seen.status);
        }
    }
    let mut lines = vec!["            Mo Tu We Th Fr Sa Su".to_owned()];
    for ((year, week), days) in by_week {
        let monday = civil::ISOWeekDate::new(year, week, civil::Weekday::Monday)
            .map(|week| week.date().strftime("%m-%d").to_string());
        let cells: Vec<String> = days.iter().map(|day| day.map_or_else(|| " ".to_owned(), cell)).collect();
        lines.push(format!("  W{week:02} {}   {}", monday.unwrap_or_default(), cells.join("  ")).trim_end().to_owned());
    }
    lines
}

/// Twelve partitions a line, named by the first.
fn rows(seen: &[(Partition, Seen)], cell: &dyn Fn(PartitionStatus) -> String) -> Vec<String> {
    seen.chunks(12)
        .map(|line| {
            let key = line.first().map_or_else(String::new, |(partition, _)| partition.key.to_string());
            let cells: Vec<String> = line.iter().map(|(_, seen)| cell(seen.status)).collect();
            format!("  {key:<22}  {}", cells.join("  ")).trim_end().to_owned()
        })
        .collect()
}

/// A line a date; an hour that comes twice has two letters.
fn hours(seen: &[(Partition, Seen)], cell: &dyn Fn(PartitionStatus) -> String) -> Vec<String> {
    let mut by_date: BTreeMap<civil::Date, Vec<(u8, String)>> = BTreeMap::new();
    for (partition, seen) in seen {
        let hour = partition.key.as_str().get(11..13).and_then(|hour| hour.parse().ok()).unwrap_or_default();
        by_date.entry(partition.target_date).or_default().push((hour, cell(seen.status)));
    }
    let mut lines = vec!["              00    03    06    09    12    15    18    21".to_owned()];
    for (date, cells) in by_date {
        let mut line = format!("  {date}  ");
        for hour in 0..24 {
            let here: Vec<&str> = cells.iter().filter(|(of, _)| *of == hour).map(|(_, cell)| cell.as_str()).collect();
            line += &here.concat();
            line += &" ".repeat(2_usize.saturating_sub(here.len()));
        }
        lines.push(line.trim_end().to_owned());
    }
    lines
}

const fn colour(status: PartitionStatus) -> &'static str {
    match status {
        PartitionStatus::Final | PartitionStatus::Closed => "32",
        PartitionStatus::Provisional => "36",
        PartitionStatus::Running => "34",
        PartitionStatus::Failed(_) => "31;1",
        PartitionStatus::Missing => "33",
        PartitionStatus::Waiting(_) | PartitionStatus::Outside => "2",
    }
}

#[cfg(test)]
mod tests {
    use thrice_core::partition_status::{PartitionFlag, Waiting};
    use thrice_core::schedule::Schedule;
    use thrice_core::time::Zone;

    use super::*;

    fn seen(schedule: &Schedule, from: &str, letters: &str) -> Vec<(Partition, Seen)> {
        let first = schedule.partition_for_key(from).unwrap();
        let partitions = std::iter::successors(Some(first), |partition| schedule.next(partition));
        partitions
            .zip(letters.chars())
            .map(|(partition, letter)| {
                let status = match letter {
                    'F' => PartitionStatus::Final,
                    '!' => PartitionStatus::Failed(None),
                    '-' => PartitionStatus::Waiting(Waiting::End(partition.interval.end())),
                    _ => PartitionStatus::Missing,
                };
                let key = partition.key.to_string();
                let seen = Seen {
                    key,
                    status,
                    flags: Vec::new(),
                    attempt_no: None,
                    rows: None,
                    failed_with_other_code: false,
                    published: None,
                    marked_closed: false,
                    failed_over_published: None,
                };
                (partition, seen)
            })
            .collect()
    }

    fn plain(status: PartitionStatus) -> String {
        status.letter().to_string()
    }

    #[test]
    fn weeks_begin_on_monday_and_may_cross_a_year() {
        let schedule = Schedule::new(Grain::Day, Zone::named("Asia/Seoul").unwrap());
        let lines = weeks(&seen(&schedule, "2026-12-31", "F!.-"), &plain);
        assert_eq!(lines, ["            Mo Tu We Th Fr Sa Su", "  W53 12-28            F  !  .  -"]);
        let lines = weeks(&seen(&schedule, "2027-01-03", "FF"), &plain);
        assert_eq!(lines[1..], ["  W53 12-28                     F", "  W01 01-04   F"]);
    }

    #[test]
    fn flags_that_do_not_fit_are_counted() {
        let schedule = Schedule::new(Grain::Day, Zone::named("Asia/Seoul").unwrap());
        let mut days = seen(&schedule, "2026-03-11", "FFFFFFFFFFFF");
        for (_, seen) in &mut days[1..] {
            seen.flags = vec![PartitionFlag::Empty, PartitionFlag::Outdated];
        }
        let lines = flagged(&days);
        assert_eq!(lines[0], "  2026-03-12  empty, outdated");
        assert_eq!((lines.len(), lines[10].as_str()), (11, "  and 1 more"));
        assert_eq!(flagged(&days[..3]).len(), 2);
    }

    #[test]
    fn an_hour_that_comes_twice_has_two_letters_and_one_that_is_skipped_has_none() {
        let schedule = Schedule::new(Grain::Hour, Zone::named("America/New_York").unwrap());
        let twice = hours(&seen(&schedule, "2026-11-01T00", "FF!F"), &plain);
        assert_eq!(twice[1], "  2026-11-01  F F!F");
        let skipped = hours(&seen(&schedule, "2026-03-08T00", "FFF"), &plain);
        assert_eq!(skipped[1], "  2026-03-08  F F   F");
        // colour takes no place
        let painted = hours(&seen(&schedule, "2026-03-08T00", "FFF"), &|status| paint(true, "32", &plain(status)));
        assert_eq!(painted[1].replace("\u{1b}[32m", "").replace("\u{1b}[0m", ""), skipped[1]);
    }
}
