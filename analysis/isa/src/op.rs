//! The operations, one variant a mnemonic, gathered from the tables.

use crate::info::{Class, Flags, OpInfo, OperandType, Place, Role, Space};
use crate::table::{
    ds::ds, flat::flat, global::global, mtbuf::mtbuf, mubuf::mubuf, scratch::scratch, smem::smem,
    sop1::sop1, sop2::sop2, sopc::sopc, sopk::sopk, sopp::sopp, vop1::vop1, vop2::vop2, vop3::vop3,
    vop3p::vop3p, vopc::vopc,
};
use crate::table::{
    gfx90a::gfx90a, gfx900::gfx900, gfx904::gfx904, gfx906::gfx906, gfx908::gfx908, gfx942::gfx942,
};

/// Hands the lines of all tables to one macro: each table's macro calls back with its groups of
/// lines, one an encoding family.
macro_rules! gather {
    ({ $then:ident [] { $($gathered:tt)* } } $($groups:tt)*) => {
        $then! { $($gathered)* $($groups)* }
    };
    ({ $then:ident [$next:ident $($rest:ident)*] { $($gathered:tt)* } } $($groups:tt)*) => {
        $next! { gather { $then [$($rest)*] { $($gathered)* $($groups)* } } }
    };
}

macro_rules! operations {
    ($( $origin:ident $family:ident [ $(
        $code:literal $name:ident ($($dst:ident)*) ($($src:ident)*) $class:ident $($bytes:literal)?
        [$($flag:ident)*] $(($($form:ident)*))?;
    )* ] )*) => {
        /// An operation: the mnemonic without `_e32`, `_e64`, `_sdwa` or `_dpp`.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[allow(non_camel_case_types, missing_docs, reason = "variants are the mnemonics themselves")]
        #[repr(u16)]
        pub enum Op {
            $($( $name, )*)*
        }

        impl Op {
            /// Every operation of every target, in the order of the tables.
            pub const ALL: &[Self] = &[$($( Self::$name, )*)*];
        }

        static INFO: [OpInfo; Op::ALL.len()] = [$($(
            info(
                stringify!($name),
                Class::$class,
                &family::$family,
                0 $(+ $bytes)?,
                &[$( place::$dst ),*],
                &[$( place::$src ),*],
                Flags::empty()$(.union(Flags::$flag))* $($(.union(Flags::$form))*)?,
            ),
        )*)*];

        /// Every operation with its table, family and opcode.
        pub(crate) const LINES: &[(Origin, &Family, usize, Op)] = &[$($(
            (Origin::$origin, &family::$family, $code, Op::$name),
        )*)*];
    };
}

/// The tables that a line may stand in: of all targets, or of those from one on.
#[derive(Clone, Copy, PartialEq, Eq)]
#[allow(non_camel_case_types, reason = "named like the tables")]
pub(crate) enum Origin {
    gcn5,
    gfx900,
    gfx904,
    gfx906,
    gfx908,
    gfx90a,
    gfx942,
}

sop1! { gather { operations
    [sop2 sopk sopc sopp smem vop1 vop2 vopc vop3 vop3p ds flat global scratch mubuf mtbuf
        gfx900 gfx904 gfx906 gfx908 gfx90a gfx942] {}
} }

impl Op {
    /// What its table says of it.
    pub const fn info(self) -> &'static OpInfo {
        &INFO[self as usize]
    }

    /// The mnemonic without form suffix.
    pub fn name(self) -> &'static str {
        self.info().name
    }
}

/// What the operations of one encoding family share.
pub(crate) struct Family {
    /// Where its opcodes begin among those of all families.
    pub(crate) first: usize,
    /// Opcodes the encoding has room for.
    pub(crate) codes: usize,
    space: Space,
    flags: Flags,
}

#[allow(non_upper_case_globals, reason = "named like the tables")]
pub(crate) mod family {
    use super::{Family, Flags, Space};

    const fn scalar(codes: usize, before: Option<&Family>) -> Family {
        family(codes, before, Space::None, Flags::empty())
    }

    const fn vector(codes: usize, before: &Family, space: Space) -> Family {
        family(codes, Some(before), space, Flags::READS_EXEC)
    }

    const fn family(codes: usize, before: Option<&Family>, space: Space, flags: Flags) -> Family {
        let first = match before {
            Some(before) => before.first + before.codes,
            None => 0,
        };
        Family {
            first,
            codes,
            space,
            flags,
        }
    }

