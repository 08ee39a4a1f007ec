//! The journal of the files that one `strobe run` has opened to write, made or given another name: an entry each, in
//! a file that outlives the process that wrote it, and the program.
//!
//! Whoever saves a program looks there for the files that it has written and closed, and may rename or remove next.
//! Whoever restores it, for those that it made after the cut.

/// In the environment of all that `strobe run` starts: the path of the journal.
pub const VARIABLE: &str = "STROBE_JOURNAL";
/// Bytes of an entry's path; a file whose path is longer is not remembered.
pub const PATH_BYTES: usize = 1016;
/// A journal of so many bytes becomes [`OLDER`], in place of the one before it.
pub const LIMIT: u64 = 4 << 20;
/// Follows the journal's name where its older half is.
pub const OLDER: &str = ".older";

/// What an entry says of its path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EntryKind {
    /// A file that was there before, is about to be written or to be replaced.
    Present,
    /// The file is about to be made, or what has another name gets this one.
    Absent,
    /// The folder is about to be made.
    Folder,
    /// No path, but the name of a cut: all that stands behind was after it.
    Cut,
    /// Likewise: the program has been restored to it, and all is as it was then.
    Restored,
}

impl EntryKind {
    /// The first byte of an entry; the path follows, then a zero.
    pub const fn byte(self) -> u8 {
        match self {
            Self::Present => b'=',
            Self::Absent => b'+',
            Self::Folder => b'/',
            Self::Cut => b'#',
            Self::Restored => b'<',
        }
    }

    const fn of_byte(byte: u8) -> Option<Self> {
        match byte {
            b'=' => Some(Self::Present),
            b'+' => Some(Self::Absent),
            b'/' => Some(Self::Folder),
            b'#' => Some(Self::Cut),
            b'<' => Some(Self::Restored),
            _ => None,
        }
    }
}

/// An entry.
pub type Entry<'a> = (EntryKind, &'a [u8]);

/// The entries in a journal, or in its end. What is not whole is left out.
pub fn entries(bytes: &[u8]) -> impl DoubleEndedIterator<Item = Entry<'_>> {
    let whole = bytes.iter().rposition(|byte| *byte == 0).unwrap_or(0);
    bytes[..whole].split(|byte| *byte == 0).filter_map(|entry| {
        let (first, path) = entry.split_first()?;
        let kind = EntryKind::of_byte(*first)?;
        let is_sound = match kind {
            EntryKind::Present | EntryKind::Absent | EntryKind::Folder => {
                path.starts_with(b"/") && path.len() <= PATH_BYTES
            }
            EntryKind::Cut | EntryKind::Restored => path.iter().all(u8::is_ascii_hexdigit),
        };
        is_sound.then_some((kind, path))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_whole_is_left_out() {
        let bytes = b"of/a\0+/b\0//d\0=/c\0\0#12ab\0#no name\0+relative\0?/e\0=/f";
        let found: Vec<_> = entries(bytes).collect();
        let expected: [Entry<'_>; 4] = [
            (EntryKind::Absent, b"/b"),
            (EntryKind::Folder, b"/d"),
            (EntryKind::Present, b"/c"),
            (EntryKind::Cut, b"12ab"),
        ];
        assert_eq!(found, expected);
        assert_eq!(entries(b"").count() + entries(b"+/half").count(), 0);
    }
}
