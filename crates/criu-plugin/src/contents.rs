//! Which bytes of which buffer object go where.
//!
//! Only VRAM and GTT hold content of their own. Every byte of it is in exactly one of three
//! parts: tracked (the agent delivers it), dead (nobody needs it), residual (we copy it). Residual
//! content of VRAM would cross the link while the program is frozen; as far as the agent offers
//! room for it, it is set aside inside the device and delivered by the agent with the tracked.

use std::io;

use strobe_extent::{CONTENT_ALIGN, Extent, ExtentSet};
use strobe_kfd::client::copier::{Piece, RoomOffset};
use strobe_kfd::criu::BoBucket;
use strobe_kfd::memory::{GTT, VRAM};
use strobe_kfd::touched::PageMap;
use strobe_proto::amdgpu::KfdBoEntry;
use strobe_proto::{AsideRange, ByteRange, DeviceHandOver, ResidualRange, SetAsideAnswer};

/// Bytes before the encoded answer: its length.
const ANSWER_HEAD_BYTES: u64 = 8;
/// Bytes of a range in the encoded answer, at most: three varints of ten bytes with their tags.
const ANSWER_RANGE_BYTES: u64 = 48;

/// A place in the data area of an image.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FileOffset(pub(crate) u64);

/// The index of a chunk among those of a checkpoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ChunkNumber(pub(crate) usize);

#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum ContentsError {
    #[error("the agent's table has a range of {len} bytes at {start:#x} that is no address range")]
    Range { start: u64, len: u64 },
    #[error("the agent promises the range {0} that lies in no buffer object of the driver")]
    Unknown(Extent),
    #[error("the agent calls bytes of {0} dead that it also promises")]
    Contradiction(Extent),
    #[error("the agent offers {0} for content, which is not room of its own in device memory")]
    Room(Extent),
    #[error(
        "the program uses a buffer object of {size} bytes without an address (virtual memory \
         management), which cannot be saved"
    )]
    NoAddress { size: u64 },
    #[error("the driver reports a buffer object of {size} bytes at {addr:#x}")]
    BufferObject { addr: u64, size: u64 },
    #[error("the image names bytes {offset:#x}+{len:#x} of buffer object {bo}, which has fewer")]
    OutOfBounds { bo: u32, offset: u64, len: u64 },
    #[error("the image leaves out {0}, which the checkpoint has no content for")]
    Missing(Extent),
}

/// A buffer object as an image has it.
pub(crate) fn bucket_of(bo: &KfdBoEntry) -> BoBucket {
    BoBucket {
        addr: bo.addr,
        size: bo.size,
        offset: bo.offset,
        gpu_id: bo.gpu_id,
        alloc_flags: bo.alloc_flags,
        ..BoBucket::default()
    }
}

pub(crate) fn has_content(bo: &BoBucket) -> bool {
    bo.alloc_flags & (VRAM | GTT) != 0
}

/// All content of one GPU (the id the program knows), back to back.
pub(crate) fn whole(bos: &[BoBucket], gpu: u32) -> Vec<Piece<FileOffset>> {
    let mut end = 0;
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
            end += bo.size;
            piece
        })
        .collect()
}

fn extents(ranges: &[ByteRange]) -> Result<Vec<Extent>, ContentsError> {
    let extent = |range: &ByteRange| {
        let ByteRange { start, len } = *range;
        Extent::try_from(*range).map_err(|_| ContentsError::Range { start, len })
    };
    let ranges = ranges.iter().filter(|range| range.len != 0);
    ranges.map(extent).collect()
}

fn set(extents: &[Extent]) -> ExtentSet {
    // In whatever order they stand: one by one, from behind, would take time by the square.
    extents.iter().copied().collect()
}

/// Where the content of each buffer object (of one GPU, or of all) lies in the program's address space.
fn placed(bos: &[BoBucket], gpu: Option<u32>) -> Result<Vec<(usize, Extent)>, ContentsError> {
    bos.iter()
        .enumerate()
        .filter(|(_, bo)| has_content(bo) && gpu.is_none_or(|gpu| bo.gpu_id == gpu))
        .map(
            |(index, bo)| match (bo.addr, Extent::with_len(bo.addr, bo.size)) {
                (0, _) => Err(ContentsError::NoAddress { size: bo.size }),
                (_, Ok(extent)) => Ok((index, extent)),
                (addr, Err(_)) => Err(ContentsError::BufferObject {
                    addr,
                    size: bo.size,
                }),
            },
        )
        .collect()
}

/// Checks that all content has a place in the program's address space, where a restore maps it.
pub(crate) fn check_addresses(bos: &[BoBucket]) -> Result<(), ContentsError> {
    placed(bos, None).map(drop)
}

