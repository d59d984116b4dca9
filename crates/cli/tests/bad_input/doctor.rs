//! What no command refuses and `doctor` warns of: nothing is wrong yet, and something will be.

use serde_json::{Value, json};
use thrice_core::code::{ErrorClass, ErrorCode};

use crate::login::Login;
use crate::pooler::Pooler;
use crate::shop;
use crate::support::Place;

const DAY: &str = "run daily_order_summary 2026-03-24 --as-of 2026-03-25T12:00:00+09:00";
const DOCTOR: &str = "doctor --as-of 2026-03-25T12:00:00+09:00";

/// The one thing that doctor says with a code, as text and as JSON. What else it says is about the tests' own server.
fn warned(name: &str, code: ErrorCode, place: &Place, masks: &[(&str, &str)]) {
    assert_eq!(code.class(), ErrorClass::Ok, "{code} ends no call");
    let said = place.run(DOCTOR);
    assert_eq!((said.code, said.stderr.as_str()), (Some(0), ""), "{}", said.stdout);
    let mut text = format!("$ thrice {DOCTOR}\n");
    let mut lines = said.stdout.lines().skip_while(|line| !line.ends_with(code.id()));
    text.extend(
        lines
            .next()
            .into_iter()
            .chain(lines.take_while(|line| line.starts_with(' ')))
            .flat_map(|line| ["  ", line, "\n"]),
    );
    text += "[0]\n";

    let as_json = place.run(&format!("{DOCTOR} --json"));
    assert_eq!((as_json.code, as_json.stdout.lines().count()), (Some(0), 1), "{}", as_json.stderr);
    let object = as_json.json();
    assert_eq!(
        (&object["schema"], &object["exit"], &object["failed"]),
        (&"thrice.doctor/1".into(), &0.into(), &0.into())
    );
    let checks = object["checks"].as_array().unwrap();
    let told: Vec<&Value> = checks.iter().filter(|check| check["code"] == code.id()).collect();
    assert_eq!(told.len(), 1, "{object}");
    text.extend(["json: ", &json!(told[0]).to_string(), "\n"]);

    for (hidden, shown) in masks {
        text = text.replace(hidden, shown);
    }
    let mut settings = insta::Settings::clone_current();
    settings.set_prepend_module_to_snapshot(false);
    settings.set_omit_expression(true);
    settings.bind(|| insta::assert_snapshot!(name, text));
    assert!(place.run(&format!("explain {code}")).stdout.starts_with(&format!("# {code}: ")), "its page");
}

#[test]
fn b88() {
    let (place, scratch) = shop::shop();
    let root = Login::new(&scratch, "root");
    let place = place.env("DATABASE_URL", root.url());
    scratch.execute(&format!("alter role {} superuser", root.name()));
    warned("b88_superuser", ErrorCode::SuperuserRole, &place, &[(root.name(), "[role]")]);
    // what the fix names is enough
    scratch.execute(&format!("alter role {} nosuperuser", root.name()));
    let object = place.run(&format!("{DOCTOR} --json")).json();
    let checks = object["checks"].as_array().unwrap();
    assert!(!checks.iter().any(|check| check["code"] == ErrorCode::SuperuserRole.id()), "{object}");
}

#[test]
fn b94() {
    let (place, scratch) = shop::shop();
    let pooler = Pooler::before(scratch.url());
    let place = place.env("DATABASE_URL", pooler.url());
    warned("b94_pooler_in_transaction_mode", ErrorCode::PoolerMode, &place, &[]);
    // nothing is in the way of a publish
    let said = place.run(DAY);
    assert_eq!(said.code, Some(0), "{}", said.stderr);
    assert!(said.stdout.contains("published"), "{}", said.stdout);
}
