//! Who asks, and on which file.

use std::sync::OnceLock;
use std::sync::atomic::Ordering;

use nix::errno::Errno;

use crate::device::{
    Device, Locked, Object, PROCESSES, Process, ProcessDevice, ProcessId, RenderFile, Tables, fd,
    release,
};
use crate::worker::Engines;

/// The process that makes a request, and the file it makes it on.
pub(crate) struct Caller {
    pub(crate) device: &'static Device,
    pub(crate) engines: &'static Engines,
    pub(crate) fd: i32,
}

impl Caller {
    /// The GPU of its render node.
    pub(crate) fn render_gpu(&self) -> Result<usize, Errno> {
        match fd::node(self.device, self.fd) {
            Some(fd::Node::Render(gpu)) => Ok(gpu),
            _ => Err(Errno::ENOTTY),
        }
    }

    /// The GPU that the calling process knows by an id.
    pub(crate) fn gpu(&self, user_id: u32) -> Result<usize, Errno> {
        let slot = self.own_slot()?;
        let tables = self.lock()?;
        let process = tables.process(slot).ok_or(Errno::ESRCH)?;
        process.gpu(user_id).ok_or(Errno::EINVAL)
    }

    pub(crate) fn lock(&self) -> Result<Locked<'static>, Errno> {
        Ok(self.device.lock()?)
    }

    /// The slot of the calling process.
    ///
    /// # Errors
    /// `EBADF` on a file of another process, as the kernel says.
    pub(crate) fn own_slot(&self) -> Result<usize, Errno> {
        if fd::meaning(self.device, self.fd)? == fd::Meaning::Fresh {
            let mut tables = self.lock()?;
            let slot = own_process(self.device, &mut tables)?;
            fd::attach(self.device, self.fd, slot)?;
            return Ok(slot);
        }
        let (slot, id) = self.any_slot()?;
        if id.is_own() {
            Ok(slot)
        } else {
            Err(Errno::EBADF)
        }
    }

    /// The slot of the process whose file this is, and who that is.
    ///
    /// # Errors
    /// `EAGAIN` for a fresh file: amdkfd knows who opened it, and here nothing says so before that process's first
    /// request. It never becomes the caller's, who may be CRIU.
    pub(crate) fn any_slot(&self) -> Result<(usize, ProcessId), Errno> {
        match fd::meaning(self.device, self.fd)? {
            fd::Meaning::Slot(slot) => {
                let tables = self.lock()?;
                tables
                    .process(slot)
                    .map(|process| (slot, process.id))
                    .ok_or(Errno::EBADF)
            }
            fd::Meaning::Fresh => Err(Errno::EAGAIN),
            fd::Meaning::DmaBuf { .. } => Err(Errno::EBADF),
        }
    }

    /// The render file of this descriptor; a fresh one becomes the caller's.
    pub(crate) fn render_file(&self) -> Result<usize, Errno> {
        render_file(self.device, self.fd)
    }

    /// The render file of this descriptor, for a request about what it has. A fresh one has nothing and stays fresh:
    /// CRIU asks this of a program's files.
    pub(crate) fn used_render_file(&self) -> Result<Option<usize>, Errno> {
        match fd::meaning(self.device, self.fd)? {
            fd::Meaning::Fresh => Ok(None),
            _ => render_file(self.device, self.fd).map(Some),
        }
    }
}

/// The render file that `fd` stands for; a fresh one gets a new one.
pub(crate) fn render_file(device: &Device, fd: i32) -> Result<usize, Errno> {
    match fd::meaning(device, fd)? {
        fd::Meaning::Slot(file) => Ok(file),
        fd::Meaning::Fresh => {
            let Some(fd::Node::Render(gpu)) = fd::node(device, fd) else {
                return Err(Errno::EBADF);
            };
            let mut tables = device.lock()?;
            let tables = &mut *tables;
            let free = |tables: &Tables| {
                let mut files = tables.render_files.iter();
                files.position(|file| file.id.is_nobody())
            };
            let file = free(tables).or_else(|| {
                reap(device, tables);
                free(tables)
            });
            let file = file.ok_or(Errno::ENFILE)?;
            tables.render_files[file] = RenderFile {
                id: ProcessId::own()?,
                gpu: gpu as u32,
                ..RenderFile::default()
            };
            fd::attach(device, fd, file)?;
            Ok(file)
        }
        fd::Meaning::DmaBuf { .. } => Err(Errno::EBADF),
    }
}

/// The object a dma-buf descriptor names.
pub(crate) fn dma_buf_object(
    device: &Device,
    tables: &Tables,
    dma_buf: i32,
) -> Result<(usize, Object), Errno> {
    let Some(fd::Node::Render(_)) = fd::node(device, dma_buf) else {
        return Err(Errno::EINVAL);
    };
    let fd::Meaning::DmaBuf { object, serial } = fd::meaning(device, dma_buf)? else {
        return Err(Errno::EINVAL);
    };
    let found = tables.objects.get(object).ok_or(Errno::ENOENT)?;
    if found.serial as u8 == serial {
        Ok((object, *found))
    } else {
        Err(Errno::ENOENT)
    }
}

/// A number of this program image: other after exec, which replaces the address space and with it
/// everything the driver held for the process. It lies in the program's memory: a restored program has the one
/// that it had.
fn image_token() -> u32 {
    static TOKEN: OnceLock<u32> = OnceLock::new();
    *TOKEN.get_or_init(|| crate::clock::cpu_ns() as u32)
}

