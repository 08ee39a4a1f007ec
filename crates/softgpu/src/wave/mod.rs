//! The gfx9 interpreter: executes one workgroup of 64-lane waves against host memory.
//!
//! What must hold:
//! * An instruction that is not known, or not known to be right, stops the wave with
//!   [`Stop::Unknown`]; it never gives a wrong result.
//! * Nothing survives a workgroup but what the kernel wrote to memory. A [`ComputeUnit`] only
//!   recycles storage; of one that was evicted all is in what [`ComputeUnit::save`] gives, between any two
//!   instructions.
//! * The portable and the AVX-512 build of an operation come from the same source and give the
//!   same bits.

mod access_log;
mod aperture;
mod atomics;
mod buffer;
mod carry;
mod compare;
mod control;
mod data_share;
mod dispatch;
mod f16;
mod flat;
mod float;
mod fp8;
mod grid_barrier;
mod group;
mod host;
mod lanes;
mod launch;
mod lds;
mod mask;
mod matrix;
mod memory;
mod modifiers;
mod native;
mod operand;
mod packed_single;
mod private;
mod program;
mod register;
mod salu;
mod saved;
mod single;
mod smem;
mod source;
mod sparse_matrix;
mod state;
mod stats;
mod step;
mod stop;
#[cfg(test)]
mod tests;
mod transcendental;
mod transfer;
mod translate;
mod unit;
mod valu_16;
mod valu_cvt;
mod valu_f32;
mod valu_f64;
mod valu_int;
mod vram;

pub use access_log::{AccessLog, AccessedRange};
pub use aperture::{LDS_APERTURE, PRIVATE_APERTURE};
pub use dispatch::{Dispatch, PRELOADED};
pub use host::{Control, Host};
pub use memory::{AddressSpace, HostMapping};
pub use native::{Native, Traffic};
pub use program::WaveProgram;
pub use stats::Stats;
pub use stop::Stop;
pub use unit::ComputeUnit;
pub use vram::Vram;
