//! Who asks, and on which file.

use std::os::fd::{AsFd, FromRawFd, OwnedFd};
use std::sync::OnceLock;
use std::sync::atomic::Ordering;

use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};

use crate::device::{
    Device, Locked, Object, PROCESSES, Process, ProcessDevice, RenderFile, Tables, fd, release,
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
        let (slot, pid) = self.any_slot()?;
        if pid == own_pid() {
            Ok(slot)
        } else {
            Err(Errno::EBADF)
        }
    }

    /// The slot and pid of the process whose file this is; a fresh file becomes the caller's.
    pub(crate) fn any_slot(&self) -> Result<(usize, u32), Errno> {
        match fd::meaning(self.device, self.fd)? {
            fd::Meaning::Slot(slot) => {
                let tables = self.lock()?;
                tables
                    .process(slot)
                    .map(|process| (slot, process.pid))
                    .ok_or(Errno::EBADF)
            }
            fd::Meaning::Fresh => {
                let slot = own_process(self.device, &mut *self.lock()?)?;
                fd::attach(self.device, self.fd, slot)?;
                Ok((slot, own_pid()))
            }
            fd::Meaning::DmaBuf { .. } => Err(Errno::EBADF),
        }
    }

    /// The render file of this descriptor.
    pub(crate) fn render_file(&self) -> Result<usize, Errno> {
        render_file(self.device, self.fd)
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
            let mut free = tables.render_files.iter().position(|file| file.pid == 0);
            if free.is_none() {
                reap(device, tables);
                free = tables.render_files.iter().position(|file| file.pid == 0);
            }
            let file = free.ok_or(Errno::ENFILE)?;
            tables.render_files[file] = RenderFile {
                pid: own_pid(),
                identity: identity(own_pid()),
                gpu: gpu as u32,
                ..RenderFile::default()
            };
            fd::attach(device, fd, file)?;
            Ok(file)
        }
        fd::Meaning::DmaBuf { .. } => Err(Errno::EBADF),
    }
}

pub(crate) fn own_pid() -> u32 {
    nix::unistd::getpid().as_raw().cast_unsigned()
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
/// everything the driver held for the process.
fn image_token() -> u64 {
    static TOKEN: OnceLock<u64> = OnceLock::new();
    *TOKEN.get_or_init(|| crate::clock::cpu_ns() | 1)
}

/// The slot of the calling process, made when there is none.
pub(crate) fn own_process(device: &Device, tables: &mut Tables) -> Result<usize, Errno> {
    let pid = own_pid();
    if let Some(slot) = find(tables, pid) {
        let process = &mut tables.processes[slot];
        if process.image == 0 {
            process.image = image_token();
        }
        if process.image == image_token() {
            return Ok(slot);
        }
        clear(device, tables, slot);
    }
    // A process that had our number before us: workers look for their process by it.
    while let Some(slot) = tables
        .processes
        .iter()
        .position(|process| process.pid == pid)
    {
        clear(device, tables, slot);
    }
    let mut free = tables.processes.iter().position(|process| process.pid == 0);
    if free.is_none() {
        reap(device, tables);
        free = tables.processes.iter().position(|process| process.pid == 0);
    }
    let slot = free.ok_or(Errno::EMFILE)?;
    tables.processes[slot] = Process {
        pid,
        identity: identity(pid),
        image: image_token(),
        devices: device.header().gpus.map(|gpu| ProcessDevice {
            user_id: gpu.id,
            ..ProcessDevice::default()
        }),
        ..Process::default()
    };
    let live = &device.state().live[slot];
    live.pause.store(0, Ordering::Relaxed);
    live.resident.store(0, Ordering::Relaxed);
    Ok(slot)
}

/// The slot of a process by pid.
pub(crate) fn find(tables: &Tables, pid: u32) -> Option<usize> {
    let known = identity(pid);
    (0..PROCESSES).find(|slot| {
        let process = &tables.processes[*slot];
        process.pid == pid && process.identity == known
    })
}

/// Frees what dead processes left.
pub(crate) fn reap(device: &Device, tables: &mut Tables) {
    for slot in 0..PROCESSES {
        let Process {
            pid,
            identity: known,
            ..
        } = tables.processes[slot];
        if pid != 0 && identity(pid) != known {
            clear(device, tables, slot);
        }
    }
    for file in 0..tables.render_files.len() {
        let RenderFile {
            pid,
            identity: known,
            ..
        } = tables.render_files[file];
        if pid != 0 && identity(pid) != known {
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
    let vms = tables.processes[slot].devices.map(|device| device.vm);
    tables.processes[slot] = Process::default();
    for vm in vms.into_iter().filter(|vm| *vm != 0) {
        close_render_file(device, tables, vm as usize - 1);
    }
}

fn close_render_file(device: &Device, tables: &mut Tables, file: usize) {
    let owner = file as u32 + 1;
    while let Some(mapping) = tables.mappings.take(|mapping| mapping.file == owner) {
        release(device, tables, mapping.object as usize);
    }
    while let Some(handle) = tables.handles.take(|handle| handle.file == owner) {
        release(device, tables, handle.object as usize);
    }
    tables.render_files[file] = RenderFile::default();
}

/// A number of the process that no other one has, ever (its inode in the kernel's pidfs; on kernels
/// without it the same for all); 0 when it does not exist any more. Start times will not do: they
/// look different from inside the time namespace that CRIU restores into.
pub(crate) fn identity(pid: u32) -> u64 {
    // SAFETY: no pointers.
    let fd = unsafe { libc::syscall(libc::SYS_pidfd_open, pid, 0) } as i32;
    if fd < 0 {
        return 0;
    }
    // SAFETY: the descriptor was opened above and belongs to nobody else.
    let fd = unsafe { OwnedFd::from_raw_fd(fd) };
    // Readable means that the process has ended.
    let mut ended = [PollFd::new(fd.as_fd(), PollFlags::POLLIN)];
    if poll(&mut ended, PollTimeout::ZERO) != Ok(0) {
        return 0;
    }
    nix::sys::stat::fstat(&fd).map_or(0, |stat| stat.st_ino)
}
