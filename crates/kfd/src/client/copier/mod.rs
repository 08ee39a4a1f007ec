//! Copies of the content of buffer objects, by the GPU's DMA engine: out, in, and inside the device.
//!
//! The content of VRAM is out of the CPU's reach, so it goes through staging memory of ours that
//! the device writes or reads. There are two slots: while the device works on one, whoever asked
//! empties or fills the other. Memory stays bounded however large a buffer object is.
//!
//! Everything happens in the address space of a render node opened for this, which no other
//! process shares.

mod error;
mod packets;
mod window;

use self::packets::{Copy, Packets};
use self::window::{Window, address_space, take_address};
use super::render::{Context, HostMemory, RenderNode, SharedMemory};
use crate::sdma::CopyLinear;

pub use self::error::SdmaError;
pub use self::window::Content;

/// Memory that copies go through, where nothing less is wanted.
pub const STAGING_BYTES: u64 = 2 * SLOT_BYTES;
/// The least with which they work.
pub const LEAST_STAGING: u64 = 2 * PAGE_BYTES;
/// Of each of the two slots, at most.
const SLOT_BYTES: u64 = 16 << 20;
const PAGE_BYTES: u64 = 4096;
/// Segments a batch holds at most: each is at most one packet more than its whole 2 MiB parts.
const SEGMENT_LIMIT: usize = 2000;
/// Where segments begin in a slot: no two have a cache line of the CPU's or the device's in common.
const SEGMENT_ALIGN: u64 = 256;

/// Bytes of one buffer object, and the place where they come from or go to: each source has its own
/// type of it, `()` where none is known yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Piece<P> {
    /// Index in the list of buffer objects.
    pub bo: usize,
    /// Offset in the buffer object.
    pub offset: u64,
    /// Bytes.
    pub len: u64,
    /// The other end.
    pub place: P,
}

impl<P> Piece<P> {
    /// The same bytes with another place.
    pub fn at<Q>(self, place: Q) -> Piece<Q> {
        let Self {
            bo, offset, len, ..
        } = self;
        Piece {
            bo,
            offset,
            len,
            place,
        }
    }
}

/// An offset in the buffer object that [`copy_inside`] fills.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RoomOffset(pub u64);

/// A contiguous copy inside one batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Segment {
    bo: usize,
    bo_offset: u64,
    slot_offset: u64,
    len: u64,
    /// Which piece, and where in it.
    piece: usize,
    piece_offset: u64,
}

/// Cuts pieces into batches that fill a slot. A piece is split only where it exceeds a slot.
fn batches<P>(pieces: &[Piece<P>], slot_bytes: u64) -> Vec<Vec<Segment>> {
    let mut batches = Vec::new();
    let mut batch: Vec<Segment> = Vec::new();
    let mut used = 0u64;
    for (number, piece) in pieces.iter().enumerate() {
        let mut done = 0;
        while done < piece.len {
            let len = (piece.len - done).min(slot_bytes);
            if used + len > slot_bytes || batch.len() == SEGMENT_LIMIT {
                batches.push(std::mem::take(&mut batch));
                used = 0;
            }
            batch.push(Segment {
                bo: piece.bo,
                bo_offset: piece.offset + done,
                slot_offset: used,
                len,
                piece: number,
                piece_offset: done,
            });
            done += len;
            used = (used + len).next_multiple_of(SEGMENT_ALIGN);
        }
    }
    if !batch.is_empty() {
        batches.push(batch);
    }
    batches
}

#[derive(Debug)]
struct Slot<'n> {
    staging: SharedMemory<'n>,
    staging_address: u64,
    packets: Packets<'n>,
}

