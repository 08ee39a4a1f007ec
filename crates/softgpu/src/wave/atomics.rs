//! The read-modify-write operations of global memory and LDS.

use std::convert::identity;

use super::f16::F16;
use super::float::{self, double, single};

/// What a read-modify-write operation stores.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Rmw {
    Swap,
    /// Stores the first data value where the second (global: the one after) was found.
    CompareSwap,
    Add,
    Sub,
    ReverseSub,
    SMin,
    UMin,
    SMax,
    UMax,
    And,
    Or,
    Xor,
    /// Counts up to the data value, then starts at zero.
    Inc,
    /// Counts down from the data value.
    Dec,
    /// Clears the bits of the first data value, sets those of the second.
    MaskOr,
    Wrap,
    FAdd,
    /// As memory adds, whatever MODE says: subnormal singles are zero there, doubles stay what they are (LLVM's
    /// `fpModeMatchesGlobalFPAtomicMode`; "Float Memory Atomics" of AMD's ISA document for a later CDNA).
    MemoryFAdd,
    FMin,
    FMax,
    /// Compare and swap that compares as floats.
    FCompareSwap,
    /// Sums of two halves, and of two `bf16`s.
    AddHalves,
    AddBrains,
}

/// Two halves of a word, each in its turn.
#[inline(always)]
fn by_halves(old: u32, a: u32, add: impl Fn(u16, u16) -> u16) -> u32 {
    let [low, high] = [0, 16].map(|at| u32::from(add((old >> at) as u16, (a >> at) as u16)));
    low | high << 16
}

fn sum_of_halves(a: u16, b: u16) -> u16 {
    F16(a).map2(F16(b), |a, b| a + b).0
}

/// Rounded to nearest even. (The sum in single precision is that of 16-bit numbers but for a rounding so far below their
/// last bit that the second does not see it: 24 bits are at least twice 8 and 2.)
fn sum_of_brains(a: u16, b: u16) -> u16 {
    let wide = |x: u16| f32::from_bits(u32::from(x) << 16);
    let sum = wide(a) + wide(b);
    let bits = sum.to_bits();
    if sum.is_nan() {
        return (bits >> 16) as u16 | 0x40;
    }
    ((bits + 0x7fff + (bits >> 16 & 1)) >> 16) as u16
}

/// The new value, for both widths; `a` and `b` are the data values in the order LDS instructions have
/// them (compare-and-swap: `a` compared, `b` stored).
macro_rules! apply {
    ($name:ident, $word:ty, $float:ty, $order:ident, $in_memory:expr) => {
        #[inline(always)]
        pub(super) fn $name(self, old: $word, a: $word, b: $word) -> $word {
            let (old_f, a_f) = (<$float>::from_bits(old), <$float>::from_bits(a));
            match self {
                Self::Swap => a,
                Self::CompareSwap => {
                    if old == a {
                        b
                    } else {
                        old
                    }
                }
                Self::Add => old.wrapping_add(a),
                Self::Sub => old.wrapping_sub(a),
                Self::ReverseSub => a.wrapping_sub(old),
                Self::SMin => old.cast_signed().min(a.cast_signed()).cast_unsigned(),
                Self::SMax => old.cast_signed().max(a.cast_signed()).cast_unsigned(),
                Self::UMin => old.min(a),
                Self::UMax => old.max(a),
                Self::And => old & a,
                Self::Or => old | a,
                Self::Xor => old ^ a,
                Self::Inc => {
                    if old >= a {
                        0
                    } else {
                        old + 1
                    }
                }
                Self::Dec => {
                    if old == 0 || old > a {
                        a
                    } else {
                        old - 1
                    }
                }
                Self::MaskOr => old & !a | b,
                Self::Wrap => {
                    if old >= a {
                        old - a
                    } else {
                        old.wrapping_add(b)
                    }
                }
                Self::FAdd => (old_f + a_f).to_bits(),
                Self::MemoryFAdd => {
                    let sum: $float = $in_memory($in_memory(old_f) + $in_memory(a_f));
                    sum.to_bits()
                }
                Self::FMin => $order::min(old_f, a_f).to_bits(),
                Self::FMax => $order::max(old_f, a_f).to_bits(),
                Self::FCompareSwap => {
                    if old_f == a_f {
                        b
                    } else {
                        old
                    }
                }
                // Of a word; there are no others.
                Self::AddHalves => by_halves(old as u32, a as u32, sum_of_halves) as $word,
                Self::AddBrains => by_halves(old as u32, a as u32, sum_of_brains) as $word,
            }
        }
    };
}

