//! One decoded instruction.

/// The encoding family an instruction was decoded from.
///
/// An operation may exist in several: `v_add_f32` is `Vop2` (also with SDWA or DPP) and `Vop3`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[expect(missing_docs, reason = "named as in AMD's manuals")]
pub enum Encoding {
    Sop1,
    Sop2,
    Sopk,
    Sopc,
    Sopp,
    Smem,
    Vop1,
    Vop2,
    Vopc,
    /// VOP3 without a scalar destination, and VOPC promoted to 64 bits.
    Vop3,
    /// VOP3 with a scalar destination (carry-out of `v_add_co_u32`, flag of `v_div_scale`).
    Vop3b,
    /// Packed mathematics, and mixed-precision mad.
    Vop3p,
    /// Matrix instructions, and moves between vector and accumulation registers.
    Vop3pMai,
    Ds,
    Flat,
    Global,
    Scratch,
    Mubuf,
    Mtbuf,
    Mimg,
    Vintrp,
    Exp,
}

/// One operand. Its width in dwords follows from the operation ([`crate::OpInfo`]).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Operand {
    /// The operation has no operand in this place, or the field means `off` / `null`.
    #[default]
    None,
    /// The first of one or more consecutive scalar registers, by its operand code
    /// ([`crate::scalar_register`]).
    Scalar(u8),
    /// The first of one or more consecutive vector registers.
    Vector(u8),
    /// The first of one or more consecutive accumulation registers.
    Accumulator(u8),
    /// An integer inline constant, -16..=64.
    Int(i8),
    /// One of the nine values that need no literal.
    Float(crate::inline_float::InlineFloat),
    /// The 32-bit literal that follows the instruction.
    Literal(u32),
    /// A value that reads like a register.
    Special(Special),
}

/// Values that sources can name, by their operand codes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Special {
    /// The address where local data share begins in FLAT addresses; as 32 bits, its high half.
    SharedBase = 235,
    /// The same: the last address.
    SharedLimit = 236,
    /// The same of scratch memory.
    PrivateBase = 237,
    /// The same: the last address.
    PrivateLimit = 238,
    /// Of the rasteriser.
    PopsExitingWaveId = 239,
    /// Whether VCC is zero.
    Vccz = 251,
    /// Whether EXEC is zero.
    Execz = 252,
    /// The scalar condition code.
    Scc = 253,
    /// Local data share, at an address from M0.
    LdsDirect = 254,
}

impl Special {
    pub(crate) fn from_code(code: u32) -> Option<Self> {
        Some(match code {
            235 => Self::SharedBase,
            236 => Self::SharedLimit,
            237 => Self::PrivateBase,
            238 => Self::PrivateLimit,
            239 => Self::PopsExitingWaveId,
            251 => Self::Vccz,
            252 => Self::Execz,
            253 => Self::Scc,
            254 => Self::LdsDirect,
            _ => return None,
        })
    }
}

/// Which part of a dword an SDWA operand selects.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[expect(missing_docs, reason = "named as in AMD's manuals")]
pub enum SdwaSelect {
    Byte0,
    Byte1,
    Byte2,
    Byte3,
    Word0,
    Word1,
    #[default]
    Dword,
}

/// Sub-dword addressing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Sdwa {
    /// The part of the destination that is written.
    pub dst_sel: SdwaSelect,
    /// What happens to the unselected bits: 0 pad with zero, 1 sign-extend, 2 preserve.
    pub dst_unused: u8,
    /// The parts of the sources that are read.
    pub src_sel: [SdwaSelect; 2],
    /// One bit a source: sign-extend after selection.
    pub sext: u8,
}

/// Data-parallel primitives: the lane swizzle of source 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Dpp {
    /// `dpp_ctrl` as encoded (9 bits).
    pub ctrl: u16,
    /// Rows of 16 lanes that write.
    pub row_mask: u8,
    /// Banks of 4 lanes, in every row, that write.
    pub bank_mask: u8,
    /// A source lane that does not exist or is disabled reads as 0; otherwise the destination lane
    /// keeps its value.
    pub bound_ctrl: bool,
}

