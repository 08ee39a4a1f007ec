//! One chunk file.
//!
//! ```text
//! offset  bytes
//!      0      8  magic "STROBECH"
//!      8      4  codec: 0 raw, 1 LZ4 block
//!     12      4  zero
//!     16      8  raw length
//!     24      8  stored length
//!     32      -  content, stored length bytes, up to the end of the file
//! ```
//!
//! The file's name is the hash of the raw bytes, so the content needs no checksum of its own.

use crate::damage::{Damage, Defect, open};
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use strobe_proto::ChunkRef;

const MAGIC: &[u8; 8] = b"STROBECH";
/// Bytes before the content.
pub(crate) const HEADER: usize = 32;
/// The longest raw chunk, in bytes.
pub(crate) const MAX_RAW: u64 = 1 << 30;
const RAW: u32 = 0;
const LZ4: u32 = 1;
/// Raw bytes that a byte of an LZ4 block stands for, at most: a length goes on in bytes of 255.
const LZ4_MOST: u64 = 255;
/// How much of a chunk is tried before all of it is compressed, in bytes.
const SAMPLE: usize = 16 << 10;

/// The hash of a chunk's raw bytes.
pub(crate) type Hash = [u8; 32];

/// A chunk as it is stored.
pub(crate) struct Stored {
    pub(crate) header: [u8; HEADER],
    /// `None`: the raw bytes as they are.
    pub(crate) compressed: Option<Vec<u8>>,
}

/// Whether a chunk needs no file.
pub(crate) fn is_zero(raw: &[u8]) -> bool {
    raw.chunks(256)
        .all(|part| part.iter().fold(0, |bits, byte| bits | byte) == 0)
}

/// The hash that `chunk` refers to; `None` for zeros.
pub(crate) fn hash_of(chunk: &ChunkRef) -> Result<Option<Hash>, Defect> {
    if chunk.len == 0 || chunk.len > MAX_RAW {
        return Err(Defect::Limit(chunk.len));
    }
    if chunk.blake3.is_empty() {
        return Ok(None);
    }
    let hash = Hash::try_from(chunk.blake3.as_slice());
    hash.map(Some)
        .map_err(|_| Defect::Invalid("a chunk's hash has not 32 bytes".to_owned()))
}

/// The folder of a chunk and its file, below `chunks`.
pub(crate) fn place(chunks: &Path, hash: &Hash) -> (PathBuf, PathBuf) {
    let name = blake3::Hash::from_bytes(*hash).to_hex();
    let folder = chunks.join(&name[..2]);
    let file = folder.join(name.as_str());
    (folder, file)
}

/// Compresses where that saves at least an eighth.
pub(crate) fn encode(raw: &[u8]) -> Stored {
    let worth = |packed: usize, from: usize| packed <= from - from / 8;
    let sample = &raw[..raw.len().min(SAMPLE)];
    let compressed = Some(lz4_flex::block::compress(sample))
        .filter(|packed| worth(packed.len(), sample.len()))
        .map(|packed| match sample.len() == raw.len() {
            true => packed,
            false => lz4_flex::block::compress(raw),
        })
        .filter(|packed| worth(packed.len(), raw.len()));
    let stored = compressed.as_ref().map_or(raw.len(), Vec::len);
    let codec = if compressed.is_some() { LZ4 } else { RAW };
    let mut header = [0; HEADER];
    header[..8].copy_from_slice(MAGIC);
    header[8..12].copy_from_slice(&codec.to_le_bytes());
    header[16..24].copy_from_slice(&(raw.len() as u64).to_le_bytes());
    header[24..32].copy_from_slice(&(stored as u64).to_le_bytes());
    Stored { header, compressed }
}

/// Reads the file of a chunk with this hash and raw length into `raw`, in place of what it held,
/// and checks every byte of it. On damage `raw` is empty.
pub(crate) fn load(
    path: &Path,
    hash: &Hash,
    raw_len: u64,
    raw: &mut Vec<u8>,
) -> Result<(), Damage> {
    raw.clear();
    decode(path, hash, raw_len, raw).map_err(|defect| {
        raw.clear();
        defect.at(path)
    })
}

