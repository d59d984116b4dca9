//! Tells cargo that a new migration or statement file is a change of this crate.
fn main() {
    for watched in ["migrations", "sql"] {
        println!("cargo::rerun-if-changed={watched}");
    }
}
