//! A render node: buffer objects in an address space of our own, and copies by its DMA engine.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::path::Path;
use std::ptr::NonNull;

use drm::buffer::Handle;
use drm::control::{Device as _, from_u32};
use nix::sys::mman::{MapFlags, ProtFlags, mmap, mmap_anonymous, munmap};

use crate::render::context::{self, BoList, BoListEntry, Ctx};
use crate::render::gem::{self, Create, Mmap, Userptr, Va};
use crate::render::info::{self, DeviceInfo, Info};
use crate::render::submit::{self, Chunk, ChunkIb, Submit, WaitSubmit};

/// Userptr flags (`AMDGPU_GEM_USERPTR_*`): anonymous memory only, pin now, follow its changes.
const USERPTR_FLAGS: u32 = 1 << 1 | 1 << 2 | 1 << 3;
/// The CPU may map it (`AMDGPU_GEM_CREATE_CPU_ACCESS_REQUIRED`).
const CPU_ACCESS_REQUIRED: u64 = 1;
const PAGE: usize = 4096;

/// An open render node. What all DRM drivers have in common is the drm crate's, the rest is here.
#[derive(Debug)]
pub struct RenderNode(File);

impl drm::Device for RenderNode {}
impl drm::control::Device for RenderNode {}

impl RenderNode {
    /// Opens a render node for reading and writing.
    pub fn open(path: &Path) -> io::Result<Self> {
        OpenOptions::new()
            .read(true)
            .write(true)
            .open(path)
            .map(Self)
    }

    /// Family, address range and more of the device.
    pub fn device_info(&self) -> io::Result<DeviceInfo> {
        let mut reply = DeviceInfo::default();
        let mut args = Info {
            return_pointer: &raw mut reply as u64,
            return_size: size_of::<DeviceInfo>() as u32,
            query: info::DEV_INFO,
            ..Info::default()
        };
        // SAFETY: `return_pointer` is to a live struct of `return_size` bytes that is valid for
        // every bit pattern.
        unsafe { crate::ioctl::call(self.as_fd(), &mut args) }?;
        Ok(reply)
    }

    /// Imports a dma-buf.
    pub fn import(&self, dmabuf: BorrowedFd<'_>) -> io::Result<Buffer<'_>> {
        Ok(Buffer {
            node: self,
            handle: self.prime_fd_to_buffer(dmabuf)?,
            mapped: Vec::new(),
        })
    }

    /// Lets the device access anonymous host memory.
    pub fn share(&self, memory: HostMemory) -> io::Result<SharedMemory<'_>> {
        let mut args = Userptr {
            addr: memory.base.as_ptr() as u64,
            size: memory.len as u64,
            flags: USERPTR_FLAGS,
            handle: 0,
        };
        // SAFETY: the range is a live mapping, which `SharedMemory` unmaps only after the buffer
        // is closed.
        unsafe { crate::ioctl::call(self.as_fd(), &mut args) }?;
        let buffer = Buffer {
            node: self,
            handle: handle(args.handle)?,
            mapped: Vec::new(),
        };
        Ok(SharedMemory { buffer, memory })
    }

    /// Makes a buffer in system memory that CPU and device both map.
    pub fn create_gtt(&self, len: usize) -> io::Result<Buffer<'_>> {
        let mut args = Create {
            bo_size: len as u64,
            alignment: PAGE as u64,
            domains: gem::DOMAIN_GTT,
            domain_flags: CPU_ACCESS_REQUIRED,
        };
        // SAFETY: the block holds no pointers.
        unsafe { crate::ioctl::call(self.as_fd(), &mut args) }?;
        Ok(Buffer {
            node: self,
            handle: handle(args.handle())?,
            mapped: Vec::new(),
        })
    }

    /// A submission context.
    pub fn context(&self) -> io::Result<Context<'_>> {
        let mut args = Ctx {
            op: context::CTX_ALLOC,
            ..Ctx::default()
        };
        // SAFETY: the block holds no pointers.
        unsafe { crate::ioctl::call(self.as_fd(), &mut args) }?;
        // The reply starts with the context's number, where the operation was.
        Ok(Context {
            node: self,
            id: args.op,
        })
    }

    fn va(&self, operation: u32, handle: Handle, flags: u32, at: u64, len: u64) -> io::Result<()> {
        let mut args = Va {
            handle: handle.into(),
            pad: 0,
            operation,
            flags,
            va_address: at,
            offset_in_bo: 0,
            map_size: len,
        };
        // SAFETY: the block holds no pointers into our memory; the address is the device's.
        unsafe { crate::ioctl::call(self.as_fd(), &mut args) }
    }
}

