//! The image of a GPU's contents as CRIU's own plugin has it, of a checkpoint that has them in parts.
//!
//! ```text
//! offset  bytes
//!      0      8  how many follow
//!      8      -  contents of all VRAM and GTT buffer objects of the GPU, in their order
//! ```

use crate::checkpoint::Checkpoint;
use crate::contents::{self, ContentsError};
use crate::damage::Damage;
use crate::image::StoredImage;
use std::collections::BTreeMap;
use strobe_extent::{Extent, ExtentSet};
use strobe_kfd::criu::BoBucket;
use strobe_proto::amdgpu::CriuKfd;
use strobe_proto::{ByteRange, ChunkRef, Residual, files};

/// Bytes of the residual that are read at once.
const READ_BYTES: u64 = 1 << 20;

/// Contents of one GPU, ready to be written.
#[derive(Debug)]
pub struct Pages<'a> {
    checkpoint: &'a Checkpoint,
    residual: StoredImage,
    /// Without gaps, in the order of their places.
    parts: Vec<(u64, Source<'a>)>,
    len: u64,
}

/// Where so many bytes come from.
#[derive(Clone, Copy, Debug)]
enum Source<'a> {
    /// From there on in the residual image.
    Residual(u64),
    Chunk(&'a ChunkRef),
    /// Nobody needs them.
    Dead,
}

/// A piece of the contents.
#[derive(Clone, Copy, Debug)]
pub enum Part<'a> {
    /// These bytes.
    Bytes(&'a [u8]),
    /// So many zeros.
    Zeros(u64),
}

/// Why contents cannot be put together.
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "the sentence of each says it")]
pub enum PagesError {
    #[error(transparent)]
    Damage(#[from] Damage),
    #[error("{image}: {error}")]
    Contents { image: String, error: ContentsError },
    #[error("the checkpoint has no contents of process {0}")]
    UnknownProcess(u32),
}

impl<'a> Pages<'a> {
    /// Of the process whose `/dev/kfd` has the number `id` and the image `kfd`; `None` where the image of
    /// CRIU's own form is there already, or there are no contents. The checkpoint's files have been checked.
    pub fn of(
        checkpoint: &'a Checkpoint,
        id: i32,
        gpu: u32,
        kfd: &CriuKfd,
    ) -> Result<Option<Self>, PagesError> {
        let name = files::residual(id, gpu);
        let Some(image) = checkpoint.open_image(&name)? else {
            return Ok(None);
        };
        let (residual, start) = image.message::<Residual>()?;
        let mut processes = checkpoint.manifest().processes.iter();
        let process = processes.find(|process| process.pid == kfd.pid);
        let tracked = match process {
            Some(process) => process.tracked.as_slice(),
            None if residual.tracked.is_empty() => &[],
            None => return Err(PagesError::UnknownProcess(kfd.pid)),
        };
        let mut chunks = Vec::new();
        for extent in tracked {
            let mut at = extent.extent.unwrap_or_default().start;
            for chunk in &extent.chunks {
                chunks.push((at, chunk));
                at = at.saturating_add(chunk.len);
            }
        }
        let (parts, len) = divide(kfd, gpu, &residual, start, &chunks)
            .map_err(|error| PagesError::Contents { image: name, error })?;
        Ok(Some(Self {
            checkpoint,
            residual: image,
            parts,
            len,
        }))
    }

    /// Bytes of the contents.
    #[allow(clippy::len_without_is_empty, reason = "there may be none")]
    pub fn len(&self) -> u64 {
        self.len
    }

