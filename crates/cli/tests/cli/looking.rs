//! What `status` shows unasked, what its counts count, and the gate `--require`.

use crate::database::{DAY, shop};

#[test]
fn a_calendar_unasked_shows_what_the_ledger_knows_and_says_what_it_leaves_out() {
    let (place, _scratch) = shop();
    let unasked = |as_of: &str| place.run(&format!("status --as-of {as_of}")).stdout;
    // nothing is known: the last weeks
    let shown = unasked("2026-11-30T12:00:00+09:00");
    assert!(shown.contains("0 failed   42 missing here, 264 in all\n") && shown.contains("W48 11-23"), "{shown}");
    assert_eq!(place.run(DAY).code, Some(0));
    // what is known is in the last weeks
    let shown = unasked("2026-04-10T12:00:00+09:00");
    assert!(shown.contains("0 failed   29 missing\n") && shown.contains("W15 04-06"), "{shown}");
    // it is older
    let shown = unasked("2026-11-30T12:00:00+09:00");
    assert!(shown.contains("0 failed   13 missing here, 263 in all\n"), "{shown}");
    assert!(shown.contains("  W13 03-23   .  F\n"), "{shown}");
    assert!(
        shown.ends_with("not shown: newer ones up to 2026-11-29 are due and missing: thrice run --dry-run\n"),
        "{shown}"
    );
    let object = place.run("status --json --as-of 2026-11-30T12:00:00+09:00").json();
    let pipeline = &object["pipelines"][0];
    assert_eq!((&pipeline["counts"]["missing"], &pipeline["in_all"]["missing"]), (&13.into(), &263.into()));
    assert_eq!(pipeline["in_all"]["newest_missing"], "2026-11-29");

    let planned = place.run("run --dry-run --as-of 2026-11-30T12:00:00+09:00");
    assert_eq!(planned.stdout.lines().count(), 7);
    let more = "daily_order_summary: 256 more are due beyond interval.catch_up: a later `thrice run` takes them, or name them\n";
    assert!(planned.stderr.ends_with(more), "{}", planned.stderr);
    let planned = place.run("run --dry-run --json --as-of 2026-03-13T12:00:00+09:00").json();
    assert_eq!(planned["beyond_catch_up"], serde_json::json!({ "daily_order_summary": 0 }));
}

#[test]
fn every_object_tells_the_exit() {
    let (place, _scratch) = shop();
    for words in [
        "status",
        "show daily_order_summary 2026-03-24",
        "why daily_order_summary 2026-03-24",
        "ledger",
        "lint",
        "run --dry-run",
        "migrate",
        "migrate --info",
        "grants --print",
        "explain",
        "pg status",
        "pg stop",
        "init other",
    ] {
        let said = place.run(&format!("{words} --json"));
        assert_eq!((said.code, &said.json()["exit"]), (Some(0), &0.into()), "{words}: {}", said.stderr);
    }
}

#[test]
fn a_gate_does_not_open_on_nothing() {
    let (place, _scratch) = shop();
    let said = place.run("status --from 2026-01-01 --to 2026-01-31 --require published --json");
    assert_eq!((said.code, said.json()["exit"].as_i64()), (Some(5), Some(5)), "{}", said.stderr);
    assert_eq!(said.json()["met"], false);
    assert!(said.stderr.contains("TH0551]: there is nothing to check"), "{}", said.stderr);
    assert_eq!(place.run("status --from 2026-01-01 --to 2026-01-31").code, Some(0));
    assert_eq!(place.run(DAY).code, Some(0));
    let said = place.run("status --from 2026-03-23 --to 2026-03-24 --require published");
    assert!(
        said.stderr.contains("1 of 2 not published: daily_order_summary 2026-03-23 is missing\n"),
        "{}",
        said.stderr
    );
    assert_eq!(place.run("status --from 2026-03-24 --to 2026-03-24 --require published").code, Some(0));
}
