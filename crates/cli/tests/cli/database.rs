//! What the commands say and how they end, on a server.

use std::time::{Duration, Instant};

use crate::scratch::Scratch;
use crate::support::Place;
use serde_json::Value;

pub(crate) const DAY: &str = "run daily_order_summary 2026-03-24";
pub(crate) const AS_OF: &str = "--as-of 2026-03-26T12:00:00+09:00";

/// The project of `init`, its sample source loaded, its ledger made.
pub(crate) fn shop() -> (Place, Scratch) {
    let scratch = Scratch::new();
    let place = Place::project().env("DATABASE_URL", scratch.url());
    let sample = std::fs::read_to_string(place.path().join("sample.sql")).unwrap();
    scratch.execute(&sample);
    let said = place.run("migrate");
    assert_eq!((said.code, said.stdout.as_str()), (Some(0), "ledger schema 3 of 3, 3 applied\n"), "{}", said.stderr);
    (place, scratch)
}

/// Times, ids and processes are told apart from run to run: they are masked.
fn snapshot(name: &str, text: &str) {
    let mut settings = insta::Settings::clone_current();
    settings.add_filter(r"\b\d+\.\d+s\b", "[took]");
    settings.add_filter(
        r"\b20(?:2[7-9]|[3-9]\d)-\d\d-\d\d[ T]\d\d:\d\d:\d\d(?:\.\d+)?Z|\b2026-1[12]-\d\d[ T]\d\d:\d\d:\d\d(?:\.\d+)?Z",
        "[time]",
    );
    settings.add_filter(r"(manual|schedule|adopt)  by \S+", "$1  by [user]");
    settings.add_filter(r"code [0-9a-f]{8}", "code [hash]");
    // the columns of a table are as wide as the user's name
    settings.add_filter(r"(manual|schedule|adopt) +\S+ +\[time\]", "$1 [user] [time]");
    settings.add_filter(r"by +when +note", "by when note");
    settings.bind(|| insta::assert_snapshot!(name, text));
}

#[test]
fn three_runs_and_what_the_looking_commands_say_of_them() {
    let (place, scratch) = shop();
    let calls = [
        DAY,
        DAY,
        DAY,
        "show daily_order_summary 2026-03-24",
        "show daily_order_summary 2026-03-23 --as-of 2026-03-26T12:00:00+09:00",
        "show daily_order_summary 2026-03-25 --as-of 2026-03-26T01:00:00+09:00",
        "show daily_order_summary 2026-03-25 --as-of 2026-03-25T12:00:00+09:00",
        "show daily_order_summary 2026-03-01",
        "status --as-of 2026-03-26T12:00:00+09:00",
        "status daily_order_summary --month 2026-03 --as-of 2026-03-24T12:00:00+09:00",
    ];
    snapshot("three_runs", &place.transcript(&calls));
    assert_eq!(scratch.number("select count(*) from mart.daily_order_summary where dt = '2026-03-24'"), 100);

    let runs = place.run("ledger --json").json();
    assert_eq!(runs["schema"], "thrice.ledger/1");
    let told: Vec<(&str, i64)> = runs["runs"]
        .as_array()
        .unwrap()
        .iter()
        .map(|run| (run["outcome"].as_str().unwrap(), run["attempt_no"].as_i64().unwrap()))
        .collect();
    assert_eq!(told, [("unchanged", 3), ("unchanged", 2), ("published", 1)]);
    let sums: Vec<&Value> = runs["runs"].as_array().unwrap().iter().map(|run| &run["checksum"]).collect();
    assert!(sums.iter().all(|sum| *sum == sums[0] && sum.is_string()), "{sums:?}");

    let shown = place.run("show daily_order_summary 2026-03-24 --json").json();
    assert_eq!(
        (&shown["schema"], &shown["status"], &shown["rows"]),
        (&"thrice.show/1".into(), &"final".into(), &100.into())
    );
    assert_eq!(shown["runs"].as_array().unwrap().len(), 3);
    let status = place.run("status --month 2026-03 --json --as-of 2026-03-26T12:00:00+09:00").json();
    assert_eq!(status["pipelines"][0]["counts"]["missing"], 14);
    assert_eq!(status["pipelines"][0]["newest"], "2026-03-24");
}

