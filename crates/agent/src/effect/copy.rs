//! Copies and memsets. Where they write must be right; where they read from decides whether the
//! device or the CPU writes, and is shown.

use crate::agent::Agent;
use crate::attach::with_agent;
use crate::call::{After, Call, raw_stream};
use crate::seen::observed::{Observed, RawStream, Span, Transfer};
use crate::seen::tables::LONGEST_COPY;
use strobe_extent::Extent;
use strobe_hip::{
    ConstPtr, DriverMemcpy3D, Extent3, Memcpy2D, Memcpy3D, Memcpy3DPeer, PitchedPtr, Ptr, Stream,
};

/// A copy that is over when the call returns.
pub unsafe fn copy(to: Ptr, from: ConstPtr, bytes: usize, stream: Stream) -> Call {
    announced(|agent| {
        let from_host = agent.device.registry.find(from as u64).is_none();
        let (writes, reads) = (span(to as u64, bytes), span(from as u64, bytes));
        let copy = Moves {
            waits: bytes != 0,
            ..Moves::COPY
        };
        let since = agent.moment();
        let by_host = from_host.then_some(writes);
        if moved(agent, writes, reads, stream, from_host, copy) || bytes == 0 {
            return (After::Nothing, by_host);
        }
        let to_host = agent.device.registry.find(to as u64).is_none();
        let is_table = from_host && bytes as u64 <= LONGEST_COPY && !to_host;
        let after = After::Copied {
            stream: raw_stream(stream),
            since,
            to: to as u64,
            from,
            bytes: if is_table { bytes } else { 0 },
        };
        (after, by_host)
    })
}

/// A copy that may go on after the call: its source may still change, so nothing is known of the
/// content.
pub unsafe fn copy_async(to: Ptr, from: ConstPtr, bytes: usize, stream: Stream) -> Call {
    announced(|agent| {
        let from_host = agent.device.registry.find(from as u64).is_none();
        let (writes, reads) = (span(to as u64, bytes), span(from as u64, bytes));
        moved(agent, writes, reads, stream, from_host, Moves::COPY);
        (After::Nothing, from_host.then_some(writes))
    })
}

/// `hipMemcpy2D` and its kin.
pub unsafe fn copy_2d(
    to: Ptr,
    pitch: usize,
    from: ConstPtr,
    width: usize,
    rows: usize,
    stream: Stream,
) -> Call {
    announced(|agent| {
        let from_host = agent.device.registry.find(from as u64).is_none();
        let to = Rows {
            base: to as u64,
            origin: [0; 3],
            pitch,
            slice_rows: 0,
            size: [width, rows, 1],
        };
        let reads = buffer(agent, from as u64);
        let writes = rows_moved(agent, &to, reads, stream, from_host, Moves::COPY);
        (After::Nothing, from_host.then_some(writes))
    })
}

/// `hipMemcpyParam2D`.
pub unsafe fn copy_rect_2d(copy: *const Memcpy2D, stream: Stream) -> Call {
    with_agent(|agent| {
        // SAFETY: HIP reads the same.
        if let Some(copy) = unsafe { copy.as_ref() } {
            for base in destinations(copy.dst_host, copy.dst_device) {
                let to = Rows {
                    base,
                    origin: [copy.dst_x_bytes, copy.dst_y, 0],
                    pitch: copy.dst_pitch,
                    slice_rows: 0,
                    size: [copy.width_bytes, copy.height, 1],
                };
                let reads = sources(agent, copy.src_host as u64, copy.src_device as u64);
                rows_moved(agent, &to, reads, stream, true, Moves::COPY);
            }
        }
        After::Nothing
    })
}

/// `hipMemcpy3D`.
pub unsafe fn copy_3d(copy: *const Memcpy3D, stream: Stream) -> Call {
    announced(|agent| {
        let mut by_host = None;
        // SAFETY: HIP reads the same.
        if let Some(copy) = unsafe { copy.as_ref() } {
            let (at, extent) = (copy.dst_pos, copy.extent);
            let to = Rows {
                base: copy.dst_ptr.ptr as u64,
                origin: [at.x, at.y, at.z],
                pitch: copy.dst_ptr.pitch,
                slice_rows: copy.dst_ptr.ysize,
                size: [extent.width, extent.height, extent.depth],
            };
            let reads = buffer(agent, copy.src_ptr.ptr as u64);
            by_host = Some(rows_moved(agent, &to, reads, stream, true, Moves::COPY));
        }
        (After::Nothing, by_host)
    })
}

