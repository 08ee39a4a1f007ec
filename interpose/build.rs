//! Linker flags of the shared object.

fn main() {
    // Once loaded it stays: wrappers are in other objects' tables, threads and exit handlers run in
    // it.
    println!("cargo::rustc-link-arg-cdylib=-Wl,-z,nodelete");
    println!("cargo::rerun-if-changed=build.rs");
}