impl AsFd for RenderNode {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

/// A buffer object; unmapped and closed when dropped.
#[derive(Debug)]
pub struct Buffer<'a> {
    node: &'a RenderNode,
    handle: Handle,
    mapped: Vec<(u64, u64)>,
}

/// A handle that the driver has given; 0 is none.
fn handle(given: u32) -> io::Result<Handle> {
    from_u32(given).ok_or_else(|| io::ErrorKind::InvalidData.into())
}

impl Buffer<'_> {
    /// Maps the first `len` bytes at an address of the node's address space.
    pub fn map_at(&mut self, address: u64, len: u64) -> io::Result<()> {
        let flags = gem::PAGE_READABLE | gem::PAGE_WRITEABLE | gem::PAGE_EXECUTABLE;
        self.node
            .va(gem::VA_MAP, self.handle, flags, address, len)?;
        self.mapped.push((address, len));
        Ok(())
    }

    /// Maps the first `len` bytes of a buffer made for the CPU into our memory.
    pub fn map_for_cpu(&self, len: usize) -> io::Result<HostMemory> {
        let mut args = Mmap::new(self.handle.into());
        // SAFETY: the block holds no pointers.
        unsafe { crate::ioctl::call(self.node.as_fd(), &mut args) }?;
        let offset = i64::try_from(args.word).map_err(io::Error::other)?;
        let size = len
            .try_into()
            .map_err(|_| io::Error::from(io::ErrorKind::InvalidInput))?;
        let protection = ProtFlags::PROT_READ | ProtFlags::PROT_WRITE;
        // SAFETY: a fresh mapping at an address of the kernel's choice.
        let base = unsafe {
            mmap(
                None,
                size,
                protection,
                MapFlags::MAP_SHARED,
                self.node,
                offset,
            )
        }?;
        Ok(HostMemory {
            base: base.cast(),
            len,
        })
    }
}

impl Drop for Buffer<'_> {
    fn drop(&mut self) {
        // Closing the node does the same; an error here has no other remedy.
        for &(address, len) in &self.mapped {
            let _ = self.node.va(gem::VA_UNMAP, self.handle, 0, address, len);
        }
        let _ = self.node.close_buffer(self.handle);
    }
}

/// Memory of ours that the device may read and write at any time while it is shared: it is only
/// ever accessed by copying, never through references.
#[derive(Debug)]
pub struct HostMemory {
    base: NonNull<u8>,
    len: usize,
}

// SAFETY: the mapping belongs to this value alone and all accesses are copies that bound-check;
// moving it to another thread changes nothing.
unsafe impl Send for HostMemory {}

impl HostMemory {
    /// Anonymous memory, zeroed.
    pub fn anonymous(len: usize) -> io::Result<Self> {
        let size = len
            .try_into()
            .map_err(|_| io::Error::from(io::ErrorKind::InvalidInput))?;
        let protection = ProtFlags::PROT_READ | ProtFlags::PROT_WRITE;
        // SAFETY: a fresh mapping at an address of the kernel's choice.
        let base = unsafe { mmap_anonymous(None, size, protection, MapFlags::MAP_PRIVATE) }?;
        Ok(Self {
            base: base.cast(),
            len,
        })
    }