/// `hipMemcpy3DPeer`.
pub unsafe fn copy_3d_peer(copy: *const Memcpy3DPeer, stream: Stream) -> Call {
    // SAFETY: HIP reads the same.
    let copy = unsafe { copy.as_ref() }.map(|copy| Memcpy3D {
        src_array: copy.src_array,
        src_pos: copy.src_pos,
        src_ptr: copy.src_ptr,
        dst_array: copy.dst_array,
        dst_pos: copy.dst_pos,
        dst_ptr: copy.dst_ptr,
        extent: copy.extent,
        kind: 0,
    });
    let copy = copy.as_ref().map_or(std::ptr::null(), std::ptr::from_ref);
    // SAFETY: it is read before this returns.
    unsafe { copy_3d(copy, stream) }
}

/// `hipMemcpyBatchAsync`: copies in no order; the host may do some of them during the call.
pub unsafe fn copy_batch(
    to: *const Ptr,
    from: *const Ptr,
    bytes: *const usize,
    count: usize,
    stream: Stream,
) -> Call {
    with_agent(|agent| {
        let is_there = !to.is_null() && !from.is_null() && !bytes.is_null();
        for at in 0..if is_there { count } else { 0 } {
            // SAFETY: HIP reads the same three lists.
            let (to, from, bytes) = unsafe { (*to.add(at), *from.add(at), *bytes.add(at)) };
            let (writes, reads) = (span(to as u64, bytes), span(from as u64, bytes));
            moved(agent, writes, reads, stream, true, Moves::COPY);
        }
        After::Nothing
    })
}

/// `hipDrvMemcpy3D`.
pub unsafe fn copy_rect_3d(copy: *const DriverMemcpy3D, stream: Stream) -> Call {
    with_agent(|agent| {
        // SAFETY: HIP reads the same.
        if let Some(copy) = unsafe { copy.as_ref() } {
            for base in destinations(copy.dst_host, copy.dst_device) {
                let to = Rows {
                    base,
                    origin: [copy.dst_x_bytes, copy.dst_y, copy.dst_z].map(|n| n as usize),
                    pitch: copy.dst_pitch as usize,
                    slice_rows: copy.dst_height as usize,
                    size: [copy.width_bytes, copy.height, copy.depth].map(|n| n as usize),
                };
                let reads = sources(agent, copy.src_host as u64, copy.src_device as u64);
                rows_moved(agent, &to, reads, stream, true, Moves::COPY);
            }
        }
        After::Nothing
    })
}

/// A memset on the device.
pub unsafe fn write(to: Ptr, bytes: usize, stream: Stream) -> Call {
    announced(|agent| {
        let writes = span(to as u64, bytes);
        moved(agent, writes, Span::NONE, stream, false, Moves::MEMSET);
        (After::Nothing, None)
    })
}

/// `hipMemcpyFromSymbol`. A managed variable is host memory, so the CPU may do the copy.
pub unsafe fn copy_from_symbol(to: Ptr, bytes: usize, stream: Stream) -> Call {
    announced(|agent| {
        let writes = span(to as u64, bytes);
        moved(agent, writes, Span::NONE, stream, true, Moves::COPY);
        (After::Nothing, Some(writes))
    })
}

/// `hipMemcpyToSymbol`: no variable of a module is tracked, but where it comes from may be.
pub unsafe fn copy_to_symbol(from: ConstPtr, bytes: usize, stream: Stream) -> Call {
    let copy = Moves {
        waits: bytes != 0,
        ..Moves::COPY
    };
    to_symbol(from, bytes, stream, copy)
}

/// `hipMemcpyToSymbolAsync`.
pub unsafe fn copy_to_symbol_async(from: ConstPtr, bytes: usize, stream: Stream) -> Call {
    to_symbol(from, bytes, stream, Moves::COPY)
}

fn to_symbol(from: ConstPtr, bytes: usize, stream: Stream, copy: Moves) -> Call {
    announced(|agent| {
        let reads = span(from as u64, bytes);
        moved(agent, Span::NONE, reads, stream, true, copy);
        (After::Nothing, None)
    })
}