#[test]
fn everything_due_then_nothing_is() {
    let (place, _scratch) = shop();
    snapshot("due", &place.transcript(&["run --as-of 2026-03-25T12:00:00+09:00"]));
    // 14 days are due, at most seven are caught up in one call
    assert_eq!(place.run("run --as-of 2026-03-25T12:00:00+09:00").code, Some(0));
    let again = place.run("run --as-of 2026-03-25T12:00:00+09:00 --detailed-exitcode --json");
    assert_eq!((again.code, &again.json()["items"]), (Some(3), &serde_json::json!([])));
    assert_eq!(place.run("run --as-of 2026-03-25T12:00:00+09:00").code, Some(0));
    let gate = "status --from 2026-03-11 --to 2026-03-24 --require published";
    assert_eq!(place.run(gate).code, Some(0));
    let open = place.run(&format!("{} {AS_OF}", gate.replace("03-24", "03-25")));
    assert_eq!(open.code, Some(5), "{}", open.stderr);
    assert!(open.stderr.contains("TH0551") && open.stderr.contains("2026-03-25"), "{}", open.stderr);

    let many = place.run("run daily_order_summary --from 2026-03-11 --to 2026-03-24");
    assert_eq!(many.code, Some(5));
    assert!(many.stderr.contains("TH0532"), "{}", many.stderr);
    let seven = place.run("run daily_order_summary --from 2026-03-11 --to 2026-03-17 -q");
    assert_eq!((seven.code, seven.stdout.matches("unchanged").count(), seven.stderr.as_str()), (Some(0), 7, ""));
}

#[test]
fn a_dry_run_writes_nothing() {
    let (place, scratch) = shop();
    let said = place.run(&format!("{DAY} --dry-run --json"));
    let object = said.json();
    assert_eq!((said.code, object["items"][0]["interval"]["key"].as_str()), (Some(0), Some("2026-03-24")));
    assert_eq!(object["items"][0]["interval"]["start"], "2026-03-24T00:00:00+09:00");
    assert_eq!(place.run("run --dry-run --as-of 2026-03-25T12:00:00+09:00").code, Some(0));
    assert_eq!(scratch.number("select count(*) from thrice.partitions"), 0);
    assert_eq!(scratch.number("select count(*) from mart.daily_order_summary"), 0);
}

#[test]
fn no_ledger_yet() {
    let scratch = Scratch::new();
    let place = Place::project().env("DATABASE_URL", scratch.url());
    snapshot("no_ledger", &place.transcript(&[DAY, "status", "ledger", "migrate --info"]));
    // what a newer program has done to the ledger is not undone by this one
    assert_eq!(place.run("migrate").code, Some(0));
    scratch.execute("update thrice._sqlx_migrations set version = 9999 where version = 2");
    let said = place.run("status");
    assert_eq!(said.code, Some(5), "{}", said.stderr);
    assert!(said.stderr.contains("TH0411"), "{}", said.stderr);
    assert_eq!(place.run("migrate").code, Some(5));
}

#[test]
fn a_failed_check_publishes_nothing() {
    let (place, scratch) = shop();
    scratch.execute("update ods.orders set amount = -1000 where order_time >= '2026-03-24 00:00+09' and store_id = 1 + (40 * 7919) % 500");
    scratch.execute(
        "update ods.orders set amount = -99 where order_time between '2026-03-24 00:00+09' and '2026-03-24 06:00+09'",
    );
    snapshot("failed_check", &place.transcript(&[DAY, "show daily_order_summary 2026-03-24"]));
    assert_eq!(scratch.number("select count(*) from mart.daily_order_summary"), 0);
    // failed for good: `run` leaves it alone and tells so
    let left = place.run("run --as-of 2026-03-25T12:00:00+09:00 --json");
    assert_eq!(left.code, Some(4), "{}", left.stderr);
    assert!(left.json()["items"].as_array().unwrap().iter().all(|item| item["interval"]["key"] != "2026-03-24"));
    assert!(left.stderr.contains("left to you: 2026-03-24"), "{}", left.stderr);
}

#[test]
fn rows_that_no_receipt_accounts_for() {
    let (place, scratch) = shop();
    scratch.execute(
        "insert into mart.daily_order_summary values ('2026-03-24', 1, 1, 1, now()), ('2026-03-23', 1, 1, 1, now())",
    );
    let calls = [
        DAY,
        "run daily_order_summary 2026-03-24 --overwrite-existing --reason 'the old job is gone'",
        "adopt daily_order_summary --from 2026-03-22 --to 2026-03-24 --reason 'loaded by the old job' --yes",
        "adopt daily_order_summary --from 2026-03-22 --to 2026-03-24 --reason 'loaded by the old job' --yes",
        "ledger --limit 3",
    ];
    snapshot("existing_rows", &place.transcript(&calls));
    let said = place.run("adopt daily_order_summary --from 2026-03-22 --to 2026-03-23 --reason 'again' --yes --json");
    assert_eq!(said.json()["items"][1]["outcome"], "already_published");
}

