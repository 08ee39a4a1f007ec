//! Allocations and frees of device memory.

use crate::attach::with_agent;
use crate::call::{After, Call};
use crate::device::give_way::make_room;
use crate::seen::observed::{Observed, Synchronised};
use strobe_extent::Extent;
use strobe_graph::Moment;
use strobe_hip::{Extent3, PitchedPtr, Ptr};

/// `hipMalloc` and its kin.
pub unsafe fn allocate(place: *mut Ptr, bytes: usize) -> Call {
    let after = After::Allocated { place, bytes };
    with_agent(|agent| {
        make_room(&agent.device, bytes as u64);
        after
    })
}

/// `hipExtMallocWithFlags`: fine-grained and signal memory is the runtime's to write and stays
/// residual; plain device memory is tracked.
pub unsafe fn allocate_flags(place: *mut Ptr, bytes: usize, flags: u32) -> Call {
    const DEFAULT: u32 = 0;
    if flags == DEFAULT {
        // SAFETY: handed through.
        return unsafe { allocate(place, bytes) };
    }
    with_agent(|_| After::AllocatedUntracked { bytes })
}

/// `hipMallocPitch`: HIP chooses the bytes of a row.
pub unsafe fn allocate_pitch(place: *mut Ptr, pitch: *mut usize, rows: usize) -> Call {
    let after = After::AllocatedPitch { place, pitch, rows };
    with_agent(|_| after)
}

/// `hipMalloc3D`.
pub unsafe fn allocate_3d(place: *mut PitchedPtr, extent: Extent3) -> Call {
    let after = After::AllocatedPitched {
        place,
        rows: extent.height.saturating_mul(extent.depth),
    };
    with_agent(|_| after)
}

/// `hipFree`, `hipFreeAsync`: a write to all of it, done when the call returns. (The pool may give
/// the memory back to the driver at the next synchronisation.)
/// `waits`: for all work of the device, before the memory goes.
pub unsafe fn free(address: Ptr, waits: bool) -> Call {
    with_agent(|agent| {
        let start = address as u64;
        // Before the real call: from then on another thread may be given the address.
        let Some(buffer) = agent.device.registry.remove(start) else {
            agent.handles.free(start);
            // Other memory, which has no extent here; of a null pointer HIP does not wait.
            return match waits && start != 0 {
                // Of fine-grained memory it waits for the default stream only where that was used.
                true => After::Synchronised {
                    what: Synchronised::Device,
                    since: Moment::UNKNOWN,
                },
                false => After::Nothing,
            };
        };
        agent.device.reading.before_free(buffer);
        let since = waits.then(|| agent.moment());
        if waits {
            // The memory goes when all has been waited for.
            let (what, since) = (Synchronised::Device, Moment::UNKNOWN);
            agent.observe(&Observed::Synchronise { what, since }, None);
        }
        agent.observe(&Observed::Free { start }, None);
        After::Freed {
            start,
            len: buffer.len(),
            since,
        }
    })
    // At a cut it is memory that nobody knows, as whatever its content is then.
    .announced(None)
}

/// `hipMemCreate`: memory without an address. It has one when it is mapped and may be used there.
pub unsafe fn create_memory(bytes: usize) -> Call {
    with_agent(|agent| {
        make_room(&agent.device, bytes as u64);
        After::AllocatedUntracked { bytes }
    })
}

/// `hipMemSetAccess`, `hipMemUnmap`: whatever is mapped there is taken from the GPU, and some of it given back. Like a free,
/// and then an allocation.
pub unsafe fn remap(address: Ptr, bytes: usize) -> Call {
    with_agent(|agent| {
        let (start, len) = (address as u64, bytes as u64);
        let Ok(remapped) = Extent::with_len(start, len) else {
            return After::Nothing;
        };
        for buffer in agent.device.registry.remove_all(remapped) {
            let start = buffer.start();
            agent.device.reading.before_free(buffer);
            agent.observe(&Observed::Free { start }, None);
        }
        After::Mapped { start, len }
    })
    .announced(None)
}

/// `hipIpcGetMemHandle`: from now on other processes may write it.
pub unsafe fn export_memory(address: Ptr) -> Call {
    with_agent(|_| After::Exported {
        address: address as u64,
    })
}

/// `hipIpcOpenMemHandle`.
pub unsafe fn open_memory(place: *mut Ptr) -> Call {
    with_agent(|_| After::Opened { place })
}

/// `hipIpcCloseMemHandle`.
pub unsafe fn close_memory(address: Ptr) -> Call {
    with_agent(|_| After::Closed {
        address: address as u64,
    })
}
