//! The registers that a wave starts with.
//!
//! Facts: LLVM's AMDGPU usage guide, "Initial Kernel Execution State" for GFX6 to GFX9, GFX90A and GFX942, and
//! "Preloaded Kernel Arguments".

use strobe_code_object::Descriptor;

use super::control::check_mode;
use super::dispatch::{Dispatch, PRELOADED};
use super::private::WINDOW;
use super::state::Wave;
use super::stop::Stop;
use crate::target::{LaneMask, WAVE};

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

/// Waves of workgroup `id`.
pub(super) fn waves(dispatch: &Dispatch, id: [u32; 3]) -> usize {
    let items: u32 = extent(dispatch, id).iter().product();
    items.div_ceil(WAVE.lanes()) as usize
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
    } else if dispatch.descriptor.wave32() {
        refuse("32-lane waves")
    } else if usize::from(dispatch.descriptor.preload_length) > PRELOADED {
        refuse("more preloaded arguments than there are registers for them")
    } else if let Err(what) = check_mode(mode(&dispatch.descriptor)) {
        refuse(what)
    } else {
        Ok(())
    }
}

/// Prepares wave number `index` of workgroup `id`.
pub(super) fn start(w: &mut Wave, dispatch: &Dispatch, id: [u32; 3], index: u32) {
    let (packet, descriptor) = (&dispatch.packet, &dispatch.descriptor);
    w.reset(dispatch.registers());
    w.private.reset(packet.private_segment_size);
    w.pc = dispatch.entry();
    w.mode = mode(descriptor);

    let mut next = 0_u8;
    let mut put = |w: &mut Wave, enabled: bool, words: &[u32]| {
        if enabled {
            for &word in words {
                w.set_scalar(next, word);
                next += 1;
            }
        }
    };
    let pair = |value: u64| [value as u32, (value >> 32) as u32];
    put(
        w,
        descriptor.private_segment_buffer(),
        &private_segment_buffer(),
    );
    put(w, descriptor.dispatch_ptr(), &pair(dispatch.packet_address));
    put(w, descriptor.queue_ptr(), &pair(dispatch.queue_address));
    put(
        w,
        descriptor.kernarg_segment_ptr(),
        &pair(packet.kernarg_address),
    );
    put(w, descriptor.dispatch_id(), &pair(dispatch.dispatch_id));
    put(w, descriptor.flat_scratch_init(), &pair(WINDOW));
    put(
        w,
        descriptor.private_segment_size_sgpr(),
        &[packet.private_segment_size],
    );
    let preloaded = usize::from(descriptor.preload_length).min(PRELOADED);
    put(w, preloaded > 0, &dispatch.preloaded[..preloaded]);
    // The system registers follow the number of user registers that the descriptor states.
    next = descriptor.user_sgprs() as u8;
    let mut put = |w: &mut Wave, enabled: bool, word: u32| {
        if enabled {
            w.set_scalar(next, word);
            next += 1;
        }
    };
    for (d, &number) in id.iter().enumerate() {
        put(w, descriptor.workgroup_id(d), number);
    }
    // Workgroup info: only the ordered-append and wave-count fields of graphics.
    put(w, descriptor.workgroup_info(), 0);
    // Private memory of each wave begins at the window: its offset is zero. (Where waves know its place no register says
    // it, and this one is zero as are all.)
    put(w, descriptor.private_segment(), 0);

    let [x, y, z] = extent(dispatch, id);
    let items = x * y * z;
    let first = index * WAVE.lanes();
    let active = (items - first).min(WAVE.lanes());
    let ids = descriptor.workitem_ids();
    let (mut column, mut row, mut layer) = (first % x, first / x % y, first / (x * y));
    for lane in 0..active as usize {
        if dispatch.target.packed_work_item_ids {
            // 10 bits each. Code that asks for the first one alone does not mask it, so the others are zero.
            let row = if ids >= 2 { row } else { 0 };
            let layer = if ids >= 3 { layer } else { 0 };
            w.vector_mut(0)[lane] = column | row << 10 | layer << 20;
        } else {
            w.vector_mut(0)[lane] = column;
            if ids >= 2 {
                w.vector_mut(1)[lane] = row;
            }
            if ids >= 3 {
                w.vector_mut(2)[lane] = layer;
            }
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

/// `FLOAT_ROUND_MODE_*` and `FLOAT_DENORM_MODE_*` as the low 8 bits of the MODE register,
/// `DX10_CLAMP` as bit 8, `IEEE` as bit 9.
fn mode(descriptor: &Descriptor) -> u32 {
    let rsrc1 = descriptor.rsrc1;
    (rsrc1 >> 12) & 0xff | (rsrc1 >> 21 & 1) << 8 | (rsrc1 >> 23 & 1) << 9
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
