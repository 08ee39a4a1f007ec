//! Operand and result modifiers as steps of their own: sub-dword selection, absolute value and
//! negation, packed half selection, lane swizzles, clamping, placing of part results.

use strobe_isa::scalar_register::M0;

use super::f16::F16;
use super::float;
use super::group::Group;
use super::lanes::{Kind, compiled_twice};
use super::register::Lanes;
use super::source::Src;
use super::state::Wave;
use super::step::{Handler, Outcome, Step};
use crate::target::LANES;

/// What happens to the bits of one 32-bit source: `((x << left) >> right) & and ^ xor`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Bits {
    pub left: u8,
    pub right: u8,
    /// The right shift is arithmetic.
    pub signed: bool,
    pub and: u32,
    pub xor: u32,
}

impl Default for Bits {
    fn default() -> Self {
        Self {
            left: 0,
            right: 0,
            signed: false,
            and: !0,
            xor: 0,
        }
    }
}

impl Bits {
    /// The `width` bits from bit `at`, extended.
    pub(super) fn field(at: u8, width: u8, signed: bool) -> Self {
        Self {
            left: 32 - at - width,
            right: 32 - width,
            signed,
            ..Self::default()
        }
    }

    /// Then absolute value and negation of a float whose sign is bit `sign`.
    pub(super) fn with_sign(self, abs: bool, neg: bool, sign: u32) -> Self {
        Self {
            and: if abs { !(1 << sign) } else { !0 },
            xor: if neg { 1 << sign } else { 0 },
            ..self
        }
    }

    pub(super) fn step(self, uses_avx512: bool, pc: u64, src: Src, dst: u16) -> Step {
        Step {
            imm: i32::from(self.left) | i32::from(self.right) << 8 | i32::from(self.signed) << 16,
            aux: u64::from(self.and) | u64::from(self.xor) << 32,
            ..Step::new(
                compiled_twice!(uses_avx512, bits),
                pc,
                [src, Src::None, Src::None],
                dst,
            )
        }
    }
}

/// Applies [`Bits`] to every lane, active or not.
#[inline(always)]
fn bits(w: &mut Wave, _: &mut Group<'_>, s: &Step) -> Outcome {
    let (left, right, signed) = (s.imm & 31, s.imm >> 8 & 31, s.imm >> 16 != 0);
    let (and, xor) = (s.aux as u32, (s.aux >> 32) as u32);
    let src = w.stage(s.src[0], 0, false);
    let mut out = *w.vector(src);
    for x in &mut out {
        let field = *x << left;
        let field = if signed {
            (field.cast_signed() >> right).cast_unsigned()
        } else {
            field >> right
        };
        *x = field & and ^ xor;
    }
    *w.vector_mut(s.dst) = out;
    Ok(())
}

/// Packed operands: which half becomes the low and the high one, and the signs.
pub(super) fn packed_step(
    uses_avx512: bool,
    pc: u64,
    src: Src,
    dst: u16,
    (lo_from_high, hi_from_high): (bool, bool),
    xor: u32,
) -> Step {
    Step {
        imm: i32::from(lo_from_high) | i32::from(hi_from_high) << 1,
        aux: u64::from(xor),
        ..Step::new(
            compiled_twice!(uses_avx512, packed),
            pc,
            [src, Src::None, Src::None],
            dst,
        )
    }
}

#[inline(always)]
fn packed(w: &mut Wave, _: &mut Group<'_>, s: &Step) -> Outcome {
    let (lo, hi, xor) = ((s.imm & 1) * 16, (s.imm >> 1 & 1) * 16, s.aux as u32);
    let src = w.stage(s.src[0], 0, false);
    let mut out = *w.vector(src);
    for x in &mut out {
        *x = ((*x >> lo & 0xffff) | (*x >> hi) << 16) ^ xor;
    }
    *w.vector_mut(s.dst) = out;
    Ok(())
}

/// A source of a mixed-precision operation that is a half: to `f32`.
pub(super) fn widen_step(uses_avx512: bool, pc: u64, src: Src, dst: u16, high: bool) -> Step {
    Step {
        imm: i32::from(high) * 16,
        ..Step::new(
            compiled_twice!(uses_avx512, widen),
            pc,
            [src, Src::None, Src::None],
            dst,
        )
    }
}

