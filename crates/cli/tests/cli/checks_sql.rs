//! `lint --show-sql`: what checks become. The project's database is not there, and nobody asks for it.

use crate::support::Place;

#[test]
fn each_pipelines_checks_are_one_statement() {
    let place = Place::project();
    let said = place.run("lint daily_order_summary --show-sql");
    assert_eq!(said.code, Some(0), "{}", said.stderr);
    assert!(said.stdout.contains("-- c1: inside the interval: rows that break it\n"), "{}", said.stdout);
    assert!(said.stdout.contains("\"thrice_staging\".\"s_…\" as staged\n;\n"), "{}", said.stdout);
    let said = place.run("lint --show-sql --json");
    let object: serde_json::Value = serde_json::from_str(&said.stdout).unwrap();
    assert_eq!(object["schema"], "thrice.lint/1");
    let shown = &object["sql"][0];
    assert_eq!(shown["pipeline"], "daily_order_summary");
    assert_eq!(shown["checks"][0], "inside the interval");
    assert!(shown["sql"].as_str().unwrap().starts_with("select pg_catalog.count(*)"), "{shown}");
    let object: serde_json::Value = serde_json::from_str(&place.run("lint --json").stdout).unwrap();
    assert!(object.get("sql").is_none());
}

/// What is asked while the rows are staged is a statement of its own.
#[test]
fn reconciliations_are_shown_too() {
    let place = Place::project();
    let toml = "pipelines/daily_order_summary.toml";
    let text = std::fs::read_to_string(place.path().join(toml)).unwrap();
    let theirs = "select sum(amount) from ods.orders where order_time >= :interval_start";
    let check = format!(
        "\n[[checks]]\nname = \"sums\"\nreconcile = {{ ours = \"sum(total_amount)\", theirs = \"{theirs}\" }}\n"
    );
    place.write(toml, text + &check);
    let said = place.run("lint daily_order_summary --show-sql");
    assert_eq!(said.code, Some(0), "{}", said.stderr);
    let (_, source) =
        said.stdout.split_once("-- sums: in the snapshot of the query, once the rows are staged\n").unwrap();
    assert!(source.contains("sum(total_amount)\n)") && source.contains("($1::pg_catalog.timestamptz)"), "{source}");
    let object: serde_json::Value = serde_json::from_str(&place.run("lint --show-sql --json").stdout).unwrap();
    assert_eq!(object["sql"][0]["source"][0]["check"], "sums");
}
