//! What of the contents of buffer objects an agent promises, and what remains.
//!
//! Only VRAM and GTT hold content of their own. Every byte of it is in exactly one of three
//! parts: tracked (the agent delivers it), dead (nobody needs it), residual (we copy it). Residual
//! content of VRAM would cross the link while the program is frozen; as far as the agent offers
//! room for it, it is set aside inside the device and delivered by the agent with the tracked.

use std::io;

use strobe_extent::{CONTENT_ALIGN, Extent, ExtentSet};
use strobe_kfd::client::copier::{Piece, RoomOffset};
use strobe_kfd::criu::BoBucket;
use strobe_kfd::memory::VRAM;
use strobe_kfd::touched::PageMap;
use strobe_proto::{
    AsideRange, ByteRange, DeviceHandOver, HandOver, ResidualRange, SetAsideAnswer,
};
use strobe_store::contents::{
    ContentsError, by_address, extents, has_content, piece_of, placed, set,
};

/// Bytes before the encoded answer: its length.
const ANSWER_HEAD_BYTES: u64 = 8;
/// Bytes of a range in the encoded answer, at most: three varints of ten bytes with their tags.
const ANSWER_RANGE_BYTES: u64 = 48;

#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum PromiseError {
    #[error(transparent)]
    Contents(#[from] ContentsError),
    #[error("the agent calls bytes of {0} dead that it also promises")]
    Contradiction(Extent),
    #[error("the agent offers {0} for content, which is not room of its own in device memory")]
    Room(Extent),
}

/// What an agent saves itself.
pub(crate) fn tracked(promise: &HandOver) -> Result<ExtentSet, ContentsError> {
    let ranges = promise.devices.iter().flat_map(|device| &device.tracked);
    let ranges: Vec<ByteRange> = ranges.copied().collect();
    Ok(set(&extents(&ranges)?))
}

/// What of a GPU's content is neither promised nor dead, in the order of the buffer objects; without a place
/// yet. A promise about memory the driver does not know is refused: it would be kept by nobody.
pub(crate) fn residual(
    bos: &[BoBucket],
    hand_over: &DeviceHandOver,
) -> Result<Vec<Piece<()>>, PromiseError> {
    let placed = placed(bos, Some(hand_over.gpu_id))?;
    let known = set(&placed.iter().map(|(_, extent)| *extent).collect::<Vec<_>>());
    let tracked = extents(&hand_over.tracked)?;
    let dead = extents(&hand_over.dead)?;
    if let Some(unknown) = tracked.iter().find(|&&extent| !known.contains(extent)) {
        return Err(ContentsError::Unknown(*unknown).into());
    }
    let promised = set(&tracked);
    if let Some(both) = dead.iter().find(|&&extent| promised.overlaps(extent)) {
        return Err(PromiseError::Contradiction(*both));
    }
    let mut left_out = promised;
    left_out.union_with(&set(&dead));
    // Nobody else can have promised what has no address.
    let nowhere = |(_, bo): &(usize, &BoBucket)| {
        bo.addr == 0 && has_content(bo) && bo.gpu_id == hand_over.gpu_id
    };
    let nowhere = bos.iter().enumerate().filter(nowhere);
    let nowhere = nowhere.map(|(bo, bucket)| Piece {
        bo,
        offset: 0,
        len: bucket.size,
        place: (),
    });
    let mut pieces: Vec<_> = nowhere.collect();
    for (bo, extent) in placed {
        let rest = set(&[extent]).subtract(&left_out);
        pieces.extend(rest.iter().map(|part| Piece {
            bo,
            offset: part.start() - extent.start(),
            len: part.len(),
            place: (),
        }));
    }
    pieces.sort_by_key(|piece| piece.bo);
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
) -> Result<(Option<Aside>, Vec<Piece<()>>), PromiseError> {
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
        return Err(PromiseError::Room(room));
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
        // It is told by its address.
        let local = bo.addr != 0 && bo.alloc_flags & VRAM != 0 && bo.gpu_id == bos[home.bo].gpu_id;
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

#[cfg(test)]
mod tests {
    use super::*;
    use strobe_kfd::memory::{GTT, USERPTR};
    use strobe_store::contents::{FileOffset, residual_pieces};

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
            matches!(
                foreign,
                Err(PromiseError::Contents(ContentsError::Unknown(_)))
            ),
            "{foreign:?}"
        );
    }

    #[test]
    fn what_has_no_address_is_saved_whole_and_not_set_aside() {
        let (mut bos, promise) = offer(9);
        bos[2].addr = 0;
        let all = residual(&bos, &promise).unwrap();
        let whole = |pieces: &[Piece<()>]| {
            let mut pieces = pieces.iter();
            pieces.any(|piece| (piece.bo, piece.offset, piece.len) == (2, 0, 0x800))
        };
        assert!(whole(&all));
        assert!(all.is_sorted_by_key(|piece| piece.bo));
        let (aside, rest) = set_aside(&bos, &promise, all).unwrap();
        assert!(whole(&rest));
        assert!(aside.unwrap().pieces.iter().all(|piece| piece.bo != 2));
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
        assert!(matches!(live, PromiseError::Room(_)), "{live}");
        let host = refused(&|promise| {
            promise.aside_room = Some(message(0x20000, 0x1000));
            promise.dead = vec![message(0x20000, 0x1000)];
        });
        assert!(matches!(host, PromiseError::Room(_)), "{host}");
        let nowhere = refused(&|promise| promise.aside_room = Some(message(0x60000, 0x1000)));
        assert!(
            matches!(nowhere, PromiseError::Contents(ContentsError::Unknown(_))),
            "{nowhere}"
        );
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
            matches!(
                beyond,
                Err(PromiseError::Contents(ContentsError::Unknown(_)))
            ),
            "{beyond:?}"
        );
        let host = residual(&bos, &hand_over(&[(0x20000, 0x1000)], &[]));
        assert!(
            matches!(host, Err(PromiseError::Contents(ContentsError::Unknown(_)))),
            "host memory is CRIU's: {host:?}"
        );
        let both = residual(&bos, &hand_over(&[(0x10000, 0x800)], &[(0x10400, 0x800)]));
        assert!(
            matches!(both, Err(PromiseError::Contradiction(_))),
            "{both:?}"
        );
        let wraps = residual(&bos, &hand_over(&[(u64::MAX, 2)], &[]));
        assert!(
            matches!(
                wraps,
                Err(PromiseError::Contents(ContentsError::Range { .. }))
            ),
            "{wraps:?}"
        );
    }
}
