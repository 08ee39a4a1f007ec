//! The processors that a software GPU can be, and what their waves have in common.

use strobe_isa::{Target, WaveSize};
use thiserror::Error;

/// Of every kernel of theirs.
pub(crate) const WAVE: WaveSize = WaveSize::Lanes64;
pub(crate) const LANES: usize = WAVE.lanes() as usize;
/// One bit a lane.
pub(crate) type LaneMask = u64;

/// A processor that a software GPU can be, as drivers describe it.
#[derive(Debug, PartialEq, Eq)]
pub struct Model {
    pub(crate) target: &'static Target,
    /// In sysfs.
    pub(crate) name: &'static str,
    /// Where the thunk has a table of devices, it says which target they are, and how many registers they have.
    pub(crate) device_id: u32,
    /// What graphics libraries tell the processors of a family by.
    pub(crate) external_rev: u32,
    /// Whether it says that its registers and LDS have ECC: target ids then have `sramecc+`.
    pub(crate) has_sram_ecc: bool,
    pub(crate) waves_per_simd: u32,
    /// Vector registers that the waves of one SIMD unit share, in each lane.
    pub(crate) registers_of_a_simd: u64,
}

/// In the order in which they were added; the first is the default.
pub(crate) const MODELS: &[Model] = &[
    Model {
        target: &Target::GFX906,
        name: "vega20",
        device_id: 0x66a1,
        // Vega 20 starts at 0x28.
        external_rev: 0x29,
        has_sram_ecc: false,
        waves_per_simd: 10,
        registers_of_a_simd: 256,
    },
    // The MI210, which has one die. (Of LLVM's documents, the AMDGPU guide has the 512 registers, of both kinds, and
    // that of `llvm-calc-occupancy` the 8 waves.)
    Model {
        target: &Target::GFX90A,
        name: "aldebaran",
        device_id: 0x740f,
        // Aldebaran starts at 0x3c.
        external_rev: 0x3d,
        has_sram_ecc: true,
        waves_per_simd: 8,
        registers_of_a_simd: 512,
    },
    // The MI300X, of whose eight dies this is one.
    Model {
        target: &Target::GFX942,
        name: "ip discovery",
        device_id: 0x74a1,
        // Revision 1; they are counted from 0x46 (`soc15.c`).
        external_rev: 0x47,
        has_sram_ecc: true,
        waves_per_simd: 8,
        registers_of_a_simd: 512,
    },
];

/// A processor of that name no software GPU can be.
#[derive(Debug, Error)]
#[error("the software GPU can be {}", names())]
pub struct UnknownModel;

fn names() -> String {
    let names: Vec<_> = MODELS.iter().map(|model| model.target.name).collect();
    let (last, others) = names.split_last().expect("there are some");
    format!("{} or {last}", others.join(", "))
}

impl Model {
    /// By the name of its target, `gfx906`.
    ///
    /// # Errors
    /// What there is, where there is none of that name.
    pub fn named(name: &str) -> Result<&'static Self, UnknownModel> {
        let is_it = |model: &&Self| model.target.name == name;
        MODELS.iter().find(is_it).ok_or(UnknownModel)
    }

    /// By the driver's `gfx_target_version`.
    pub(crate) fn of_version(version: u32) -> Option<&'static Self> {
        let is_it = |model: &&Self| model.target.version.kfd() == version;
        MODELS.iter().find(is_it)
    }
}

// What waves of this interpreter have. A target that needs more has it added first.
const _: () = {
    assert!(LaneMask::BITS == WAVE.lanes());
    let mut i = 0;
    while i < MODELS.len() {
        let target = MODELS[i].target;
        assert!(matches!(target.wave_sizes, [WAVE]));
        i += 1;
    }
};
