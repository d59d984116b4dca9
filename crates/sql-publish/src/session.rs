//! The settings a statement may depend on, pinned for one transaction and verified.
//!
//! Every setting is set with `set_config(name, value, true)`: it ends with the transaction and never leaks through a
//! pool. Three sets exist. The user's query runs in its pipeline's zone and on the user's search path; the crate's own
//! statements on `pg_catalog, pg_temp`; a checksum under one fixed set, so that equal rows give equal text for ever.

use std::{borrow::Cow, time::Duration};

use thrice_core::identifier::Identifier;
use tokio_postgres::types::Type;

use crate::{
    error::{ErrorKind, PublishError},
    probe::Probe,
    statement::Statement,
    statement_cache::InForce,
    steps::{Answer, Ask, Param, Steps, answered, one_row},
};

/// What the user's query, the target's triggers and checks see.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Session {
    /// IANA name; becomes `TimeZone`, whatever the role or the server says.
    pub time_zone: String,
    /// Schemas of the user's SQL, in order. `None` leaves the path that the server gives the role.
    pub search_path: Option<Vec<Identifier>>,
    /// Further settings by name, such as `work_mem`. The pinned ones win where a name is in both.
    pub settings: Vec<(String, String)>,
}

impl Session {
    /// A session in the given zone with nothing else configured.
    pub fn in_zone(time_zone: impl Into<String>) -> Self {
        Self { time_zone: time_zone.into(), search_path: None, settings: Vec::new() }
    }
}

/// Limits of one transaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Timeouts {
    /// `statement_timeout`.
    pub statement: Limit,
    /// `lock_timeout`: a wait for a lock ends with 55P03.
    pub lock: Duration,
    /// `idle_in_transaction_session_timeout`: how long a transaction whose client is gone keeps its locks.
    pub idle: Duration,
    /// `transaction_timeout`, on PostgreSQL 17 and later; the only limit that also ends a slow COMMIT.
    pub transaction: Option<Duration>,
}

impl Timeouts {
    /// Limits for a transaction whose statements may take as long as `statement`; locks 5 s, idle 15 s.
    pub const fn new(statement: Limit) -> Self {
        Self { statement, lock: Duration::from_secs(5), idle: Duration::from_secs(15), transaction: None }
    }
}

/// Who decides on `statement_timeout`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Limit {
    /// Somebody wrote it down: it takes the place of what the role or the server has.
    Explicit(Duration),
    /// A default: a limit that the role or the server has stays, whatever its length.
    Default(Duration),
}

/// How one setting is applied.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Apply {
    Always,
    UnlessSet,
    From17,
    WhereSocketsTell,
}

