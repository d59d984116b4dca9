//! Instants, local times and zones. The only file that names the time library, so that it can be exchanged here.
//!
//! All instants are UTC and cut to microseconds, PostgreSQL's resolution.

use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

pub use jiff::Timestamp;
pub use jiff::civil;
use jiff::tz::{self, TimeZone};

use crate::text::did_you_mean;

/// A time zone of the tz database under its IANA name, such as `Asia/Seoul`.
///
/// Abbreviations (`KST`) and fixed offsets (`+09:00`) are refused: they do not follow the clock changes of a place.
#[derive(Clone, PartialEq, Eq)]
pub struct Zone {
    name: String,
    zone: TimeZone,
}

impl Zone {
    /// Looks a zone up by its IANA name; letter case must be that of the database.
    ///
    /// # Errors
    /// [`UnknownZone`] with the nearest name, where one is near.
    pub fn named(name: &str) -> Result<Self, UnknownZone> {
        if is_place_name(name)
            && let Ok(zone) = TimeZone::get(name)
            && zone.iana_name() == Some(name)
        {
            return Ok(Self { name: name.to_owned(), zone });
        }
        Err(UnknownZone { name: name.to_owned(), nearest: nearest_zone(name) })
    }

    /// Coordinated universal time.
    pub fn utc() -> Self {
        Self { name: "UTC".to_owned(), zone: TimeZone::UTC }
    }

    /// The IANA name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The wall clock at an instant.
    pub fn local(&self, at: Timestamp) -> civil::DateTime {
        self.zone.to_datetime(at)
    }

    /// The local date at an instant.
    pub fn date(&self, at: Timestamp) -> civil::Date {
        self.local(at).date()
    }

    /// Offset from UTC at an instant, as `+09:00` or `-03:30`.
    pub fn offset_text(&self, at: Timestamp) -> String {
        offset_text(self.zone.to_offset(at).seconds())
    }

    /// Offset from UTC in seconds, east positive.
    pub fn offset_seconds(&self, at: Timestamp) -> i32 {
        self.zone.to_offset(at).seconds()
    }

    /// An instant as RFC 3339 with the zone's offset: `2026-03-24T00:00:00+09:00`.
    pub fn rfc3339(&self, at: Timestamp) -> String {
        at.display_with_offset(self.zone.to_offset(at)).to_string()
    }

    /// The instants that a wall clock time stands for: none in a gap, two where it comes twice, earlier first.
    pub fn instants_of(&self, local: civil::DateTime) -> Vec<Timestamp> {
        let candidates: Vec<tz::Offset> = match self.zone.to_ambiguous_timestamp(local).offset() {
            tz::AmbiguousOffset::Unambiguous { offset } => vec![offset],
            tz::AmbiguousOffset::Fold { before, after } => vec![before, after],
            tz::AmbiguousOffset::Gap { .. } => vec![],
        };
        let mut found: Vec<Timestamp> =
            candidates.into_iter().filter_map(|offset| offset.to_timestamp(local).ok()).collect();
        found.sort_unstable();
        found.dedup();
        found
    }

    /// The first instant whose wall clock shows `local` or later, where the clock came from before `local`.
    ///
    /// In a gap that is the first instant after it; where `local` comes twice, the first of the two.
    /// `None` at the ends of the library's range.
    pub fn first_instant_at_or_after(&self, local: civil::DateTime) -> Option<Timestamp> {
        if let Some(first) = self.instants_of(local).first() {
            return Some(*first);
        }
        // in a gap: the transition itself, found between the instants of the two offsets
        let ambiguous = self.zone.to_ambiguous_timestamp(local);
        let tz::AmbiguousOffset::Gap { before, after } = ambiguous.offset() else { return None };
        let low = after.to_timestamp(local).ok()?;
        let high = before.to_timestamp(local).ok()?;
        self.zone
            .following(low)
            .map(|transition| transition.timestamp())
            .take_while(|at| *at <= high)
            // a change of the zone's name alone skips nothing
            .find(|at| self.zone.to_datetime(*at) >= local)
            .or_else(|| {
                // the transition may be exactly at the low end
                (self.zone.to_datetime(low) >= local).then_some(low)
            })
    }

    /// The first change of the offset after `at`, with the instant at which it happens.
    pub fn next_transition(&self, at: Timestamp) -> Option<Timestamp> {
        self.transitions_after(at).next()
    }

