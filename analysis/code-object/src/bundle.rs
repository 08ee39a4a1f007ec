//! Offload bundles: one header, then one file per target.
//!
//! Layout (clang's offload bundler): the magic, a 64-bit count, then for each entry offset and size
//! of its file from the start of the bundle, length of its triple, and the triple.

use crate::bytes::Bytes;
use crate::compressed::{self, CompressedError};
use crate::limits::ObjectLimits;

pub(crate) const MAGIC: &[u8; 24] = b"__CLANG_OFFLOAD_BUNDLE__";
/// Longer triples are not triples.
const MAX_TRIPLE: u64 = 4096;

/// Why bytes are not an offload bundle.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[expect(missing_docs, reason = "the sentence of each says it")]
pub enum BundleError {
    #[error("no offload bundle starts here")]
    Magic,
    /// The header goes on; ask again with at least that many bytes.
    #[error("the bundle's header needs at least {0} bytes")]
    Short(usize),
    #[error("the bundle declares {0} entries")]
    TooManyEntries(u64),
    #[error("entry {index} of the bundle lies outside of what a file can hold")]
    Entry { index: usize },
    #[error("entry {0} of the bundle lies on another one, or on the header")]
    Overlap(String),
    #[error(transparent)]
    Compressed(#[from] CompressedError),
}

pub(crate) struct Entry<'a> {
    pub(crate) triple: &'a [u8],
    pub(crate) offset: usize,
    pub(crate) size: usize,
}

/// The bytes that the bundle at the start of `bytes` occupies, raw or compressed.
///
/// Needs only the header: memory that a program registered (`__hipRegisterFatBinary`) carries no
/// length. On [`BundleError::Short`] the caller gives more bytes, if it can.
///
/// # Errors
/// If no bundle starts here or its header makes no sense.
pub fn bundle_len(bytes: &[u8]) -> Result<usize, BundleError> {
    if compressed::is_compressed(bytes) {
        return Ok(compressed::Header::parse(bytes)?.file_size);
    }
    let (entries, header) = entries(bytes, &ObjectLimits::default())?;
    Ok(len(&entries, header))
}

/// Of a raw bundle with these entries behind a header of so many bytes.
pub(crate) fn len(entries: &[Entry<'_>], header: usize) -> usize {
    let ends = entries.iter().map(|entry| entry.offset + entry.size);
    ends.max().unwrap_or(0).max(header)
}

/// The entries of the raw bundle at the start of `bytes`, and the length of its header.
pub(crate) fn entries<'a>(
    bytes: &'a [u8],
    limits: &ObjectLimits,
) -> Result<(Vec<Entry<'a>>, usize), BundleError> {
    let shown = bytes.len().min(MAGIC.len());
    if bytes[..shown] != MAGIC[..shown] {
        return Err(BundleError::Magic);
    }
    let count = bytes.u64_at(24).ok_or(BundleError::Short(32))?;
    if count > limits.entries as u64 {
        return Err(BundleError::TooManyEntries(count));
    }
    let mut at = 32;
    let mut entries = Vec::new();
    for index in 0..count as usize {
        let [Some(offset), Some(size), Some(length)] =
            [at, at + 8, at + 16].map(|at| bytes.u64_at(at))
        else {
            return Err(BundleError::Short(at + 24));
        };
        // Half of the address space each: the sum cannot overflow.
        let bound = (isize::MAX / 2) as u64;
        if length > MAX_TRIPLE || offset > bound || size > bound {
            return Err(BundleError::Entry { index });
        }
        at += 24;
        let triple = bytes
            .get(at..at + length as usize)
            .ok_or(BundleError::Short(at + length as usize))?;
        at += length as usize;
        entries.push(Entry {
            triple,
            offset: offset as usize,
            size: size as usize,
        });
    }
    Ok((entries, at))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bundle(entries: &[(u64, u64, &str)]) -> Vec<u8> {
        let mut bytes = MAGIC.to_vec();
        bytes.extend((entries.len() as u64).to_le_bytes());
        for (offset, size, triple) in entries {
            bytes.extend(offset.to_le_bytes());
            bytes.extend(size.to_le_bytes());
            bytes.extend((triple.len() as u64).to_le_bytes());
            bytes.extend(triple.as_bytes());
        }
        bytes
    }

    #[test]
    fn length_is_the_end_of_the_last_entry() {
        let bytes = bundle(&[
            (4096, 100, "hipv4-amdgcn-amd-amdhsa--gfx906"),
            (8192, 7, "x"),
        ]);
        assert_eq!(bundle_len(&bytes), Ok(8199));
    }

    #[test]
    fn a_bundle_of_an_empty_host_entry_is_its_header() {
        let bytes = bundle(&[(0, 0, "host-x86_64-unknown-linux--")]);
        assert_eq!(bundle_len(&bytes), Ok(bytes.len()));
    }

    #[test]
    fn every_cut_header_asks_for_more_and_asking_ends() {
        let bytes = bundle(&[
            (4096, 100, "hipv4-amdgcn-amd-amdhsa--gfx906"),
            (8192, 7, "x"),
        ]);
        for cut in 0..bytes.len() {
            match bundle_len(&bytes[..cut]) {
                Err(BundleError::Short(more)) => {
                    assert!(
                        more > cut && more <= bytes.len(),
                        "cut {cut} asks for {more}"
                    );
                }
                other => panic!("cut {cut}: {other:?}"),
            }
        }
    }

    #[test]
    fn hostile_sizes_are_refused() {
        assert_eq!(
            bundle_len(&bundle(&[(u64::MAX, 1, "x")])),
            Err(BundleError::Entry { index: 0 })
        );
        let mut many = MAGIC.to_vec();
        many.extend(u64::MAX.to_le_bytes());
        assert_eq!(
            bundle_len(&many),
            Err(BundleError::TooManyEntries(u64::MAX))
        );
        assert_eq!(bundle_len(b"ELF"), Err(BundleError::Magic));
    }
}
