//! Where the images of memory can be cut, so that equal memory makes equal pieces.
//!
//! `pages-N.img` is nothing but pages, one after the other; which they are is said in the pagemap of a process
//! (`pagemap-PID.img`) or of shared memory (`pagemap-shmem-ID.img`). From one checkpoint to the next pages come and
//! go, and those behind them move in the image. What is cut at addresses stays as it was.

use std::path::Path;
use std::{fs, io};

use strobe_proto::files;

use crate::images::read_image;
use crate::pagemap::{self, Run};

/// Pieces of an image are a fraction of it, so that a page that was written costs little and there are not too many.
const PIECE_BYTES: (u64, u64) = (64 << 10, 1 << 20);
const PIECES: u64 = 1024;

/// An image of memory.
#[derive(Debug, PartialEq, Eq)]
pub struct MemoryImage {
    /// Of the file.
    pub name: String,
    /// Its bytes.
    len: u64,
    /// Bytes of each piece, from the start of the file on; none where no pagemap says.
    pub pieces: Vec<u64>,
    /// Bytes of a piece at most.
    pub piece_bytes: u64,
}

/// The images of memory of a finished dump.
pub fn images(folder: &Path) -> io::Result<Vec<MemoryImage>> {
    let mut names = Vec::new();
    for entry in fs::read_dir(folder)? {
        names.extend(entry?.file_name().into_string());
    }
    let mut all = Vec::new();
    for name in names.iter().filter(|name| files::is_memory(name)) {
        let len = fs::metadata(folder.join(name))?.len();
        let piece_bytes = (len / PIECES).clamp(PIECE_BYTES.0, PIECE_BYTES.1);
        all.push(MemoryImage {
            name: name.clone(),
            len,
            pieces: Vec::new(),
            piece_bytes: piece_bytes.next_power_of_two(),
        });
    }
    for name in names.iter().filter(|name| files::is_pagemap(name)) {
        // One that is unknown here makes worse pieces, and no other bytes.
        let Some((pages_id, runs)) = pagemap::read(&read_image(&folder.join(name))?) else {
            continue;
        };
        let of = files::memory(pages_id);
        if let Some(pages) = all.iter_mut().find(|pages| pages.name == of) {
            pages.pieces = cut(&runs, pages.piece_bytes, pages.len);
        }
    }
    Ok(all)
}

/// Cuts `len` bytes where addresses are multiples of `piece_bytes`; what lies between two cuts is one piece.
fn cut(runs: &[Run], piece_bytes: u64, len: u64) -> Vec<u64> {
    let mut pieces: Vec<u64> = Vec::new();
    let mut last = None;
    let mut rest = len;
    for run in runs.iter().filter(|run| run.is_present) {
        let mut at = run.address;
        let mut left = rest.min(run.bytes);
        rest -= left;
        while left > 0 {
            let number = at / piece_bytes;
            let len = left.min(piece_bytes - at % piece_bytes);
            match pieces.last_mut() {
                Some(piece) if last == Some(number) => *piece = piece.saturating_add(len),
                _ => pieces.push(len),
            }
            last = Some(number);
            // What counts beyond the last address is no pagemap of CRIU's, and its cuts are as good as any.
            (at, left) = (at.wrapping_add(len), left - len);
        }
    }
    pieces
}

#[cfg(test)]
mod tests {
    use super::*;

    const PIECE: u64 = 64 << 10;

    const PAGE: u64 = 4096;

    fn run(address: u64, pages: u64, is_present: bool) -> Run {
        Run {
            address,
            bytes: pages * PAGE,
            is_present,
            in_parent: false,
            is_known: true,
        }
    }

    #[test]
    fn what_comes_before_moves_no_cut() {
        let there = [
            run(0x20_0000 - PAGE, 3, true),
            run(0x20_4000, 1, true),
            run(0x20_6000, 9, false),
            run(0x21_0000, 33, true),
        ];
        let len = 46 * PAGE;
        let pieces = cut(&there, PIECE, len);
        assert_eq!(pieces, [PAGE, 3 * PAGE, PIECE, PIECE, PAGE]);
        let mut more = vec![run(0x1000, 2, true)];
        more.extend(there);
        assert_eq!(
            cut(&more, PIECE, len + 2 * PAGE),
            [&[2 * PAGE], &pieces[..]].concat()
        );
        let beyond = [run(u64::MAX - 10, 1 << 32, true)];
        assert_eq!(
            cut(&beyond, PIECE, 3 * PIECE).iter().sum::<u64>(),
            3 * PIECE
        );
    }

    #[test]
    fn each_image_is_cut_by_the_pagemap_that_names_it() {
        let folder = tempfile::tempdir().unwrap();
        let write = |name: &str, bytes: &[u8]| fs::write(folder.path().join(name), bytes).unwrap();
        write("pages-1.img", &[0; 3 * PAGE as usize]);
        write("pages-2.img", &[0; PAGE as usize]);
        write("core-7.img", b"another");
        write("pagemap-7.img", &pagemap::valid());
        write("pagemap-shmem-9.img", b"no list");
        let mut found = images(folder.path()).unwrap();
        found.sort_by(|a, b| a.name.cmp(&b.name));
        let pages = |name: &str, pieces: &[u64]| MemoryImage {
            name: name.into(),
            len: fs::metadata(folder.path().join(name)).unwrap().len(),
            pieces: pieces.to_vec(),
            piece_bytes: PIECE,
        };
        let expected = [pages("pages-1.img", &[3 * PAGE]), pages("pages-2.img", &[])];
        assert_eq!(found, expected);
    }
}
