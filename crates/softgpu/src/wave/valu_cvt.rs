//! Conversions on the vector unit. Float to integer truncates, saturates, and makes NaN zero.

use strobe_isa::Op;

use super::f16::F16;
use super::fp8;
use super::group::Group;
use super::lanes::{LaneOp, Value, compiled_twice, each_lane, halves, lane_ops};
use super::state::Wave;
use super::step::{Handler, Outcome, Step};

lane_ops! { table:
    v_cvt_i32_f64(a: f64) -> i32 { a as i32 }
    v_cvt_u32_f64(a: f64) -> u32 { a as u32 }
    v_cvt_f64_i32(a: i32) -> f64 { f64::from(a) }
    v_cvt_f64_u32(a: u32) -> f64 { f64::from(a) }
    v_cvt_f32_i32(a: i32) -> f32 { a as f32 }
    v_cvt_f32_u32(a: u32) -> f32 { a as f32 }
    v_cvt_u32_f32(a: f32) -> u32 { a as u32 }
    v_cvt_i32_f32(a: f32) -> i32 { a as i32 }
    v_cvt_rpi_i32_f32(a: f32) -> i32 { (f64::from(a) + 0.5).floor() as i32 }
    v_cvt_flr_i32_f32(a: f32) -> i32 { a.floor() as i32 }
    v_cvt_off_f32_i4(a: i32) -> f32 { (a << 28 >> 28) as f32 * 0.0625 }
    v_cvt_f16_f32(a: f32) -> F16 { F16::from_f32(a) }
    v_cvt_f32_f16(a: F16) -> f32 { a.to_f32() }
    v_cvt_f32_f64(a: f64) -> f32 { a as f32 }
    v_cvt_f64_f32(a: f32) -> f64 { f64::from(a) }
    v_cvt_f32_ubyte0(a: u32) -> f32 { (a & 0xff) as f32 }
    v_cvt_f32_ubyte1(a: u32) -> f32 { (a >> 8 & 0xff) as f32 }
    v_cvt_f32_ubyte2(a: u32) -> f32 { (a >> 16 & 0xff) as f32 }
    v_cvt_f32_ubyte3(a: u32) -> f32 { (a >> 24) as f32 }
    v_cvt_f16_u16(a: u16) -> F16 { F16::from_f32(f32::from(a)) }
    v_cvt_f16_i16(a: i16) -> F16 { F16::from_f32(f32::from(a)) }
    v_cvt_u16_f16(a: F16) -> u16 { a.to_f32() as u16 }
    v_cvt_i16_f16(a: F16) -> i16 { a.to_f32() as i16 }
    v_cvt_norm_i16_f16(a: F16) -> i16 { signed_norm(a.to_f32()) as i16 }
    v_cvt_norm_u16_f16(a: F16) -> u16 { unsigned_norm(a.to_f32()) as u16 }
    v_cvt_pknorm_i16_f32(a: f32, b: f32) -> u32 { pack(signed_norm(a), signed_norm(b)) }
    v_cvt_pknorm_u16_f32(a: f32, b: f32) -> u32 { pack(unsigned_norm(a), unsigned_norm(b)) }
    v_cvt_pknorm_i16_f16(a: F16, b: F16) -> u32 {
        pack(signed_norm(a.to_f32()), signed_norm(b.to_f32()))
    }
    v_cvt_pknorm_u16_f16(a: F16, b: F16) -> u32 {
        pack(unsigned_norm(a.to_f32()), unsigned_norm(b.to_f32()))
    }
    v_cvt_f32_fp8(a: u32) -> f32 { fp8::fp8(a as u8) }
    v_cvt_f32_bf8(a: u32) -> f32 { fp8::bf8(a as u8) }
    v_cvt_pk_f32_fp8(a: u32) -> u64 { pair(fp8::fp8(a as u8), fp8::fp8((a >> 8) as u8)) }
    v_cvt_pk_f32_bf8(a: u32) -> u64 { pair(fp8::bf8(a as u8), fp8::bf8((a >> 8) as u8)) }
    v_cvt_pk_fp8_f32(a: f32, b: f32) -> u16 { u16::from_le_bytes([a, b].map(fp8::to_fp8)) }
    v_cvt_pk_bf8_f32(a: f32, b: f32) -> u16 { u16::from_le_bytes([a, b].map(fp8::to_bf8)) }
    v_cvt_pkrtz_f16_f32(a: f32, b: f32) -> u32 {
        let half = |x| u32::from(F16::from_f32_toward_zero(x).0);
        pack(half(a), half(b))
    }
    v_cvt_pk_u16_u32(a: u32, b: u32) -> u32 { pack(a.min(0xffff), b.min(0xffff)) }
    v_cvt_pk_i16_i32(a: i32, b: i32) -> u32 {
        let narrow = |x: i32| x.clamp(-0x8000, 0x7fff) as u32;
        pack(narrow(a), narrow(b))
    }
    v_cvt_pk_u8_f32(a: f32, byte: u32, old: u32) -> u32 {
        let at = (byte & 3) * 8;
        old & !(0xff << at) | u32::from(a.round_ties_even() as u8) << at
    }
}

/// Two singles in a pair of registers.
#[inline(always)]
fn pair(lo: f32, hi: f32) -> u64 {
    u64::from(lo.to_bits()) | u64::from(hi.to_bits()) << 32
}

#[inline(always)]
fn pack(lo: u32, hi: u32) -> u32 {
    lo & 0xffff | hi << 16
}

#[inline(always)]
fn signed_norm(x: f32) -> u32 {
    let x = if x > 1.0 { 1.0 } else { x };
    let x = if x < -1.0 { -1.0 } else { x };
    ((x * 32767.0).round_ties_even() as i32).cast_unsigned()
}

#[inline(always)]
fn unsigned_norm(x: f32) -> u32 {
    let x = if x > 1.0 { 1.0 } else { x };
    (x * 65535.0).round_ties_even() as u32
}
