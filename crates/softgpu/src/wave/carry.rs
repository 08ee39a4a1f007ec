//! Vector operations that read or write a lane mask beside their values: carries, selection, the
//! scaling flag of divisions, and exchanges between lanes and scalar registers.

use strobe_isa::{Op, OperandType};

use super::float::{self, double, single};
use super::group::Group;
use super::lanes::{Kind, LaneOp, Value, compiled_twice, halves};
use super::mask::{bit, pack};
use super::source::Src;
use super::state::Wave;
use super::step::{Handler, NO_MASK, Outcome, Step};
use crate::target::{LANES, LaneMask};

/// A table of operations `mnemonic mask-source (sources; bit of the mask) -> result`, where the
/// expression gives the value and the bit of the mask that is written.
macro_rules! mask_ops {
    ($table:ident: $(
        $op:ident $mask:ident ($($n:tt $arg:ident : $ty:ty),+; $bit:ident) -> $ret:ty $body:block
    )*) => {
        pub(super) fn $table(op: Op, uses_avx512: bool) -> Option<LaneOp> {
            Some(match op {
                $( Op::$op => {
                    #[inline(always)]
                    fn lanes(w: &mut Wave, _: &mut Group<'_>, s: &Step) -> Outcome {
                        let mask = $mask(w, s);
                        s.broadcast(w, 0 $( | u8::from(<$ty as Value>::IS_64_BIT) << $n )+);
                        let (v, lo, hi) = w.operands();
                        $(
                            let $arg = halves::<$ty>(s.reg[$n]);
                            let $arg = (&v[usize::from($arg.0)].0, &v[usize::from($arg.1)].0);
                        )+
                        let mut bits = [0_u32; LANES];
                        for i in 0..LANES {
                            let $bit = bit(mask, i);
                            $( let $arg: $ty = Value::join($arg.0[i], $arg.1[i]); )+
                            let (value, out): ($ret, bool) = $body;
                            let (low, high) = value.split();
                            lo[i] = low;
                            if <$ret as Value>::IS_64_BIT {
                                hi[i] = high;
                            }
                            bits[i] = u32::from(out);
                        }
                        w.commit_result(s.dst, <$ret as Value>::IS_64_BIT);
                        if s.sdst != NO_MASK {
                            w.set_mask(s.sdst, pack(&bits) & w.exec());
                        }
                        Ok(())
                    }
                    LaneOp {
                        run: compiled_twice!(uses_avx512, lanes),
                        src: mask_ops!(@kinds $mask $($ty),+),
                        dst: <$ret as Value>::KIND,
                    }
                } )*
                _ => return None,
            })
        }
    };
    (@kinds third $a:ty, $b:ty) => {
        &[<$a as Value>::KIND, <$b as Value>::KIND, Kind::Mask]
    };
    (@kinds $mask:ident $($ty:ty),+) => { &[$(<$ty as Value>::KIND),+] };
}

/// No mask is read.
#[inline(always)]
fn none(_: &Wave, _: &Step) -> LaneMask {
    0
}

/// The mask is the third source.
#[inline(always)]
fn third(w: &Wave, s: &Step) -> LaneMask {
    w.read_mask(s.src[2])
}

/// The mask is VCC.
#[inline(always)]
fn vcc(w: &Wave, _: &Step) -> LaneMask {
    w.vcc()
}