#[inline(always)]
fn widen(w: &mut Wave, _: &mut Group<'_>, s: &Step) -> Outcome {
    let src = w.stage(s.src[0], 0, false);
    let mut out = *w.vector(src);
    for x in &mut out {
        *x = F16((*x >> s.imm) as u16).to_f32().to_bits();
    }
    *w.vector_mut(s.dst) = out;
    Ok(())
}

/// Which lane a DPP control makes `lane` read; `None` where there is none. `Err` for a control
/// that gfx9 does not have.
fn swizzle(ctrl: u16, lane: u8) -> Option<Option<u8>> {
    let (row, column) = (lane & !15, lane & 15);
    let shift = (ctrl & 15) as u8;
    let inside = |column: u8| (column < 16).then_some(row | column);
    Some(match ctrl {
        0..=0xff => Some(lane & !3 | (ctrl >> (2 * (lane & 3)) & 3) as u8),
        0x101..=0x10f => inside(column + shift),
        0x111..=0x11f => inside(column.wrapping_sub(shift)),
        0x121..=0x12f => Some(row | column.wrapping_sub(shift) & 15),
        0x130 => (lane < 63).then_some(lane + 1),
        0x134 => Some((lane + 1) & 63),
        0x138 => lane.checked_sub(1),
        0x13c => Some(lane.wrapping_sub(1) & 63),
        0x140 => Some(row | (15 - column)),
        0x141 => Some(row | column & 8 | (7 - (column & 7))),
        // The last lane of the row before; of the first half of the wave.
        0x142 => row.checked_sub(1),
        0x143 => (lane >= 32).then_some(31),
        // Since gfx90a; of others it does not decode.
        0x150..=0x15f => Some(row | shift),
        _ => return None,
    })
}

/// Lane swizzle of a source into a temporary; masks EXEC to the lanes that may be written, until
/// [`dpp_end`]. `None` for a control that gfx9 does not have.
pub(super) fn dpp_step(pc: u64, src: Src, dst: u16, dpp: strobe_isa::Dpp) -> Option<Step> {
    swizzle(dpp.ctrl, 0)?;
    Some(Step {
        imm: i32::from(dpp.ctrl),
        aux: u64::from(dpp.row_mask)
            | u64::from(dpp.bank_mask) << 4
            | u64::from(dpp.bound_ctrl) << 8,
        ..Step::new(dpp_begin, pc, [src, Src::None, Src::None], dst)
    })
}

fn dpp_begin(w: &mut Wave, _: &mut Group<'_>, s: &Step) -> Outcome {
    let exec = w.exec();
    let (row_mask, bank_mask, bound_ctrl) = (s.aux & 15, s.aux >> 4 & 15, s.aux >> 8 & 1 != 0);
    let reg = w.stage(s.src[0], 0, false);
    let source = w.vector(reg);
    let mut out: Lanes = [0; LANES];
    let mut writable = 0_u64;
    for lane in 0..64_u8 {
        let from = swizzle(s.imm as u16, lane)
            .flatten()
            .filter(|&from| exec >> from & 1 != 0);
        if let Some(from) = from {
            out[usize::from(lane)] = source[usize::from(from)];
        }
        let enabled = row_mask >> (lane >> 4) & 1 != 0 && bank_mask >> (lane >> 2 & 3) & 1 != 0;
        if enabled && (from.is_some() || bound_ctrl) {
            writable |= 1 << lane;
        }
    }
    *w.vector_mut(s.dst) = out;
    w.saved_exec = exec;
    w.set_exec(exec & writable);
    Ok(())
}

pub(super) fn dpp_end(pc: u64) -> Step {
    Step::new(restore_exec, pc, [Src::None; 3], 0)
}

fn restore_exec(w: &mut Wave, _: &mut Group<'_>, _: &Step) -> Outcome {
    let exec = w.saved_exec;
    w.set_exec(exec);
    Ok(())
}

