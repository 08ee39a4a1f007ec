//! The instruction set of one generation: which opcodes mean what.
//!
//! Inheritance, as the tables have it:
//!
//! ```text
//! GCN5 (gfx9-generic) -+- gfx900
//!                      +- gfx904 --- gfx906 --- gfx908 --- gfx90a --- gfx942
//! ```
//!
//! The last two have not all that they inherit.

use crate::info::Flags;
use crate::op::{Family, LINES, Op, Origin, family};

/// What a word means on the targets of one generation.
pub struct Isa {
    /// Of the target that had it first, for example `gfx906`.
    pub name: &'static str,
    opcodes: Opcodes,
    pub(crate) generation: Generation,
}

/// Targets that encode alike what they have in common.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Generation {
    /// gfx900 to gfx906.
    Gcn5,
    /// gfx908: with matrix instructions, on a file of accumulation registers.
    Cdna1,
    /// gfx90a: vector and accumulation registers are one file, and memory instructions name either.
    Cdna2,
    /// gfx942: caches are told the scope of an access, and scratch has no register for its address.
    Cdna3,
}

/// Operations by family and opcode.
struct Opcodes([Option<Op>; family::CODES]);

const GCN5_OPCODES: Opcodes = Opcodes([None; family::CODES]).and(Origin::gcn5);
const GFX900_OPCODES: Opcodes = GCN5_OPCODES.and(Origin::gfx900);
const GFX904_OPCODES: Opcodes = GCN5_OPCODES.and(Origin::gfx904);
const GFX906_OPCODES: Opcodes = GFX904_OPCODES.and(Origin::gfx906);
const CDNA1_OPCODES: Opcodes = GFX906_OPCODES.and(Origin::gfx908);
/// Dot products into the destination: LLVM has their long forms for later targets alone.
const GFX908_OPCODES: Opcodes = CDNA1_OPCODES.without_long(&[
    Op::v_dot2c_f32_f16,
    Op::v_dot2c_i32_i16,
    Op::v_dot4c_i32_i8,
    Op::v_dot8c_i32_i4,
]);
const GFX90A_OPCODES: Opcodes = CDNA1_OPCODES
    .without(&NOT_OF_GFX90A)
    .at(&family::vop3, 0x2a1, Op::v_mul_legacy_f32)
    .and(Origin::gfx90a);
const GFX942_OPCODES: Opcodes = GFX90A_OPCODES.without(&NOT_OF_GFX942).and(Origin::gfx942);

pub(crate) static GFX9_GENERIC: Isa = Isa::new("gfx9-generic", GCN5_OPCODES);
pub(crate) static GFX900: Isa = Isa::new("gfx900", GFX900_OPCODES);
pub(crate) static GFX904: Isa = Isa::new("gfx904", GFX904_OPCODES);
pub(crate) static GFX906: Isa = Isa::new("gfx906", GFX906_OPCODES);
pub(crate) static GFX908: Isa = Isa {
    generation: Generation::Cdna1,
    ..Isa::new("gfx908", GFX908_OPCODES)
};
pub(crate) static GFX90A: Isa = Isa {
    generation: Generation::Cdna2,
    ..Isa::new("gfx90a", GFX90A_OPCODES)
};
pub(crate) static GFX942: Isa = Isa {
    generation: Generation::Cdna3,
    ..Isa::new("gfx942", GFX942_OPCODES)
};

/// What gfx908 has and gfx90a has not. (The multiplication is there at another opcode.)
const NOT_OF_GFX90A: [Op; 33] = [
    Op::v_mul_legacy_f32,
    Op::ds_add_src2_u32,
    Op::ds_sub_src2_u32,
    Op::ds_rsub_src2_u32,
    Op::ds_inc_src2_u32,
    Op::ds_dec_src2_u32,
    Op::ds_min_src2_i32,
    Op::ds_max_src2_i32,
    Op::ds_min_src2_u32,
    Op::ds_max_src2_u32,
    Op::ds_and_src2_b32,
    Op::ds_or_src2_b32,
    Op::ds_xor_src2_b32,
    Op::ds_write_src2_b32,
    Op::ds_min_src2_f32,
    Op::ds_max_src2_f32,
    Op::ds_add_src2_f32,
    Op::ds_ordered_count,
    Op::ds_add_src2_u64,
    Op::ds_sub_src2_u64,
    Op::ds_rsub_src2_u64,
    Op::ds_inc_src2_u64,
    Op::ds_dec_src2_u64,
    Op::ds_min_src2_i64,
    Op::ds_max_src2_i64,
    Op::ds_min_src2_u64,
    Op::ds_max_src2_u64,
    Op::ds_and_src2_b64,
    Op::ds_or_src2_b64,
    Op::ds_xor_src2_b64,
    Op::ds_write_src2_b64,
    Op::ds_min_src2_f64,
    Op::ds_max_src2_f64,
];

