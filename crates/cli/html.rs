//! Pages of HTML.

use std::fmt::{self, Write as _};

/// Text that is nothing but text to a browser: names come from files.
pub(crate) struct Escaped<T>(pub(crate) T);

impl<T: AsRef<str>> fmt::Display for Escaped<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for character in self.0.as_ref().chars() {
            match character {
                '<' => f.write_str("&lt;")?,
                '>' => f.write_str("&gt;")?,
                '&' => f.write_str("&amp;")?,
                '"' => f.write_str("&quot;")?,
                other => f.write_char(other)?,
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_no_markup() {
        let name = "k<int>&\"x\"</td><script>";
        assert_eq!(
            Escaped(name).to_string(),
            "k&lt;int&gt;&amp;&quot;x&quot;&lt;/td&gt;&lt;script&gt;"
        );
    }
}
