//! The project of `init` on a database of its own.

use thrice_core::code::ErrorCode;

use crate::scratch::Scratch;
use crate::support::Place;
use crate::told::{Told, bad};

/// Its sample source loaded, its ledger made.
pub(crate) fn shop() -> (Place, Scratch) {
    let scratch = Scratch::new();
    let place = Place::project().env("DATABASE_URL", scratch.url());
    let sample = std::fs::read_to_string(place.path().join("sample.sql")).unwrap();
    scratch.execute(&sample);
    let said = place.run("migrate");
    assert_eq!(said.code, Some(0), "{}", said.stderr);
    (place, scratch)
}

/// A line that must fail with a code, in that project.
pub(crate) fn bad_on(name: &'static str, code: ErrorCode) -> Told {
    let (place, scratch) = shop();
    bad(name, code).on(place, scratch)
}