/// What a header says.
struct Shape {
    codec: u32,
    /// Bytes of the content.
    stored: u64,
}

/// Looks whether a chunk is there, and all of it, by its header.
pub(crate) fn look(path: &Path, raw_len: u64) -> Result<(), Damage> {
    let looked = begin(path, raw_len);
    looked.map(drop).map_err(|defect| defect.at(path))
}

/// Opens a chunk and reads its header.
fn begin(path: &Path, raw_len: u64) -> Result<(File, Shape), Defect> {
    let (mut file, len) = open(path)?;
    // Never longer than raw: compression is only kept where it saves.
    if len > HEADER as u64 + raw_len {
        return Err(Defect::Length {
            expected: HEADER as u64 + raw_len,
            found: len,
        });
    }
    let mut header = [0; HEADER];
    let found = len.checked_sub(HEADER as u64).ok_or(Defect::Header)?;
    file.read_exact(&mut header)?;
    let word = |at: usize| u32::from_le_bytes(header[at..at + 4].try_into().expect("4 bytes"));
    let long = |at: usize| u64::from_le_bytes(header[at..at + 8].try_into().expect("8 bytes"));
    if &header[..8] != MAGIC {
        return Err(Defect::Magic);
    }
    let (codec, reserved, expected_raw, stored) = (word(8), word(12), long(16), long(24));
    if reserved != 0 {
        return Err(Defect::Invalid("reserved bytes are in use".to_owned()));
    }
    if expected_raw != raw_len {
        return Err(Defect::Length {
            expected: raw_len,
            found: expected_raw,
        });
    }
    if found != stored {
        return Err(Defect::Length {
            expected: stored,
            found,
        });
    }
    Ok((file, Shape { codec, stored }))
}

fn decode(path: &Path, hash: &Hash, raw_len: u64, raw: &mut Vec<u8>) -> Result<(), Defect> {
    let (file, Shape { codec, stored }) = begin(path, raw_len)?;
    match codec {
        RAW => read_content(file, stored, raw)?,
        LZ4 if stored.saturating_mul(LZ4_MOST) < raw_len => return Err(Defect::Compression),
        LZ4 => {
            let mut packed = Vec::new();
            read_content(file, stored, &mut packed)?;
            raw.resize(raw_len as usize, 0);
            let unpacked = lz4_flex::block::decompress_into(&packed, raw);
            raw.truncate(unpacked.map_err(|_| Defect::Compression)?);
        }
        other => return Err(Defect::Codec(other)),
    }
    if raw.len() as u64 != raw_len || blake3::hash(raw) != *hash {
        return Err(Defect::Content);
    }
    Ok(())
}

fn read_content(file: File, expected: u64, content: &mut Vec<u8>) -> Result<(), Defect> {
    content.reserve_exact(expected as usize);
    let found = file.take(expected).read_to_end(content)? as u64;
    if found == expected {
        Ok(())
    } else {
        Err(Defect::Length { expected, found })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What a header says costs nothing before the content can be as long.
    #[test]
    fn a_short_file_of_a_long_chunk_takes_no_memory() {
        let stored = [0_u8; 30];
        let mut file = MAGIC.to_vec();
        file.extend(LZ4.to_le_bytes());
        file.extend([0; 4]);
        file.extend(MAX_RAW.to_le_bytes());
        file.extend((stored.len() as u64).to_le_bytes());
        file.extend(stored);
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("chunk");
        std::fs::write(&path, file).expect("a file");
        let mut raw = Vec::new();
        let damage = load(&path, &[0xab; 32], MAX_RAW, &mut raw).expect_err("no such chunk");
        assert!(matches!(damage.defect, Defect::Compression), "{damage}");
        assert!(raw.capacity() < 1 << 20, "{} bytes", raw.capacity());
    }

    /// The bound is no tighter than the format: zeros are what gets smallest.
    #[test]
    fn the_best_compression_is_within_the_bound() {
        for len in [1, 100, 1 << 16, 1 << 24] {
            let packed = lz4_flex::block::compress(&vec![0; len]);
            assert!(len as u64 <= packed.len() as u64 * LZ4_MOST, "{len} bytes");
        }
    }
}
