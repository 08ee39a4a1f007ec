//! The hardware's state, all of it in two block devices.
//!
//! | device | node | content |
//! |---|---|---|
//! | state | /dev/kfd, /dev/softgpu/state | [`State`] at 0; the doorbells of process slot i at (i + 1) * 4 GiB |
//! | memory | /dev/dri/renderD128, /dev/softgpu/memory | VRAM and GTT; an object's mmap offset is its place here |
//!
//! The emulator maps both through its own nodes, so that its mappings are told apart from the
//! program's by path. What must hold: nothing about the hardware is kept in a process but pointers
//! into these mappings and the generation they were read under. Plain fields of [`Tables`] are
//! touched only under the state lock; everything else shared is atomic.

mod condition;
mod extents;
pub(crate) mod fd;
mod lock;
mod open;
mod tables;

pub(crate) use condition::is_stopped;
pub(crate) use extents::{allocate, allocate_elsewhere, release};
pub(crate) use lock::{LockError, Locked};
pub(crate) use open::{Device, doorbell_page};
pub(crate) use tables::*;

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

use zerocopy::IntoBytes;

use crate::options::Options;

/// Numbers of the device that several parts report.
pub(crate) mod geometry {
    pub(crate) const VENDOR_ID: u32 = 0x1002;
    /// Vega 20, which is the thunk's table's word for [`crate::target::TARGET`].
    pub(crate) const DEVICE_ID: u32 = 0x66a1;
    /// Few, so that runtimes make small save areas and grids.
    pub(crate) const COMPUTE_UNITS: u32 = 16;
    pub(crate) const SIMD_PER_CU: u32 = 4;
    pub(crate) const WAVES_PER_SIMD: u32 = 10;
    /// Hertz of the GPU's constant clock.
    pub(crate) const CLOCK_HZ: u64 = 100_000_000;
}

pub(crate) const DRM_MAJOR: u32 = 226;
pub(crate) const RENDER_MINOR: u32 = 128;

/// The thunk drops the low 32 bits of a doorbell page's offset.
pub(crate) const DOORBELL_STRIDE: u64 = 1 << 32;
pub(crate) const DOORBELL_BYTES: u64 = DOORBELLS as u64 * 8;
/// The page of remapped registers of a process, relative to its doorbells.
pub(crate) const MMIO_OFFSET: u64 = 1 << 20;

pub(crate) const STATE_BYTES: u64 = (PROCESSES as u64 + 1) * DOORBELL_STRIDE;
/// Content of VRAM and GTT share this space; it is larger than both so that it cannot fragment
/// much.
const MINIMUM_MEMORY: u64 = 64 << 30;

pub(crate) fn vram_bytes(options: &Options) -> u64 {
    options.vram_bytes.max(1).next_multiple_of(2 << 20)
}

pub(crate) fn memory_bytes(options: &Options) -> u64 {
    (vram_bytes(options) * 4).max(MINIMUM_MEMORY)
}

pub(crate) const STATE_NODE: &std::ffi::CStr = c"/dev/softgpu/state";
pub(crate) const MEMORY_NODE: &std::ffi::CStr = c"/dev/softgpu/memory";
pub(crate) const RENDER_NODE: &std::ffi::CStr = c"/dev/dri/renderD128";

/// Writes the header of a new device; the rest is zero, which is the empty state.
pub(crate) fn initialise(
    state: &File,
    generation: u64,
    options: &Options,
    state_rdev: u64,
    memory_rdev: u64,
) -> io::Result<()> {
    let time = options.time.as_ref();
    let mut header = Header {
        magic: MAGIC,
        version: VERSION,
        gpu_id: options.gpu_id,
        generation,
        state_rdev,
        memory_rdev,
        vram_bytes: vram_bytes(options),
        memory_bytes: memory_bytes(options),
        large_bar: u32::from(options.large_bar),
        access_log_len: 0,
        link_bytes_per_s: time.map_or(0, |t| t.link_bytes_per_s),
        device_bytes_per_s: time.map_or(0, |t| t.device_bytes_per_s),
        kernel_floor_ns: time.map_or(0, |t| t.kernel_floor_ns),
        access_log: [0; ACCESS_LOG_PATH],
        faults: options.faults,
    };
    if let Some(path) = &options.access_log {
        let path = std::path::absolute(path)?;
        let bytes = path.as_os_str().as_encoded_bytes();
        let Some(room) = header.access_log.get_mut(..bytes.len()) else {
            return Err(io::Error::other("the access log's path is too long"));
        };
        room.copy_from_slice(bytes);
        header.access_log_len = bytes.len() as u32;
    }
    state.write_all_at(header.as_bytes(), 0)
}
