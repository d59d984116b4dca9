//! The private server of a project, as `thrice pg` shows and stops it.

use std::os::unix::fs::PermissionsExt;
use std::process::{Child, Stdio};

use crate::database::until;
use crate::support::Place;

/// A project whose private server runs; stopped at the end.
struct Private(Place);

impl Private {
    fn new() -> Self {
        let mut place = Place::empty();
        // the server may run as another user, who has to enter the folder
        std::fs::set_permissions(place.path(), std::fs::Permissions::from_mode(0o755)).unwrap();
        if let Ok(bin) = std::env::var("THRICE_TEST_PG_BIN") {
            place = place.env("THRICE_PG_BIN", &bin);
        }
        assert_eq!(place.run("init").code, Some(0));
        let said = place.run("migrate");
        assert_eq!(said.code, Some(0), "{}", said.stderr);
        Self(place)
    }
}

impl Drop for Private {
    fn drop(&mut self) {
        // a failing test says more than a server that stays
        let _stopped = self.0.run("pg stop --force");
    }
}

fn psql(place: &Place) -> Child {
    let mut command = place.command("pg psql -c 'select pg_sleep(60)'");
    command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
}

#[test]
fn it_is_not_stopped_under_a_client_of_whatever_kind() {
    let private = Private::new();
    let place = &private.0;
    let mut client = psql(place);
    let sleeping = "pg psql -Atc 'select count(*) from pg_stat_activity where wait_event = $$PgSleep$$'";
    until("psql is connected", || place.run(sleeping).stdout.trim() == "1");

    let said = place.run("pg stop");
    assert_eq!(said.code, Some(7), "{}", said.stderr);
    assert!(said.stderr.contains("others are connected: psql of user thrice in thrice (process "), "{}", said.stderr);
    assert!(said.stderr.contains("fix: end them first, or: thrice pg stop --force"), "{}", said.stderr);
    assert_eq!(place.run("pg status --json").json()["status"], "running");
    assert!(client.try_wait().unwrap().is_none(), "the client is still there");

    let said = place.run("pg stop --force");
    assert_eq!((said.code, said.stdout.as_str()), (Some(0), "stopped\n"), "{}", said.stderr);
    assert!(!client.wait().unwrap().success());
    assert_eq!(place.run("pg stop").stdout, "it was not running\n");
}