/// What of a GPU's content is neither promised nor dead, in the order of the buffer objects; without a place
/// yet. A promise about memory the driver does not know is refused: it would be kept by nobody.
pub(crate) fn residual(
    bos: &[BoBucket],
    hand_over: &DeviceHandOver,
) -> Result<Vec<Piece<()>>, ContentsError> {
    let placed = placed(bos, Some(hand_over.gpu_id))?;
    let known = set(&placed.iter().map(|(_, extent)| *extent).collect::<Vec<_>>());
    let tracked = extents(&hand_over.tracked)?;
    let dead = extents(&hand_over.dead)?;
    if let Some(unknown) = tracked.iter().find(|&&extent| !known.contains(extent)) {
        return Err(ContentsError::Unknown(*unknown));
    }
    let promised = set(&tracked);
    if let Some(both) = dead.iter().find(|&&extent| promised.overlaps(extent)) {
        return Err(ContentsError::Contradiction(*both));
    }
    let mut left_out = promised;
    left_out.union_with(&set(&dead));
    let mut pieces = Vec::new();
    for (bo, extent) in placed {
        let rest = set(&[extent]).subtract(&left_out);
        pieces.extend(rest.iter().map(|part| Piece {
            bo,
            offset: part.start() - extent.start(),
            len: part.len(),
            place: (),
        }));
    }
    Ok(pieces)
}

/// Of what the agent promises, what the process `pid` has touched by the CPU. The agent promises nothing
/// that had been touched when it looked; but the threads of the program run on until they are frozen.
pub(crate) fn touched(pid: u32, hand_over: &DeviceHandOver) -> io::Result<Vec<ByteRange>> {
    let map = PageMap::of(pid)?;
    let mut touched = Vec::new();
    for promised in &hand_over.tracked {
        let present = map.present(promised.start..promised.start.saturating_add(promised.len))?;
        touched.extend(present.into_iter().map(|pages| ByteRange {
            start: pages.start,
            len: pages.end - pages.start,
        }));
    }
    Ok(touched)
}

/// Residual content that stays on the device.
#[derive(Debug)]
pub(crate) struct Aside {
    /// Index of the buffer object that the agent's room is in.
    pub(crate) room_bo: usize,
    /// What to copy.
    pub(crate) pieces: Vec<Piece<RoomOffset>>,
    /// What to tell the agent.
    pub(crate) answer: SetAsideAnswer,
}

/// Divides the residual into what fits the room that the agent offers, and what we copy ourselves.
pub(crate) fn set_aside(
    bos: &[BoBucket],
    hand_over: &DeviceHandOver,
    residual: Vec<Piece<()>>,
) -> Result<(Option<Aside>, Vec<Piece<()>>), ContentsError> {
    let (Some(offered), Some(answer)) = (hand_over.aside_room, hand_over.answer) else {
        return Ok((None, residual));
    };
    let room = extents(&[offered])?;
    let Some(&room) = room.first() else {
        return Ok((None, residual));
    };
    let home = piece_of(&by_address(bos)?, room)?;
    let is_dead = set(&extents(&hand_over.dead)?).contains(room);
    if !is_dead || bos[home.bo].alloc_flags & VRAM == 0 {
        return Err(ContentsError::Room(room));
    }
    let mut aside = Aside {
        room_bo: home.bo,
        pieces: Vec::new(),
        answer: SetAsideAnswer::default(),
    };
    let most = (answer.len.saturating_sub(ANSWER_HEAD_BYTES) / ANSWER_RANGE_BYTES) as usize;
    let mut used = 0u64;
    let mut rest = Vec::new();
    for piece in residual {
        let bo = &bos[piece.bo];
        let local = bo.alloc_flags & VRAM != 0 && bo.gpu_id == bos[home.bo].gpu_id;
        if !local || aside.pieces.len() >= most || piece.len > room.len() - used {
            rest.push(piece);
            continue;
        }
        aside.pieces.push(piece.at(RoomOffset(home.offset + used)));
        aside.answer.ranges.push(AsideRange {
            extent: Some(ByteRange {
                start: bo.addr + piece.offset,
                len: piece.len,
            }),
            room_offset: used,
        });
        used = (used + piece.len)
            .next_multiple_of(CONTENT_ALIGN)
            .min(room.len());
    }
    Ok((Some(aside), rest))
}

/// Pieces back to back in the residual image.
pub(crate) fn ranges(pieces: &[Piece<()>]) -> Vec<ResidualRange> {
    let mut end = 0;
    pieces
        .iter()
        .map(|piece| {
            let file_offset = end;
            end += piece.len;
            ResidualRange {
                bo_index: piece.bo as u32,
                bo_offset: piece.offset,
                len: piece.len,
                file_offset,
            }
        })
        .collect()
}

