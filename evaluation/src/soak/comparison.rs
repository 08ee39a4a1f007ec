//! Whether a run wrote what the uninterrupted one wrote.

use std::fs;
use std::path::Path;

use super::Reference;

/// One sentence on the first difference.
pub fn difference(folder: &Path, reference: &Reference) -> Option<String> {
    let read = |name: &str| fs::read(folder.join(name)).unwrap_or_default();
    of_texts("stdout", &reference.stdout, &read("stdout"))
        .or_else(|| of_texts("stderr", &reference.stderr, &read("stderr")))
}

fn of_texts(name: &str, want: &str, got: &[u8]) -> Option<String> {
    if want.as_bytes() == got {
        return None;
    }
    let got = String::from_utf8_lossy(got);
    let (mut wanted, mut found) = (want.lines(), got.lines());
    let mut number = 0;
    loop {
        number += 1;
        match (wanted.next(), found.next()) {
            (Some(a), Some(b)) if a == b => {}
            (None, None) => return Some(format!("{name} differs in its line ends")),
            (a, b) => {
                let show = |line: Option<&str>| line.unwrap_or("(the end)").to_owned();
                return Some(format!(
                    "line {number} of {name} is {:?}, not {:?}",
                    show(b),
                    show(a)
                ));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::of_texts;

    #[test]
    fn one_bit_is_enough() {
        assert_eq!(of_texts("stdout", "a\nb\n", b"a\nb\n"), None);
        let said = of_texts("stdout", "a\nb\n", b"a\nc\n").expect("a difference");
        assert!(said.contains("line 2") && said.contains("\"c\""), "{said}");
        assert!(of_texts("stdout", "a\nb\n", b"a\n").is_some());
        assert!(of_texts("stdout", "a\nb\n", b"a\nb\nb\n").is_some());
        assert!(of_texts("stdout", "a\nb\n", b"a\nb").is_some());
        assert!(of_texts("stdout", "a\nb\n", b"").is_some());
    }
}
