//! The list has no hole: every line is tested or says why it is not.

use std::collections::BTreeSet;

use crate::not_yet::NOT_YET;

const SOURCES: [&str; 6] = [
    include_str!("cli.rs"),
    include_str!("toml.rs"),
    include_str!("sql.rs"),
    include_str!("db.rs"),
    include_str!("data.rs"),
    include_str!("doctor.rs"),
];

/// Ids in the names of the tests: `fn b03`, `fn b82_hangs_up`.
fn tested() -> BTreeSet<u32> {
    let names = SOURCES.iter().flat_map(|source| source.split("\nfn b").skip(1));
    names.filter_map(|rest| rest.split(|c: char| !c.is_ascii_digit()).next()?.parse().ok()).collect()
}

#[test]
fn every_line_is_tested_or_listed_and_never_both() {
    let tested = tested();
    for number in 1..=109 {
        let id = format!("B{number:02}");
        let listed = NOT_YET.iter().filter(|(known, ..)| *known == id).count();
        assert!(listed <= 1, "{id} is listed twice");
        match (tested.contains(&number), listed == 1) {
            (true, false) | (false, true) => {}
            (true, true) => panic!("{id} is tested: take it out of not_yet.rs"),
            (false, false) => panic!("{id} is neither tested nor in not_yet.rs"),
        }
    }
    assert!(tested.len() + NOT_YET.len() == 109, "an id outside of B01 to B109");
}
