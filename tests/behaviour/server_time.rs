//! Our boundaries against the server's `at time zone` and `date_trunc`: 20 zones, ten years in which both sides' releases of
//! the time-zone database agree.
//!
//! They differ in two things. Where a local midnight comes twice, a day of ours begins with the first, and the server takes
//! the second. Where the clocks change in the middle of a local hour, `date_trunc` of hours is left out: see `MID_HOUR`.

use std::collections::BTreeSet;

use anyhow::Result;
use thrice_core::interval::Interval;
use thrice_core::time::{Timestamp, civil};
use thrice_core::{Grain, Schedule, Zone};
use thrice_tests::Scratch;
use tokio_postgres::Client;

const ZONES: [&str; 20] = [
    "UTC",
    "Asia/Seoul",
    "Asia/Kolkata",
    "Asia/Kathmandu",
    "Asia/Tehran",
    "Asia/Amman",
    "Europe/London",
    "Europe/Berlin",
    "Europe/Istanbul",
    "Africa/Cairo",
    "Africa/Casablanca",
    "America/New_York",
    "America/Sao_Paulo",
    "America/Santiago",
    "America/Havana",
    "America/St_Johns",
    "Australia/Sydney",
    "Australia/Lord_Howe",
    "Pacific/Apia",
    "Pacific/Chatham",
];
/// Clocks that change in the middle of a local hour: the server goes back to a full hour that the clock did not show in this
/// pass. Ours begins where the clock enters the hour.
const MID_HOUR: [&str; 2] = ["Australia/Lord_Howe", "Pacific/Chatham"];
/// Clocks that go back over midnight.
const MIDNIGHT_TWICE: [&str; 2] = ["America/Havana", "Asia/Amman"];
const FROM: &str = "2012-01-01T00:00:00Z";
const TO: &str = "2022-01-01T00:00:00Z";

fn within() -> Result<Interval> {
    Ok(Interval::new(FROM.parse()?, TO.parse()?)?)
}

/// Instants every so many seconds, and those around each change of the clocks.
fn instants(zone: &Zone, step: i64) -> Result<Vec<Timestamp>> {
    let within = within()?;
    let (from, to) = (within.start().as_second(), within.end().as_second());
    let mut seconds: BTreeSet<i64> = (from..to).step_by(usize::try_from(step)?).collect();
    for change in zone.transitions_after(within.start()).take_while(|change| *change < within.end()) {
        seconds.extend(
            [-86_400, -5400, -3600, -1, 0, 1, 1800, 3599, 3600, 5400, 86_400].map(|by| change.as_second() + by),
        );
    }
    Ok(seconds.into_iter().map(Timestamp::from_second).collect::<Result<_, _>>()?)
}

async fn client() -> Result<(Scratch, Client)> {
    let scratch = Scratch::new().await?;
    let client = scratch.connect().await?;
    Ok((scratch, client))
}

/// What the wall clock shows.
#[tokio::test(flavor = "multi_thread")]
async fn wall_clocks_agree() -> Result<()> {
    let (_scratch, client) = client().await?;
    let shown = "select extract(epoch from (u.at at time zone $2::text))::int8 from unnest($1::timestamptz[]) with ordinality u (at, n) order by n";
    let mut compared = 0;
    for name in ZONES {
        let zone = Zone::named(name)?;
        let instants = instants(&zone, 5 * 3600)?;
        let rows = client.query(shown, &[&instants, &name]).await?;
        for (at, row) in instants.iter().zip(&rows) {
            let ours = at.as_second() + i64::from(zone.offset_seconds(*at));
            assert_eq!(row.get::<_, i64>(0), ours, "{name} at {at}");
        }
        compared += rows.len();
    }
    assert!(compared > 350_000, "{compared}");
    Ok(())
}

/// Where the interval begins that holds an instant.
#[tokio::test(flavor = "multi_thread")]
async fn intervals_begin_where_the_server_cuts() -> Result<()> {
    let (_scratch, client) = client().await?;
    let cut = "select date_trunc($3::text, u.at, $2::text) from unnest($1::timestamptz[]) with ordinality u (at, n) order by n";
    let (mut compared, mut twice) = (0, BTreeSet::new());
    for name in ZONES {
        let zone = Zone::named(name)?;
        let instants = instants(&zone, 61 * 3600)?;
        for unit in ["hour", "day", "week", "month", "quarter", "year"] {
            if unit == "hour" && MID_HOUR.contains(&name) {
                continue;
            }
            let schedule = Schedule::new(Grain::parse(unit)?, zone.clone());
            for (at, row) in instants.iter().zip(&client.query(cut, &[&instants, &name, &unit]).await?) {
                let ours = schedule.partition_at(*at).map(|partition| partition.interval.start());
                let theirs: Timestamp = row.get(0);
                compared += 1;
                if ours == Some(theirs) {
                    continue;
                }
                let midnights = zone.instants_of(zone.date(theirs).to_datetime(civil::Time::midnight()));
                assert!(
                    midnights.len() == 2 && ours == Some(midnights[0]) && theirs == midnights[1],
                    "{name} {unit} of {at}: {ours:?}, the server {theirs}"
                );
                twice.insert((name, theirs));
            }
        }
    }
    assert!(compared > 170_000, "{compared}");
    let zones: BTreeSet<&str> = twice.iter().map(|(name, _)| *name).collect();
    assert_eq!(zones, MIDNIGHT_TWICE.into(), "{twice:?}");
    Ok(())
}

/// Where a local date begins.
#[tokio::test(flavor = "multi_thread")]
async fn days_begin_where_the_server_puts_midnight() -> Result<()> {
    let (_scratch, client) = client().await?;
    let midnight =
        "select (d::date)::timestamp at time zone $2::text from unnest($1::text[]) with ordinality u (d, n) order by n";
    let (mut compared, mut twice) = (0, BTreeSet::new());
    for name in ZONES {
        let days = Schedule::new(Grain::Day, Zone::named(name)?);
        let partitions: Vec<_> = days.partitions(within()?).collect();
        let dates: Vec<String> = partitions.iter().map(|day| day.key.to_string()).collect();
        for (day, row) in partitions.iter().zip(&client.query(midnight, &[&dates, &name]).await?) {
            let theirs: Timestamp = row.get(0);
            let midnights = days.zone().instants_of(day.target_date.to_datetime(civil::Time::midnight()));
            if let [first, second] = midnights[..] {
                assert_eq!((day.interval.start(), theirs), (first, second), "{name} {}", day.key);
                twice.insert(name);
            } else {
                assert_eq!(day.interval.start(), theirs, "{name} {}", day.key);
            }
            compared += 1;
        }
    }
    assert!(compared > 20 * 3600, "{compared}");
    assert_eq!(twice, MIDNIGHT_TWICE.into());
    Ok(())
}
