//! The gfx9 interpreter: executes one workgroup of 64-lane waves against host memory.
//!
//! What must hold:
//! * An instruction that is not known, or not known to be right, stops the wave with
//!   [`Stop::Unknown`]; it never gives a wrong result.
//! * Nothing survives a workgroup but what the kernel wrote to memory. A [`ComputeUnit`] only
//!   recycles storage; dropping it at any time loses nothing.
//! * The portable and the AVX-512 build of an operation come from the same source and give the
//!   same bits.

mod access_log;
mod atomics;
mod buffer;
mod carry;
mod compare;
mod control;
mod dispatch;
mod f16;
mod flat;
mod float;
mod group;
mod lanes;
mod launch;
mod lds;
mod memory;
mod modifiers;
mod operand;
mod private;
mod program;
mod salu;
mod single;
mod smem;
mod state;
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

pub use access_log::{AccessLog, Extent};
pub use dispatch::{Descriptor, Dispatch, Packet};
pub use memory::{AddressSpace, Mapping};
pub use program::Program;
pub use stop::Stop;
pub use unit::{ComputeUnit, Control, HELD, Host, Stats};
pub use vram::Vram;

/// Start of the LDS aperture of flat addresses (`GET_PROCESS_APERTURES` reports the same).
pub const LDS_APERTURE: u64 = 1 << 48;
/// Start of the private (scratch) aperture of flat addresses.
pub const PRIVATE_APERTURE: u64 = 2 << 48;
