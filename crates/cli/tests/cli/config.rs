//! What `config` says of each setting and its origin. No server is needed, and none is started.

use std::os::unix::fs::PermissionsExt;

use crate::support::Place;

const URL: &str = "postgres://app:QZXJ@localhost:6543/shop?options=-c%20app.key%3DQZXJ";

#[test]
fn each_value_and_where_it_comes_from() {
    let place = Place::project().env("DATABASE_URL", URL).env("PGSSLMODE", "disable").env("NO_COLOR", "1");
    let text = place.transcript(&["config daily_order_summary --explain", "config", "config -C pipelines nothing"]);
    assert!(!text.contains("QZXJ"), "a password was shown:\n{text}");
    // the folder's name becomes the project's
    let name = place.path().file_name().unwrap().to_str().unwrap();
    let mut settings = insta::Settings::clone_current();
    settings.add_filter(name, "[name]");
    // as wide as the folder's path
    settings.add_filter(r"(\[folder\]\S*(?: \(not there\))?) +from", "$1  from");
    settings.bind(|| insta::assert_snapshot!("each_value", text));
}

#[test]
fn flags_pg_variables_and_the_password_file() {
    let place = Place::empty().env("PGHOST", "/nowhere").env("PGUSER", "app").env("PGDATABASE", "shop");
    place.write(".pgpass", "*:*:*:*:QZXJ");
    let origin = |words: &str, name: &str| -> String {
        let object = place.run(&format!("config {words} --json")).json();
        assert_eq!(object["schema"], "thrice.config/1");
        let settings = object["settings"].as_array().unwrap();
        let setting = settings.iter().find(|setting| setting["name"] == name).unwrap();
        format!("{}, {}", setting["value"].as_str().unwrap(), setting["origin"].as_str().unwrap())
    };
    assert_eq!(origin("", "database.host"), "/nowhere, environment variable PGHOST");
    assert!(origin("", "database.passfile").contains("can read it (mode 0"), "{}", origin("", "database.passfile"));
    assert_eq!(origin("", "database.password"), "not set, default");
    let path = place.path().join(".pgpass");
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o600)).unwrap();
    assert_eq!(origin("", "database.password"), "set, password file [folder]/.pgpass");
    let flag = "--database-url postgres://kim@localhost/other";
    assert_eq!(origin(flag, "database.user"), "kim, flag --database-url");
    assert_eq!(origin("--color=never", "color"), "never, flag --color");
    assert_eq!(origin("--log-format text", "log.format"), "text, flag --log-format");
    assert_eq!(origin("-vv", "log.filter"), "debug, flag -vv");
    assert_eq!(origin("--on-behalf-of kim", "actor"), "kim, flag --on-behalf-of");
}

#[test]
fn wrong_connection_settings_do_not_hide_the_others() {
    let place = Place::project();
    place.change("thrice.toml", "DATABASE_URL\"", "SHOP_DB\"");
    let said = place.run("config --json");
    let object = said.json();
    assert_eq!((said.code, &object["errors"][0]["code"]), (Some(2), &"TH0401".into()));
    let url_env = object["settings"].as_array().unwrap().iter().find(|setting| setting["name"] == "database.url_env");
    assert_eq!(url_env.unwrap()["value"], "SHOP_DB");
    assert_eq!(url_env.unwrap()["origin"], "thrice.toml:8");

    place.change("thrice.toml", "url_env = \"SHOP_DB\"", "mode = \"local\"");
    let local = place.run("config --explain");
    assert_eq!(local.code, Some(0), "{}", local.stderr);
    assert!(local.stdout.contains("the private PostgreSQL of the project"), "{}", local.stdout);
    assert!(!place.path().join(".thrice").exists(), "no server is made or started");
}
