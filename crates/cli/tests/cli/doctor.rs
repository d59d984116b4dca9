//! What `doctor` finds on a server, and what `--fix` mends.

use std::process::Stdio;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::database::{AS_OF, DAY, SLEEPING, shop, slow, until};
use crate::login::{Login, database};
use crate::pooler::Pooler;
use crate::scratch::Scratch;
use crate::support::Place;

/// The checks of one kind, as `result code`.
fn found(place: &Place, words: &str, id: &str) -> Vec<String> {
    checks(place, words, id).iter().map(|check| format!("{} {}", check.0, check.1)).collect()
}

/// The checks of one kind: result, code, what, fix.
fn checks(place: &Place, words: &str, id: &str) -> Vec<(String, String, String, String)> {
    let object = place.run(&format!("{words} --json")).json();
    assert_eq!(object["schema"], "thrice.doctor/1");
    let text = |check: &serde_json::Value, key: &str| check[key].as_str().unwrap_or("-").to_owned();
    let checks = object["checks"].as_array().unwrap();
    let of_kind = checks.iter().filter(|check| check["id"] == id);
    of_kind.map(|check| (text(check, "result"), text(check, "code"), text(check, "what"), text(check, "fix"))).collect()
}

#[test]
fn a_server_that_will_do() {
    let (place, scratch) = shop();
    let doctor = format!("doctor {AS_OF}");
    let said = place.run(&doctor);
    assert_eq!(said.code, Some(0), "{}{}", said.stdout, said.stderr);
    // how the tests' server is set up is its own affair
    let lines: Vec<&str> = said
        .stdout
        .lines()
        .filter(|line| {
            !line.contains("TH0424") && !line.contains("out of the server's start") && !line.contains("failed")
        })
        .collect();
    let mut settings = insta::Settings::clone_current();
    settings.add_filter(
        r"server \S+ at \S+, not encrypted, role \S+",
        "server [version] at [place], not encrypted, role [role]",
    );
    settings.add_filter(r"ok    no server setting weakens .*\n", "");
    settings.add_filter(r"the role \S+ is a superuser", "the role [role] is a superuser");
    settings.bind(|| insta::assert_snapshot!("a_server_that_will_do", lines.join("\n")));
    assert_eq!(scratch.number("select count(*) from thrice.workers"), 0, "doctor is no worker");
    assert_eq!(scratch.number("select count(*) from thrice.pipelines"), 0, "doctor writes nothing");
}

#[test]
fn no_ledger_and_no_target_yet() {
    let scratch = Scratch::new();
    let place = Place::project().env("DATABASE_URL", scratch.url());
    assert_eq!(place.run("doctor").code, Some(5));
    assert_eq!(found(&place, "doctor", "ledger"), ["fail TH0411"]);
    assert_eq!(found(&place, "doctor", "target"), ["fail TH0417"]);
}

#[test]
fn a_role_without_privileges_is_told_every_grant() {
    let (place, scratch) = shop();
    let app = Login::new(&scratch, "app");
    let place = place.env("DATABASE_URL", app.url());
    assert_eq!(place.run("doctor").code, Some(5));
    let mut grants: Vec<String> = Vec::new();
    for id in ["ledger_privileges", "source_privileges", "target_privileges"] {
        let told = checks(&place, "doctor", id);
        assert!(
            !told.is_empty() && told.iter().all(|check| check.0 == "fail" && check.1 == "TH0410"),
            "{id}: {told:?}"
        );
        grants.extend(told.into_iter().map(|check| check.3));
    }
    assert_eq!(found(&place, "doctor", "superuser"), ["ok -"]);
    let text = grants.join("\n").replace(app.name(), "app");
    let mut settings = insta::Settings::clone_current();
    // whether another test has made the role of workers is not known
    settings.add_filter(
        r"(?m)^grant (?:thrice_worker to|(?:usage|create).* on schema thrice to) .*$",
        "[the ledger's grants]",
    );
    settings.bind(|| insta::assert_snapshot!("missing_grants", text));

    // what it says is enough: pasted, nothing is missing any more
    let exact = checks(&place, "doctor", "ledger_privileges").remove(0).2;
    let (_, exact) = exact.split_once("run anything: ").unwrap();
    scratch.execute(exact);
    scratch.execute(&grants[1..].join("\n"));
    // the schema's usage comes first, then what is in it can be seen
    for id in ["source_privileges", "target_privileges"] {
        for check in checks(&place, "doctor", id) {
            scratch.execute(&check.3);
        }
    }
    let said = place.run("doctor");
    assert_eq!(said.code, Some(0), "{}", said.stdout);
    assert_eq!(place.run(DAY).code, Some(0), "and the role can run");
}

