//! What is being decoded, and how it is refused.

use crate::error::DecodeError;
use crate::info::Place;
use crate::inst::{Blocks, Encoding, Inst, Operand, Special};
use crate::isa::{Generation, Isa};
use crate::op::{Family, Op};
use crate::wave::WaveSize;

/// The words of an instruction, and for whom they are meant.
#[derive(Clone, Copy)]
pub(super) struct Code<'a> {
    pub(super) isa: &'a Isa,
    pub(super) wave: WaveSize,
    pub(super) words: &'a [u32],
}

/// What is being decoded, for errors.
#[derive(Clone, Copy)]
pub(super) struct Subject<'a> {
    pub(super) code: Code<'a>,
    pub(super) encoding: Encoding,
    pub(super) opcode: u32,
}

impl Subject<'_> {
    pub(super) fn op(self, family: &Family) -> Result<Op, DecodeError> {
        self.code
            .isa
            .op(family, self.opcode)
            .ok_or(DecodeError::UnknownOpcode {
                encoding: self.encoding,
                opcode: self.opcode as u16,
            })
    }

    pub(super) fn dwords(self, place: Place) -> u8 {
        place.dwords(self.code.wave)
    }

    pub(super) fn refuse(self, field: &'static str) -> DecodeError {
        DecodeError::Field {
            encoding: self.encoding,
            opcode: self.opcode as u16,
            field,
        }
    }

    /// `field` must hold a usable value.
    pub(super) fn require<T>(
        self,
        value: Option<T>,
        field: &'static str,
    ) -> Result<T, DecodeError> {
        value.ok_or_else(|| self.refuse(field))
    }

    /// `field` must be what the operation allows.
    pub(super) fn check(self, allowed: bool, field: &'static str) -> Result<(), DecodeError> {
        if allowed {
            Ok(())
        } else {
            Err(self.refuse(field))
        }
    }

    /// Whether vector and accumulation registers are one file: memory and matrix instructions name either.
    pub(super) fn is_unified(self) -> bool {
        self.code.isa.generation >= Generation::Cdna2
    }

    /// Whether a scalar instruction has this source: from gfx90a on none has local data share.
    pub(super) fn is_there(self, source: &Operand) -> bool {
        !self.is_unified() || *source != Operand::Special(Special::LdsDirect)
    }

    pub(super) fn second_word(self) -> Result<u32, DecodeError> {
        self.code
            .words
            .get(1)
            .copied()
            .ok_or(DecodeError::Truncated {
                encoding: Some(self.encoding),
            })
    }

    pub(super) fn inst(self, op: Op, size: u8) -> Inst {
        Inst {
            op,
            encoding: self.encoding,
            generation: self.code.isa.generation,
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
            scc: false,
            lds: false,
            tfe: false,
            offen: false,
            idxen: false,
            gds: false,
            sdwa: None,
            dpp: None,
            matrix: Blocks::default(),
        }
    }
}

/// Image, export and interpolation instructions do not occur in compute programs.
pub(super) fn refuse_graphics(encoding: Encoding, opcode: u32) -> Result<Inst, DecodeError> {
    Err(DecodeError::Graphics {
        encoding,
        opcode: opcode as u16,
    })
}

pub(super) fn sign_extend(value: u32, bits: u32) -> i32 {
    (value << (32 - bits)) as i32 >> (32 - bits)
}

pub(super) fn bit(word: u32, index: u32) -> bool {
    word >> index & 1 != 0
}
