//! `thrice intervals`: bounds, lengths and due times, without a database.

use crate::support::Place;

const TOML: &str = "pipelines/daily_order_summary.toml";
const AS_OF: &str = "--as-of 2026-03-24T12:00:00+09:00";

/// The project of `init` with other lines in its interval table, and no database.
fn place(changes: &[(&str, &str)]) -> Place {
    let place = Place::project();
    for (from, to) in changes {
        place.change(TOML, from, to);
    }
    place
}

const NEW_YORK: (&str, &str) = ("time_zone = \"Asia/Seoul\"", "time_zone = \"America/New_York\"");

#[test]
fn days_with_their_revisits() {
    let place = place(&[]);
    let toml = std::fs::read_to_string(place.path().join(TOML)).unwrap();
    place.write(TOML, format!("{toml}\n[late_data]\nrevisit = [1, 3]\nfinal_after = 1\nclose_after = 3\n"));
    let calls = [
        format!("intervals daily_order_summary {AS_OF}"),
        format!("intervals daily_order_summary yesterday,-3 {AS_OF}"),
        format!("intervals daily_order_summary --from 2026-03-10 --to 2026-03-11 {AS_OF}"),
    ];
    insta::assert_snapshot!(place.transcript(&calls.each_ref().map(String::as_str)));
}

#[test]
fn days_on_which_the_clocks_change_are_marked() {
    let place = place(&[NEW_YORK]);
    insta::assert_snapshot!(place.transcript(&["intervals daily_order_summary 2026-03-07,2026-03-08,2026-11-01"]));
    place.change(TOML, "grain = \"day\"", "grain = \"hour\"");
    let said = place.run("intervals daily_order_summary 2026-11-01 --json");
    let object = said.json();
    let intervals = object["intervals"].as_array().unwrap();
    assert_eq!(intervals.len(), 25);
    assert!(intervals.iter().all(|interval| interval["seconds"] == 3600 && interval["usual_seconds"] == 3600));
    assert_eq!(intervals[1]["interval"]["key"], "2026-11-01T01-04:00");
    assert_eq!(intervals[2]["interval"]["start"], "2026-11-01T01:00:00-05:00");
}

#[test]
fn an_interval_as_json_has_all_that_the_line_has() {
    let place = place(&[NEW_YORK]);
    let object = place.run("intervals daily_order_summary 2026-03-08 --json").json();
    assert_eq!(
        object,
        serde_json::json!({
            "schema": "thrice.intervals/1", "pipeline": "daily_order_summary", "grain": "day", "zone": "America/New_York",
            "delay_seconds": 7800, "final_after": 0, "close_after": null, "exit": 0,
            "intervals": [{
                "interval": {
                    "key": "2026-03-08", "zone": "America/New_York",
                    "start": "2026-03-08T00:00:00-05:00", "end": "2026-03-09T00:00:00-04:00",
                },
                "utc": { "start": "2026-03-08T05:00:00Z", "end": "2026-03-09T04:00:00Z" },
                "seconds": 82_800, "usual_seconds": 86_400,
                "due_at": null, "never_due": "before_start", "revisits": [],
            }],
        })
    );
}

/// Unasked, intervals of the pipeline are shown, wherever the clock is.
#[test]
fn what_is_shown_unasked_belongs_to_the_pipeline() {
    let place = place(&[("start = \"2026-03-11\"", "start = \"2026-03-11\"\nend = \"2026-03-14\"")]);
    let keys = |as_of: &str| -> Vec<String> {
        let object = place.run(&format!("intervals daily_order_summary --json --as-of {as_of}")).json();
        let intervals = object["intervals"].as_array().unwrap().clone();
        intervals.iter().map(|shown| shown["interval"]["key"].as_str().unwrap().to_owned()).collect()
    };
    let all = ["2026-03-11", "2026-03-12", "2026-03-13"];
    for as_of in ["2020-01-01T00:00:00Z", "2026-03-12T00:00:00Z", "2026-03-14T00:00:00+09:00", "2030-01-01T00:00:00Z"] {
        assert_eq!(keys(as_of), all, "{as_of}");
    }
}

#[test]
fn what_names_nothing_is_refused_as_everywhere() {
    let place = place(&[]);
    let calls = [
        "intervals daily_order_sumary",
        "intervals daily_order_summary 2026-02-30",
        "intervals daily_order_summary --from 2026-03-24",
        "intervals daily_order_summary 2026-03-24 --from 2026-03-24 --to 2026-03-25",
    ];
    for call in calls {
        let said = place.run(call);
        assert_eq!((said.code, said.stdout.as_str()), (Some(2), ""), "{call}: {}", said.stderr);
    }
}
