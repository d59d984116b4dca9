//! How every command writes: colour, width, `-q` and `-v`, log lines as JSON.

use crate::database::{AS_OF, DAY, shop};
use crate::support::{Place, Said};
use crate::terminal::shown;

const ESCAPE: char = '\u{1b}';

/// A project with something to say against it.
fn misspelt() -> Place {
    let place = Place::project();
    place.change("pipelines/daily_order_summary.toml", "strategy =", "strategey =");
    place
}

#[test]
fn a_terminal_gets_colour_unless_it_is_not_wanted() {
    let coloured = |place: &Place, words: &str| shown(place, words, 100).contains(ESCAPE);
    let place = misspelt().env("TERM", "xterm");
    assert!(coloured(&place, "lint"));
    assert!(!coloured(&place, "lint --color never"));
    let place = misspelt().env("TERM", "xterm").env("NO_COLOR", "1");
    assert!(!coloured(&place, "lint"));
    assert!(coloured(&place, "lint --color always"), "a flag comes before the environment");
    let place = misspelt().env("TERM", "xterm").env("NO_COLOR", "");
    assert!(coloured(&place, "lint"), "an empty variable is none");
    let place = misspelt().env("TERM", "dumb");
    assert!(!coloured(&place, "lint"));
    // a pipe is no terminal, whatever else is said
    let place = misspelt().env("TERM", "xterm").env("CLICOLOR", "1");
    assert!(!place.run("lint").stderr.contains(ESCAPE));
}

#[test]
fn json_has_no_colour_even_where_it_is_asked_for() {
    let said = misspelt().run("lint --json --color always");
    assert!(!said.stdout.contains(ESCAPE) && said.json()["problems"].is_array(), "{}", said.stdout);
    let said = misspelt().run("lint --log-format json --color always");
    assert!(!said.stderr.contains(ESCAPE), "{}", said.stderr);
}

#[test]
fn help_is_as_wide_as_the_terminal() {
    let place = Place::empty().env("TERM", "xterm");
    let widest = |text: &str| text.lines().map(|line| line.chars().count()).max().unwrap();
    assert!(widest(&shown(&place, "run --help", 60)) <= 60);
    assert!(widest(&shown(&place, "run --help", 160)) > 100);
    // without a terminal the variable that shells keep is asked
    let place = Place::empty().env("COLUMNS", "60");
    assert!(widest(&place.run("run --help").stdout) <= 60);
}

#[test]
fn no_width_cuts_data() {
    let (place, _scratch) = shop();
    let long = "a_pipeline_whose_name_is_longer_than_what_most_people_would_ever_call_one_of_theirs";
    for ending in ["toml", "sql"] {
        let at = |name: &str| place.path().join(format!("pipelines/{name}.{ending}"));
        std::fs::rename(at("daily_order_summary"), at(long)).unwrap();
    }
    assert_eq!(place.run(&format!("run {long} 2026-03-24 {AS_OF}")).code, Some(0));
    let commands = [
        format!("status {AS_OF}"),
        "ledger".to_owned(),
        format!("show {long} 2026-03-24"),
        format!("why {long} 2026-03-24 {AS_OF}"),
        format!("config {long} --explain"),
    ];
    let wide: Vec<String> = commands.iter().map(|words| place.run(words).stdout).collect();
    assert!(wide[0].contains(long) && wide[1].contains(long), "{wide:?}");
    let narrow = place.env("COLUMNS", "20").env("TERM", "xterm");
    for (words, wide) in commands.iter().zip(&wide) {
        assert_eq!(narrow.run(words).stdout, *wide, "{words}");
        let terminal = shown(&narrow, &format!("{words} --color never"), 20);
        // the terminal itself breaks lines, where they are too long for it
        assert_eq!(terminal.contains(long), wide.contains(long), "{words}: {terminal}");
    }
}

