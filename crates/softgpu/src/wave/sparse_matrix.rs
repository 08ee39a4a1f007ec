//! Matrix instructions whose first matrix has two values of every four in `k`: `D = A * B + D`.
//!
//! A's registers have the values that there are, and two bits of a third register of the same lane say for each where
//! among its four it stands, the lowest bits for the first. They are a byte (of 16-bit values) or two (of 8-bit ones) of
//! the register, which ABID chooses, unless CBSZ says that it is the lowest. (AMD's matrix instruction calculator.) Sums
//! are made as in [`super::matrix`].

use strobe_isa::{Inst, Op, Operand};

use super::group::Group;
use super::lanes::compiled_twice;
use super::matrix::{
    Bf8s, Bf8sByFp8s, Bytes, Elements, Fp8s, Fp8sByBf8s, KeptBrains, KeptHalves, place_of_row,
};
use super::operand::vector_register;
use super::source::Src;
use super::state::Wave;
use super::step::{Handler, Outcome, Step};
use crate::target::LANES;

/// The step of such an instruction; `None` if it is not known.
pub(super) fn translate(inst: &Inst, pc: u64, uses_avx512: bool) -> Option<Step> {
    macro_rules! multiply {
        ($elements:ident) => {
            compiled_twice!(uses_avx512, multiply::<$elements>)
        };
    }
    let (run, [m, k]): (Handler, [usize; 2]) = match inst.op {
        Op::v_smfmac_f32_16x16x32_f16 => (multiply!(KeptHalves), [16, 32]),
        Op::v_smfmac_f32_32x32x16_f16 => (multiply!(KeptHalves), [32, 16]),
        Op::v_smfmac_f32_16x16x32_bf16 => (multiply!(KeptBrains), [16, 32]),
        Op::v_smfmac_f32_32x32x16_bf16 => (multiply!(KeptBrains), [32, 16]),
        Op::v_smfmac_i32_16x16x64_i8 => (multiply!(Bytes), [16, 64]),
        Op::v_smfmac_i32_32x32x32_i8 => (multiply!(Bytes), [32, 32]),
        Op::v_smfmac_f32_16x16x64_bf8_bf8 => (multiply!(Bf8s), [16, 64]),
        Op::v_smfmac_f32_16x16x64_bf8_fp8 => (multiply!(Bf8sByFp8s), [16, 64]),
        Op::v_smfmac_f32_16x16x64_fp8_bf8 => (multiply!(Fp8sByBf8s), [16, 64]),
        Op::v_smfmac_f32_16x16x64_fp8_fp8 => (multiply!(Fp8s), [16, 64]),
        Op::v_smfmac_f32_32x32x32_bf8_bf8 => (multiply!(Bf8s), [32, 32]),
        Op::v_smfmac_f32_32x32x32_bf8_fp8 => (multiply!(Bf8sByFp8s), [32, 32]),
        Op::v_smfmac_f32_32x32x32_fp8_bf8 => (multiply!(Fp8sByBf8s), [32, 32]),
        Op::v_smfmac_f32_32x32x32_fp8_fp8 => (multiply!(Fp8s), [32, 32]),
        _ => return None,
    };
    // Two for each of the k / 2 values of a row.
    let bits = k * m / LANES;
    let at = match inst.matrix.cbsz & 3 {
        0 => usize::from(inst.matrix.abid) * bits,
        _ => 0,
    };
    // Nobody says what is beyond the register.
    let is_inside = inst.matrix.cbsz < 4 && at + bits <= 32;
    let register = |operand: Operand| vector_register(operand).map(Src::Vector);
    let src = [
        register(inst.srcs[0])?,
        register(inst.srcs[1])?,
        register(inst.srcs[2])?,
    ];
    is_inside.then_some(Step {
        sel: at as u8,
        aux: (m | k << 8) as u64,
        ..Step::new(run, pc, src, vector_register(inst.dsts[0])?)
    })
}

/// Sixteen elements of each lane are the most of B.
const MOST_ELEMENTS: usize = 16 * LANES;
/// 16 registers of 64 lanes are the largest D.
const MOST_SUMS: usize = 16;

#[inline(always)]
fn multiply<E: Elements>(w: &mut Wave, _: &mut Group<'_>, s: &Step) -> Outcome {
    let [m, k] = [0, 8].map(|at| (s.aux >> at & 0xff) as usize);
    let (of_a_lane, of_b_lane) = (k / 2 * m / LANES, k * m / LANES);
    let [from_a, from_b, places] = s.reg;
    // By lane, then by the elements that it has: of A also where in `k` they stand.
    let mut a = [(0, E::Sum::default()); MOST_ELEMENTS / 2];
    let mut b = [E::Sum::default(); MOST_ELEMENTS];
    for lane in 0..LANES {
        let places = w.vector(places)[lane] >> s.sel;
        for n in 0..of_a_lane {
            let stored = lane / m * of_a_lane + n;
            let place = stored / 2 * 4 + (places >> (2 * n) & 3) as usize;
            let value = E::element(|r| w.vector(from_a + r as u16)[lane], n);
            a[lane * of_a_lane + n] = (place, value);
        }
        for n in 0..of_b_lane {
            b[lane * of_b_lane + n] = E::element_of_b(|r| w.vector(from_b + r as u16)[lane], n);
        }
    }
    let mut out = [[0; LANES]; MOST_SUMS];
    for i in 0..m {
        let (register, first) = place_of_row(m, E::ROWS, 0, i);
        for j in 0..m {
            let lane = first + j;
            let mut sum = E::addend(w.vector(s.dst + register as u16)[lane], 0);
            for of_k in 0..LANES / m {
                for n in 0..of_a_lane {
                    let (place, value) = a[(of_k * m + i) * of_a_lane + n];
                    let b_lane = place / of_b_lane * m + j;
                    sum = E::multiply_add(value, b[b_lane * of_b_lane + place % of_b_lane], sum);
                }
            }
            out[register][lane] = E::result(sum)[0];
        }
    }
    for (r, column) in out[..m * m / LANES].iter().enumerate() {
        *w.vector_mut(s.dst + r as u16) = *column;
    }
    Ok(())
}