/// An ordered list of settings.
#[derive(Debug, Clone, Default)]
pub(crate) struct Pins(Vec<(Cow<'static, str>, String, Apply)>);

/// Settings as the server spelled them back.
#[derive(Debug, Clone, Default)]
pub(crate) struct Pinned(Vec<(String, String)>);

/// The checksum's fixed set. `search_path` first in mind: it decides how names of tables print.
const CHECKSUM: [(&str, &str); 9] = [
    ("TimeZone", "UTC"),
    ("DateStyle", "ISO, YMD"),
    ("IntervalStyle", "postgres"),
    ("extra_float_digits", "1"),
    ("bytea_output", "hex"),
    ("search_path", "pg_catalog"),
    ("xmlbinary", "base64"),
    ("quote_all_identifiers", "off"),
    ("lc_monetary", "C"),
];

impl Pins {
    /// The user's query, and the statements that fire the target's triggers.
    pub(crate) fn query(session: &Session) -> Self {
        let mut pins = Self::default();
        for (name, value) in &session.settings {
            pins.push(name.clone(), value.clone());
        }
        pins.push("TimeZone", session.time_zone.clone());
        for (name, value) in [
            ("DateStyle", "ISO, YMD"),
            ("IntervalStyle", "postgres"),
            ("extra_float_digits", "1"),
            ("bytea_output", "hex"),
            ("standard_conforming_strings", "on"),
            ("row_security", "off"),
        ] {
            pins.push(name, value);
        }
        if let Some(path) = &session.search_path {
            let path: Vec<String> = path.iter().map(ToString::to_string).collect();
            pins.push("search_path", path.join(", "));
        }
        pins
    }

    /// What has to be sent before the pins of [`Pins::query`] where others have been set in the same transaction: a session
    /// that names no path has the one that the server gives the role.
    pub(crate) fn own_path(session: &Session) -> Option<Ask<'static>> {
        let text = "set local search_path to default";
        session.search_path.is_none().then(|| Ask::again("set the search path back", text, &[]))
    }

    /// The crate's own statements and the caller's.
    pub(crate) fn tool() -> Self {
        let mut pins = Self::default();
        pins.push("search_path", "pg_catalog, pg_temp");
        pins.push("standard_conforming_strings", "on");
        pins.push("row_security", "off");
        pins
    }

    /// Everything that changes how a row prints.
    pub(crate) fn checksum() -> Self {
        let mut pins = Self::default();
        for (name, value) in CHECKSUM {
            pins.push(name, value);
        }
        pins
    }

    /// The limits of a transaction. A client that dies is noticed in the middle of a statement, too.
    pub(crate) fn timeouts(timeouts: &Timeouts) -> Self {
        let mut pins = Self::default();
        match timeouts.statement {
            Limit::Explicit(limit) => pins.push("statement_timeout", milliseconds(limit)),
            Limit::Default(limit) => pins.0.push(("statement_timeout".into(), milliseconds(limit), Apply::UnlessSet)),
        }
        pins.push("lock_timeout", milliseconds(timeouts.lock));
        pins.push("idle_in_transaction_session_timeout", milliseconds(timeouts.idle));
        if let Some(limit) = timeouts.transaction {
            pins.0.push(("transaction_timeout".into(), milliseconds(limit), Apply::From17));
        }
        pins.0.push(("client_connection_check_interval".into(), "2000".into(), Apply::WhereSocketsTell));
        pins
    }

    pub(crate) fn push(&mut self, name: impl Into<Cow<'static, str>>, value: impl Into<String>) {
        self.0.push((name.into(), value.into(), Apply::Always));
    }

    /// `self`, then `other`.
    #[must_use]
    pub(crate) fn and(mut self, other: Self) -> Self {
        self.0.extend(other.0);
        self
    }

    /// The statement that sets them, with `extra` columns behind.
    pub(crate) fn set(&self, extra: &str) -> SetPins<'_> {
        let params = self
            .0
            .iter()
            .flat_map(|(name, value, _)| {
                [(name as &(dyn tokio_postgres::types::ToSql + Sync), Type::TEXT), (value as _, Type::TEXT)]
            })
            .collect();
        SetPins { pins: self, text: self.sql(extra), params }
    }

    /// What is asked of `statement_timeout`, in order.
    fn limit_wish(&self) -> String {
        let wishes = self.0.iter().filter(|(name, ..)| name == "statement_timeout");
        let wishes: Vec<String> = wishes.map(|(_, value, apply)| format!("{apply:?} {value}")).collect();
        wishes.join("; ")
    }

    /// The names, for [`CheckPins`].
    pub(crate) fn check(&self) -> CheckPins {
        self.check_with("")
    }

    /// The same, with `extra` columns behind.
    pub(crate) fn check_with(&self, extra: &str) -> CheckPins {
        let mut names: Vec<String> = Vec::with_capacity(self.0.len());
        for (name, ..) in &self.0 {
            if !names.iter().any(|known| known == name) {
                names.push(name.to_string());
            }
        }
        let columns: Vec<String> =
            (1..=names.len()).map(|n| format!("pg_catalog.current_setting(${n}, true)")).collect();
        let comma = if extra.is_empty() || columns.is_empty() { "" } else { ", " };
        CheckPins { names, text: format!("select {}{comma}{extra}", columns.join(", ")) }
    }

    /// The settings as the server spells them back.
    fn spelled(&self, row: &tokio_postgres::Row) -> Result<Pinned, PublishError> {
        let mut pinned: Vec<(String, String)> = Vec::with_capacity(self.0.len());
        for (index, (name, _, _)) in self.0.iter().enumerate() {
            let value: Option<String> = get(row, index)?;
            if let Some(value) = value {
                pinned.retain(|(known, _)| known != name);
                pinned.push((name.to_string(), value));
            }
        }
        Ok(Pinned(pinned))
    }

    fn sql(&self, extra: &str) -> String {
        let columns: Vec<String> = self
            .0
            .iter()
            .enumerate()
            .map(|(index, (_, _, apply))| {
                let (name, value) = (2 * index + 1, 2 * index + 2);
                let set = format!("pg_catalog.set_config(${name}, ${value}, true)");
                match apply {
                    Apply::Always => set,
                    Apply::UnlessSet => format!(
                        "pg_catalog.set_config(${name}, case when pg_catalog.current_setting(${name}) \
                         operator(pg_catalog.=) '0' then ${value} else pg_catalog.current_setting(${name}) end, true)"
                    ),
                    Apply::From17 => format!(
                        "case when pg_catalog.current_setting('server_version_num')::pg_catalog.int4 \
                         operator(pg_catalog.>=) 170000 then {set} end"
                    ),
                    Apply::WhereSocketsTell => format!(
                        "case when pg_catalog.version() operator(pg_catalog.!~*) 'windows|mingw|msvc|visual' then {set} end"
                    ),
                }
            })
            .collect();
        let comma = if extra.is_empty() || columns.is_empty() { "" } else { ", " };
        format!("select {}{comma}{extra}", columns.join(", "))
    }
}