/// The slot of the calling process, made when there is none.
pub(crate) fn own_process(device: &Device, tables: &mut Tables) -> Result<usize, Errno> {
    let own = ProcessId::own()?;
    if let Some(slot) = tables.slot_of(own.pid)? {
        if tables.processes[slot].image == image_token() {
            return Ok(slot);
        }
        clear(device, tables, slot);
    }
    let free = |tables: &Tables| {
        let mut processes = tables.processes.iter();
        processes.position(|process| process.id.is_nobody())
    };
    reap(device, tables);
    let slot = free(tables).ok_or(Errno::EMFILE)?;
    tables.processes[slot] = Process {
        id: own,
        image: image_token(),
        devices: device.header().gpus.map(|gpu| ProcessDevice {
            user_id: gpu.id,
            ..ProcessDevice::default()
        }),
        ..Process::default()
    };
    let live = &device.state().live[slot];
    live.begin();
    live.resident.store(0, Ordering::Relaxed);
    begin_tenancy(device, tables, slot);
    Ok(slot)
}

/// What the threads of a process remember of the slot is out of date from now on: they look for it anew.
pub(super) fn begin_tenancy(device: &Device, tables: &mut Tables, slot: usize) {
    tables.tenancies += 1;
    let tenancy = device.header().generation.wrapping_add(tables.tenancies);
    device.state().live[slot]
        .tenancy
        .store(tenancy.max(1), Ordering::Release);
}

/// Frees what dead processes left, of those whose numbers mean something to the calling process. The keeper of
/// the environment frees what others left.
pub(crate) fn reap(device: &Device, tables: &mut Tables) {
    reap_those(device, tables, |id| {
        id.is_of_our_namespace() && id.has_ended(id.pid)
    });
}

/// Frees what those processes left.
pub(crate) fn reap_those(
    device: &Device,
    tables: &mut Tables,
    are_dead: impl Fn(&ProcessId) -> bool,
) {
    let is_dead = |id: &ProcessId| !id.is_nobody() && are_dead(id);
    for slot in 0..PROCESSES {
        if is_dead(&tables.processes[slot].id) {
            clear(device, tables, slot);
        }
    }
    for file in 0..tables.render_files.len() {
        if is_dead(&tables.render_files[file].id) {
            close_render_file(device, tables, file);
        }
    }
}

/// Frees everything of a process slot.
fn clear(device: &Device, tables: &mut Tables, slot: usize) {
    let owner = slot as u32 + 1;
    for queue in &mut tables.queues {
        if queue.owner == owner {
            queue.owner = 0;
        }
    }
    while let Some(buffer) = tables.buffers.take(|buffer| buffer.owner == owner) {
        release(device, tables, buffer.object as usize);
    }
    for event in &device.state().live[slot].events {
        event.kind.store(0, Ordering::Release);
    }
    device.state().live[slot]
        .tenancy
        .store(0, Ordering::Release);
    let vms = tables.processes[slot].devices.map(|device| device.vm);
    tables.processes[slot] = Process::default();
    for vm in vms.into_iter().filter(|vm| *vm != 0) {
        close_render_file(device, tables, vm as usize - 1);
    }
}

fn close_render_file(device: &Device, tables: &mut Tables, file: usize) {
    let owner = file as u32 + 1;
    // Whoever is found dead only later must not take along what is another's by then.
    let devices = tables.processes.iter_mut().flat_map(|p| &mut p.devices);
    for device in devices.filter(|device| device.vm == owner) {
        device.vm = 0;
    }
    while let Some(mapping) = tables.mappings.take(|mapping| mapping.file == owner) {
        release(device, tables, mapping.object as usize);
    }
    while let Some(handle) = tables.handles.take(|handle| handle.file == owner) {
        release(device, tables, handle.object as usize);
    }
    tables.render_files[file] = RenderFile::default();
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;
    use crate::device::Mapping;

    #[test]
    fn who_is_found_dead_later_takes_nothing_of_what_another_has_by_then() {
        let device = Device::anonymous();
        let mut tables = device.lock().expect("the lock");
        let tables = &mut *tables;
        let [dying, new] = [1, 2].map(|pid| {
            let mut id = ProcessId::own().expect("it runs");
            id.pid = pid;
            id
        });
        let of = |tables: &mut Tables, slot: usize, id| {
            tables.processes[slot].id = id;
            tables.processes[slot].devices[0].vm = 1;
            tables.render_files[0].id = id;
        };
        of(tables, 0, dying);
        // It ends after a look at its slot, before the one at its file.
        let looks = Cell::new(0);
        reap_those(&device, tables, |id| {
            *id == dying && looks.replace(looks.get() + 1) > 0
        });
        assert!(tables.render_files[0].id.is_nobody() && tables.processes[0].id == dying);
        of(tables, 1, new);
        let mapping = Mapping {
            file: 1,
            size: 0x1000,
            ..Mapping::default()
        };
        tables.mappings.insert(mapping).expect("there is room");
        reap_those(&device, tables, |id| *id == dying);
        assert!(tables.processes[0].id.is_nobody());
        assert_eq!(tables.mappings.iter().count(), 1);
        assert_eq!(tables.render_files[0].id, new);
    }
}
