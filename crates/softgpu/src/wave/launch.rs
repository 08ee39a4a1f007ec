//! The registers that a wave starts with.
//!
//! Facts: LLVM's AMDGPU usage guide, "Initial Kernel Execution State" for GFX6 to GFX9.

use super::control::check_mode;
use super::dispatch::Dispatch;
use super::private::WINDOW;
use super::state::Wave;
use super::stop::Stop;
use crate::target::{LaneMask, WAVE};

/// `kernel_code_properties`, in the order in which their registers stand.
const PRIVATE_SEGMENT_BUFFER: u16 = 1;
const DISPATCH_PTR: u16 = 1 << 1;
const QUEUE_PTR: u16 = 1 << 2;
const KERNARG_PTR: u16 = 1 << 3;
const DISPATCH_ID: u16 = 1 << 4;
const FLAT_SCRATCH_INIT: u16 = 1 << 5;
const PRIVATE_SEGMENT_SIZE: u16 = 1 << 6;
const WAVEFRONT_SIZE_32: u16 = 1 << 10;

/// Work-items of workgroup `id` in each dimension: fewer at the far edge of the grid.
pub(super) fn extent(dispatch: &Dispatch, id: [u32; 3]) -> [u32; 3] {
    let p = &dispatch.packet;
    [0, 1, 2].map(|d| {
        let size = u32::from(p.workgroup_size[d]).max(1);
        p.grid_size[d]
            .saturating_sub(id[d].saturating_mul(size))
            .min(size)
    })
}

/// Refuses what no wave of the dispatch could run.
pub(super) fn check(dispatch: &Dispatch) -> Result<(), Stop> {
    let refuse = |text: &str| {
        Err(Stop::Unknown {
            pc: dispatch.entry(),
            text: format!("the kernel needs {text}"),
        })
    };
    let items: u32 = dispatch
        .packet
        .workgroup_size
        .iter()
        .map(|&n| u32::from(n.max(1)))
        .product();
    if items > 1024 {
        refuse("more than 1024 work-items in a workgroup")
    } else if dispatch.packet.group_segment_size > 1 << 16 {
        refuse("more than 64 KiB of LDS")
    } else if dispatch.packet.private_segment_size > 1 << 20 {
        refuse("more than 1 MiB of private memory a work-item")
    } else if dispatch.descriptor.properties & WAVEFRONT_SIZE_32 != 0 {
        refuse("32-lane waves")
    } else if let Err(what) = check_mode(dispatch.descriptor.mode()) {
        refuse(what)
    } else {
        Ok(())
    }
}

/// Prepares wave number `index` of workgroup `id`.
pub(super) fn start(w: &mut Wave, dispatch: &Dispatch, id: [u32; 3], index: u32) {
    let (packet, descriptor) = (&dispatch.packet, &dispatch.descriptor);
    w.reset(descriptor.vector_registers());
    w.private.reset(packet.private_segment_size);
    w.pc = dispatch.entry();
    w.mode = descriptor.mode();

    let mut next = 0_u8;
    let mut put = |w: &mut Wave, enabled: bool, words: &[u32]| {
        if enabled {
            for &word in words {
                w.set_scalar(next, word);
                next += 1;
            }
        }
    };
    let has = |property: u16| descriptor.properties & property != 0;
    let pair = |value: u64| [value as u32, (value >> 32) as u32];
    put(w, has(PRIVATE_SEGMENT_BUFFER), &private_segment_buffer());
    put(w, has(DISPATCH_PTR), &pair(dispatch.packet_address));
    put(w, has(QUEUE_PTR), &pair(dispatch.queue_address));
    put(w, has(KERNARG_PTR), &pair(packet.kernarg_address));
    put(w, has(DISPATCH_ID), &pair(dispatch.dispatch_id));
    put(w, has(FLAT_SCRATCH_INIT), &pair(WINDOW));
    put(w, has(PRIVATE_SEGMENT_SIZE), &[packet.private_segment_size]);
    // The system registers follow the number of user registers that the descriptor states.
    next = (descriptor.rsrc2 >> 1 & 0x1f) as u8;
    let mut put = |w: &mut Wave, enabled: bool, word: u32| {
        if enabled {
            w.set_scalar(next, word);
            next += 1;
        }
    };
    for (d, &number) in id.iter().enumerate() {
        put(w, descriptor.rsrc2 >> (7 + d) & 1 != 0, number);
    }
    // Workgroup info: only the ordered-append and wave-count fields of graphics.
    put(w, descriptor.rsrc2 >> 10 & 1 != 0, 0);
    // Private memory of each wave begins at the window: its offset is zero.
    put(w, descriptor.rsrc2 & 1 != 0, 0);

    let [x, y, z] = extent(dispatch, id);
    let items = x * y * z;
    let first = index * WAVE.lanes();
    let active = (items - first).min(WAVE.lanes());
    let ids = descriptor.rsrc2 >> 11 & 3;
    let (mut column, mut row, mut layer) = (first % x, first / x % y, first / (x * y));
    for lane in 0..active as usize {
        w.vector_mut(0)[lane] = column;
        if ids >= 1 {
            w.vector_mut(1)[lane] = row;
        }
        if ids >= 2 {
            w.vector_mut(2)[lane] = layer;
        }
        column += 1;
        if column == x {
            (column, row) = (0, row + 1);
        }
        if row == y {
            (row, layer) = (0, layer + 1);
        }
    }
    w.set_exec(LaneMask::MAX >> (WAVE.lanes() - active));
}

/// A swizzled buffer of words, one a lane, at the window (see [`super::private`]).
fn private_segment_buffer() -> [u32; 4] {
    const SWIZZLE: u32 = 1 << 31;
    const ELEMENT_4: u32 = 1 << 19;
    const INDEX_STRIDE_64: u32 = 3 << 21;
    const ADD_LANE: u32 = 1 << 23;
    [
        WINDOW as u32,
        (WINDOW >> 32) as u32 | SWIZZLE,
        u32::MAX,
        ELEMENT_4 | INDEX_STRIDE_64 | ADD_LANE,
    ]
}
