//! The kernel descriptor: 64 bytes that tell the command processor how to start a kernel.
//!
//! Layout: LLVM's AMDGPU guide, "Kernel Descriptor".

use crate::bytes::Bytes;

/// Bytes of a kernel descriptor.
pub const DESCRIPTOR_SIZE: usize = 64;

/// The fields of a kernel descriptor.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Descriptor {
    /// Bytes of LDS that every work-group has, beside the dynamic part.
    pub group_segment_size: u32,
    /// Bytes of scratch per work-item.
    pub private_segment_size: u32,
    /// Bytes of the kernarg segment; 0 in some objects, the metadata knows better.
    pub kernarg_size: u32,
    /// Entry point, in bytes from the descriptor itself.
    pub entry_offset: i64,
    /// `COMPUTE_PGM_RSRC1`.
    pub rsrc1: u32,
    /// `COMPUTE_PGM_RSRC2`.
    pub rsrc2: u32,
    /// `COMPUTE_PGM_RSRC3`.
    pub rsrc3: u32,
    /// Which user SGPRs are set up.
    pub properties: u16,
    /// Kernarg dwords preloaded into SGPRs.
    pub preload_length: u8,
    /// First preloaded dword.
    pub preload_offset: u16,
}

impl Descriptor {
    /// `None` if there are less than 64 bytes.
    #[must_use]
    pub fn parse(bytes: &[u8]) -> Option<Self> {
        let bytes = bytes.get(..DESCRIPTOR_SIZE)?;
        let preload = bytes.u16_at(58)?;
        Some(Self {
            group_segment_size: bytes.u32_at(0)?,
            private_segment_size: bytes.u32_at(4)?,
            kernarg_size: bytes.u32_at(8)?,
            entry_offset: bytes.u64_at(16)? as i64,
            rsrc3: bytes.u32_at(44)?,
            rsrc1: bytes.u32_at(48)?,
            rsrc2: bytes.u32_at(52)?,
            properties: bytes.u16_at(56)?,
            preload_length: (preload & 0x7f) as u8,
            preload_offset: preload >> 7,
        })
    }

    /// Four SGPRs: the scratch buffer's descriptor.
    #[must_use]
    pub fn private_segment_buffer(&self) -> bool {
        self.properties & 1 != 0
    }

    /// Two SGPRs: the address of the AQL packet.
    #[must_use]
    pub fn dispatch_ptr(&self) -> bool {
        self.properties & 2 != 0
    }

    /// Two SGPRs: the address of the queue.
    #[must_use]
    pub fn queue_ptr(&self) -> bool {
        self.properties & 4 != 0
    }

    /// Two SGPRs: the address of the kernarg segment.
    #[must_use]
    pub fn kernarg_segment_ptr(&self) -> bool {
        self.properties & 8 != 0
    }

    /// Two SGPRs.
    #[must_use]
    pub fn dispatch_id(&self) -> bool {
        self.properties & 16 != 0
    }

    /// Two SGPRs.
    #[must_use]
    pub fn flat_scratch_init(&self) -> bool {
        self.properties & 32 != 0
    }

    /// One SGPR.
    #[must_use]
    pub fn private_segment_size_sgpr(&self) -> bool {
        self.properties & 64 != 0
    }

    /// 32 lanes instead of 64.
    #[must_use]
    pub fn wave32(&self) -> bool {
        self.properties & (1 << 10) != 0
    }

    /// The first of the two SGPRs with the address of the kernarg segment.
    #[must_use]
    pub fn kernarg_segment_sgpr(&self) -> Option<u8> {
        let before = 4 * u8::from(self.private_segment_buffer())
            + 2 * u8::from(self.dispatch_ptr())
            + 2 * u8::from(self.queue_ptr());
        self.kernarg_segment_ptr().then_some(before)
    }

    /// The first SGPR with a preloaded dword of the kernarg segment, if there are some: behind all that the packet sets.
    #[must_use]
    pub fn first_preloaded_sgpr(&self) -> usize {
        4 * usize::from(self.private_segment_buffer())
            + 2 * usize::from(self.dispatch_ptr())
            + 2 * usize::from(self.queue_ptr())
            + 2 * usize::from(self.kernarg_segment_ptr())
            + 2 * usize::from(self.dispatch_id())
            + 2 * usize::from(self.flat_scratch_init())
            + usize::from(self.private_segment_size_sgpr())
    }

    /// SGPRs set up by the packet, before the work-group ids.
    #[must_use]
    pub fn user_sgprs(&self) -> usize {
        (self.rsrc2 >> 1 & 0x1f) as usize
    }

    /// Whether the work-group id of dimension x, y, z follows in an SGPR.
    #[must_use]
    pub fn workgroup_id(&self, dimension: usize) -> bool {
        dimension < 3 && self.rsrc2 >> (7 + dimension) & 1 != 0
    }

    /// Whether the work-group information follows in an SGPR.
    #[must_use]
    pub fn workgroup_info(&self) -> bool {
        self.rsrc2 >> 10 & 1 != 0
    }

    /// Whether there is scratch. Where its place is not architected, the wave's offset follows in an SGPR.
    #[must_use]
    pub fn private_segment(&self) -> bool {
        self.rsrc2 & 1 != 0
    }

    /// Dimensions of which the work-item id is given at the start: 1 to 3. Each in a VGPR, or packed in the first.
    #[must_use]
    pub fn workitem_ids(&self) -> usize {
        (self.rsrc2 >> 11 & 3) as usize + 1
    }

    /// Whether floats of all widths are rounded to the nearest when a wave starts.
    #[must_use]
    pub fn rounds_to_nearest(&self) -> bool {
        self.rsrc1 >> 12 & 0xf == 0
    }

    /// `ACCUM_OFFSET`: vector registers before the first accumulation register, where both are one file.
    #[must_use]
    pub fn accumulator_offset(&self) -> usize {
        4 * ((self.rsrc3 & 0x3f) as usize + 1)
    }

    /// `GRANULATED_WORKITEM_VGPR_COUNT`; registers per granule depend on the target.
    #[must_use]
    pub fn vgpr_granules(&self) -> usize {
        (self.rsrc1 & 0x3f) as usize + 1
    }
}
