//! Copies and memsets. Only where they write matters; where they read from decides whether the
//! device or the CPU writes.

use super::begin;
use crate::agent::Agent;
use crate::call::{After, Call, raw_stream};
use crate::observed::Observed;
use crate::tables::LONGEST_TABLE;
use strobe_hip::{
    ConstPtr, DriverMemcpy3D, Extent3, MEMORY_TYPE_DEVICE, Memcpy2D, Memcpy3D, PitchedPtr, Ptr,
    Stream,
};

/// A copy that is over when the call returns.
pub unsafe fn copy(to: Ptr, from: ConstPtr, bytes: usize, stream: Stream) -> Call {
    let Some((agent, call)) = begin() else {
        return Call::default();
    };
    let from_host = agent.registry.find(from as u64).is_none();
    written(agent, to as u64, bytes as u64, stream, from_host);
    let is_table =
        from_host && bytes as u64 <= LONGEST_TABLE && agent.registry.find(to as u64).is_some();
    if !is_table {
        return call;
    }
    call.then(After::Copied {
        to: to as u64,
        from,
        bytes,
    })
}

/// A copy that may go on after the call: its source may still change, so nothing is known of the
/// content.
pub unsafe fn copy_async(to: Ptr, from: ConstPtr, bytes: usize, stream: Stream) -> Call {
    let Some((agent, call)) = begin() else {
        return Call::default();
    };
    let from_host = agent.registry.find(from as u64).is_none();
    written(agent, to as u64, bytes as u64, stream, from_host);
    call
}

/// Rows of linear memory.
pub unsafe fn copy_2d(
    to: Ptr,
    pitch: usize,
    from: ConstPtr,
    width: usize,
    rows: usize,
    stream: Stream,
) -> Call {
    let Some((agent, call)) = begin() else {
        return Call::default();
    };
    let from_host = agent.registry.find(from as u64).is_none();
    written(
        agent,
        to as u64,
        span(pitch, width, rows),
        stream,
        from_host,
    );
    call
}

/// `hipMemcpyParam2D`.
pub unsafe fn copy_rect_2d(copy: *const Memcpy2D, stream: Stream) -> Call {
    let Some((agent, call)) = begin() else {
        return Call::default();
    };
    // SAFETY: HIP reads the same.
    if let Some(copy) = unsafe { copy.as_ref() } {
        let to = if copy.dst_memory_type == MEMORY_TYPE_DEVICE {
            copy.dst_device as u64
        } else {
            // Host memory, or unified: an address is an address.
            copy.dst_host as u64
        };
        let to = first_byte(to, copy.dst_x_bytes, copy.dst_y, copy.dst_pitch);
        let len = span(copy.dst_pitch, copy.width_bytes, copy.height);
        written(agent, to, len, stream, true);
    }
    call
}

/// `hipMemcpy3D`.
pub unsafe fn copy_3d(copy: *const Memcpy3D, stream: Stream) -> Call {
    let Some((agent, call)) = begin() else {
        return Call::default();
    };
    // SAFETY: HIP reads the same.
    if let Some(copy) = unsafe { copy.as_ref() } {
        let (to, extent) = (copy.dst_ptr, copy.extent);
        let rows = copy
            .dst_pos
            .z
            .saturating_mul(to.ysize)
            .saturating_add(copy.dst_pos.y);
        let start = first_byte(to.ptr as u64, copy.dst_pos.x, rows, to.pitch);
        let rows = to.ysize.saturating_mul(extent.depth.saturating_sub(1));
        let len = span(to.pitch, extent.width, rows.saturating_add(extent.height));
        written(agent, start, len, stream, true);
    }
    call
}

/// `hipDrvMemcpy3D`.
pub unsafe fn copy_rect_3d(copy: *const DriverMemcpy3D, stream: Stream) -> Call {
    let Some((agent, call)) = begin() else {
        return Call::default();
    };
    // SAFETY: HIP reads the same.
    if let Some(copy) = unsafe { copy.as_ref() } {
        let to = if copy.dst_memory_type == MEMORY_TYPE_DEVICE {
            copy.dst_device as u64
        } else {
            copy.dst_host as u64
        };
        let (pitch, slice) = (copy.dst_pitch as usize, copy.dst_height as usize);
        let rows = slice.saturating_mul(copy.dst_z as usize) + copy.dst_y as usize;
        let start = first_byte(to, copy.dst_x_bytes as usize, rows, pitch);
        let rows = slice.saturating_mul((copy.depth as usize).saturating_sub(1));
        let rows = rows.saturating_add(copy.height as usize);
        let len = span(pitch, copy.width_bytes as usize, rows);
        written(agent, start, len, stream, true);
    }
    call
}

/// A memset, or a copy from memory that is not tracked, on the device.
pub unsafe fn write(to: Ptr, bytes: usize, stream: Stream) -> Call {
    let Some((agent, call)) = begin() else {
        return Call::default();
    };
    written(agent, to as u64, bytes as u64, stream, false);
    call
}

/// `hipMemset2D`.
pub unsafe fn write_2d(to: Ptr, pitch: usize, width: usize, rows: usize, stream: Stream) -> Call {
    let Some((agent, call)) = begin() else {
        return Call::default();
    };
    written(agent, to as u64, span(pitch, width, rows), stream, false);
    call
}

/// `hipMemset3D`.
pub unsafe fn write_3d(to: PitchedPtr, extent: Extent3, stream: Stream) -> Call {
    let Some((agent, call)) = begin() else {
        return Call::default();
    };
    let rows = to.ysize.saturating_mul(extent.depth.saturating_sub(1));
    let len = span(to.pitch, extent.width, rows.saturating_add(extent.height));
    written(agent, to.ptr as u64, len, stream, false);
    call
}

/// `len` bytes from `start` on are about to be written. What comes from the host may be written by
/// the CPU during the call, so the thread waits; the rest happens in stream order.
fn written(agent: &Agent, start: u64, len: u64, stream: Stream, by_host: bool) {
    if agent.registry.find(start).is_none() {
        return;
    }
    let raw = raw_stream(stream);
    let observed = Observed::Write {
        stream: Some(raw),
        start,
        len,
    };
    agent.observe(&observed, (!by_host).then_some(raw));
}

/// Bytes from the first to the last of `rows` rows.
fn span(pitch: usize, width: usize, rows: usize) -> u64 {
    match rows.checked_sub(1) {
        Some(more) => pitch.saturating_mul(more).saturating_add(width) as u64,
        None => 0,
    }
}

fn first_byte(base: u64, x: usize, rows: usize, pitch: usize) -> u64 {
    base.saturating_add(x as u64)
        .saturating_add(rows.saturating_mul(pitch) as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_span_ends_with_the_last_row_not_with_its_pitch() {
        assert_eq!(span(256, 100, 3), 612);
        assert_eq!(span(256, 100, 1), 100);
        assert_eq!(span(256, 100, 0), 0);
    }
}
