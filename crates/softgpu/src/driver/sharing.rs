//! Buffers of the compute driver that other files and processes have, too: by a dma-buf, or by the number
//! that AMD's out-of-tree driver gives them.
//!
//! Upstream's driver knows no such number. Who asks it for one is told EINVAL, as there, and HIP's
//! `hipIpcGetMemHandle` fails; so it is here, unless the environment was made with them.

use nix::errno::Errno;
use strobe_kfd::memory::{
    COHERENT, EXECUTABLE, ExportDmabuf, GTT, GetDmabufInfo, ImportDmabuf, IpcExportHandle,
    IpcImportHandle, VRAM, WRITABLE,
};

use super::caller::{Caller, dma_buf_object};
use super::memory::{NewBuffer, insert, split_handle};
use super::request::{Named, number_of, unknown};
use crate::device::{Buffer, Device, Object, Tables, fd, place};

pub(super) fn export_dma_buf(caller: &Caller, args: &mut ExportDmabuf) -> Result<(), Errno> {
    let slot = caller.own_slot()?;
    let tables = caller.lock()?;
    let (_, buffer) = split_handle(&tables, slot, args.handle)?;
    args.dmabuf_fd = share(caller.device, &tables, buffer.object)?.cast_unsigned();
    Ok(())
}

/// A dma-buf of an object in a memory device.
pub(super) fn share(device: &Device, tables: &Tables, object: u32) -> Result<i32, Errno> {
    let found = tables.objects.get(object as usize).ok_or(Errno::ENOENT)?;
    if !matches!(found.place, place::VRAM | place::GTT) {
        return Err(Errno::EINVAL);
    }
    fd::dma_buf(device, found.gpu as usize, object as usize, found.serial)
}

/// What kind of memory an object in a memory device is, as an allocation flag.
fn kind(object: &Object) -> u32 {
    if object.place == place::VRAM {
        VRAM
    } else {
        GTT
    }
}

pub(super) fn dma_buf_info(caller: &Caller, args: &mut GetDmabufInfo) -> Result<(), Errno> {
    let slot = caller.own_slot()?;
    let tables = caller.lock()?;
    let (_, object) = dma_buf_object(caller.device, &tables, args.dmabuf_fd.cast_signed())?;
    args.size = object.size;
    args.metadata_size = 0;
    args.gpu_id = tables.processes[slot].devices[object.gpu as usize].user_id;
    args.flags = kind(&object);
    Ok(())
}

pub(super) fn import_dma_buf(caller: &Caller, args: &mut ImportDmabuf) -> Result<(), Errno> {
    let slot = caller.own_slot()?;
    let mut tables = caller.lock()?;
    let (object, _) = dma_buf_object(caller.device, &tables, args.dmabuf_fd.cast_signed())?;
    let place = (args.gpu_id, args.va_addr);
    let buffer = import(caller.device, &mut tables, slot, object, place)?;
    args.handle = u64::from(args.gpu_id) << 32 | u64::from(buffer.index);
    Ok(())
}

/// Makes a buffer, at an address on a GPU, of an object that exists.
fn import(
    device: &Device,
    tables: &mut Tables,
    slot: usize,
    object: usize,
    (gpu_id, va): (u32, u64),
) -> Result<Buffer, Errno> {
    let process = tables.process(slot).ok_or(Errno::ESRCH)?;
    let gpu = process.acquired(gpu_id).ok_or(Errno::EINVAL)?;
    let shared = tables.objects.get_mut(object).ok_or(Errno::ENOENT)?;
    shared.references += 1;
    let new = NewBuffer {
        gpu,
        va,
        size: shared.size,
        flags: kind(shared) | WRITABLE | EXECUTABLE | COHERENT,
        host: 0,
        index: None,
    };
    insert(device, tables, slot, &new, object)
}

fn knows_numbers(device: &Device, request: u8) -> Result<(), Errno> {
    static NAMED: Named = Named::new();
    if device.header().ipc == 0 {
        return Err(unknown(&NAMED, "KFD", request));
    }
    Ok(())
}

pub(super) fn export_handle(caller: &Caller, args: &mut IpcExportHandle) -> Result<(), Errno> {
    knows_numbers(caller.device, number_of::<IpcExportHandle>())?;
    let slot = caller.own_slot()?;
    let mut tables = caller.lock()?;
    let (_, buffer) = split_handle(&tables, slot, args.handle)?;
    let objects = &mut tables.objects;
    let object = objects
        .get_mut(buffer.object as usize)
        .ok_or(Errno::ENOENT)?;
    if !matches!(object.place, place::VRAM | place::GTT) {
        return Err(Errno::EINVAL);
    }
    // One object has one number, for as long as anybody has it.
    if object.share_handle == [0; 4] {
        object.share_handle = random()?;
    }
    args.share_handle = object.share_handle;
    Ok(())
}

pub(super) fn import_handle(caller: &Caller, args: &mut IpcImportHandle) -> Result<(), Errno> {
    knows_numbers(caller.device, number_of::<IpcImportHandle>())?;
    let slot = caller.own_slot()?;
    let mut tables = caller.lock()?;
    if args.share_handle == [0; 4] {
        return Err(Errno::EINVAL);
    }
    let (index, object) = shared_by(&tables, args.share_handle).ok_or(Errno::EINVAL)?;
    let place = (args.gpu_id, args.va_addr);
    let buffer = import(caller.device, &mut tables, slot, index, place)?;
    args.handle = u64::from(args.gpu_id) << 32 | u64::from(buffer.index);
    // Mapped by the render node of the GPU that it was asked for on.
    let mapped = buffer.gpu == object.gpu
        && (object.place == place::GTT || caller.device.header().large_bar != 0);
    args.mmap_offset = if mapped { object.offset } else { 0 };
    args.flags = buffer.flags;
    Ok(())
}

fn shared_by(tables: &Tables, number: [u32; 4]) -> Option<(usize, Object)> {
    let mut objects = tables.objects.iter();
    let (index, object) = objects.find(|(_, object)| object.share_handle == number)?;
    Some((index, *object))
}

fn random() -> Result<[u32; 4], Errno> {
    let mut number = [0; 4];
    let bytes = size_of_val(&number);
    // SAFETY: room for as many bytes.
    let filled = unsafe { libc::getrandom(number.as_mut_ptr().cast(), bytes, 0) };
    if filled == bytes as isize {
        Ok(number)
    } else {
        Err(Errno::EAGAIN)
    }
}