/// What gfx90a has and gfx942 has not: sums that round twice, and matrix instructions under their old names.
const NOT_OF_GFX942: [Op; 33] = [
    Op::v_mac_f32,
    Op::v_madmk_f32,
    Op::v_madak_f32,
    Op::v_mad_legacy_f32,
    Op::v_mad_f32,
    Op::buffer_invl2,
    Op::v_mfma_f32_32x32x1f32,
    Op::v_mfma_f32_16x16x1f32,
    Op::v_mfma_f32_4x4x1f32,
    Op::v_mfma_f32_32x32x2f32,
    Op::v_mfma_f32_16x16x4f32,
    Op::v_mfma_f32_32x32x4f16,
    Op::v_mfma_f32_16x16x4f16,
    Op::v_mfma_f32_4x4x4f16,
    Op::v_mfma_f32_32x32x8f16,
    Op::v_mfma_f32_16x16x16f16,
    Op::v_mfma_i32_32x32x4i8,
    Op::v_mfma_i32_16x16x4i8,
    Op::v_mfma_i32_4x4x4i8,
    Op::v_mfma_i32_32x32x8i8,
    Op::v_mfma_i32_16x16x16i8,
    Op::v_mfma_f32_32x32x2bf16,
    Op::v_mfma_f32_16x16x2bf16,
    Op::v_mfma_f32_4x4x2bf16,
    Op::v_mfma_f32_32x32x4bf16,
    Op::v_mfma_f32_16x16x8bf16,
    Op::v_mfma_f32_32x32x4bf16_1k,
    Op::v_mfma_f32_16x16x4bf16_1k,
    Op::v_mfma_f32_4x4x4bf16_1k,
    Op::v_mfma_f32_32x32x8bf16_1k,
    Op::v_mfma_f32_16x16x16bf16_1k,
    Op::v_mfma_f64_16x16x4f64,
    Op::v_mfma_f64_4x4x4f64,
];

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

    /// Without these operations.
    const fn without(mut self, gone: &[Op]) -> Self {
        let mut i = 0;
        while i < family::CODES {
            if is_among(self.0[i], gone) {
                self.0[i] = None;
            }
            i += 1;
        }
        self
    }

    /// Without the 64-bit forms of these.
    const fn without_long(mut self, gone: &[Op]) -> Self {
        let mut i = family::vop3.first;
        while i < family::vop3.first + family::vop3.codes {
            if is_among(self.0[i], gone) {
                self.0[i] = None;
            }
            i += 1;
        }
        self
    }

    /// With an operation that another target has elsewhere.
    const fn at(mut self, family: &Family, code: usize, op: Op) -> Self {
        self.put(family, code, op);
        self
    }

    const fn put(&mut self, family: &Family, code: usize, op: Op) {
        assert!(code < family.codes, "the encoding has no such opcode");
        let place = &mut self.0[family.first + code];
        assert!(place.is_none(), "an opcode occurs twice");
        *place = Some(op);
    }
}

const fn is_among(op: Option<Op>, ops: &[Op]) -> bool {
    let Some(op) = op else { return false };
    let mut i = 0;
    while i < ops.len() {
        if ops[i] as u16 == op as u16 {
            return true;
        }
        i += 1;
    }
    false
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
            generation: Generation::Gcn5,
        }
    }

    /// How it is encoded.
    pub fn generation(&self) -> Generation {
        self.generation
    }

    pub(crate) fn op(&self, family: &Family, code: u32) -> Option<Op> {
        let code = usize::try_from(code)
            .ok()
            .filter(|&code| code < family.codes)?;
        self.opcodes.0[family.first + code]
    }

    /// Its operations, each once.
    pub fn operations(&self) -> impl Iterator<Item = Op> {
        let all = Op::ALL.iter().copied();
        all.filter(|op| self.opcodes.0.contains(&Some(*op)))
    }
}

impl core::fmt::Debug for Isa {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_tuple("Isa").field(&self.name).finish()
    }
}
