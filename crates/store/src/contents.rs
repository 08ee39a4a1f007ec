//! Which bytes of which buffer object lie where in a checkpoint.
//!
//! Only VRAM and GTT hold content of their own. CRIU's plugin puts those of one GPU back to back into
//! one image. Where an agent delivers contents they are in three parts: tracked (in the chunk store, by
//! their address), residual (in an image, by object and offset), dead (nobody needs them).

use strobe_extent::{Extent, ExtentSet};
use strobe_kfd::client::copier::Piece;
use strobe_kfd::criu::BoBucket;
use strobe_kfd::memory::{GTT, VRAM};
use strobe_proto::amdgpu::{CriuKfd, KfdBoEntry};
use strobe_proto::{ByteRange, ResidualRange};

/// A place in the data area of an image.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FileOffset(pub u64);

/// The index of a chunk among those of a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ChunkNumber(pub usize);

/// Contents that have no place.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[expect(missing_docs, reason = "the sentence of each says it")]
pub enum ContentsError {
    #[error("a range of {len} bytes at {start:#x} is no address range")]
    Range { start: u64, len: u64 },
    #[error("the range {0}, which contents are promised of, lies in no buffer object")]
    Unknown(Extent),
    #[error("the driver reports a buffer object of {size} bytes at {addr:#x}")]
    BufferObject { addr: u64, size: u64 },
    #[error("the image names bytes {offset:#x}+{len:#x} of buffer object {bo}, which has fewer")]
    OutOfBounds { bo: u32, offset: u64, len: u64 },
    #[error("the image leaves out {0}, which the checkpoint has no content for")]
    Missing(Extent),
    #[error("the bytes at {offset:#x} of buffer object {bo} are there twice")]
    Twice { bo: usize, offset: u64 },
    #[error("the buffer objects of GPU {0:#x} are larger than any memory")]
    TooLarge(u32),
}

/// The buffer objects of an image, as the driver takes them.
pub fn buckets(image: &CriuKfd) -> Vec<BoBucket> {
    image.bo_entries.iter().map(bucket).collect()
}

/// The same with the addresses that they are found at.
pub fn all_found(image: &CriuKfd) -> Vec<BoBucket> {
    image.bo_entries.iter().map(found).collect()
}

/// A buffer object with the address that it is found at: where it is mapped by the compute driver, or by a handle of a
/// render node; 0 where that is nowhere, in parts or more than once.
pub fn found(bo: &KfdBoEntry) -> BoBucket {
    let addr = match bo.addr {
        0 => bo.mapped_at(),
        addr => addr,
    };
    BoBucket { addr, ..bucket(bo) }
}

fn bucket(bo: &KfdBoEntry) -> BoBucket {
    BoBucket {
        addr: bo.addr,
        size: bo.size,
        offset: bo.offset,
        gpu_id: bo.gpu_id,
        alloc_flags: bo.alloc_flags,
        ..BoBucket::default()
    }
}

/// Whether a buffer object has content of its own.
pub fn has_content(bo: &BoBucket) -> bool {
    bo.alloc_flags & (VRAM | GTT) != 0
}

/// All content of one GPU (the id the program knows), back to back.
pub fn whole(bos: &[BoBucket], gpu: u32) -> Result<Vec<Piece<FileOffset>>, ContentsError> {
    let mut end = 0_u64;
    bos.iter()
        .enumerate()
        .filter(|(_, bo)| bo.gpu_id == gpu && has_content(bo))
        .map(|(index, bo)| {
            let piece = Piece {
                bo: index,
                offset: 0,
                len: bo.size,
                place: FileOffset(end),
            };
            end = end
                .checked_add(bo.size)
                .ok_or(ContentsError::TooLarge(gpu))?;
            Ok(piece)
        })
        .collect()
}

/// Bytes of [`whole`].
pub fn bytes_of(image: &CriuKfd, gpu: u32) -> Result<u64, ContentsError> {
    let pieces = whole(&buckets(image), gpu)?;
    Ok(pieces.iter().map(|piece| piece.len).sum())
}

