//! Tells cargo that a new migration or statement file is a change of this crate.
fn main() {
    #[expect(clippy::print_stdout, reason = "cargo reads a build script's standard output")]
    for watched in ["migrations", "sql"] {
        println!("cargo::rerun-if-changed={watched}");
    }
}
