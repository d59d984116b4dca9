//! Whether a command printed what its page shows. What differs from day to day and from machine to machine is masked:
//! durations, instants of the machine's clock, users, the server's version. `[..]` stands for any text of a line, and
//! a line `...` for any number of lines.

/// True where the lines agree.
pub(crate) fn same(shown: &[String], printed: &[String]) -> bool {
    match (shown.split_first(), printed.split_first()) {
        (None, None) => true,
        (Some((first, rest)), _) if first == "..." => (0..=printed.len()).any(|skip| same(rest, &printed[skip..])),
        (Some((first, rest)), Some((line, more))) => same_line(first, line) && same(rest, more),
        (Some(_), None) | (None, Some(_)) => false,
    }
}

pub(crate) fn same_line(shown: &str, printed: &str) -> bool {
    let (pattern, text) = (masked(shown), masked(printed));
    if pattern.is_some() || text.is_some() {
        // what is masked has another width: columns do not stand where they stood
        return text.is_some_and(|text| pattern.is_some_and(|pattern| matches(&pattern, &text)));
    }
    matches(shown.trim_end(), printed.trim_end())
}

/// The words of a line that holds something to mask.
fn masked(line: &str) -> Option<String> {
    let mut words: Vec<String> = line.split_whitespace().map(ToOwned::to_owned).collect();
    let ledger_row = words.first().is_some_and(|word| word.starts_with('#')) && words.len() > 8;
    let heading = line.starts_with("run  pipeline");
    let version = line.starts_with("private PostgreSQL");
    let mut found = heading || version;
    for at in 0..words.len() {
        let (word, next) = (words[at].as_str(), words.get(at + 1).map(String::as_str));
        let took = word.strip_suffix('s').is_some_and(|number| number.contains('.') && number.parse::<f64>().is_ok());
        let clock = next.is_some_and(|next| is_date(word) && next.ends_with('Z') && next.contains(':'));
        if took || clock {
            found = true;
            "[time]".clone_into(&mut words[at]);
        }
        if clock {
            "[time]".clone_into(&mut words[at + 1]);
        }
        if let Some(rest) = after_instant(&words[at]) {
            found = true;
            words[at] = format!("[time]{rest}");
        }
        if at > 0 && words[at - 1] == "by" && !heading {
            found = true;
            "[user]".clone_into(&mut words[at]);
        }
    }
    if ledger_row {
        "[user]".clone_into(&mut words[6]);
    }
    if version {
        "[major]".clone_into(&mut words[2]);
    }
    found.then(|| words.join(" "))
}

fn is_date(word: &str) -> bool {
    word.len() == 10
        && word.bytes().enumerate().all(|(at, b)| if at == 4 || at == 7 { b == b'-' } else { b.is_ascii_digit() })
}

/// What follows an instant of the machine's clock: it has a fraction of a second, which the instants of `--as-of` and of
/// intervals do not have.
fn after_instant(word: &str) -> Option<&str> {
    let (date, time) = word.split_once('T')?;
    let instant = time.trim_end_matches([',', ')']);
    let clock = is_date(date) && instant.contains(':') && instant.contains('.');
    clock.then(|| &time[instant.len()..])
}

/// `[..]` is any text.
fn matches(pattern: &str, text: &str) -> bool {
    match pattern.split_once("[..]") {
        None => pattern == text,
        Some((before, rest)) => text.strip_prefix(before).is_some_and(|text| {
            text.char_indices().map(|(at, _)| at).chain([text.len()]).any(|at| matches(rest, &text[at..]))
        }),
    }
}

#[test]
fn what_differs_between_machines_is_masked_and_nothing_else() {
    let line = "daily  2026-03-24  published  100 rows  +100 -0  0.1s  run #1";
    assert!(same_line(line, &line.replace("0.1s", "12.5s")));
    assert!(!same_line(line, &line.replace("100 rows", "101 rows")));
    assert!(!same_line(line, &line.replace("03-24", "03-25")));
    let row = "#1   daily  2026-03-24  published  100   manual   kim  2026-03-25 02:10:04Z";
    assert!(same_line(row, "#1   daily  2026-03-24  published  100   manual   postgres  2026-11-30 09:28:03Z"));
    assert!(!same_line(row, "#2   daily  2026-03-24  published  100   manual   postgres  2026-11-30 09:28:03Z"));
    let instant = "at 2026-11-30T10:30:37.222938Z, 100 rows";
    assert!(same_line(instant, "at 2026-03-25T02:10:04.5Z, 100 rows"));
    assert!(!same_line(instant, "at 2026-03-25T02:10:04.5Z, 99 rows"));
    assert!(!same_line("until 2026-03-26T00:00:00Z", "until 2026-03-27T00:00:00Z"));
    assert!(!same_line("  W13 03-23   F  F  -", "  W13 03-23   F  -  F"));
    assert!(!same_line("  W13 03-23   F  -", "  W13 03-23      F  -"), "a calendar is told by its columns");
    assert!(same_line("plan [..] of [..]", "plan bf-1 of daily"));
}

#[test]
fn a_line_of_dots_is_any_number_of_lines() {
    let lines = |text: &str| text.split(' ').map(ToOwned::to_owned).collect::<Vec<_>>();
    assert!(same(&lines("a ... d"), &lines("a b c d")));
    assert!(same(&lines("a ..."), &lines("a")));
    assert!(!same(&lines("a ... d"), &lines("a b c")));
    assert!(!same(&lines("a b"), &lines("a")));
}
