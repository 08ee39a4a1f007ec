//! Where the names of distrusted kernels are kept for later runs: a file for each code object, in
//! the user's cache folder.
//!
//! A kernel is distrusted when it may have written what its footprint does not say. The command that
//! finds out writes the file, the agent reads it when a program loads that code. Deleting it costs
//! nothing but finding out again. It is text: a first line [`HEADER`], then a mangled name a line.

/// The first line of a file.
pub const HEADER: &str = "strobe distrusted kernels 1";
/// No file is longer than this, in bytes.
pub const MOST_BYTES: usize = 64 << 10;

/// The file for the code object of this fingerprint, below the cache folder.
pub fn relative_path(code_object: &[u8; 16]) -> String {
    let mut path = String::from("strobe/distrusted/");
    for byte in code_object {
        for digit in [byte >> 4, byte & 15] {
            path.push(char::from_digit(digit.into(), 16).unwrap_or('0'));
        }
    }
    path
}

/// The names in a file; what is not of our making has none.
pub fn parse(text: &str) -> Vec<&str> {
    let mut lines = text.lines();
    if text.len() > MOST_BYTES || lines.next() != Some(HEADER) {
        return Vec::new();
    }
    lines.filter(|name| is_name(name)).collect()
}

/// A file with these names. What is no name, or does not fit, is left out.
pub fn format<'a>(names: impl IntoIterator<Item = &'a str>) -> String {
    let mut text = String::from(HEADER);
    text.push('\n');
    for name in names {
        if is_name(name) && text.len() + name.len() < MOST_BYTES {
            text.push_str(name);
            text.push('\n');
        }
    }
    text
}

fn is_name(name: &str) -> bool {
    !name.is_empty() && !name.contains(char::is_control)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read() {
        let names = ["_Z4stepPfi", "other"];
        assert_eq!(parse(&format(names)), names);
        assert!(parse(&format([])).is_empty());
        let path = relative_path(&[0xab; 16]);
        assert_eq!(path, format!("strobe/distrusted/{}", "ab".repeat(16)));
    }

    #[test]
    fn anything_else_names_nobody() {
        assert!(parse("").is_empty());
        assert!(parse("_Z4stepPfi\n").is_empty(), "no header");
        let long = format!("{HEADER}\n{}", "x\n".repeat(MOST_BYTES));
        assert!(parse(&long).is_empty());
        assert_eq!(parse(&format(["a\nb", "", "c"])), ["c"]);
        let many: Vec<String> = (0..MOST_BYTES).map(|n| format!("{n}")).collect();
        let text = format(many.iter().map(String::as_str));
        assert!(text.len() <= MOST_BYTES && parse(&text).len() > 1000);
    }
}
