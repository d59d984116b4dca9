//! Time-zone data: our boundaries against the server's `at time zone`, for each zone of the pipelines, five years to
//! both sides.

use std::collections::BTreeSet;

use thrice_connect::DataConnection;
use thrice_core::code::ErrorCode;
use thrice_core::interval::Interval;
use thrice_core::time::{Timestamp, Zone, later};
use thrice_core::{Grain, Schedule};
use tokio_postgres::Error;

use super::Patient;
use super::check::Report;
use super::zone_age;

/// Five years, with their leap days.
const SPAN: i64 = (5 * 365 + 2) * 86_400;

/// What the wall clock of a zone shows at each instant, as seconds since 1970 if it were UTC.
const LOCAL: &str = "select extract(epoch from (u.instant at time zone $2::pg_catalog.text))::pg_catalog.int8 \
    from pg_catalog.unnest($1::pg_catalog.timestamptz[]) with ordinality as u (instant, place) order by u.place";

/// The server's code for a zone that it does not know.
const UNKNOWN_ZONE: &str = "22023";

pub(super) async fn check(patient: &Patient<'_>, connection: &DataConnection, report: &mut Report) {
    let pipelines = patient.project.into_iter().flat_map(crate::project::Project::readable);
    let zones: BTreeSet<String> = pipelines.map(|loaded| loaded.job.schedule.zone().name().to_owned()).collect();
    for name in zones {
        let Ok(zone) = Zone::named(&name) else { continue };
        let instants = instants(&zone, patient.as_of);
        match difference(connection, &zone, &instants).await {
            Ok(None) => report.ok(
                "zones",
                format!("{name}: server and thrice agree at {} instants of ten years, each day's start among them", instants.len()),
            ),
            Ok(Some(at)) => {
                let age = zone_age::compare(connection).await;
                report.fail(
                    "zones",
                    ErrorCode::ZoneDataDiffers,
                    format!(
                        "{name}: at {at} the clock shows {} by thrice and something else by the server; {}",
                        zone.local(at),
                        age.sentence()
                    ),
                    age.fix(),
                );
            }
            Err(error) if error.code().is_some_and(|code| code.code() == UNKNOWN_ZONE) => report.fail(
                "zones",
                ErrorCode::UnknownZone,
                format!("{name}: the server does not know this time zone"),
                "update the server's time-zone data (PostgreSQL's minor release, or the system's tzdata package), or name the zone by its older name",
            ),
            Err(error) => report.unseen("zones", &name, &error),
        }
    }
}

/// The start of each day, and both sides of each change of the offset.
fn instants(zone: &Zone, as_of: Timestamp) -> Vec<Timestamp> {
    let at = |seconds: i64| Timestamp::from_second(as_of.as_second() + seconds).ok();
    let (Some(from), Some(to)) = (at(-SPAN), at(SPAN)) else { return Vec::new() };
    let days = Schedule::new(Grain::Day, zone.clone());
    let mut instants: Vec<Timestamp> = Interval::new(from, to)
        .ok()
        .map(|within| days.partitions(within).map(|day| day.interval.start()).collect())
        .unwrap_or_default();
    for change in zone.transitions_after(from).take_while(|change| *change < to) {
        instants.extend(Timestamp::from_second(change.as_second() - 1).ok());
        instants.push(change);
        instants.extend(later(change, std::time::Duration::from_secs(1)));
    }
    instants
}

/// The first instant at which the two sides disagree.
async fn difference(
    connection: &DataConnection,
    zone: &Zone,
    instants: &[Timestamp],
) -> Result<Option<Timestamp>, Error> {
    let rows = connection.client.query(LOCAL, &[&instants, &zone.name()]).await?;
    let shown: Vec<i64> = rows.iter().map(|row| row.get(0)).collect();
    Ok(first_difference(zone, instants, &shown))
}

fn first_difference(zone: &Zone, instants: &[Timestamp], shown: &[i64]) -> Option<Timestamp> {
    let ours = |at: &Timestamp| at.as_second() + i64::from(zone.offset_seconds(*at));
    instants.iter().zip(shown).filter(|(at, shown)| ours(at) != **shown).map(|(at, _)| *at).min()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_day_and_both_sides_of_every_change_are_looked_at() {
        let zone = Zone::named("America/New_York").unwrap();
        let instants = instants(&zone, "2026-03-24T00:00:00Z".parse().unwrap());
        let spring: Timestamp = "2026-03-08T07:00:00Z".parse().unwrap();
        assert!(instants.contains(&spring));
        assert!(instants.contains(&Timestamp::from_second(spring.as_second() - 1).unwrap()));
        assert!(instants.contains(&"2030-11-04T05:00:00Z".parse().unwrap()), "the start of a day in winter");
        assert!(instants.len() >= 3650 + 20 * 3, "{}", instants.len());
    }

    #[test]
    fn the_first_instant_of_a_disagreement_is_told() {
        let zone = Zone::named("America/New_York").unwrap();
        let instants: Vec<Timestamp> = ["2026-03-07T05:00:00Z", "2026-03-09T04:00:00Z", "2026-03-10T04:00:00Z"]
            .map(|at| at.parse().unwrap())
            .into();
        let local = |hours: [i64; 3]| -> Vec<i64> {
            instants.iter().zip(hours).map(|(at, hours)| at.as_second() + hours * 3600).collect()
        };
        assert_eq!(first_difference(&zone, &instants, &local([-5, -4, -4])), None);
        // a server that does not know of summer time
        assert_eq!(first_difference(&zone, &instants, &local([-5, -5, -5])), Some(instants[1]));
    }
}
