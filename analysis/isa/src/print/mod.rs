//! Instructions to text, as LLVM's disassembler writes them for the same target.

mod list;
mod memory;
mod operand;
mod scalar;
mod vector;

use core::fmt;

use crate::inst::{Encoding, Inst};

/// The text of `llvm-objdump` for the same bytes. A branch shows its offset field as
/// an unsigned number, as LLVM does when it has no symbols.
impl fmt::Display for Inst {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.encoding {
            Encoding::Sop1 | Encoding::Sop2 | Encoding::Sopc => scalar::operation(self, f),
            Encoding::Sopk => scalar::sopk(self, f),
            Encoding::Sopp => scalar::sopp(self, f),
            Encoding::Vop1 | Encoding::Vop2 | Encoding::Vopc => vector::short(self, f),
            Encoding::Vop3 | Encoding::Vop3b => vector::vop3(self, f),
            Encoding::Vop3p => vector::vop3p(self, f),
            Encoding::Vop3pMai => vector::matrix(self, f),
            Encoding::Smem => memory::smem(self, f),
            Encoding::Ds => memory::ds(self, f),
            Encoding::Flat | Encoding::Global | Encoding::Scratch => memory::flat(self, f),
            Encoding::Mubuf | Encoding::Mtbuf => memory::buffer(self, f),
            // Not decoded.
            Encoding::Mimg | Encoding::Vintrp | Encoding::Exp => f.write_str(self.op.name()),
        }
    }
}
