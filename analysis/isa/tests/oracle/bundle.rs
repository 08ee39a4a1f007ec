//! Code objects out of a library's offload bundles (`__CLANG_OFFLOAD_BUNDLE__`, uncompressed).

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};

const MAGIC: &[u8] = b"__CLANG_OFFLOAD_BUNDLE__";

/// The code objects for `target`.
pub(crate) fn code_objects<'a>(
    file: &'a mut File,
    target: &'a str,
) -> impl Iterator<Item = Vec<u8>> + use<'a> {
    let bundles: Vec<u64> = find(file);
    bundles
        .into_iter()
        .flat_map(move |at| of_bundle(file, at, target))
}

/// Offsets of the bundles: each starts on a page of the file.
fn find(file: &mut File) -> Vec<u64> {
    let mut found = Vec::new();
    let mut block = vec![0; 1 << 24];
    let mut offset = 0;
    file.rewind().expect("the library's start");
    loop {
        let mut filled = 0;
        while filled < block.len() {
            match file
                .read(&mut block[filled..])
                .expect("the library's bytes")
            {
                0 => break,
                read => filled += read,
            }
        }
        for page in (0..filled).step_by(4096) {
            if block[page..filled].starts_with(MAGIC) {
                found.push(offset + page as u64);
            }
        }
        if filled < block.len() {
            return found;
        }
        offset += filled as u64;
    }
}

fn of_bundle(file: &mut File, at: u64, target: &str) -> Vec<Vec<u8>> {
    let mut read = |offset: u64, length: u64| {
        let mut bytes = vec![0; usize::try_from(length).expect("a length")];
        file.seek(SeekFrom::Start(at + offset))
            .expect("a bundle's offset");
        file.read_exact(&mut bytes).expect("a bundle's bytes");
        bytes
    };
    let number = |bytes: &[u8], i: usize| {
        u64::from_le_bytes(bytes[8 * i..8 * i + 8].try_into().expect("eight bytes"))
    };
    // After the magic: the number of entries; each has offset, size, length of its name, name.
    let mut position = MAGIC.len() as u64 + 8;
    let entries = number(&read(MAGIC.len() as u64, 8), 0);
    let mut code = Vec::new();
    for _ in 0..entries {
        let entry = read(position, 24);
        let (offset, size, length) = (number(&entry, 0), number(&entry, 1), number(&entry, 2));
        let name = read(position + 24, length);
        position += 24 + length;
        if size > 0 && String::from_utf8_lossy(&name).contains(target) {
            code.push(read(offset, size));
        }
    }
    code
}
