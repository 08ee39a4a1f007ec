//! Requests about the process: version, apertures, address space, clocks.

use nix::errno::Errno;
use strobe_kfd::process::{
    AcquireVm, Apertures, GetClockCounters, GetProcessApertures, GetProcessAperturesNew,
    GetTileConfig, GetVersion, SetMemoryPolicy, SetScratchBackingVa, SetTrapHandler, SetXnackMode,
};

use super::caller::{Caller, render_file};
use crate::device::fd;
use crate::{clock, wave};

/// From 1.14 on current runtimes find all they ask for; from 1.15 on they map buffer objects at the render node, too.
const MAJOR: u32 = 1;
const MINOR: u32 = 15;

/// GPU addresses that a process may use.
const GPUVM_BASE: u64 = 0x4000;
const GPUVM_LIMIT: u64 = (1 << 47) - 1;

/// The first request of every runtime on the file, by which it becomes the caller's.
pub(super) fn version(caller: &Caller, args: &mut GetVersion) -> Result<(), Errno> {
    caller.own_slot()?;
    *args = GetVersion {
        major: MAJOR,
        minor: MINOR,
    };
    Ok(())
}

pub(super) fn clocks(args: &mut GetClockCounters) -> Result<(), Errno> {
    args.gpu_clock_counter = clock::ticks();
    args.cpu_clock_counter = clock::cpu_ns();
    args.system_clock_counter = clock::system_ns();
    args.system_clock_freq = 1_000_000_000;
    Ok(())
}

fn device_apertures(gpu_id: u32) -> Apertures {
    let window = |base: u64| (base, base + u64::from(u32::MAX));
    let (lds_base, lds_limit) = window(wave::LDS_APERTURE);
    let (scratch_base, scratch_limit) = window(wave::PRIVATE_APERTURE);
    Apertures {
        lds_base,
        lds_limit,
        scratch_base,
        scratch_limit,
        gpuvm_base: GPUVM_BASE,
        gpuvm_limit: GPUVM_LIMIT,
        gpu_id,
        pad: 0,
    }
}

/// Of all GPUs, by the ids that the calling process knows them by.
fn all_apertures(caller: &Caller) -> Result<Vec<Apertures>, Errno> {
    let slot = caller.own_slot()?;
    let tables = caller.lock()?;
    let process = tables.process(slot).ok_or(Errno::ESRCH)?;
    let gpus = caller.device.header().gpus();
    let devices = &process.devices[gpus];
    Ok(devices
        .iter()
        .map(|device| device_apertures(device.user_id))
        .collect())
}

pub(super) fn apertures_old(caller: &Caller, args: &mut GetProcessApertures) -> Result<(), Errno> {
    let apertures = all_apertures(caller)?;
    let given = args.apertures.iter_mut().zip(&apertures);
    args.num_of_nodes = given.len() as u32;
    for (place, apertures) in given {
        *place = *apertures;
    }
    Ok(())
}

/// # Safety
/// The array pointer must be valid for the number of elements beside it.
pub(super) unsafe fn apertures(
    caller: &Caller,
    args: &mut GetProcessAperturesNew,
) -> Result<(), Errno> {
    let apertures = all_apertures(caller)?;
    // Without room it is asked how many there are.
    let room = args.num_of_nodes as usize;
    if room == 0 {
        args.num_of_nodes = apertures.len() as u32;
        return Ok(());
    }
    if args.apertures_ptr == 0 {
        return Err(Errno::EFAULT);
    }
    let filled = room.min(apertures.len());
    for (index, apertures) in apertures.iter().take(filled).enumerate() {
        let place = args.apertures_ptr as *mut Apertures;
        // SAFETY: room for as many elements, by the caller's promise.
        unsafe { place.add(index).write_unaligned(*apertures) };
    }
    args.num_of_nodes = filled as u32;
    Ok(())
}

pub(super) fn acquire_vm(caller: &Caller, args: &mut AcquireVm) -> Result<(), Errno> {
    let slot = caller.own_slot()?;
    let drm_fd = args.drm_fd.cast_signed();
    let gpu = caller.gpu(args.gpu_id)?;
    if fd::node(caller.device, drm_fd) != Some(fd::Node::Render(gpu)) {
        return Err(Errno::EINVAL);
    }
    let file = render_file(caller.device, drm_fd)?;
    let mut tables = caller.lock()?;
    let device = &mut tables.processes[slot].devices[gpu];
    let vm = file as u32 + 1;
    if device.vm != 0 && device.vm != vm {
        return Err(Errno::EBUSY);
    }
    device.vm = vm;
    Ok(())
}

pub(super) fn scratch(caller: &Caller, args: &mut SetScratchBackingVa) -> Result<(), Errno> {
    let (slot, gpu) = (caller.own_slot()?, caller.gpu(args.gpu_id)?);
    caller.lock()?.processes[slot].devices[gpu].scratch_va = args.va_addr;
    Ok(())
}

/// Caches are coherent here, whatever the policy.
pub(super) fn memory_policy(caller: &Caller, args: &mut SetMemoryPolicy) -> Result<(), Errno> {
    caller.gpu(args.gpu_id).map(drop)
}

/// Waves that trap stop their queue; no handler runs.
pub(super) fn trap_handler(caller: &Caller, args: &mut SetTrapHandler) -> Result<(), Errno> {
    caller.gpu(args.gpu_id).map(drop)
}

/// # Safety
/// The array pointers must be valid for the numbers of elements beside them.
pub(super) unsafe fn tile_config(args: &mut GetTileConfig) -> Result<(), Errno> {
    // Vega has no tiling tables; images, which would need them, do not exist here.
    for (pointer, count) in [
        (args.tile_config_ptr, args.num_tile_configs),
        (args.macro_tile_config_ptr, args.num_macro_tile_configs),
    ] {
        if pointer != 0 && count > 0 {
            // SAFETY: the caller's promise.
            unsafe { (pointer as *mut u32).write_bytes(0, count.min(64) as usize) };
        }
    }
    args.gb_addr_config = 0x2a11_0042;
    args.num_banks = 0;
    args.num_ranks = 0;
    Ok(())
}

pub(super) fn xnack(caller: &Caller, args: &mut SetXnackMode) -> Result<(), Errno> {
    caller.own_slot()?;
    match args.xnack_enabled {
        0 => Ok(()),
        1 => Err(Errno::EPERM),
        _ => {
            args.xnack_enabled = 0;
            Ok(())
        }
    }
}
