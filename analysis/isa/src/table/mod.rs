//! The tables, one line an encoding: a file for each encoding family with what all targets have, and
//! a file for each target with what it adds to another ([`crate::isa`] says to which).
//!
//! A line reads: opcode, mnemonic, destinations, sources, class, bytes a lane (memory only),
//! flags, and in parentheses, for vector operations, the other forms that exist and the modifiers
//! of the 64-bit form.
//!
//! Places are named `s_` scalar (as a source also a constant), `r_` scalar register only, `v_`
//! vector, `a_` any of these, `c_` accumulation register, `m_` vector or accumulation register, `n_` these or a
//! constant, `l_` a literal in any case, then the type
//! (`pf16` is two packed halves, `mask` a bit for each lane). They describe the 64-bit form of a vector operation: the second source of VOP2 and
//! VOPC proper is a vector register.
//!
//! Each file is a macro that hands its lines, by family, to `$then!`; [`crate::op`] gathers them.

pub(crate) mod ds;
pub(crate) mod flat;
pub(crate) mod gfx900;
pub(crate) mod gfx904;
pub(crate) mod gfx906;
pub(crate) mod gfx908;
pub(crate) mod gfx90a;
pub(crate) mod gfx942;
pub(crate) mod global;
pub(crate) mod mtbuf;
pub(crate) mod mubuf;
pub(crate) mod scratch;
pub(crate) mod smem;
pub(crate) mod sop1;
pub(crate) mod sop2;
pub(crate) mod sopc;
pub(crate) mod sopk;
pub(crate) mod sopp;
pub(crate) mod vop1;
pub(crate) mod vop2;
pub(crate) mod vop3;
pub(crate) mod vop3p;
pub(crate) mod vopc;
