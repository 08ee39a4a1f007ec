//! Buffer objects of the compute driver.

use std::sync::atomic::Ordering;

use nix::errno::Errno;
use strobe_kfd::memory::{
    AllocMemory, AvailableMemory, DOORBELL, EXECUTABLE, FreeMemory, GTT, MMIO_REMAP, MapMemory,
    USERPTR, UnmapMemory, VRAM, WRITABLE,
};
use strobe_kfd::render::gem::{PAGE_EXECUTABLE, PAGE_READABLE, PAGE_WRITEABLE};

use super::caller::{Caller, reap};
use crate::device::{
    self, Buffer, DOORBELL_BYTES, Device, MMIO_OFFSET, Mapping, Object, Process, Tables, place,
};
use crate::options::Interconnect;

const PAGE: u64 = 4096;
/// Devices that one request may name; amdkfd has at most 64.
const MOST_DEVICES: u32 = 64;

/// What a process asks for, without where it goes.
pub(super) struct NewBuffer {
    pub(super) gpu: usize,
    pub(super) va: u64,
    pub(super) size: u64,
    pub(super) flags: u32,
    /// Of user memory: its host address.
    pub(super) host: u64,
    /// The handle it must get (restore), or the lowest free one.
    pub(super) index: Option<u32>,
}

pub(super) fn allocate(caller: &Caller, args: &mut AllocMemory) -> Result<(), Errno> {
    let slot = caller.own_slot()?;
    let mut tables = caller.lock()?;
    let gpu = tables.processes[slot]
        .acquired(args.gpu_id)
        .ok_or(Errno::EINVAL)?;
    let new = NewBuffer {
        gpu,
        va: args.va_addr,
        size: args.size,
        flags: args.flags,
        host: args.mmap_offset,
        index: None,
    };
    let buffer = create(caller.device, &mut tables, slot, &new)?;
    drop(tables);
    if new.flags & (VRAM | GTT) != 0 {
        let device = caller.device;
        device.make_present(gpu, buffer.offset, buffer.size);
    }
    args.handle = u64::from(args.gpu_id) << 32 | u64::from(buffer.index);
    args.mmap_offset = buffer.offset;
    Ok(())
}

/// Makes a buffer and its memory.
pub(super) fn create(
    device: &Device,
    tables: &mut Tables,
    slot: usize,
    new: &NewBuffer,
) -> Result<Buffer, Errno> {
    let size = new
        .size
        .checked_next_multiple_of(PAGE)
        .filter(|s| *s > 0)
        .ok_or(Errno::EINVAL)?;
    let object = match new.flags & (VRAM | GTT | USERPTR | DOORBELL | MMIO_REMAP) {
        VRAM => allocate_or_reap(device, tables, (new.gpu, place::VRAM), size, new.flags)?,
        GTT => allocate_or_reap(device, tables, (new.gpu, place::GTT), size, new.flags)?,
        USERPTR if new.host.is_multiple_of(PAGE) && new.host != 0 => {
            device::allocate_elsewhere(tables, (new.gpu, place::USER), new.host, size, new.flags)?
        }
        DOORBELL if size <= DOORBELL_BYTES => {
            let page = device.doorbell_page(slot, new.gpu);
            device::allocate_elsewhere(tables, (new.gpu, place::STATE), page, size, new.flags)?
        }
        MMIO_REMAP if size == PAGE => {
            let page = device.doorbell_page(slot, new.gpu) + MMIO_OFFSET;
            device::allocate_elsewhere(tables, (new.gpu, place::STATE), page, size, new.flags)?
        }
        _ => return Err(Errno::EINVAL),
    };
    insert(device, tables, slot, new, object)
}

pub(super) fn insert(
    device: &Device,
    tables: &mut Tables,
    slot: usize,
    new: &NewBuffer,
    object: usize,
) -> Result<Buffer, Errno> {
    let index = new.index.or_else(|| free_index(tables, slot, new.gpu));
    let Object { offset, size, .. } = *tables.objects.get(object).ok_or(Errno::ENOENT)?;
    let buffer = Buffer {
        owner: slot as u32 + 1,
        index: index.unwrap_or_default(),
        object: object as u32,
        flags: new.flags,
        va: new.va,
        size,
        offset,
        mapped: 0,
        gpu: new.gpu as u32,
    };
    let inserted = index.and_then(|_| tables.buffers.insert(buffer));
    if inserted.is_none() {
        device::release(device, tables, object);
        return Err(Errno::ENOMEM);
    }
    Ok(buffer)
}