/// Clamps a float result to [0, 1], NaN to 0 (`DX10_CLAMP`).
pub(super) fn clamp_step(
    uses_avx512: bool,
    pc: u64,
    kind: Kind,
    src: u16,
    dst: u16,
) -> Option<Step> {
    let handler: Handler = match kind {
        Kind::F16 => compiled_twice!(uses_avx512, clamp16),
        Kind::F32 => compiled_twice!(uses_avx512, clamp32),
        Kind::F64 => compiled_twice!(uses_avx512, clamp64),
        Kind::Packed { float: true } => compiled_twice!(uses_avx512, clamp_packed),
        _ => return None,
    };
    Some(Step::new(
        handler,
        pc,
        [Src::Vector(src), Src::None, Src::None],
        dst,
    ))
}

#[inline(always)]
fn unit(x: f32) -> f32 {
    if x > 1.0 {
        1.0
    } else if x > 0.0 {
        x
    } else {
        0.0
    }
}

macro_rules! clamps {
    ($($name:ident |$x:ident| $body:expr;)*) => { $(
        #[inline(always)]
        fn $name(w: &mut Wave, _: &mut Group<'_>, s: &Step) -> Outcome {
            let reg = w.stage(s.src[0], 0, false);
            let mut out = *w.vector(reg);
            for lane in &mut out {
                let $x = *lane;
                *lane = $body;
            }
            w.commit(s.dst, &out);
            Ok(())
        }
    )* };
}

clamps! {
    clamp16 |x| u32::from(F16(x as u16).map(unit).0);
    clamp32 |x| unit(f32::from_bits(x)).to_bits();
    clamp_packed |x| u32::from(F16(x as u16).map(unit).0)
        | u32::from(F16((x >> 16) as u16).map(unit).0) << 16;
    narrow |x| u32::from(F16::from_f32(f32::from_bits(x)).0);
    flush_result |x| float::flush(f32::from_bits(x)).to_bits();
}

/// Subnormals to zero: of a source into a temporary, or of a result into its place.
pub(super) fn flush_step(uses_avx512: bool, pc: u64, src: Src, dst: u16, result: bool) -> Step {
    let handler = if result {
        compiled_twice!(uses_avx512, flush_result)
    } else {
        compiled_twice!(uses_avx512, flush_source)
    };
    Step::new(handler, pc, [src, Src::None, Src::None], dst)
}

#[inline(always)]
fn flush_source(w: &mut Wave, _: &mut Group<'_>, s: &Step) -> Outcome {
    let src = w.stage(s.src[0], 0, false);
    let mut out = *w.vector(src);
    for x in &mut out {
        *x = float::flush(f32::from_bits(*x)).to_bits();
    }
    *w.vector_mut(s.dst) = out;
    Ok(())
}

/// `s_set_gpr_idx_on` and `_idx`: the index, and unless negative the mode, go to M0.
pub(super) fn set_index(w: &mut Wave, _: &mut Group<'_>, s: &Step) -> Outcome {
    let index = w.read32(s.src[0]) & 0xff;
    let m0 = w.scalar(M0);
    let value = if s.imm < 0 {
        m0 & !0xff | index
    } else {
        m0 & !0xf0ff | index | (s.imm as u32) << 12
    };
    w.set_scalar(M0, value);
    Ok(())
}

/// `v_mov_b32` with its source (bit 0 of `sel`) or destination (bit 3) indexed by M0.
pub(super) fn indexed_move(w: &mut Wave, _: &mut Group<'_>, s: &Step) -> Outcome {
    let index = (w.scalar(M0) & 0xff) as u16;
    let moved = |reg: u16, bit: u8| {
        if s.sel >> bit & 1 != 0 {
            (reg + index) & 0xff
        } else {
            reg
        }
    };
    let src = match s.src[0] {
        Src::Vector(reg) => moved(reg, 0),
        other => w.stage(other, 0, false),
    };
    let value = *w.vector(src);
    w.commit(moved(s.dst, 3), &value);
    Ok(())
}

