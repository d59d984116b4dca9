//! What only explains must be there at once: no database, no zone files, no project.

use std::process::Command;

use crate::support::Place;

const CALLS: [&str; 6] = ["--help", "run --help", "--version", "explain", "explain TH0531", "export completions bash"];

/// Everything that is outside, broken: an address of documentation that swallows packets, folders that are not there.
fn broken(place: Place) -> Place {
    place
        .env("TZDIR", "/nowhere/zones")
        .env("TZ", ":/nowhere/zone")
        .env("DATABASE_URL", "postgres://nobody@192.0.2.1:5432/none?connect_timeout=60")
        .env("PGHOST", "192.0.2.1")
        .env("PGPASSFILE", "/nowhere/pgpass")
        .env("PGSERVICEFILE", "/nowhere/services")
}

#[test]
fn help_and_explanations_need_nothing_from_outside() {
    let (plain, place) = (Place::empty(), broken(Place::empty()));
    // a project that nobody can read is not looked at either
    place.write("thrice.toml", [0xff, 0xfe]);
    for words in CALLS {
        let (said, want) = (place.run(words), plain.run(words));
        assert_eq!((said.code, &said.stderr, &said.stdout), (Some(0), &want.stderr, &want.stdout), "{words}");
    }
}

/// Where `strace` can look, nothing is opened but the program's own parts and nobody is connected to.
#[test]
fn help_and_explanations_open_no_file_and_no_connection() {
    let place = broken(Place::empty());
    let strace = |words: &str| {
        let call = place.command(words);
        let mut traced = Command::new("strace");
        traced.args(["-f", "-e", "trace=openat,open,connect,execve"]).arg(call.get_program()).args(call.get_args());
        traced
            .env_clear()
            .envs(call.get_envs().filter_map(|(name, value)| Some((name, value?))))
            .current_dir(place.path());
        traced.output()
    };
    for words in CALLS {
        let Ok(traced) = strace(words) else { return };
        let calls = String::from_utf8(traced.stderr).unwrap();
        if !calls.contains("execve(") {
            return; // a machine that does not let processes be traced
        }
        assert_eq!(calls.matches("execve(").count(), 1, "{calls}");
        assert!(!calls.contains("connect("), "{words}: {calls}");
        let opened: Vec<&str> =
            calls.lines().filter(|line| line.contains("open") && !line.contains("ENOENT")).collect();
        let own = |line: &&&str| line.contains(".so") || line.contains("/proc/self/") || line.contains("/sys/");
        assert_eq!(opened.iter().filter(own).count(), opened.len(), "{words}: {opened:?}");
        assert!(!calls.contains("zone") && !calls.contains("thrice.toml"), "{words}: {calls}");
    }
}
