//! `[interval]`: the grain, its zone, and which intervals there are.

use thrice_core::code::ErrorCode;
use thrice_core::due::CatchUp;
use thrice_core::duration::HumanDuration;
use thrice_core::grain::GrainError;
use thrice_core::schedule::KeyError;
use thrice_core::time::{Timestamp, civil};
use thrice_core::{Grain, Schedule, Zone};
use toml::de::DeValue;

use crate::cron_key;
use crate::diagnostic::Span;
use crate::project;
use crate::toml_reader::{Field, Reader};

/// What `run` catches up where the file says nothing.
pub const DEFAULT_CATCH_UP: CatchUp = CatchUp::Newest(7);

/// Which intervals a pipeline has, and when they are due.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IntervalRules {
    /// Length of an interval.
    pub grain: Grain,
    /// The zone whose wall clock sets the boundaries.
    pub zone: Zone,
    /// Start of the first interval.
    pub start: Timestamp,
    /// End of the last interval, exclusive; `None` where the pipeline goes on.
    pub end: Option<Timestamp>,
    /// An interval is due so long after its end.
    pub delay: HumanDuration,
    /// How many missed intervals are caught up.
    pub catch_up: CatchUp,
}

impl IntervalRules {
    /// The intervals without start and end.
    pub fn schedule(&self) -> Schedule {
        Schedule::new(self.grain.clone(), self.zone.clone())
    }
}

const USE_DAY: &str = "grain = \"day\"";

/// The grain, also where something else of the table is refused: other tables are judged by it.
pub(crate) fn read(root: &mut Reader<'_, '_>, project_zone: Option<&Zone>) -> (Option<Grain>, Option<IntervalRules>) {
    let Some(field) = root.take("interval") else {
        root.missing("interval", "[interval]\ngrain = \"day\"\nstart = \"2026-01-01\"");
        return (None, None);
    };
    let Some(mut table) = root.inside(&field) else { return (None, None) };
    table.all_not_built();
    let grain = grain(&mut table);
    let rules = rules(table, grain.clone(), project_zone);
    (grain, rules)
}

fn rules(mut table: Reader<'_, '_>, grain: Option<Grain>, project_zone: Option<&Zone>) -> Option<IntervalRules> {
    let named = project::zone(&mut table);
    let zone = if table.has("time_zone") { named } else { project_zone.cloned() };
    if zone.is_none() && !table.has("time_zone") {
        table.missing("time_zone", "time_zone = \"Asia/Seoul\" here, or for all pipelines in [project] of thrice.toml");
    }
    let schedule = grain.zip(zone).map(|(grain, zone)| Schedule::new(grain, zone));
    if schedule.as_ref().is_some_and(|schedule| *schedule.grain() == Grain::Table) {
        let rules = schedule.and_then(|schedule| whole_table(&mut table, &schedule));
        table.finish();
        return rules;
    }
    let (start, end) = (table.take("start"), table.take("end"));
    if start.is_none() {
        table.missing("start", "start = \"2026-01-01\": the first interval that belongs to the pipeline");
    }
    let delay = table.duration("delay").map_or_else(HumanDuration::default, |(delay, _)| delay);
    let catch_up = catch_up(&mut table);
    let (start_at, end_at) = match &schedule {
        Some(schedule) => (
            start.and_then(|field| boundary(&mut table, &field, schedule)),
            end.and_then(|field| boundary(&mut table, &field, schedule).map(|at| (at, field))),
        ),
        None => (None, None),
    };
    if let (Some(start), Some((end, field))) = (start_at, &end_at)
        && *end <= start
    {
        table.bad_value(
            field,
            "`interval.end` is not after `interval.start`",
            "`end` is the first instant after the last interval",
        );
    }
    table.finish();
    let schedule = schedule?;
    Some(IntervalRules {
        grain: schedule.grain().clone(),
        zone: schedule.zone().clone(),
        start: start_at?,
        end: end_at.map(|(at, _)| at),
        delay,
        catch_up: catch_up?,
    })
}

/// One partition that is never over: nothing says when it begins, ends, or is due.
fn whole_table(table: &mut Reader<'_, '_>, schedule: &Schedule) -> Option<IntervalRules> {
    let mut sound = true;
    for key in ["start", "end", "delay", "catch_up"] {
        if let Some(field) = table.take(key) {
            sound = false;
            let message = format!("`{}` is about intervals, and grain \"table\" has none", field.path);
            table.bad_value(&field, message, "remove it: `thrice run P` makes the table anew whenever it is called");
        }
    }
    let partition = schedule.partition_for_key("table").ok()?;
    sound.then(|| IntervalRules {
        grain: schedule.grain().clone(),
        zone: schedule.zone().clone(),
        start: partition.interval.start(),
        end: None,
        delay: HumanDuration::default(),
        catch_up: DEFAULT_CATCH_UP,
    })
}

/// `grain`, or `cron` instead of it.
fn grain(table: &mut Reader<'_, '_>) -> Option<Grain> {
    let written = table.string("grain");
    let (cron, week_start) = (cron_key::read(table), table.string("week_start"));
    let grain = match written {
        Some((_, field)) if table.has("cron") => {
            table.bad_value(
                &field,
                "`interval.grain` and `interval.cron` both say where an interval begins",
                "keep one: cron where the boundaries follow no calendar, grain everywhere else",
            );
            None
        }
        Some((text, field)) => named(table, text, &field),
        None => {
            if !table.has("grain") && !table.has("cron") {
                table.missing("grain", USE_DAY);
            }
            cron.map(Grain::Cron)
        }
    };
    let Some((weekday, field)) = week_start else { return grain };
    starting(table, &grain?, weekday, &field)
}

