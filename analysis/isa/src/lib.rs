//! The instruction sets of GCN5 and CDNA targets: decoding, printing and operand roles.
//!
//! A [`Target`] says what is to be known of a processor; its [`Isa`] decodes. The tables are shared by
//! the footprint analysis, which asks what an instruction reads and writes, and by the software GPU,
//! which executes it. What must hold: every word either decodes to an [`Inst`] whose text is LLVM's
//! text for the same bytes and the same target, or is refused.

#![no_std]
#![forbid(unsafe_code)]

mod decode;
mod error;
mod info;
mod inline_float;
mod inst;
mod isa;
mod op;
mod print;
mod registers;
pub mod scalar_register;
mod table;
mod target;
mod wave;

pub use error::DecodeError;
pub use info::{Class, Flags, OpInfo, OperandType, Place, Role, Space};
pub use inline_float::InlineFloat;
pub use inst::{Blocks, Dpp, Encoding, Inst, Operand, Sdwa, SdwaSelect, Special};
pub use isa::{Generation, Isa};
pub use op::Op;
pub use target::{Accumulators, GfxVersion, Target, TargetFeatures};
pub use wave::WaveSize;