    /// The changes of the offset after `at`, in order. Without end where the rules have none.
    pub fn transitions_after(&self, at: Timestamp) -> impl Iterator<Item = Timestamp> + '_ {
        let mut offset = self.zone.to_offset(at);
        self.zone.following(at).filter_map(move |transition| {
            let changed = transition.offset() != offset;
            offset = transition.offset();
            changed.then(|| transition.timestamp())
        })
    }

    /// The last change of the offset at or before `at`.
    pub fn last_transition(&self, at: Timestamp) -> Option<Timestamp> {
        let after = at.checked_add(jiff::SignedDuration::from_nanos(1)).ok()?;
        let mut newer: Option<(Timestamp, tz::Offset)> = None;
        for transition in self.zone.preceding(after) {
            if let Some((timestamp, offset)) = newer
                && offset != transition.offset()
            {
                return Some(timestamp);
            }
            newer = Some((transition.timestamp(), transition.offset()));
        }
        newer.map(|(timestamp, _)| timestamp)
    }

    /// True when some wall clock hour comes twice in this zone at any time between the years 1970 and 2100.
    pub fn has_repeated_hours(&self) -> bool {
        self.repeats_hours_from(Timestamp::UNIX_EPOCH)
    }

    /// True when some wall clock hour at or after `from` comes twice, up to the year 2100 or, for a later `from`, within
    /// the three years after it. A pass that ends just before `from` counts: its rows would be mistaken for others.
    pub fn repeats_hours_from(&self, from: Timestamp) -> bool {
        // no clock ever went back by more than a day
        let from = from.checked_sub(jiff::SignedDuration::from_hours(25)).unwrap_or(Timestamp::MIN);
        let three_years = from.checked_add(jiff::SignedDuration::from_hours(3 * 366 * 24)).unwrap_or(Timestamp::MAX);
        let limit = Timestamp::from_second(4_102_444_800).unwrap_or(Timestamp::MAX).max(three_years);
        let mut before = self.offset_seconds(from);
        for at in self.transitions_after(from).take_while(|at| *at < limit) {
            let after = self.offset_seconds(at);
            if after < before {
                return true;
            }
            before = after;
        }
        false
    }
}

impl fmt::Debug for Zone {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Zone({})", self.name)
    }
}

impl fmt::Display for Zone {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)
    }
}

/// Where the rules of all zones are taken from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ZoneRules {
    /// The system's database: a folder, one file a zone.
    Folder(PathBuf),
    /// The one that the program was built with; used where the system has none.
    Bundled,
    /// Somewhere else, in the library's words.
    Other(String),
}

impl ZoneRules {
    /// Those that [`Zone::named`] looks in.
    pub fn in_use() -> Self {
        // the library tells the folder in this form alone
        let told = format!("{:?}", tz::db());
        let inside = told.strip_prefix("TimeZoneDatabase(").and_then(|rest| rest.strip_suffix(')')).unwrap_or(&told);
        match inside.strip_prefix("ZoneInfo(").and_then(|rest| rest.strip_suffix(')')) {
            Some(folder) => Self::Folder(folder.into()),
            None if inside.starts_with("Bundled") => Self::Bundled,
            None => Self::Other(inside.to_owned()),
        }
    }
}

/// A zone name that the tz database does not have, or that is not the name of a place.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{name:?} is not an IANA time zone")]
pub struct UnknownZone {
    /// The name that was given.
    pub name: String,
    /// A name that may have been meant.
    pub nearest: Option<String>,
}

/// Cuts an instant to whole microseconds towards the past.
pub fn to_microseconds(at: Timestamp) -> Timestamp {
    Timestamp::from_microsecond(at.as_nanosecond().div_euclid(1000).try_into().unwrap_or(i64::MAX)).unwrap_or(at)
}

/// An instant plus a duration, `None` outside the library's range.
pub fn later(at: Timestamp, by: Duration) -> Option<Timestamp> {
    at.checked_add(jiff::SignedDuration::try_from(by).ok()?).ok()
}

/// An offset in seconds as `+09:00`, with seconds only where it has some.
pub fn offset_text(seconds: i32) -> String {
    let sign = if seconds < 0 { '-' } else { '+' };
    let (minutes, rest) = (seconds.abs() / 60, seconds.abs() % 60);
    let base = format!("{sign}{:02}:{:02}", minutes / 60, minutes % 60);
    if rest == 0 { base } else { format!("{base}:{rest:02}") }
}

/// `UTC`, or a region and a place. The database's short names (`EST`, `GMT0`) are offsets in disguise.
fn is_place_name(name: &str) -> bool {
    name == "UTC" || (name.contains('/') && !name.starts_with("Etc/"))
}