/// The lowest index that no buffer of the process on this GPU has.
fn free_index(tables: &Tables, slot: usize, gpu: usize) -> Option<u32> {
    let (owner, gpu) = (slot as u32 + 1, gpu as u32);
    let mut used: Vec<u32> = tables
        .buffers
        .iter()
        .filter(|(_, buffer)| buffer.owner == owner && buffer.gpu == gpu)
        .map(|(_, buffer)| buffer.index)
        .collect();
    used.sort_unstable();
    (0..=used.len() as u32).find(|index| used.get(*index as usize) != Some(index))
}

/// Allocates; when memory is short, once more after freeing what dead processes hold.
fn allocate_or_reap(
    device: &Device,
    tables: &mut Tables,
    place: (usize, u32),
    size: u64,
    flags: u32,
) -> Result<usize, Errno> {
    device::allocate(device, tables, place, size, flags).or_else(|_| {
        reap(device, tables);
        device::allocate(device, tables, place, size, flags)
    })
}

pub(super) fn split_handle(
    tables: &Tables,
    slot: usize,
    handle: u64,
) -> Result<(usize, Buffer), Errno> {
    let process = tables.process(slot).ok_or(Errno::ESRCH)?;
    let gpu = process.gpu((handle >> 32) as u32).ok_or(Errno::EINVAL)?;
    tables.buffer(slot, gpu, handle as u32).ok_or(Errno::EINVAL)
}

pub(super) fn free(caller: &Caller, args: &mut FreeMemory) -> Result<(), Errno> {
    let slot = caller.own_slot()?;
    let mut tables = caller.lock()?;
    let (index, buffer) = split_handle(&tables, slot, args.handle)?;
    for gpu in caller.device.header().gpus() {
        unmap_buffer(caller.device, &mut tables, (slot, gpu), index);
    }
    tables.buffers.remove(index);
    device::release(caller.device, &mut tables, buffer.object as usize);
    Ok(())
}

/// The GPUs that a request names, from the one on with which it has to begin.
///
/// # Safety
/// The array pointer must be valid for the number of elements beside it.
unsafe fn named_gpus(
    process: &Process,
    (pointer, count): (u64, u32),
    done: u32,
) -> Result<Vec<Result<usize, Errno>>, Errno> {
    if count == 0 || count > MOST_DEVICES || done > count || pointer == 0 {
        return Err(Errno::EINVAL);
    }
    let ids = (done as usize..count as usize).map(|index| {
        // SAFETY: inside the array, by the caller's promise.
        unsafe { (pointer as *const u32).add(index).read_unaligned() }
    });
    Ok(ids.map(|id| process.gpu(id).ok_or(Errno::EINVAL)).collect())
}

/// # Safety
/// As for [`named_gpus`].
pub(super) unsafe fn map(caller: &Caller, args: &mut MapMemory) -> Result<(), Errno> {
    let slot = caller.own_slot()?;
    let mut tables = caller.lock()?;
    let (index, _) = split_handle(&tables, slot, args.handle)?;
    let list = (args.device_ids_array_ptr, args.n_devices);
    // SAFETY: passed on.
    let gpus = unsafe { named_gpus(&tables.processes[slot], list, args.n_success)? };
    for gpu in gpus {
        map_buffer(caller.device, &mut tables, (slot, gpu?), index)?;
        args.n_success += 1;
    }
    Ok(())
}

/// Puts a buffer into the page table that its process has on a GPU.
pub(super) fn map_buffer(
    device: &Device,
    tables: &mut Tables,
    (slot, gpu): (usize, usize),
    index: usize,
) -> Result<(), Errno> {
    let buffer = *tables.buffers.get(index).ok_or(Errno::EINVAL)?;
    if buffer.mapped & 1 << gpu != 0 {
        return Ok(());
    }
    let object = tables
        .objects
        .get(buffer.object as usize)
        .ok_or(Errno::ENOENT)?;
    if !reaches(device, gpu, object.gpu as usize, object.place) {
        return Err(Errno::EINVAL);
    }
    let vm = tables.process(slot).ok_or(Errno::ESRCH)?.devices[gpu].vm;
    if vm == 0 || buffer.va == 0 {
        return Err(Errno::EINVAL);
    }
    let mut flags = PAGE_READABLE;
    if buffer.flags & WRITABLE != 0 || buffer.flags & (DOORBELL | MMIO_REMAP) != 0 {
        flags |= PAGE_WRITEABLE;
    }
    if buffer.flags & EXECUTABLE != 0 {
        flags |= PAGE_EXECUTABLE;
    }
    let mapping = Mapping {
        file: vm,
        object: buffer.object,
        va: buffer.va,
        size: buffer.size,
        object_offset: 0,
        flags,
        handle: 0,
    };
    insert_mapping(device, tables, mapping)?;
    if let Some(buffer) = tables.buffers.get_mut(index) {
        buffer.mapped |= 1 << gpu;
    }
    Ok(())
}

