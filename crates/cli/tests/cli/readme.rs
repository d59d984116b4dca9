//! The transcript at the top of the README is what `thrice demo` prints, line by line; twice in one folder.

use std::os::unix::fs::PermissionsExt;

use crate::support::Place;

/// Words of a line; those that differ from machine to machine are masked.
fn words(line: &str) -> Vec<String> {
    let mut words: Vec<String> = line.split_whitespace().map(ToOwned::to_owned).collect();
    let ledger_row = words.first().is_some_and(|word| word.starts_with('#'));
    for word in &mut words {
        let time = word.ends_with('Z') && word.contains(':');
        let took = word.strip_suffix('s').is_some_and(|number| number.parse::<f64>().is_ok());
        if time || took {
            "[time]".clone_into(word);
        }
    }
    if ledger_row && words.len() > 8 {
        "[user]".clone_into(&mut words[6]);
        "[date]".clone_into(&mut words[7]);
    }
    if line.starts_with("private PostgreSQL") {
        "[major]".clone_into(&mut words[2]);
    }
    words
}

#[test]
fn the_transcript_is_what_the_demo_prints() {
    let readme = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../README.md")).unwrap();
    let (_, rest) = readme.split_once("$ thrice demo\n").expect("the README shows the demo");
    let (shown, _) = rest.split_once("```").unwrap();

    let mut place = Place::empty();
    // the server may run as another user, who has to enter the folder
    std::fs::set_permissions(place.path(), std::fs::Permissions::from_mode(0o755)).unwrap();
    if let Ok(bin) = std::env::var("THRICE_TEST_PG_BIN") {
        place = place.env("THRICE_PG_BIN", &bin);
    }
    let said = place.run("demo");
    assert_eq!((said.code, said.stderr.as_str()), (Some(0), ""), "{}", said.stdout);
    for (line, (expected, got)) in shown.lines().zip(said.stdout.lines()).enumerate() {
        assert_eq!(words(expected), words(got), "line {}:\n{}", line + 1, said.stdout);
    }
    assert_eq!(shown.lines().count(), said.stdout.lines().count(), "{}", said.stdout);
    assert_eq!(place.run("-C thrice-demo pg status").stdout.split_whitespace().next(), Some("stopped"));

    // again in the same folder
    let said = place.run("demo --json");
    let object = said.json();
    assert_eq!((said.code, &object["identical"]), (Some(0), &true.into()), "{}", said.stderr);
    let runs = object["runs"].as_array().unwrap();
    let outcomes: Vec<&str> = runs.iter().filter_map(|run| run["outcome"].as_str()).collect();
    assert_eq!(outcomes, ["published", "unchanged", "resolved", "published", "taken_over"]);
    assert!([1, 3, 4].iter().all(|no| runs[*no]["checksum"] == runs[0]["checksum"]));
    assert_ne!(runs[2]["checksum"], runs[0]["checksum"], "the order that changed");

    // its project is one that runs
    let said = place.run("-C thrice-demo run daily_order_summary 2026-03-20");
    assert_eq!(said.code, Some(0), "{}", said.stderr);
    assert!(said.stdout.contains("unchanged  100 rows"), "{}", said.stdout);
    assert_eq!(place.run("-C thrice-demo pg stop").code, Some(0));

    // an edited pipeline is not the demo's
    place.change("thrice-demo/pipelines/daily_order_summary.sql", "sum(amount)", "sum(amount + 1)");
    let said = place.run("demo");
    assert_eq!(said.code, Some(2), "{}", said.stdout);
    assert!(said.stderr.contains("thrice-demo/pipelines/daily_order_summary.sql"), "{}", said.stderr);
}
