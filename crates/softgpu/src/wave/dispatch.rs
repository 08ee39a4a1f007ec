//! What a kernel dispatch says: the AQL packet and the kernel descriptor.
//!
//! Field positions are those of the HSA system architecture specification (kernel dispatch packet)
//! and of LLVM's AMDGPU usage guide (code object V3 kernel descriptor).

use crate::target::TARGET;

/// The fields of an AQL kernel dispatch packet that execution depends on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Packet {
    /// Work-items per workgroup, each at least 1.
    pub workgroup_size: [u16; 3],
    /// Work-items in the grid, each at least 1; need not be a multiple of the workgroup size.
    pub grid_size: [u32; 3],
    /// Bytes of private memory a work-item.
    pub private_segment_size: u32,
    /// Bytes of LDS a workgroup.
    pub group_segment_size: u32,
    /// Address of the kernel descriptor.
    pub kernel_object: u64,
    /// Where the arguments stand.
    pub kernarg_address: u64,
}

impl Packet {
    /// Reads the fields from the 64 bytes of a packet.
    pub fn parse(bytes: &[u8; 64]) -> Self {
        let u16_at = |at: usize| u16::from_le_bytes([bytes[at], bytes[at + 1]]);
        Self {
            workgroup_size: [u16_at(4), u16_at(6), u16_at(8)],
            grid_size: [u32_at(bytes, 12), u32_at(bytes, 16), u32_at(bytes, 20)],
            private_segment_size: u32_at(bytes, 24),
            group_segment_size: u32_at(bytes, 28),
            kernel_object: u64_at(bytes, 32),
            kernarg_address: u64_at(bytes, 40),
        }
    }
}

fn u32_at(bytes: &[u8; 64], at: usize) -> u32 {
    u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
}

fn u64_at(bytes: &[u8; 64], at: usize) -> u64 {
    u64::from(u32_at(bytes, at)) | u64::from(u32_at(bytes, at + 4)) << 32
}

/// The 64-byte kernel descriptor (`amdhsa` code object V3 and later).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Descriptor {
    /// Bytes of LDS of a work-group.
    pub group_segment_fixed_size: u32,
    /// Bytes of scratch of a work-item.
    pub private_segment_fixed_size: u32,
    /// Bytes of arguments.
    pub kernarg_size: u32,
    /// Bytes from the descriptor to the kernel's first instruction.
    pub entry_offset: i64,
    /// `compute_pgm_rsrc1`.
    pub rsrc1: u32,
    /// `compute_pgm_rsrc2`.
    pub rsrc2: u32,
    /// `compute_pgm_rsrc3`.
    pub rsrc3: u32,
    /// `kernel_code_properties`.
    pub properties: u16,
}

impl Descriptor {
    /// All bits mean something: there is no wrong one.
    pub fn parse(bytes: &[u8; 64]) -> Self {
        Self {
            group_segment_fixed_size: u32_at(bytes, 0),
            private_segment_fixed_size: u32_at(bytes, 4),
            kernarg_size: u32_at(bytes, 8),
            entry_offset: u64_at(bytes, 16).cast_signed(),
            rsrc3: u32_at(bytes, 44),
            rsrc1: u32_at(bytes, 48),
            rsrc2: u32_at(bytes, 52),
            properties: u16::from_le_bytes([bytes[56], bytes[57]]),
        }
    }

    /// Vector registers a lane.
    pub(super) fn vector_registers(&self) -> usize {
        ((self.rsrc1 & 0x3f) as usize + 1) * usize::from(TARGET.vector_granule)
    }

    /// `FLOAT_ROUND_MODE_*` and `FLOAT_DENORM_MODE_*` as the low 8 bits of the MODE register,
    /// `DX10_CLAMP` as bit 8, `IEEE` as bit 9.
    pub(super) fn mode(&self) -> u32 {
        (self.rsrc1 >> 12) & 0xff | (self.rsrc1 >> 21 & 1) << 8 | (self.rsrc1 >> 23 & 1) << 9
    }
}

/// Everything a workgroup must know of its dispatch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Dispatch {
    /// What was submitted.
    pub packet: Packet,
    /// Of the kernel that the packet names.
    pub descriptor: Descriptor,
    /// Address of the packet in its queue's ring.
    pub packet_address: u64,
    /// Address of the queue's `amd_queue_t`.
    pub queue_address: u64,
    /// Index of the packet since the queue was made.
    pub dispatch_id: u64,
}

impl Dispatch {
    /// Workgroups in each dimension, partial ones included.
    pub fn workgroups(&self) -> [u32; 3] {
        let p = &self.packet;
        [0, 1, 2].map(|d| p.grid_size[d].div_ceil(u32::from(p.workgroup_size[d]).max(1)))
    }

    /// Address of the first instruction.
    pub fn entry(&self) -> u64 {
        self.packet
            .kernel_object
            .wrapping_add_signed(self.descriptor.entry_offset)
    }
}