#[inline(always)]
fn clamp64(w: &mut Wave, _: &mut Group<'_>, s: &Step) -> Outcome {
    let reg = w.stage(s.src[0], 0, true);
    let (mut lo, mut hi) = (*w.vector(reg), *w.vector(reg + 1));
    for i in 0..LANES {
        let x = f64::from_bits(u64::from(lo[i]) | u64::from(hi[i]) << 32);
        let clamped = if x > 1.0 {
            1.0
        } else if x > 0.0 {
            x
        } else {
            0.0_f64
        };
        (lo[i], hi[i]) = (clamped.to_bits() as u32, (clamped.to_bits() >> 32) as u32);
    }
    w.commit(s.dst, &lo);
    w.commit(s.dst + 1, &hi);
    Ok(())
}

/// A single-precision result to a half.
pub(super) fn narrow_step(uses_avx512: bool, pc: u64, reg: u16) -> Step {
    Step::new(
        compiled_twice!(uses_avx512, narrow),
        pc,
        [Src::Vector(reg), Src::None, Src::None],
        reg,
    )
}

/// Puts the low `width` bits of a result at bit `at` of the destination; the other bits are kept,
/// or zero, or (above) the sign.
#[derive(Clone, Copy, Debug)]
pub(super) struct Place {
    pub at: u8,
    pub width: u8,
    /// As SDWA's `dst_unused`: 0 zero, 1 sign-extend, 2 preserve.
    pub unused: u8,
}

impl Place {
    pub(super) fn step(self, uses_avx512: bool, pc: u64, src: u16, dst: u16) -> Step {
        let mask = (((1_u64 << self.width) - 1) << self.at) as u32;
        Step {
            imm: i32::from(self.at),
            sel: self.width,
            aux: u64::from(mask) | u64::from(self.unused) << 32,
            ..Step::new(
                compiled_twice!(uses_avx512, place),
                pc,
                [Src::Vector(src), Src::None, Src::None],
                dst,
            )
        }
    }
}

#[inline(always)]
fn place(w: &mut Wave, _: &mut Group<'_>, s: &Step) -> Outcome {
    let (at, width, mask, unused) = (s.imm & 31, s.sel & 31, s.aux as u32, s.aux >> 32);
    let reg = w.stage(s.src[0], 0, false);
    let (mut out, old) = (*w.vector(reg), *w.vector(s.dst));
    let above = (32 - i32::from(width)) & 31;
    for i in 0..LANES {
        let placed = out[i] << at & mask;
        let extended = ((out[i] << above).cast_signed() >> above).cast_unsigned() << at;
        out[i] = match unused {
            0 => placed,
            1 => extended,
            _ => placed | old[i] & !mask,
        };
    }
    w.commit(s.dst, &out);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn swizzles_read_the_lanes_that_the_manual_says() {
        let read = |ctrl| -> Vec<Option<u8>> {
            (0..64)
                .map(|lane| swizzle(ctrl, lane).expect("a known control"))
                .collect()
        };
        assert_eq!(
            read(0b00_01_10_11)[..4],
            [3, 2, 1, 0].map(Some),
            "quad_perm:[3,2,1,0]"
        );
        assert_eq!(read(0x101)[14..17], [Some(15), None, Some(17)], "row_shl:1");
        assert_eq!(read(0x111)[15..18], [Some(14), None, Some(16)], "row_shr:1");
        assert_eq!(
            read(0x121)[15..18],
            [Some(14), Some(31), Some(16)],
            "row_ror:1"
        );
        assert_eq!(read(0x130)[62..], [Some(63), None], "wave_shl:1");
        assert_eq!(read(0x138)[..2], [None, Some(0)], "wave_shr:1");
        assert_eq!(read(0x140)[16..18], [Some(31), Some(30)], "row_mirror");
        assert_eq!(read(0x141)[8..10], [Some(15), Some(14)], "row_half_mirror");
        let bcast15 = read(0x142);
        assert_eq!(
            [bcast15[15], bcast15[16], bcast15[40], bcast15[63]],
            [None, Some(15), Some(31), Some(47)]
        );
        let bcast31 = read(0x143);
        assert_eq!(
            [bcast31[31], bcast31[32], bcast31[63]],
            [None, Some(31), Some(31)]
        );
        assert_eq!(read(0x153)[15..17], [Some(3), Some(19)], "row_newbcast:3");
        assert!(swizzle(0x160, 0).is_none(), "row_share is not in gfx9");
    }
}
