//! Compressed offload bundles ("CCOB"): a header, then one zstd frame that holds a raw bundle.
//!
//! Version 2 is 24 bytes: magic, u16 version, u16 method, u32 file size, u32 uncompressed size,
//! u64 hash. Version 3 has 64-bit sizes, 32 bytes. Version 1 has no file size and has not been seen
//! in any package; it is refused. The hash is not cryptographic and is not checked.

use std::io::{self, Read};

use ruzstd::decoding::{FrameDecoder, StreamingDecoder};

use crate::bytes::Bytes;
use crate::limits::ObjectLimits;

const MAGIC: &[u8; 4] = b"CCOB";
const METHOD_ZSTD: u16 = 1;
/// Larger windows are not made by any offload bundler, and cost memory before the first byte.
const MAX_WINDOW: u64 = 1 << 30;

/// Why a compressed bundle cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[expect(missing_docs, reason = "the sentence of each says it")]
pub enum CompressedError {
    #[error("the compressed bundle's header is cut off")]
    Short,
    #[error("version {0} of compressed bundles is not supported")]
    Version(u16),
    #[error("compression method {0} is not supported")]
    Method(u16),
    #[error("the compressed bundle declares a size of {0} bytes")]
    Size(u64),
    #[error("zstd: {0}")]
    Zstd(String),
    #[error("the bundle has {actual} bytes after decompression, {declared} are declared")]
    Length { actual: usize, declared: usize },
}

pub(crate) struct Header {
    version: u16,
    method: u16,
    /// Header included.
    pub(crate) file_size: usize,
    uncompressed: u64,
}

pub(crate) fn is_compressed(bytes: &[u8]) -> bool {
    bytes.starts_with(MAGIC)
}

impl Header {
    pub(crate) fn parse(bytes: &[u8]) -> Result<Self, CompressedError> {
        let short = CompressedError::Short;
        let version = bytes.u16_at(4).ok_or(short.clone())?;
        let method = bytes.u16_at(6).ok_or(short.clone())?;
        let (file_size, uncompressed) = match version {
            2 => (
                u64::from(bytes.u32_at(8).ok_or(short.clone())?),
                u64::from(bytes.u32_at(12).ok_or(short)?),
            ),
            3 => (
                bytes.u64_at(8).ok_or(short.clone())?,
                bytes.u64_at(16).ok_or(short)?,
            ),
            other => return Err(CompressedError::Version(other)),
        };
        let header = if version == 2 { 24 } else { 32 };
        if file_size < header || file_size > isize::MAX as u64 {
            return Err(CompressedError::Size(file_size));
        }
        Ok(Self {
            version,
            method,
            file_size: file_size as usize,
            uncompressed,
        })
    }

    pub(crate) fn len(&self) -> usize {
        if self.version == 2 { 24 } else { 32 }
    }
}

/// The raw bundle inside a compressed one, as it comes out: what has been read or
/// skipped is gone. zstd itself keeps a window of it.
pub(crate) struct Unpacked<'a> {
    decoder: StreamingDecoder<io::Take<Box<dyn Read + 'a>>, FrameDecoder>,
    at: usize,
    declared: usize,
}

fn zstd(error: impl std::fmt::Display) -> CompressedError {
    CompressedError::Zstd(error.to_string())
}

impl<'a> Unpacked<'a> {
    /// `frame` is what stands behind the header.
    pub(crate) fn new(
        header: &Header,
        frame: Box<dyn Read + 'a>,
        limits: &ObjectLimits,
    ) -> Result<Self, CompressedError> {
        if header.method != METHOD_ZSTD {
            return Err(CompressedError::Method(header.method));
        }
        if header.uncompressed > limits.uncompressed as u64 {
            return Err(CompressedError::Size(header.uncompressed));
        }
        let frame = frame.take((header.file_size - header.len()) as u64);
        let window = MAX_WINDOW.min(limits.uncompressed as u64);
        Ok(Self {
            decoder: StreamingDecoder::new_with_max_window_size(frame, window).map_err(zstd)?,
            at: 0,
            declared: header.uncompressed as usize,
        })
    }

    /// Bytes of the raw bundle that have come out.
    pub(crate) fn at(&self) -> usize {
        self.at
    }

