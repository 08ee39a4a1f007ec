//! Matrix instructions: `D = A * B + C` of blocks that the lanes of a wave hold together.
//!
//! Which lane and register has which element: AMD's CDNA2 ISA, "Matrix Arithmetic Instructions", and AMD's matrix
//! instruction calculator. Where a lane has several elements of a row of A they follow one another in `k`. What
//! AMD's documents do not say is how the sum over `k` is rounded: here each product is added by a fused
//! multiply-add, `k` ascending from C. EXEC does not count.
//!
//! MI200 takes subnormal halves and `bf16`s, and subnormal sums of theirs, for zero; singles and doubles it keeps
//! (PyTorch's notes on numerical accuracy, "Reduced Precision FP16 and BF16 GEMMs and Convolutions on AMD Instinct MI200
//! devices").

use strobe_isa::{Inst, Op};

use super::f16::F16;
use super::float;
use super::group::Group;
use super::lanes::{Kind, compiled_twice};
use super::operand::{source, vector_register};
use super::register::Lanes;
use super::source::Src;
use super::state::Wave;
use super::step::{Handler, Outcome, Step};
use crate::target::LANES;

/// Blocks of `m` rows of A and as many columns of B, `k` products for each element.
#[derive(Clone, Copy, Debug)]
struct Shape {
    m: usize,
    k: usize,
    blocks: usize,
}

/// What A and B consist of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Element {
    F32,
    F16,
    Bf16,
    I8,
    F64,
}

/// How A and B are laid out in A's and B's registers, and what comes out.
trait Elements {
    type Sum: Copy + Default;
    /// Registers of a sum.
    const OF_A_SUM: usize;
    /// Rows of D that follow one another in registers.
    const ROWS: usize;
    /// Element number `n` of what a lane has from a register on.
    fn element(register: impl Fn(usize) -> u32, n: usize) -> Self::Sum;
    fn multiply_add(a: Self::Sum, b: Self::Sum, c: Self::Sum) -> Self::Sum;
    fn addend(lo: u32, hi: u32) -> Self::Sum;
    fn result(sum: Self::Sum) -> [u32; 2];
}

macro_rules! elements {
    ($($name:ident: $in_a_register:literal |$lo:ident, $n:ident| $element:expr, |$sum:ident| $finish:expr;)*) => { $(
        struct $name;

        impl Elements for $name {
            type Sum = f32;
            const OF_A_SUM: usize = 1;
            const ROWS: usize = 4;
            #[inline(always)]
            fn element(register: impl Fn(usize) -> u32, $n: usize) -> f32 {
                let $lo = register($n / $in_a_register);
                $element
            }
            #[inline(always)]
            fn multiply_add(a: f32, b: f32, c: f32) -> f32 {
                a.mul_add(b, c)
            }
            #[inline(always)]
            fn addend(lo: u32, _: u32) -> f32 {
                let $sum = f32::from_bits(lo);
                $finish
            }
            #[inline(always)]
            fn result($sum: f32) -> [u32; 2] {
                let sum: f32 = $finish;
                [sum.to_bits(), 0]
            }
        }
    )* };
}

elements! {
    Singles: 1 |word, _n| f32::from_bits(word), |sum| sum;
    Halves: 2 |word, n| half(word >> (16 * (n % 2))), |sum| float::flush(sum);
    Brains: 2 |word, n| float::flush(f32::from_bits(word >> (16 * (n % 2)) << 16)), |sum| float::flush(sum);
}

/// A half whose subnormals are zero.
#[inline(always)]
fn half(word: u32) -> f32 {
    let bits = word as u16;
    let kept = if bits & 0x7c00 == 0 {
        bits & 0x8000
    } else {
        bits
    };
    F16(kept).to_f32()
}

struct Bytes;

impl Elements for Bytes {
    type Sum = i32;
    const OF_A_SUM: usize = 1;
    const ROWS: usize = 4;
    #[inline(always)]
    fn element(register: impl Fn(usize) -> u32, n: usize) -> i32 {
        i32::from((register(n / 4) >> (8 * (n % 4))) as i8)
    }
    #[inline(always)]
    fn multiply_add(a: i32, b: i32, c: i32) -> i32 {
        a.wrapping_mul(b).wrapping_add(c)
    }
    #[inline(always)]
    fn addend(lo: u32, _: u32) -> i32 {
        lo.cast_signed()
    }
    #[inline(always)]
    fn result(sum: i32) -> [u32; 2] {
        [sum.cast_unsigned(), 0]
    }
}

struct Doubles;

