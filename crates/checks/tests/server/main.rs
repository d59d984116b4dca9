//! Checks over real rows. Needs `THRICE_TEST_DATABASE_URL`; `cargo xtask test` sets it.

#[cfg(test)]
mod evaluate;
#[cfg(test)]
mod kinds;
#[cfg(test)]
mod reconcile;
#[cfg(test)]
mod support;
