//! What is known when a kernel is launched.

use strobe_extent::Extent;

/// One launch.
#[derive(Clone, Copy, Debug)]
pub struct Launch<'a> {
    /// The kernarg segment as far as the caller filled it; hidden arguments may be missing.
    pub kernarg: &'a [u8],
    /// Work-items (not work-groups) in each dimension.
    pub grid: [u32; 3],
    /// Work-items of a work-group in each dimension.
    pub block: [u32; 3],
    /// Bytes of LDS beyond what the kernel declares.
    pub dynamic_lds: u32,
}

/// Device memory as it is known at the launch.
pub trait LaunchMemory {
    /// The tracked allocation that contains `addr`, at this epoch.
    fn allocation(&self, addr: u64) -> Option<Extent>;

    /// Whether any byte of `extent` is in a tracked allocation, at this epoch.
    fn is_allocated(&self, extent: Extent) -> bool;

    /// The content of `[addr, addr + len)` in device memory when the kernel runs, if it is known:
    /// nothing that may have written it was enqueued since it was seen.
    fn known_bytes(&self, addr: u64, len: usize) -> Option<Vec<u8>>;
}
