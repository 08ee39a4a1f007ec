//! What is wrong with a packet or its waves, as the runtime hears of it.
//!
//! The packet processor stores a code in the queue's `queue_inactive_signal`, as does the trap handler of runtimes
//! without exceptions of the driver. Runtimes with them read the driver's own codes, which it leaves where the save
//! area's header says. Sources: ROCr's `AqlQueue::DynamicScratchHandler` and `AqlQueue::ExceptionHandler`, the
//! kernel's `kfd_ioctl.h` (`kfd_dbg_trap_exception_code`, `kfd_context_save_area_header`).

use std::sync::atomic::{Ordering, fence};

use strobe_kfd::aql::{KernelDispatch, QUEUE_INACTIVE_SIGNAL, Signal};

use super::memory::{read, signal, word64};
use super::occupancy::{self, LDS_BYTES};
use crate::device::{Device, Queue, event};
use crate::space::Snapshot;
use crate::target::{Model, WAVE};
use crate::wave::Dispatch;

/// `COMPUTE_TMPRING_SIZE.WAVESIZE`: 13 bits, in KiB.
const SCRATCH_OF_A_WAVE: u64 = 0x1fff << 10;
const WORK_ITEMS_OF_A_GROUP: u64 = 1024;

/// Where the save area's header has the address of the exceptions' codes, and the event to set.
const PAYLOAD: u64 = 24;
const EVENT: u64 = 32;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Exception {
    /// The queue has not as much scratch: the runtime gives it more, or says that there is none.
    Scratch,
    Dimensions,
    GroupMemory,
    Code,
    Packet,
    GroupSize,
    Registers,
    VendorPacket,
    Aperture,
    Instruction,
    Abort,
    Trap,
}

impl Exception {
    /// In `queue_inactive_signal`.
    fn code(self) -> i64 {
        1 << match self {
            Self::Scratch => 0,
            Self::Dimensions => 1,
            Self::GroupMemory => 2,
            Self::Code => 3,
            Self::Packet => 5,
            Self::GroupSize => 6,
            Self::Registers => 7,
            Self::VendorPacket => 8,
            Self::Aperture => 29,
            Self::Instruction => 30,
            Self::Abort | Self::Trap => 31,
        }
    }

    /// The driver's `EC_QUEUE_*`, which has no word for scratch: that is between packet processor and runtime.
    fn driver_code(self) -> Option<u64> {
        let number = match self {
            Self::Scratch => return None,
            Self::Abort => 1,
            Self::Trap => 2,
            Self::Instruction => 4,
            Self::Aperture => 6,
            Self::Dimensions => 16,
            Self::GroupMemory => 17,
            Self::Code => 18,
            Self::Packet => 20,
            Self::GroupSize => 21,
            Self::Registers => 22,
            Self::VendorPacket => 23,
        };
        Some(1 << (number - 1))
    }

    /// Tells the runtime; whom to wake is marked.
    pub(super) fn raise(
        self,
        device: &Device,
        slot: usize,
        space: &Snapshot,
        (queue, amd_queue): (&Queue, u64),
    ) {
        let inactive = word64(space, amd_queue + QUEUE_INACTIVE_SIGNAL)
            .map(|word| word.load(Ordering::Relaxed))
            .filter(|address| *address != 0)
            .and_then(|address| signal(space, address));
        if let Some(signal) = inactive {
            signal.value.store(self.code(), Ordering::Release);
            fence(Ordering::SeqCst);
            set_event(device, slot, space, event_of(signal));
        }
        let header = |place| queue.save_address.checked_add(place);
        if let Some(code) = self.driver_code()
            && queue.save_address != 0
            && let Some(payload) = header(PAYLOAD).and_then(|at| read::<u64>(space, at))
            && let Some(event) = header(EVENT).and_then(|at| read::<u32>(space, at))
            && event != 0
            && let Some(payload) = word64(space, payload)
        {
            payload.fetch_or(code, Ordering::AcqRel);
            event::mark(device, slot, event);
        }
    }
}

/// Mailbox and id of the event that a signal sets.
pub(super) fn event_of(signal: &Signal) -> (u64, u32) {
    let mailbox = signal.event_mailbox_ptr.load(Ordering::Relaxed);
    (mailbox, signal.event_id.load(Ordering::Relaxed))
}

/// Sets a signal's event, if it has one.
pub(super) fn set_event(device: &Device, slot: usize, space: &Snapshot, (mailbox, id): (u64, u32)) {
    if mailbox != 0 {
        if let Some(mail) = word64(space, mailbox) {
            mail.store(u64::from(id), Ordering::Release);
        }
        event::mark(device, slot, id);
    }
}

/// What the packet processor sees in a dispatch before it has read the kernel's descriptor.
pub(super) fn check_packet(packet: &KernelDispatch) -> Result<(), (Exception, String)> {
    let dimensions = usize::from(packet.setup & 3);
    let (sizes, grid) = (packet.workgroup_size, packet.grid_size);
    let is_empty = |dimension: usize| sizes[dimension] == 0 || grid[dimension] == 0;
    let group = packet.group_segment_size;
    let scratch = u64::from(packet.private_segment_size) * u64::from(WAVE.lanes());
    if dimensions == 0 || (0..dimensions).any(is_empty) {
        let text = format!(
            "a dispatch of {} dimensions, grid {grid:?} of work-groups {sizes:?}",
            packet.setup
        );
        Err((Exception::Dimensions, text))
    } else if items(packet) > WORK_ITEMS_OF_A_GROUP {
        let text = format!(
            "a work-group of {sizes:?} work-items, where {WORK_ITEMS_OF_A_GROUP} are the most"
        );
        Err((Exception::GroupSize, text))
    } else if group > LDS_BYTES {
        let text = format!("a work-group wants {group} bytes of LDS, where there are {LDS_BYTES}");
        Err((Exception::GroupMemory, text))
    } else if packet.kernel_object == 0 {
        Err((Exception::Code, "a dispatch of no kernel".into()))
    } else if scratch.next_multiple_of(1 << 10) > SCRATCH_OF_A_WAVE {
        let text = format!(
            "a wave wants {scratch} bytes of scratch, where {SCRATCH_OF_A_WAVE} are the most"
        );
        Err((Exception::Scratch, text))
    } else {
        Ok(())
    }
}

/// What it sees in the descriptor: whether the waves of a work-group fit on a compute unit.
pub(super) fn check_registers(
    model: &Model,
    dispatch: &Dispatch,
) -> Result<(), (Exception, String)> {
    if occupancy::has_room(model, dispatch) {
        return Ok(());
    }
    let text = format!(
        "a work-group of {} work-items with {} vector registers each, for which no compute unit has room",
        items(&dispatch.packet),
        dispatch.vector_registers()
    );
    Err((Exception::Registers, text))
}

/// Work-items of a work-group.
fn items(packet: &KernelDispatch) -> u64 {
    let sizes = packet.workgroup_size;
    sizes.map(|size| u64::from(size.max(1))).iter().product()
}