impl Elements for Doubles {
    type Sum = f64;
    const OF_A_SUM: usize = 2;
    const ROWS: usize = 1;
    #[inline(always)]
    fn element(register: impl Fn(usize) -> u32, n: usize) -> f64 {
        Self::addend(register(2 * n), register(2 * n + 1))
    }
    #[inline(always)]
    fn multiply_add(a: f64, b: f64, c: f64) -> f64 {
        a.mul_add(b, c)
    }
    #[inline(always)]
    fn addend(lo: u32, hi: u32) -> f64 {
        f64::from_bits(u64::from(lo) | u64::from(hi) << 32)
    }
    #[inline(always)]
    fn result(sum: f64) -> [u32; 2] {
        let bits = sum.to_bits();
        [bits as u32, (bits >> 32) as u32]
    }
}

fn shape(op: Op) -> Option<(Element, Shape)> {
    use Element::{Bf16, F16, F32, F64, I8};
    let (element, [m, k, blocks]) = match op {
        Op::v_mfma_f32_32x32x1f32 => (F32, [32, 1, 2]),
        Op::v_mfma_f32_16x16x1f32 => (F32, [16, 1, 4]),
        Op::v_mfma_f32_4x4x1f32 => (F32, [4, 1, 16]),
        Op::v_mfma_f32_32x32x2f32 => (F32, [32, 2, 1]),
        Op::v_mfma_f32_16x16x4f32 => (F32, [16, 4, 1]),
        Op::v_mfma_f32_32x32x4f16 => (F16, [32, 4, 2]),
        Op::v_mfma_f32_16x16x4f16 => (F16, [16, 4, 4]),
        Op::v_mfma_f32_4x4x4f16 => (F16, [4, 4, 16]),
        Op::v_mfma_f32_32x32x8f16 => (F16, [32, 8, 1]),
        Op::v_mfma_f32_16x16x16f16 => (F16, [16, 16, 1]),
        Op::v_mfma_i32_32x32x4i8 => (I8, [32, 4, 2]),
        Op::v_mfma_i32_16x16x4i8 => (I8, [16, 4, 4]),
        Op::v_mfma_i32_4x4x4i8 => (I8, [4, 4, 16]),
        Op::v_mfma_i32_32x32x8i8 => (I8, [32, 8, 1]),
        Op::v_mfma_i32_16x16x16i8 => (I8, [16, 16, 1]),
        Op::v_mfma_f32_32x32x2bf16 => (Bf16, [32, 2, 2]),
        Op::v_mfma_f32_16x16x2bf16 => (Bf16, [16, 2, 4]),
        Op::v_mfma_f32_4x4x2bf16 => (Bf16, [4, 2, 16]),
        Op::v_mfma_f32_32x32x4bf16 => (Bf16, [32, 4, 1]),
        Op::v_mfma_f32_16x16x8bf16 => (Bf16, [16, 8, 1]),
        Op::v_mfma_f32_32x32x4bf16_1k => (Bf16, [32, 4, 2]),
        Op::v_mfma_f32_16x16x4bf16_1k => (Bf16, [16, 4, 4]),
        Op::v_mfma_f32_4x4x4bf16_1k => (Bf16, [4, 4, 16]),
        Op::v_mfma_f32_32x32x8bf16_1k => (Bf16, [32, 8, 1]),
        Op::v_mfma_f32_16x16x16bf16_1k => (Bf16, [16, 16, 1]),
        Op::v_mfma_f64_16x16x4f64 => (F64, [16, 4, 1]),
        Op::v_mfma_f64_4x4x4f64 => (F64, [4, 4, 4]),
        _ => return None,
    };
    Some((element, Shape { m, k, blocks }))
}

/// The step of a matrix instruction; `None` if it is not known.
pub(super) fn translate(inst: &Inst, pc: u64, uses_avx512: bool) -> Option<Step> {
    let (element, shape) = shape(inst.op)?;
    let (run, kind): (Handler, Kind) = match element {
        Element::F32 => (compiled_twice!(uses_avx512, multiply::<Singles>), Kind::F32),
        Element::F16 => (compiled_twice!(uses_avx512, multiply::<Halves>), Kind::F32),
        Element::Bf16 => (compiled_twice!(uses_avx512, multiply::<Brains>), Kind::F32),
        Element::I8 => (compiled_twice!(uses_avx512, multiply::<Bytes>), Kind::Int32),
        Element::F64 => (compiled_twice!(uses_avx512, multiply::<Doubles>), Kind::F64),
    };
    // Doubles have no blocks to choose.
    let [cbsz, abid, blgp] = [inst.matrix.cbsz, inst.matrix.abid, inst.matrix.blgp];
    if element == Element::F64 && (cbsz | abid | blgp) != 0 || 1 << cbsz > shape.blocks {
        return None;
    }
    let src = [
        source(inst.srcs[0], kind)?,
        source(inst.srcs[1], kind)?,
        source(inst.srcs[2], kind)?,
    ];
    Some(Step {
        sel: cbsz | abid << 4,
        imm: i32::from(blgp),
        aux: (shape.m | shape.k << 8 | shape.blocks << 16) as u64,
        ..Step::new(run, pc, src, vector_register(inst.dsts[0])?)
    })
}

