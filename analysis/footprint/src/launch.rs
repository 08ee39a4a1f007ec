//! What is known when a kernel is launched.

use strobe_extent::Extent;

/// Lanes of all waves that are analysed.
const WAVE: u64 = 64;

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

impl Launch<'_> {
    /// Whether some wave has lanes without a work-item: the last of a work-group, unless work-groups are whole waves.
    pub(crate) fn has_vacant_lanes(&self) -> bool {
        let [items, blocks] = [self.grid, self.block].map(|of| of.map(u64::from));
        let is_cut = (0..3).any(|d| blocks[d] == 0 || !items[d].is_multiple_of(blocks[d]));
        is_cut || !blocks.iter().product::<u64>().is_multiple_of(WAVE)
    }
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

    /// Whether just these bytes are known to be at `addr`. Worth its own way where that needs no copy.
    fn is_known_as(&self, addr: u64, bytes: &[u8]) -> bool {
        self.known_bytes(addr, bytes.len()).as_deref() == Some(bytes)
    }

    /// A number that is another one whenever anything has been allocated or freed since; `None` where nobody
    /// counts.
    fn allocations_epoch(&self) -> Option<u64> {
        None
    }
}

/// Bytes of the kernarg segment, as a little-endian number; `None` where they were not given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Word {
    pub(crate) offset: u32,
    pub(crate) bytes: u32,
    pub(crate) value: Option<u64>,
}

impl Word {
    pub(crate) fn read(launch: &Launch<'_>, offset: u32, bytes: u32) -> Self {
        let value = || {
            let start = usize::try_from(offset).ok()?;
            let end = start.checked_add(bytes as usize)?;
            let bytes = launch.kernarg.get(start..end)?.iter().rev();
            Some(bytes.fold(0, |value, byte| value << 8 | u64::from(*byte)))
        };
        Self {
            offset,
            bytes,
            value: value(),
        }
    }
}
