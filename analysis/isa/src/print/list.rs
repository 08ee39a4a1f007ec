//! The operands after a mnemonic.

use core::fmt;

use super::operand;
use crate::info::Place;
use crate::inst::{Inst, Operand};

/// Writes operands with `, ` between them, after the mnemonic.
pub(super) struct List<'a, 'f> {
    pub(super) f: &'a mut fmt::Formatter<'f>,
    inst: &'a Inst,
    first: bool,
}

impl<'a, 'f> List<'a, 'f> {
    pub(super) fn new(f: &'a mut fmt::Formatter<'f>, inst: &'a Inst) -> Self {
        Self {
            f,
            inst,
            first: true,
        }
    }

    /// The separator and an operand in a place of the tables.
    pub(super) fn operand(&mut self, operand: Operand, place: Place) -> fmt::Result {
        let inst = self.inst;
        operand::at(self.next()?, operand, place, inst)
    }

    /// The formatter, after the separator.
    pub(super) fn next(&mut self) -> Result<&mut fmt::Formatter<'f>, fmt::Error> {
        self.f.write_str(if self.first { " " } else { ", " })?;
        self.first = false;
        Ok(self.f)
    }
}