mask_ops! { table:
    v_cndmask_b32 third(0 a: f32, 1 b: f32; bit) -> u32 {
        (if bit { b.to_bits() } else { a.to_bits() }, false)
    }
    v_add_co_u32 none(0 a: u32, 1 b: u32; _bit) -> u32 { a.overflowing_add(b) }
    v_sub_co_u32 none(0 a: u32, 1 b: u32; _bit) -> u32 { a.overflowing_sub(b) }
    v_subrev_co_u32 none(0 a: u32, 1 b: u32; _bit) -> u32 { b.overflowing_sub(a) }
    v_addc_co_u32 third(0 a: u32, 1 b: u32; bit) -> u32 { add_carry(a, b, bit) }
    v_subb_co_u32 third(0 a: u32, 1 b: u32; bit) -> u32 { sub_borrow(a, b, bit) }
    v_subbrev_co_u32 third(0 a: u32, 1 b: u32; bit) -> u32 { sub_borrow(b, a, bit) }
    v_mad_u64_u32 none(0 a: u32, 1 b: u32, 2 c: u64; _bit) -> u64 {
        (u64::from(a) * u64::from(b)).overflowing_add(c)
    }
    v_mad_i64_i32 none(0 a: i32, 1 b: i32, 2 c: i64; _bit) -> i64 {
        (i64::from(a) * i64::from(b)).overflowing_add(c)
    }
    v_div_scale_f32 none(0 a: f32, 1 den: f32, 2 num: f32; _bit) -> f32 {
        single::div_scale(a, den, num)
    }
    v_div_scale_f64 none(0 a: f64, 1 den: f64, 2 num: f64; _bit) -> f64 {
        double::div_scale(a, den, num)
    }
    v_div_fmas_f32 vcc(0 a: f32, 1 b: f32, 2 c: f32; bit) -> f32 {
        (float::div_fmas(a, b, c, bit), false)
    }
    v_div_fmas_f64 vcc(0 a: f64, 1 b: f64, 2 c: f64; bit) -> f64 {
        (float::div_fmas64(a, b, c, bit), false)
    }
}

#[inline(always)]
fn add_carry(a: u32, b: u32, carry: bool) -> (u32, bool) {
    let sum = u64::from(a) + u64::from(b) + u64::from(carry);
    (sum as u32, sum >> 32 != 0)
}

#[inline(always)]
fn sub_borrow(a: u32, b: u32, borrow: bool) -> (u32, bool) {
    let difference = u64::from(a)
        .wrapping_sub(u64::from(b))
        .wrapping_sub(u64::from(borrow));
    (difference as u32, difference >> 63 != 0)
}

/// Exchanges between one lane and scalar registers.
pub(super) fn exchange(op: Op) -> Option<Handler> {
    Some(match op {
        Op::v_readfirstlane_b32 => read_first_lane,
        Op::v_readlane_b32 => read_lane,
        Op::v_writelane_b32 => write_lane,
        Op::v_swap_b32 => swap,
        _ => return None,
    })
}

fn read_first_lane(w: &mut Wave, _: &mut Group<'_>, s: &Step) -> Outcome {
    // Lane 0 when no lane is active.
    let lane = w.exec().trailing_zeros() as usize & (LANES - 1);
    let value = lane_of(w, s.src[0], lane);
    w.set_scalar(s.sdst, value);
    Ok(())
}

fn read_lane(w: &mut Wave, _: &mut Group<'_>, s: &Step) -> Outcome {
    let lane = w.read32(s.src[1]) as usize & (LANES - 1);
    let value = lane_of(w, s.src[0], lane);
    w.set_scalar(s.sdst, value);
    Ok(())
}

fn lane_of(w: &Wave, src: Src, lane: usize) -> u32 {
    match src {
        Src::Vector(reg) => w.vector(reg)[lane],
        scalar => w.read32(scalar),
    }
}

fn write_lane(w: &mut Wave, _: &mut Group<'_>, s: &Step) -> Outcome {
    let value = w.read32(s.src[0]);
    let lane = w.read32(s.src[1]) as usize & (LANES - 1);
    w.vector_mut(s.dst)[lane] = value;
    Ok(())
}

fn swap(w: &mut Wave, _: &mut Group<'_>, s: &Step) -> Outcome {
    if let Src::Vector(other) = s.src[0] {
        let (a, b) = (*w.vector(s.dst), *w.vector(other));
        w.commit(s.dst, &b);
        w.commit(other, &a);
    }
    Ok(())
}

/// Whether the operation has a mask beside its vector result (VCC where none is named).
pub(super) fn writes_mask(op: Op) -> bool {
    op.info().dsts[1].ty == OperandType::LaneMask
}
