//! The processor a code object was compiled for.

use std::fmt;

/// A processor, with the two features that are part of a target id.
///
/// Taken from the ELF header's `e_flags` (LLVM's AMDGPU guide, "ELF Header"): the target string in
/// the metadata is absent in some assembly kernels and changes its form between compilers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Target {
    /// `EF_AMDGPU_MACH`.
    pub machine: u8,
    /// `None`: any, or the processor has no such feature.
    pub xnack: Option<bool>,
    pub sramecc: Option<bool>,
}

impl Target {
    /// gfx906.
    pub const GFX906: u8 = 0x2f;
    /// gfx90a.
    pub const GFX90A: u8 = 0x3f;
    /// gfx942.
    pub const GFX942: u8 = 0x4c;

    /// From `e_flags` of ABI version 2 and up (code object v4).
    #[must_use]
    pub fn from_flags(flags: u32) -> Self {
        // The two-bit fields: 0 unsupported, 1 any, 2 off, 3 on.
        let feature = |bits: u32| match bits & 3 {
            2 => Some(false),
            3 => Some(true),
            _ => None,
        };
        Self {
            machine: flags as u8,
            xnack: feature(flags >> 8),
            sramecc: feature(flags >> 10),
        }
    }

    /// The processor's name, if it is one that this crate knows.
    #[must_use]
    pub fn name(self) -> Option<&'static str> {
        Some(match self.machine {
            0x28 => "gfx801",
            0x29 => "gfx802",
            0x2a => "gfx803",
            0x2b => "gfx810",
            0x2c => "gfx900",
            0x2d => "gfx902",
            0x2e => "gfx904",
            0x2f => "gfx906",
            0x30 => "gfx908",
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
            _ => return None,
        })
    }
}

impl fmt::Display for Target {
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
