//! What a kernel dispatch says.

use strobe_code_object::Descriptor;
use strobe_isa::{Accumulators, Target};
use strobe_kfd::aql::KernelDispatch;

/// The most words of the kernarg segment that are loaded before a wave starts: as many as there are user registers.
pub const PRELOADED: usize = 16;
/// Where there are some, the first instructions are for packet processors that load none, and are skipped (LLVM's AMDGPU
/// guide, "Preloaded Kernel Arguments").
const WITHOUT_PRELOAD: u64 = 256;

/// Everything a workgroup must know of its dispatch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Dispatch {
    /// Of the GPU that it runs on.
    pub target: &'static Target,
    /// What was submitted.
    pub packet: KernelDispatch,
    /// Of the kernel that the packet names.
    pub descriptor: Descriptor,
    /// What the descriptor has loaded into scalar registers of every wave, from the kernarg segment.
    pub preloaded: [u32; PRELOADED],
    /// Address of the packet in its queue's ring.
    pub packet_address: u64,
    /// Address of the queue's `amd_queue_t`.
    pub queue_address: u64,
    /// Index of the packet since the queue was made.
    pub dispatch_id: u64,
}

impl Default for Dispatch {
    /// Nothing, for [`Target::DEFAULT`].
    fn default() -> Self {
        Self {
            target: Target::DEFAULT,
            packet: KernelDispatch::default(),
            descriptor: Descriptor::default(),
            preloaded: [0; PRELOADED],
            packet_address: 0,
            queue_address: 0,
            dispatch_id: 0,
        }
    }
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

    /// Vector registers that each wave has; where accumulation registers are in the same file, these too.
    pub fn vector_registers(&self) -> usize {
        let granules = self.descriptor.vgpr_granules();
        let most = match self.target.accumulators {
            Accumulators::None | Accumulators::Separate => 256,
            Accumulators::Unified => 512,
        };
        (granules * usize::from(self.target.vector_granule)).min(most)
    }

    /// How many vector registers each wave has, and how many accumulation registers.
    pub(super) fn registers(&self) -> [usize; 2] {
        let all = self.vector_registers();
        match self.target.accumulators {
            Accumulators::None => [all, 0],
            Accumulators::Separate => [all, all],
            Accumulators::Unified => {
                let vectors = all.min(self.descriptor.accumulator_offset());
                [vectors, (all - vectors).min(256)]
            }
        }
    }

    /// Address of the first instruction.
    pub fn entry(&self) -> u64 {
        let skipped = match self.descriptor.preload_length {
            0 => 0,
            _ => WITHOUT_PRELOAD,
        };
        self.packet
            .kernel_object
            .wrapping_add_signed(self.descriptor.entry_offset)
            .wrapping_add(skipped)
    }
}
