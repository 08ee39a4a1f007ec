//! How the operations of the vector unit are written: one line each, a closure per lane.
//!
//! `lane_ops!` compiles each line twice from the same source, once portable and once for AVX-512,
//! and makes a table from operation to handler and operand types.

use super::f16::F16;
use super::step::Handler;

/// How the bits of an operand are to be understood by constants and modifiers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Int16,
    Int32,
    /// 64-bit integer; a 32-bit literal is sign-extended if `signed`.
    Int64 {
        signed: bool,
    },
    F16,
    F32,
    F64,
    /// A lane mask in scalar registers.
    Mask,
    /// Two 16-bit values; `float` says of which sort.
    Packed {
        float: bool,
    },
}

impl Kind {
    pub(super) fn is_64_bit(self) -> bool {
        matches!(self, Self::Int64 { .. } | Self::F64)
    }
}

/// A vector operation as the tables give it.
#[derive(Clone, Copy, Debug)]
pub(super) struct LaneOp {
    pub run: Handler,
    pub src: &'static [Kind],
    pub dst: Kind,
}

/// A value of one lane, in one register or two.
pub(super) trait Value: Copy {
    const KIND: Kind;
    const IS_64_BIT: bool = false;
    fn join(lo: u32, hi: u32) -> Self;
    fn split(self) -> (u32, u32);
}

macro_rules! narrow_value {
    ($($ty:ty, $kind:expr, $join:expr, $split:expr;)*) => { $(
        impl Value for $ty {
            const KIND: Kind = $kind;
            #[inline(always)]
            fn join(lo: u32, _: u32) -> Self {
                let join: fn(u32) -> Self = $join;
                join(lo)
            }
            #[inline(always)]
            fn split(self) -> (u32, u32) {
                let split: fn(Self) -> u32 = $split;
                (split(self), 0)
            }
        }
    )* };
}

narrow_value! {
    u32, Kind::Int32, |lo| lo, |v| v;
    i32, Kind::Int32, |lo| lo as i32, |v| v as u32;
    f32, Kind::F32, f32::from_bits, f32::to_bits;
    u16, Kind::Int16, |lo| lo as u16, u32::from;
    i16, Kind::Int16, |lo| lo as i16, |v| u32::from(v as u16);
    F16, Kind::F16, |lo| Self(lo as u16), |v| u32::from(v.0);
    (F16, F16), Kind::Packed { float: true },
        |lo| (F16(lo as u16), F16((lo >> 16) as u16)),
        |v| u32::from(v.0.0) | u32::from(v.1.0) << 16;
    (u16, u16), Kind::Packed { float: false },
        |lo| (lo as u16, (lo >> 16) as u16),
        |v| u32::from(v.0) | u32::from(v.1) << 16;
    (i16, i16), Kind::Packed { float: false },
        |lo| (lo as i16, (lo >> 16) as i16),
        |v| u32::from(v.0 as u16) | u32::from(v.1 as u16) << 16;
}

macro_rules! value_of_64_bits {
    ($($ty:ty, $kind:expr, $join:expr, $split:expr;)*) => { $(
        impl Value for $ty {
            const KIND: Kind = $kind;
            const IS_64_BIT: bool = true;
            #[inline(always)]
            fn join(lo: u32, hi: u32) -> Self {
                let join: fn(u64) -> Self = $join;
                join(u64::from(lo) | u64::from(hi) << 32)
            }
            #[inline(always)]
            fn split(self) -> (u32, u32) {
                let split: fn(Self) -> u64 = $split;
                let bits = split(self);
                (bits as u32, (bits >> 32) as u32)
            }
        }
    )* };
}

value_of_64_bits! {
    u64, Kind::Int64 { signed: false }, |v| v, |v| v;
    i64, Kind::Int64 { signed: true }, |v| v as i64, |v| v as u64;
    f64, Kind::F64, f64::from_bits, f64::to_bits;
}

