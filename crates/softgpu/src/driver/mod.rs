//! The driver: answers ioctls on the two nodes from the tables in the state device.
//!
//! One file per kernel object, as in the kernel's interface. A request that is not known fails and
//! is named on stderr once; nothing is ever answered with invented data.

mod caller;
mod criu;
mod event;
mod memory;
mod process;
mod queue;
mod render;
mod request;

use nix::errno::Errno;
use strobe_kfd::{self as kfd, Request, number_parts};

use crate::device::fd;
use caller::Caller;
use request::{ARGUMENT, Block, Named, args, unknown};

/// Answers a request on one of our nodes; `None` when `fd` is not one.
///
/// # Safety
/// `argument` must satisfy the contract of the request: a block of the size the request number
/// says, whose pointers are valid for what the driver reads and writes through them.
pub(crate) unsafe fn answer(fd: i32, request: u32, argument: *mut u8) -> Option<Result<(), Errno>> {
    let (device, node) = fd::node(fd)?;
    let size = (request >> 16 & 0x3fff) as usize;
    if size > ARGUMENT || (size > 0 && argument.is_null()) {
        return Some(Err(Errno::EFAULT));
    }
    // As the kernel does: the caller's size counts for copying, missing bytes are zero.
    let mut block = Block([0; ARGUMENT]);
    // SAFETY: the caller's block has `size` bytes.
    unsafe { argument.copy_to_nonoverlapping(block.0.as_mut_ptr(), size) };
    let caller = Caller { device, fd };
    let (kind, number) = number_parts(request);
    let (faults, calls) = (&device.header().faults, &device.state().calls);
    let operation = || args::<kfd::criu::CriuOp>(&mut block).op;
    if let Some(errno) = faults.strike(calls, (kind, number), operation) {
        return Some(Err(errno));
    }
    let result = match (node, kind) {
        // SAFETY: the caller's promise about pointers in the block.
        (fd::Node::Kfd, b'K') => unsafe { compute(&caller, number, &mut block) },
        // SAFETY: as above.
        (fd::Node::Render, b'd') => unsafe { render::answer(&caller, number, &mut block) },
        _ => Err(Errno::ENOTTY),
    };
    let reads_back = request >> 30 & 2 != 0;
    if reads_back && (result.is_ok() || copies_back_on_error(kind, number)) {
        // SAFETY: the caller's block has `size` bytes and is writable for a request that reads.
        unsafe { block.0.as_ptr().copy_to_nonoverlapping(argument, size) };
    }
    Some(result)
}

/// amdkfd always copies the block back; callers look at progress counters of failed requests.
fn copies_back_on_error(kind: u8, number: u8) -> bool {
    kind == b'K' && number != <kfd::event::WaitEvents as Request>::NUMBER as u8
}

/// # Safety
/// As for [`answer`].
unsafe fn compute(caller: &Caller<'_>, number: u8, block: &mut Block) -> Result<(), Errno> {
    // SAFETY: each function gets the block of its own request; pointers in it are the caller's
    // promise.
    unsafe {
        match number {
            0x01 => process::version(args(block)),
            0x02 => queue::create(caller, args(block)),
            0x03 => queue::destroy(caller, args(block)),
            0x04 => caller.own_slot().map(drop),
            0x05 => process::clocks(args(block)),
            0x06 => process::apertures_old(caller, args(block)),
            0x07 => queue::update(caller, args(block)),
            0x08 => event::create(caller, args(block)),
            0x09 => event::destroy(caller, args(block)),
            0x0a => event::set(caller, args(block)),
            0x0b => event::reset(caller, args(block)),
            0x0c => event::wait(caller, args(block)),
            0x11 => process::scratch(caller, args(block)),
            0x12 => process::tile_config(args(block)),
            0x13 => caller.own_slot().map(drop),
            0x14 => process::apertures(caller, args(block)),
            0x15 => process::acquire_vm(caller, args(block)),
            0x16 => memory::allocate(caller, args(block)),
            0x17 => memory::free(caller, args(block)),
            0x18 => memory::map(caller, args(block)),
            0x19 => memory::unmap(caller, args(block)),
            0x1a => queue::set_cu_mask(caller, args(block)),
            0x1c => memory::dma_buf_info(caller, args(block)),
            0x1d => memory::import_dma_buf(caller, args(block)),
            0x21 => process::xnack(caller, args(block)),
            0x22 => criu::operate(caller, args(block)),
            0x23 => memory::available(caller, args(block)),
            0x24 => memory::export_dma_buf(caller, args(block)),
            0x25 => caller.own_slot().map(drop),
            // The debugger interface of AMD's out-of-tree driver, which runtimes probe for.
            0x82 => Err(Errno::EINVAL),
            _ => {
                static NAMED: Named = Named::new();
                Err(unknown(&NAMED, "KFD", number))
            }
        }
    }
}