    pub(crate) static sop1: Family = scalar(256, None);
    pub(crate) static sop2: Family = scalar(128, Some(&sop1));
    pub(crate) static sopk: Family = scalar(32, Some(&sop2));
    pub(crate) static sopc: Family = scalar(128, Some(&sopk));
    pub(crate) static sopp: Family = scalar(128, Some(&sopc));
    pub(crate) static smem: Family = family(256, Some(&sopp), Space::Smem, Flags::empty());
    pub(crate) static vop1: Family = vector(256, &smem, Space::None);
    pub(crate) static vop2: Family = vector(64, &vop1, Space::None);
    pub(crate) static vopc: Family = vector(256, &vop2, Space::None);
    pub(crate) static vop3: Family = vector(1024, &vopc, Space::None);
    pub(crate) static vop3p: Family = vector(128, &vop3, Space::None);
    pub(crate) static vop3p_mai: Family = vector(128, &vop3p, Space::None);
    pub(crate) static ds: Family = vector(256, &vop3p_mai, Space::Ds);
    pub(crate) static flat: Family = vector(128, &ds, Space::Flat);
    pub(crate) static global: Family = vector(128, &flat, Space::Global);
    pub(crate) static scratch: Family = vector(128, &global, Space::Scratch);
    pub(crate) static mubuf: Family = vector(128, &scratch, Space::Buffer);
    pub(crate) static mtbuf: Family = vector(16, &mubuf, Space::Buffer);

    /// Opcodes of all families.
    pub(crate) const CODES: usize = mtbuf.first + mtbuf.codes;
}

/// The names of operand places in the tables.
#[allow(non_upper_case_globals, reason = "named as the tables write them")]
#[rustfmt::skip]
mod place {
    use super::{Place, Role, OperandType};

    macro_rules! places {
        ($($name:ident $role:ident $ty:ident;)*) => {
            $( pub(super) const $name: Place = Place { role: Role::$role, ty: OperandType::$ty }; )*
        };
    }

    pub(super) const none: Place = Place::NONE;
    places! {
        v_b16  Vector         B16;
        a_b16  Any            B16;
        v_u16  Vector         U16;
        a_u16  Any            U16;
        v_i16  Vector         I16;
        a_i16  Any            I16;
        v_f16  Vector         F16;
        a_f16  Any            F16;
        l_f16  Literal        F16;
        s_b32  Scalar         B32;
        r_b32  ScalarRegister B32;
        v_b32  Vector         B32;
        a_b32  Any            B32;
        s_u32  Scalar         U32;
        v_u32  Vector         U32;
        a_u32  Any            U32;
        s_i32  Scalar         I32;
        v_i32  Vector         I32;
        a_i32  Any            I32;
        v_f32  Vector         F32;
        a_f32  Any            F32;
        l_f32  Literal        F32;
        v_pu16 Vector         PackedU16;
        a_pu16 Any            PackedU16;
        v_pi16 Vector         PackedI16;
        a_pi16 Any            PackedI16;
        v_pf16 Vector         PackedF16;
        a_pf16 Any            PackedF16;
        c_b32  Accumulator    B32;
        v_pf32 Vector         PackedF32;
        a_pf32 Any            PackedF32;
        v_pb32 Vector         PackedB32;
        a_pb32 Any            PackedB32;
        m_b32  Matrix         B32;
        m_b64  Matrix         B64;
        m_b128 Matrix         B128;
        m_b256 Matrix         B256;
        m_b512 Matrix         B512;
        m_b1024 Matrix        B1024;
        n_b64  Addend         F64;
        n_b128 Addend         B128;
        n_b256 Addend         B256;
        n_b512 Addend         B512;
        n_b1024 Addend        B1024;
        s_mask Scalar         LaneMask;
        r_mask ScalarRegister LaneMask;
        s_b64  Scalar         B64;
        r_b64  ScalarRegister B64;
        v_b64  Vector         B64;
        a_b64  Any            B64;
        s_u64  Scalar         U64;
        v_u64  Vector         U64;
        a_u64  Any            U64;
        s_i64  Scalar         I64;
        v_i64  Vector         I64;
        a_i64  Any            I64;
        v_f64  Vector         F64;
        a_f64  Any            F64;
        v_b96  Vector         B96;
        s_b128 Scalar         B128;
        v_b128 Vector         B128;
        a_b128 Any            B128;
        s_b256 Scalar         B256;
        s_b512 Scalar         B512;
    }
}

const fn places<const N: usize>(given: &[Place]) -> [Place; N] {
    let mut all = [Place::NONE; N];
    let mut i = 0;
    while i < given.len() {
        all[i] = given[i];
        i += 1;
    }
    all
}

const fn info(
    name: &'static str,
    class: Class,
    family: &Family,
    bytes: u8,
    dsts: &[Place],
    srcs: &[Place],
    flags: Flags,
) -> OpInfo {
    let mut flags = flags.union(family.flags);
    if flags.contains(Flags::IGNORES_EXEC) {
        flags = flags.difference(Flags::READS_EXEC);
    }
    let space = match class {
        Class::Load | Class::Store | Class::Atomic => family.space,
        _ => Space::None,
    };
    OpInfo {
        name,
        class,
        space,
        bytes,
        dsts: places(dsts),
        srcs: places(srcs),
        flags,
    }
}

impl core::fmt::Display for Op {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str(self.name())
    }
}