/// A decoded instruction.
///
/// Sources stand in assembler order, except where one order for a whole family serves the reader
/// better:
///
/// | family | `srcs` | `dsts` |
/// |---|---|---|
/// | SMEM | sbase, soffset register, sdata of a store | sdst |
/// | DS | addr, data0, data1 | vdst |
/// | FLAT, GLOBAL, SCRATCH | vaddr, vdata, saddr | vdst |
/// | VOP*, SOP* | in the order of the text; `vcc` of a 32-bit encoding is explicit | result, then carry or flag |
/// | `v_swap_b32` | both registers | both registers |
/// | MUBUF, MTBUF | vaddr, srsrc, soffset, vdata of a store or atomic | vdata of a load or returning atomic |
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Inst {
    /// The operation.
    pub op: crate::op::Op,
    /// In which form.
    pub encoding: Encoding,
    /// Of the target: fields are named after it.
    pub generation: crate::isa::Generation,
    /// Of the kernel: lane masks are as wide.
    pub wave: crate::wave::WaveSize,
    /// Bytes: 4 or 8.
    pub size: u8,
    /// As many as [`crate::OpInfo::dsts`] says.
    pub dsts: [Operand; 2],
    /// As many as [`crate::OpInfo::srcs`] says.
    pub srcs: [Operand; 4],
    /// SOPK and SOPP `simm16` (sign-extended); SMEM, FLAT, MUBUF and single DS byte offset;
    /// `offset0` of a two-address DS instruction; the set of operands of `s_set_gpr_idx_on`; the literal of `v_madmk/v_madak` stands in `srcs`.
    pub imm: i32,
    /// `offset1` of a two-address DS instruction. MTBUF: the data format in bits 0..=3, the number
    /// format in 4..=6. `s_atc_probe`: what is probed for.
    pub offset1: u8,
    /// One bit a source.
    pub abs: u8,
    /// One bit a source (`neg_lo` for packed VOP3P). No meaning for an integer source, where LLVM
    /// shows it as `sext`.
    pub neg: u8,
    /// Packed VOP3P, one bit a source.
    pub neg_hi: u8,
    /// VOP3, VOP3P: one bit a source, bit 3 the destination.
    pub op_sel: u8,
    /// VOP3P, one bit a source.
    pub op_sel_hi: u8,
    /// Output modifier: 0 none, 1 times 2, 2 times 4, 3 divided by 2.
    pub omod: u8,
    /// The result is clamped to its range.
    pub clamp: bool,
    /// Coherent across the device; of an atomic: the old value is returned. (`sc0` on gfx942.)
    pub glc: bool,
    /// Streamed: not kept in the caches. (`nt` on gfx942.)
    pub slc: bool,
    /// Coherent across the system. (`sc1` on gfx942.)
    pub scc: bool,
    /// Data goes to LDS.
    pub lds: bool,
    /// Texture fail: a status word is written, too.
    pub tfe: bool,
    /// MUBUF: the address register holds an offset / an index. SMEM: `offen` says that `imm` is
    /// given, be it zero.
    pub offen: bool,
    /// The address register holds an index.
    pub idxen: bool,
    /// DS: global data share.
    pub gds: bool,
    /// In the SDWA form.
    pub sdwa: Option<Sdwa>,
    /// In the DPP form.
    pub dpp: Option<Dpp>,
    /// Of a matrix instruction.
    pub matrix: Blocks,
}

/// How a matrix instruction takes its blocks from lanes: the fields as encoded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Blocks {
    /// Of the first matrix: how many blocks one is broadcast to.
    pub cbsz: u8,
    /// ... and which one.
    pub abid: u8,
    /// Of the second: which lanes; of doubles since gfx942: signs of all three.
    pub blgp: u8,
}
