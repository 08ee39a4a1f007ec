//! The processor a code object was compiled for.

use std::fmt;

use strobe_isa::{Target, TargetFeatures};

/// Of a 64-bit ELF file, little-endian.
const MAGIC: &[u8] = b"\x7fELF\x02\x01";
/// Where its header has `e_flags`.
const FLAGS: usize = 48;

/// A target id: a processor, with the two features that are part of it.
///
/// Taken from the ELF header's `e_flags` (LLVM's AMDGPU guide, "ELF Header"): the target string in
/// the metadata is absent in some assembly kernels and changes its form between compilers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct TargetId {
    /// `EF_AMDGPU_MACH`.
    pub machine: u8,
    /// `None`: any, or the processor has no such feature.
    pub xnack: Option<bool>,
    /// Memory with ECC; `None`: any.
    pub sramecc: Option<bool>,
}

impl TargetId {
    /// Of an ELF file that need not be read any further. `None`: it does not begin like one.
    #[must_use]
    pub fn of_elf(file: &[u8]) -> Option<Self> {
        let flags = file.get(FLAGS..).filter(|_| file.starts_with(MAGIC))?;
        Some(Self::from_flags(u32::from_le_bytes(*flags.first_chunk()?)))
    }

    /// From `e_flags` of ABI version 2 and up (code object v4). A feature that the processor is known
    /// not to have is none, whatever the flags say.
    #[must_use]
    pub fn from_flags(flags: u32) -> Self {
        let machine = flags as u8;
        let target = Target::of_machine(machine);
        // The two-bit fields: 0 unsupported, 1 any, 2 off, 3 on.
        let feature = |which, bits: u32| {
            let exists = target.is_none_or(|target| target.features.contains(which));
            match bits & 3 {
                2 if exists => Some(false),
                3 if exists => Some(true),
                _ => None,
            }
        };
        Self {
            machine,
            xnack: feature(TargetFeatures::XNACK, flags >> 8),
            sramecc: feature(TargetFeatures::SRAMECC, flags >> 10),
        }
    }

    /// What is known of the processor, if its instructions are.
    #[must_use]
    pub fn target(self) -> Option<&'static Target> {
        Target::of_machine(self.machine)
    }

    /// The processor's name; that of one whose instructions are not known, too.
    #[must_use]
    pub fn name(self) -> Option<&'static str> {
        if let Some(target) = self.target() {
            return Some(target.name);
        }
        Some(match self.machine {
            0x28 => "gfx801",
            0x29 => "gfx802",
            0x2a => "gfx803",
            0x2b => "gfx810",
            0x31 => "gfx909",
            0x32 => "gfx90c",
            0x33 => "gfx1010",
            0x34 => "gfx1011",
            0x35 => "gfx1012",
            0x36 => "gfx1030",
            0x37 => "gfx1031",
            0x38 => "gfx1032",
            0x39 => "gfx1033",
            0x3d => "gfx1035",
            0x3e => "gfx1034",
            0x3f => "gfx90a",
            0x41 => "gfx1100",
            0x42 => "gfx1013",
            0x43 => "gfx1150",
            0x44 => "gfx1103",
            0x45 => "gfx1036",
            0x46 => "gfx1101",
            0x47 => "gfx1102",
            0x48 => "gfx1200",
            0x4a => "gfx1151",
            0x4c => "gfx942",
            0x4e => "gfx1201",
            0x4f => "gfx950",
            0x52 => "gfx10-1-generic",
            0x53 => "gfx10-3-generic",
            0x54 => "gfx11-generic",
            0x59 => "gfx12-generic",
            0x5f => "gfx9-4-generic",
            _ => return None,
        })
    }
}

impl fmt::Display for TargetId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.name() {
            Some(name) => f.write_str(name)?,
            None => write!(f, "machine-{:#x}", self.machine)?,
        }
        for (name, feature) in [("sramecc", self.sramecc), ("xnack", self.xnack)] {
            if let Some(on) = feature {
                write!(f, ":{name}{}", if on { '+' } else { '-' })?;
            }
        }
        Ok(())
    }
}

/// A target id as text, `gfx906:sramecc+:xnack-`: what bundles and devices call a processor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TargetName<'a>(&'a str);