/// The pieces of a residual image.
pub(crate) fn residual_pieces(
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
fn by_address(bos: &[BoBucket]) -> Result<Vec<(usize, Extent)>, ContentsError> {
    let mut placed = placed(bos, None)?;
    placed.sort_unstable_by_key(|(_, extent)| extent.start());
    Ok(placed)
}

/// Bytes of the one buffer object, of those in ascending order, that they lie in.
fn piece_of(placed: &[(usize, Extent)], bytes: Extent) -> Result<Piece<()>, ContentsError> {
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
pub(crate) fn chunk_pieces(
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
pub(crate) fn check_delivered(
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

    fn hand_over(tracked: &[(u64, u64)], dead: &[(u64, u64)]) -> DeviceHandOver {
        let messages = |list: &[(u64, u64)]| list.iter().map(|&(s, l)| message(s, l)).collect();
        DeviceHandOver {
            gpu_id: 9,
            tracked: messages(tracked),
            dead: messages(dead),
            ..Default::default()
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

    /// The program stands still meanwhile.
    #[test]
    fn a_long_promise_is_read_in_no_time_whatever_its_order() {
        let count = 500_000;
        let bos = [bo(1 << 40, count * 8192, VRAM)];
        let pages: Vec<_> = (0..count)
            .rev()
            .map(|page| ((1 << 40) + page * 8192, 4096))
            .collect();
        let start = std::time::Instant::now();
        let pieces = residual(&bos, &hand_over(&pages, &[])).unwrap();
        let time = start.elapsed();
        assert_eq!(pieces.len() as u64, count);
        assert!(time < std::time::Duration::from_secs(5), "{time:?}");
    }

    #[test]
    fn the_residual_is_what_nobody_else_accounts_for() {
        let bos = [
            bo(0x10000, 0x4000, VRAM),
            bo(0x90000, 0x1000, USERPTR),
            bo(0x20000, 0x1000, GTT),
            bo(0x30000, 0x2000, VRAM),
        ];
        let promise = hand_over(&[(0x11000, 0x800), (0x30000, 0x2000)], &[(0x13000, 0x1000)]);
        let expected = [
            range(0, 0, 0x1000, 0),
            range(0, 0x1800, 0x1800, 0x1000),
            range(2, 0, 0x1000, 0x2800),
        ];
        let ranges = ranges(&residual(&bos, &promise).unwrap());
        assert_eq!(ranges, expected);
        let pieces = residual_pieces(&bos, &ranges).unwrap();
        assert_eq!(
            pieces[1],
            Piece {
                bo: 0,
                offset: 0x1800,
                len: 0x1800,
                place: FileOffset(0x1000)
            }
        );
    }

    #[test]
    fn a_promise_is_about_one_gpu_and_leaves_the_others_alone() {
        let other = BoBucket {
            gpu_id: 8,
            ..bo(0x40000, 0x1000, VRAM)
        };
        let bos = [bo(0x10000, 0x2000, VRAM), other];
        let of = |gpu_id, tracked: &[(u64, u64)]| {
            let promise = DeviceHandOver {
                gpu_id,
                ..hand_over(tracked, &[])
            };
            residual(&bos, &promise).map(|pieces| ranges(&pieces))
        };
        assert_eq!(
            of(9, &[(0x10000, 0x1000)]),
            Ok(vec![range(0, 0x1000, 0x1000, 0)])
        );
        assert_eq!(of(8, &[]), Ok(vec![range(1, 0, 0x1000, 0)]));
        let foreign = of(9, &[(0x40000, 0x1000)]);
        assert!(
            matches!(foreign, Err(ContentsError::Unknown(_))),
            "{foreign:?}"
        );
    }

    /// A pool at 0x50000 in the fourth object, half of it offered; room for `most` ranges.
    fn offer(most: u64) -> ([BoBucket; 4], DeviceHandOver) {
        let bos = [
            bo(0x10000, 0x3000, VRAM),
            bo(0x20000, 0x1000, GTT),
            bo(0x30000, 0x800, VRAM),
            bo(0x4f000, 0x3000, VRAM),
        ];
        let promise = DeviceHandOver {
            aside_room: Some(message(0x50000, 0x1000)),
            answer: Some(message(
                0x7000,
                ANSWER_HEAD_BYTES + most * ANSWER_RANGE_BYTES,
            )),
            ..hand_over(&[(0x10080, 0x2000)], &[(0x50000, 0x2000)])
        };
        (bos, promise)
    }

    #[test]
    fn device_memory_is_set_aside_as_far_as_there_is_room() {
        let (bos, promise) = offer(9);
        let all = residual(&bos, &promise).unwrap();
        let (aside, rest) = set_aside(&bos, &promise, all).unwrap();
        let aside = aside.unwrap();
        assert_eq!(aside.room_bo, 3);
        let places: Vec<_> = aside
            .pieces
            .iter()
            .map(|piece| (piece.bo, piece.offset, piece.len, piece.place.0))
            .collect();
        assert_eq!(places, [(0, 0, 0x80, 0x1000), (2, 0, 0x800, 0x1100)]);
        let told: Vec<_> = aside
            .answer
            .ranges
            .iter()
            .map(|range| (range.extent.unwrap(), range.room_offset))
            .collect();
        assert_eq!(
            told,
            [
                (message(0x10000, 0x80), 0),
                (message(0x30000, 0x800), 0x100)
            ]
        );
        let rest: Vec<_> = rest.iter().map(|p| (p.bo, p.offset, p.len)).collect();
        let too_long = (0, 0x2080, 0xf80);
        let host = (1, 0, 0x1000);
        let around_the_pool = (3, 0, 0x1000);
        assert_eq!(rest, [too_long, host, around_the_pool]);
        let encoded = prost::Message::encoded_len(&aside.answer) as u64;
        assert!(encoded <= 2 * ANSWER_RANGE_BYTES);
    }

    #[test]
    fn an_answer_is_never_longer_than_its_room() {
        let (bos, promise) = offer(1);
        let all = residual(&bos, &promise).unwrap();
        let (aside, rest) = set_aside(&bos, &promise, all).unwrap();
        assert_eq!((aside.unwrap().pieces.len(), rest.len()), (1, 4));
        let longest = SetAsideAnswer {
            ranges: vec![AsideRange {
                extent: Some(message(u64::MAX, u64::MAX)),
                room_offset: u64::MAX,
            }],
        };
        assert!(prost::Message::encoded_len(&longest) as u64 <= ANSWER_RANGE_BYTES);
    }

    #[test]
    fn room_that_is_not_the_agents_own_is_refused() {
        let (bos, promise) = offer(9);
        let refused = |change: &dyn Fn(&mut DeviceHandOver)| {
            let mut promise = promise.clone();
            change(&mut promise);
            let all = residual(&bos, &promise).unwrap();
            set_aside(&bos, &promise, all).unwrap_err()
        };
        let live = refused(&|promise| promise.dead.clear());
        assert!(matches!(live, ContentsError::Room(_)), "{live}");
        let host = refused(&|promise| {
            promise.aside_room = Some(message(0x20000, 0x1000));
            promise.dead = vec![message(0x20000, 0x1000)];
        });
        assert!(matches!(host, ContentsError::Room(_)), "{host}");
        let nowhere = refused(&|promise| promise.aside_room = Some(message(0x60000, 0x1000)));
        assert!(matches!(nowhere, ContentsError::Unknown(_)), "{nowhere}");
        let nothing = DeviceHandOver {
            aside_room: None,
            ..promise.clone()
        };
        let all = residual(&bos, &nothing).unwrap();
        let (aside, rest) = set_aside(&bos, &nothing, all.clone()).unwrap();
        assert!(aside.is_none() && rest == all);
    }

    #[test]
    fn a_promise_nobody_can_keep_is_refused() {
        let bos = [bo(0x10000, 0x1000, VRAM), bo(0x20000, 0x1000, USERPTR)];
        let beyond = residual(&bos, &hand_over(&[(0x10800, 0x1000)], &[]));
        assert!(
            matches!(beyond, Err(ContentsError::Unknown(_))),
            "{beyond:?}"
        );
        let host = residual(&bos, &hand_over(&[(0x20000, 0x1000)], &[]));
        assert!(
            matches!(host, Err(ContentsError::Unknown(_))),
            "host memory is CRIU's: {host:?}"
        );
        let both = residual(&bos, &hand_over(&[(0x10000, 0x800)], &[(0x10400, 0x800)]));
        assert!(
            matches!(both, Err(ContentsError::Contradiction(_))),
            "{both:?}"
        );
        let wraps = residual(&bos, &hand_over(&[(u64::MAX, 2)], &[]));
        assert!(
            matches!(wraps, Err(ContentsError::Range { .. })),
            "{wraps:?}"
        );
        let vmm = residual(&[bo(0, 0x1000, VRAM)], &hand_over(&[], &[]));
        assert_eq!(vmm, Err(ContentsError::NoAddress { size: 0x1000 }));
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
            whole(&bos, 9),
            [piece(0, 0x1000, 0), piece(1, 0x2000, 0x1000)]
        );
        bos[0].gpu_id = 8;
        assert_eq!(
            whole(&bos, 9),
            [piece(1, 0x2000, 0)],
            "the other GPU has its own file"
        );
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
