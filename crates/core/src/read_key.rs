//! Reading of key text, strictly, and what was probably meant by text that is almost a key.

use crate::grain::Grain;
use crate::key_error::KeyError;
use crate::time::civil;

/// Splits `2026-03-24T05-04:00` into date, hour and offset.
pub(crate) fn split_hour_key(text: &str) -> Option<(&str, &str, &str)> {
    let (date, rest) = text.split_once('T')?;
    let (hour, offset) = rest.split_at_checked(2)?;
    (hour.bytes().all(|b| b.is_ascii_digit()) && (offset.is_empty() || offset.starts_with(['+', '-'])))
        .then_some((date, hour, offset))
}

/// Reads `2026-03-24`, strictly.
pub(crate) fn parse_date(text: &str, grain: Grain) -> Result<civil::Date, KeyError> {
    let fields: Vec<&str> = text.split('-').collect();
    let strict = fields.len() == 3
        && fields
            .iter()
            .zip([4, 2, 2])
            .all(|(field, width)| field.len() == width && field.bytes().all(|b| b.is_ascii_digit()));
    if !strict && fields.len() == 3 && fields[0].len() > 4 && fields.concat().bytes().all(|b| b.is_ascii_digit()) {
        return Err(KeyError::OutOfRange { text: text.to_owned() });
    }
    if !strict {
        return Err(KeyError::WrongForm { text: text.to_owned(), write: suggest_date(text), grain });
    }
    let number = |i: usize| fields[i].parse::<i16>().unwrap_or_default();
    let (year, month, day) = (number(0), number(1), number(2));
    let narrow = |value: i16| i8::try_from(value).unwrap_or_default();
    if year == 0 || !(1..=12).contains(&month) {
        return Err(KeyError::NoSuchDay {
            text: text.to_owned(),
            why: if year == 0 { "there is no year 0".into() } else { "a year has 12 months".into() },
        });
    }
    civil::Date::new(year, narrow(month), narrow(day)).map_err(|_| {
        let last = civil::date(year, narrow(month), 1).days_in_month();
        KeyError::NoSuchDay { text: text.to_owned(), why: format!("{year:04}-{month:02} has {last} days") }
    })
}

/// What must have been meant by `24/03/2026`, `2026-3-4`, `20260324`; nothing for `03/04/2026`, which is two days.
fn suggest_date(text: &str) -> Option<String> {
    let fields: Vec<&str> = text.split(['/', '-', '.']).collect();
    let widths: Vec<usize> = fields.iter().map(|field| field.len()).collect();
    if !fields.iter().all(|field| field.bytes().all(|b| b.is_ascii_digit())) {
        return None;
    }
    let (year, month, day) = match widths.as_slice() {
        [8] => (text.get(..4)?, text.get(4..6)?, text.get(6..)?),
        [4, 1..=2, 1..=2] => (fields[0], fields[1], fields[2]),
        [1..=2, 1..=2, 4] => {
            let over_a_year = |field: &str| field.parse::<i8>().is_ok_and(|number| number > 12);
            match (over_a_year(fields[0]), over_a_year(fields[1])) {
                (true, false) => (fields[2], fields[1], fields[0]),
                (false, true) => (fields[2], fields[0], fields[1]),
                _ if fields[0] == fields[1] => (fields[2], fields[0], fields[1]),
                _ => return None,
            }
        }
        _ => return None,
    };
    let year = year.parse().ok().filter(|year| *year > 0)?;
    civil::Date::new(year, month.parse().ok()?, day.parse().ok()?).ok().map(|date| date.to_string())
}

/// What must have been meant by `2026-03-24 5`, `2026-03-24t05`, `2026-03-24T05:00`.
pub(crate) fn suggest_hour(text: &str) -> Option<String> {
    let (date, time) = text.split_once(['T', 't', ' '])?;
    let mut fields = time.split(':');
    let hour = fields.next()?;
    let whole = fields.clone().count() <= 2 && fields.all(|rest| rest == "00");
    let narrow = (1..=2).contains(&hour.len()) && hour.bytes().all(|b| b.is_ascii_digit());
    let hour: i8 = hour.parse().ok().filter(|hour| whole && narrow && (0..24).contains(hour))?;
    Some(format!("{}T{hour:02}", suggest_date(date)?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schedule::Schedule;
    use crate::time::Zone;
    use proptest::prelude::*;

    fn in_utc(grain: Grain) -> Schedule {
        Schedule::new(grain, Zone::utc())
    }

    fn suggestion(grain: Grain, text: &str) -> Option<String> {
        match in_utc(grain).partition_for_key(text) {
            Err(KeyError::WrongForm { write, .. }) => write,
            other => panic!("{text}: {other:?}"),
        }
    }

    #[test]
    fn a_day_in_another_form_is_suggested_only_where_it_is_no_guess() {
        for (text, meant) in [
            ("24/03/2026", "2026-03-24"),
            ("3/24/2026", "2026-03-24"),
            ("3/3/2026", "2026-03-03"),
            ("2026/03/24", "2026-03-24"),
            ("2026-3-4", "2026-03-04"),
            ("24.3.2026", "2026-03-24"),
            ("20260324", "2026-03-24"),
        ] {
            assert_eq!(suggestion(Grain::Day, text).as_deref(), Some(meant), "{text}");
        }
        for text in ["03/04/2026", "2026-2-30", "31/31/2026", "26-3-4", "+2026-03-24", "0000-1-1", "한글"] {
            assert_eq!(suggestion(Grain::Day, text), None, "{text}");
        }
    }

    #[test]
    fn an_hour_in_another_form_is_suggested() {
        for text in
            ["2026-03-24T5", "2026-3-24T05", "2026-03-24t05", "2026-03-24 05", "2026-03-24T05:00", "24/3/2026 5:00:00"]
        {
            assert_eq!(suggestion(Grain::Hour, text).as_deref(), Some("2026-03-24T05"), "{text}");
        }
        for text in ["2026-03-24T05:30", "2026-03-24T05Z", "2026-03-24T5 pm", "2026-03-24T", "T05", "T가나"] {
            assert_eq!(suggestion(Grain::Hour, text), None, "{text}");
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]
        /// Text near a key, and any text, is read or refused; what is read is written the same way.
        #[test]
        fn a_key_is_read_or_refused(text in r"\PC{0,24}|[0-9]{1,5}[-/.]?[0-9]{0,3}[-/.]?[0-9]{0,4}[Tt ]?[0-9]{0,3}[-+:]?[0-9:]{0,6}") {
            for schedule in [
                in_utc(Grain::Day),
                in_utc(Grain::Hour),
                Schedule::new(Grain::Hour, Zone::named("Australia/Lord_Howe").unwrap()),
            ] {
                match schedule.partition_for_key(&text) {
                    Ok(partition) => prop_assert_eq!(partition.key.as_str(), text.as_str()),
                    Err(KeyError::WrongForm { write: Some(write), .. }) => {
                        let found = schedule.partition_for_key(&write);
                        prop_assert!(!matches!(found, Err(KeyError::WrongForm { .. })), "{} suggested for {}", write, text);
                    }
                    Err(_) => {}
                }
            }
        }
    }
}
