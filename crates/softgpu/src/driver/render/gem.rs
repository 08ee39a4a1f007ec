//! Graphics buffer objects: handles of one render file, and its address space.

use nix::errno::Errno;
use strobe_kfd::render::gem::{
    Close, Create, DOMAIN_GTT, DOMAIN_VRAM, GemOp, LIST_IS_IMPORT, ListEntry, ListHandles, Mmap,
    OP_GET_CREATE_INFO, OP_GET_MAPPING_INFO, OP_SET_PLACEMENT, Userptr, VA_CLEAR, VA_MAP,
    VA_REPLACE, VA_UNMAP, Va, VmEntry, WaitIdle,
};
use strobe_kfd::render::prime::{FdToHandle, HandleToFd};

use super::super::caller::{self, Caller};
use super::super::memory::{changed, insert_mapping};
use super::super::sharing::share;
use crate::device::{self, Device, GemHandle, Mapping, Object, Tables, place};

const PAGE: u64 = 4096;

/// The lowest handle of a file that is free; handles start at 1.
fn insert(tables: &mut Tables, file: usize, object: usize, entry: GemHandle) -> Result<u32, Errno> {
    let owner = file as u32 + 1;
    let mut used: Vec<u32> = tables
        .handles
        .iter()
        .filter(|(_, entry)| entry.file == owner)
        .map(|(_, entry)| entry.handle)
        .collect();
    used.sort_unstable();
    let handle = used
        .iter()
        .zip(1..)
        .find(|(used, n)| **used != *n)
        .map_or(used.len() as u32 + 1, |(_, n)| n);
    let entry = GemHandle {
        file: owner,
        handle,
        object: object as u32,
        ..entry
    };
    tables
        .handles
        .insert(entry)
        .map(|_| handle)
        .ok_or(Errno::ENOMEM)
}

pub(super) fn create(caller: &Caller, args: &mut Create) -> Result<(), Errno> {
    let file = caller.render_file()?;
    let mut tables = caller.lock()?;
    let kind = if args.domains & DOMAIN_VRAM != 0 {
        place::VRAM
    } else if args.domains & DOMAIN_GTT != 0 {
        place::GTT
    } else {
        return Err(Errno::EINVAL);
    };
    let place = (caller.render_gpu()?, kind);
    let object = device::allocate(caller.device, &mut tables, place, args.bo_size, 0)?;
    let entry = GemHandle {
        domains: args.domains,
        alloc_flags: args.domain_flags,
        alignment: args.alignment,
        ..GemHandle::default()
    };
    let handle = insert(&mut tables, file, object, entry)
        .inspect_err(|_| device::release(caller.device, &mut tables, object))?;
    args.reply(handle);
    Ok(())
}

pub(super) fn userptr(caller: &Caller, args: &mut Userptr) -> Result<(), Errno> {
    if args.addr == 0 || !args.addr.is_multiple_of(PAGE) || !args.size.is_multiple_of(PAGE) {
        return Err(Errno::EINVAL);
    }
    let file = caller.render_file()?;
    let place = (caller.render_gpu()?, place::USER);
    let mut tables = caller.lock()?;
    let object = device::allocate_elsewhere(&mut tables, place, args.addr, args.size, 0)?;
    let entry = GemHandle {
        domains: DOMAIN_GTT,
        ..GemHandle::default()
    };
    args.handle = insert(&mut tables, file, object, entry)
        .inspect_err(|_| device::release(caller.device, &mut tables, object))?;
    Ok(())
}

pub(super) fn close(caller: &Caller, args: &mut Close) -> Result<(), Errno> {
    let file = caller.used_render_file()?.ok_or(Errno::EINVAL)?;
    let mut tables = caller.lock()?;
    let tables = &mut *tables;
    let (index, entry) = tables.handle(file, args.handle).ok_or(Errno::EINVAL)?;
    // Mappings made through the handle go with it.
    while let Some(mapping) = tables
        .mappings
        .take(|mapping| mapping.file == entry.file && mapping.handle == entry.handle)
    {
        changed(caller.device, tables, mapping.file);
        device::release(caller.device, tables, mapping.object as usize);
    }
    tables.handles.remove(index);
    device::release(caller.device, tables, entry.object as usize);
    Ok(())
}

fn object(tables: &Tables, file: usize, handle: u32) -> Result<(usize, GemHandle, Object), Errno> {
    let (_, entry) = tables.handle(file, handle).ok_or(Errno::ENOENT)?;
    let object = tables
        .objects
        .get(entry.object as usize)
        .ok_or(Errno::ENOENT)?;
    Ok((entry.object as usize, entry, *object))
}