    /// Bytes.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether it has none.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Copies `bytes` to `offset`.
    ///
    /// # Panics
    /// When they do not fit.
    pub fn write(&mut self, offset: usize, bytes: &[u8]) {
        assert!(
            offset
                .checked_add(bytes.len())
                .is_some_and(|end| end <= self.len)
        );
        // SAFETY: the range was just checked to lie inside the mapping, which nothing of ours
        // holds references to.
        unsafe {
            self.base
                .add(offset)
                .copy_from(NonNull::from(bytes).cast(), bytes.len())
        };
    }

    /// The first `len` bytes, while the device is known not to write them.
    ///
    /// # Panics
    /// When there are fewer.
    ///
    /// # Safety
    /// No submitted work of the device writes them while the slice lives.
    pub unsafe fn bytes(&self, len: usize) -> &[u8] {
        assert!(len <= self.len);
        // SAFETY: the range lies inside the mapping; the caller promises that nothing writes it.
        unsafe { std::slice::from_raw_parts(self.base.as_ptr(), len) }
    }

    /// The first `len` bytes, while the device is known not to touch them.
    ///
    /// # Panics
    /// When there are fewer.
    ///
    /// # Safety
    /// No submitted work of the device reads or writes them while the slice lives.
    pub unsafe fn bytes_mut(&mut self, len: usize) -> &mut [u8] {
        assert!(len <= self.len);
        // SAFETY: the range lies inside the mapping; the caller promises that nothing touches it.
        unsafe { std::slice::from_raw_parts_mut(self.base.as_ptr(), len) }
    }
}

impl Drop for HostMemory {
    fn drop(&mut self) {
        // SAFETY: the mapping was made by us with this length and is unmapped once.
        let _ = unsafe { munmap(self.base.cast(), self.len) };
    }
}

/// The content of a buffer object in system memory, to read. The device may write it at any time,
/// so it is only ever copied from.
#[derive(Debug)]
pub struct SystemMemory {
    base: NonNull<u8>,
    len: usize,
}

impl SystemMemory {
    /// Maps the first `len` bytes of a dma-buf. Nothing has to be flushed: the device's accesses to
    /// system memory are coherent with the CPU's.
    ///
    /// # Errors
    /// The kernel's, which refuses what the CPU may not see.
    pub fn map(dmabuf: BorrowedFd<'_>, len: usize) -> io::Result<Self> {
        let size = len
            .try_into()
            .map_err(|_| io::Error::from(io::ErrorKind::InvalidInput))?;
        let shared = MapFlags::MAP_SHARED;
        // SAFETY: a fresh mapping at an address of the kernel's choice.
        let base = unsafe { mmap(None, size, ProtFlags::PROT_READ, shared, dmabuf, 0) }?;
        Ok(Self {
            base: base.cast(),
            len,
        })
    }

    /// Copies what is at `offset`.
    ///
    /// # Panics
    /// When there are fewer bytes.
    pub fn read(&self, offset: usize, into: &mut [u8]) {
        let end = offset.checked_add(into.len());
        assert!(end.is_some_and(|end| end <= self.len));
        // SAFETY: the range was just checked to lie inside the mapping, which nothing of ours holds
        // references to; `into` is ours alone.
        unsafe {
            self.base
                .add(offset)
                .copy_to_nonoverlapping(NonNull::from(&mut *into).cast(), into.len());
        }
    }
}

impl Drop for SystemMemory {
    fn drop(&mut self) {
        // SAFETY: the mapping was made by us with this length and is unmapped once.
        let _ = unsafe { munmap(self.base.cast(), self.len) };
    }
}

/// Host memory the device can access.
#[derive(Debug)]
pub struct SharedMemory<'a> {
    // In this order: the device must lose the memory before it is unmapped.
    buffer: Buffer<'a>,
    memory: HostMemory,
}

