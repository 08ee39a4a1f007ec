//! Where things stand in the block devices, how large these are, and by which nodes they are found.

use std::ffi::{CStr, CString};

use super::tables::{DOORBELLS, PROCESSES};
use crate::options::Options;

pub(crate) const STATE_NODE: &CStr = c"/dev/softgpu/state";

pub(crate) const DRM_MAJOR: u32 = 226;
const FIRST_RENDER_MINOR: u32 = 128;

/// The thunk drops the low 32 bits of a doorbell page's offset.
pub(crate) const DOORBELL_STRIDE: u64 = 1 << 32;
pub(crate) const DOORBELL_BYTES: u64 = DOORBELLS as u64 * 8;
/// The page of remapped registers of a process, relative to its doorbells.
pub(crate) const MMIO_OFFSET: u64 = 1 << 20;

/// Content of VRAM and GTT share this space; it is larger than both so that it cannot fragment
/// much.
pub(super) const MINIMUM_MEMORY: u64 = 64 << 30;

/// Bytes of the state device of so many GPUs.
pub(crate) fn state_bytes(gpus: usize) -> u64 {
    (PROCESSES as u64 * gpus as u64 + 1) * DOORBELL_STRIDE
}

/// Offset in the state device of a process's doorbells on one of so many GPUs.
pub(super) fn doorbell_page(gpus: usize, slot: usize, gpu: usize) -> u64 {
    (slot as u64 * gpus as u64 + gpu as u64 + 1) * DOORBELL_STRIDE
}

/// Minor number of a GPU's render node.
pub(crate) fn render_minor(gpu: usize) -> u32 {
    FIRST_RENDER_MINOR + gpu as u32
}

/// Path of a GPU's render node, below /dev.
pub(crate) fn render_node(gpu: usize) -> String {
    format!("dri/renderD{}", render_minor(gpu))
}

/// Path of a GPU's memory device, below /dev.
pub(crate) fn memory_node(gpu: usize) -> String {
    format!("softgpu/memory{gpu}")
}

/// The path of a node as the C library takes it.
pub(super) fn path(node: &str) -> CString {
    CString::new(format!("/dev/{node}")).unwrap_or_default()
}

pub(crate) fn vram_bytes(options: &Options) -> u64 {
    options.vram_bytes.max(1).next_multiple_of(2 << 20)
}

pub(crate) fn memory_bytes(options: &Options) -> u64 {
    (vram_bytes(options) * 4).max(MINIMUM_MEMORY)
}