#[test]
fn quiet_leaves_errors_and_data() {
    let (place, _scratch) = shop();
    let commands = [
        "init other".to_owned(),
        "lint".to_owned(),
        "lint --db".to_owned(),
        DAY.to_owned(),
        format!("{DAY} --dry-run"),
        // the day after has no orders
        "run --as-of 2026-03-25T12:00:00+09:00".to_owned(),
        format!("status {AS_OF}"),
        "ledger".to_owned(),
        "show daily_order_summary 2026-03-24".to_owned(),
        "why daily_order_summary 2026-03-24".to_owned(),
        "doctor".to_owned(),
        "migrate".to_owned(),
        "config --explain".to_owned(),
        "explain TH0531".to_owned(),
        "grants --print".to_owned(),
        "export schema --write".to_owned(),
        "export completions bash".to_owned(),
        "pg status".to_owned(),
    ];
    for words in commands {
        let said = place.run(&format!("{words} -q"));
        assert_eq!((said.code, said.stderr.as_str()), (Some(0), ""), "{words}: {}", said.stdout);
    }
    let said = place.run("show daily_order_summary 2026-02-30 -q");
    assert!(said.stderr.starts_with("error[TH0110]"), "{}", said.stderr);
}

#[test]
fn quiet_leaves_out_warnings_that_do_not_fail_the_call() {
    let place = Place::project();
    place.change("pipelines/daily_order_summary.sql", "group by 1, 2", "group by 1, 2\nlimit 10");
    assert!(place.run("lint").stderr.contains("TH0311"));
    let said = place.run("lint -q");
    assert_eq!((said.stdout.as_str(), said.stderr.as_str()), ("0 errors, 1 warning\n", ""));
    assert!(place.run("lint -q --deny warnings").stderr.contains("TH0311"), "why it ends with 2");
}

#[test]
fn each_v_says_more_and_none_says_it_on_standard_output() {
    let (place, _scratch) = shop();
    let run = |flags: &str| {
        let said = place.run(&format!("{DAY} {flags}"));
        assert_eq!(said.code, Some(0), "{}", said.stderr);
        said
    };
    let lines = |said: &Said| said.stderr.lines().filter(|line| line.contains(" thrice_")).count();
    let (none, one, two) = (run(""), run("-v"), run("-vv"));
    assert_eq!(lines(&none), 0, "{}", none.stderr);
    assert!(lines(&one) > 0 && lines(&two) > lines(&one), "{}\n{}", one.stderr, two.stderr);
    assert!(one.stderr.contains("INFO") && !one.stderr.contains("DEBUG"), "{}", one.stderr);
    assert!(two.stderr.contains("DEBUG"), "{}", two.stderr);
    for said in [&one, &two] {
        assert!(!said.stdout.contains("INFO") && !said.stdout.contains("DEBUG"), "{}", said.stdout);
    }
    assert_eq!(lines(&run("-q -vv")), 0, "-q is the stronger one");
}

#[test]
fn under_json_logs_every_line_of_every_command_is_an_object() {
    let (place, _scratch) = shop();
    place.change("pipelines/daily_order_summary.sql", "group by 1, 2", "group by 1, 2\nlimit 10000");
    let calls = [
        "init other".to_owned(),
        "init".to_owned(),
        "lint --db --deny warnings".to_owned(),
        format!("{DAY} -vv"),
        format!("run {AS_OF} -v"),
        "run daily_order_summary 2026-03-24 --resaon x".to_owned(),
        "run nothing_like_it".to_owned(),
        format!("status {AS_OF}"),
        "ledger --limit 0".to_owned(),
        "doctor -v".to_owned(),
        "migrate -v".to_owned(),
        "adopt daily_order_summary --from 2026-03-11 --to 2026-03-12 --reason 'old job'".to_owned(),
        "config --explain".to_owned(),
        "export schema --write".to_owned(),
        "export schema".to_owned(),
        "explain TH9999".to_owned(),
        "pg log".to_owned(),
        "bogus".to_owned(),
        String::new(),
        "pg".to_owned(),
    ];
    let mut told = 0;
    for words in calls {
        for form in ["--log-format json", "--log-format=json"] {
            let said = place.run(&format!("{form} {words}"));
            for line in said.stderr.lines() {
                let object: serde_json::Value =
                    serde_json::from_str(line).unwrap_or_else(|error| panic!("{words}: {error}: {line}"));
                assert!(object["ts"].is_string() && object["level"].is_string(), "{words}: {line}");
                told += 1;
            }
            assert!(said.code == Some(0) || !said.stderr.is_empty(), "{words} fails and says nothing");
        }
    }
    assert!(told > 40, "{told}");
}
