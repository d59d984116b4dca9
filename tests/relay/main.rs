//! The COMMIT of a publish is lost, in every way a network can lose it: is the outcome named right?
//!
//! Each way is tried `THRICE_RELAY_ROUNDS` times (3 when it is not set). What a call of the real binary says in its
//! JSON is compared with what the database holds.

mod lost_commit;
mod scene;
mod slow_commit;
mod unreachable;