#[test]
fn the_search_path_and_weak_settings() {
    let (place, scratch) = shop();
    let other = Login::new(&scratch, "other");
    scratch.execute(&format!("grant create on schema public to {}", other.name()));
    let told = checks(&place, "doctor", "search_path");
    assert_eq!(told.len(), 1, "{told:?}");
    assert_eq!((told[0].0.as_str(), told[0].1.as_str()), ("warn", "TH0416"));
    scratch.execute(&told[0].3);
    assert_eq!(found(&place, "doctor", "search_path"), ["ok -"]);

    let database = database(&scratch);
    scratch.execute(&format!(
        "alter database {database} set synchronous_commit = off; alter database {database} set statement_timeout = '2s'; \
         alter database {database} set idle_session_timeout = '10s'"
    ));
    let weak: Vec<String> = checks(&place, "doctor", "settings")
        .into_iter()
        .filter(|check| check.2.contains("set by the database"))
        .map(|check| check.2.split(',').next().unwrap().to_owned())
        .collect();
    assert_eq!(weak, ["idle_session_timeout = 10s", "statement_timeout = 2s", "synchronous_commit = off"]);
}

#[test]
fn what_dead_workers_left_is_freed_and_dropped_only_with_fix() {
    let (place, scratch) = slow();
    let mut child = place.command(DAY).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    until("the query runs", || scratch.number(SLEEPING) == 1);
    assert_eq!(found(&place, "doctor", "dead_claims"), ["ok -"], "a living worker is left alone");
    assert_eq!(place.run("doctor --fix").code, Some(0));
    let claimed = "select count(*) from thrice.partitions where claimed_by is not null";
    assert_eq!(scratch.number(claimed), 1);

    child.kill().unwrap();
    child.wait().unwrap();
    until("its death is seen", || found(&place, "doctor", "dead_claims") == ["warn TH0533"]);
    let table = "thrice_staging.s_0123456789abcdef01234567";
    scratch.execute(&format!("create unlogged table {table} (n int)"));
    assert_eq!(found(&place, "doctor", "staging"), ["warn -"]);
    let tables = "select count(*) from pg_tables where schemaname = 'thrice_staging'";
    assert_eq!((scratch.number(claimed), scratch.number(tables)), (1, 1), "looking changes nothing");

    let said = place.run("doctor --fix");
    assert_eq!(said.code, Some(0), "{}", said.stdout);
    let fixed: Vec<&str> = said.stdout.lines().filter(|line| line.starts_with("fixed")).collect();
    assert_eq!(fixed.len(), 2, "{}", said.stdout);
    assert!(
        fixed[0].contains("2026-03-24 is claimed by process") && fixed[0].ends_with("freed; its run has not published"),
        "{fixed:?}"
    );
    assert_eq!(fixed[1], "fixed 1 orphaned staging table: dropped");
    assert_eq!((scratch.number(claimed), scratch.number(tables)), (0, 0));
    assert_eq!(place.run("ledger --json").json()["runs"][0]["failure_class"], "abandoned");
    assert_eq!(
        (found(&place, "doctor", "dead_claims"), found(&place, "doctor", "staging")),
        (vec!["ok -".into()], vec!["ok -".into()])
    );

    // a claim under which no run had begun
    scratch.execute(
        "insert into thrice.workers (worker_id, host, os_pid, backend_pid, backend_start, expires_at) \
         values (gen_random_uuid(), 'gone', 1, 1, now(), now() - interval '1 hour'); \
         update thrice.partitions set claimed_by = (select worker_id from thrice.workers where host = 'gone'), claimed_at = now()",
    );
    let said = place.run("doctor --fix");
    assert!(said.stdout.contains("claimed by process 1 on gone, which is gone: freed\n"), "{}", said.stdout);
    assert_eq!(scratch.number(claimed), 0);
    place.change("pipelines/daily_order_summary.sql", "pg_sleep(60)", "pg_sleep(0)");
    assert_eq!(place.run(DAY).code, Some(0), "and the partition can be run");
}

