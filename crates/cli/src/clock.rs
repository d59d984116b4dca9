//! The only place that reads the clock. Everything else takes `as_of`.

use thrice_core::time::{Timestamp, to_microseconds};

/// The instant that the call is about: `--as-of`, or now.
pub(crate) fn as_of(given: Option<Timestamp>) -> Timestamp {
    #[expect(clippy::disallowed_methods, reason = "the one place where the time of the call is read")]
    let now = Timestamp::now;
    to_microseconds(given.unwrap_or_else(now))
}
