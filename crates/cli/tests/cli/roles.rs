//! What `thrice grants --print` gives is enough: a worker's login runs, a reader's looks, and each is told what it lacks.

use crate::database::{AS_OF, DAY, shop};
use crate::scratch::Scratch;
use crate::support::Place;

/// A login with a role of the ledger, gone at the end.
struct Login<'a> {
    scratch: &'a Scratch,
    name: String,
}

impl<'a> Login<'a> {
    fn new(scratch: &'a Scratch, role: Option<&str>) -> Self {
        let name = format!("{}_{}", scratch.name(), role.unwrap_or("stranger"));
        scratch.execute(&format!("create role {name} login password 'secret'"));
        if let Some(role) = role {
            scratch.execute(&format!("grant {role} to {name}"));
        }
        Self { scratch, name }
    }

    fn url(&self) -> String {
        let (_, at) = self.scratch.url().rsplit_once('@').expect("the URL names a user");
        format!("postgres://{}:secret@{at}", self.name)
    }
}

impl Drop for Login<'_> {
    fn drop(&mut self) {
        self.scratch.execute(&format!("drop owned by {0}; drop role {0}", self.name));
    }
}

#[test]
fn what_is_printed_is_enough_to_work_and_to_look() {
    let (place, scratch) = shop();
    let printed = place.run("grants --print");
    assert_eq!((printed.code, printed.stderr.as_str()), (Some(0), ""));
    let of_pipeline = "-- pipeline daily_order_summary
grant usage on schema mart, ods to thrice_worker;
grant select, insert, delete on mart.daily_order_summary to thrice_worker;
grant select on ods.orders to thrice_worker;
";
    assert!(printed.stdout.contains(of_pipeline), "{}", printed.stdout);
    assert_eq!(place.run("grants --print --json").json()["sql"], printed.stdout.trim_end());
    scratch.execute(&printed.stdout);
    scratch.execute(&printed.stdout);

    let worker = Login::new(&scratch, Some("thrice_worker"));
    let place = place.env("DATABASE_URL", &worker.url());
    assert_eq!(place.run("lint --db").code, Some(0));
    let said = place.run(DAY);
    assert_eq!(said.code, Some(0), "{}", said.stderr);

    let reader = Login::new(&scratch, Some("thrice_reader"));
    let place = place.env("DATABASE_URL", &reader.url());
    for words in [
        "status",
        "status --month 2026-03 --json",
        "show daily_order_summary 2026-03-24",
        "show daily_order_summary 2026-03-23",
        "why daily_order_summary 2026-03-24",
        "why daily_order_summary 2026-03-23",
        "ledger",
        "ledger daily_order_summary --json",
        "run --dry-run",
        "migrate --info",
        "migrate",
    ] {
        let words = format!("{words} {AS_OF}");
        let said = place.run(&words);
        assert_eq!(said.code, Some(0), "{words}: {}", said.stderr);
    }
    let shown = place.run("show daily_order_summary 2026-03-24").stdout;
    assert!(shown.contains("ok   key unique"), "{shown}");
    let said = place.run(DAY);
    assert_eq!(said.code, Some(2), "{}", said.stderr);
    assert!(said.stderr.contains("TH0410") && said.stderr.contains("thrice grants --print"), "{}", said.stderr);
}

#[test]
fn who_lacks_a_privilege_is_told_whose_call_it_is() {
    let scratch = Scratch::new();
    let stranger = Login::new(&scratch, None);
    let place = Place::project().env("DATABASE_URL", &stranger.url());
    let said = place.run("migrate");
    assert_eq!(said.code, Some(2), "{}", said.stderr);
    let grant = format!("grant create on database {} to {};", scratch.name(), stranger.name);
    assert!(said.stderr.contains("TH0410") && said.stderr.contains(&grant), "{}", said.stderr);
    // what was advised helps
    scratch.execute(&grant);
    let said = place.run("migrate");
    assert_eq!(said.code, Some(0), "{}", said.stderr);
}

#[test]
fn without_a_project_the_roles_alone_are_printed() {
    let said = Place::empty().run("grants --print");
    assert_eq!(said.code, Some(0), "{}", said.stderr);
    assert!(said.stdout.contains("create role %I nologin") && !said.stdout.contains("-- pipeline"), "{}", said.stdout);
    assert_eq!(Place::empty().run("grants").code, Some(2));
}
