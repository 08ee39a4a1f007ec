//! The instruction set of GCN5 and CDNA targets: decoding, printing and operand roles.
//!
//! The tables are shared by the footprint analysis, which asks what an instruction reads and
//! writes, and by the software GPU, which executes it. What must hold: every word either decodes
//! to an [`Inst`] whose text is LLVM's text for the same bytes, or is refused.

#![no_std]
#![forbid(unsafe_code)]

mod decode;
mod error;
mod info;
mod inst;
mod op;
mod print;
mod registers;
mod table;

pub use decode::decode;
pub use error::DecodeError;
pub use info::{Class, Flags, OpInfo, Place, Role, Space, Type};
pub use inst::{Dpp, Encoding, Inst, Operand, Sdwa, SdwaSelect};
pub use op::Op;
pub use registers::Registers;
