//! Fuzzers: of the footprint analysis, against the software GPU, and of all that reads bytes from outside
//! ([`inputs`]).
//!
//! The first is differential. Random kernels, as HIP source at all optimisation levels and as machine code, are launched with
//! random arguments on the software GPU. What it logs is what they really touched; all of it must be
//! inside what the analysis predicted from the code and the arguments.
//!
//! What must hold: the kernels are right programs, that is, each access stays in the buffer that its
//! pointer was made from. The space between buffers belongs to nobody, and a launch that touches it
//! is not judged.

#![expect(missing_docs, reason = "only its own programs and tests use it")]
#![forbid(unsafe_code)]

pub mod campaign;
pub mod compile;
pub mod device;
pub mod hip;
pub mod inputs;
pub mod judge;
pub mod machine;
pub mod program;
pub mod random;
pub mod saved;
pub mod scene;
pub mod shrink;