/// `hipMemset2D`.
pub unsafe fn write_2d(to: Ptr, pitch: usize, width: usize, rows: usize, stream: Stream) -> Call {
    let to = PitchedPtr {
        ptr: to,
        pitch,
        xsize: width,
        ysize: rows,
    };
    let extent = Extent3 {
        width,
        height: rows,
        depth: 1,
    };
    // SAFETY: handed through.
    unsafe { write_3d(to, extent, stream) }
}

/// `hipMemset3D`. Where the pitch is the width, HIP takes the rows of all slices as one run of bytes,
/// whatever the slices' height; else a slice begins `ysize` rows after the one before.
pub unsafe fn write_3d(to: PitchedPtr, extent: Extent3, stream: Stream) -> Call {
    announced(|agent| {
        let adjacent = to.pitch == extent.width;
        let to = Rows {
            base: to.ptr as u64,
            origin: [0; 3],
            pitch: to.pitch,
            slice_rows: if adjacent { extent.height } else { to.ysize },
            size: [extent.width, extent.height, extent.depth],
        };
        rows_moved(agent, &to, Span::NONE, stream, false, Moves::MEMSET);
        (After::Nothing, None)
    })
}

/// A call that may wait in HIP for the GPU before it does what it announces here: what is left to do when it has come back,
/// and which memory the CPU may write in it.
fn announced(body: impl FnOnce(&'static Agent) -> (After, Option<Span>)) -> Call {
    let mut by_host = None;
    let call = with_agent(|agent| {
        let (after, span) = body(agent);
        by_host = span;
        after
    });
    call.announced(by_host.and_then(|span| Extent::with_len(span.start, span.len).ok()))
}

/// The addresses that a copy may go to. Which of the two fields counts depends on the type of memory
/// and on what HIP then finds at the address: host memory that turns out to be the device's goes on
/// with the device's field, which the caller may not have filled in. So either may be written.
fn destinations(host: Ptr, device: Ptr) -> impl Iterator<Item = u64> {
    let [host, device] = [host as u64, device as u64];
    let other = (host != device).then_some(host);
    other.into_iter().chain([device])
}

/// What a copy may read: the same holds for where it comes from.
fn sources(agent: &Agent, host: u64, device: u64) -> Span {
    let [host, device] = [host, device].map(|address| buffer(agent, address));
    match (host.len, device.len) {
        (0, _) => device,
        (_, 0) => host,
        _ => {
            let start = host.start.min(device.start);
            let end = (host.start + host.len).max(device.start + device.len);
            let len = end - start;
            Span { start, len }
        }
    }
}

/// Rows of linear memory, as HIP lays them out: a pitch of 0 means rows next to each other, and a
/// slice without height means slices next to each other.
#[derive(Clone, Copy, Debug)]
struct Rows {
    /// The address of row 0 of slice 0.
    base: u64,
    /// The first byte of a row, the first row, the first slice that is touched.
    origin: [usize; 3],
    /// Bytes from a row to the next.
    pitch: usize,
    /// Rows from a slice to the next.
    slice_rows: usize,
    /// Bytes of a row, rows, slices.
    size: [usize; 3],
}

impl Rows {
    /// From the first byte to the last: start and length. `None` where HIP's 32-bit arithmetic may
    /// wrap, so that nobody knows.
    fn hull(&self) -> Option<(u64, u64)> {
        if self.size.contains(&0) {
            return Some((self.base, 0));
        }
        let narrow = |value: usize| u32::try_from(value).ok().map(u64::from);
        let [x, y, z] = self.origin.map(narrow);
        let [width, height, depth] = self.size.map(narrow);
        let (x, y, z) = (x?, y?, z?);
        let (width, height, depth) = (width?, height?, depth?);
        let slice = u64::from(
            u32::try_from(narrow(self.pitch)?.checked_mul(narrow(self.slice_rows)?)?).ok()?,
        );
        let pitch = match narrow(self.pitch)? {
            0 => width,
            pitch => pitch,
        };
        let slice = match slice {
            0 => pitch.checked_mul(height)?,
            slice => slice,
        };
        let at = |x: u64, y: u64, z: u64| {
            let rows = z.checked_mul(slice)?.checked_add(y.checked_mul(pitch)?)?;
            rows.checked_add(x)
        };
        let start = self.base.checked_add(at(x, y, z)?)?;
        Some((start, at(width, height - 1, depth - 1)?))
    }
}

/// What kind of transfer it is.
#[derive(Clone, Copy, Debug)]
struct Moves {
    is_memset: bool,
    is_hull: bool,
    /// It is over when the call returns.
    waits: bool,
}

impl Moves {
    const COPY: Moves = Moves {
        is_memset: false,
        is_hull: false,
        waits: false,
    };
    const MEMSET: Moves = Moves {
        is_memset: true,
        is_hull: false,
        waits: false,
    };
}

fn span(start: u64, bytes: usize) -> Span {
    let len = bytes as u64;
    Span { start, len }
}

/// All of the buffer that holds this byte, if it is the device's.
fn buffer(agent: &Agent, address: u64) -> Span {
    let buffer = agent.device.registry.find(address);
    buffer.map_or(Span::NONE, Span::from)
}

/// What may be written.
fn rows_moved(
    agent: &Agent,
    to: &Rows,
    reads: Span,
    stream: Stream,
    by_host: bool,
    moves: Moves,
) -> Span {
    let writes = match to.hull() {
        Some((start, len)) => Span { start, len },
        // HIP checks that it stays inside.
        None => buffer(agent, to.base),
    };
    let moves = Moves {
        is_hull: true,
        ..moves
    };
    moved(agent, writes, reads, stream, by_host, moves);
    writes
}

/// These bytes are about to be written, and those read. What comes from the host may be written by
/// the CPU during the call, so the thread waits; the rest happens in stream order. Returns whether it may
/// have gone into a graph instead.
fn moved(
    agent: &Agent,
    writes: Span,
    reads: Span,
    stream: Stream,
    by_host: bool,
    moves: Moves,
) -> bool {
    let raw = raw_stream(stream);
    let is_captured = agent.is_captured(raw);
    let transfer = Transfer {
        stream: Some(raw),
        writes,
        reads,
        is_memset: moves.is_memset,
        is_hull: moves.is_hull,
        waits: moves.waits && !is_captured,
    };
    if is_captured {
        agent.graphs.record(&Observed::Transfer(transfer));
    }
    happens(agent, transfer, (!by_host && !is_captured).then_some(raw));
    is_captured
}

/// A transfer happens, in what is the device's memory now. Where that is none, it orders others all the
/// same.
pub(super) fn happens(agent: &Agent, transfer: Transfer, waiter: Option<RawStream>) {
    let of_device = |span: Span| match agent.device.registry.is_touched(span.start, span.len) {
        true => span,
        false => Span::NONE,
    };
    let transfer = Transfer {
        writes: of_device(transfer.writes),
        reads: of_device(transfer.reads),
        ..transfer
    };
    agent.note(&Observed::Transfer(transfer), waiter);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(pitch: usize, slice_rows: usize, size: [usize; 3]) -> Rows {
        Rows {
            base: 0x1000,
            origin: [0; 3],
            pitch,
            slice_rows,
            size,
        }
    }

    #[test]
    fn a_hull_ends_with_the_last_row_not_with_its_pitch() {
        let hull = |rows: Rows| rows.hull().unwrap();
        assert_eq!(hull(rows(256, 0, [100, 3, 1])), (0x1000, 612));
        assert_eq!(hull(rows(256, 0, [100, 1, 1])), (0x1000, 100));
        assert_eq!(hull(rows(256, 4, [100, 2, 3])), (0x1000, 9 * 256 + 100));
        assert_eq!(hull(rows(256, 0, [100, 0, 1])).1, 0);
        let moved = Rows {
            origin: [7, 2, 1],
            ..rows(256, 4, [100, 2, 1])
        };
        assert_eq!(hull(moved), (0x1000 + 6 * 256 + 7, 356));
    }

    #[test]
    fn zeros_mean_next_to_each_other() {
        let hull = |rows: Rows| rows.hull().unwrap();
        assert_eq!(hull(rows(0, 0, [100, 3, 2])), (0x1000, 600));
        // The height of a slice counts for nothing where there is no pitch to multiply it with.
        assert_eq!(hull(rows(0, 9, [100, 3, 2])), (0x1000, 600));
        assert_eq!(hull(rows(256, 0, [100, 3, 2])), (0x1000, 5 * 256 + 100));
    }

    #[test]
    fn what_may_wrap_is_not_known() {
        assert_eq!(rows(1 << 32, 0, [1, 1, 1]).hull(), None);
        assert_eq!(rows(1 << 20, 1 << 12, [1, 1, 1]).hull(), None);
        assert_eq!(rows(16, 1, [1 << 32, 1, 1]).hull(), None);
    }
}
