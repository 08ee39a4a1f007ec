//! Words to instructions.
//!
//! What LLVM 15 refuses is refused: unknown opcodes, operand codes that name nothing, modifiers an
//! operation does not have. Fields that LLVM does not look at are not looked at here either.
//!
//! Refused here although LLVM shows something:
//! - graphics: image, export and interpolation instructions;
//! - matrix instructions;
//! - operand code 125 (`null`), which came with gfx10, and values as destinations (`src_scc`);
//! - the pairs `flat_scratch`, `xnack_mask`, `vcc`, `exec` as an operand of four registers;
//! - vector registers as a carry-in, selection mask or lane number, scalar ones in `v_swap_b32` and
//!   as the source of `v_readlane_b32`;
//! - bit 12 of a FLAT offset, and MUBUF opcode 0x71, which belongs to older targets;
//! - the reserved values of SDWA's selections, on which LLVM aborts.

mod matrix;
mod memory;
mod operand;
mod scalar;
mod vector;
mod vop3;

use crate::error::DecodeError;
use crate::info::Place;
use crate::inst::{Encoding, Inst, Operand};
use crate::isa::Isa;
use crate::op::Op;
use crate::op::{Family, family};
use crate::wave::WaveSize;

pub(crate) use scalar::takes_immediate;
pub(crate) use vop3::is_mix;

/// The words of an instruction, and for whom they are meant.
#[derive(Clone, Copy)]
struct Code<'a> {
    isa: &'a Isa,
    wave: WaveSize,
    words: &'a [u32],
}

/// See [`Isa::decode`].
pub(crate) fn decode(isa: &Isa, words: &[u32], wave: WaveSize) -> Result<Inst, DecodeError> {
    let &word = words
        .first()
        .ok_or(DecodeError::Truncated { encoding: None })?;
    let code = Code { isa, wave, words };
    if word >> 31 == 0 {
        return match word >> 25 {
            0x3e => vector::vopc(word, code),
            0x3f => vector::vop1(word, code),
            _ => vector::vop2(word, code),
        };
    }
    match word >> 26 {
        0b10_0000..=0b10_1111 => match word >> 23 & 0x7f {
            0x7d => scalar::sop1(word, code),
            0x7e => scalar::sopc(word, code),
            0x7f => scalar::sopp(word, code),
            0x60..=0x7c => scalar::sopk(word, code),
            _ => scalar::sop2(word, code),
        },
        0b11_0000 => memory::smem(word, code),
        0b11_0001 => refuse_graphics(Encoding::Exp, 0),
        0b11_0100 if word >> 23 & 7 == 7 => match word >> 16 & 0x7f {
            0x40.. if isa.matrix => matrix::vop3p_mai(word, code),
            _ => vop3::vop3p(word, code),
        },
        0b11_0100 => vop3::vop3(word, code),
        0b11_0101 => refuse_graphics(Encoding::Vintrp, word >> 16 & 3),
        0b11_0110 => memory::ds(word, code),
        0b11_0111 => memory::flat(word, code),
        0b11_1000 => memory::mubuf(word, code),
        0b11_1010 => memory::mtbuf(word, code),
        0b11_1100 => refuse_graphics(Encoding::Mimg, word >> 18 & 0x7f),
        _ => Err(DecodeError::UnknownEncoding { word }),
    }
}

/// Image, export and interpolation instructions do not occur in compute programs.
fn refuse_graphics(encoding: Encoding, opcode: u32) -> Result<Inst, DecodeError> {
    Err(DecodeError::Graphics {
        encoding,
        opcode: opcode as u16,
    })
}

/// What is being decoded, for errors.
#[derive(Clone, Copy)]
struct Subject<'a> {
    code: Code<'a>,
    encoding: Encoding,
    opcode: u32,
}

impl Subject<'_> {
    fn op(self, family: &Family) -> Result<Op, DecodeError> {
        self.code
            .isa
            .op(family, self.opcode)
            .ok_or(DecodeError::UnknownOpcode {
                encoding: self.encoding,
                opcode: self.opcode as u16,
            })
    }

    fn dwords(self, place: Place) -> u8 {
        place.dwords(self.code.wave)
    }

    fn refuse(self, field: &'static str) -> DecodeError {
        DecodeError::Field {
            encoding: self.encoding,
            opcode: self.opcode as u16,
            field,
        }
    }

    /// `field` must hold a usable value.
    fn require<T>(self, value: Option<T>, field: &'static str) -> Result<T, DecodeError> {
        value.ok_or_else(|| self.refuse(field))
    }

    /// `field` must be what the operation allows.
    fn check(self, allowed: bool, field: &'static str) -> Result<(), DecodeError> {
        if allowed {
            Ok(())
        } else {
            Err(self.refuse(field))
        }
    }

    fn second_word(self) -> Result<u32, DecodeError> {
        self.code
            .words
            .get(1)
            .copied()
            .ok_or(DecodeError::Truncated {
                encoding: Some(self.encoding),
            })
    }

    fn inst(self, op: Op, size: u8) -> Inst {
        Inst {
            op,
            encoding: self.encoding,
            wave: self.code.wave,
            size,
            dsts: [Operand::None; 2],
            srcs: [Operand::None; 4],
            imm: 0,
            offset1: 0,
            abs: 0,
            neg: 0,
            neg_hi: 0,
            op_sel: 0,
            op_sel_hi: 0,
            omod: 0,
            clamp: false,
            glc: false,
            slc: false,
            lds: false,
            tfe: false,
            offen: false,
            idxen: false,
            gds: false,
            sdwa: None,
            dpp: None,
        }
    }
}

fn sign_extend(value: u32, bits: u32) -> i32 {
    (value << (32 - bits)) as i32 >> (32 - bits)
}

fn bit(word: u32, index: u32) -> bool {
    word >> index & 1 != 0
}
