//! Buffer objects of the compute driver.

use std::sync::atomic::Ordering;

use nix::errno::Errno;
use strobe_kfd::memory::{
    AllocMemory, AvailableMemory, COHERENT, DOORBELL, EXECUTABLE, ExportDmabuf, FreeMemory, GTT,
    GetDmabufInfo, ImportDmabuf, MMIO_REMAP, MapMemory, USERPTR, UnmapMemory, VRAM, WRITABLE,
};
use strobe_kfd::render::gem::{PAGE_EXECUTABLE, PAGE_READABLE, PAGE_WRITEABLE};

use super::caller::{Caller, dma_buf_object, reap};
use crate::device::{
    self, Buffer, DOORBELL_BYTES, Device, MMIO_OFFSET, Mapping, Object, Tables, doorbell_page, fd,
    place,
};

const PAGE: u64 = 4096;

/// What a process asks for, without where it goes.
pub(super) struct NewBuffer {
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
    if args.gpu_id != tables.processes[slot].gpu_id || tables.processes[slot].vm == 0 {
        return Err(Errno::EINVAL);
    }
    let new = NewBuffer {
        va: args.va_addr,
        size: args.size,
        flags: args.flags,
        host: args.mmap_offset,
        index: None,
    };
    let buffer = create(caller.device, &mut tables, slot, &new)?;
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
        VRAM => allocate_or_reap(device, tables, place::VRAM, size, new.flags)?,
        GTT => allocate_or_reap(device, tables, place::GTT, size, new.flags)?,
        USERPTR if new.host.is_multiple_of(PAGE) && new.host != 0 => {
            device::allocate_elsewhere(tables, place::USER, new.host, size, new.flags)?
        }
        DOORBELL if size <= DOORBELL_BYTES => {
            let page = doorbell_page(slot);
            device::allocate_elsewhere(tables, place::STATE, page, size, new.flags)?
        }
        MMIO_REMAP if size == PAGE => {
            let page = doorbell_page(slot) + MMIO_OFFSET;
            device::allocate_elsewhere(tables, place::STATE, page, size, new.flags)?
        }
        _ => return Err(Errno::EINVAL),
    };
    insert(device, tables, slot, new, object)
}

fn insert(
    device: &Device,
    tables: &mut Tables,
    slot: usize,
    new: &NewBuffer,
    object: usize,
) -> Result<Buffer, Errno> {
    let index = new.index.or_else(|| free_index(tables, slot));
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
        padding: 0,
    };
    let inserted = index.and_then(|_| tables.buffers.insert(buffer));
    if inserted.is_none() {
        device::release(device, tables, object);
        return Err(Errno::ENOMEM);
    }
    Ok(buffer)
}

/// The lowest index that no buffer of the process has.
fn free_index(tables: &Tables, slot: usize) -> Option<u32> {
    let owner = slot as u32 + 1;
    let mut used: Vec<u32> = tables
        .buffers
        .iter()
        .filter(|(_, buffer)| buffer.owner == owner)
        .map(|(_, buffer)| buffer.index)
        .collect();
    used.sort_unstable();
    (0..=used.len() as u32).find(|index| used.get(*index as usize) != Some(index))
}

/// Allocates; when memory is short, once more after freeing what dead processes hold.
fn allocate_or_reap(
    device: &Device,
    tables: &mut Tables,
    kind: u32,
    size: u64,
    flags: u32,
) -> Result<usize, Errno> {
    device::allocate(device, tables, kind, size, flags).or_else(|_| {
        reap(device, tables);
        device::allocate(device, tables, kind, size, flags)
    })
}

fn split_handle(tables: &Tables, slot: usize, handle: u64) -> Result<(usize, Buffer), Errno> {
    let gpu_id = tables.process(slot).ok_or(Errno::ESRCH)?.gpu_id;
    if handle >> 32 != u64::from(gpu_id) {
        return Err(Errno::EINVAL);
    }
    tables.buffer(slot, handle as u32).ok_or(Errno::EINVAL)
}

pub(super) fn free(caller: &Caller, args: &mut FreeMemory) -> Result<(), Errno> {
    let slot = caller.own_slot()?;
    let mut tables = caller.lock()?;
    let (index, buffer) = split_handle(&tables, slot, args.handle)?;
    if buffer.mapped != 0 {
        unmap_buffer(caller.device, &mut tables, slot, &buffer);
    }
    tables.buffers.remove(index);
    device::release(caller.device, &mut tables, buffer.object as usize);
    Ok(())
}

/// # Safety
/// The array pointer must be valid for the number of elements beside it.
unsafe fn checks_devices(gpu_id: u32, pointer: u64, count: u32) -> Result<(), Errno> {
    if count == 0 || pointer == 0 {
        return Err(Errno::EINVAL);
    }
    for index in 0..count as usize {
        // SAFETY: inside the array, by the caller's promise.
        let id = unsafe { (pointer as *const u32).add(index).read_unaligned() };
        if id != gpu_id {
            return Err(Errno::EINVAL);
        }
    }
    Ok(())
}