impl<'a> TargetName<'a> {
    #[must_use]
    /// A processor with its features: `gfx906:xnack-`.
    pub fn new(name: &'a str) -> Self {
        Self(name)
    }

    /// Of a bundle's triple, `hipv4-amdgcn-amd-amdhsa--gfx906:xnack-`.
    #[must_use]
    pub fn of_triple(triple: &'a str) -> Self {
        // Features may end in a minus sign, and names of processors have some.
        let end = triple.find(':').unwrap_or(triple.len());
        let triple_alone = &triple[..end];
        let dash = triple_alone.rfind("-gfx").or(triple_alone.rfind('-'));
        let start = match dash {
            _ if triple.starts_with("gfx") => 0,
            Some(dash) => dash + 1,
            None => 0,
        };
        Self(&triple[start..])
    }

    #[must_use]
    /// The name without features.
    pub fn processor(self) -> &'a str {
        self.0.split(':').next().unwrap_or_default()
    }

    #[must_use]
    /// Whether it is `processor`, or a generic target that stands for it.
    pub fn includes(self, processor: &str) -> bool {
        let name = self.processor();
        let others = Target::named(name).map_or(&[][..], |target| target.stands_for);
        name == processor || others.contains(&processor)
    }

    fn features(self) -> impl Iterator<Item = &'a str> {
        self.0.split(':').skip(1)
    }

    /// Whether code for this target runs on `device`, whose features are all given: it does where it
    /// says nothing of a feature, or the same.
    #[must_use]
    pub fn runs_on(self, device: Self) -> bool {
        self.includes(device.processor())
            && self
                .features()
                .all(|feature| device.features().any(|has| has == feature))
    }
}

/// With its features.
impl fmt::Display for TargetName<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_target_has_the_features_of_its_processor() {
        let all_on = |machine: u8| TargetId::from_flags(u32::from(machine) | 0xf00).to_string();
        assert_eq!(all_on(Target::GFX906.machine), "gfx906:sramecc+:xnack+");
        assert_eq!(all_on(Target::GFX900.machine), "gfx900:xnack+");
        assert_eq!(all_on(0x3f), "gfx90a:sramecc+:xnack+");
        let generic_version_1 = 1 << 24;
        let generic = TargetId::from_flags(0x151 | generic_version_1);
        assert_eq!(generic.to_string(), "gfx9-generic");
        assert_eq!(all_on(0xfe), "machine-0xfe:sramecc+:xnack+");
    }

    #[test]
    fn names_of_targets_are_read_as_bundles_and_devices_write_them() {
        let code = TargetName::of_triple("hipv4-amdgcn-amd-amdhsa--gfx906:xnack-");
        assert_eq!(code.processor(), "gfx906");
        assert!(code.runs_on(TargetName::new("gfx906:sramecc+:xnack-")));
        assert!(!code.runs_on(TargetName::new("gfx906:sramecc+:xnack+")));
        assert!(!code.runs_on(TargetName::new("gfx90a:sramecc+:xnack-")));
        let generic = TargetName::of_triple("hipv4-amdgcn-amd-amdhsa--gfx9-generic:xnack-");
        assert_eq!(generic.processor(), "gfx9-generic");
        assert!(generic.runs_on(TargetName::new("gfx906:sramecc+:xnack-")));
        assert!(!generic.runs_on(TargetName::new("gfx906:sramecc+:xnack+")));
        assert!(!generic.runs_on(TargetName::new("gfx908:sramecc+:xnack-")));
        let other = TargetName::of_triple("hipv4-amdgcn-amd-amdhsa--gfx10-3-generic");
        assert_eq!(other.processor(), "gfx10-3-generic");
        assert_eq!(
            TargetName::of_triple("gfx9-generic").processor(),
            "gfx9-generic"
        );
        assert_eq!(
            TargetName::of_triple("host-x86_64-unknown-linux--").processor(),
            ""
        );
        let any = TargetName::of_triple("hipv4-amdgcn-amd-amdhsa--gfx906");
        assert!(any.runs_on(TargetName::new("gfx906:sramecc+:xnack-")));
        assert_eq!(TargetName::of_triple("").processor(), "");
    }
}