pub(super) fn mmap(caller: &Caller, args: &mut Mmap) -> Result<(), Errno> {
    let file = caller.used_render_file()?.ok_or(Errno::ENOENT)?;
    let (_, _, object) = object(&*caller.lock()?, file, args.handle())?;
    let hidden = object.place == place::VRAM && caller.device.header().large_bar == 0;
    // Another GPU's memory is mapped by the node of that.
    let foreign = object.gpu as usize != caller.render_gpu()?;
    if hidden || foreign || !matches!(object.place, place::VRAM | place::GTT) {
        return Err(Errno::EPERM);
    }
    args.word = object.offset;
    Ok(())
}

pub(super) fn handle_to_fd(caller: &Caller, args: &mut HandleToFd) -> Result<(), Errno> {
    let file = caller.used_render_file()?.ok_or(Errno::ENOENT)?;
    let tables = caller.lock()?;
    let (index, _, object) = object(&tables, file, args.handle)?;
    // As `amdgpu_gem_prime_export` says of user memory.
    if !matches!(object.place, place::VRAM | place::GTT) {
        return Err(Errno::EPERM);
    }
    args.fd = share(caller.device, &tables, index as u32)?;
    Ok(())
}

pub(super) fn fd_to_handle(caller: &Caller, args: &mut FdToHandle) -> Result<(), Errno> {
    let file = caller.render_file()?;
    let mut tables = caller.lock()?;
    let (index, object) = caller::dma_buf_object(caller.device, &tables, args.fd)?;
    let owner = file as u32 + 1;
    // One object has one handle in a file, however often it is imported.
    let known = tables
        .handles
        .iter()
        .find(|(_, e)| e.file == owner && e.object == index as u32);
    if let Some((_, entry)) = known {
        args.handle = entry.handle;
        return Ok(());
    }
    let domains = if object.place == place::VRAM {
        DOMAIN_VRAM
    } else {
        DOMAIN_GTT
    };
    let entry = GemHandle {
        domains,
        ..GemHandle::default()
    };
    args.handle = insert(&mut tables, file, index, entry)?;
    if let Some(object) = tables.objects.get_mut(index) {
        object.references += 1;
    }
    Ok(())
}

/// Execution is synchronous, so every object is always idle.
pub(super) fn wait_idle(args: &mut WaitIdle) -> Result<(), Errno> {
    args.handle_or_status = 0;
    args.flags_or_domain = 0;
    Ok(())
}

pub(super) fn va(caller: &Caller, args: &mut Va) -> Result<(), Errno> {
    let file = caller.render_file()?;
    let mut tables = caller.lock()?;
    let tables = &mut *tables;
    let aligned = [args.va_address, args.offset_in_bo, args.map_size];
    if aligned.iter().any(|word| !word.is_multiple_of(PAGE)) || args.map_size == 0 {
        return Err(Errno::EINVAL);
    }
    match args.operation {
        VA_MAP | VA_REPLACE => {
            let (index, entry, object) = object(tables, file, args.handle)?;
            let end = args
                .offset_in_bo
                .checked_add(args.map_size)
                .ok_or(Errno::EINVAL)?;
            if end > object.size {
                return Err(Errno::EINVAL);
            }
            if args.operation == VA_REPLACE {
                clear(
                    caller.device,
                    tables,
                    entry.file,
                    args.va_address,
                    args.map_size,
                )?;
            }
            let mapping = Mapping {
                file: entry.file,
                object: index as u32,
                va: args.va_address,
                size: args.map_size,
                object_offset: args.offset_in_bo,
                flags: args.flags,
                handle: entry.handle,
            };
            insert_mapping(caller.device, tables, mapping)
        }
        VA_UNMAP => {
            let (_, entry, _) = object(tables, file, args.handle)?;
            let found = tables.mappings.iter().find(|(_, m)| {
                m.file == entry.file && m.handle == entry.handle && m.va == args.va_address
            });
            let index = found.map(|(index, _)| index).ok_or(Errno::ENOENT)?;
            remove_mapping(caller.device, tables, index);
            Ok(())
        }
        VA_CLEAR => clear(
            caller.device,
            tables,
            file as u32 + 1,
            args.va_address,
            args.map_size,
        ),
        _ => Err(Errno::EINVAL),
    }
}

fn remove_mapping(device: &Device, tables: &mut Tables, index: usize) {
    let Some(mapping) = tables.mappings.get(index).copied() else {
        return;
    };
    tables.mappings.remove(index);
    changed(device, tables, mapping.file);
    device::release(device, tables, mapping.object as usize);
}

