//! The keys of `[guards]`.

use super::{Key, Kind, Unwritten, pipeline};

const MAX: &str = "at most so much of what is published";
const ON_VIOLATION: &str = "`refuse`: nothing is published beyond it, exit 5; `warn`: it is recorded";

const fn max(table: &'static str) -> Key {
    pipeline(table, "max", Kind::Percent, Unwritten::Required, MAX)
}

const fn on_violation(table: &'static str) -> Key {
    pipeline(table, "on_violation", Kind::OneOf(&["refuse", "warn"]), Unwritten::Said("`\"refuse\"`"), ON_VIOLATION)
}

/// Guard by guard.
pub(super) const KEYS: &[Key] = &[
    pipeline(
        "guards",
        "removed",
        Kind::PercentOrTable,
        Unwritten::Is("\"50%\""),
        "so many of the published keys may vanish; counted where the target has a key",
    ),
    max("guards.removed"),
    on_violation("guards.removed"),
    pipeline(
        "guards",
        "shrink",
        Kind::PercentOrTable,
        Unwritten::Is("\"50%\""),
        "there may be so many rows fewer than are published",
    ),
    max("guards.shrink"),
    on_violation("guards.shrink"),
    pipeline(
        "guards",
        "changed",
        Kind::PercentOrTable,
        Unwritten::Said("all may"),
        "so many of the published keys may get another row; needs a key",
    ),
    max("guards.changed"),
    on_violation("guards.changed"),
];