/// # Safety
/// As for [`checks_devices`].
pub(super) unsafe fn map(caller: &Caller, args: &mut MapMemory) -> Result<(), Errno> {
    let slot = caller.own_slot()?;
    let mut tables = caller.lock()?;
    let (index, buffer) = split_handle(&tables, slot, args.handle)?;
    // SAFETY: passed on.
    unsafe {
        checks_devices(
            tables.processes[slot].gpu_id,
            args.device_ids_array_ptr,
            args.n_devices,
        )?;
    }
    map_buffer(caller.device, &mut tables, slot, index, buffer)?;
    args.n_success = args.n_devices;
    Ok(())
}

/// Puts a buffer into the page table of its process.
pub(super) fn map_buffer(
    device: &Device,
    tables: &mut Tables,
    slot: usize,
    index: usize,
    buffer: Buffer,
) -> Result<(), Errno> {
    if buffer.mapped != 0 {
        return Ok(());
    }
    let vm = tables.process(slot).ok_or(Errno::ESRCH)?.vm;
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
        buffer.mapped = 1;
    }
    Ok(())
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
        if process.pid != 0 && process.vm == vm {
            device.state().live[slot]
                .mapping_epoch
                .fetch_add(1, Ordering::Release);
        }
    }
}

fn unmap_buffer(device: &Device, tables: &mut Tables, slot: usize, buffer: &Buffer) {
    let Some(vm) = tables.process(slot).map(|process| process.vm) else {
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
/// As for [`checks_devices`].
pub(super) unsafe fn unmap(caller: &Caller, args: &mut UnmapMemory) -> Result<(), Errno> {
    let slot = caller.own_slot()?;
    let mut tables = caller.lock()?;
    let (index, buffer) = split_handle(&tables, slot, args.handle)?;
    // SAFETY: passed on.
    unsafe {
        checks_devices(
            tables.processes[slot].gpu_id,
            args.device_ids_array_ptr,
            args.n_devices,
        )?;
    }
    if buffer.mapped != 0 {
        unmap_buffer(caller.device, &mut tables, slot, &buffer);
        if let Some(buffer) = tables.buffers.get_mut(index) {
            buffer.mapped = 0;
        }
    }
    args.n_success = args.n_devices;
    Ok(())
}

pub(super) fn available(caller: &Caller, args: &mut AvailableMemory) -> Result<(), Errno> {
    caller.own_slot()?;
    let mut tables = caller.lock()?;
    reap(caller.device, &mut tables);
    let free = caller
        .device
        .header()
        .vram_bytes
        .saturating_sub(tables.vram_used);
    // As the kernel: whole 2 MiB pages.
    args.available = free & !((2 << 20) - 1);
    Ok(())
}

pub(super) fn export_dma_buf(caller: &Caller, args: &mut ExportDmabuf) -> Result<(), Errno> {
    let slot = caller.own_slot()?;
    let tables = caller.lock()?;
    let (_, buffer) = split_handle(&tables, slot, args.handle)?;
    args.dmabuf_fd = share(caller.device, &tables, buffer.object)?.cast_unsigned();
    Ok(())
}

/// A dma-buf of an object in the memory device.
pub(super) fn share(device: &Device, tables: &Tables, object: u32) -> Result<i32, Errno> {
    let found = tables.objects.get(object as usize).ok_or(Errno::ENOENT)?;
    if !matches!(found.place, place::VRAM | place::GTT) {
        return Err(Errno::EINVAL);
    }
    fd::dma_buf(device, object as usize, found.serial)
}

pub(super) fn dma_buf_info(caller: &Caller, args: &mut GetDmabufInfo) -> Result<(), Errno> {
    let slot = caller.own_slot()?;
    let tables = caller.lock()?;
    let (_, object) = dma_buf_object(caller.device, &tables, args.dmabuf_fd.cast_signed())?;
    args.size = object.size;
    args.metadata_size = 0;
    args.gpu_id = tables.processes[slot].gpu_id;
    args.flags = if object.place == place::VRAM {
        VRAM
    } else {
        GTT
    };
    Ok(())
}

pub(super) fn import_dma_buf(caller: &Caller, args: &mut ImportDmabuf) -> Result<(), Errno> {
    let slot = caller.own_slot()?;
    let mut tables = caller.lock()?;
    if args.gpu_id != tables.processes[slot].gpu_id {
        return Err(Errno::EINVAL);
    }
    let (index, object) = dma_buf_object(caller.device, &tables, args.dmabuf_fd.cast_signed())?;
    if let Some(object) = tables.objects.get_mut(index) {
        object.references += 1;
    }
    let kind = if object.place == place::VRAM {
        VRAM
    } else {
        GTT
    };
    let new = NewBuffer {
        va: args.va_addr,
        size: object.size,
        flags: kind | WRITABLE | EXECUTABLE | COHERENT,
        host: 0,
        index: None,
    };
    let buffer = insert(caller.device, &mut tables, slot, &new, index)?;
    args.handle = u64::from(args.gpu_id) << 32 | u64::from(buffer.index);
    Ok(())
}
