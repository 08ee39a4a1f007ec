//! Whoever else exports a `CR_PLUGIN_DESC`, what this library changes at its start is its own. (Another plugin
//! that is preloaded would come before it, as in every look-up of a symbol by its name.)

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rustc-cdylib-link-arg=-Wl,-Bsymbolic");
}
