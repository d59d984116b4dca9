//! What somebody does to a file of the project.

use crate::support::Place;

/// One text becomes another.
pub(crate) fn replace(path: &str, from: &str, to: &str) -> impl FnOnce(&Place) {
    move |place| {
        place.change(path, from, to);
    }
}

/// The file becomes this.
pub(crate) fn overwrite(path: &str, text: impl AsRef<[u8]>) -> impl FnOnce(&Place) {
    move |place| {
        place.write(path, text);
    }
}

/// More at its end.
pub(crate) fn append(path: &str, more: &str) -> impl FnOnce(&Place) {
    move |place| {
        let text = std::fs::read_to_string(place.path().join(path)).unwrap();
        place.write(path, text + more);
    }
}