/// The statement that sets pins, with its values.
pub(crate) struct SetPins<'p> {
    pins: &'p Pins,
    text: String,
    params: Vec<Param<'p>>,
}

const PIN: &str = "pin the session settings";

impl SetPins<'_> {
    /// As one of a flight.
    pub(crate) fn ask(&self) -> Ask<'_> {
        Ask::again(PIN, &self.text, &self.params)
    }

    /// Opens a transaction under these settings and runs `asks`, in one flight where it is known from before which
    /// `statement_timeout` the server answers with: the client's own timer stands behind it.
    ///
    /// How the server spells the settings back, the row that also holds the `extra` columns, and the other answers.
    pub(crate) async fn then(
        &self,
        steps: &mut Steps<'_>,
        probe: &dyn Probe,
        step: Option<&'static str>,
        asks: &[(Ask<'_>, Option<&'static str>)],
    ) -> Result<(Pinned, tokio_postgres::Row, Vec<Answer>), PublishError> {
        let wish = self.pins.limit_wish();
        let known = steps.kept().and_then(|kept| kept.limit(&wish));
        let (pinned, row, answers) = if let Some(InForce(limit)) = known {
            steps.limit(limit);
            let all: Vec<_> = std::iter::once((self.ask(), step)).chain(asks.iter().copied()).collect();
            let mut answers = steps.ask_in_steps(&all, probe).await?.into_iter();
            let first = answers.next().ok_or_else(|| PublishError::new(PIN, ErrorKind::NoRow))?;
            let (pinned, row) = self.read(first)?;
            (pinned, row, answers.collect())
        } else {
            let (pinned, row) = self.read(steps.ask(self.ask()).await?)?;
            steps.limit(pinned.statement_timeout());
            if let Some(step) = step {
                probe.at(step);
            }
            (pinned, row, steps.ask_in_steps(asks, probe).await?)
        };
        if let Some(kept) = steps.kept() {
            kept.put_limit(wish, InForce(pinned.statement_timeout()));
        }
        Ok((pinned, row, answers))
    }

    /// How the server spells the settings back, and the row that also holds the `extra` columns.
    pub(crate) fn read(&self, answer: Answer) -> Result<(Pinned, tokio_postgres::Row), PublishError> {
        let row = one_row(PIN, answer.rows)?;
        Ok((self.pins.spelled(&row)?, row))
    }
}

/// Sets the pins.
pub(crate) async fn pin(steps: &Steps<'_>, pins: &Pins) -> Result<Pinned, PublishError> {
    let set = pins.set("");
    Ok(set.read(steps.ask(set.ask()).await?)?.0)
}

/// Sets the pins, and sends what runs under them in the same flight.
pub(crate) async fn pin_then(steps: &Steps<'_>, pins: &Pins, then: Ask<'_>) -> Result<Answer, PublishError> {
    let set = pins.set("");
    let [_, answer] = steps.ask_all([set.ask(), then]).await?;
    Ok(answer)
}

/// Runs statements of the caller under pins, the first in the flight that sets them; the answer of the last one.
pub(crate) async fn run_under(
    steps: &Steps<'_>,
    pins: &Pins,
    statements: &[Statement],
) -> Result<Vec<tokio_postgres::Row>, PublishError> {
    let mut rows = Vec::new();
    for (index, statement) in statements.iter().enumerate() {
        let params = statement.params();
        let ask = Ask::again(statement.what(), statement.text(), &params);
        let answer = if index == 0 { pin_then(steps, pins, ask).await? } else { steps.ask(ask).await? };
        rows = answered(statement, answer)?;
    }
    Ok(rows)
}

impl Pinned {
    /// `statement_timeout` in force; `None` where there is no limit.
    pub(crate) fn statement_timeout(&self) -> Option<Duration> {
        self.0.iter().find(|(name, _)| name == "statement_timeout").and_then(|(_, value)| server_duration(value))
    }

    /// The value a setting was given, as the server spells it. `None`: this server has no such setting.
    fn value(&self, name: &str) -> Option<&str> {
        self.0.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }
}

/// The question whether settings still are what they were set to.
pub(crate) struct CheckPins {
    names: Vec<String>,
    text: String,
}