/// Checked ranges of a message, without the empty ones.
pub fn extents(ranges: &[ByteRange]) -> Result<Vec<Extent>, ContentsError> {
    let extent = |range: &ByteRange| {
        let ByteRange { start, len } = *range;
        Extent::try_from(*range).map_err(|_| ContentsError::Range { start, len })
    };
    let ranges = ranges.iter().filter(|range| range.len != 0);
    ranges.map(extent).collect()
}

/// All of them together.
pub fn set(extents: &[Extent]) -> ExtentSet {
    // In whatever order they stand: one by one, from behind, would take time by the square.
    extents.iter().copied().collect()
}

/// Where the content of each buffer object (of one GPU, or of all) lies in the program's address space. Those without
/// an address are left out.
pub fn placed(bos: &[BoBucket], gpu: Option<u32>) -> Result<Vec<(usize, Extent)>, ContentsError> {
    bos.iter()
        .enumerate()
        .filter(|(_, bo)| has_content(bo) && gpu.is_none_or(|gpu| bo.gpu_id == gpu))
        .filter(|(_, bo)| bo.addr != 0)
        .map(|(index, bo)| {
            let BoBucket { addr, size, .. } = *bo;
            let extent = Extent::with_len(addr, size);
            let extent = extent.map_err(|_| ContentsError::BufferObject { addr, size })?;
            Ok((index, extent))
        })
        .collect()
}

/// The pieces of a residual image.
pub fn residual_pieces(
    bos: &[BoBucket],
    ranges: &[ResidualRange],
) -> Result<Vec<Piece<FileOffset>>, ContentsError> {
    ranges
        .iter()
        .map(|range| {
            let bad = ContentsError::OutOfBounds {
                bo: range.bo_index,
                offset: range.bo_offset,
                len: range.len,
            };
            let inside = bos
                .get(range.bo_index as usize)
                .zip(range.bo_offset.checked_add(range.len))
                .is_some_and(|(bo, end)| has_content(bo) && end <= bo.size);
            let place = range
                .file_offset
                .checked_add(range.len)
                .map(|_| FileOffset(range.file_offset));
            match place {
                Some(place) if inside => Ok(Piece {
                    bo: range.bo_index as usize,
                    offset: range.bo_offset,
                    len: range.len,
                    place,
                }),
                _ => Err(bad),
            }
        })
        .collect()
}

/// Where the content of each buffer object lies, in ascending order.
pub fn by_address(bos: &[BoBucket]) -> Result<Vec<(usize, Extent)>, ContentsError> {
    let mut placed = placed(bos, None)?;
    placed.sort_unstable_by_key(|(_, extent)| extent.start());
    Ok(placed)
}

/// Bytes of the one buffer object, of those in ascending order, that they lie in.
pub fn piece_of(placed: &[(usize, Extent)], bytes: Extent) -> Result<Piece<()>, ContentsError> {
    let after = placed.partition_point(|(_, extent)| extent.start() <= bytes.start());
    let home = after.checked_sub(1).map(|i| placed[i]);
    match home {
        Some((bo, extent)) if extent.contains(bytes) => Ok(Piece {
            bo,
            offset: bytes.start() - extent.start(),
            len: bytes.len(),
            place: (),
        }),
        _ => Err(ContentsError::Unknown(bytes)),
    }
}

/// The pieces of chunks that start at these addresses.
pub fn chunk_pieces(
    bos: &[BoBucket],
    chunks: impl Iterator<Item = (u64, u64)>,
) -> Result<Vec<Piece<ChunkNumber>>, ContentsError> {
    let placed = by_address(bos)?;
    chunks
        .enumerate()
        .map(|(number, (start, len))| {
            let chunk =
                Extent::with_len(start, len).map_err(|_| ContentsError::Range { start, len })?;
            Ok(piece_of(&placed, chunk)?.at(ChunkNumber(number)))
        })
        .collect()
}