/// Whether a GPU reaches memory that is another's. The host's memory it always does; VRAM and registers
/// through a link of their own, or over PCIe where the whole of VRAM is seen from there
/// (`kfd_mem_attach` of amdgpu_amdkfd_gpuvm.c).
fn reaches(device: &Device, gpu: usize, owner: usize, place: u32) -> bool {
    let header = device.header();
    gpu == owner
        || matches!(place, place::GTT | place::USER)
        || header.links == Interconnect::Xgmi as u32
        || (header.links == Interconnect::Pcie as u32 && header.large_bar != 0)
}

/// Adds a mapping, with a reference to its object, where nothing is mapped yet.
pub(super) fn insert_mapping(
    device: &Device,
    tables: &mut Tables,
    mapping: Mapping,
) -> Result<(), Errno> {
    let end = mapping.va.checked_add(mapping.size).ok_or(Errno::EINVAL)?;
    let overlaps = tables.mappings.iter().any(|(_, other)| {
        other.file == mapping.file && other.va < end && mapping.va < other.va + other.size
    });
    if overlaps {
        return Err(Errno::EINVAL);
    }
    tables
        .objects
        .get_mut(mapping.object as usize)
        .ok_or(Errno::ENOENT)?
        .references += 1;
    if tables.mappings.insert(mapping).is_none() {
        device::release(device, tables, mapping.object as usize);
        return Err(Errno::ENOMEM);
    }
    changed(device, tables, mapping.file);
    Ok(())
}

/// Tells the workers of the process with this address space that it changed.
pub(super) fn changed(device: &Device, tables: &Tables, vm: u32) {
    for (slot, process) in tables.processes.iter().enumerate() {
        if process.id.is_nobody() {
            continue;
        }
        let epochs = &device.state().live[slot].mapping_epoch;
        for (gpu, epoch) in process.devices.iter().zip(epochs) {
            if gpu.vm == vm {
                epoch.fetch_add(1, Ordering::Release);
            }
        }
    }
}

/// Takes a buffer out of the page table that its process has on a GPU, if it is there.
fn unmap_buffer(device: &Device, tables: &mut Tables, (slot, gpu): (usize, usize), index: usize) {
    let Some(buffer) = tables.buffers.get_mut(index) else {
        return;
    };
    let was_mapped = buffer.mapped & 1 << gpu != 0;
    buffer.mapped &= !(1 << gpu);
    let buffer = *buffer;
    let process = tables.process(slot).filter(|_| was_mapped);
    let Some(vm) = process.map(|process| process.devices[gpu].vm) else {
        return;
    };
    let found = tables
        .mappings
        .iter()
        .find(|(_, m)| {
            m.file == vm && m.handle == 0 && m.va == buffer.va && m.object == buffer.object
        })
        .map(|(index, _)| index);
    if let Some(index) = found {
        tables.mappings.remove(index);
        changed(device, tables, vm);
        device::release(device, tables, buffer.object as usize);
    }
}

/// # Safety
/// As for [`named_gpus`].
pub(super) unsafe fn unmap(caller: &Caller, args: &mut UnmapMemory) -> Result<(), Errno> {
    let slot = caller.own_slot()?;
    let mut tables = caller.lock()?;
    let (index, _) = split_handle(&tables, slot, args.handle)?;
    let list = (args.device_ids_array_ptr, args.n_devices);
    // SAFETY: passed on.
    let gpus = unsafe { named_gpus(&tables.processes[slot], list, args.n_success)? };
    for gpu in gpus {
        unmap_buffer(caller.device, &mut tables, (slot, gpu?), index);
        args.n_success += 1;
    }
    Ok(())
}

pub(super) fn available(caller: &Caller, args: &mut AvailableMemory) -> Result<(), Errno> {
    let gpu = caller.gpu(args.gpu_id)?;
    let mut tables = caller.lock()?;
    reap(caller.device, &mut tables);
    let free = caller
        .device
        .header()
        .vram_bytes
        .saturating_sub(tables.vram_used[gpu]);
    // As the kernel: whole 2 MiB pages.
    args.available = free & !((2 << 20) - 1);
    Ok(())
}