/// Unmaps a range; a mapping that sticks out of it is refused, not split.
fn clear(device: &Device, tables: &mut Tables, file: u32, va: u64, size: u64) -> Result<(), Errno> {
    let end = va.checked_add(size).ok_or(Errno::EINVAL)?;
    let inside: Vec<(usize, bool)> = tables
        .mappings
        .iter()
        .filter(|(_, m)| m.file == file && m.va < end && va < m.va + m.size)
        .map(|(index, m)| (index, m.va >= va && m.va + m.size <= end))
        .collect();
    if inside.iter().any(|(_, whole)| !whole) {
        return Err(Errno::EINVAL);
    }
    for (index, _) in inside {
        remove_mapping(device, tables, index);
    }
    Ok(())
}

/// # Safety
/// `value` must point to what the operation says.
pub(super) unsafe fn operate(caller: &Caller, args: &mut GemOp) -> Result<(), Errno> {
    let file = caller.used_render_file()?.ok_or(Errno::ENOENT)?;
    let tables = caller.lock()?;
    let (_, entry, object) = object(&tables, file, args.handle)?;
    match args.op {
        OP_GET_CREATE_INFO => {
            let info = Create {
                bo_size: object.size,
                alignment: entry.alignment.max(PAGE),
                domains: entry.domains,
                domain_flags: entry.alloc_flags,
            };
            if args.value == 0 {
                return Err(Errno::EFAULT);
            }
            // SAFETY: the caller's promise.
            unsafe { (args.value as *mut Create).write_unaligned(info) };
            Ok(())
        }
        OP_GET_MAPPING_INFO => {
            let entries: Vec<VmEntry> = tables
                .mappings
                .iter()
                .filter(|(_, m)| m.file == entry.file && m.object == entry.object)
                .map(|(_, m)| VmEntry {
                    addr: m.va,
                    size: m.size,
                    offset: m.object_offset,
                    flags: u64::from(m.flags),
                })
                .collect();
            // As the kernel of what was never mapped.
            if entries.is_empty() {
                return Err(Errno::ENOENT);
            }
            // SAFETY: the caller's promise.
            unsafe { fill(args.value, args.num_entries, &entries)? };
            args.num_entries = entries.len() as u32;
            Ok(())
        }
        OP_SET_PLACEMENT => Ok(()),
        _ => Err(Errno::EINVAL),
    }
}

/// # Safety
/// `entries` must be valid for the number beside it.
pub(super) unsafe fn list(caller: &Caller, args: &mut ListHandles) -> Result<(), Errno> {
    let Some(file) = caller.used_render_file()? else {
        args.num_entries = 0;
        return Ok(());
    };
    let gpu = caller.render_gpu()?;
    let tables = caller.lock()?;
    let owner = file as u32 + 1;
    let of = |entry: &GemHandle| {
        let object = tables.objects.get(entry.object as usize);
        let object = object.copied().unwrap_or_default();
        ListEntry {
            handle: entry.handle,
            // As amdgpu, to which an import of the same device is another handle of the object.
            flags: if object.gpu as usize == gpu {
                0
            } else {
                LIST_IS_IMPORT
            },
            size: object.size,
            preferred_domains: entry.domains,
            alloc_flags: entry.alloc_flags,
            alignment: entry.alignment,
        }
    };
    let handles = tables.handles.iter();
    let mut entries: Vec<ListEntry> = handles
        .filter(|(_, entry)| entry.file == owner)
        .map(|(_, entry)| of(entry))
        .collect();
    entries.sort_unstable_by_key(|entry| entry.handle);
    // SAFETY: the caller's promise.
    unsafe { fill(args.entries, args.num_entries, &entries)? };
    args.num_entries = entries.len() as u32;
    Ok(())
}

/// Copies the list when there is room for all of it (otherwise the caller asks again).
///
/// # Safety
/// `pointer` must be valid for `capacity` elements.
unsafe fn fill<T: Copy>(pointer: u64, capacity: u32, entries: &[T]) -> Result<(), Errno> {
    if entries.is_empty() || (capacity as usize) < entries.len() {
        return Ok(());
    }
    if pointer == 0 {
        return Err(Errno::EFAULT);
    }
    // SAFETY: there is room, by the test above; bytes need no alignment.
    unsafe {
        entries
            .as_ptr()
            .cast::<u8>()
            .copy_to_nonoverlapping(pointer as *mut u8, size_of_val(entries));
    }
    Ok(())
}