fn nearest_zone(name: &str) -> Option<String> {
    const KNOWN: [(&str, &str); 17] = [
        ("Etc/UTC", "UTC"),
        ("Etc/GMT", "UTC"),
        ("UCT", "UTC"),
        ("Zulu", "UTC"),
        ("Universal", "UTC"),
        ("KST", "Asia/Seoul"),
        ("JST", "Asia/Tokyo"),
        ("EST", "America/New_York"),
        ("EDT", "America/New_York"),
        ("CST", "America/Chicago"),
        ("PST", "America/Los_Angeles"),
        ("PDT", "America/Los_Angeles"),
        ("CET", "Europe/Paris"),
        ("BST", "Europe/London"),
        ("IST", "Asia/Kolkata"),
        ("GMT", "UTC"),
        ("Z", "UTC"),
    ];
    if let Some((_, place)) = KNOWN.iter().find(|(short, _)| short.eq_ignore_ascii_case(name)) {
        return Some((*place).to_owned());
    }
    let names: Vec<String> =
        tz::db().available().map(|name| name.as_str().to_owned()).filter(|name| is_place_name(name)).collect();
    if let Some(same) = names.iter().find(|known| known.eq_ignore_ascii_case(name)) {
        return Some(same.clone());
    }
    did_you_mean(name, names.iter().map(String::as_str)).map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(text: &str) -> Timestamp {
        text.parse().unwrap()
    }

    #[test]
    fn only_places_and_utc_are_zones() {
        assert_eq!(Zone::named("Asia/Seoul").unwrap().name(), "Asia/Seoul");
        assert_eq!(Zone::named("UTC").unwrap().name(), "UTC");
        assert_eq!(Zone::named("KST").unwrap_err().nearest.as_deref(), Some("Asia/Seoul"));
        assert_eq!(Zone::named("Asia/Soeul").unwrap_err().nearest.as_deref(), Some("Asia/Seoul"));
        assert_eq!(Zone::named("asia/seoul").unwrap_err().nearest.as_deref(), Some("Asia/Seoul"));
        assert_eq!(Zone::named("Etc/UTC").unwrap_err().nearest.as_deref(), Some("UTC"));
        for refused in ["GMT+9", "+09:00", "", "Etc/GMT-9", "EST5EDT", "local", "right/Asia/Seoul", "../UTC"] {
            assert!(Zone::named(refused).is_err(), "{refused}");
        }
    }

    #[test]
    fn where_the_rules_come_from_is_known() {
        match ZoneRules::in_use() {
            ZoneRules::Folder(folder) => assert!(folder.join("Asia/Seoul").exists(), "{}", folder.display()),
            ZoneRules::Bundled => {}
            ZoneRules::Other(told) => panic!("{told}"),
        }
    }

    #[test]
    fn gaps_and_folds_give_the_first_instant() {
        let new_york = Zone::named("America/New_York").unwrap();
        let gap = civil::datetime(2026, 3, 8, 2, 0, 0, 0);
        assert_eq!(new_york.first_instant_at_or_after(gap), Some(at("2026-03-08T07:00:00Z")));
        let fold = civil::datetime(2026, 11, 1, 1, 0, 0, 0);
        assert_eq!(new_york.instants_of(fold), [at("2026-11-01T05:00:00Z"), at("2026-11-01T06:00:00Z")]);
        let sao_paulo = Zone::named("America/Sao_Paulo").unwrap();
        let midnight = civil::datetime(2018, 11, 4, 0, 0, 0, 0);
        assert_eq!(sao_paulo.first_instant_at_or_after(midnight), Some(at("2018-11-04T03:00:00Z")));
        let apia = Zone::named("Pacific/Apia").unwrap();
        let skipped = civil::datetime(2011, 12, 30, 0, 0, 0, 0);
        assert_eq!(apia.first_instant_at_or_after(skipped), Some(at("2011-12-30T10:00:00Z")));
    }

    #[test]
    fn repeated_hours_are_known_per_zone() {
        assert!(Zone::named("America/New_York").unwrap().has_repeated_hours());
        assert!(!Zone::named("UTC").unwrap().has_repeated_hours());
        assert!(!Zone::named("Asia/Kathmandu").unwrap().has_repeated_hours());
        // Seoul had summer time in 1987 and 1988, and never again
        let seoul = Zone::named("Asia/Seoul").unwrap();
        assert!(seoul.has_repeated_hours());
        assert!(seoul.repeats_hours_from(at("1988-10-08T17:30:00Z")), "the second pass of the last repeated hour");
        assert!(!seoul.repeats_hours_from(at("1988-10-10T00:00:00Z")));
        assert!(Zone::named("America/New_York").unwrap().repeats_hours_from(at("2150-06-01T00:00:00Z")));
    }

    #[test]
    fn instants_are_cut_towards_the_past() {
        assert_eq!(to_microseconds(at("2026-03-24T00:00:00.123456789Z")), at("2026-03-24T00:00:00.123456Z"));
        assert_eq!(to_microseconds(at("1969-12-31T23:59:59.999999999Z")), at("1969-12-31T23:59:59.999999Z"));
    }

    #[test]
    fn offsets_read_like_iso_8601() {
        assert_eq!(offset_text(9 * 3600), "+09:00");
        assert_eq!(offset_text(-(3 * 3600 + 1800)), "-03:30");
        assert_eq!(offset_text(0), "+00:00");
    }
}
