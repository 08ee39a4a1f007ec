//! The manifest file.
//!
//! ```text
//! offset  bytes
//!      0      8  magic "STROBEMF"
//!      8      4  format, now 3
//!     12      4  zero
//!     16      8  length of the message
//!     24     32  blake3 of the message
//!     56      -  the message: a protobuf `strobe.Manifest`, up to the end of the file
//! ```

use crate::chunk::{Hash, hash_of};
use crate::damage::{Damage, Defect, read};
use crate::tree::{MAX_FILES, is_listed_path};
use prost::Message;
use std::collections::BTreeSet;
use std::path::Path;
use strobe_extent::{ChunkMap, Extent};
use strobe_proto::{ChunkRef, FileRecord, Manifest, TrackedExtent, files};

/// The format of directories that this version writes and reads.
pub const FORMAT: u32 = 3;
const MAGIC: &[u8; 8] = b"STROBEMF";
const HEADER: usize = 56;
/// The longest manifest, in bytes: 2^22 chunks and as much again.
pub(crate) const MAX: u64 = 512 << 20;

/// The header to write before the encoded message.
pub(crate) fn header(message: &[u8]) -> [u8; HEADER] {
    let mut header = [0; HEADER];
    header[..8].copy_from_slice(MAGIC);
    header[8..12].copy_from_slice(&FORMAT.to_le_bytes());
    header[16..24].copy_from_slice(&(message.len() as u64).to_le_bytes());
    header[24..].copy_from_slice(blake3::hash(message).as_bytes());
    header
}

/// Reads and checks the manifest of a checkpoint directory.
pub(crate) fn load(root: &Path) -> Result<Manifest, Damage> {
    let path = root.join(files::MANIFEST);
    let decoded = decode(&path).and_then(|manifest| check(&manifest).map(|()| manifest));
    decoded.map_err(|defect| defect.at(&path))
}

fn decode(path: &Path) -> Result<Manifest, Defect> {
    let bytes = read(path, MAX)?;
    let (header, message) = bytes.split_first_chunk::<HEADER>().ok_or(Defect::Header)?;
    if &header[..8] != MAGIC {
        return Err(Defect::Magic);
    }
    let format = u32::from_le_bytes(header[8..12].try_into().expect("4 bytes"));
    if format != FORMAT {
        return Err(Defect::Format(format));
    }
    if header[12..16] != [0; 4] {
        return Err(Defect::Invalid("reserved bytes are in use".to_owned()));
    }
    let expected = u64::from_le_bytes(header[16..24].try_into().expect("8 bytes"));
    if expected != message.len() as u64 {
        let all = |message: u64| message.saturating_add(HEADER as u64);
        return Err(Defect::Length {
            expected: all(expected),
            found: bytes.len() as u64,
        });
    }
    if blake3::hash(message).as_bytes() != &header[24..] {
        return Err(Defect::Content);
    }
    Manifest::decode(message).map_err(|error| Defect::Invalid(error.to_string()))
}

/// Checks that a manifest says nothing impossible: what a reader may rely on.
pub(crate) fn check(manifest: &Manifest) -> Result<(), Defect> {
    let invalid = |what: String| Err(Defect::Invalid(what));
    if manifest.format != FORMAT {
        return Err(Defect::Format(manifest.format));
    }
    let numbers: BTreeSet<u32> = manifest.processes.iter().map(|p| p.pid).collect();
    if numbers.len() != manifest.processes.len() {
        return invalid("two of its processes have one number".to_owned());
    }
    for process in &manifest.processes {
        check_tracked(&process.tracked, manifest.chunk_bytes)?;
    }
    let listed = &manifest.files;
    if !listed.is_sorted_by(|a, b| a.path < b.path) || listed.len() > MAX_FILES {
        return invalid("its files are not listed in order".to_owned());
    }
    for file in listed {
        if !is_listed_path(&file.path) || file.blake3.len() != size_of::<Hash>() {
            return invalid(format!("{:?} is no file of a checkpoint", file.path));
        }
        check_chunks(file)?;
    }
    for file in manifest
        .program_files
        .iter()
        .filter(|file| !file.stored.is_empty())
    {
        let stored = find_file(manifest, &format!("{}/{}", files::CRIU, file.stored));
        if stored.is_none_or(|stored| stored.len != file.size || is_in_chunks(stored)) {
            return invalid(format!("the contents of {:?} are not stored", file.path));
        }
    }
    for memory in &manifest.shared_memory {
        if find_file(manifest, &memory.stored).is_none_or(is_in_chunks) {
            return invalid(format!("{:?} of shared memory is not stored", memory.name));
        }
    }
    Ok(())
}

/// Whether a file's content lies in chunks, and in no file of its own.
pub(crate) fn is_in_chunks(file: &FileRecord) -> bool {
    !file.chunks.is_empty()
}

/// Of a file in chunks: that it is one of CRIU's, whose readers put it together, and that they are all of it.
fn check_chunks(file: &FileRecord) -> Result<(), Defect> {
    let mut len = Some(0_u64);
    for chunk in &file.chunks {
        hash_of(chunk)?;
        len = len.and_then(|len| len.checked_add(chunk.len));
    }
    let is_whole = len == Some(file.len) && file.path.starts_with(files::CRIU);
    match is_in_chunks(file) && !is_whole {
        true => Err(Defect::Invalid(format!(
            "the chunks of {:?} are not all of it",
            file.path
        ))),
        false => Ok(()),
    }
}

