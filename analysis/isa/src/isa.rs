//! The instruction set of one generation: which opcodes mean what.
//!
//! Inheritance, as the tables have it:
//!
//! ```text
//! GCN5 (gfx9-generic) -+- gfx900
//!                      +- gfx904 --- gfx906 --- gfx908
//! ```

use crate::info::Flags;
use crate::op::{Family, LINES, Op, Origin, family};

/// What a word means on the targets of one generation.
pub struct Isa {
    /// Of the target that had it first, for example `gfx906`.
    pub name: &'static str,
    opcodes: Opcodes,
    /// Whether the encodings of matrix instructions exist.
    pub(crate) matrix: bool,
}

/// Operations by family and opcode.
struct Opcodes([Option<Op>; family::CODES]);

const GCN5_OPCODES: Opcodes = Opcodes([None; family::CODES]).and(Origin::gcn5);
const GFX900_OPCODES: Opcodes = GCN5_OPCODES.and(Origin::gfx900);
const GFX904_OPCODES: Opcodes = GCN5_OPCODES.and(Origin::gfx904);
const GFX906_OPCODES: Opcodes = GFX904_OPCODES.and(Origin::gfx906);
const GFX908_OPCODES: Opcodes = GFX906_OPCODES.and(Origin::gfx908);

pub(crate) static GFX9_GENERIC: Isa = Isa::new("gfx9-generic", GCN5_OPCODES);
pub(crate) static GFX900: Isa = Isa::new("gfx900", GFX900_OPCODES);
pub(crate) static GFX904: Isa = Isa::new("gfx904", GFX904_OPCODES);
pub(crate) static GFX906: Isa = Isa::new("gfx906", GFX906_OPCODES);
pub(crate) static GFX908: Isa = Isa {
    matrix: true,
    ..Isa::new("gfx908", GFX908_OPCODES)
};

impl Opcodes {
    /// With the lines of one table. An opcode that is taken fails the build.
    const fn and(mut self, origin: Origin) -> Self {
        let mut i = 0;
        while i < LINES.len() {
            let (of, family, code, op) = LINES[i];
            if of as u8 == origin as u8 {
                self.put(family, code, op);
                if let Some(base) = promoted(family)
                    && op.info().flags.contains(Flags::VOP3)
                {
                    self.put(&family::vop3, base + code, op);
                }
            }
            i += 1;
        }
        self
    }

    const fn put(&mut self, family: &Family, code: usize, op: Op) {
        assert!(code < family.codes, "the encoding has no such opcode");
        let place = &mut self.0[family.first + code];
        assert!(place.is_none(), "an opcode occurs twice");
        *place = Some(op);
    }
}

/// Where the opcodes of a 32-bit vector encoding begin among those of its 64-bit form.
const fn promoted(family: &Family) -> Option<usize> {
    if family.first == family::vopc.first {
        Some(0)
    } else if family.first == family::vop2.first {
        Some(0x100)
    } else if family.first == family::vop1.first {
        Some(0x140)
    } else {
        None
    }
}

impl Isa {
    const fn new(name: &'static str, opcodes: Opcodes) -> Self {
        Self {
            name,
            opcodes,
            matrix: false,
        }
    }

    pub(crate) fn op(&self, family: &Family, code: u32) -> Option<Op> {
        let code = usize::try_from(code)
            .ok()
            .filter(|&code| code < family.codes)?;
        self.opcodes.0[family.first + code]
    }

    /// Its operations, each once.
    pub fn operations(&self) -> impl Iterator<Item = Op> {
        let lines = LINES.iter();
        lines
            .filter(|(_, family, code, op)| self.opcodes.0[family.first + code] == Some(*op))
            .map(|&(.., op)| op)
    }
}

impl core::fmt::Debug for Isa {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_tuple("Isa").field(&self.name).finish()
    }
}