    /// What comes next, as far as there is that much. Grows with what really comes out, not with what the
    /// caller, or the header, says.
    pub(crate) fn read(&mut self, len: usize) -> Result<Vec<u8>, CompressedError> {
        let mut read = Vec::new();
        let len = len.min(self.declared - self.at) as u64;
        (&mut self.decoder)
            .take(len)
            .read_to_end(&mut read)
            .map_err(zstd)?;
        self.at += read.len();
        Ok(read)
    }

    /// The bytes that were there to skip.
    pub(crate) fn skip(&mut self, len: usize) -> Result<usize, CompressedError> {
        let len = len.min(self.declared - self.at) as u64;
        let mut next = (&mut self.decoder).take(len);
        let skipped = io::copy(&mut next, &mut io::sink()).map_err(zstd)? as usize;
        self.at += skipped;
        Ok(skipped)
    }

    /// Checks that as much comes out as the header says.
    pub(crate) fn finish(mut self) -> Result<(), CompressedError> {
        let declared = self.declared;
        self.skip(declared - self.at)?;
        let more = io::copy(&mut self.decoder.take(1), &mut io::sink()).map_err(zstd)?;
        let actual = self.at + more as usize;
        match actual == declared {
            true => Ok(()),
            false => Err(CompressedError::Length { actual, declared }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn unpack(bytes: &[u8], limits: &ObjectLimits) -> Result<Vec<u8>, CompressedError> {
        let header = Header::parse(bytes)?;
        let frame = bytes.get(header.len()..header.file_size);
        let frame = Box::new(frame.ok_or(CompressedError::Short)?);
        let mut unpacked = Unpacked::new(&header, frame, limits)?;
        let raw = unpacked.read(usize::MAX)?;
        unpacked.finish().map(|()| raw)
    }

    fn compressed(version: u16, raw: &[u8]) -> Vec<u8> {
        let frame = ruzstd::encoding::compress_to_vec(
            raw,
            ruzstd::encoding::CompressionLevel::Uncompressed,
        );
        let mut bytes = MAGIC.to_vec();
        bytes.extend(version.to_le_bytes());
        bytes.extend(METHOD_ZSTD.to_le_bytes());
        if version == 2 {
            bytes.extend((24 + frame.len() as u32).to_le_bytes());
            bytes.extend((raw.len() as u32).to_le_bytes());
        } else {
            bytes.extend((32 + frame.len() as u64).to_le_bytes());
            bytes.extend((raw.len() as u64).to_le_bytes());
        }
        bytes.extend(0_u64.to_le_bytes());
        bytes.extend(frame);
        bytes
    }

    #[test]
    fn both_versions_come_out_whole() {
        let raw: Vec<u8> = (0..100_000_u32).map(|i| (i / 7) as u8).collect();
        for version in [2, 3] {
            let mut bytes = compressed(version, &raw);
            let length = bytes.len();
            assert_eq!(
                Header::parse(&bytes).map(|header| header.file_size),
                Ok(length)
            );
            bytes.extend(b"the next bundle");
            assert_eq!(
                unpack(&bytes, &ObjectLimits::default()).as_deref(),
                Ok(&raw[..])
            );
        }
    }

    #[test]
    fn a_bomb_is_refused_by_its_header_and_by_its_output() {
        let raw = vec![7_u8; 4096];
        let small = ObjectLimits {
            uncompressed: 4095,
            ..ObjectLimits::default()
        };
        let mut bytes = compressed(3, &raw);
        assert_eq!(unpack(&bytes, &small), Err(CompressedError::Size(4096)));
        bytes[16..24].copy_from_slice(&100_u64.to_le_bytes());
        assert_eq!(
            unpack(&bytes, &ObjectLimits::default()),
            Err(CompressedError::Length {
                actual: 101,
                declared: 100
            })
        );
    }

    #[test]
    fn unknown_versions_and_methods_are_named() {
        let mut bytes = compressed(2, b"x");
        bytes[6] = 0;
        assert_eq!(
            unpack(&bytes, &ObjectLimits::default()),
            Err(CompressedError::Method(0))
        );
        bytes[4] = 1;
        assert_eq!(
            unpack(&bytes, &ObjectLimits::default()),
            Err(CompressedError::Version(1))
        );
    }
}