/// The vector registers of a value: of its low and its high half (the same when it has one).
#[inline(always)]
pub(super) fn halves<V: Value>(reg: u16) -> (u16, u16) {
    (reg, if V::IS_64_BIT { reg + 1 } else { reg })
}

/// Defines `fn body(wave, step)` as the portable handler, and the same for AVX-512; picks one.
macro_rules! compiled_twice {
    ($uses_avx512:expr, $body:path) => {{
        fn portable(w: &mut Wave, g: &mut Group<'_>, s: &Step) -> Outcome {
            $body(w, g, s)
        }
        #[cfg(target_arch = "x86_64")]
        #[target_feature(
            enable = "avx512f,avx512bw,avx512dq,avx512vl,fma,f16c,bmi1,bmi2,popcnt,lzcnt"
        )]
        fn avx512(w: &mut Wave, g: &mut Group<'_>, s: &Step) -> Outcome {
            $body(w, g, s)
        }
        #[cfg(target_arch = "x86_64")]
        let handler = if $uses_avx512 {
            avx512 as Handler
        } else {
            portable as Handler
        };
        #[cfg(not(target_arch = "x86_64"))]
        let handler = portable as Handler;
        handler
    }};
}
pub(super) use compiled_twice;

/// Runs `$body` for each lane and writes the active lanes of the destination.
macro_rules! each_lane {
    ($w:ident, $s:ident, $lane:ident, $ret:ty, $body:expr, $($n:tt $arg:ident $ty:ty),*) => {{
        $s.broadcast($w, 0 $( | u8::from(<$ty as Value>::IS_64_BIT) << $n )*);
        let (v, lo, hi) = $w.operands();
        $(
            let $arg = halves::<$ty>($s.reg[$n]);
            let $arg = (&v[usize::from($arg.0)].0, &v[usize::from($arg.1)].0);
        )*
        for $lane in 0..$crate::target::LANES {
            $( let $arg: $ty = Value::join($arg.0[$lane], $arg.1[$lane]); )*
            let result: $ret = $body;
            let (low, high) = result.split();
            lo[$lane] = low;
            if <$ret as Value>::IS_64_BIT {
                hi[$lane] = high;
            }
        }
        $w.commit_result($s.dst, <$ret as Value>::IS_64_BIT);
    }};
}
pub(super) use each_lane;

/// A table of vector operations: `mnemonic [lane] (sources) -> result { expression }`.
macro_rules! lane_ops {
    ($table:ident: $(
        $op:ident $([$lane:ident])? ($a:ident : $at:ty $(, $b:ident : $bt:ty $(, $c:ident : $ct:ty)?)?)
            -> $ret:ty $body:block
    )*) => {
        pub(super) fn $table(op: Op, uses_avx512: bool) -> Option<LaneOp> {
            Some(match op {
                $( Op::$op => {
                    #[inline(always)]
                    fn lanes(w: &mut Wave, _: &mut Group<'_>, s: &Step) -> Outcome {
                        lane_ops!(@each w, s, ($($lane)?), $ret, $body,
                            0 $a $at $(, 1 $b $bt $(, 2 $c $ct)?)?);
                        Ok(())
                    }
                    LaneOp {
                        run: compiled_twice!(uses_avx512, lanes),
                        src: &[<$at as Value>::KIND
                            $(, <$bt as Value>::KIND $(, <$ct as Value>::KIND)?)?],
                        dst: <$ret as Value>::KIND,
                    }
                } )*
                _ => return None,
            })
        }
    };
    (@each $w:ident, $s:ident, (), $($rest:tt)*) => {
        each_lane!($w, $s, i, $($rest)*)
    };
    (@each $w:ident, $s:ident, ($lane:ident), $($rest:tt)*) => {
        each_lane!($w, $s, $lane, $($rest)*)
    };
}
pub(super) use lane_ops;
