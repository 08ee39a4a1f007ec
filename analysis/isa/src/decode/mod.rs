//! Words to instructions.
//!
//! What LLVM 15 refuses, and of gfx90a and gfx942 LLVM 19, is refused: unknown opcodes, operand codes that name nothing, modifiers an
//! operation does not have. Fields that LLVM does not look at are not looked at here either.
//!
//! Refused here although LLVM shows something:
//! - graphics: image, export and interpolation instructions;
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
mod subject;
mod vector;
mod vop3;

use crate::error::DecodeError;
use crate::inst::{Encoding, Inst};
use crate::isa::Isa;
use crate::op::family;
use crate::wave::WaveSize;
use subject::{Code, refuse_graphics};

pub(crate) use scalar::takes_immediate;
pub(crate) use vector::is_of_bytes;
pub(crate) use vop3::is_mix;

impl Isa {
    /// Decodes the instruction that starts at `words[0]`; its length is [`Inst::size`]. Words after
    /// it are not looked at. `wave` is the kernel's, which says how wide lane masks are.
    pub fn decode(&self, words: &[u32], wave: WaveSize) -> Result<Inst, DecodeError> {
        let &word = words
            .first()
            .ok_or(DecodeError::Truncated { encoding: None })?;
        let code = Code {
            isa: self,
            wave,
            words,
        };
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
            0b11_0100 if word >> 23 & 7 == 7 => {
                match self.op(&family::vop3p_mai, word >> 16 & 0x7f) {
                    Some(_) => matrix::vop3p_mai(word, code),
                    None => vop3::vop3p(word, code),
                }
            }
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
}
