//! The operations, one variant a mnemonic, gathered from the tables.

use crate::info::{Class, Flags, OpInfo, Place, Role, Space, Type};
use crate::table::{
    ds::ds, flat::flat, global::global, mtbuf::mtbuf, mubuf::mubuf, scratch::scratch, smem::smem,
    sop1::sop1, sop2::sop2, sopc::sopc, sopk::sopk, sopp::sopp, vop1::vop1, vop2::vop2, vop3::vop3,
    vop3p::vop3p, vopc::vopc,
};

/// Hands the lines of all families to one macro: each family's macro calls back with its lines.
macro_rules! gather {
    ({ $then:ident [$next:ident $($rest:ident)*] $gathered:tt } $family:ident $lines:tt) => {
        gather! { @add $then [$next $($rest)*] $gathered $family $lines }
    };
    ({ $then:ident [] { $($gathered:tt)* } } $family:ident $lines:tt) => {
        $then! { $($gathered)* $family $lines }
    };
    (@add $then:ident [$next:ident $($rest:ident)*] { $($gathered:tt)* } $family:ident $lines:tt) => {
        $next! { gather { $then [$($rest)*] { $($gathered)* $family $lines } } }
    };
}

macro_rules! operations {
    ($( $family:ident [ $(
        $code:literal $name:ident ($($dst:ident)*) ($($src:ident)*) $class:ident $($bytes:literal)?
        [$($flag:ident)*] $(($($form:ident)*))?;
    )* ] )*) => {
        /// An operation: the mnemonic without `_e32`, `_e64`, `_sdwa` or `_dpp`.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[allow(non_camel_case_types, reason = "variants are the mnemonics themselves")]
        #[repr(u16)]
        pub enum Op {
            $($( $name, )*)*
        }

        impl Op {
            /// Every operation, in the order of the tables.
            pub const ALL: &[Self] = &[$($( Self::$name, )*)*];
        }

        static INFO: [OpInfo; Op::ALL.len()] = [$($(
            info(
                stringify!($name),
                Class::$class,
                family::$family,
                0 $(+ $bytes)?,
                &[$( place::$dst ),*],
                &[$( place::$src ),*],
                Flags::empty()$(.union(Flags::$flag))* $($(.union(Flags::$form))*)?,
            ),
        )*)*];

        /// Opcode to operation, by family.
        #[allow(non_upper_case_globals, reason = "named like the tables")]
        pub(crate) mod by_code {
            use super::Op;

            $( pub(crate) static $family: [Option<Op>; super::family::$family.codes] =
                super::index(&[$( ($code, Op::$name) ),*]); )*
        }
    };
}

sop1! { gather { operations
    [sop2 sopk sopc sopp smem vop1 vop2 vopc vop3 vop3p ds flat global scratch mubuf mtbuf] {}
} }

impl Op {
    pub const fn info(self) -> &'static OpInfo {
        &INFO[self as usize]
    }

    /// The mnemonic without form suffix.
    pub fn name(self) -> &'static str {
        self.info().name
    }
}

/// What the operations of one table share.
struct Family {
    /// Opcodes the encoding has room for.
    codes: usize,
    space: Space,
    flags: Flags,
}

#[allow(non_upper_case_globals, reason = "named like the tables")]
mod family {
    use super::{Family, Flags, Space};

    const fn scalar(codes: usize) -> Family {
        Family {
            codes,
            space: Space::None,
            flags: Flags::empty(),
        }
    }

    const fn vector(codes: usize, space: Space) -> Family {
        Family {
            codes,
            space,
            flags: Flags::READS_EXEC,
        }
    }

    pub(super) const sop1: Family = scalar(256);
    pub(super) const sop2: Family = scalar(128);
    pub(super) const sopk: Family = scalar(32);
    pub(super) const sopc: Family = scalar(128);
    pub(super) const sopp: Family = scalar(128);
    pub(super) const smem: Family = Family {
        codes: 256,
        space: Space::Smem,
        flags: Flags::empty(),
    };
    pub(super) const vop1: Family = vector(256, Space::None);
    pub(super) const vop2: Family = vector(64, Space::None);
    pub(super) const vopc: Family = vector(256, Space::None);
    pub(super) const vop3: Family = vector(1024, Space::None);
    pub(super) const vop3p: Family = vector(128, Space::None);
    pub(super) const ds: Family = vector(256, Space::Ds);
    pub(super) const flat: Family = vector(128, Space::Flat);
    pub(super) const global: Family = vector(128, Space::Global);
    pub(super) const scratch: Family = vector(128, Space::Scratch);
    pub(super) const mubuf: Family = vector(128, Space::Buffer);
    pub(super) const mtbuf: Family = vector(16, Space::Buffer);
}

/// The names of operand places in the tables.
#[allow(non_upper_case_globals, reason = "named as the tables write them")]
#[rustfmt::skip]
mod place {
    use super::{Place, Role, Type};

    macro_rules! places {
        ($($name:ident $role:ident $ty:ident;)*) => {
            $( pub(super) const $name: Place = Place { role: Role::$role, ty: Type::$ty }; )*
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
    family: Family,
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

/// A lookup array. An opcode given twice or out of range fails the build.
const fn index<const N: usize>(lines: &[(usize, Op)]) -> [Option<Op>; N] {
    let mut table = [None; N];
    let mut i = 0;
    while i < lines.len() {
        let (code, op) = lines[i];
        assert!(table[code].is_none(), "an opcode occurs twice");
        table[code] = Some(op);
        i += 1;
    }
    table
}

impl core::fmt::Display for Op {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str(self.name())
    }
}