#[test]
fn an_empty_result_over_a_published_partition() {
    let (place, scratch) = shop();
    place.change("pipelines/daily_order_summary.toml", "strategy =", "allow_empty = true\nstrategy =");
    assert_eq!(place.run(DAY).code, Some(0));
    scratch.execute("delete from ods.orders where order_time >= '2026-03-24 00:00+09'");
    let calls = [
        DAY,
        "run daily_order_summary 2026-03-24 --accept-drop --reason 'the shops were closed'",
        "status --month 2026-03 --as-of 2026-03-25T12:00:00+09:00",
    ];
    snapshot("empty_over_published", &place.transcript(&calls));
}

#[test]
fn the_commit_of_the_project_is_kept_with_its_code() {
    let (place, scratch) = shop();
    let commit = "0123456789abcdef0123456789abcdef01234567";
    place.write(".git/HEAD", "ref: refs/heads/main\n").write(".git/refs/heads/main", commit);
    assert_eq!(place.run(DAY).code, Some(0));
    let kept = format!("select count(*) from thrice.code_versions where git_revision = '{commit}'");
    assert_eq!(scratch.number(&kept), 1);
}

#[test]
fn the_query_that_the_server_refuses_is_shown_where_it_is_wrong() {
    let (place, _scratch) = shop();
    place.change("pipelines/daily_order_summary.sql", "sum(amount)", "sum(amoutn)");
    snapshot("refused_query", &place.transcript(&[DAY, "lint --db"]));
    let object = place.run(&format!("{DAY} --json")).json();
    let error = &object["items"][0]["errors"][0];
    assert_eq!((&error["sqlstate"], &error["span"]["line"]), (&"42703".into(), &4.into()));
    assert_eq!(object["exit"], 8);
}

#[test]
fn a_target_that_does_not_fit_is_refused_before_any_work() {
    let (place, scratch) = shop();
    scratch.execute("alter table mart.daily_order_summary rename column order_count to orders");
    snapshot("refused_target", &place.transcript(&[DAY, "lint --db"]));
    assert_eq!(scratch.number("select count(*) from thrice.pipeline_run_ledger"), 0);
}

/// A pipeline whose query takes long enough to look at it from outside.
pub(crate) fn slow() -> (Place, Scratch) {
    let (place, scratch) = shop();
    place.change(
        "pipelines/daily_order_summary.sql",
        "where order_time >= :interval_start",
        "where (select pg_sleep(60)) is not null and order_time >= :interval_start",
    );
    (place, scratch)
}

