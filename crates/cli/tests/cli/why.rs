//! What `why` says of each status, made by real runs.

use std::process::{Child, Stdio};

use crate::database::{AS_OF, DAY, SLEEPING, shop, slow, until};
use crate::support::Place;

const WHY: &str = "why daily_order_summary 2026-03-24";

/// Times of this very day and processes are masked; instants of the sample stay.
fn snapshot(name: &str, text: &str) {
    let mut settings = insta::Settings::clone_current();
    let day = r"(?:2026-(?:0[4-9]|1[0-2])|20(?:2[7-9]|[3-9]\d)-\d\d)-\d\d";
    settings.add_filter(&format!(r"{day}T\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|\+09:00)"), "[time]");
    settings.add_filter(r"process \d+ on \S+", "process [pid] on [host]");
    settings.add_filter(r"\b\d+\.\d+s\b", "[took]");
    settings.bind(|| insta::assert_snapshot!(name, text));
}

fn start(place: &Place, words: &str) -> Child {
    place.command(words).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
}

fn kinds(place: &Place, words: &str) -> Vec<String> {
    let object = place.run(&format!("{words} --json")).json();
    assert_eq!(object["schema"], "thrice.why/1");
    object["causes"].as_array().unwrap().iter().map(|cause| cause["kind"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn before_any_run() {
    let (place, _scratch) = shop();
    let at = |key: &str, as_of: &str| format!("why daily_order_summary {key} --as-of {as_of}");
    let calls = [
        at("2026-03-24", "2026-03-26T12:00:00+09:00"),
        at("2026-03-25", "2026-03-26T01:00:00+09:00"),
        at("2026-03-25", "2026-03-25T12:00:00+09:00"),
        at("2026-03-10", "2026-03-26T12:00:00+09:00"),
        at("2026-03-11", "2026-03-26T12:00:00+09:00"),
        "why daily_order_summary --as-of 2026-03-26T12:00:00+09:00".to_owned(),
        "why daily_order_summary --as-of 2026-03-11T12:00:00+09:00".to_owned(),
    ];
    snapshot("before_any_run", &place.transcript(&calls.each_ref().map(String::as_str)));
    place.change("pipelines/daily_order_summary.toml", "[interval]", "paused = true\n[interval]");
    place.change("pipelines/daily_order_summary.toml", "start = ", "end = \"2026-03-25\"\nstart = ");
    let calls = [at("2026-03-24", "2026-03-26T12:00:00+09:00"), at("2026-03-25", "2026-03-26T12:00:00+09:00")];
    snapshot("paused_and_ended", &place.transcript(&calls.each_ref().map(String::as_str)));
}

#[test]
fn the_object_of_json() {
    let (place, _scratch) = shop();
    let object = place.run("why daily_order_summary 2026-03-25 --as-of 2026-03-25T12:00:00+09:00 --json").json();
    let expected = serde_json::json!({
        "schema": "thrice.why/1",
        "pipeline": "daily_order_summary",
        "interval": { "key": "2026-03-25", "start": "2026-03-25T00:00:00+09:00", "end": "2026-03-26T00:00:00+09:00", "zone": "Asia/Seoul" },
        "status": "waiting",
        "causes": [
            { "kind": "end", "detail": {}, "until": "2026-03-26T00:00:00+09:00" },
            { "kind": "delay", "detail": {}, "until": "2026-03-26T02:10:00+09:00" },
        ],
        "action": null,
        "next": null,
        "exit": 0,
    });
    assert_eq!(object, expected);
}

#[test]
fn a_worker_at_work_killed_and_an_open_outcome() {
    let (place, scratch) = slow();
    let mut child = start(&place, DAY);
    until("the query runs", || scratch.number(SLEEPING) == 1);
    let working = place.transcript(&[WHY]);
    let object = place.run(&format!("{WHY} --json")).json();
    assert_eq!(object["causes"][0]["detail"]["step"], "staging");
    assert_eq!(object["causes"][0]["detail"]["os_pid"], child.id());
    assert_eq!(object["causes"][0]["detail"]["run"]["attempt_no"], 1);

    child.kill().unwrap();
    child.wait().unwrap();
    until("its death is seen", || kinds(&place, WHY) == ["dead_worker"]);
    let dead = place.transcript(&[WHY]);
    snapshot("running", &format!("{working}\n{dead}"));

    // what a lost answer to COMMIT leaves
    scratch.execute("update thrice.partitions set claimed_by = null, claimed_at = null");
    assert_eq!(kinds(&place, &format!("{WHY} {AS_OF}")), ["due", "left_open"]);
    scratch.execute("update thrice.pipeline_run_ledger set status = 'unknown'");
    snapshot("outcome_unknown", &place.transcript(&[WHY]));
}

#[test]
fn failed_for_good_and_corrected() {
    let (place, scratch) = shop();
    scratch.execute(
        "update ods.orders set amount = -99 where order_time between '2026-03-24 00:00+09' and '2026-03-24 06:00+09'",
    );
    assert_eq!(place.run(DAY).code, Some(4));
    place.change("pipelines/daily_order_summary.sql", "sum(amount)", "sum(1 / (amount - amount))");
    assert_eq!(place.run("run daily_order_summary 2026-03-23").code, Some(8));
    let (check, permanent) = (format!("{WHY} {AS_OF}"), format!("why daily_order_summary 2026-03-23 {AS_OF}"));
    place.change("pipelines/daily_order_summary.sql", "sum(1 / (amount - amount))", "sum(amount)");
    let before = place.transcript(&[&check]);
    // the one that divided has failed with the code that is corrected now
    let corrected = place.transcript(&[&permanent]);
    place.change("pipelines/daily_order_summary.sql", "sum(amount)", "sum(1 / (amount - amount))");
    let divides = place.transcript(&[&permanent]);
    snapshot("failed", &format!("{before}\n{divides}\n{corrected}"));
}

/// A source that cannot be read now.
const FLAKY: &str = "create function ods.flaky() returns bool language plpgsql as $$
begin raise exception 'try later' using errcode = '40001'; end $$";

#[test]
fn a_transient_failure_waits_for_its_retry_then_its_retries_are_used_up() {
    let (place, scratch) = shop();
    scratch.execute(FLAKY);
    let retry = "[retry]\nattempts = 2\nfirst_delay = \"10m\"\nmax_delay = \"10m\"\nbudget = \"1h\"\n[target]";
    place.change("pipelines/daily_order_summary.toml", "[target]", retry);
    place.change("pipelines/daily_order_summary.toml", "start = ", "catch_up = 1\nstart = ");
    place.change("pipelines/daily_order_summary.sql", "where ", "where ods.flaky() and ");
    let mut child = start(&place, DAY);
    let failed = "select count(*) from thrice.pipeline_run_ledger where status = 'failed'";
    until("the run fails", || scratch.number(failed) == 1);
    child.kill().unwrap();
    child.wait().unwrap();
    let waits = place.transcript(&[WHY]);

    scratch.execute("update thrice.partitions set retry_at = '2026-03-25 00:00Z' where retry_at is not null");
    assert_eq!(kinds(&place, WHY), ["due", "failed", "catch_up"]);
    assert_eq!(place.run("run --as-of 2026-03-25T12:00:00+09:00 -q").code, Some(7));
    let used_up = place.transcript(&[WHY]);
    snapshot("transient", &format!("{waits}\n{used_up}"));
}

#[test]
fn published_and_its_flags() {
    let (place, scratch) = shop();
    place.change("pipelines/daily_order_summary.toml", "strategy =", "allow_empty = true\nstrategy =");
    assert_eq!(place.run(DAY).code, Some(0));
    assert_eq!(place.run("run daily_order_summary 2026-03-25 --as-of 2026-03-26T12:00:00+09:00").code, Some(0));
    let newest = format!("why daily_order_summary {AS_OF}");
    let plain = place.transcript(&[WHY, &newest]);
    scratch.execute("delete from ods.orders where order_time >= '2026-03-24 00:00+09'");
    assert_eq!(place.run(DAY).code, Some(5));
    let failed = place.transcript(&[WHY]);
    place.change("pipelines/daily_order_summary.sql", "sum(amount)", "sum(amount + 0)");
    scratch.execute("update thrice.partitions set closed_at = '2026-04-01 00:00Z' where interval_key = '2026-03-25'");
    let closed = place.transcript(&["why daily_order_summary 2026-03-25"]);
    snapshot("published", &format!("{plain}\n{failed}\n{closed}"));
}

#[test]
fn rows_that_no_receipt_accounts_for_have_two_ways_out() {
    let (place, scratch) = shop();
    scratch.execute("insert into mart.daily_order_summary values ('2026-03-24', 1, 1, 1, now())");
    assert_eq!(place.run(DAY).code, Some(5));
    snapshot("guard", &place.transcript(&[WHY]));
}
