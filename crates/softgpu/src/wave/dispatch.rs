//! What a kernel dispatch says.

use strobe_code_object::Descriptor;
use strobe_kfd::aql::KernelDispatch;

use crate::target::TARGET;

/// Everything a workgroup must know of its dispatch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Dispatch {
    /// What was submitted.
    pub packet: KernelDispatch,
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

    /// All of them.
    pub fn groups(&self) -> u64 {
        self.workgroups().map(u64::from).iter().product()
    }

    /// Vector registers that each wave has.
    pub fn vector_registers(&self) -> usize {
        let granules = self.descriptor.vgpr_granules();
        (granules * usize::from(TARGET.vector_granule)).min(256)
    }

    /// Address of the first instruction.
    pub fn entry(&self) -> u64 {
        self.packet
            .kernel_object
            .wrapping_add_signed(self.descriptor.entry_offset)
    }
}
