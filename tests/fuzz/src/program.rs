//! A random kernel, whatever it is written in.

use crate::compile::Language;

/// A kernel that can be written down, and made smaller.
pub trait Program: Clone {
    const LANGUAGE: Language;
    /// What stands once above all kernels of a file.
    const PRELUDE: &'static str;

    /// The source of the kernel called `name`.
    fn source(&self, name: &str) -> String;

    /// What stands below the kernels of these names.
    #[must_use]
    fn closing(_names: &[String]) -> String {
        String::new()
    }

    /// The same kernel with something left out, each time something else; what leaves out most comes
    /// first.
    fn smaller(&self) -> Vec<Self>;
}

/// Name of a kernel in a file of many.
#[must_use]
pub fn name(number: usize) -> String {
    format!("k{number}")
}

/// A file of kernels.
pub fn file<P: Program>(programs: &[P]) -> String {
    let names: Vec<String> = (0..programs.len()).map(name).collect();
    let mut text = P::PRELUDE.to_owned();
    for (program, name) in programs.iter().zip(&names) {
        text.push('\n');
        text.push_str(&program.source(name));
    }
    text.push_str(&P::closing(&names));
    text
}
