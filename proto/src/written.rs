//! The files that a program has lately opened to write, or given another name: a place for each, in a static of
//! `libstrobe.so` that is found through the data symbol [`WRITTEN_SYMBOL`].
//!
//! Whoever saves a program looks there for the files that it has written and closed, and may rename or remove
//! next.

use core::sync::atomic::{AtomicU8, AtomicU32};

/// Exported by `libstrobe.so`: a [`WrittenFiles`].
pub const WRITTEN_SYMBOL: &str = "strobe_written_files";
/// Files that are remembered. Libraries below the program take places, too: the compiler that HIP has for the
/// agent's kernels wants eleven.
pub const PLACES: usize = 128;
/// Bytes of a path; a file whose path is longer is not remembered.
pub const PATH_BYTES: usize = 1016;

/// The layout; zero is a value.
#[derive(Debug)]
#[repr(C)]
pub struct WrittenFiles {
    /// How many places have been taken, in turn.
    pub taken: AtomicU32,
    /// See [`WrittenFile`].
    pub places: [WrittenFile; PLACES],
}

/// One file.
#[derive(Debug)]
#[repr(C)]
pub struct WrittenFile {
    /// Odd while the place is being written.
    pub sequence: AtomicU32,
    /// Bytes of the path; 0 for none.
    pub len: AtomicU32,
    /// Absolute, as the program names it.
    pub path: [AtomicU8; PATH_BYTES],
}

impl WrittenFiles {
    /// None is remembered.
    #[expect(clippy::new_without_default, reason = "a static needs a constant")]
    pub const fn new() -> Self {
        Self {
            taken: AtomicU32::new(0),
            places: [const {
                WrittenFile {
                    sequence: AtomicU32::new(0),
                    len: AtomicU32::new(0),
                    path: [const { AtomicU8::new(0) }; PATH_BYTES],
                }
            }; PLACES],
        }
    }
}

/// The paths in a copy of a [`WrittenFiles`]; what is not whole is left out.
pub fn paths(bytes: &[u8; size_of::<WrittenFiles>()]) -> impl Iterator<Item = &[u8]> {
    let places =
        bytes[core::mem::offset_of!(WrittenFiles, places)..].chunks_exact(size_of::<WrittenFile>());
    let word = |place: &[u8], at: usize| {
        let bytes = place[at..at + 4].try_into();
        u32::from_ne_bytes(bytes.expect("four bytes"))
    };
    places.filter_map(move |place| {
        let whole = word(place, core::mem::offset_of!(WrittenFile, sequence)) % 2 == 0;
        let len = word(place, core::mem::offset_of!(WrittenFile, len)) as usize;
        let start = core::mem::offset_of!(WrittenFile, path);
        let path = place[start..].get(..len)?;
        (whole && path.starts_with(b"/")).then_some(path)
    })
}