const CHECK: &str = "verify the session settings";

impl CheckPins {
    pub(crate) fn params(&self) -> Vec<Param<'_>> {
        self.names.iter().map(|name| (name as _, Type::TEXT)).collect()
    }

    /// As one of a flight, with [`CheckPins::params`].
    pub(crate) fn ask<'p>(&'p self, params: &'p [Param<'p>]) -> Ask<'p> {
        Ask::again(CHECK, &self.text, params)
    }

    /// The settings that no longer have the value they were given, and the row that also holds the extra columns.
    pub(crate) fn read(
        &self,
        pinned: &Pinned,
        answer: Answer,
    ) -> Result<(Vec<String>, tokio_postgres::Row), PublishError> {
        let row = one_row(CHECK, answer.rows)?;
        let mut moved = Vec::new();
        for (index, name) in self.names.iter().enumerate() {
            let now: Option<String> = get(&row, index)?;
            if let Some(value) = pinned.value(name)
                && now.as_deref() != Some(value)
            {
                moved.push(name.clone());
            }
        }
        Ok((moved, row))
    }

    /// Refuses to go on where a setting has moved.
    pub(crate) fn verify(&self, pinned: &Pinned, answer: Answer) -> Result<(), PublishError> {
        match self.read(pinned, answer)?.0.into_iter().next() {
            Some(name) => Err(PublishError::new(CHECK, ErrorKind::SettingMoved { name })),
            None => Ok(()),
        }
    }
}

/// A column of a row of our own statements.
pub(crate) fn get<'r, T: tokio_postgres::types::FromSql<'r>>(
    row: &'r tokio_postgres::Row,
    index: usize,
) -> Result<T, PublishError> {
    row.try_get(index).map_err(|error| PublishError::driver("read an answer of the server", error))
}

/// Whole milliseconds as the server takes them: at least 1 unless zero, at most what its integer holds.
pub(crate) fn milliseconds(limit: Duration) -> String {
    let whole = limit.as_nanos().div_ceil(1_000_000).min(i32::MAX.unsigned_abs().into());
    whole.to_string()
}

/// A limit as `set_config` spells it: `200ms`, `30s`, `5min`, `2h`, `1d`, or a bare number of milliseconds.
fn server_duration(text: &str) -> Option<Duration> {
    let digits = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (number, unit) = text.split_at(digits);
    let number: u64 = number.parse().ok()?;
    let milliseconds = match unit {
        "" | "ms" => number,
        "s" => number.checked_mul(1_000)?,
        "min" => number.checked_mul(60_000)?,
        "h" => number.checked_mul(3_600_000)?,
        "d" => number.checked_mul(86_400_000)?,
        _ => return None,
    };
    (milliseconds > 0).then(|| Duration::from_millis(milliseconds))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::{Limit, Pins, Session, Timeouts, milliseconds, server_duration};

    #[test]
    fn the_servers_spelling_of_limits_is_read() {
        assert_eq!(server_duration("0"), None);
        assert_eq!(server_duration("200ms"), Some(Duration::from_millis(200)));
        assert_eq!(server_duration("5min"), Some(Duration::from_mins(5)));
        assert_eq!(server_duration("1d"), Some(Duration::from_hours(24)));
        assert_eq!(server_duration("soon"), None);
    }

    #[test]
    fn a_limit_below_a_millisecond_is_not_no_limit() {
        assert_eq!(milliseconds(Duration::from_nanos(1)), "1");
        assert_eq!(milliseconds(Duration::ZERO), "0");
        assert_eq!(milliseconds(Duration::MAX), "2147483647");
    }

    #[test]
    fn an_explicit_limit_replaces_and_a_default_yields() {
        let explicit = Pins::timeouts(&Timeouts::new(Limit::Explicit(Duration::from_secs(9)))).sql("");
        assert!(!explicit.contains("case when pg_catalog.current_setting($1)"), "{explicit}");
        let default = Pins::timeouts(&Timeouts::new(Limit::Default(Duration::from_secs(9)))).sql("");
        assert!(default.contains("case when pg_catalog.current_setting($1)"), "{default}");
    }

    #[test]
    fn the_pipelines_own_settings_come_first_so_that_pins_win() {
        let mut session = Session::in_zone("Asia/Seoul");
        session.settings.push(("TimeZone".into(), "UTC".into()));
        let zones: Vec<String> = Pins::query(&session)
            .0
            .into_iter()
            .filter(|(name, ..)| name == "TimeZone")
            .map(|(_, value, _)| value)
            .collect();
        assert_eq!(zones, ["UTC", "Asia/Seoul"]);
    }
}
