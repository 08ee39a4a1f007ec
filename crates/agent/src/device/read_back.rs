//! Device memory read by the agent itself, while everything stands still: also where the CPU cannot map it.
//!
//! It goes through the room in host memory that fingerprints are computed in, before they are: nobody needs
//! what is there.

use crate::device::error::{DeviceError, QueueError};
use crate::device::lane::Lane;
use std::time::Instant;
use strobe_extent::Extent;

/// Pieces that are read at once.
pub(crate) const MOST_PIECES: usize = 64;
/// Pieces begin at multiples of that: the kernel that copies is fast then.
const ALIGNED: u64 = 16;

/// Bytes of the room that a piece takes.
pub(crate) fn room_of(piece: Extent) -> u64 {
    (piece.start() % ALIGNED + piece.len()).next_multiple_of(ALIGNED)
}

/// What is in these pieces of device memory, which together have no more than the room ([`room_of`]).
///
/// # Safety
/// The pieces, from the multiple of 16 before each, are device memory that stays allocated until this
/// returns, and nothing writes it. `room` is host memory that the device sees, and nobody uses it.
pub(crate) unsafe fn read_back(
    lane: &mut Lane,
    room: Extent,
    pieces: &[Extent],
    deadline: Instant,
) -> Result<Vec<Vec<u8>>, DeviceError> {
    let bytes: u64 = pieces.iter().map(|piece| room_of(*piece)).sum();
    if bytes > room.len() || pieces.len() > MOST_PIECES {
        return Err(QueueError::Full.into());
    }
    let mut at = room.start();
    let mut places = Vec::with_capacity(pieces.len());
    for piece in pieces {
        let skipped = piece.start() % ALIGNED;
        // SAFETY: the caller's promise; the pieces lie behind each other in the room.
        unsafe { lane.copy(at, piece.start() - skipped, skipped + piece.len())? };
        places.push(at + skipped);
        at += room_of(*piece);
    }
    if !lane.wait_until_idle(deadline) {
        return Err(DeviceError::LateTables);
    }
    lane.poll()?;
    let contents = pieces.iter().zip(places).map(|(piece, place)| {
        let mut content = vec![0; piece.len() as usize];
        // SAFETY: in the room, host memory, which no kernel writes any more.
        unsafe {
            std::ptr::copy_nonoverlapping(place as *const u8, content.as_mut_ptr(), content.len());
        }
        content
    });
    Ok(contents.collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_piece_takes_the_room_from_the_multiple_before_it() {
        let room = |start, len| room_of(Extent::with_len(start, len).unwrap());
        assert_eq!(room(0x1000, 16), 16);
        assert_eq!(room(0x1008, 8), 16);
        assert_eq!(room(0x1008, 16), 32);
        assert_eq!(room(0x100c, 4), 16);
    }
}