    /// Hands on all contents in their order, each chunk checked.
    pub fn pass_on<E: From<Damage>>(
        &self,
        mut take: impl FnMut(Part<'_>) -> Result<(), E>,
    ) -> Result<(), E> {
        let mut buffer = Vec::new();
        for &(len, source) in &self.parts {
            match source {
                Source::Dead => take(Part::Zeros(len))?,
                Source::Chunk(chunk) if chunk.blake3.is_empty() => take(Part::Zeros(len))?,
                Source::Chunk(chunk) => {
                    self.checkpoint.read_chunk_into(chunk, &mut buffer)?;
                    take(Part::Bytes(&buffer))?;
                }
                Source::Residual(start) => {
                    let mut done = 0;
                    while done < len {
                        buffer.resize((len - done).min(READ_BYTES) as usize, 0);
                        self.residual.read_at(&mut buffer, start + done)?;
                        take(Part::Bytes(&buffer))?;
                        done += buffer.len() as u64;
                    }
                }
            }
        }
        Ok(())
    }
}

/// What each byte of a GPU's contents comes from, and how many there are. Chunks are given with their
/// addresses; the data of the residual begins at `start` of its image.
fn divide<'a>(
    kfd: &CriuKfd,
    gpu: u32,
    residual: &Residual,
    start: u64,
    chunks: &[(u64, &'a ChunkRef)],
) -> Result<(Vec<(u64, Source<'a>)>, u64), ContentsError> {
    let buckets = contents::all_found(kfd);
    let whole = contents::whole(&buckets, gpu)?;
    let delivered: Vec<ByteRange> = chunks
        .iter()
        .map(|&(start, chunk)| ByteRange {
            start,
            len: chunk.len,
        })
        .collect();
    contents::check_delivered(&residual.tracked, &delivered)?;
    let mut found: BTreeMap<usize, Vec<(u64, u64, Source<'a>)>> =
        whole.iter().map(|piece| (piece.bo, Vec::new())).collect();
    let mut add = |bo, offset, len, source| {
        if len > 0
            && let Some(pieces) = found.get_mut(&bo)
        {
            pieces.push((offset, len, source));
        }
    };
    for piece in contents::residual_pieces(&buckets, &residual.ranges)? {
        let place = start.checked_add(piece.place.0);
        let place = place.ok_or(ContentsError::TooLarge(gpu))?;
        add(piece.bo, piece.offset, piece.len, Source::Residual(place));
    }
    let places = delivered.iter().map(|range| (range.start, range.len));
    for piece in contents::chunk_pieces(&buckets, places)? {
        let (_, chunk) = chunks[piece.place.0];
        add(piece.bo, piece.offset, piece.len, Source::Chunk(chunk));
    }
    let dead: ExtentSet = contents::set(&contents::extents(&residual.dead)?);
    let mut parts = Vec::new();
    let mut len = 0;
    for piece in whole {
        let bo = &buckets[piece.bo];
        let mut pieces = found.remove(&piece.bo).unwrap_or_default();
        pieces.sort_unstable_by_key(|(offset, ..)| *offset);
        pieces.push((piece.len, 0, Source::Dead));
        let mut at = 0;
        for (offset, len, source) in pieces {
            if offset < at {
                let bo = piece.bo;
                return Err(ContentsError::Twice { bo, offset });
            }
            if offset > at {
                check_dead(bo, at, offset, &dead)?;
                parts.push((offset - at, Source::Dead));
            }
            if len > 0 {
                parts.push((len, source));
            }
            at = offset + len;
        }
        len += piece.len;
    }
    Ok((parts, len))
}

/// Checks that nobody needs these bytes of a buffer object, which are in no part.
fn check_dead(bo: &BoBucket, from: u64, to: u64, dead: &ExtentSet) -> Result<(), ContentsError> {
    let (addr, size) = (bo.addr, bo.size);
    let address = |offset| addr.checked_add(offset);
    let bytes = address(from).zip(address(to));
    let bytes = bytes.and_then(|(from, to)| Extent::new(from, to).ok());
    match bytes.ok_or(ContentsError::BufferObject { addr, size })? {
        bytes if dead.contains(bytes) => Ok(()),
        bytes => Err(ContentsError::Missing(bytes)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use strobe_kfd::memory::{GTT, USERPTR, VRAM};
    use strobe_proto::ResidualRange;
    use strobe_proto::amdgpu::KfdBoEntry;

    fn bo(addr: u64, size: u64, alloc_flags: u32, gpu_id: u32) -> KfdBoEntry {
        KfdBoEntry {
            addr,
            size,
            alloc_flags,
            gpu_id,
            ..KfdBoEntry::default()
        }
    }

    /// Two objects of GPU 9, with others between them.
    fn kfd() -> CriuKfd {
        CriuKfd {
            bo_entries: vec![
                bo(0x30000, 0x4000, VRAM, 9),
                bo(0x90000, 0x1000, USERPTR, 9),
                bo(0x50000, 0x1000, VRAM, 8),
                bo(0x10000, 0x1000, GTT, 9),
            ],
            ..CriuKfd::default()
        }
    }

    fn range(bo_index: u32, bo_offset: u64, len: u64, file_offset: u64) -> ResidualRange {
        ResidualRange {
            bo_index,
            bo_offset,
            len,
            file_offset,
        }
    }

    fn message(start: u64, len: u64) -> ByteRange {
        ByteRange { start, len }
    }

    fn residual() -> Residual {
        Residual {
            ranges: vec![range(3, 0, 0x1000, 0x1000), range(0, 0, 0x1000, 0)],
            tracked: vec![message(0x31000, 0x2000)],
            dead: vec![message(0x33000, 0x1000)],
        }
    }

    fn chunk(len: u64) -> ChunkRef {
        let blake3 = vec![7; 32];
        ChunkRef {
            blake3,
            len,
            ..ChunkRef::default()
        }
    }

    #[test]
    fn contents_are_put_together_in_the_order_of_the_objects() {
        let chunks = [chunk(0x1800), chunk(0x800)];
        let places = [(0x31000, &chunks[0]), (0x32800, &chunks[1])];
        let (parts, len) = divide(&kfd(), 9, &residual(), 0x40, &places).expect("all is there");
        assert_eq!(len, 0x5000);
        let shown: Vec<_> = parts
            .iter()
            .map(|(len, source)| match source {
                Source::Residual(start) => format!("{len:#x} residual {start:#x}"),
                Source::Chunk(_) => format!("{len:#x} chunk"),
                Source::Dead => format!("{len:#x} dead"),
            })
            .collect();
        let expected = [
            "0x1000 residual 0x40",
            "0x1800 chunk",
            "0x800 chunk",
            "0x1000 dead",
            "0x1000 residual 0x1040",
        ];
        assert_eq!(shown, expected);
    }

    #[test]
    fn what_is_nowhere_or_twice_is_named() {
        let whole = chunk(0x2000);
        let places = [(0x31000, &whole)];
        let of = |residual: &Residual, chunks: &[(u64, &ChunkRef)]| {
            let error = divide(&kfd(), 9, residual, 0, chunks).expect_err("it is not right");
            error.to_string()
        };
        let none = of(&residual(), &[]);
        assert!(none.contains("leaves out [0x31000, 0x33000)"), "{none}");
        let unlisted = Residual {
            dead: Vec::new(),
            ..residual()
        };
        let missing = of(&unlisted, &places);
        assert!(
            missing.contains("leaves out [0x33000, 0x34000)"),
            "{missing}"
        );
        let mut double = residual();
        double.ranges.push(range(0, 0x800, 0x1000, 0x2000));
        let twice = of(&double, &places);
        assert!(
            twice.contains("0x800 of buffer object 0 are there twice"),
            "{twice}"
        );
        let mut beyond = residual();
        beyond.ranges[1].len = 0x4001;
        let outside = of(&beyond, &places);
        assert!(outside.contains("which has fewer"), "{outside}");
    }
}