/// Copies pieces into the buffer object number `into`, at their places, without leaving the device.
pub fn copy_inside(
    node: &RenderNode,
    contents: &[Option<Content<'_>>],
    pieces: &[Piece<RoomOffset>],
    into: usize,
) -> Result<(), SdmaError> {
    let mut next_address = address_space(node)?;
    let context = node.context().map_err(SdmaError::SetUp)?;
    let mut packets = Packets::new(node, &mut next_address).map_err(SdmaError::SetUp)?;
    let mut window = Window::new(node, contents, next_address);
    let start = window.address(into)?;
    let mut all = Vec::new();
    for piece in pieces {
        let copy = Copy {
            from: window.address(piece.bo)? + piece.offset,
            to: start + piece.place.0,
            len: piece.len,
        };
        all.extend(copy.packets());
    }
    let submitted = all
        .chunks(packets::MOST)
        .try_for_each(|part| packets.submit(&context, part, &window.buffers()));
    // After an error, too: no work may be in flight when the buffers go.
    submitted.and(packets.wait(&context))
}

/// The DMA engine of one GPU.
#[derive(Debug)]
pub struct Copier<'n> {
    node: &'n RenderNode,
    // Before the slots: no work may be in flight when they go.
    context: Context<'n>,
    slots: [Slot<'n>; 2],
    slot_bytes: u64,
    next_address: u64,
}

impl<'n> Copier<'n> {
    /// Takes two slots of memory: together no more than `staging` bytes, which are at least
    /// [`LEAST_STAGING`].
    pub fn new(node: &'n RenderNode, staging: u64) -> Result<Self, SdmaError> {
        let slot_bytes = (staging / 2).clamp(PAGE_BYTES, SLOT_BYTES) / PAGE_BYTES * PAGE_BYTES;
        let mut next_address = address_space(node)?;
        let mut slot = || {
            let memory = HostMemory::anonymous(slot_bytes as usize)?;
            let mut staging = node.share(memory)?;
            let staging_address = take_address(&mut next_address, slot_bytes);
            staging.buffer_mut().map_at(staging_address, slot_bytes)?;
            Ok(Slot {
                staging,
                staging_address,
                packets: Packets::new(node, &mut next_address)?,
            })
        };
        let slots = [
            slot().map_err(SdmaError::SetUp)?,
            slot().map_err(SdmaError::SetUp)?,
        ];
        let context = node.context().map_err(SdmaError::SetUp)?;
        Ok(Self {
            node,
            context,
            slots,
            slot_bytes,
            next_address,
        })
    }

    /// Copies pieces out of buffer objects. `sink` gets each part with its piece and its offset in that.
    pub fn copy_out<P, E: From<SdmaError>>(
        &mut self,
        contents: &[Option<Content<'_>>],
        pieces: &[Piece<P>],
        mut sink: impl FnMut(&Piece<P>, u64, &[u8]) -> Result<(), E>,
    ) -> Result<(), E> {
        let mut window = Window::new(self.node, contents, self.next_address);
        let batches = batches(pieces, self.slot_bytes);
        let mut drain = |slot: &mut Slot<'_>, context: &Context<'_>, batch: &[Segment]| {
            slot.packets.wait(context)?;
            let end = batch.last().map_or(0, |s| s.slot_offset + s.len);
            // SAFETY: the only work that uses this slot was just waited for.
            let bytes = unsafe { slot.staging.bytes(end as usize) };
            for segment in batch {
                let part = &bytes[segment.slot_offset as usize..][..segment.len as usize];
                sink(&pieces[segment.piece], segment.piece_offset, part)?;
            }
            Ok::<(), E>(())
        };
        for (number, batch) in batches.iter().enumerate() {
            let [slot, other] = self
                .slots
                .get_disjoint_mut([number % 2, (number + 1) % 2])
                .expect("two slots");
            slot.submit(&self.context, &mut window, batch, Direction::Out)?;
            if let Some(previous) = number.checked_sub(1) {
                drain(other, &self.context, &batches[previous])?;
            }
        }
        if let Some(last) = batches.len().checked_sub(1) {
            drain(&mut self.slots[last % 2], &self.context, &batches[last])?;
        }
        Ok(())
    }

    /// Copies pieces into buffer objects. `source` fills a part of the piece of this number, from
    /// this offset in it on.
    pub fn copy_in<P, E: From<SdmaError>>(
        &mut self,
        contents: &[Option<Content<'_>>],
        pieces: &[Piece<P>],
        mut source: impl FnMut(usize, u64, &mut [u8]) -> Result<(), E>,
    ) -> Result<(), E> {
        let mut window = Window::new(self.node, contents, self.next_address);
        for (number, batch) in batches(pieces, self.slot_bytes).iter().enumerate() {
            let slot = &mut self.slots[number % 2];
            slot.packets.wait(&self.context)?;
            let end = batch.last().map_or(0, |s| s.slot_offset + s.len);
            // SAFETY: the only work that uses this slot was just waited for.
            let bytes = unsafe { slot.staging.bytes_mut(end as usize) };
            for segment in batch {
                let part = &mut bytes[segment.slot_offset as usize..][..segment.len as usize];
                source(segment.piece, segment.piece_offset, part)?;
            }
            slot.submit(&self.context, &mut window, batch, Direction::In)?;
        }
        for slot in &mut self.slots {
            slot.packets.wait(&self.context)?;
        }
        Ok(())
    }
}

impl Drop for Copier<'_> {
    fn drop(&mut self) {
        // After an error work may still be in flight.
        for slot in &mut self.slots {
            let _ = slot.packets.wait(&self.context);
        }
    }
}

#[derive(Clone, Copy)]
enum Direction {
    Out,
    In,
}

impl Slot<'_> {
    fn submit(
        &mut self,
        context: &Context<'_>,
        window: &mut Window<'_, '_>,
        batch: &[Segment],
        direction: Direction,
    ) -> Result<(), SdmaError> {
        let mut packets: Vec<CopyLinear> = Vec::new();
        for segment in batch {
            let outside = window.address(segment.bo)? + segment.bo_offset;
            let staging = self.staging_address + segment.slot_offset;
            let (from, to) = match direction {
                Direction::Out => (outside, staging),
                Direction::In => (staging, outside),
            };
            let len = segment.len;
            packets.extend(Copy { from, to, len }.packets());
        }
        let mut used: Vec<usize> = batch.iter().map(|segment| segment.bo).collect();
        used.sort_unstable();
        used.dedup();
        let mut buffers = vec![self.staging.buffer()];
        buffers.extend(used.iter().filter_map(|bo| window.buffer(*bo)));
        self.packets.submit(context, &packets, &buffers)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn piece(bo: usize, len: u64) -> Piece<()> {
        Piece {
            bo,
            offset: 0,
            len,
            place: (),
        }
    }

    #[test]
    fn batches_cover_every_byte_once_and_fit_a_slot() {
        let mut pieces: Vec<Piece<()>> = (1..5000).map(|n| piece(n % 7, n as u64 * 37)).collect();
        pieces.push(piece(3, 5 * SLOT_BYTES + 1));
        pieces.push(piece(4, 0));
        let mut covered = vec![0; pieces.len()];
        for batch in batches(&pieces, SLOT_BYTES) {
            assert!(!batch.is_empty() && batch.len() <= SEGMENT_LIMIT);
            let mut end = 0;
            for segment in batch {
                assert!(segment.slot_offset >= end, "segments overlap");
                assert_eq!(segment.slot_offset % SEGMENT_ALIGN, 0);
                end = segment.slot_offset + segment.len;
                assert!(end <= SLOT_BYTES);
                assert_eq!(covered[segment.piece], segment.piece_offset, "a gap");
                assert_eq!(segment.bo_offset, segment.piece_offset);
                covered[segment.piece] += segment.len;
            }
        }
        let lens: Vec<u64> = pieces.iter().map(|p| p.len).collect();
        assert_eq!(covered, lens);
    }

    #[test]
    fn a_piece_that_fits_a_slot_is_never_split() {
        let pieces = [
            piece(0, SLOT_BYTES - 1),
            piece(1, 2 << 20),
            piece(2, SLOT_BYTES),
        ];
        let parts: Vec<usize> = batches(&pieces, SLOT_BYTES).iter().map(Vec::len).collect();
        assert_eq!(parts, [1, 1, 1]);
    }

    #[test]
    fn the_packets_of_any_batch_fit_their_buffer() {
        // Each segment ends in at most one packet that is not full.
        let most = SEGMENT_LIMIT as u64 + SLOT_BYTES / packets::PACKET_LIMIT;
        assert!(most as usize <= packets::MOST, "{most}");
    }
}
