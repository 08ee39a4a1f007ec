//! One byte range of GPU virtual addresses.

use std::fmt;

/// A half-open range `[start, end)` of GPU virtual addresses, in bytes. Never empty.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Extent {
    start: u64,
    end: u64,
}

/// Why two numbers do not make an [`Extent`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExtentError {
    /// It would hold no byte.
    Empty,
    /// It would end before it starts or beyond the address space.
    Overflow,
}

impl fmt::Display for ExtentError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            ExtentError::Empty => "the extent is empty",
            ExtentError::Overflow => "the extent ends before its start or beyond the address space",
        })
    }
}

impl std::error::Error for ExtentError {}

impl Extent {
    /// The bytes `[start, end)`.
    pub const fn new(start: u64, end: u64) -> Result<Extent, ExtentError> {
        if start < end {
            Ok(Extent { start, end })
        } else if start == end {
            Err(ExtentError::Empty)
        } else {
            Err(ExtentError::Overflow)
        }
    }

    /// The `len` bytes from `start` on.
    pub const fn with_len(start: u64, len: u64) -> Result<Extent, ExtentError> {
        match start.checked_add(len) {
            Some(end) => Extent::new(start, end),
            None => Err(ExtentError::Overflow),
        }
    }

    /// The first byte.
    pub const fn start(self) -> u64 {
        self.start
    }

    /// One past the last byte.
    pub const fn end(self) -> u64 {
        self.end
    }

    /// Bytes held; never 0.
    #[allow(clippy::len_without_is_empty, reason = "an extent is never empty")]
    pub const fn len(self) -> u64 {
        self.end - self.start
    }

    /// Whether the byte at `address` is inside.
    pub const fn contains_address(self, address: u64) -> bool {
        self.start <= address && address < self.end
    }

    /// Whether every byte of `other` is inside.
    pub const fn contains(self, other: Extent) -> bool {
        self.start <= other.start && other.end <= self.end
    }

    /// Whether the two share a byte.
    pub const fn overlaps(self, other: Extent) -> bool {
        self.start < other.end && other.start < self.end
    }

    /// It in pieces of `chunk_bytes`, from its start on; the last may be shorter. This is how regions are
    /// cut into chunks ([`crate::ChunkMap`]). Panics when `chunk_bytes` is 0.
    pub fn chunks(self, chunk_bytes: u64) -> impl Iterator<Item = Extent> {
        assert!(chunk_bytes != 0, "chunks of no bytes");
        let mut start = self.start;
        std::iter::from_fn(move || {
            let end = start.saturating_add(chunk_bytes).min(self.end);
            let chunk = Extent::new(start, end).ok()?;
            start = end;
            Some(chunk)
        })
    }

    /// The bytes that are in both.
    pub fn intersect(self, other: Extent) -> Option<Extent> {
        Extent::new(self.start.max(other.start), self.end.min(other.end)).ok()
    }
}

impl fmt::Display for Extent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "[{:#x}, {:#x})", self.start, self.end)
    }
}

impl fmt::Debug for Extent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn constructors_refuse_what_is_not_a_range() {
        assert_eq!(Extent::new(4, 4), Err(ExtentError::Empty));
        assert_eq!(Extent::new(5, 4), Err(ExtentError::Overflow));
        assert_eq!(Extent::with_len(4, 0), Err(ExtentError::Empty));
        assert_eq!(Extent::with_len(u64::MAX, 2), Err(ExtentError::Overflow));
        let last = Extent::with_len(u64::MAX - 1, 1).unwrap();
        assert_eq!((last.end(), last.len()), (u64::MAX, 1));
    }

    #[test]
    fn neighbours_do_not_overlap() {
        let (a, b) = (Extent::new(0, 4).unwrap(), Extent::new(4, 8).unwrap());
        assert!(!a.overlaps(b) && !b.overlaps(a));
        assert_eq!(a.intersect(b), None);
        let middle = Extent::new(3, 5).unwrap();
        assert_eq!(middle.intersect(a), Extent::new(3, 4).ok());
        assert!(a.contains(Extent::new(0, 4).unwrap()) && !a.contains(middle));
        assert!(a.contains_address(3) && !a.contains_address(4));
    }
}
