//! `cargo xtask mutants`: breaks the line behind each promise and watches its test turn red.
