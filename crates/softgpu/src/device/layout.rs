//! Where things stand in the two block devices, how large these are, and by which nodes they are found.

use std::ffi::CStr;

use super::tables::{DOORBELLS, PROCESSES};
use crate::options::Options;

pub(crate) const STATE_NODE: &CStr = c"/dev/softgpu/state";
pub(crate) const MEMORY_NODE: &CStr = c"/dev/softgpu/memory";
pub(crate) const RENDER_NODE: &CStr = c"/dev/dri/renderD128";

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
pub(super) const MINIMUM_MEMORY: u64 = 64 << 30;

/// Offset of a process's doorbells in the state device.
pub(crate) fn doorbell_page(slot: usize) -> u64 {
    (slot as u64 + 1) * DOORBELL_STRIDE
}

pub(crate) fn vram_bytes(options: &Options) -> u64 {
    options.vram_bytes.max(1).next_multiple_of(2 << 20)
}

pub(crate) fn memory_bytes(options: &Options) -> u64 {
    (vram_bytes(options) * 4).max(MINIMUM_MEMORY)
}