/// Checks that everything the residual leaves to the agent is among the delivered extents.
pub fn check_delivered(
    left_out: &[ByteRange],
    delivered: &[ByteRange],
) -> Result<(), ContentsError> {
    let missing = set(&extents(left_out)?).subtract(&set(&extents(delivered)?));
    match missing.iter().next() {
        Some(extent) => Err(ContentsError::Missing(extent)),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use strobe_kfd::memory::USERPTR;

    fn bo(addr: u64, size: u64, alloc_flags: u32) -> BoBucket {
        BoBucket {
            addr,
            size,
            gpu_id: 9,
            alloc_flags,
            ..Default::default()
        }
    }

    fn message(start: u64, len: u64) -> ByteRange {
        ByteRange { start, len }
    }

    fn range(bo_index: u32, bo_offset: u64, len: u64, file_offset: u64) -> ResidualRange {
        ResidualRange {
            bo_index,
            bo_offset,
            len,
            file_offset,
        }
    }

    #[test]
    fn all_content_of_one_gpu_lies_back_to_back() {
        let mut bos = [
            bo(0x1000, 0x1000, GTT),
            bo(0x8000, 0x2000, VRAM),
            bo(0x2000, 1, USERPTR),
        ];
        let piece = |bo, len, place| Piece {
            bo,
            offset: 0,
            len,
            place: FileOffset(place),
        };
        assert_eq!(
            whole(&bos, 9).unwrap(),
            [piece(0, 0x1000, 0), piece(1, 0x2000, 0x1000)]
        );
        bos[0].gpu_id = 8;
        assert_eq!(
            whole(&bos, 9).unwrap(),
            [piece(1, 0x2000, 0)],
            "the other GPU has its own file"
        );
        bos = [bo(0x1000, u64::MAX, VRAM); 3];
        assert_eq!(whole(&bos, 9), Err(ContentsError::TooLarge(9)));
    }

    #[test]
    fn an_image_that_points_outside_is_refused() {
        let bos = [bo(0x1000, 0x1000, VRAM), bo(0x8000, 0x1000, USERPTR)];
        let cases = [
            range(0, 0x800, 0x801, 0),
            range(1, 0, 1, 0),
            range(2, 0, 1, 0),
            range(0, u64::MAX, 2, 0),
        ];
        for bad in cases {
            assert!(residual_pieces(&bos, &[bad]).is_err(), "{bad:?}");
        }
    }

    #[test]
    fn chunks_find_their_buffer_object() {
        let bos = [bo(0x20000, 0x3000, VRAM), bo(0x10000, 0x1000, VRAM)];
        let pieces = chunk_pieces(&bos, [(0x21000, 0x2000), (0x10000, 0x800)].into_iter());
        let expected = [
            Piece {
                bo: 0,
                offset: 0x1000,
                len: 0x2000,
                place: ChunkNumber(0),
            },
            Piece {
                bo: 1,
                offset: 0,
                len: 0x800,
                place: ChunkNumber(1),
            },
        ];
        assert_eq!(pieces.unwrap(), expected);
        assert!(
            chunk_pieces(&bos, [(0x22000, 0x2000)].into_iter()).is_err(),
            "over the end"
        );
        assert!(
            chunk_pieces(&bos, [(0x8000, 1)].into_iter()).is_err(),
            "before all"
        );
    }

    #[test]
    fn content_that_was_never_delivered_is_named() {
        let left_out = [message(0x1000, 0x2000)];
        assert!(
            check_delivered(
                &left_out,
                &[message(0x2000, 0x1000), message(0x1000, 0x1000)]
            )
            .is_ok()
        );
        let error = check_delivered(&left_out, &[message(0x1000, 0x1800)]).unwrap_err();
        assert_eq!(
            error,
            ContentsError::Missing(Extent::new(0x2800, 0x3000).unwrap())
        );
    }
}
