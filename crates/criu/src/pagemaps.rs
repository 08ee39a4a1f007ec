//! Where the images of memory can be cut, so that equal memory makes equal pieces.
//!
//! `pages-N.img` is nothing but pages, one after the other; which they are is said in the pagemap of a process
//! (`pagemap-PID.img`) or of shared memory (`pagemap-shmem-ID.img`). From one checkpoint to the next pages come and
//! go, and those behind them move in the image. What is cut at addresses stays as it was.

use std::path::Path;
use std::{fs, io};

use prost::Message;
use strobe_proto::files;

use crate::images::PAGEMAP;

/// Of the machines that are supported (x86-64).
const PAGE: u64 = 4096;
/// `PE_PRESENT` (criu/include/pagemap.h): the pages are in the image.
const PRESENT: u32 = 4;
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

/// `pagemap_head` of images/pagemap.proto.
#[derive(Clone, PartialEq, Message)]
struct Head {
    #[prost(uint32, required, tag = "1")]
    pages_id: u32,
}

/// `pagemap_entry` of images/pagemap.proto.
#[derive(Clone, PartialEq, Message)]
struct Entry {
    #[prost(uint64, required, tag = "1")]
    address: u64,
    /// Until CRIU 4.1.
    #[prost(uint32, optional, tag = "2")]
    pages_32: Option<u32>,
    #[prost(bool, optional, tag = "3")]
    in_parent: Option<bool>,
    #[prost(uint32, optional, tag = "4")]
    flags: Option<u32>,
    #[prost(uint64, optional, tag = "5")]
    pages: Option<u64>,
}

impl Entry {
    fn bytes(&self) -> u64 {
        let pages = self.pages.or(self.pages_32.map(u64::from));
        pages.unwrap_or(0).saturating_mul(PAGE)
    }

    fn is_present(&self) -> bool {
        match self.flags {
            Some(flags) => flags & PRESENT != 0,
            None => !self.in_parent(),
        }
    }
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
        let Some((pages_id, entries)) = read(&fs::read(folder.join(name))?) else {
            continue;
        };
        let of = files::memory(pages_id);
        if let Some(pages) = all.iter_mut().find(|pages| pages.name == of) {
            pages.pieces = cut(&entries, pages.piece_bytes, pages.len);
        }
    }
    Ok(all)
}

fn read(image: &[u8]) -> Option<(u32, Vec<Entry>)> {
    let messages = PAGEMAP.messages(image)?;
    let (head, entries) = messages.split_first()?;
    let entries = entries.iter().map(|entry| Entry::decode(entry.as_slice()));
    let entries = entries.collect::<Result<_, _>>().ok()?;
    Some((Head::decode(head.as_slice()).ok()?.pages_id, entries))
}

/// Cuts `len` bytes where addresses are multiples of `piece_bytes`; what lies between two cuts is one piece.
fn cut(entries: &[Entry], piece_bytes: u64, len: u64) -> Vec<u64> {
    let mut pieces: Vec<u64> = Vec::new();
    let mut last = None;
    let mut rest = len;
    for entry in entries.iter().filter(|entry| entry.is_present()) {
        let mut at = entry.address;
        let mut left = rest.min(entry.bytes());
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

    fn entry(address: u64, pages: u32, flags: Option<u32>) -> Entry {
        Entry {
            address,
            flags,
            pages_32: Some(pages),
            ..Entry::default()
        }
    }

    #[test]
    fn what_comes_before_moves_no_cut() {
        let there = [
            entry(0x20_0000 - PAGE, 3, Some(PRESENT)),
            entry(0x20_4000, 1, None),
            entry(0x20_6000, 9, Some(0)),
            entry(0x21_0000, 33, Some(PRESENT)),
        ];
        let len = 46 * PAGE;
        let pieces = cut(&there, PIECE, len);
        assert_eq!(pieces, [PAGE, 3 * PAGE, PIECE, PIECE, PAGE]);
        let mut more = vec![entry(0x1000, 2, Some(PRESENT))];
        more.extend(there);
        assert_eq!(
            cut(&more, PIECE, len + 2 * PAGE),
            [&[2 * PAGE], &pieces[..]].concat()
        );
        // As CRIU says it since 4.2.
        let newer = Entry {
            pages: Some(33),
            pages_32: Some(0),
            ..entry(0x21_0000, 0, Some(PRESENT))
        };
        assert_eq!(cut(&[newer], PIECE, 33 * PAGE), [PIECE, PIECE, PAGE]);
        let beyond = [entry(u64::MAX - 10, u32::MAX, None)];
        assert_eq!(
            cut(&beyond, PIECE, 3 * PIECE).iter().sum::<u64>(),
            3 * PIECE
        );
    }

    #[test]
    fn each_image_is_cut_by_the_pagemap_that_names_it() {
        let folder = tempfile::tempdir().unwrap();
        let write = |name: &str, bytes: &[u8]| fs::write(folder.path().join(name), bytes).unwrap();
        write("pages-1.img", &[0; 2 * PAGE as usize]);
        write("pages-2.img", &[0; PAGE as usize]);
        write("core-7.img", b"another");
        let head = Head { pages_id: 1 }.encode_to_vec();
        let there = entry(0x20_0000 - PAGE, 2, Some(PRESENT)).encode_to_vec();
        write("pagemap-7.img", &PAGEMAP.bytes(&[head, there]));
        write("pagemap-shmem-9.img", b"no list");
        let mut found = images(folder.path()).unwrap();
        found.sort_by(|a, b| a.name.cmp(&b.name));
        let pages = |name: &str, pieces: &[u64]| MemoryImage {
            name: name.into(),
            len: fs::metadata(folder.path().join(name)).unwrap().len(),
            pieces: pieces.to_vec(),
            piece_bytes: PIECE,
        };
        let expected = [
            pages("pages-1.img", &[PAGE, PAGE]),
            pages("pages-2.img", &[]),
        ];
        assert_eq!(found, expected);
    }
}
