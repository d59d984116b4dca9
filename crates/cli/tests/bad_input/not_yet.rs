//! Lines of the list that have no test here: their command or key is not built, or they take more than one process.

use crate::support::Place;

/// Id, what is typed, and why there is no test of it.
pub(crate) const NOT_YET: [(&str, &str, &str); 20] = [
    ("B16", "--parallel 0, -1, 1e9, abc", "no command takes --parallel"),
    ("B17", "backfill plan without --reason or --class", "no backfills"),
    ("B19", "apply of an unknown plan id", "no backfills"),
    ("B20", "apply of a plan made 25 h ago", "no backfills"),
    ("B21", "apply of a plan whose ledger state moved", "no backfills"),
    ("B22", "apply of a plan whose SQL or TOML changed", "no backfills"),
    ("B23", "apply twice", "no backfills"),
    ("B25", "--full-refresh with keys or without a reason", "no full refresh"),
    ("B27", "--json together with --watch", "no --watch"),
    ("B29", "rollback past a newer publish", "a race of two processes: it is in tests/behaviour/rollback.rs"),
    ("B31", "pause of a finished backfill", "no backfills"),
    ("B32", "prove without a schema for shadow tables", "no prove"),
    ("B33", "one idempotency key, two calls", "no --idempotency-key"),
    ("B55", "a lane that is not in thrice.toml", "lane is refused by name: TH0226"),
    ("B58", "depends_on in a circle", "depends_on is refused by name: TH0226"),
    ("B93", "swap of a table that other objects depend on", "the swap strategies are refused by name: TH0226"),
    ("B101", "POST without a token", "no web page"),
    ("B102", "a bad date or a large body in a request", "no web page"),
    ("B103", "markup in a reason", "no web page"),
    ("B107", "backfill of a pipeline of grain table", "no backfills"),
];

/// What is known and not built is refused by name, with what to use meanwhile. It is never skipped.
#[test]
fn keys_that_are_not_built_are_refused_by_name() {
    let place = Place::project();
    let toml = "pipelines/daily_order_summary.toml";
    let text = std::fs::read_to_string(place.path().join(toml)).unwrap();
    let more = "lane = \"night\"\ndepends_on = [\"other\"]\n";
    let tables = "\n[backfill]\nparallel = 2\n";
    place.write(toml, format!("{more}{text}{tables}"));
    let mut settings = insta::Settings::clone_current();
    settings.set_prepend_module_to_snapshot(false);
    settings.set_omit_expression(true);
    settings.bind(|| insta::assert_snapshot!("not_built_keys", place.transcript(&["lint"])));
    assert_eq!(place.run("lint").code, Some(2));
}
