//! What is known of an operation apart from its operands' values.

use bitflags::bitflags;

use crate::wave::WaveSize;

/// Facts about one operation, from the Vega instruction set document.
#[derive(Clone, Copy, Debug)]
pub struct OpInfo {
    /// The mnemonic without form suffix.
    pub name: &'static str,
    /// What it does.
    pub class: Class,
    /// Which memory it accesses, if any.
    pub space: Space,
    /// Bytes one lane (SMEM: the wave) accesses at one address; `TWO_ADDRESSES` operations access
    /// that many at each. 0 for a memory operation: the buffer descriptor or the instruction's
    /// data format decides, at most 16.
    pub bytes: u8,
    /// In the order of [`crate::Inst::dsts`].
    pub dsts: [Place; 2],
    /// In the order of [`crate::Inst::srcs`].
    pub srcs: [Place; 4],
    /// Implicit operands and properties.
    pub flags: Flags,
}

/// What an operation does, as far as control flow and memory are concerned.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Class {
    /// Registers to registers; also the data-share operations that only exchange lanes.
    Alu,
    /// Multiplies matrices: in all lanes, whatever EXEC holds.
    Matrix,
    /// Of memory.
    Load,
    /// To memory.
    Store,
    /// Read-modify-write. A FLAT, buffer or scalar one returns the old value if `glc` is set, a DS
    /// one if it has a destination.
    Atomic,
    /// Always taken, to `pc + 4 + 4 * imm`.
    Branch,
    /// On SCC, VCC, EXEC or a debug condition.
    ConditionalBranch,
    /// To an address in a register: `s_setpc_b64` and return from exception.
    Jump,
    /// Like `Jump` (`s_swappc_b64`) or `Branch` (`s_call_b64`), and stores the address of the next
    /// instruction.
    Call,
    /// Stores the address of the next instruction.
    GetPc,
    /// Divergence by fork and join (`s_cbranch_g_fork`, `s_cbranch_i_fork`, `s_cbranch_join`).
    Fork,
    /// Waits for all waves of the work-group.
    Barrier,
    /// The wave ends.
    End,
    /// `s_waitcnt`.
    Wait,
    /// To the host or to another unit.
    Message,
    /// Invalidates, writes back or probes a cache.
    Cache,
    /// Reads a clock.
    Clock,
    /// `s_trap`.
    Trap,
    /// Reads or writes hardware registers and modes of operation.
    Mode,
    /// No effect on registers or memory.
    Hint,
}

/// The address space a memory operation works on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Space {
    /// Not a memory operation.
    None,
    /// Scalar memory: device memory through the scalar cache.
    Smem,
    /// Local (or global) data share.
    Ds,
    /// Device memory, local data share or scratch, as the aperture of each lane's address decides.
    Flat,
    /// Global memory.
    Global,
    /// Scratch memory of the lane.
    Scratch,
    /// What a buffer descriptor says.
    Buffer,
}

/// Where an operand may stand.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Role {
    /// The operation has no operand here.
    None,
    /// Scalar registers; as a source also a constant.
    Scalar,
    /// Scalar registers, never a constant.
    ScalarRegister,
    /// Vector registers.
    Vector,
    /// Accumulation registers.
    Accumulator,
    /// Of a matrix instruction: vector or accumulation registers, as a bit of it says.
    Matrix,
    /// The same, or a constant.
    Addend,
    /// A source: scalar, vector or constant.
    Any,
    /// A literal, always.
    Literal,
}

/// How an operand's bits are understood.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[expect(
    missing_docs,
    reason = "a letter for the kind and the bits, as in LLVM's names of instructions"
)]
pub enum OperandType {
    B16,
    U16,
    I16,
    F16,
    B32,
    U32,
    I32,
    F32,
    /// Two packed halves.
    PackedU16,
    PackedI16,
    PackedF16,
    /// Two packed singles, in two registers.
    PackedF32,
    PackedB32,
    B64,
    U64,
    I64,
    F64,
    B96,
    B128,
    B256,
    B512,
    B1024,
    /// One bit for each lane of the wave.
    LaneMask,
}

