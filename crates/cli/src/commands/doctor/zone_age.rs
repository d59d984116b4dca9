//! How old the time-zone data of each side is, told by changes of law that a release brought: no server says its
//! release, but each shows what it knows.

use thrice_connect::DataConnection;
use thrice_core::time::{Timestamp, Zone};

/// A change that came with a release of the tz database: from then on, the wall clock of `zone` at `at` is `offset`
/// seconds ahead of UTC.
struct Change {
    release: &'static str,
    zone: &'static str,
    at: &'static str,
    offset: i32,
}

/// Newest first.
const CHANGES: [Change; 6] = [
    Change { release: "2025b", zone: "America/Coyhaique", at: "2025-07-01T00:00:00Z", offset: -3 * 3600 },
    Change { release: "2025a", zone: "America/Asuncion", at: "2025-07-01T00:00:00Z", offset: -3 * 3600 },
    Change { release: "2024a", zone: "Asia/Almaty", at: "2024-07-01T00:00:00Z", offset: 5 * 3600 },
    Change { release: "2023a", zone: "Africa/Cairo", at: "2023-07-01T00:00:00Z", offset: 3 * 3600 },
    Change { release: "2022f", zone: "America/Mexico_City", at: "2023-07-01T00:00:00Z", offset: -6 * 3600 },
    Change { release: "2022b", zone: "America/Santiago", at: "2022-09-05T00:00:00Z", offset: -4 * 3600 },
];

/// The newest release whose change each side knows.
pub(super) struct Ages {
    server: Option<&'static str>,
    thrice: Option<&'static str>,
}

impl Ages {
    pub(super) fn sentence(&self) -> String {
        let known = |side: Option<&str>| {
            side.map_or_else(|| "older than 2022b".to_owned(), |release| format!("{release} or newer"))
        };
        match self.server.cmp(&self.thrice) {
            std::cmp::Ordering::Less => {
                format!("the server's data is the older: it is {}, thrice's {}", known(self.server), known(self.thrice))
            }
            std::cmp::Ordering::Greater => {
                format!("thrice's data is the older: it is {}, the server's {}", known(self.thrice), known(self.server))
            }
            std::cmp::Ordering::Equal => {
                format!("which side's data is older cannot be told: both are {}", known(self.server))
            }
        }
    }

    pub(super) fn fix(&self) -> &'static str {
        match self.server.cmp(&self.thrice) {
            std::cmp::Ordering::Less => {
                "update the server's time-zone data: PostgreSQL's minor release, or the system's tzdata package, then restart"
            }
            std::cmp::Ordering::Greater => "update the tzdata package of this machine, or thrice",
            std::cmp::Ordering::Equal => "update the tzdata packages of both machines",
        }
    }
}

/// Asks both sides.
pub(super) async fn compare(connection: &DataConnection) -> Ages {
    let mut server = None;
    for change in &CHANGES {
        if known_by_server(connection, change).await {
            server = Some(change.release);
            break;
        }
    }
    Ages { server, thrice: CHANGES.iter().find(|change| known_by_us(change)).map(|change| change.release) }
}

fn known_by_us(change: &Change) -> bool {
    let (Ok(zone), Ok(at)) = (Zone::named(change.zone), change.at.parse::<Timestamp>()) else { return false };
    zone.offset_seconds(at) == change.offset
}

async fn known_by_server(connection: &DataConnection, change: &Change) -> bool {
    let text = "select extract(epoch from (($1::pg_catalog.timestamptz at time zone $2::pg_catalog.text) \
                - ($1::pg_catalog.timestamptz at time zone 'UTC')))::pg_catalog.int4";
    let Ok(at) = change.at.parse::<Timestamp>() else { return false };
    match connection.client.query_one(text, &[&at, &change.zone]).await {
        Ok(row) => row.get::<_, i32>(0) == change.offset,
        // a zone that it does not know is newer than its data
        Err(_) => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_older_side_is_named() {
        let ages = Ages { server: Some("2022f"), thrice: Some("2024a") };
        assert!(ages.sentence().starts_with("the server's data is the older: it is 2022f or newer"));
        let ages = Ages { server: Some("2024a"), thrice: None };
        assert!(ages.sentence().starts_with("thrice's data is the older: it is older than 2022b"));
        let ages = Ages { server: Some("2024a"), thrice: Some("2024a") };
        assert!(ages.sentence().contains("cannot be told"));
    }

    #[test]
    fn the_data_in_use_knows_the_changes_in_their_order() {
        let known: Vec<bool> = CHANGES.iter().map(known_by_us).collect();
        assert!(known.is_sorted(), "a newer change is known and an older one is not: {known:?}");
        assert!(CHANGES.windows(2).all(|pair| pair[0].release > pair[1].release));
    }
}