/// Every chunk that the manifest names, some more than once.
pub(crate) fn chunks(manifest: &Manifest) -> impl Iterator<Item = &ChunkRef> {
    let of_files = manifest.files.iter().flat_map(|file| &file.chunks);
    tracked(manifest)
        .flat_map(|tracked| &tracked.chunks)
        .chain(of_files)
}

/// The tracked extents of all processes.
pub(crate) fn tracked(manifest: &Manifest) -> impl Iterator<Item = &TrackedExtent> {
    manifest
        .processes
        .iter()
        .flat_map(|process| &process.tracked)
}

/// Checks the extents of one process.
fn check_tracked(all: &[TrackedExtent], chunk_bytes: u64) -> Result<(), Defect> {
    let invalid = |what: String| Err(Defect::Invalid(what));
    let mut extents = Vec::with_capacity(all.len());
    for tracked in all {
        let extent = tracked.extent.unwrap_or_default();
        let Ok(extent) = Extent::try_from(extent) else {
            return invalid(format!("{extent:?} is no extent"));
        };
        extents.push(extent);
        tracked
            .chunks
            .iter()
            .try_for_each(|chunk| hash_of(chunk).map(drop))?;
        let stored = tracked.chunks.iter().map(|chunk| chunk.len);
        if !extent
            .chunks(chunk_bytes.max(1))
            .map(Extent::len)
            .eq(stored)
        {
            return invalid(format!(
                "the chunks of {extent} are not cut as they should be"
            ));
        }
    }
    if !extents.is_empty()
        && let Err(error) = ChunkMap::new(extents, chunk_bytes)
    {
        return invalid(error.to_string());
    }
    Ok(())
}

/// The record of a file, by its path relative to the checkpoint directory.
pub(crate) fn find_file<'a>(manifest: &'a Manifest, path: &str) -> Option<&'a FileRecord> {
    let at = manifest
        .files
        .binary_search_by(|file| file.path.as_str().cmp(path))
        .ok()?;
    Some(&manifest.files[at])
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::{Duration, Instant};
    use strobe_proto::{GpuProcess, ProgramFile};

    /// `count` extents of a page of zeros each, in descending order, `apart` bytes from one to the next.
    fn descending(count: u64, apart: u64) -> Manifest {
        let page = |number: u64| TrackedExtent {
            extent: Some(strobe_proto::ByteRange {
                start: (1 << 40) + number * apart,
                len: 4096,
            }),
            chunks: vec![ChunkRef {
                len: 4096,
                ..ChunkRef::default()
            }],
            ..TrackedExtent::default()
        };
        Manifest {
            format: FORMAT,
            chunk_bytes: 4096,
            processes: vec![GpuProcess {
                tracked: (0..count).rev().map(page).collect(),
                ..GpuProcess::default()
            }],
            ..Manifest::default()
        }
    }

    /// In whatever order they stand: a set that is filled from behind would take minutes.
    #[test]
    fn many_extents_are_checked_in_no_time() {
        let manifest = descending(500_000, 8192);
        let start = Instant::now();
        check(&manifest).expect("nothing is wrong with it");
        let time = start.elapsed();
        assert!(time < Duration::from_secs(5), "{time:?}");
    }

    #[test]
    fn extents_that_overlap_are_found_in_any_order() {
        check(&descending(2, 4096)).expect("neighbours");
        let mut manifest = descending(2, 2048);
        for _ in 0..2 {
            let defect = check(&manifest).expect_err("half of each is the other's");
            assert!(defect.to_string().contains("overlap"), "{defect}");
            manifest.processes[0].tracked.reverse();
        }
    }

    #[test]
    fn a_file_in_chunks_is_one_of_criu_s_and_all_of_it() {
        let file = |path: &str, len, chunks: &[u64]| Manifest {
            format: FORMAT,
            files: vec![FileRecord {
                path: path.to_owned(),
                len,
                blake3: vec![0; 32],
                chunks: chunks
                    .iter()
                    .map(|len| ChunkRef {
                        len: *len,
                        ..ChunkRef::default()
                    })
                    .collect(),
            }],
            ..Manifest::default()
        };
        check(&file("criu/pages-1.img", 12, &[5, 7])).expect("nothing is wrong with it");
        let bad = [
            file("files/shm/x", 12, &[5, 7]),
            file("criu/pages-1.img", 12, &[5]),
            file("criu/pages-1.img", 0, &[0]),
            file("criu/pages-1.img", 2, &[u64::MAX, 3]),
        ];
        for manifest in bad {
            assert!(check(&manifest).is_err(), "{manifest:?}");
        }
        let mut manifest = file("criu/strobe-file-0.img", 12, &[12]);
        manifest.program_files = vec![ProgramFile {
            size: 12,
            stored: "strobe-file-0.img".to_owned(),
            ..ProgramFile::default()
        }];
        assert!(check(&manifest).is_err(), "its reader takes files only");
    }
}
