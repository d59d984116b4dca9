//! What was probably meant by text that is almost a key; nothing where it would be a guess.

use crate::time::civil;

/// The key that must have been meant by `24/03/2026`, `2026-3-4`, `2026-03-24 5`, `2026-w13`, `2026/3`, `2026q1`.
pub(crate) fn suggest(text: &str) -> Option<String> {
    let text = text.trim();
    suggest_time(text).or_else(|| suggest_date(text)).or_else(|| suggest_part_of_year(text))
}

/// `24/03/2026`, `2026-3-4`, `20260324`; nothing for `03/04/2026`, which is two days.
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

/// `2026-03-24 5`, `2026-03-24t05`, `2026-03-24T05:00:00`, `2026-03-24 5:30`. Minutes of zero are left out: a pipeline
/// whose keys have them is asked for them by its own form.
fn suggest_time(text: &str) -> Option<String> {
    let (date, time) = text.split_once(['T', 't', ' '])?;
    let mut fields = time.trim().split(':');
    let hour = number(fields.next()?, 1..=2, 23)?;
    let minute = fields.next().map_or(Some(0), |minute| number(minute, 2..=2, 59))?;
    let second = fields.next().map_or(Some(0), |second| number(second, 2..=2, 59))?;
    if fields.next().is_some() || second != 0 {
        return None;
    }
    let date = suggest_date(date)?;
    Some(if minute == 0 { format!("{date}T{hour:02}") } else { format!("{date}T{hour:02}:{minute:02}") })
}

/// `2026-w13`, `2026W13`, `2026-q1`, `2026/3`, `3.2026`, `2026-3`.
fn suggest_part_of_year(text: &str) -> Option<String> {
    let upper = text.to_ascii_uppercase();
    for letter in ['W', 'Q'] {
        if let Some((year, count)) = upper.split_once(letter) {
            let year = number(year.trim_end_matches(['-', '/', ' ']), 4..=4, 9999)?;
            return match letter {
                'W' => Some(format!("{year:04}-W{:02}", number(count.trim_start_matches('-'), 1..=2, 53)?)),
                _ => Some(format!("{year:04}-Q{}", number(count.trim_start_matches('-'), 1..=1, 4)?)),
            };
        }
    }
    let fields: Vec<&str> = text.split(['/', '-', '.']).collect();
    let &[one, other] = fields.as_slice() else { return None };
    let (year, month) = if one.len() == 4 { (one, other) } else { (other, one) };
    let (year, month) = (number(year, 4..=4, 9999)?, number(month, 1..=2, 12)?);
    (year > 0 && month > 0).then(|| format!("{year:04}-{month:02}"))
}

fn number(text: &str, widths: std::ops::RangeInclusive<usize>, most: u16) -> Option<u16> {
    let plain = widths.contains(&text.len()) && text.bytes().all(|b| b.is_ascii_digit());
    text.parse().ok().filter(|number| plain && *number <= most)
}

#[cfg(test)]
mod tests {
    use super::*;

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
            assert_eq!(suggest(text).as_deref(), Some(meant), "{text}");
        }
        for text in ["03/04/2026", "2026-2-30", "31/31/2026", "26-3-4", "+2026-03-24", "0000-1-1", "한글"] {
            assert_eq!(suggest(text), None, "{text}");
        }
    }

    #[test]
    fn times_and_parts_of_a_year_are_suggested() {
        for (text, meant) in [
            ("2026-03-24T5", "2026-03-24T05"),
            ("2026-3-24T05", "2026-03-24T05"),
            ("2026-03-24t05", "2026-03-24T05"),
            ("2026-03-24 05", "2026-03-24T05"),
            ("24/3/2026 5:00:00", "2026-03-24T05"),
            ("2026-03-24 5:30", "2026-03-24T05:30"),
            ("2026-w13", "2026-W13"),
            ("2026W3", "2026-W03"),
            ("2026-q1", "2026-Q1"),
            ("2026/3", "2026-03"),
            ("03.2026", "2026-03"),
        ] {
            assert_eq!(suggest(text).as_deref(), Some(meant), "{text}");
        }
        for text in
            ["2026-03-24T05Z", "2026-03-24T5 pm", "2026-03-24T", "T05", "T가나", "2026-03-24T05:30:10", "2026-0"]
        {
            assert_eq!(suggest(text), None, "{text}");
        }
    }
}