/// The lane that B is taken from where `lane` would be: BLGP, as AMD's matrix instruction calculator has it.
fn of_group(lane: usize, blgp: i32) -> usize {
    match blgp {
        1 => lane % 32,
        2 => lane % 32 + 32,
        3 => (lane + 16) % LANES,
        4..=7 => lane % 16 + 16 * (blgp as usize - 4),
        _ => lane,
    }
}

/// 32 registers of 64 lanes are the largest D, and C.
const MOST_SUMS: usize = 32 * LANES;
/// Four elements of each lane are the most of A and B.
const MOST_ELEMENTS: usize = 4 * LANES;

#[inline(always)]
fn multiply<E: Elements>(w: &mut Wave, _: &mut Group<'_>, s: &Step) -> Outcome {
    let [m, k, blocks] = [0, 8, 16].map(|at| (s.aux >> at & 0xff) as usize);
    let (cbsz, abid, blgp) = (s.sel & 15, usize::from(s.sel >> 4), s.imm);
    let of_a_lane = k * m * blocks / LANES;
    let register = |src: Src| match src {
        Src::Vector(reg) => reg,
        // Decoding gives registers only.
        _ => 0,
    };
    // By lane, then by the elements that it has.
    let mut a = [E::Sum::default(); MOST_ELEMENTS];
    let mut b = [E::Sum::default(); MOST_ELEMENTS];
    let (from_a, from_b) = (register(s.src[0]), register(s.src[1]));
    for lane in 0..LANES {
        let b_lane = of_group(lane, blgp);
        for n in 0..of_a_lane {
            let at = |first: u16, lane: usize| E::element(|r| w.vector(first + r as u16)[lane], n);
            a[lane * of_a_lane + n] = at(from_a, lane);
            b[lane * of_a_lane + n] = at(from_b, b_lane);
        }
    }
    let place = |block: usize, row: usize, k: usize| {
        let lane = (k / of_a_lane * blocks + block) * m + row;
        lane * of_a_lane + k % of_a_lane
    };
    let mut out = [[0; LANES]; MOST_SUMS / LANES];
    // D is cut into strips of a few rows, one register a row and `m` lanes wide. They fill the lanes side by side, then the next
    // registers: block by block, but where blocks are so small that several stand side by side, strip by strip of these.
    let strips_of_a_block = m / E::ROWS;
    let side_by_side = LANES / m;
    let together = (side_by_side / strips_of_a_block).max(1);
    for block in 0..blocks {
        // CBSZ: so many blocks have A of one of them, ABID says which.
        let of = (block >> cbsz << cbsz)
            + if cbsz == 0 {
                0
            } else {
                abid & ((1 << cbsz) - 1)
            };
        for i in 0..m {
            let strip = block / together * strips_of_a_block + i / E::ROWS;
            let strip = strip * together + block % together;
            let reg = (strip / side_by_side * E::ROWS + i % E::ROWS) * E::OF_A_SUM;
            let first = strip % side_by_side * m;
            for j in 0..m {
                let lane = first + j;
                let (lo, hi) = match s.src[2] {
                    Src::Vector(c) => (
                        w.vector(c + reg as u16)[lane],
                        w.vector(c + (reg + E::OF_A_SUM - 1) as u16)[lane],
                    ),
                    Src::Const(value) => (value as u32, (value >> 32) as u32),
                    Src::Scalar(_) | Src::None => (0, 0),
                };
                let mut sum = E::addend(lo, hi);
                for k in 0..k {
                    sum = E::multiply_add(a[place(of, i, k)], b[place(block, j, k)], sum);
                }
                let words = E::result(sum);
                out[reg][lane] = words[0];
                if E::OF_A_SUM == 2 {
                    out[reg + 1][lane] = words[1];
                }
            }
        }
    }
    let registers = blocks * m * m * E::OF_A_SUM / LANES;
    for (r, column) in out[..registers].iter().enumerate() {
        let to: &mut Lanes = w.vector_mut(s.dst + r as u16);
        *to = *column;
    }
    Ok(())
}