pub(crate) fn until(what: &str, holds: impl Fn() -> bool) {
    let begun = Instant::now();
    while !holds() {
        assert!(begun.elapsed() < Duration::from_secs(30), "not within 30 s: {what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

pub(crate) const SLEEPING: &str =
    "select count(*) from pg_stat_activity where wait_event = 'PgSleep' and datname = current_database()";

#[test]
fn a_signal_cancels_on_the_server_and_the_run_is_told_as_cancelled() {
    for (signal, exit) in [("INT", 130), ("TERM", 143), ("HUP", 143)] {
        let (place, scratch) = slow();
        let words = format!("{DAY} --json");
        let child =
            place.command(&words).stdout(std::process::Stdio::piped()).stderr(std::process::Stdio::piped()).spawn();
        let child = child.unwrap();
        until("the query runs", || scratch.number(SLEEPING) == 1);
        let status = std::process::Command::new("kill").args(["-s", signal, &child.id().to_string()]).status().unwrap();
        assert!(status.success());
        let ended = child.wait_with_output().unwrap();
        assert_eq!(ended.status.code(), Some(exit), "{}", String::from_utf8_lossy(&ended.stderr));
        assert_eq!(scratch.number(SLEEPING), 0);
        let object: Value = serde_json::from_slice(&ended.stdout).unwrap();
        assert_eq!((&object["exit"], &object["causes"]), (&exit.into(), &serde_json::json!([exit])));
        assert_eq!(object["items"][0]["error"]["exit"], exit);
        let run = place.run("ledger --json").json()["runs"][0].clone();
        assert_eq!((&run["status"], &run["failure_class"]), (&"failed".into(), &"cancelled".into()), "{run}");
        assert_eq!(scratch.number("select count(*) from thrice.partitions where claimed_by is not null"), 0);
    }
}

#[test]
fn a_call_that_was_told_to_ignore_a_hangup_goes_on() {
    let (place, scratch) = slow();
    let program = place.command(DAY);
    let mut shell = std::process::Command::new("sh");
    shell.args(["-c", "trap '' HUP; exec \"$0\" \"$@\""]).arg(program.get_program()).args(program.get_args());
    shell.env_clear().envs(program.get_envs().filter_map(|(name, value)| Some((name, value?))));
    let mut child = shell
        .current_dir(place.path())
        .stdout(std::process::Stdio::null())
        .stderr(std::process::Stdio::null())
        .spawn()
        .unwrap();
    until("the query runs", || scratch.number(SLEEPING) == 1);
    let kill = |signal: &str| std::process::Command::new("kill").args(["-s", signal, &child.id().to_string()]).status();
    assert!(kill("HUP").unwrap().success());
    std::thread::sleep(Duration::from_millis(300));
    assert_eq!(scratch.number(SLEEPING), 1);
    assert!(kill("TERM").unwrap().success());
    assert_eq!(child.wait().unwrap().code(), Some(143));
}

#[test]
fn a_partition_that_another_process_has() {
    let (place, scratch) = slow();
    let mut child =
        place.command(DAY).stdout(std::process::Stdio::null()).stderr(std::process::Stdio::null()).spawn().unwrap();
    until("the query runs", || scratch.number(SLEEPING) == 1);
    let said = place.run(&format!("{DAY} --json"));
    assert_eq!(said.code, Some(7), "{}", said.stderr);
    let object = said.json();
    assert_eq!(
        (&object["items"][0]["outcome"], &object["items"][0]["error"]["code"]),
        (&"held".into(), &"TH0533".into())
    );
    let status = place.run("status --month 2026-03 --json --as-of 2026-03-25T12:00:00+09:00").json();
    assert_eq!(status["pipelines"][0]["counts"]["running"], 1);

    // killed, not asked: the next run takes over without waiting for anything
    child.kill().unwrap();
    child.wait().unwrap();
    place.change("pipelines/daily_order_summary.sql", "pg_sleep(60)", "pg_sleep(0)");
    let begun = Instant::now();
    let said = place.run(DAY);
    assert_eq!(said.code, Some(0), "{}", said.stderr);
    assert!(begun.elapsed() < Duration::from_secs(20), "{:?}", begun.elapsed());
    assert!(said.stderr.contains("took over"), "{}", said.stderr);
    assert_eq!(place.run("ledger --json").json()["runs"][1]["failure_class"], "abandoned");
}

#[test]
fn log_lines_as_json_carry_the_documented_fields() {
    let (place, _scratch) = shop();
    let said = place.run(&format!("{DAY} --log-format json"));
    let events: Vec<Value> = said
        .stderr
        .lines()
        .filter(|line| line.starts_with('{'))
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let named = |name: &str| events.iter().find(|event| event["event"] == name && event["message"].is_null());
    for state in ["started", "staged", "validated", "published"] {
        let event = named(state).unwrap_or_else(|| panic!("no {state} in {}", said.stderr));
        for key in ["ts", "level", "pipeline", "key", "attempt_no", "run_id", "token", "lane", "trigger"] {
            assert!(!event[key].is_null(), "no {key} in {event}");
        }
        assert_eq!((&event["level"], &event["key"]), (&"info".into(), &"2026-03-24".into()));
    }
    assert_eq!(named("staged").unwrap()["rows"], 100);
    assert_eq!(place.run(&format!("{DAY} -q --log-format json")).stderr, "");
}

#[test]
fn who_asked_and_for_whom_is_kept() {
    let (place, _scratch) = shop();
    let place = place.env("THRICE_ACTOR", "kim");
    assert_eq!(place.run(&format!("{DAY} --reason 'asked for by finance'")).code, Some(0));
    let run = place.run("ledger --json").json()["runs"][0].clone();
    assert_eq!((&run["actor"]["on_behalf_of"], &run["reason"]), (&"kim".into(), &"asked for by finance".into()));
    assert!(run["actor"]["os_user"].is_string() && run["actor"]["session_user"].is_string(), "{run}");
}

#[test]
fn the_worst_of_several_ends_is_the_exit() {
    let (place, scratch) = shop();
    for ending in ["toml", "sql"] {
        let path = |name: &str| place.path().join(format!("pipelines/{name}.{ending}"));
        std::fs::copy(path("daily_order_summary"), path("other")).unwrap();
    }
    place.change("pipelines/other.toml", "mart.daily_order_summary", "mart.missing");
    // one pipeline has no target (2), the day after the sample has no orders (4), the rest publishes (0)
    let said = place.run("run --as-of 2026-03-26T12:00:00+09:00 --json");
    let object = said.json();
    assert_eq!((said.code, &object["causes"]), (Some(2), &serde_json::json!([0, 2, 4])), "{}", said.stderr);
    assert_eq!(scratch.number("select count(distinct dt) from mart.daily_order_summary"), 6);
}