impl Rmw {
    /// By the operation's name after `flat_atomic_` and such, without `_x2`.
    pub(super) fn of_memory(name: &str) -> Option<Self> {
        Some(match name {
            "swap" => Self::Swap,
            "cmpswap" => Self::CompareSwap,
            "add" => Self::Add,
            "sub" => Self::Sub,
            "smin" => Self::SMin,
            "umin" => Self::UMin,
            "smax" => Self::SMax,
            "umax" => Self::UMax,
            "and" => Self::And,
            "or" => Self::Or,
            "xor" => Self::Xor,
            "inc" => Self::Inc,
            "dec" => Self::Dec,
            "add_f32" | "add_f64" => Self::MemoryFAdd,
            "min_f64" => Self::FMin,
            "max_f64" => Self::FMax,
            "pk_add_f16" => Self::AddHalves,
            "pk_add_bf16" => Self::AddBrains,
            _ => return None,
        })
    }

    /// By the operation's name after `ds_`, without `_rtn`.
    pub(super) fn of_lds(name: &str) -> Option<Self> {
        let (verb, ty) = name.rsplit_once('_')?;
        Some(match (verb, ty.as_bytes().first()?) {
            ("wrxchg", _) => Self::Swap,
            ("cmpst", b'f') => Self::FCompareSwap,
            ("cmpst", _) => Self::CompareSwap,
            ("add", b'f') => Self::FAdd,
            ("add", _) => Self::Add,
            ("sub", _) => Self::Sub,
            ("rsub", _) => Self::ReverseSub,
            ("min", b'f') => Self::FMin,
            ("max", b'f') => Self::FMax,
            ("min", b'i') => Self::SMin,
            ("max", b'i') => Self::SMax,
            ("min", _) => Self::UMin,
            ("max", _) => Self::UMax,
            ("and", _) => Self::And,
            ("or", _) => Self::Or,
            ("xor", _) => Self::Xor,
            ("inc", _) => Self::Inc,
            ("dec", _) => Self::Dec,
            ("mskor", _) => Self::MaskOr,
            ("wrap", _) => Self::Wrap,
            ("pk_add", b'f') => Self::AddHalves,
            ("pk_add", b'b') => Self::AddBrains,
            _ => return None,
        })
    }

    const ALL: [Self; 23] = [
        Self::Swap,
        Self::CompareSwap,
        Self::Add,
        Self::Sub,
        Self::ReverseSub,
        Self::SMin,
        Self::UMin,
        Self::SMax,
        Self::UMax,
        Self::And,
        Self::Or,
        Self::Xor,
        Self::Inc,
        Self::Dec,
        Self::MaskOr,
        Self::Wrap,
        Self::FAdd,
        Self::MemoryFAdd,
        Self::FMin,
        Self::FMax,
        Self::FCompareSwap,
        Self::AddHalves,
        Self::AddBrains,
    ];

    /// The operation of a step, which keeps it as a number.
    pub(super) fn from_index(index: u8) -> Self {
        Self::ALL[usize::from(index) % Self::ALL.len()]
    }

    pub(super) fn index(self) -> u8 {
        Self::ALL.iter().position(|&op| op == self).unwrap_or(0) as u8
    }

    apply!(apply32, u32, f32, single, float::flush);
    apply!(apply64, u64, f64, double, identity);

    pub(super) fn compares(self) -> bool {
        matches!(self, Self::CompareSwap | Self::FCompareSwap)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_of_doubles_are_sums_of_doubles() {
        let bits = f64::to_bits;
        let add = Rmw::of_memory("add_f64").expect("a name of gfx90a");
        assert_eq!(add.apply64(bits(1.5), bits(0.25), 0), bits(1.75));
        let least = Rmw::of_memory("min_f64").expect("a name of gfx90a");
        assert_eq!(least.apply64(bits(1.5), bits(-2.0), 0), bits(-2.0));
    }

    #[test]
    fn names_lead_to_operations_and_back() {
        assert_eq!(Rmw::of_memory("umin"), Some(Rmw::UMin));
        assert_eq!(Rmw::of_lds("min_i32"), Some(Rmw::SMin));
        assert_eq!(Rmw::of_lds("cmpst_f32"), Some(Rmw::FCompareSwap));
        assert_eq!(Rmw::of_lds("append"), None);
        for op in Rmw::ALL {
            assert_eq!(Rmw::from_index(op.index()), op);
        }
    }

    #[test]
    fn counters_wrap() {
        assert_eq!(Rmw::Inc.apply32(4, 5, 0), 5);
        assert_eq!(Rmw::Inc.apply32(5, 5, 0), 0);
        assert_eq!(Rmw::Dec.apply32(0, 5, 0), 5);
        assert_eq!(Rmw::Dec.apply32(9, 5, 0), 5);
        assert_eq!(Rmw::SMin.apply64(u64::MAX, 1, 0), u64::MAX);
        assert_eq!(Rmw::UMin.apply64(u64::MAX, 1, 0), 1);
    }
}