/// A grain by its name.
fn named(table: &mut Reader<'_, '_>, text: &str, field: &Field<'_>) -> Option<Grain> {
    match Grain::parse(text) {
        Ok(grain) => Some(grain),
        Err(error) => {
            let nearest = match &error {
                GrainError::Unknown { nearest, .. } => nearest.clone(),
                GrainError::OtherWord { write, .. } => Some(write.clone()),
                GrainError::Uneven { around, .. } => around.first().cloned(),
                GrainError::UnknownWeekday { .. } => None,
            };
            let diagnostic = table
                .error(ErrorCode::UnknownGrain, error.to_string())
                .at(field.span.clone())
                .why("the grains are N minutes, hour, N hours, day, week, month, quarter, year and table; minutes and hours divide a day")
                .fix(format!("grain = {:?}", nearest.as_deref().unwrap_or("day")));
            table.report(diagnostic);
            None
        }
    }
}

/// Weeks that start on another day.
fn starting(table: &mut Reader<'_, '_>, grain: &Grain, weekday: &str, field: &Field<'_>) -> Option<Grain> {
    if !matches!(grain, Grain::Week(_)) {
        table.bad_value(
            field,
            format!("`{}` belongs to weeks; the grain is {grain}", field.path),
            "remove it, or grain = \"week\"",
        );
        return None;
    }
    match Grain::week_from(weekday) {
        Ok(grain) => Some(grain),
        Err(error) => {
            let nearest = match &error {
                GrainError::UnknownWeekday { nearest, .. } => *nearest,
                GrainError::Unknown { .. } | GrainError::OtherWord { .. } | GrainError::Uneven { .. } => None,
            };
            let fix = format!("week_start = {:?}", nearest.unwrap_or("monday"));
            table.bad_value(field, format!("`{}`: {error}", field.path), fix);
            None
        }
    }
}

fn catch_up(table: &mut Reader<'_, '_>) -> Option<CatchUp> {
    let Some(field) = table.take("catch_up") else { return Some(DEFAULT_CATCH_UP) };
    let number = field.value.as_integer().and_then(|n| u32::from_str_radix(n.as_str(), n.radix()).ok());
    match (field.value.as_str(), number) {
        (Some("all"), _) => Some(CatchUp::All),
        (None, Some(most)) => Some(CatchUp::Newest(most)),
        _ => {
            table.bad_value(
                &field,
                "`interval.catch_up` is how many missed intervals a run takes, newest first",
                "a whole number such as 7, 0 for none, or \"all\"",
            );
            None
        }
    }
}

/// An instant written as a key of the grain, as a date, or as a time with or without an offset.
fn boundary(table: &mut Reader<'_, '_>, field: &Field<'_>, schedule: &Schedule) -> Option<Timestamp> {
    let written = match field.value {
        DeValue::String(text) => text.to_string(),
        DeValue::Datetime(datetime) => datetime.to_string(),
        DeValue::Integer(_) | DeValue::Float(_) | DeValue::Boolean(_) | DeValue::Array(_) | DeValue::Table(_) => {
            let message = format!("`{}` must be an interval key or a time", field.path);
            table.bad_value(field, message, format!("\"{}\"", schedule.grain().key_form()));
            return None;
        }
    };
    let refusal = match schedule.partition_for_key(&written) {
        Ok(partition) => return Some(partition.interval.start()),
        Err(refusal) => refusal,
    };
    let Some(at) = instant(&written, schedule.zone()) else {
        let fix = if let KeyError::WrongForm { write: Some(write), .. } = &refusal {
            format!("write \"{write}\"")
        } else {
            format!("a key such as \"{}\"", schedule.grain().key_form())
        };
        table.bad_value(field, format!("`{}`: {refusal}", field.path), fix);
        return None;
    };
    if schedule.is_boundary(at) {
        return Some(at);
    }
    let nearest = schedule.partition_at(at).map(|before| {
        let after = schedule.next(&before).map_or_else(String::new, |after| format!(" or \"{}\"", after.key));
        format!("\"{}\"{after}", before.key)
    });
    off_boundary(table, field.span.clone(), &field.path, &written, schedule, nearest);
    None
}

fn off_boundary(
    table: &mut Reader<'_, '_>,
    span: Span,
    path: &str,
    written: &str,
    schedule: &Schedule,
    nearest: Option<String>,
) {
    let (grain, zone) = (schedule.grain(), schedule.zone());
    let what = if let Grain::Cron(_) = grain {
        format!("`{path}`: {grain} does not tick at {written} in {zone}")
    } else {
        format!("`{path}`: no {grain} begins at {written} in {zone}")
    };
    let diagnostic = table
        .error(ErrorCode::StartNotOnBoundary, what)
        .at(span)
        .why("the first and the last interval must be whole")
        .fix(nearest.map_or_else(String::new, |nearest| format!("write {nearest}")));
    table.report(diagnostic);
}

/// A date (its first instant), a local hour or time, or an instant with its offset.
fn instant(written: &str, zone: &Zone) -> Option<Timestamp> {
    if let Ok(at) = written.parse::<Timestamp>() {
        return Some(at);
    }
    for grain in [Grain::Day, Grain::Hour] {
        if let Ok(partition) = Schedule::new(grain, zone.clone()).partition_for_key(written) {
            return Some(partition.interval.start());
        }
    }
    let local: civil::DateTime = written.parse().ok()?;
    zone.instants_of(local).into_iter().next()
}
