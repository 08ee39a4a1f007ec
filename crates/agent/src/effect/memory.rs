//! Allocations and frees of device memory.

use super::{begin, submit};
use crate::call::{After, Call};
use crate::observed::Observed;
use crate::resources::make_room;
use strobe_hip::{Extent3, PitchedPtr, Ptr};

/// `hipMalloc` and its kin.
pub unsafe fn allocate(place: *mut Ptr, bytes: usize) -> Call {
    let after = After::Allocated { place, bytes };
    let Some((agent, call)) = begin() else {
        return Call::default();
    };
    make_room(agent, bytes as u64);
    call.then(after)
}

/// `hipExtMallocWithFlags`: fine-grained and signal memory is the runtime's to write and stays
/// residual; plain device memory is tracked.
pub unsafe fn allocate_flags(place: *mut Ptr, bytes: usize, flags: u32) -> Call {
    const DEFAULT: u32 = 0;
    // SAFETY: handed through.
    unsafe {
        if flags == DEFAULT {
            allocate(place, bytes)
        } else {
            submit()
        }
    }
}

/// `hipMallocPitch`: HIP chooses the bytes of a row.
pub unsafe fn allocate_pitch(place: *mut Ptr, pitch: *mut usize, rows: usize) -> Call {
    let after = After::AllocatedPitch { place, pitch, rows };
    begin()
        .map(|(_, call)| call.then(after))
        .unwrap_or_default()
}

/// `hipMalloc3D`.
pub unsafe fn allocate_3d(place: *mut PitchedPtr, extent: Extent3) -> Call {
    let after = After::AllocatedPitched {
        place,
        rows: extent.height.saturating_mul(extent.depth),
    };
    begin()
        .map(|(_, call)| call.then(after))
        .unwrap_or_default()
}

/// `hipFree`, `hipFreeAsync`: a write to all of it, done when the call returns. (The pool may give
/// the memory back to the driver at the next synchronisation.)
pub unsafe fn free(address: Ptr) -> Call {
    let Some((agent, call)) = begin() else {
        return Call::default();
    };
    let start = address as u64;
    // Before the real call: from then on another thread may be given the address.
    let Some(buffer) = agent.registry.remove(start) else {
        return call;
    };
    agent.observe(&Observed::Free { start }, None);
    agent.reading.before_free(agent, buffer.extent);
    call.then(After::Freed {
        start,
        len: buffer.extent.len(),
    })
}