impl OperandType {
    /// Registers occupied, in a wave of this size.
    pub const fn dwords(self, wave: WaveSize) -> u8 {
        match self {
            Self::B16 | Self::U16 | Self::I16 | Self::F16 => 1,
            Self::B32 | Self::U32 | Self::I32 | Self::F32 => 1,
            Self::PackedU16 | Self::PackedI16 | Self::PackedF16 => 1,
            Self::B64 | Self::U64 | Self::I64 | Self::F64 => 2,
            Self::PackedF32 | Self::PackedB32 => 2,
            Self::B96 => 3,
            Self::B128 => 4,
            Self::B256 => 8,
            Self::B512 => 16,
            Self::B1024 => 32,
            Self::LaneMask => wave.mask_dwords(),
        }
    }

    /// Whether sign and magnitude modifiers make sense.
    pub const fn is_float(self) -> bool {
        matches!(
            self,
            Self::F16 | Self::F32 | Self::F64 | Self::PackedF16 | Self::PackedF32
        )
    }
}

/// One operand position.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Place {
    /// In which registers it may stand.
    pub role: Role,
    /// How its bits are used.
    pub ty: OperandType,
}

impl Place {
    pub(crate) const NONE: Self = Self {
        role: Role::None,
        ty: OperandType::B32,
    };

    /// Registers occupied, 0 if there is no operand here. [`crate::Inst::src_dwords`] knows what
    /// depends on the instruction.
    pub const fn dwords(self, wave: WaveSize) -> u8 {
        match self.role {
            Role::None => 0,
            _ => self.ty.dwords(wave),
        }
    }
}

bitflags! {
    /// Implicit operands and properties.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
    pub struct Flags: u32 {
        /// The scalar condition code.
        const READS_SCC = 1;
        /// The scalar condition code.
        const WRITES_SCC = 1 << 1;
        /// Beyond the explicit operands (VOP2 carries and VOPC results are explicit).
        const READS_VCC = 1 << 2;
        /// The same.
        const WRITES_VCC = 1 << 3;
        /// Every vector operation but those that name their lane.
        const READS_EXEC = 1 << 4;
        /// The mask of active lanes.
        const WRITES_EXEC = 1 << 5;
        /// An index, an address or a limit.
        const READS_M0 = 1 << 6;
        /// Beyond the explicit operands.
        const WRITES_M0 = 1 << 7;
        /// FLAT and scratch addresses.
        const READS_FLAT_SCRATCH = 1 << 8;
        /// The destination's old value matters: it is a third source, or part of it survives.
        const READS_DST = 1 << 9;
        /// Data share: accesses `imm` and `offset1`, in units of the access.
        const TWO_ADDRESSES = 1 << 10;
        /// The offsets of a `TWO_ADDRESSES` operation count 64 units each.
        const STRIDE_64 = 1 << 11;
        /// Only the global data share has it.
        const GDS_ONLY = 1 << 12;
        /// A form exists that moves memory straight to local data share, at an address from M0.
        const LDS_FORM = 1 << 13;
        /// Only that form exists (buffer), or only local data share has it (DS).
        const LDS_ONLY = 1 << 14;
        /// A vector operation that works whatever EXEC holds.
        const IGNORES_EXEC = 1 << 15;
        /// A 32-bit vector encoding has a 64-bit form.
        const VOP3 = 1 << 16;
        /// That form can saturate the result.
        const CLAMP = 1 << 19;
        /// ... can scale the result by 2, 4, 1/2.
        const OMOD = 1 << 20;
        /// ... can negate sources and take their magnitude.
        const MODS = 1 << 21;
        /// ... can select the high halves of sources and destination.
        const OP_SEL = 1 << 22;
        /// A 32-bit vector encoding has a sub-dword form.
        const SDWA = 1 << 17;
        /// ... has a lane-swizzled form.
        const DPP = 1 << 18;
    }
}