impl<'a> SharedMemory<'a> {
    /// The device's view.
    pub fn buffer(&self) -> &Buffer<'a> {
        &self.buffer
    }

    /// The same, to change its mapping.
    pub fn buffer_mut(&mut self) -> &mut Buffer<'a> {
        &mut self.buffer
    }

    /// See [`HostMemory::bytes`].
    ///
    /// # Safety
    /// The same.
    pub unsafe fn bytes(&self, len: usize) -> &[u8] {
        // SAFETY: the caller's promise.
        unsafe { self.memory.bytes(len) }
    }

    /// See [`HostMemory::bytes_mut`].
    ///
    /// # Safety
    /// The same.
    pub unsafe fn bytes_mut(&mut self, len: usize) -> &mut [u8] {
        // SAFETY: the caller's promise.
        unsafe { self.memory.bytes_mut(len) }
    }
}

/// A submission context; freed when dropped.
#[derive(Debug)]
pub struct Context<'a> {
    node: &'a RenderNode,
    id: u32,
}

/// Work submitted to the DMA engine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fence(u64);

impl Context<'_> {
    /// Submits the packets at `address` (`bytes` of them, a multiple of 32) to the first DMA ring.
    /// `buffers` are all buffers the packets use, the one that holds them included.
    pub fn submit_dma(
        &self,
        buffers: &[&Buffer<'_>],
        address: u64,
        bytes: u32,
    ) -> io::Result<Fence> {
        let entries: Vec<BoListEntry> = buffers
            .iter()
            .map(|buffer| BoListEntry {
                bo_handle: buffer.handle.into(),
                bo_priority: 0,
            })
            .collect();
        let list = BoList {
            operation: u32::MAX,
            list_handle: u32::MAX,
            bo_number: entries.len() as u32,
            bo_info_size: size_of::<BoListEntry>() as u32,
            bo_info_ptr: entries.as_ptr() as u64,
        };
        let packets = ChunkIb {
            va_start: address,
            ib_bytes: bytes,
            ip_type: submit::IP_DMA,
            ..ChunkIb::default()
        };
        let chunks = [
            Chunk {
                chunk_id: submit::CHUNK_BO_HANDLES,
                length_dw: (size_of::<BoList>() / 4) as u32,
                chunk_data: &raw const list as u64,
            },
            Chunk {
                chunk_id: submit::CHUNK_IB,
                length_dw: (size_of::<ChunkIb>() / 4) as u32,
                chunk_data: &raw const packets as u64,
            },
        ];
        let pointers = chunks
            .each_ref()
            .map(|chunk| std::ptr::from_ref(chunk) as u64);
        let mut args = Submit {
            ctx_id: self.id,
            num_chunks: pointers.len() as u32,
            chunks: pointers.as_ptr() as u64,
            ..Submit::default()
        };
        // SAFETY: every pointer reachable from the block is to a live local of the length given
        // beside it, which the kernel only reads.
        unsafe { crate::ioctl::call(self.node.as_fd(), &mut args) }?;
        Ok(Fence(args.fence()))
    }

    /// Waits until submitted work is done.
    ///
    /// # Errors
    /// `TimedOut` at `deadline_ns` (`CLOCK_MONOTONIC`), else the kernel's.
    pub fn wait(&self, fence: Fence, deadline_ns: u64) -> io::Result<()> {
        let mut args = WaitSubmit {
            handle_or_status: fence.0,
            timeout: deadline_ns,
            ip_type: submit::IP_DMA,
            ctx_id: self.id,
            ..WaitSubmit::default()
        };
        // SAFETY: the block holds no pointers.
        unsafe { crate::ioctl::call(self.node.as_fd(), &mut args) }?;
        match args.handle_or_status {
            0 => Ok(()),
            _ => Err(io::ErrorKind::TimedOut.into()),
        }
    }
}

impl Drop for Context<'_> {
    fn drop(&mut self) {
        let mut args = Ctx {
            op: context::CTX_FREE,
            ctx_id: self.id,
            ..Ctx::default()
        };
        // SAFETY: the block holds no pointers.
        let _ = unsafe { crate::ioctl::call(self.node.as_fd(), &mut args) };
    }
}