#[test]
fn rows_without_a_receipt_and_open_outcomes() {
    let (place, scratch) = shop();
    let doctor = format!("doctor {AS_OF}");
    scratch.execute(
        "insert into mart.daily_order_summary values ('2026-03-24', 1, 1, 1, now()), ('2026-03-11', 1, 1, 1, now())",
    );
    let told = checks(&place, &doctor, "existing_rows");
    assert_eq!((told[0].0.as_str(), told[0].1.as_str()), ("warn", "TH0531"));
    assert_eq!(told[0].3, "thrice adopt daily_order_summary --from 2026-03-11 --to 2026-03-24 --reason \"…\"");
    assert_eq!(
        place.run(&format!("{} --yes", told[0].3.replace("thrice ", "").replace("\"…\"", "'old job'"))).code,
        Some(0)
    );
    assert_eq!(found(&place, &doctor, "existing_rows"), ["ok -"]);

    assert_eq!(place.run("run daily_order_summary 2026-03-23").code, Some(0));
    scratch.execute(
        "insert into thrice.pipeline_run_ledger (pipeline_name, target_date, run_id, status, partition_id, attempt_no, token, trigger) \
         select 'daily_order_summary', target_date, 'x', 'unknown', partition_id, 2, fence, 'manual' \
           from thrice.partitions where interval_key = '2026-03-23'",
    );
    let told = checks(&place, "doctor", "open_outcomes");
    assert_eq!((told[0].0.as_str(), told[0].1.as_str()), ("warn", "TH0550"));
    assert_eq!(told[0].3, "thrice run daily_order_summary 2026-03-23");
}

#[test]
fn a_pooler_in_transaction_mode_gives_itself_away() {
    let (place, scratch) = shop();
    assert_eq!(found(&place, "doctor", "pooler"), ["ok -"]);
    let pooler = Pooler::before(scratch.url());
    let place = place.env("DATABASE_URL", pooler.url());
    assert_eq!(found(&place, "doctor", "pooler"), ["warn TH0415"]);
}

#[test]
fn a_pooler_that_loses_prepared_statements_is_told_as_that() {
    let (place, scratch) = shop();
    let pooler = Pooler::without_statements(scratch.url());
    let place = place.env("DATABASE_URL", pooler.url());
    let lost = |check: &(String, String, String, String)| check.2.contains("42P05") || check.2.contains("26000");
    let over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        // alone, one would always get the same session; which of two a statement meets beside another is the pooler's choice:
        // missing in one, there already in the other
        scope.spawn(|| {
            while !over.load(Ordering::Relaxed) {
                place.run("doctor");
            }
        });
        let told = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            until("a statement is lost", || place.run("doctor").code == Some(5));
            until("and told", || {
                checks(&place, "doctor", "ledger")
                    .iter()
                    .any(|check| lost(check) && check.3.contains("max_prepared_statements"))
            });
        }));
        over.store(true, Ordering::Relaxed);
        told.unwrap();
    });
}
