//! The driver: answers ioctls on the nodes from the tables in the state device.
//!
//! One file per kernel object, as in the kernel's interface. A request that is not known fails and
//! is named on stderr once; nothing is ever answered with invented data.

mod caller;
mod criu;
mod event;
mod freeze;
mod memory;
mod process;
mod queue;
mod render;
mod request;
mod sharing;

use nix::errno::Errno;
use strobe_kfd::criu::CriuOp;
use strobe_kfd::event::{CreateEvent, DestroyEvent, ResetEvent, SetEvent, WaitEvents};
use strobe_kfd::memory::{
    AllocMemory, AvailableMemory, ExportDmabuf, FreeMemory, GetDmabufInfo, ImportDmabuf,
    IpcExportHandle, IpcImportHandle, MapMemory, UnmapMemory,
};
use strobe_kfd::number_parts;
use strobe_kfd::process::{
    AcquireVm, GetClockCounters, GetProcessApertures, GetProcessAperturesNew, GetTileConfig,
    GetVersion, RuntimeEnable, SetMemoryPolicy, SetScratchBackingVa, SetTrapHandler, SetXnackMode,
};
use strobe_kfd::queue::{AllocQueueGws, CreateQueue, DestroyQueue, SetCuMask, UpdateQueue};

use crate::device::fd;
use crate::gpus::Gpus;
use caller::Caller;
pub(crate) use caller::reap_those;
pub(crate) use freeze::{freeze, thaw};
use request::{ARGUMENT, Block, Named, args, by_request, number_of, unknown};

/// Answers a request on one of the nodes, and the descriptor that it came by.
///
/// # Safety
/// `argument` must satisfy the contract of the request: a block of the size the request number
/// says, whose pointers are valid for what the driver reads and writes through them.
pub(crate) unsafe fn answer(
    Gpus { device, engines }: &'static Gpus,
    (fd, node): (i32, fd::Node),
    request: u32,
    argument: *mut u8,
) -> Result<(), Errno> {
    let size = (request >> 16 & 0x3fff) as usize;
    if size > ARGUMENT || (size > 0 && argument.is_null()) {
        return Err(Errno::EFAULT);
    }
    // As the kernel does: the caller's size counts for copying, missing bytes are zero.
    let mut block = Block([0; ARGUMENT]);
    // SAFETY: the caller's block has `size` bytes.
    unsafe { argument.copy_to_nonoverlapping(block.0.as_mut_ptr(), size) };
    let caller = Caller {
        device,
        engines,
        fd,
    };
    let (kind, number) = number_parts(request);
    let (faults, calls) = (&device.header().faults, &device.state().calls);
    let operation = || args::<CriuOp>(&mut block).op;
    if let Some(errno) = faults.strike(calls, (kind, number), operation) {
        return Err(errno);
    }
    let result = match (node, kind) {
        // SAFETY: the caller's promise about pointers in the block.
        (fd::Node::Kfd, b'K') => unsafe { compute(&caller, number, &mut block) },
        // SAFETY: as above.
        (fd::Node::Render(_), b'd') => unsafe { render::answer(&caller, number, &mut block) },
        _ => Err(Errno::ENOTTY),
    };
    let reads_back = request >> 30 & 2 != 0;
    if reads_back && (result.is_ok() || copies_back_on_error(kind, number)) {
        // SAFETY: the caller's block has `size` bytes and is writable for a request that reads.
        unsafe { block.0.as_ptr().copy_to_nonoverlapping(argument, size) };
    }
    result
}

/// amdkfd always copies the block back; callers look at progress counters of failed requests.
fn copies_back_on_error(kind: u8, number: u8) -> bool {
    kind == b'K' && number != number_of::<WaitEvents>()
}

/// The debugger interface of AMD's out-of-tree driver, which runtimes probe for.
const DEBUGGER: u8 = 0x82;

/// # Safety
/// As for [`answer`].
unsafe fn compute(caller: &Caller, number: u8, block: &mut Block) -> Result<(), Errno> {
    // SAFETY: each function gets the block of its own request; pointers in it are the caller's
    // promise.
    unsafe {
        by_request!(number {
            GetVersion => process::version(caller, args(block)),
            CreateQueue => queue::create(caller, args(block)),
            DestroyQueue => queue::destroy(caller, args(block)),
            SetMemoryPolicy => process::memory_policy(caller, args(block)),
            GetClockCounters => process::clocks(args(block)),
            GetProcessApertures => process::apertures_old(caller, args(block)),
            UpdateQueue => queue::update(caller, args(block)),
            CreateEvent => event::create(caller, args(block)),
            DestroyEvent => event::destroy(caller, args(block)),
            SetEvent => event::set(caller, args(block)),
            ResetEvent => event::reset(caller, args(block)),
            WaitEvents => event::wait(caller, args(block)),
            SetScratchBackingVa => process::scratch(caller, args(block)),
            GetTileConfig => process::tile_config(args(block)),
            SetTrapHandler => process::trap_handler(caller, args(block)),
            GetProcessAperturesNew => process::apertures(caller, args(block)),
            AcquireVm => process::acquire_vm(caller, args(block)),
            AllocMemory => memory::allocate(caller, args(block)),
            FreeMemory => memory::free(caller, args(block)),
            MapMemory => memory::map(caller, args(block)),
            UnmapMemory => memory::unmap(caller, args(block)),
            SetCuMask => queue::set_cu_mask(caller, args(block)),
            AllocQueueGws => queue::allocate_gws(caller, args(block)),
            GetDmabufInfo => sharing::dma_buf_info(caller, args(block)),
            ImportDmabuf => sharing::import_dma_buf(caller, args(block)),
            SetXnackMode => process::xnack(caller, args(block)),
            CriuOp => criu::operate(caller, args(block)),
            AvailableMemory => memory::available(caller, args(block)),
            ExportDmabuf => sharing::export_dma_buf(caller, args(block)),
            IpcImportHandle => sharing::import_handle(caller, args(block)),
            IpcExportHandle => sharing::export_handle(caller, args(block)),
            RuntimeEnable => caller.own_slot().map(drop),
        } else match number {
            DEBUGGER => Err(Errno::EINVAL),
            _ => {
                static NAMED: Named = Named::new();
                Err(unknown(&NAMED, "KFD", number))
            }
        })
    }
}
