//! Names as they stand in the source.

use std::fmt;

use cpp_demangle::{DemangleOptions, DemangleWrite, Symbol};

/// Longer names are read by nobody; one of a few bytes can stand for any length.
const LONGEST: usize = 16 << 10;

/// A kernel's name in C++, or as it is where it is no mangled one, or one that is not understood.
pub(crate) fn demangled(name: &str) -> String {
    demangle(name).unwrap_or_else(|| name.to_owned())
}

fn demangle(name: &str) -> Option<String> {
    let symbol = Symbol::new(name.as_bytes()).ok()?;
    let mut text = Bounded(String::new());
    let options = DemangleOptions::new().hide_expression_literal_types();
    let written = symbol.structured_demangle(&mut text, &options);
    written.ok().map(|()| text.0)
}

struct Bounded(String);

impl DemangleWrite for Bounded {
    fn write_string(&mut self, text: &str) -> fmt::Result {
        if self.0.len() + text.len() > LONGEST {
            return Err(fmt::Error);
        }
        self.0.push_str(text);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_cpp_are_read_and_others_left() {
        assert_eq!(demangled("_Z5storePi"), "store(int*)");
        assert_eq!(
            demangled("_ZN4deep4pack7kernelIfLj4EEEvPKT_m"),
            "_ZN4deep4pack7kernelIfLj4EEEvPKT_m",
            "a length that is wrong"
        );
        assert_eq!(
            demangled("_ZN4deep4pack6kernelIfLj4EEEvPKT_m"),
            "void deep::pack::kernel<float, 4>(float const*, unsigned long)"
        );
        assert_eq!(demangled("Cijk_Ailk_Bljk_SB"), "Cijk_Ailk_Bljk_SB");
        assert_eq!(demangled(""), "");
    }

    /// Each parameter is a pair of the one before it: twice as long.
    #[test]
    fn a_name_that_would_grow_for_ever_is_left() {
        let pairs = |count: usize| {
            let digits = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ";
            let pair = |&digit: &u8| {
                let before = char::from(digit);
                format!("S_IS{before}_S{before}_E")
            };
            let pairs: String = digits[..count].iter().map(pair).collect();
            format!("_Z1f1aIiiE{pairs}")
        };
        let short = demangled(&pairs(1));
        assert_eq!(short, "f(a<int, int>, a<a<int, int>, a<int, int> >)");
        assert_eq!(demangled(&pairs(30)), pairs(30));
        let deep = format!("_Z1f{}i", "P".repeat(100_000));
        assert_eq!(demangled(&deep), deep);
    }
}
