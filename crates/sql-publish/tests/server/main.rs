//! What this crate does to a real server. Needs `THRICE_TEST_DATABASE_URL`; `cargo xtask test` sets it.

#[cfg(test)]
mod cancel;
#[cfg(test)]
mod changes;
#[cfg(test)]
mod checksum;
#[cfg(test)]
mod columns;
#[cfg(test)]
mod commit;
#[cfg(test)]
mod merge;
#[cfg(test)]
mod names;
#[cfg(test)]
mod partitions;
#[cfg(test)]
mod publish;
#[cfg(test)]
mod query;
#[cfg(test)]
mod staging;
#[cfg(test)]
mod support;
#[cfg(test)]
mod swap;
#[cfg(test)]
mod target;
