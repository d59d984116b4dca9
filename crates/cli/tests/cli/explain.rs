//! `thrice explain` needs nothing: no project, no database, no time-zone data.

use thrice_core::code::ErrorCode;

use crate::support::Place;

#[test]
fn a_code_its_page_and_words_that_are_no_code() {
    let place = Place::empty();
    insta::assert_snapshot!(place.transcript(&[
        "explain TH0531",
        "explain th0117",
        "explain TH531",
        "explain TH0599",
        "explain nonsense",
        "explain ''",
    ]));
}

#[test]
fn without_a_code_all_of_them() {
    let place = Place::empty();
    let said = place.run("explain");
    assert_eq!((said.code, said.stderr.as_str()), (Some(0), ""));
    let ids: Vec<&str> = said.stdout.lines().filter_map(|line| line.split_whitespace().next()).collect();
    assert_eq!(ids, ErrorCode::ALL.iter().map(|code| code.id()).collect::<Vec<_>>());
    let codes = place.run("explain --json").json();
    assert_eq!(codes["codes"].as_array().map(Vec::len), Some(ErrorCode::ALL.len()));
}

#[test]
fn every_page_is_printed_as_it_stands_and_carried_in_json() {
    let place = Place::empty();
    for code in ErrorCode::ALL {
        let file = format!("{}/codes/{code}.md", env!("CARGO_MANIFEST_DIR"));
        let text = std::fs::read_to_string(&file).unwrap();
        assert_eq!(place.run(&format!("explain {code}")).stdout, text, "{code}");
        let object = place.run(&format!("explain {code} --json")).json();
        assert_eq!(object["schema"], "thrice.explain/1");
        assert_eq!((&object["code"], &object["page"]), (&code.id().into(), &text.into()));
        assert_eq!((&object["class"], &object["title"]), (&code.class().as_str().into(), &code.title().into()));
        assert!(object["exit"].is_u64(), "{object}");
    }
}

#[test]
fn a_broken_project_and_a_wrong_url_do_not_matter() {
    let place = Place::project().env("DATABASE_URL", "mysql://nowhere").env("TZ", "Nowhere/Land");
    place.write("thrice.toml", "not toml at all");
    let said = place.run("explain TH0203");
    assert_eq!((said.code, said.stderr.as_str()), (Some(0), ""));
}
