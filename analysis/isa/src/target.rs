//! The processors that code is compiled for.
//!
//! Facts: LLVM's AMDGPU usage guide ("Processors", "ELF Header", "Kernel Descriptor", "Initial Kernel
//! Execution State") and the kernel's `gfx_target_version`.

use core::fmt;

use bitflags::bitflags;

use crate::isa;
use crate::isa::Isa;
use crate::wave::WaveSize;

/// One processor, as far as code for it and kernels on it depend on it.
#[derive(Debug)]
pub struct Target {
    /// As compilers write it: `gfx906`.
    pub name: &'static str,
    /// `EF_AMDGPU_MACH` of code objects.
    pub machine: u8,
    /// As `gfx906` spells it; of a generic target, that of the first processor that it is for.
    pub version: GfxVersion,
    /// Processors that run its code, too: those of a generic target.
    pub stands_for: &'static [&'static str],
    /// Those a kernel may ask for.
    pub wave_sizes: &'static [WaveSize],
    /// Vector registers that a granule of the kernel descriptor stands for.
    pub vector_granule: u8,
    /// Where they are.
    pub accumulators: Accumulators,
    /// Whether the work-item ids of all dimensions stand in one register, 10 bits each.
    pub packed_work_item_ids: bool,
    /// Those that it has.
    pub features: TargetFeatures,
    /// Whether waves find their scratch memory by themselves: no register has its address.
    pub architected_scratch: bool,
    /// Its instructions.
    pub isa: &'static Isa,
}

/// Where a target has accumulation registers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Accumulators {
    /// Nowhere.
    None,
    /// In a file of their own, as large as that of the vector registers.
    Separate,
    /// Behind the vector registers, in one file: the kernel's descriptor says where they begin.
    Unified,
}

bitflags! {
    /// Features that a target id may switch on and off.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
    pub struct TargetFeatures: u8 {
        /// A memory access that faulted can be repeated.
        const XNACK = 1;
        /// Memory with ECC.
        const SRAMECC = 1 << 1;
    }
}

/// The version of a GPU's instruction set.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct GfxVersion {
    /// 9 of `gfx906`.
    pub major: u8,
    /// 0 of `gfx906`.
    pub minor: u8,
    /// 6 of `gfx906`; a hexadecimal digit.
    pub stepping: u8,
}

impl GfxVersion {
    /// From the driver's `gfx_target_version`, which has 9.0.10 as 90010; a CPU has 0.
    pub fn from_kfd(version: u32) -> Option<Self> {
        Some(Self {
            major: u8::try_from(version / 10_000)
                .ok()
                .filter(|&major| major != 0)?,
            minor: (version / 100 % 100) as u8,
            stepping: (version % 100) as u8,
        })
    }

    /// As the driver writes it.
    pub const fn kfd(self) -> u32 {
        self.major as u32 * 10_000 + self.minor as u32 * 100 + self.stepping as u32
    }
}

/// As compilers write it: `gfx90a` for 9.0.10.
impl fmt::Display for GfxVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            major,
            minor,
            stepping,
        } = self;
        write!(f, "gfx{major}{minor:x}{stepping:x}")
    }
}

impl Target {
    /// Vega 10.
    pub const GFX900: Self = Self::gcn5("gfx900", 0x2c, 0, &isa::GFX900);
    /// Raven.
    pub const GFX902: Self = Self::gcn5("gfx902", 0x2d, 2, &isa::GFX900);
    /// Vega 12.
    pub const GFX904: Self = Self::gcn5("gfx904", 0x2e, 4, &isa::GFX904);
    /// Vega 20: the MI50 and MI60.
    pub const GFX906: Self = Self {
        features: TargetFeatures::all(),
        ..Self::gcn5("gfx906", 0x2f, 6, &isa::GFX906)
    };
    /// Arcturus: the MI100.
    pub const GFX908: Self = Self {
        accumulators: Accumulators::Separate,
        features: TargetFeatures::all(),
        ..Self::gcn5("gfx908", 0x30, 8, &isa::GFX908)
    };
    /// Aldebaran: the MI200 series.
    pub const GFX90A: Self = Self {
        vector_granule: 8,
        accumulators: Accumulators::Unified,
        packed_work_item_ids: true,
        features: TargetFeatures::all(),
        ..Self::gcn5("gfx90a", 0x3f, 10, &isa::GFX90A)
    };
    /// Aqua Vanjaram: the MI300 series.
    pub const GFX942: Self = Self {
        version: GfxVersion {
            major: 9,
            minor: 4,
            stepping: 2,
        },
        architected_scratch: true,
        isa: &isa::GFX942,
        name: "gfx942",
        machine: 0x4c,
        ..Self::GFX90A
    };

    /// What the processors of the first generation of GFX9 have in common.
    pub const GFX9_GENERIC: Self = Self {
        stands_for: &["gfx900", "gfx902", "gfx904", "gfx906", "gfx909", "gfx90c"],
        ..Self::gcn5("gfx9-generic", 0x51, 0, &isa::GFX9_GENERIC)
    };

    /// The one that everything is made for: analysis, software GPU, programs of the tests.
    pub const DEFAULT: &Self = &Self::GFX906;

    /// The targets whose instructions are known.
    pub const ALL: &[&Self] = &[
        &Self::GFX900,
        &Self::GFX902,
        &Self::GFX904,
        &Self::GFX906,
        &Self::GFX908,
        &Self::GFX90A,
        &Self::GFX942,
        &Self::GFX9_GENERIC,
    ];

    const fn gcn5(name: &'static str, machine: u8, stepping: u8, isa: &'static Isa) -> Self {
        Self {
            name,
            machine,
            version: GfxVersion {
                major: 9,
                minor: 0,
                stepping,
            },
            stands_for: &[],
            wave_sizes: &[WaveSize::Lanes64],
            vector_granule: 4,
            accumulators: Accumulators::None,
            packed_work_item_ids: false,
            architected_scratch: false,
            features: TargetFeatures::XNACK,
            isa,
        }
    }

    /// By `EF_AMDGPU_MACH`.
    pub fn of_machine(machine: u8) -> Option<&'static Self> {
        Self::ALL
            .iter()
            .copied()
            .find(|target| target.machine == machine)
    }

    /// By name, without features.
    pub fn named(name: &str) -> Option<&'static Self> {
        Self::ALL.iter().copied().find(|target| target.name == name)
    }
}

/// Targets are the same if their name is.
impl PartialEq for Target {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

impl Eq for Target {}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}

#[cfg(test)]
mod tests {
    extern crate std;

    use std::string::ToString;

    use super::*;

    #[test]
    fn versions_become_the_names_compilers_use() {
        let name = |version| GfxVersion::from_kfd(version).map(|version| version.to_string());
        for (version, expected) in [
            (90_006, "gfx906"),
            (90_010, "gfx90a"),
            (90_402, "gfx942"),
            (100_300, "gfx1030"),
        ] {
            assert_eq!(name(version).as_deref(), Some(expected));
        }
        assert_eq!(name(0), None, "a CPU");
    }

    #[test]
    fn a_target_is_found_by_all_its_names() {
        for &target in Target::ALL {
            let first = target.stands_for.first();
            assert_eq!(target.version.to_string(), *first.unwrap_or(&target.name));
            assert_eq!(
                GfxVersion::from_kfd(target.version.kfd()),
                Some(target.version)
            );
            assert_eq!(Target::named(target.name), Some(target));
            assert_eq!(Target::of_machine(target.machine), Some(target));
        }
        assert_eq!(Target::named("gfx1030"), None);
    }
}
